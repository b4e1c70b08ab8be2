//! Work that does not end in time is not waited for: it is reported, blocks new runs, and is forgotten when it ends
//! after all.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::runner::Shared;

/// What a piece of work does right now, in words.
#[derive(Debug, Clone, Default)]
pub(super) struct Doing(Arc<Mutex<String>>);

impl Doing {
    pub(super) fn new(what: impl Into<String>) -> Doing {
        Doing(Arc::new(Mutex::new(what.into())))
    }

    pub(super) fn set(&self, what: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }

    fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// All work that was given up on and has not ended.
#[derive(Debug, Default)]
pub(super) struct Stuck {
    work: BTreeMap<u64, Doing>,
    next: u64,
}

impl Stuck {
    pub(super) fn in_words(&self) -> Vec<String> {
        self.work.values().map(Doing::get).collect()
    }

    fn add(&mut self, doing: Doing) -> u64 {
        self.next += 1;
        self.work.insert(self.next, doing);
        self.next
    }
}

impl Shared {
    /// The outcome of work that ends in time; `None` for any other, which goes on by itself.
    pub(super) async fn within<T: Send + 'static>(
        self: &Arc<Self>,
        limit: Duration,
        doing: Doing,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let mut task = tokio::spawn(work);
        if let Ok(done) = tokio::time::timeout(limit, &mut task).await {
            return done.ok();
        }
        log::error!("not done within {} s: {}; no run starts before it is", limit.as_secs(), doing.get());
        let id = self.state().stuck.add(doing.clone());
        let shared = Arc::clone(self);
        tokio::spawn(async move {
            // A task that panicked has ended too.
            let _ = task.await;
            shared.state().stuck.work.remove(&id);
            log::warn!("done after all: {}", doing.get());
        });
        None
    }
}

/// Does blocking work beside everything else; `None` when it panicked.
pub(super) async fn in_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}
