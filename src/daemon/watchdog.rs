//! The watchdog of the service manager: fed only while every part answers, so that a daemon that only seems to live
//! is started anew.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::manager;
use crate::http::Probe;
use crate::sample::Sampler;
use crate::store::Store;

/// So often within the manager's limit every part is asked.
const BEATS: u32 = 3;
/// A part that has not answered within half the time between two questions is taken for dead.
const SHARE: u32 = 2 * BEATS;

/// Asks a task whether it still takes its turns.
pub(super) type Pulse = mpsc::Sender<oneshot::Sender<()>>;

/// What must answer.
pub(super) struct Parts {
    pub(super) sampler: Arc<Sampler>,
    pub(super) store: Store,
    pub(super) http: Probe,
    pub(super) scheduler: Pulse,
    /// The task that executes runs; what it does may take long, but it does not end.
    pub(super) runner: AbortHandle,
}

/// Feeds the watchdog for as long as everything is alive; nothing is to be fed when the manager has none.
pub(super) async fn feed(parts: Parts) {
    let Some(limit) = sd_notify::watchdog_enabled() else { return };
    let patience = limit / SHARE;
    let mut told = String::new();
    loop {
        let dead = parts.dead(patience).await.join(", ");
        if dead.is_empty() {
            manager::tell(&[NotifyState::Watchdog]);
        } else if dead != told {
            log::error!(
                "no answer within {} s from: {dead}; unless it comes the service manager starts benchd anew",
                patience.as_secs_f64()
            );
        }
        told = dead;
        tokio::time::sleep(limit / BEATS).await;
    }
}

impl Parts {
    /// The parts that do not answer within this time.
    async fn dead(&self, patience: Duration) -> Vec<&'static str> {
        let store = self.store.clone();
        let store = tokio::task::spawn_blocking(move || store.is_alive(patience));
        let (sampler, store, http, scheduler) = tokio::join!(
            tokio::time::timeout(patience, self.sampler.request()),
            store,
            self.http.answers(patience),
            tokio::time::timeout(patience, self.scheduler()),
        );
        let alive = [
            ("sampler", matches!(sampler, Ok(Ok(_)))),
            ("store", store.unwrap_or(false)),
            ("http", http),
            ("scheduler", scheduler.unwrap_or(false) && !self.runner.is_finished()),
        ];
        alive.into_iter().filter(|(_, alive)| !alive).map(|(part, _)| part).collect()
    }

    async fn scheduler(&self) -> bool {
        let (answer, answered) = oneshot::channel();
        self.scheduler.send(answer).await.is_ok() && answered.await.is_ok()
    }
}
