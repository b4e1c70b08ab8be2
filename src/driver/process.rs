//! What the load generator itself costs.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike as _};

/// CPU time of this process, in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CpuTime {
    pub(super) user: f64,
    pub(super) system: f64,
}

impl CpuTime {
    /// What was used so far; nothing where the system does not tell.
    pub(super) fn so_far() -> CpuTime {
        let seconds = |time: TimeVal| time.num_microseconds() as f64 / 1e6;
        getrusage(UsageWho::RUSAGE_SELF).map_or(CpuTime::default(), |usage| CpuTime {
            user: seconds(usage.user_time()),
            system: seconds(usage.system_time()),
        })
    }

    /// What was used since an earlier reading.
    pub(super) fn since(self, before: CpuTime) -> CpuTime {
        CpuTime { user: self.user - before.user, system: self.system - before.system }
    }

    /// User and system time.
    pub(super) fn total(self) -> f64 {
        self.user + self.system
    }
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
