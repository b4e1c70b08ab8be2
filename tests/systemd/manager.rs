//! What benchd tells a service manager; the test plays the manager.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::common::program::{PATIENCE, Place};

/// The limit of the watchdog in these tests, in microseconds.
const WATCHDOG: u32 = 3_000_000;
/// A line that is no news comes within this time, if it comes.
const QUIET: Duration = Duration::from_secs(9);

/// A daemon under a manager that a test plays: it hears what systemd would.
struct Managed {
    child: Child,
    heard: UnixDatagram,
    place: Place,
}

impl Managed {
    fn start(lines: &str) -> Managed {
        let place = Place::new(lines);
        let heard = UnixDatagram::bind(place.path("notify.sock")).unwrap();
        let child = place
            .command(&["serve"])
            .env("NOTIFY_SOCKET", place.path("notify.sock"))
            .env("WATCHDOG_USEC", WATCHDOG.to_string())
            .spawn()
            .unwrap();
        Managed { child, heard, place }
    }

    /// The next message; `None` when there is none within this time.
    fn next(&self, within: Duration) -> Option<String> {
        self.heard.set_read_timeout(Some(within)).unwrap();
        let mut message = [0; 4096];
        let length = self.heard.recv(&mut message).ok()?;
        Some(String::from_utf8_lossy(&message[..length]).into_owned())
    }

    /// Waits for a message with this text.
    fn wait_for(&self, text: &str) -> String {
        let began = Instant::now();
        loop {
            let message = self.next(PATIENCE).unwrap_or_else(|| panic!("no {text}"));
            if message.contains(text) {
                return message;
            }
            assert!(began.elapsed() < PATIENCE, "no {text}, but {message}");
        }
    }

    /// Whether the watchdog is fed within a time in which it would be several times.
    fn is_fed(&self) -> bool {
        let began = Instant::now();
        while let Some(left) = QUIET.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
            if self.next(left).is_some_and(|message| message.contains("WATCHDOG=1")) {
                return true;
            }
        }
        false
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    /// The thread of this name.
    fn thread(&self, name: &str) -> Pid {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap().flatten();
        let named = |task: &fs::DirEntry| {
            fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.trim() == name)
        };
        let task = tasks.into_iter().find(named).unwrap_or_else(|| panic!("no thread {name}"));
        Pid::from_raw(task.file_name().to_str().unwrap().parse().unwrap())
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

const GROUP: &str = "server.socket_group = \"root\"\n";

/// A suite that lasts until somebody ends it.
fn long(keys: &str) -> String {
    format!(
        "{GROUP}[suite.long]\nprofile = \"lab\"\n{keys}\n[[suite.long.benchmark]]\nworkload = \"cpu\"\nthreads = 1\n\
         warm_up = \"0s\"\ntime = \"1h\"\n"
    )
}

#[test]
fn the_manager_hears_what_goes_on_from_the_start_to_the_end() {
    let managed = Managed::start(&long(""));
    managed.wait_for("READY=1");
    managed.wait_for("STATUS=nothing is scheduled");
    managed.wait_for("WATCHDOG=1");
    managed.place.configure(&long("schedule = \"0 3 1 1 *\""));
    managed.signal(Signal::SIGHUP);
    let reloading = managed.wait_for("RELOADING=1");
    assert!(reloading.contains("MONOTONIC_USEC="), "{reloading}");
    managed.wait_for("READY=1");
    managed.wait_for("STATUS=next run long ");
    let detached = managed.place.run(&["run", "long", "--detach"]);
    assert!(detached.status.success(), "{detached:?}");
    managed.wait_for("STATUS=running long: case 1 of 1");
    managed.signal(Signal::SIGTERM);
    managed.wait_for("STOPPING=1\nSTATUS=ending the active run");
}

#[test]
fn the_watchdog_is_fed_only_while_every_part_answers() {
    for part in ["sampler", "store"] {
        let managed = Managed::start(GROUP);
        managed.wait_for("READY=1");
        assert!(managed.is_fed(), "not fed with everything alive");
        let thread = managed.thread(part);
        ptrace::attach(thread).unwrap();
        waitpid(thread, Some(WaitPidFlag::__WALL)).unwrap();
        // What was sent before it stood still.
        while managed.next(Duration::from_millis(1)).is_some() {}
        assert!(!managed.is_fed(), "fed although {part} stands still");
        ptrace::detach(thread, None).unwrap();
        assert!(managed.is_fed(), "not fed although {part} goes on");
    }
}
