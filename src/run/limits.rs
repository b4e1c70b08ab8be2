//! The limits of a profile: what a process takes on itself before it starts any thread that matters, and what its control
//! groups hold.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::groups::{Groups, Weight};
use crate::config::{Cpus, IoPriority, Limits};
use crate::system;

/// What holds for a load, by the limit's name: its value, or why it does not hold.
pub(super) type Stamp = BTreeMap<String, String>;

/// Where the kernel keeps how soon it ends this process when memory runs out.
const OOM_SCORE_ADJ: &str = "/proc/self/oom_score_adj";

/// Makes this process, and all it starts, stand back: the load, and the worker, whose scratch servers are load too.
pub(super) fn apply(limits: &Limits) -> Stamp {
    let mut stamp = Stamp::new();
    let nice = i32::try_from(limits.nice).unwrap_or(i32::MAX);
    enter(&mut stamp, "nice", &limits.nice, system::set_nice(nice).context("setpriority"));
    enter(&mut stamp, "io_priority", &limits.io_priority, set_io_priority(limits.io_priority));
    let oom = fs::write(OOM_SCORE_ADJ, limits.oom_score_adj.to_string()).context(OOM_SCORE_ADJ);
    enter(&mut stamp, "oom_score_adj", &limits.oom_score_adj, oom);
    let cpus = if limits.cpus.numbers().is_empty() { "all".to_owned() } else { limits.cpus.to_string() };
    enter(&mut stamp, "cpus", &cpus, set_cpus(&limits.cpus));
    stamp
}

/// What of the weights holds for all runs, beside the services of the host.
pub(super) fn weights(limits: &Limits, groups: &Groups) -> Stamp {
    let mut stamp = Stamp::new();
    let cpu = groups.check_weight(Weight::Cpu, limits.cpu_weight);
    enter(&mut stamp, "cpu_weight", &limits.cpu_weight, cpu);
    let io = groups.check_weight(Weight::Io, limits.io_weight);
    enter(&mut stamp, "io_weight", &limits.io_weight, io);
    stamp
}

/// Notes a limit, and why it does not hold.
pub(super) fn enter(stamp: &mut Stamp, name: &str, value: &impl ToString, applied: Result<()>) {
    let value = value.to_string();
    let text = match applied {
        Ok(()) => value,
        Err(error) => format!("not applied ({value}): {error:#}"),
    };
    stamp.insert(name.to_owned(), text);
}

fn set_io_priority(priority: IoPriority) -> Result<()> {
    let (class, level) = match priority {
        IoPriority::None => (system::IoClass::None, 0),
        IoPriority::BestEffort(level) => (system::IoClass::BestEffort, level),
        IoPriority::Idle => (system::IoClass::Idle, 0),
    };
    system::set_io_priority(class, level).context("ioprio_set")
}

fn set_cpus(cpus: &Cpus) -> Result<()> {
    if cpus.numbers().is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for number in cpus.numbers() {
        let number = usize::try_from(*number)?;
        ensure!(number < CpuSet::count(), "CPU {number} is beyond {}", CpuSet::count() - 1);
        set.set(number)?;
    }
    sched_setaffinity(Pid::from_raw(0), &set).context("sched_setaffinity")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Profile;

    #[test]
    fn what_cannot_be_had_is_said_with_its_reason() {
        let limits = Limits { cpus: "4000".parse().unwrap(), ..Limits::of(Profile::Lab) };
        // In a thread of its own: nice value and CPUs are a thread's.
        let cpus = std::thread::spawn(move || set_cpus(&limits.cpus)).join().unwrap();
        let mut stamp = Stamp::new();
        enter(&mut stamp, "cpus", &"4000", cpus);
        enter(&mut stamp, "nice", &0, Ok(()));
        assert!(stamp["cpus"].starts_with("not applied (4000): CPU 4000"), "{stamp:?}");
        assert_eq!(stamp["nice"], "0");
    }
}
