//! Whether this process has more connections open than CPUs to use them with.
//!
//! It decides how an answer is waited for. A thread that waits within a read of a unix socket is also woken when the
//! server takes the statement off the socket. With a CPU to spare that helps: the thread is awake when the answer comes.
//! With more clients than CPUs it is another change of threads for about every other statement.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

static OPEN: AtomicUsize = AtomicUsize::new(0);
static CPUS: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, usize::from));

/// One open connection.
#[derive(Debug)]
pub(super) struct Member(());

impl Member {
    pub(super) fn new() -> Member {
        OPEN.fetch_add(1, Ordering::Relaxed);
        Member(())
    }

    /// Whether there are more connections than CPUs.
    #[inline]
    pub(super) fn is_in_crowd(&self) -> bool {
        OPEN.load(Ordering::Relaxed) > *CPUS
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}
