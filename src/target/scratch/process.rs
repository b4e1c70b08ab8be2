//! Processes that are started, watched and ended by their id, never by a name.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, User};
use serde::{Deserialize, Serialize};

use crate::process::{self, ProcessId};
pub(crate) use crate::process::{Waited, wait_for};
use crate::units::Span;

/// The longest a server may take to stop by itself: it writes what its buffers hold.
pub(crate) const STOP_LIMIT: Span = Span::from_secs(60);
/// The longest one may take that was left over by a crash. Less, because the run that needed it is over and a restart
/// of benchd waits for it, and because one that was just started was seen not to stop for long. Killing it costs no
/// data that is used again: tables of InnoDB recover, and what was not loaded to its end is loaded anew.
pub(crate) const LEFT_OVER_LIMIT: Span = Span::from_secs(10);
/// The longest that becoming another program is waited for.
const LONGEST_BECOMING: Span = Span::from_secs(1);
/// How often processes to be ended are looked for: what was ended may have started another just before.
const MOST_SEARCHES: u32 = 3;

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
    // One that stands still goes on, so that it can end.
    signal(child.id(), Signal::SIGCONT);
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

/// The variable in the environment of all that is started for a scratch server: its value is the directory of that
/// server, which is how a process is known that was started and not yet remembered.
pub(crate) const MARK: &str = "BENCHD_SCRATCH";

/// A server process as it is remembered across a crash of benchd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Remembered {
    #[serde(flatten)]
    process: ProcessId,
    /// Its data directory, which stands in its command line.
    data: PathBuf,
}

impl Remembered {
    /// Remembers a process that was just started.
    pub(crate) fn new(pid: u32, data: &Path) -> anyhow::Result<Remembered> {
        let process = ProcessId::of(pid).with_context(|| format!("process {pid} ended at once"))?;
        Ok(Remembered { process, data: data.to_owned() })
    }

    /// Whether exactly this process still runs, on this data directory.
    pub(crate) fn runs(&self) -> bool {
        self.process.is_there() && self.serves_data()
    }

    fn serves_data(&self) -> bool {
        let wanted = format!("--datadir={}", self.data.display());
        holds(self.process.pid(), "cmdline", wanted.as_bytes())
    }

    /// Ends the process if it still runs. Returns whether it did.
    pub(crate) fn end(&self, limit: Span) -> bool {
        let runs = self.runs();
        if runs {
            end_other(&self.process, limit);
        }
        runs
    }
}

/// Ends every process that was started for the scratch server in a directory, and what these start meanwhile. Returns
/// whether there was one.
pub(crate) fn end_marked(home: &Path, limit: Span) -> bool {
    let mark = [MARK.as_bytes(), b"=", home.as_os_str().as_bytes()].concat();
    let mut any = false;
    for _ in 0..MOST_SEARCHES {
        let found = marked(&mark);
        if found.is_empty() {
            break;
        }
        found.iter().for_each(|process| end_other(process, limit));
        any = true;
    }
    any
}

/// The processes in whose environment this text is.
fn marked(text: &[u8]) -> Vec<ProcessId> {
    let all_are_clear = || !process::all().into_iter().any(becomes_a_program);
    wait_for(LONGEST_BECOMING, &|| false, || all_are_clear().then_some(()));
    let marked = |process: &ProcessId| holds(process.pid(), "environ", text);
    process::all().into_iter().filter_map(ProcessId::of).filter(marked).collect()
}

/// Whether a process is in the middle of execve(2): it shows the file of a program, and no arguments and no environment
/// by which it could be known.
fn becomes_a_program(pid: u32) -> bool {
    let empty = |file: &str| fs::read(format!("/proc/{pid}/{file}")).is_ok_and(|text| text.is_empty());
    empty("cmdline") && empty("environ") && fs::read_link(format!("/proc/{pid}/exe")).is_ok()
}

/// Ends a process that is no child of this one: asks first, then forces. One on its way out has no command line any
/// more, but still holds its files and their locks.
fn end_other(process: &ProcessId, limit: Span) {
    process.ask_to_end();
    if process.wait_until_gone(limit) == Waited::Late {
        process.kill();
        process.wait_until_gone(limit);
    }
}

/// Whether one of the texts in a file of `/proc/PID`, each of which ends with a zero byte, is this one.
fn holds(pid: u32, file: &str, text: &[u8]) -> bool {
    let all = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    all.split(|byte| *byte == 0).any(|one| one == text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn sleeper(argument: &str) -> Child {
        // `sh` keeps the further arguments in its command line.
        Command::new("sh").args(["-c", "read line; :", "sh", argument]).stdin(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn a_remembered_process_is_ended_and_only_that() {
        let mut child = sleeper("--datadir=/a/data");
        let remembered = Remembered::new(child.id(), Path::new("/a/data")).unwrap();
        // A process exists before its command line can be read.
        while !remembered.runs() {}
        let other = Remembered { data: "/another".into(), ..remembered.clone() };
        assert!(!other.end(Span::from_secs(5)));
        assert!(remembered.end(Span::from_secs(20)));
        assert_eq!(child.wait().unwrap().signal(), Some(15));
        assert!(!remembered.runs());
    }

    #[test]
    fn what_was_started_for_a_directory_is_ended_and_nothing_else() {
        let start = |home: &str| Command::new("cat").env(MARK, home).stdin(Stdio::piped()).spawn().unwrap();
        let (mut ours, mut other) = (start("/srv/benchd/ssd"), start("/srv/benchd/ssd2"));
        // A process exists before its environment can be read.
        while !end_marked(Path::new("/srv/benchd/ssd"), Span::from_secs(20)) {}
        assert_eq!(ours.wait().unwrap().signal(), Some(15));
        assert!(!end_marked(Path::new("/srv/benchd/ssd"), Span::from_secs(20)));
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_child_that_does_not_listen_is_forced() {
        let mut child = Command::new("sh")
            .args(["-c", "trap '' TERM; echo; read line"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
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
}
