//! The one clock of the driver: nanoseconds of CLOCK_MONOTONIC, so that a deadline is the same number for
//! reading, comparing and sleeping.

use nix::sys::prctl;
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

/// Nanoseconds since some fixed instant. Reading CLOCK_MONOTONIC cannot fail on Linux.
#[inline]
pub(super) fn now() -> u64 {
    ClockId::CLOCK_MONOTONIC.now().map_or(0, |time| time.num_nanoseconds() as u64)
}

/// CPU time of the calling thread so far, in nanoseconds; 0 where the kernel does not tell.
pub(super) fn thread_cpu() -> u64 {
    ClockId::CLOCK_THREAD_CPUTIME_ID.now().map_or(0, |time| time.num_nanoseconds() as u64)
}

/// Sleeps until the clock shows `deadline`, or a signal comes.
pub(super) fn sleep_until(deadline: u64) {
    let request = TimeSpec::nanoseconds(i64::try_from(deadline).unwrap_or(i64::MAX));
    // The caller reads the clock again, so a sleep cut short by a signal is only a sleep in two parts.
    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &request);
}

/// Asks the kernel to wake the calling thread without the usual 50 µs of grouping. Where it refuses, the
/// lateness shows in the lag.
pub(super) fn wake_precisely() {
    let _ = prctl::set_timerslack(1);
}
