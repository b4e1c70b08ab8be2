//! The control groups of a run: below the one that the service manager gave to the worker, one for the worker itself,
//! one for its load processes and one for its scratch server, so that the kernel holds each to a memory of its own.
//!
//! Weights are no matter of these groups, which would only share among themselves: all runs together stand beside the
//! services of the host as one, in their slice, and that is where weights are looked up.

use std::cell::Cell;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};

use crate::units::Bytes;

/// Where the one hierarchy of control groups may lie; the latter beside hierarchies of their own for most controllers.
const HIERARCHIES: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// The name of the only group with processes in it that this process is to leave.
const WORKER: &str = "worker";
/// The group of load processes.
pub(super) const LOAD: &str = "load";
/// The group of the scratch servers that run: one, beside those that were asked to stay.
pub(super) const SERVER: &str = "server";

/// What there is to say when a process is ended at the limit of its group.
const OWN_LIMIT: &str = "the kernel ended a process that had all the memory it may have: raise memory_max of the profile (the load's) \
                         or of the target (a scratch server's), or use less";
/// The same when it was ended for want of memory anywhere.
const HOST: &str =
    "the kernel ended a process because the host had no memory left: use less, or run when others do";

/// The groups of one run.
pub(super) struct Groups {
    /// The one they are in, or why there are none.
    own: Result<Own, String>,
    /// Processes that the kernel ended for their memory, and how often a limit was the cause, as far as they were told.
    told: Cell<(u64, u64)>,
}

/// The group that the service manager made for this process alone.
struct Own {
    hierarchy: PathBuf,
    /// Its path below the hierarchy.
    path: PathBuf,
}

/// What was started in a group.
pub(super) struct Started<T> {
    pub(super) started: T,
    /// Whether it has the memory that it may have.
    pub(super) limited: Result<()>,
}

impl Groups {
    /// Divides the group of this process, if it was given one of its own.
    pub(super) fn divide() -> Groups {
        let own = Own::find(&HIERARCHIES).and_then(|own| own.divide().map(|()| own));
        let own = own.map_err(|error| format!("no control group is delegated to benchd: {error:#}"));
        Groups { own, told: Cell::default() }
    }

    /// Has something started in a group that may have so much memory: what a process starts begins in the group of
    /// that process, which therefore enters it for a moment. It is started also where there is no such group.
    pub(super) fn start<T>(&self, group: &str, most: Bytes, start: impl FnOnce() -> T) -> Started<T> {
        let own = match self.own() {
            Ok(own) => own,
            Err(error) => return Started { started: start(), limited: Err(error) },
        };
        let limited = own.limit(group, most);
        let entered = own.enter(group);
        let started = start();
        // As it could be left, it can be entered.
        let back = if entered.is_ok() { own.enter(WORKER) } else { Ok(()) };
        Started { started, limited: entered.and(back).and(limited) }
    }

    /// Whether a weight holds for all runs of this host together, against its services.
    pub(super) fn check_weight(&self, kind: Weight, wanted: u32) -> Result<()> {
        let own = self.own()?;
        let slice = own.slice()?;
        let name = slice.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = slice.join(kind.file());
        let text = fs::read_to_string(&file).map_err(|_| anyhow!("{name} has no {}", kind.file()))?;
        let found = weight_in(&text).with_context(|| format!("{} is \"{}\"", file.display(), text.trim()))?;
        ensure!(
            found == wanted,
            "{name}, where all runs are, has {found}; for every run: systemctl set-property {name} {}={wanted}",
            kind.property()
        );
        Ok(())
    }

    /// Why the kernel has ended a process of load or server for its memory since this was last asked, if it has.
    pub(super) fn ended_for_memory(&self) -> Option<&'static str> {
        let own = self.own.as_ref().ok()?;
        let count = |name: &str| -> u64 {
            let events = [LOAD, SERVER].map(|group| own.directory().join(group).join("memory.events"));
            let in_group = |file: &PathBuf| {
                let text = fs::read_to_string(file).ok()?;
                text.lines().find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok())
            };
            events.iter().filter_map(in_group).sum()
        };
        let now = (count("oom_kill "), count("oom "));
        let before = self.told.replace(now);
        (now.0 > before.0).then_some(if now.1 > before.1 { OWN_LIMIT } else { HOST })
    }

    fn own(&self) -> Result<&Own> {
        self.own.as_ref().map_err(|why| anyhow!("{why}"))
    }
}

/// What a weight is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Weight {
    Cpu,
    Io,
}

impl Weight {
    fn file(self) -> &'static str {
        match self {
            Weight::Cpu => "cpu.weight",
            Weight::Io => "io.weight",
        }
    }

    /// What systemd calls it.
    fn property(self) -> &'static str {
        match self {
            Weight::Cpu => "CPUWeight",
            Weight::Io => "IOWeight",
        }
    }
}

/// `100`, or `default 100` where disks may have others.
fn weight_in(text: &str) -> Option<u32> {
    let first = text.lines().next()?;
    first.strip_prefix("default ").unwrap_or(first).trim().parse().ok()
}

impl Own {
    fn find(hierarchies: &[&str]) -> Result<Own> {
        let hierarchy =
            hierarchies.iter().map(Path::new).find(|path| path.join("cgroup.controllers").exists());
        let hierarchy = hierarchy.with_context(|| format!("no cgroup2 in {}", hierarchies.join(", ")))?;
        let groups = fs::read_to_string("/proc/self/cgroup").context("/proc/self/cgroup")?;
        let path = groups.lines().find_map(|line| line.strip_prefix("0::/")).context("none in cgroup2")?;
        Ok(Own { hierarchy: hierarchy.to_owned(), path: path.into() })
    }

    fn directory(&self) -> PathBuf {
        self.hierarchy.join(&self.path)
    }

    /// The slice among those of the whole host that it is in.
    fn slice(&self) -> Result<PathBuf> {
        let first = self.path.iter().next().context("it is in no slice")?;
        Ok(self.hierarchy.join(first))
    }

    /// Leaves the group for one below it: only where no process is may memory be divided. A group with processes of
    /// others in it is theirs as well.
    fn divide(&self) -> Result<()> {
        let directory = self.directory();
        ensure!(!self.path.as_os_str().is_empty(), "this process is in the first of all groups");
        let processes = fs::read_to_string(directory.join("cgroup.procs"))
            .with_context(|| format!("{} cannot be read", directory.display()))?;
        let others = processes.lines().filter(|pid| *pid != std::process::id().to_string()).count();
        ensure!(others == 0, "{others} other processes are in /{}", self.path.display());
        self.make(WORKER)?;
        self.enter(WORKER)?;
        let controllers = fs::read_to_string(directory.join("cgroup.controllers")).unwrap_or_default();
        if controllers.split_whitespace().any(|name| name == "memory") {
            write(&directory.join("cgroup.subtree_control"), "+memory")?;
        }
        Ok(())
    }

    fn make(&self, group: &str) -> Result<()> {
        let directory = self.directory().join(group);
        match fs::create_dir(&directory) {
            Err(error) if !directory.is_dir() => {
                Err(error).with_context(|| format!("{} was not made", directory.display()))
            }
            _ => Ok(()),
        }
    }

    fn limit(&self, group: &str, most: Bytes) -> Result<()> {
        self.make(group)?;
        let directory = self.directory().join(group);
        let limit = directory.join("memory.max");
        ensure!(limit.exists(), "memory is not accounted for /{}", self.path.display());
        write(&limit, &most.get().to_string())?;
        // What goes to disk for want of memory would be measured as the load's own.
        let swap = directory.join("memory.swap.max");
        if swap.exists() { write(&swap, "0") } else { Ok(()) }
    }

    /// Moves this process.
    fn enter(&self, group: &str) -> Result<()> {
        write(&self.directory().join(group).join("cgroup.procs"), "0")
    }
}

/// Writes to a file that the kernel made.
fn write(path: &Path, text: &str) -> Result<()> {
    let written =
        OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("{} was not written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// Files as of a kernel; what one writes to them stays there.
    fn hierarchy(files: &[(&str, &str)]) -> (TempDir, Groups) {
        let place = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = place.path().join("benchd.slice").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let own = Own { hierarchy: place.path().to_owned(), path: "benchd.slice/w.service".into() };
        let own = own.divide().map(|()| own).map_err(|error| format!("{error:#}"));
        (place, Groups { own, told: Cell::default() })
    }

    const PROCS: &str = "cgroup.procs";

    #[test]
    fn the_load_has_a_memory_of_its_own_and_the_worker_comes_back_from_there() {
        let own = format!("{}\n", std::process::id());
        let (place, groups) = hierarchy(&[
            ("w.service/cgroup.procs", &own),
            ("w.service/cgroup.controllers", "cpu memory pids"),
            ("w.service/cgroup.subtree_control", ""),
            ("w.service/worker/cgroup.procs", ""),
            ("w.service/load/cgroup.procs", ""),
            ("w.service/load/memory.max", ""),
            ("w.service/load/memory.swap.max", ""),
            ("w.service/load/memory.events", "oom 1\noom_kill 2\noom_group_kill 0\n"),
        ]);
        let read =
            |file: &str| fs::read_to_string(place.path().join("benchd.slice/w.service").join(file)).unwrap();
        assert_eq!(
            (read("cgroup.subtree_control"), read("worker/cgroup.procs")),
            ("+memory".into(), "0".into())
        );
        fs::write(place.path().join("benchd.slice/w.service/worker").join(PROCS), "").unwrap();
        let load = || (read("load/cgroup.procs"), read("worker/cgroup.procs"));
        let started = groups.start(LOAD, Bytes::from_mib(64), load);
        assert_eq!(started.started, ("0".into(), String::new()), "started elsewhere");
        started.limited.unwrap();
        assert_eq!(read("worker/cgroup.procs"), "0");
        assert_eq!((read("load/memory.max"), read("load/memory.swap.max")), ("67108864".into(), "0".into()));
        assert_eq!(groups.ended_for_memory(), Some(OWN_LIMIT));
        assert_eq!(groups.ended_for_memory(), None, "told twice");
        let events = place.path().join("benchd.slice/w.service/load/memory.events");
        fs::write(events, "oom 1\noom_kill 3\noom_group_kill 0\n").unwrap();
        assert_eq!(groups.ended_for_memory(), Some(HOST));
    }

    #[test]
    fn without_a_group_of_its_own_what_is_to_run_runs_and_why_is_said() {
        let own = format!("{}\n", std::process::id());
        let without = |files: &[(&str, &str)]| {
            let (_place, groups) = hierarchy(files);
            let started = groups.start(LOAD, Bytes::from_mib(64), || "ran");
            assert_eq!(started.started, "ran");
            format!("{:#}", started.limited.unwrap_err())
        };
        let shared = format!("1\n{own}");
        let said = without(&[("w.service/cgroup.procs", &shared)]);
        assert_eq!(said, "1 other processes are in /benchd.slice/w.service");
        let said = without(&[
            ("w.service/cgroup.procs", &own),
            ("w.service/worker/cgroup.procs", ""),
            ("w.service/load/cgroup.procs", ""),
        ]);
        assert_eq!(said, "memory is not accounted for /benchd.slice/w.service");
    }

    #[test]
    fn a_weight_is_that_of_the_slice_of_all_runs() {
        let own = format!("{}\n", std::process::id());
        let (place, groups) = hierarchy(&[
            ("w.service/cgroup.procs", &own),
            ("w.service/worker/cgroup.procs", ""),
            ("cpu.weight", "100\n"),
            ("io.weight", "default 20\n8:0 50\n"),
        ]);
        groups.check_weight(Weight::Cpu, 100).unwrap();
        groups.check_weight(Weight::Io, 20).unwrap();
        let said = groups.check_weight(Weight::Cpu, 20).unwrap_err().to_string();
        assert!(
            said.ends_with("has 100; for every run: systemctl set-property benchd.slice CPUWeight=20"),
            "{said}"
        );
        fs::remove_file(place.path().join("benchd.slice/cpu.weight")).unwrap();
        let said = groups.check_weight(Weight::Cpu, 100).unwrap_err().to_string();
        assert_eq!(said, "benchd.slice has no cpu.weight");
    }
}
