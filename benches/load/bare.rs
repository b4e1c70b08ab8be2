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

/// A connection and its buffer.
pub(crate) struct Bare {
    socket: Box<dyn Socket>,
    buffer: Vec<u8>,
}

/// A prepared statement as the packet that executes it.
pub(crate) struct Statement {
    packet: Vec<u8>,
    /// Bytes of the packet before its values.
    head: usize,
    values: usize,
    announced: bool,
}

/// A value of a statement.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    Whole(i64),
    /// Of at most 250 bytes.
    Text(&'a [u8]),
}

impl Bare {
    /// Connects as `root`.
    pub(crate) fn connect(address: &str, schema: &str) -> Bare {
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
        Bare { socket, buffer: vec![0; 16 << 10] }
    }

    /// Prepares a statement of at most eight values.
    pub(crate) fn prepare(&mut self, sql: &str) -> Statement {
        send(&mut *self.socket, 0, &[&[0x16], sql.as_bytes()].concat());
        let prepared = packet(&mut *self.socket);
        let (columns, values) = (usize::from(prepared[5]), usize::from(prepared[7]));
        assert_eq!(prepared[0], 0, "the server prepares no {sql}");
        for _ in 0..columns + values {
            packet(&mut *self.socket);
        }
        let mut packet = [&[0, 0, 0, 0, 0x17], &prepared[1..5], &[0, 1, 0, 0, 0]].concat();
        if values > 0 {
            packet.extend([0, 0]);
        }
        Statement { head: packet.len(), packet, values, announced: values == 0 }
    }

    /// Executes a statement; false when the server refuses it.
    pub(crate) fn execute(&mut self, statement: &mut Statement, values: &[Value<'_>]) -> bool {
        statement.write(values);
        self.socket.write_all(&statement.packet).unwrap();
        statement.is_announced();
        self.skim()
    }

    /// Sends a text; false when the server refuses it.
    pub(crate) fn query(&mut self, sql: &str) -> bool {
        send(&mut *self.socket, 0, &[&[0x03], sql.as_bytes()].concat());
        self.skim()
    }

    /// Reads until the packet after the last row, or the only one.
    fn skim(&mut self) -> bool {
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
                packets += 1;
                at += 4 + length;
                if first == 0xff || (packets == 1 && first == 0) || (packets > 2 && first == 0xfe) {
                    return first != 0xff;
                }
            }
        }
    }
}

impl Statement {
    /// Writes the values after the head, the first time with their types.
    fn write(&mut self, values: &[Value<'_>]) {
        assert_eq!(values.len(), self.values, "a value for each question mark");
        self.packet.truncate(self.head);
        if !self.announced {
            self.packet[self.head - 1] = 1;
            self.packet.extend(values.iter().flat_map(|value| [value.kind(), 0]));
        }
        for value in values {
            value.write(&mut self.packet);
        }
        let length = (self.packet.len() - 4) as u32;
        self.packet[..4].copy_from_slice(&length.to_le_bytes());
    }

    /// The packet of all later executions.
    fn is_announced(&mut self) {
        if !self.announced {
            self.packet[self.head - 1] = 0;
            self.announced = true;
        }
    }
}

impl Value<'_> {
    /// MYSQL_TYPE_LONGLONG or MYSQL_TYPE_VAR_STRING.
    fn kind(self) -> u8 {
        match self {
            Value::Whole(_) => 8,
            Value::Text(_) => 0xfd,
        }
    }

    fn write(self, packet: &mut Vec<u8>) {
        match self {
            Value::Whole(whole) => packet.extend(whole.to_le_bytes()),
            Value::Text(text) => {
                packet.push(text.len() as u8);
                packet.extend(text);
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
