//! Processes that are started, watched and ended by their id, never by a name.

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, User};
use serde::{Deserialize, Serialize};

use crate::units::Span;

/// The longest a server may take to stop by itself: it writes what its buffers hold.
pub(crate) const STOP_LIMIT: Span = Span::from_secs(60);
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

/// The unprivileged account servers run as when benchd is root.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    name: String,
    uid: u32,
    gid: u32,
}

impl Account {
    /// `mysql` if there is such an account, else `nobody`; `None` when benchd is not root and has no choice.
    pub(crate) fn for_servers() -> anyhow::Result<Option<Account>> {
        if !Uid::effective().is_root() {
            return Ok(None);
        }
        for name in ["mysql", "nobody"] {
            if let Some(user) =
                User::from_name(name).with_context(|| format!("account {name} cannot be looked up"))?
            {
                return Ok(Some(Account { name: user.name, uid: user.uid.as_raw(), gid: user.gid.as_raw() }));
            }
        }
        bail!(
            "no scratch server is started as root, and neither account mysql nor nobody exists: create mysql"
        )
    }

    /// Makes a command run as this account, with its group alone.
    pub(crate) fn run(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    /// Gives a directory that was just created to this account.
    pub(crate) fn give(&self, path: &Path) -> anyhow::Result<()> {
        std::os::unix::fs::lchown(path, Some(self.uid), Some(self.gid))
            .with_context(|| format!("{} was not given to account {}", path.display(), self.name))
    }

    /// Checks that the account can reach a directory through all directories above it.
    pub(crate) fn can_reach(&self, path: &Path) -> anyhow::Result<()> {
        use std::os::unix::fs::MetadataExt;
        for directory in path.ancestors() {
            let facts = fs::metadata(directory)
                .with_context(|| format!("directory {} cannot be examined", directory.display()))?;
            let bit = match (facts.uid() == self.uid, facts.gid() == self.gid) {
                (true, _) => 0o100,
                (false, true) => 0o010,
                (false, false) => 0o001,
            };
            if facts.mode() & bit == 0 {
                bail!(
                    "account {}, which scratch servers run as, cannot enter {}: chmod o+x it, or choose another \
                     `directory`",
                    self.name,
                    directory.display()
                );
            }
        }
        Ok(())
    }
}

/// Waits for a child to end.
pub(crate) fn wait_for_end(child: &mut Child, limit: Span, stop: &dyn Fn() -> bool) -> Waited<ExitStatus> {
    wait_for(limit, stop, || child.try_wait().ok().flatten())
}

/// Ends a child: asks first, then forces. Returns whether it had to be forced.
pub(crate) fn end(child: &mut Child, limit: Span) -> bool {
    // A child that was not waited for keeps its id, so the id cannot mean another process.
    signal(child.id(), Signal::SIGTERM);
    let forced = wait_for_end(child, limit, &|| false) == Waited::Late;
    if forced {
        let _ = child.kill();
    }
    let _ = child.wait();
    forced
}

fn signal(pid: u32, signal: Signal) {
    if let Ok(pid) = i32::try_from(pid) {
        // The only failure possible is that the process is gone, which is what is wanted.
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

/// How a process ended, in words: `1`, `signal 9`.
pub(crate) fn ended_with(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => code.to_string(),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// A server process as it is remembered across a crash of benchd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Remembered {
    pid: u32,
    /// When it started, in clock ticks since boot; with the boot, this makes the pid unique.
    start_ticks: u64,
    boot: String,
    /// Its data directory, which stands in its command line.
    data: PathBuf,
}

impl Remembered {
    /// Remembers a process that was just started.
    pub(crate) fn new(pid: u32, data: &Path) -> anyhow::Result<Remembered> {
        let start_ticks = start_ticks(pid).with_context(|| format!("process {pid} ended at once"))?;
        Ok(Remembered { pid, start_ticks, boot: boot(), data: data.to_owned() })
    }

    /// Whether exactly this process still runs, on this data directory.
    pub(crate) fn runs(&self) -> bool {
        self.is_there() && self.serves_data()
    }

    fn is_there(&self) -> bool {
        self.boot == boot() && start_ticks(self.pid) == Some(self.start_ticks)
    }

    fn serves_data(&self) -> bool {
        let command_line = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let wanted = format!("--datadir={}", self.data.display());
        command_line.split(|byte| *byte == 0).any(|argument| argument == wanted.as_bytes())
    }

    /// Ends the process if it still runs. Returns whether it did.
    pub(crate) fn end(&self, limit: Span) -> bool {
        if !self.runs() {
            return false;
        }
        signal(self.pid, Signal::SIGTERM);
        if self.wait_until_gone(limit) == Waited::Late {
            signal(self.pid, Signal::SIGKILL);
            self.wait_until_gone(limit);
        }
        true
    }

    /// A process on its way out has no command line any more, but still holds its files and their locks.
    fn wait_until_gone(&self, limit: Span) -> Waited<()> {
        wait_for(limit, &|| false, || (!self.is_there()).then_some(()))
    }
}

/// Field 22 of `/proc/PID/stat` (proc(5)); `None` for a process that is gone or only waits to be collected.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses and may hold anything; the third is the state.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// The kernel's name for this boot.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper(argument: &str) -> Child {
        // `sh` keeps the further arguments in its command line.
        Command::new("sh")
            .args(["-c", "read line; :", "sh", argument])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    }

    #[test]
    fn a_remembered_process_is_ended_and_only_that() {
        let mut child = sleeper("--datadir=/a/data");
        let remembered = Remembered::new(child.id(), Path::new("/a/data")).unwrap();
        // A process exists before its command line can be read.
        while !remembered.runs() {}
        let others = [
            Remembered { start_ticks: remembered.start_ticks + 1, ..remembered.clone() },
            Remembered { data: "/another".into(), ..remembered.clone() },
            Remembered { boot: "another".into(), ..remembered.clone() },
        ];
        for other in others {
            assert!(!other.end(Span::from_secs(5)));
        }
        assert!(remembered.end(Span::from_secs(20)));
        assert_eq!(child.wait().unwrap().signal(), Some(15));
        assert!(!remembered.runs());
    }

    #[test]
    fn a_child_that_does_not_listen_is_forced() {
        let mut child = Command::new("sh")
            .args(["-c", "trap '' TERM; echo; read line"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // Its line says that the trap is set.
        std::io::BufRead::read_line(
            &mut std::io::BufReader::new(child.stdout.take().unwrap()),
            &mut String::new(),
        )
        .unwrap();
        assert!(end(&mut child, Span::from_millis(50)));
        let mut willing = sleeper("");
        assert!(!end(&mut willing, Span::from_secs(20)));
    }

    #[test]
    fn a_wait_ends_by_result_stop_or_limit() {
        assert_eq!(wait_for(Span::from_secs(9), &|| false, || Some(7)), Waited::Done(7));
        assert_eq!(wait_for(Span::from_secs(9), &|| true, || None::<()>), Waited::Stopped);
        assert_eq!(wait_for(Span::from_millis(1), &|| false, || None::<()>), Waited::Late);
    }
}
