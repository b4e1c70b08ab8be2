//! How many connections this process has open for each CPU that it may use.
//!
//! It decides how an answer is waited for. A thread that waits within a read of a unix socket is also woken when the
//! server takes the statement off the socket. With a CPU to spare that helps: the thread is awake when the answer comes.
//! With more clients than CPUs it is another change of threads for up to every third statement. With very many it is
//! none any more: when the turn of the woken thread comes, the answer is there too, and asking twice costs more.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

/// More connections than this for each CPU are very many. Measured with 2 CPUs: 64 connections are faster by poll, 128
/// are cheaper by read.
const VERY_MANY: usize = 48;

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

    /// Whether there are more connections than CPUs, and not very many.
    #[inline]
    pub(super) fn is_in_crowd(&self) -> bool {
        let (open, cpus) = (OPEN.load(Ordering::Relaxed), *CPUS);
        open > cpus && open <= cpus * VERY_MANY
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}
