//! The one clock of the driver: nanoseconds of CLOCK_MONOTONIC, so that a deadline is the same number for
//! reading, comparing and sleeping.

use nix::sys::prctl;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// Nanoseconds since some fixed instant.
#[inline]
pub(super) fn now() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// CPU time of the calling thread so far, in nanoseconds.
pub(super) fn thread_cpu() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// Neither clock shows a time before its beginning.
#[inline]
fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// Sleeps until the clock shows `deadline`, or a signal comes.
pub(super) fn sleep_until(deadline: u64) {
    let request = Timespec { tv_sec: (deadline / SECOND) as i64, tv_nsec: (deadline % SECOND) as i64 };
    // The caller reads the clock again, so a sleep cut short by a signal is only a sleep in two parts.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &request);
}

/// Asks the kernel to wake the calling thread without the usual 50 µs of grouping. Where it refuses, the
/// lateness shows in the lag.
pub(super) fn wake_precisely() {
    let _ = prctl::set_timerslack(1);
}
