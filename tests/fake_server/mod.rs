//! A fake server in this process that speaks the real protocol: handshake, OK, prepared statements, one row for each.
//! It takes a fixed time for a statement, and freezes once: what is asked or under way then is answered afterwards.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use benchd::target::Access;
use tempfile::TempDir;

/// A connection that asks again within this time after an answer was asking all along.
const BUSY: Duration = Duration::from_millis(3);

/// The fake; it ends with the test's process.
pub(crate) struct FakeServer {
    directory: TempDir,
}

/// When answers are given.
#[derive(Debug, Clone)]
struct Pace {
    /// What a statement takes.
    service: Duration,
    /// From the first statement to the freeze.
    until_freeze: Duration,
    freeze: Duration,
    /// When the first statement came.
    first: Arc<OnceLock<Instant>>,
}

impl Pace {
    /// Waits until a statement that came now is done, on a connection whose last was done at `last`, and returns
    /// that instant. A connection that is kept busy does exactly one statement each service time, however late
    /// the machine lets it be.
    fn serve(&self, last: Option<Instant>) -> Instant {
        let now = Instant::now();
        let begun = last.filter(|last| now.saturating_duration_since(*last) < BUSY).unwrap_or(now);
        let freezes = *self.first.get_or_init(|| now) + self.until_freeze;
        let thaws = freezes + self.freeze;
        let done = begun + self.service;
        let done = if done > freezes && begun < thaws { thaws.max(done) } else { done };
        thread::sleep(done.saturating_duration_since(now));
        done
    }
}

impl FakeServer {
    /// Starts it; `service` for each statement, frozen for `freeze` from so long after the first one.
    pub(crate) fn start(service: Duration, until_freeze: Duration, freeze: Duration) -> FakeServer {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("fake.sock")).unwrap();
        let pace = Pace { service, until_freeze, freeze, first: Arc::default() };
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, pace) = (stream.unwrap(), pace.clone());
                // A client that goes away ends its connection.
                thread::spawn(move || Connection { stream, sequence: 0, pace }.serve().unwrap_or_default());
            }
        });
        FakeServer { directory }
    }

    pub(crate) fn access(&self) -> Access {
        Access::by_socket(self.directory.path().join("fake.sock"), "benchd")
    }
}

/// Capabilities: protocol 4.1, secure connection, long password, connect with a schema, transactions, plugin names.
const CAPABILITIES: u32 = 0x0000_0001 | 0x0000_0008 | 0x0000_0200 | 0x0000_2000 | 0x0000_8000 | 0x0008_0000;
const AUTOCOMMIT: [u8; 2] = [2, 0];
const OK: [u8; 7] = [0, 0, 0, AUTOCOMMIT[0], AUTOCOMMIT[1], 0, 0];
const END_OF_PART: [u8; 5] = [0xfe, 0, 0, AUTOCOMMIT[0], AUTOCOMMIT[1]];

struct Connection {
    stream: UnixStream,
    sequence: u8,
    pace: Pace,
}

impl Connection {
    fn serve(mut self) -> io::Result<()> {
        self.send(&[&handshake()])?;
        self.receive()?;
        self.send(&[&OK])?;
        let mut last = None;
        loop {
            let command = self.receive()?;
            match command.first() {
                // COM_QUIT
                Some(1) => return Ok(()),
                // COM_STMT_PREPARE: statement 1 with a column and a placeholder
                Some(0x16) => self.send(&[
                    &[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0],
                    &column(b"?"),
                    &END_OF_PART,
                    &column(b"c"),
                    &END_OF_PART,
                ])?,
                // COM_STMT_EXECUTE: one row, in binary
                Some(0x17) => {
                    last = Some(self.pace.serve(last));
                    self.send(&[&[1], &column(b"c"), &END_OF_PART, &[0, 0, 2, b'o', b'k'], &END_OF_PART])?;
                }
                // COM_STMT_CLOSE has no answer.
                Some(0x19) => {}
                _ => self.send(&[&OK])?,
            }
        }
    }

    fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        self.sequence = header[3].wrapping_add(1);
        let mut payload = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8];
        self.stream.read_exact(&mut payload)?;
        Ok(payload)
    }

    fn send(&mut self, packets: &[&[u8]]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for packet in packets {
            bytes.extend(&u32::try_from(packet.len()).unwrap().to_le_bytes()[..3]);
            bytes.push(self.sequence);
            bytes.extend(*packet);
            self.sequence = self.sequence.wrapping_add(1);
        }
        self.stream.write_all(&bytes)
    }
}

/// The greeting (version 10) of a server that takes any password.
fn handshake() -> Vec<u8> {
    let mut greeting = b"\x0a8.0.0-fake\0".to_vec();
    greeting.extend([1, 0, 0, 0]);
    greeting.extend(b"12345678\0");
    greeting.extend(&CAPABILITIES.to_le_bytes()[..2]);
    greeting.push(45);
    greeting.extend(AUTOCOMMIT);
    greeting.extend(&CAPABILITIES.to_le_bytes()[2..]);
    greeting.push(21);
    greeting.extend([0; 10]);
    greeting.extend(b"123456789012\0mysql_native_password\0");
    greeting
}

/// The description of a text column.
fn column(name: &[u8]) -> Vec<u8> {
    let mut column = b"\x03def\0\0\0".to_vec();
    column.push(u8::try_from(name.len()).unwrap());
    column.extend(name);
    // no original name; length of what follows, character set, width, type VAR_STRING, flags, decimals
    column.extend([0, 12, 45, 0, 120, 0, 0, 0, 253, 0, 0, 0, 0, 0]);
    column
}
