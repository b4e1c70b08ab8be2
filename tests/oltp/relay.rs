//! A socket between a client and a server that sees what is executed, and in which types its values travel.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use tempfile::TempDir;

use super::common;

/// The types of the values of each prepared text when they were first announced.
pub(super) type Types = BTreeMap<String, Vec<u8>>;

const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
/// Before the bits for NULL in the payload that executes: the command, the number, a flag, and how often.
const EXECUTE_HEAD: usize = 10;

pub(super) struct Relay {
    directory: TempDir,
    seen: Arc<Mutex<Types>>,
}

/// What is known of one connection.
#[derive(Default)]
struct Talk {
    /// The text whose PREPARE was not answered yet.
    asked: Option<String>,
    /// Texts and numbers of values, by the server's number of a statement.
    statements: BTreeMap<u32, (String, usize)>,
}

impl Relay {
    /// A relay to the socket of a server, as long as it lives.
    pub(super) fn to(server: &Path) -> Relay {
        let relay = Relay { directory: common::directory(), seen: Arc::default() };
        let listener = UnixListener::bind(relay.socket_path()).unwrap();
        let (server, seen) = (server.to_owned(), Arc::clone(&relay.seen));
        // The thread ends with the test's process.
        thread::spawn(move || {
            for client in listener.incoming() {
                carry(client.unwrap(), UnixStream::connect(&server).unwrap(), &seen);
            }
        });
        relay
    }

    fn socket_path(&self) -> PathBuf {
        self.directory.path().join("s")
    }

    pub(super) fn socket(&self) -> &Path {
        // The name is the same for as long as the directory is there.
        Box::leak(self.socket_path().into_boxed_path())
    }

    pub(super) fn types(&self) -> Types {
        self.seen.lock().unwrap().clone()
    }
}

/// Carries both directions of a connection until one ends.
fn carry(client: UnixStream, server: UnixStream, seen: &Arc<Mutex<Types>>) {
    let talk = Arc::new(Mutex::new(Talk::default()));
    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (known, seen) = (Arc::clone(&talk), Arc::clone(seen));
    thread::spawn(move || copy(from, to, |packet| known.lock().unwrap().sent(packet, &seen)));
    thread::spawn(move || copy(server, client, |packet| talk.lock().unwrap().answered(packet)));
}

/// Copies a stream of packets, and shows each before it goes on.
fn copy(mut from: UnixStream, mut to: UnixStream, mut show: impl FnMut(&[u8])) {
    let mut header = [0; 4];
    while from.read_exact(&mut header).is_ok() {
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        let mut packet = header.to_vec();
        packet.resize(4 + length, 0);
        if from.read_exact(&mut packet[4..]).is_err() {
            break;
        }
        show(&packet);
        if to.write_all(&packet).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

impl Talk {
    fn sent(&mut self, packet: &[u8], seen: &Mutex<Types>) {
        let (number, payload) = (packet[3], &packet[4..]);
        match payload {
            [PREPARE, text @ ..] if number == 0 => {
                let text = String::from_utf8_lossy(text).into_owned();
                self.asked = Some(text.split_whitespace().collect::<Vec<_>>().join(" "));
            }
            [EXECUTE, a, b, c, d, ..] if number == 0 => {
                let id = u32::from_le_bytes([*a, *b, *c, *d]);
                let Some((text, values)) = self.statements.get(&id) else { return };
                let announced = EXECUTE_HEAD + values.div_ceil(8);
                if *values > 0 && payload[announced] == 1 {
                    let types = &payload[announced + 1..announced + 1 + 2 * values];
                    seen.lock().unwrap().entry(text.clone()).or_insert_with(|| types.to_vec());
                }
            }
            _ => {}
        }
    }

    fn answered(&mut self, packet: &[u8]) {
        let Some(text) = self.asked.take() else { return };
        if let [0, a, b, c, d, _, _, low, high, ..] = packet[4..] {
            let values = usize::from(u16::from_le_bytes([low, high]));
            self.statements.insert(u32::from_le_bytes([a, b, c, d]), (text, values));
        }
    }
}
