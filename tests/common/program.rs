//! The real program as a process: commands, and a daemon on a socket of its own.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use super::manager::Manager;

/// Nothing a test waits for may take longer; a machine under load is slow, not wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A place for one benchd: its configuration, store and socket.
pub(crate) struct Place {
    /// Starts the workers; the daemon itself does where there is none.
    manager: Option<Manager>,
    directory: TempDir,
}

impl Place {
    /// A place with these lines beside those that name its own files; TCP on a port the system chooses.
    pub(crate) fn new(lines: &str) -> Place {
        let place = Place { manager: None, directory: super::directory() };
        place.configure(lines);
        place
    }

    /// The same, with workers that are not children of the daemon.
    pub(crate) fn with_manager(lines: &str) -> Place {
        let mut place = Place::new(lines);
        place.manager = Some(Manager::start(&place.path("worker.sock"), place.directory.path()));
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Replaces the configuration.
    pub(crate) fn configure(&self, lines: &str) {
        let here = self.directory.path().display();
        let text = format!(
            "server.listen = \"127.0.0.1:0\"\nserver.socket = \"{here}/benchd.sock\"\nstore.path = \"{here}/benchd.db\"\n{lines}\n"
        );
        fs::write(self.path("benchd.toml"), text).unwrap();
    }

    /// A command with the place's configuration.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_benchd"));
        command.arg("--config").arg(self.path("benchd.toml")).args(arguments).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", self.directory.path()).env_remove("NOTIFY_SOCKET");
        if let Some(manager) = &self.manager {
            command.env("BENCHD_WORKER_SOCKET", manager.socket());
        }
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that must succeed, and reads its JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", words(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Starts the daemon and waits until it says that it is ready.
    pub(crate) fn serve(&self) -> Daemon {
        self.try_serve(&["serve"]).unwrap_or_else(|words| panic!("the daemon did not start: {words}"))
    }

    /// Starts the daemon; what it said when it ended before it was ready.
    pub(crate) fn try_serve(&self, arguments: &[&str]) -> Result<Daemon, String> {
        self.try_serve_by(self.command(arguments))
    }

    /// The same by a command that becomes the daemon.
    pub(crate) fn try_serve_by(&self, mut command: Command) -> Result<Daemon, String> {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = lines_of(child.stderr.take().unwrap());
        let mut daemon = Daemon { child, lines, said: String::new(), socket: self.path("benchd.sock") };
        match daemon.wait_for(" ready in ") {
            Some(_) => Ok(daemon),
            None => {
                let status = daemon.child.wait().unwrap();
                Err(format!("{status}\n{}", daemon.said))
            }
        }
    }
}

/// Both streams of a command, for a message.
pub(crate) fn words(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn lines_of(stderr: ChildStderr) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// A daemon that runs; killed by its pid when the test is over.
pub(crate) struct Daemon {
    child: Child,
    lines: mpsc::Receiver<String>,
    said: String,
    socket: PathBuf,
}

impl Daemon {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a log line that holds a text; `None` when the daemon ended without it.
    pub(crate) fn wait_for(&mut self, text: &str) -> Option<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.said.push_str(&line);
                    self.said.push('\n');
                    if line.contains(text) {
                        return Some(line);
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => return None,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    panic!("no line with {text:?} in time:\n{}", self.said)
                }
            }
        }
    }

    /// A log line that holds a text, said before the daemon was ready or to come.
    pub(crate) fn said_or_to_come(&mut self, text: &str) -> Option<String> {
        let said = self.said.lines().find(|line| line.contains(text)).map(str::to_owned);
        said.or_else(|| self.wait_for(text))
    }

    /// Asks over the unix socket.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        exchange(&mut stream, method, path, body)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "")
    }

    /// Where it listens by TCP.
    pub(crate) fn address(&self) -> String {
        let status = self.get("/api/v1/status").json();
        let listening = status["listening"].as_array().unwrap().iter().filter_map(Value::as_str);
        listening.into_iter().find(|place| place.starts_with("127.")).unwrap().to_owned()
    }

    /// Asks over TCP.
    pub(crate) fn ask_by_tcp(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        exchange(&mut stream, method, path, body)
    }

    pub(crate) fn metrics(&self) -> String {
        self.get("/metrics").body
    }

    /// The value of one series, as it is written.
    pub(crate) fn metric(&self, series: &str) -> Option<f64> {
        let metrics = self.metrics();
        let line = metrics
            .lines()
            .find(|line| line.strip_prefix(series).is_some_and(|rest| rest.starts_with(' ')))?;
        line.rsplit(' ').next()?.parse().ok()
    }

    /// The value of a series that appears a moment after what it tells of.
    pub(crate) fn metric_to_come(&self, series: &str) -> f64 {
        let began = Instant::now();
        loop {
            match self.metric(series) {
                Some(value) => return value,
                None => assert!(began.elapsed() < PATIENCE, "no {series} in\n{}", self.metrics()),
            }
        }
    }

    /// Starts a run and gives its id.
    pub(crate) fn trigger(&self, body: &str) -> String {
        let answer = self.ask("POST", "/api/v1/runs", body);
        assert_eq!(answer.status, 202, "{}", answer.body);
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// Follows a run to its end and gives its events.
    pub(crate) fn follow(&self, id: &str) -> Vec<Value> {
        let mut events = Vec::new();
        self.each_event(id, |event| {
            events.push(event);
            true
        });
        events
    }

    /// Follows a run until `go_on` says no, or the run ends.
    pub(crate) fn each_event(&self, id: &str, mut go_on: impl FnMut(Value) -> bool) {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET /api/v1/runs/{id}/events HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let Some(data) = line.strip_prefix("data:") else { continue };
            let event: Value = serde_json::from_str(data).unwrap();
            let over = event["event"] == "end";
            if !go_on(event) || over {
                return;
            }
        }
    }

    /// The record of a run.
    pub(crate) fn record(&self, id: &str) -> Value {
        self.get(&format!("/api/v1/runs/{id}")).json()
    }

    /// The record of a run that is written a moment after its answer.
    pub(crate) fn record_to_come(&self, id: &str) -> Value {
        let began = Instant::now();
        loop {
            let answer = self.get(&format!("/api/v1/runs/{id}"));
            if answer.status == 200 {
                return answer.json();
            }
            assert!(began.elapsed() < PATIENCE, "{}", answer.body);
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    /// Asks it to end and waits for that; gives its exit status and everything it said.
    pub(crate) fn end(mut self, signal: Signal) -> (ExitStatus, String) {
        self.signal(signal);
        let status = self.child.wait().unwrap();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.said.push_str(&line);
            self.said.push('\n');
        }
        (status, std::mem::take(&mut self.said))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
        }
    }
}

/// An answer of the HTTP interface.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

fn exchange(stream: &mut (impl Read + Write), method: &str, path: &str, body: &str) -> Answer {
    let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{kind}content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        dechunked(body)
    } else {
        body.to_owned()
    };
    Answer { status, head: head.to_owned(), body }
}

fn dechunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        body.push_str(&after[..size]);
        rest = after[size..].trim_start_matches("\r\n");
    }
    body
}

/// State and parent of a process, from its `/proc/PID/stat`; `None` when there is none.
fn state_and_parent(pid: &str) -> Option<(char, u32)> {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Whether a process of this id is there and has not ended.
pub(crate) fn is_alive(pid: u32) -> bool {
    state_and_parent(&pid.to_string()).is_some_and(|(state, _)| state != 'Z')
}

/// Ids of the processes a process started that have not ended.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let all =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let numbers = all.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let ours =
        numbers.filter(|pid| state_and_parent(pid).is_some_and(|(state, of)| of == parent && state != 'Z'));
    ours.map(|pid| pid.parse().unwrap()).collect()
}
