//! Log lines as the journal gets them. A journald of its own is more than a test can start, so a socket in a mount
//! namespace of the daemon stands in for it at the wire.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod common;

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};

use common::program::{PATIENCE, Place};
use nix::unistd::Uid;

/// A daemon that sees a fake journal; killed by its pid when the test is over.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Runs the suite `short` in a mount namespace with this folder as the journal's. Stderr is the "stream" that
/// tells the program that it is connected to the journal.
fn serve_with_journal(place: &Place, journal: &str) -> Serving {
    let benchd = env!("CARGO_BIN_EXE_benchd");
    let config = place.path("benchd.toml").display().to_string();
    let script = format!(
        "mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal && mount --bind {journal} /run/systemd/journal \
         && export JOURNAL_STREAM=$(stat -Lc %d:%i /dev/stderr) \
         && exec {benchd} --config {config} serve --run-now short"
    );
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    Serving(command.spawn().unwrap())
}

/// Reads messages until one holds the text.
fn message_with(journal: &UnixDatagram, text: &str) -> String {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length =
            journal.recv(&mut buffer).unwrap_or_else(|error| panic!("no message with {text:?}: {error}"));
        let message = String::from_utf8_lossy(&buffer[..length]).into_owned();
        if message.contains(text) {
            return message;
        }
    }
}

#[test]
fn to_a_fake_journal_runs_are_told_with_fields_of_their_own() {
    if !Uid::effective().is_root() {
        common::skip("root, for a mount namespace");
        return;
    }
    let place = Place::new(
        "[suite.short]\nprofile = \"lab\"\n[[suite.short.benchmark]]\nworkload = \"cpu\"\nwarm_up = \"0s\"\ntime = \"200ms\"\n",
    );
    let folder = place.path("journal");
    fs::create_dir(&folder).unwrap();
    let journal = UnixDatagram::bind(folder.join("socket")).unwrap();
    journal.set_read_timeout(Some(PATIENCE)).unwrap();
    let _serving = serve_with_journal(&place, folder.to_str().unwrap());
    let started = message_with(&journal, "started by");
    for field in ["BENCHD_RUN", "BENCHD_SUITE", "MESSAGE_ID", "SYSLOG_IDENTIFIER", "PRIORITY"] {
        assert!(started.lines().any(|line| line.starts_with(field)), "{field} is missing in {started}");
    }
    let ended = message_with(&journal, "finished in");
    assert!(ended.lines().any(|line| line.starts_with("BENCHD_OUTCOME")), "{ended}");
}
