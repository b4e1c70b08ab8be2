//! How many requests and connections there are at once, and which connections give way to new ones.
//!
//! A connection costs a few kilobytes and a file descriptor from the moment it is open, whether anything is asked on
//! it or not. So there is a limit, and at the limit the oldest connection on which nothing was asked yet gives way:
//! whoever opens many and says nothing cannot keep out those who ask.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

/// How many of something there are at once.
pub(super) struct Slots(watch::Sender<usize>);

/// One of them; given back when dropped.
pub(super) struct Slot(Arc<Slots>);

impl Slots {
    pub(super) fn new() -> Arc<Slots> {
        Arc::new(Slots(watch::channel(0).0))
    }

    /// One more, unless there are `limit` already.
    pub(super) fn take(self: &Arc<Slots>, limit: u32) -> Option<Slot> {
        let taken = self.0.send_if_modified(|taken| {
            let free = *taken < limit as usize;
            *taken += usize::from(free);
            free
        });
        taken.then(|| Slot(Arc::clone(self)))
    }

    /// One more, however many there are.
    fn add(self: &Arc<Slots>) -> Slot {
        self.0.send_modify(|taken| *taken += 1);
        Slot(Arc::clone(self))
    }

    async fn all_free(&self) {
        // The sender lives in self, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|taken| *taken == 0).await;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.0.send_modify(|taken| *taken -= 1);
    }
}

/// The open connections of one kind.
pub(super) struct Connections {
    open: Arc<Slots>,
    silent: Mutex<Silent>,
}

/// Connections on which no request has come through yet, oldest first.
#[derive(Default)]
struct Silent {
    next: u64,
    waiting: BTreeMap<u64, Arc<Notify>>,
}

/// One of them; its place is free when it is dropped.
pub(super) struct Connection {
    all: Arc<Connections>,
    number: u64,
    asked: AtomicBool,
    gives_way: Arc<Notify>,
    _slot: Slot,
}

impl Connections {
    pub(super) fn new() -> Arc<Connections> {
        Arc::new(Connections { open: Slots::new(), silent: Mutex::default() })
    }

    /// One more. When there are `limit` already, the oldest silent one is told to give way; `None` when on each of
    /// them something was asked.
    pub(super) fn take(self: &Arc<Connections>, limit: u32) -> Option<Connection> {
        let slot = match self.open.take(limit) {
            Some(slot) => slot,
            None => {
                let (_, oldest) = self.lock().waiting.pop_first()?;
                oldest.notify_one();
                // The other's place is free as soon as its task runs.
                self.open.add()
            }
        };
        let gives_way = Arc::new(Notify::new());
        let mut silent = self.lock();
        let number = silent.next;
        silent.next += 1;
        silent.waiting.insert(number, Arc::clone(&gives_way));
        drop(silent);
        Some(Connection {
            all: Arc::clone(self),
            number,
            asked: AtomicBool::new(false),
            gives_way,
            _slot: slot,
        })
    }

    pub(super) async fn all_closed(&self) {
        self.open.all_free().await;
    }

    fn lock(&self) -> MutexGuard<'_, Silent> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// A request has come through: it stays, also while it is idle.
    pub(super) fn asked(&self) {
        if !self.asked.swap(true, Ordering::Relaxed) {
            self.all.lock().waiting.remove(&self.number);
        }
    }

    /// Waits until it is to give way. A request that came through meanwhile is answered all the same.
    pub(super) async fn gives_way(&self) {
        loop {
            self.gives_way.notified().await;
            if !self.asked.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.asked();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future as _;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn is_told(connection: &Connection) -> bool {
        pin!(connection.gives_way()).poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn at_the_limit_the_oldest_silent_connection_gives_way() {
        let connections = Connections::new();
        let [first, second, third] = [(); 3].map(|()| connections.take(3).unwrap());
        first.asked();
        let fourth = connections.take(3).unwrap();
        assert_eq!([&first, &second, &third, &fourth].map(is_told), [false, true, false, false]);
        drop(second);
        let fifth = connections.take(3).unwrap();
        assert_eq!([&first, &third, &fourth, &fifth].map(is_told), [false, true, false, false]);
    }

    #[test]
    fn nobody_gives_way_while_there_is_room_or_when_all_have_asked() {
        let connections = Connections::new();
        let first = connections.take(2).unwrap();
        drop(connections.take(2).unwrap());
        let second = connections.take(2).unwrap();
        assert!(!is_told(&first) && !is_told(&second));
        let third = connections.take(2).unwrap();
        first.asked();
        assert!(!is_told(&first), "the request came through before it was told");
        third.asked();
        second.asked();
        assert!(connections.take(2).is_none());
        drop((second, third));
        assert!(connections.take(2).is_some());
    }
}
