//! What the load generator itself costs.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

/// User and system CPU time of this process so far, in seconds.
pub(super) fn cpu_seconds() -> f64 {
    let used = getrusage(UsageWho::RUSAGE_SELF).map(|usage| usage.user_time() + usage.system_time());
    used.map_or(0.0, |time| time.num_microseconds() as f64 / 1e6)
}

/// Largest resident memory of this process in bytes; 0 where /proc does not tell. `ru_maxrss` would be that of the
/// process which started this one, when it was larger.
pub(super) fn peak_memory_bytes() -> u64 {
    std::fs::read_to_string("/proc/self/status").ok().and_then(|status| peak_in(&status)).unwrap_or(0)
}

/// CPUs that this process may use at once, by its affinity and its control group.
pub(super) fn cpus() -> f64 {
    std::thread::available_parallelism().map_or(0.0, |cpus| cpus.get() as f64)
}

fn peak_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_memory_is_read_from_the_status() {
        assert_eq!(
            peak_in("Name:\tbenchd\nVmPeak:\t  9 kB\nVmHWM:\t    4320 kB\nVmRSS:\t 1 kB\n"),
            Some(4320 * 1024)
        );
        assert_eq!(peak_in("Name:\tbenchd\n"), None);
        assert!(peak_memory_bytes() > 0);
    }
}
