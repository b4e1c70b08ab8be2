//! Limits of exchanges, kept by one thread for all connections of the process.
//!
//! The kernel would keep a limit by a timer for every wait, which costs up to a fourteenth of a short statement's CPU
//! time. Here a connection notes when an exchange begins and that it is over, and the thread looks at all of them some
//! times within the shortest limit. A late one is shut down, which ends whatever it waits for.
//!
//! The time is that of the thread itself: what it has paused altogether. So no clock is read for an exchange, and one that
//! the whole process stood still in is not late for that.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{Shutdown, shutdown};

/// So many looks within the shortest limit.
const LOOKS: u32 = 20;
/// The shortest and the longest time between two looks.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(100);

/// The time at the next look, in nanoseconds: one that begins now is not late before its limit has passed since then. It
/// begins far from 0, so that something may have begun earlier.
static NEXT_LOOK: AtomicU64 = AtomicU64::new(1 << 62);

/// A socket, and the exchange that is under way on it. Times are nanoseconds, and 0 is none.
#[derive(Debug)]
pub(super) struct LimitedSocket {
    socket: OwnedFd,
    /// The time at the first look after the exchange began.
    begun: AtomicU64,
    limit: AtomicU64,
    /// Whether it was shut down for being late.
    late: AtomicBool,
}

/// The connections that are watched.
static WATCH: Mutex<Watch> = Mutex::new(Watch { connections: Vec::new(), is_running: false });

struct Watch {
    connections: Vec<Weak<LimitedSocket>>,
    is_running: bool,
}

impl LimitedSocket {
    pub(super) fn new(socket: OwnedFd) -> Arc<LimitedSocket> {
        let (begun, limit) = Default::default();
        Arc::new(LimitedSocket { socket, begun, limit, late: AtomicBool::new(false) })
    }

    /// Has the socket watched from now on; without that no limit is kept.
    pub(super) fn watch(self: &Arc<LimitedSocket>) -> io::Result<()> {
        let mut watch = list();
        if !watch.is_running {
            thread::Builder::new().name("limits".to_owned()).spawn(look_after)?;
            watch.is_running = true;
        }
        watch.connections.push(Arc::downgrade(self));
        Ok(())
    }

    /// Limits every exchange; zero is no limit.
    pub(super) fn set_limit(&self, limit: Duration) {
        self.limit.store(nanoseconds(limit), Ordering::Relaxed);
    }

    /// An exchange begins.
    #[inline]
    pub(super) fn begin(&self) {
        self.begun.store(NEXT_LOOK.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// An exchange is under way since that instant.
    pub(super) fn begin_at(&self, instant: Instant) {
        let begun = NEXT_LOOK.load(Ordering::Relaxed).saturating_sub(nanoseconds(instant.elapsed()));
        self.begun.store(begun, Ordering::Relaxed);
    }

    /// The exchange is over.
    #[inline]
    pub(super) fn end(&self) {
        self.begun.store(0, Ordering::Relaxed);
    }

    /// Whether it was shut down for being late.
    pub(super) fn is_late(&self) -> bool {
        self.late.load(Ordering::Acquire)
    }

    /// Shuts a late one down. One that ends in the same moment was late all the same: then the next exchange on it
    /// pays for that.
    fn look(&self, now: u64) {
        let (begun, limit) = (self.begun.load(Ordering::Relaxed), self.limit.load(Ordering::Relaxed));
        if begun > 0
            && limit > 0
            && now >= begun.saturating_add(limit)
            && !self.late.swap(true, Ordering::Release)
        {
            // It fails where the peer has hung up, which ends the wait as well.
            let _ = shutdown(&self.socket, Shutdown::Both);
        }
    }
}

impl AsFd for LimitedSocket {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The life of the thread: as long as there are connections.
fn look_after() {
    while let Some(pause) = look_at_all() {
        thread::sleep(pause);
    }
}

/// Looks at all connections; the time until the next look, unless there are none.
fn look_at_all() -> Option<Duration> {
    let mut watch = list();
    let now = NEXT_LOOK.load(Ordering::Relaxed);
    let mut shortest = u64::MAX;
    watch.connections.retain(|connection| {
        let Some(connection) = connection.upgrade() else { return false };
        connection.look(now);
        let limit = connection.limit.load(Ordering::Relaxed);
        shortest = shortest.min(if limit > 0 { limit } else { u64::MAX });
        true
    });
    watch.is_running = !watch.connections.is_empty();
    let pause = (Duration::from_nanos(shortest) / LOOKS).clamp(SHORTEST, LONGEST);
    NEXT_LOOK.store(now + nanoseconds(pause), Ordering::Relaxed);
    watch.is_running.then_some(pause)
}

/// A list of which nothing is half written, so a panic of its holder does no harm.
fn list() -> MutexGuard<'static, Watch> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    const LIMIT: Duration = Duration::from_millis(20);

    #[test]
    fn an_exchange_is_late_once_its_limit_has_passed_since_the_look_after_its_beginning() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let socket = LimitedSocket::new(near.into());
        socket.set_limit(LIMIT);
        let begin = || {
            socket.begin();
            socket.begun.load(Ordering::Relaxed)
        };
        let until = begin() + nanoseconds(LIMIT);
        socket.end();
        socket.look(until);
        assert!(!socket.is_late(), "none is under way");
        let until = begin() + nanoseconds(LIMIT);
        socket.look(until - 1);
        assert!(!socket.is_late());
        socket.look(until);
        assert!(socket.is_late());
        assert_eq!(far.read(&mut [0]).unwrap(), 0, "it was shut down");
    }

    #[test]
    fn whenever_an_exchange_begins_it_is_not_ended_before_its_limit() {
        for _ in 0..20 {
            let (near, _far) = UnixStream::pair().unwrap();
            let mut reader = near.try_clone().unwrap();
            let socket = LimitedSocket::new(near.into());
            socket.set_limit(LIMIT);
            socket.watch().unwrap();
            let begun = Instant::now();
            socket.begin();
            assert_eq!(reader.read(&mut [0]).unwrap(), 0);
            assert!(begun.elapsed() >= LIMIT, "{:?}", begun.elapsed());
            assert!(socket.is_late());
        }
    }
}
