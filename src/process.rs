//! A process told from every other that had, or will have, the same id.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::units::Span;

/// The first and the longest pause between two looks at something that takes time.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));

/// How a wait ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Waited<T> {
    /// With what was waited for.
    Done(T),
    /// The limit passed.
    Late,
    /// The caller was asked to stop.
    Stopped,
}

/// Looks again and again, more slowly with time, until there is something, the limit passes, or `stop` says so.
pub(crate) fn wait_for<T>(
    limit: Span,
    stop: &dyn Fn() -> bool,
    mut look: impl FnMut() -> Option<T>,
) -> Waited<T> {
    let begin = Instant::now();
    let mut pause = PAUSES.0;
    loop {
        if let Some(found) = look() {
            return Waited::Done(found);
        }
        if stop() {
            return Waited::Stopped;
        }
        if begin.elapsed() >= limit.duration() {
            return Waited::Late;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// A process id with the start time and the boot that make it unique.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessId {
    pid: u32,
    /// When it started, in clock ticks since boot.
    start_ticks: u64,
    boot: String,
}

impl ProcessId {
    /// The process that has this id now; `None` when none has, or it has ended and only waits to be collected.
    pub(crate) fn of(pid: u32) -> Option<ProcessId> {
        Some(ProcessId { pid, start_ticks: start_ticks(pid)?, boot: boot() })
    }

    /// The id.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether exactly this process is still there.
    pub(crate) fn is_there(&self) -> bool {
        self.boot == boot() && start_ticks(self.pid) == Some(self.start_ticks)
    }

    /// Asks the process to end; one that stands still goes on, so that it can.
    pub(crate) fn ask_to_end(&self) {
        self.signal(Signal::SIGTERM);
        self.signal(Signal::SIGCONT);
    }

    /// Ends the process at once, if it is still there.
    pub(crate) fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }

    /// Ends the process and all of its group at once, if it is still there and leads one.
    pub(crate) fn kill_group(&self) {
        if let Some(pid) = self.pid_if_there() {
            // It may be gone by now, which is what is wanted.
            let _ = killpg(pid, Signal::SIGKILL);
        }
    }

    /// Kills what is left of this same program in the group of this process, which led it and is gone. A child that was
    /// forked and has not become the program it was forked for bears nothing else yet by which it could be known.
    pub(crate) fn kill_own_in_group(&self) {
        let id_has_another = start_ticks(self.pid).is_some_and(|ticks| ticks != self.start_ticks);
        let (Some(own), false) = (program(std::process::id()), self.boot != boot() || id_has_another) else {
            return;
        };
        let in_group = |pid: &u32| group(*pid) == Some(self.pid) && program(*pid).as_ref() == Some(&own);
        all().into_iter().filter(in_group).filter_map(ProcessId::of).for_each(|process| process.kill());
    }

    /// Waits until the process is gone.
    pub(crate) fn wait_until_gone(&self, limit: Span) -> Waited<()> {
        wait_for(limit, &|| false, || (!self.is_there()).then_some(()))
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid_if_there() {
            // It may be gone by now, which is what is wanted.
            let _ = kill(pid, signal);
        }
    }

    fn pid_if_there(&self) -> Option<Pid> {
        self.is_there().then(|| i32::try_from(self.pid).ok().map(Pid::from_raw)).flatten()
    }
}

/// Descriptors that a process needs beside those it asks for: pipes, sockets, the store.
const SPARE_FILES: u64 = 64;

/// Has this process able to open so many more files: its soft limit is raised as far as needed, where its hard limit
/// lets it.
///
/// # Errors
/// How many it may have, and how to let it have more.
pub(crate) fn make_room_for_files(more: u64) -> anyhow::Result<()> {
    let open = fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
    let needed = open.saturating_add(more).saturating_add(SPARE_FILES);
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).context("ask how many files may be open")?;
    if needed <= soft {
        return Ok(());
    }
    anyhow::ensure!(
        needed <= hard,
        "{more} files cannot be open at once: this process has {open} open and may have {hard} (RLIMIT_NOFILE): ask for \
         fewer, or raise LimitNOFILE of the service (ulimit -Hn of a shell)"
    );
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard)
        .with_context(|| format!("raise the limit of open files to {needed}"))
}

/// Bytes that this process and those it started have sent towards disks, as the kernel accounts for them; `None` where
/// it does not. Processes that ended and were waited for are in the account of this one, so only those that live are
/// asked beside it: to be called by the thread that starts and collects them.
pub(crate) fn written_bytes() -> Option<u64> {
    let children = fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    let of_children: u64 = children.split_ascii_whitespace().filter_map(written_by).sum();
    Some(of_children + written_by("self")?)
}

/// `write_bytes` of `/proc/PID/io` (proc(5)), all threads included.
fn written_by(process: &str) -> Option<u64> {
    let io = fs::read_to_string(format!("/proc/{process}/io")).ok()?;
    io.lines().find_map(|line| line.strip_prefix("write_bytes: "))?.parse().ok()
}

/// Ids of all processes.
pub(crate) fn all() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The file of the program that a process runs, also when it was replaced since; `None` when that cannot be seen.
fn program(pid: u32) -> Option<PathBuf> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let replaced = path.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    Some(replaced.unwrap_or(path))
}

/// Field 5 of `/proc/PID/stat` (proc(5)): the process group.
fn group(pid: u32) -> Option<u32> {
    field(pid, 5)?.parse().ok()
}

/// Field 22 of `/proc/PID/stat` (proc(5)); `None` for a process that is gone or only waits to be collected.
fn start_ticks(pid: u32) -> Option<u64> {
    field(pid, 22)?.parse().ok()
}

/// A field of `/proc/PID/stat` after the second, counted from one; `None` for a process that is gone or only waits to be
/// collected.
fn field(pid: u32, number: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses and may hold anything; the third is the state.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let field = fields.get(number.checked_sub(3)?)?;
    (fields.first() != Some(&"Z")).then(|| (*field).to_owned())
}

/// The kernel's name for this boot.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    #[test]
    fn only_the_process_that_was_meant_is_ended() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = ProcessId::of(child.id()).unwrap();
        let others = [
            ProcessId { start_ticks: process.start_ticks + 1, ..process.clone() },
            ProcessId { boot: "another".into(), ..process.clone() },
        ];
        for other in others {
            other.kill();
            assert_eq!(other.wait_until_gone(Span::ZERO), Waited::Done(()));
        }
        assert_eq!(process.wait_until_gone(Span::ZERO), Waited::Late);
        process.kill();
        assert_eq!(process.wait_until_gone(Span::from_secs(20)), Waited::Done(()));
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn a_process_that_stands_still_is_asked_to_end_and_does() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = ProcessId::of(child.id()).unwrap();
        process.signal(Signal::SIGSTOP);
        process.ask_to_end();
        assert_eq!(process.wait_until_gone(Span::from_secs(20)), Waited::Done(()));
        assert_eq!(child.wait().unwrap().signal(), Some(15));
    }

    #[test]
    fn a_wait_ends_by_result_stop_or_limit() {
        assert_eq!(wait_for(Span::from_secs(9), &|| false, || Some(7)), Waited::Done(7));
        assert_eq!(wait_for(Span::from_secs(9), &|| true, || None::<()>), Waited::Stopped);
        assert_eq!(wait_for(Span::from_millis(1), &|| false, || None::<()>), Waited::Late);
    }
}
