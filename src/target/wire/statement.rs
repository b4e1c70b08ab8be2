//! Prepared statements, and the packets that execute them.

use super::channel::{HEADER, WRITE_BUFFER};
use crate::target::client::Bind;

const EXECUTE: u8 = 0x17;
/// The type of a whole number of 64 bits and of a text, as they are announced.
const LONGLONG: u8 = 0x08;
const VAR_STRING: u8 = 0xfd;

/// A prepared statement; it belongs to the connection that prepared it.
#[derive(Debug)]
pub struct LoadStatement {
    parameters: u16,
    /// Whether the server knows the types of values: it keeps those that were sent last.
    is_announced: bool,
    /// Whether the packet of the last time can be sent with other whole numbers in the places of its own.
    is_reusable: bool,
    /// These types, one byte each, and after them the packet that executes it, with the values of the last time: in one
    /// piece, because most of it is used again and lies in few lines of the cache.
    bytes: Vec<u8>,
}

impl LoadStatement {
    /// The statement to which the server gave this number, and which takes so many values.
    pub fn new(id: u32, parameters: u16) -> LoadStatement {
        let mut bytes = vec![0; usize::from(parameters) + HEADER];
        bytes.push(EXECUTE);
        bytes.extend(id.to_le_bytes());
        // No cursor, one iteration, and the bits that say that no value is NULL.
        bytes.extend([0, 1, 0, 0, 0]);
        bytes.resize(fixed(parameters), 0);
        LoadStatement { parameters, is_announced: false, is_reusable: false, bytes }
    }

    /// How many values it takes.
    pub(super) fn parameters(&self) -> usize {
        usize::from(self.parameters)
    }

    /// The packet that executes it with these values, as many as it takes, and whether it announces their types, as it
    /// does when the server does not know them yet. Its header is left to who sends it.
    #[inline]
    pub fn packet(&mut self, values: &[Bind<'_>]) -> (&mut [u8], bool) {
        let announces = !(self.is_reusable && self.write_over(values)) && self.write_anew(values);
        let types = self.parameters();
        (self.bytes.get_mut(types..).unwrap_or_default(), announces)
    }

    /// Writes whole numbers over those of the last time; false when the values are something else.
    #[inline]
    fn write_over(&mut self, values: &[Bind<'_>]) -> bool {
        let (places, _) =
            self.bytes.get_mut(fixed(self.parameters) + 1..).unwrap_or_default().as_chunks_mut();
        for (place, value) in places.iter_mut().zip(values) {
            let Bind::Integer(number) = value else { return false };
            *place = number.to_le_bytes();
        }
        places.len() == values.len()
    }

    /// Writes the packet, and says whether it announces the types of its values.
    fn write_anew(&mut self, values: &[Bind<'_>]) -> bool {
        let types = self.bytes.get(..self.parameters()).unwrap_or_default();
        let announces = !(self.is_announced && are_of(values, types));
        let bytes = &mut self.bytes;
        bytes.truncate(fixed(self.parameters));
        if !values.is_empty() {
            bytes.push(u8::from(announces));
        }
        if announces {
            values.iter().for_each(|value| bytes.extend_from_slice(&[type_of(value), 0]));
        }
        for value in values {
            match value {
                Bind::Integer(number) => bytes.extend_from_slice(&number.to_le_bytes()),
                Bind::Text(text) => write_text(text, bytes),
            }
        }
        // Whether they got through is known when it was executed well.
        self.is_announced = !announces;
        self.is_reusable = !announces && values.iter().all(|value| type_of(value) == LONGLONG);
        announces
    }

    /// Remembers the types that were announced with values it was executed well with.
    #[cold]
    pub fn announced(&mut self, values: &[Bind<'_>]) {
        self.bytes.iter_mut().zip(values).for_each(|(known, value)| *known = type_of(value));
        self.is_announced = true;
    }

    /// Gives back the memory of large values.
    #[inline]
    pub(super) fn shrink(&mut self) {
        if self.bytes.capacity() > WRITE_BUFFER {
            self.bytes.truncate(fixed(self.parameters));
            self.bytes.shrink_to_fit();
        }
    }
}

/// Bytes that are the same each time: types, the header's place, and the packet before the values.
#[inline]
fn fixed(parameters: u16) -> usize {
    let parameters = usize::from(parameters);
    parameters + HEADER + 10 + parameters.div_ceil(8)
}

/// Whether the values are of these types.
fn are_of(values: &[Bind<'_>], types: &[u8]) -> bool {
    types.len() == values.len() && types.iter().zip(values).all(|(known, value)| *known == type_of(value))
}

fn type_of(value: &Bind<'_>) -> u8 {
    match value {
        Bind::Integer(_) => LONGLONG,
        Bind::Text(_) => VAR_STRING,
    }
}

fn write_text(text: &str, payload: &mut Vec<u8>) {
    let length = text.len().to_le_bytes();
    match text.len() {
        0..=0xfa => payload.push(length[0]),
        0xfb..=0xffff => payload.extend_from_slice(&[0xfc, length[0], length[1]]),
        0x1_0000..=0xff_ffff => payload.extend_from_slice(&[0xfd, length[0], length[1], length[2]]),
        _ => {
            payload.push(0xfe);
            payload.extend_from_slice(&length);
        }
    }
    payload.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(statement: &mut LoadStatement, values: &[Bind<'_>]) -> Vec<u8> {
        let (packet, _) = statement.packet(values);
        packet[HEADER..].to_vec()
    }

    #[test]
    fn types_are_announced_until_the_server_knows_them() {
        let mut statement = LoadStatement::new(7, 2);
        let values = [Bind::Integer(-2), Bind::Text("ab")];
        let head = [0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let data = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, b'a', b'b'];
        let announced = [&head[..], &[1, 0x08, 0, 0xfd, 0], &data].concat();
        assert_eq!(written(&mut statement, &values), announced);
        assert_eq!(written(&mut statement, &values), announced);
        statement.announced(&values);
        assert_eq!(written(&mut statement, &values), [&head[..], &[0], &data].concat());
        let other = [Bind::Text("ab"), Bind::Integer(-2)];
        assert_eq!(written(&mut statement, &other)[11..16], [1, 0xfd, 0, 0x08, 0]);
    }

    #[test]
    fn types_of_a_statement_that_was_refused_may_have_got_through_or_not() {
        let mut statement = LoadStatement::new(7, 1);
        let (number, text) = ([Bind::Integer(1)], [Bind::Text("a")]);
        statement.packet(&number);
        statement.announced(&number);
        assert!(!statement.packet(&number).1);
        assert!(statement.packet(&text).1);
        assert!(statement.packet(&number).1, "the server may hold it for a text");
    }

    #[test]
    fn a_statement_without_values_is_its_head() {
        let mut statement = LoadStatement::new(0x0102, 0);
        for _ in 0..3 {
            assert_eq!(written(&mut statement, &[]), [0x17, 2, 1, 0, 0, 0, 1, 0, 0, 0]);
            statement.announced(&[]);
        }
    }

    proptest::proptest! {
        #[test]
        fn a_packet_is_the_same_whatever_was_sent_before(
            before in proptest::collection::vec(proptest::array::uniform3(proptest::option::of(proptest::num::i64::ANY)), 0..6),
        ) {
            // With the byte of its length this text is as long as a whole number.
            let bind = |values: &[Option<i64>; 3]| values.map(|value| value.map_or(Bind::Text("seven b"), Bind::Integer));
            let (mut used, mut known) = (LoadStatement::new(7, 3), None);
            for values in before.iter().map(bind) {
                let mut fresh = LoadStatement::new(7, 3);
                fresh.announced(&values);
                let types = values.map(|value| type_of(&value));
                assert_eq!(used.packet(&values).1, known.replace(types) != Some(types));
                used.announced(&values);
                for _ in 0..2 {
                    assert_eq!(written(&mut used, &values), written(&mut fresh, &values));
                }
            }
        }
    }

    #[test]
    fn there_is_a_bit_for_each_value() {
        for (parameters, bytes) in [(1, 1), (8, 1), (9, 2)] {
            let values = vec![Bind::Integer(0); parameters];
            let packet = written(&mut LoadStatement::new(1, parameters as u16), &values);
            assert_eq!(packet.len(), 10 + bytes + 1 + 2 * parameters + 8 * parameters);
        }
    }

    #[test]
    fn the_memory_of_a_large_value_is_given_back() {
        let mut statement = LoadStatement::new(7, 1);
        let small = written(&mut statement, &[Bind::Text("a")]);
        statement.packet(&[Bind::Text(&"x".repeat(2 * WRITE_BUFFER))]);
        statement.shrink();
        assert!(statement.bytes.capacity() < 100);
        assert_eq!(written(&mut statement, &[Bind::Text("a")]), small);
    }

    #[test]
    fn the_length_of_a_text_has_the_size_it_needs() {
        for (length, prefix) in [
            (0, &b"\0"[..]),
            (250, b"\xfa"),
            (251, b"\xfc\xfb\0"),
            (65_535, b"\xfc\xff\xff"),
            (65_536, b"\xfd\0\0\x01"),
            (16_777_216, b"\xfe\0\0\0\x01\0\0\0\0"),
        ] {
            let mut payload = Vec::new();
            write_text(&"x".repeat(length), &mut payload);
            assert_eq!(payload.len(), prefix.len() + length);
            assert!(payload.starts_with(prefix));
        }
    }
}
