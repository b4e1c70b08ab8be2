//! The least a client can do: a packet that was built once, sent with another id, and an answer of which only the
//! lengths of packets are looked at. No limits, no errors, no counting, no TLS, and an account without password.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

/// A blocking socket of either kind.
pub(crate) trait Socket: Read + Write {}

impl Socket for UnixStream {}

impl Socket for TcpStream {}

/// Connects to a port of this host, or to the path of a socket.
fn connect(address: &str) -> Box<dyn Socket> {
    let Ok(port) = address.parse::<u16>() else { return Box::new(UnixStream::connect(address).unwrap()) };
    let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_nodelay(true).unwrap();
    Box::new(socket)
}

/// A connection, its one statement, and its buffer.
pub(crate) struct Bare {
    socket: Box<dyn Socket>,
    packet: [u8; 24],
    buffer: Vec<u8>,
}

impl Bare {
    /// Connects as `root` and prepares the statement, which takes one whole number.
    pub(crate) fn connect(address: &str, schema: &str, sql: &str) -> Bare {
        let mut socket = connect(address);
        let greeting = packet(&mut *socket);
        let plugin = greeting[..greeting.len() - 1].rsplit(|byte| *byte == 0).next().unwrap();
        // LONG_PASSWORD, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH, DEPRECATE_EOF
        let flags: u32 = 0x0108_a209;
        let mut response = flags.to_le_bytes().to_vec();
        response.extend(0x0100_0000_u32.to_le_bytes());
        response.push(45);
        response.extend([0; 23]);
        response.extend(b"root\0\0");
        response.extend(schema.as_bytes());
        response.push(0);
        response.extend(plugin);
        response.push(0);
        send(&mut *socket, 1, &response);
        assert_eq!(packet(&mut *socket)[0], 0, "the login was refused");
        send(&mut *socket, 0, &[&[0x16], sql.as_bytes()].concat());
        let prepared = packet(&mut *socket);
        assert_eq!((prepared[0], prepared[5], prepared[7]), (0, 1, 1), "one column and one value");
        packet(&mut *socket);
        packet(&mut *socket);
        let mut connection = Bare { socket, packet: [0; 24], buffer: vec![0; 16 << 10] };
        connection.announce(&prepared[1..5]);
        connection
    }

    /// Executes once with the type of the value, and keeps the packet without it.
    fn announce(&mut self, id: &[u8]) {
        let first = [&[0x17], id, &[0, 1, 0, 0, 0, 0, 1, 8, 0], &1_i64.to_le_bytes()[..]].concat();
        send(&mut *self.socket, 0, &first);
        self.skim();
        self.packet[0] = 20;
        self.packet[4] = 0x17;
        self.packet[5..9].copy_from_slice(id);
        self.packet[10] = 1;
    }

    /// Selects the row of an id.
    pub(crate) fn select(&mut self, id: i64) {
        self.packet[16..].copy_from_slice(&id.to_le_bytes());
        self.socket.write_all(&self.packet).unwrap();
        self.skim();
    }

    /// Reads until the packet after the last row.
    fn skim(&mut self) {
        let (mut held, mut at, mut packets) = (0, 0, 0);
        loop {
            let read = self.socket.read(&mut self.buffer[held..]).unwrap();
            assert!(read > 0, "the server hung up");
            held += read;
            while held >= at + 5 {
                let length = length(&self.buffer[at..]);
                if held < at + 4 + length {
                    break;
                }
                let first = self.buffer[at + 4];
                assert!(first != 0xff, "the server refused the statement");
                packets += 1;
                at += 4 + length;
                if packets > 2 && first == 0xfe {
                    return;
                }
            }
        }
    }
}

fn length(header: &[u8]) -> usize {
    usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16
}

fn packet(socket: &mut dyn Socket) -> Vec<u8> {
    let mut header = [0; 4];
    socket.read_exact(&mut header).unwrap();
    let mut payload = vec![0; length(&header)];
    socket.read_exact(&mut payload).unwrap();
    payload
}

fn send(socket: &mut dyn Socket, number: u8, payload: &[u8]) {
    let [low, middle, high, ..] = payload.len().to_le_bytes();
    socket.write_all(&[&[low, middle, high, number], payload].concat()).unwrap();
}
