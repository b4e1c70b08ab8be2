//! `memory`: a load leaves the memory of everybody else alone.

use super::{Found, Guard, Situation};
use crate::record::Profile;
use crate::units::{Bytes, Share};
use crate::workloads;

pub(super) const GUARD: Guard = Guard {
    name: "memory",
    about: "the load takes at most a quarter of the available memory, and 4 GiB outside of profile lab",
    check,
};

/// Of the memory that is available.
const SHARE: Share = Share::from_percent(25);
/// The most outside of profile lab.
const MOST: Bytes = Bytes::from_mib(4096);

fn check(situation: &Situation<'_>) -> Found {
    let taken = situation.plan.cases.iter().map(|plan| of_case(&plan.case)).max().unwrap_or(0);
    if taken == 0 {
        return Found::NotConcerned;
    }
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available_in(&text));
    judge(taken, available, situation.plan.profile)
}

/// What a case takes beside the driver's own; one that cannot be built is refused elsewhere.
fn of_case(case: &crate::config::Case) -> u64 {
    let kind = workloads::find(&case.workload);
    let workload = kind.and_then(|kind| (kind.build)(&case.parameters).ok());
    workload.map_or(0, |workload| workload.memory().get())
}

fn judge(taken: u64, available: Option<u64>, profile: Profile) -> Found {
    let advice = "use smaller buffers or fewer threads".to_owned();
    let Some(available) = available else {
        return Found::Violated {
            measured: "MemAvailable cannot be read from /proc/meminfo".to_owned(),
            limit: format!("{SHARE} of it"),
            advice,
        };
    };
    let share = (available as f64 * SHARE.ratio()) as u64;
    let most = if profile == Profile::Lab { share } else { share.min(MOST.get()) };
    let (measured, limit) = (format!("{} taken", in_mib(taken)), in_mib(most));
    match taken <= most {
        true => Found::Holds { measured, limit },
        false => Found::Violated { measured, limit, advice },
    }
}

/// In whole MiB, rounded up so that what is beyond a limit also reads so.
fn in_mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_a_quarter_of_what_is_available_and_4_gib_where_others_work() {
        let gib = |gib: u64| gib << 30;
        let holds =
            |taken, available, profile| matches!(judge(taken, available, profile), Found::Holds { .. });
        assert!(holds(gib(2), Some(gib(8)), Profile::Canary));
        assert!(!holds(gib(2) + 1, Some(gib(8)), Profile::Lab));
        assert!(holds(gib(4), Some(gib(100)), Profile::Maintenance));
        assert!(!holds(gib(4) + 1, Some(gib(100)), Profile::Canary));
        assert!(holds(gib(25), Some(gib(100)), Profile::Lab));
        assert!(!holds(1, None, Profile::Lab), "what cannot be seen does not hold");
    }

    #[test]
    fn what_is_available_is_read_from_the_kernel() {
        assert_eq!(available_in("MemTotal: 9 kB\nMemAvailable:    4096 kB\n"), Some(4 << 20));
        assert_eq!(available_in("MemTotal: 9 kB\n"), None);
    }
}
