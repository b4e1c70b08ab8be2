//! Prepared statements, and the packets that execute them.

use crate::target::client::Bind;

const EXECUTE: u8 = 0x17;
/// The type of a whole number of 64 bits and of a text, as they are announced.
const LONGLONG: u8 = 0x08;
const VAR_STRING: u8 = 0xfd;

/// A prepared statement; it belongs to the connection that prepared it.
#[derive(Debug)]
pub struct LoadStatement {
    parameters: u16,
    /// Everything of its packet before the types of the values: the command, the statement's number, no cursor, one
    /// iteration, and the bits that say that no value is NULL. Then the types the server knows, for it keeps those that
    /// were sent last; none before the first execution. In one piece, which is one line of the cache.
    head: Box<[u8]>,
}

impl LoadStatement {
    /// The statement to which the server gave this number, and which takes so many values.
    pub fn new(id: u32, parameters: u16) -> LoadStatement {
        let mut head = vec![EXECUTE];
        head.extend(id.to_le_bytes());
        head.extend([0, 1, 0, 0, 0]);
        head.resize(prefix(parameters), 0);
        LoadStatement { parameters, head: head.into_boxed_slice() }
    }

    /// How many values it takes.
    pub(super) fn parameters(&self) -> usize {
        usize::from(self.parameters)
    }

    /// Appends the payload that executes it with these values, as many as it takes. Types are announced when the
    /// server does not know them yet; whether they were.
    #[inline]
    pub fn write(&self, values: &[Bind<'_>], payload: &mut Vec<u8>) -> bool {
        let (prefix, known) = self.parts();
        payload.extend_from_slice(prefix);
        let announces = !are_of(values, known);
        if !values.is_empty() {
            payload.push(u8::from(announces));
        }
        if announces {
            values.iter().for_each(|value| payload.extend_from_slice(&[type_of(value), 0]));
        }
        for value in values {
            match value {
                Bind::Integer(number) => payload.extend_from_slice(&number.to_le_bytes()),
                Bind::Text(text) => write_text(text, payload),
            }
        }
        announces
    }

    /// Remembers the types that were announced with values it was executed well with: those of a refused one may not
    /// have got through.
    #[cold]
    pub fn announced(&mut self, values: &[Bind<'_>]) {
        let (prefix, _) = self.parts();
        self.head = prefix.iter().copied().chain(values.iter().map(type_of)).collect();
    }

    /// What its packets begin with, and the types the server knows.
    #[inline]
    fn parts(&self) -> (&[u8], &[u8]) {
        self.head.split_at_checked(prefix(self.parameters)).unwrap_or_default()
    }
}

/// Bytes of a packet before the types of so many values.
#[inline]
fn prefix(parameters: u16) -> usize {
    10 + usize::from(parameters).div_ceil(8)
}

/// Whether the values are of these types.
#[inline]
fn are_of(values: &[Bind<'_>], types: &[u8]) -> bool {
    types.len() == values.len() && types.iter().zip(values).all(|(known, value)| *known == type_of(value))
}

#[inline]
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

    fn written(statement: &LoadStatement, values: &[Bind<'_>]) -> Vec<u8> {
        let mut payload = Vec::new();
        statement.write(values, &mut payload);
        payload
    }

    #[test]
    fn types_are_announced_until_the_server_knows_them() {
        let mut statement = LoadStatement::new(7, 2);
        let values = [Bind::Integer(-2), Bind::Text("ab")];
        let head = [0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let data = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, b'a', b'b'];
        let announced = [&head[..], &[1, 0x08, 0, 0xfd, 0], &data].concat();
        assert_eq!(written(&statement, &values), announced);
        assert_eq!(written(&statement, &values), announced);
        statement.announced(&values);
        assert_eq!(written(&statement, &values), [&head[..], &[0], &data].concat());
        let other = [Bind::Text("ab"), Bind::Integer(-2)];
        assert_eq!(written(&statement, &other)[11..16], [1, 0xfd, 0, 0x08, 0]);
    }

    #[test]
    fn a_statement_without_values_is_its_head() {
        assert_eq!(written(&LoadStatement::new(0x0102, 0), &[]), [0x17, 2, 1, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn there_is_a_bit_for_each_value() {
        for (parameters, bytes) in [(1, 1), (8, 1), (9, 2)] {
            assert_eq!(LoadStatement::new(1, parameters).head.len(), 10 + bytes);
        }
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
