//! Answers: results are skimmed, never decoded.

use std::io;

use mysql_async::{Error, ServerError};

use super::channel::{Channel, ERROR, Packet, not_understood};
use crate::target::client::Answer;

/// First byte of a packet that ends an exchange well.
pub(super) const OK: u8 = 0x00;
/// First byte of the packet after the last row, and of the one after the descriptions of columns.
pub(super) const END: u8 = 0xfe;
/// First byte of the request for a file of this host.
const LOCAL_FILE: u8 = 0xfb;
/// Status: another result follows.
const MORE_RESULTS: u16 = 0x0008;
/// A packet shorter than this that begins with [`END`] is no row, where ends are told as of old.
const LONGEST_OLD_END: usize = 9;

/// How the end of rows is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// A packet after the descriptions of columns and one after the rows.
    Old,
    /// One packet after the rows, made like the one that ends an exchange well (`CLIENT_DEPRECATE_EOF`).
    LikeOk,
}

/// Reads all results of a statement, and says what the first was.
pub(super) fn read_answer(channel: &mut Channel, ends: Ends) -> Result<Answer, Error> {
    let (first, status) = read_result(channel, ends)?;
    if status & MORE_RESULTS != 0 {
        skip_results(channel, ends)?;
    }
    Ok(first)
}

/// Skips the results after the first.
#[cold]
fn skip_results(channel: &mut Channel, ends: Ends) -> Result<(), Error> {
    while read_result(channel, ends)?.1 & MORE_RESULTS != 0 {}
    Ok(())
}

/// Reads one result; with it comes the server's status.
fn read_result(channel: &mut Channel, ends: Ends) -> Result<(Answer, u16), Error> {
    let packet = channel.next()?;
    let columns = match packet.body.first() {
        Some(&OK) => {
            let (changed, status) = changes(packet.body)?;
            let answer = if changed > 0 { Answer::Changed(changed) } else { Answer::Nothing };
            return Ok((answer, status));
        }
        Some(&ERROR) => return Err(server_error(packet.body)),
        Some(&LOCAL_FILE) => return Err(not_understood("it asks for a file of this host").into()),
        _ => take_number(&mut { packet.body }).ok_or_else(broken)?,
    };
    skip_descriptions(channel, columns, ends)?;
    let (rows, status) = skip_rows(channel, ends)?;
    Ok((Answer::Rows(rows), status))
}

/// Skips the descriptions of so many columns or parameters.
pub(super) fn skip_descriptions(channel: &mut Channel, number: u64, ends: Ends) -> Result<(), Error> {
    for _ in 0..number {
        let packet = channel.next()?;
        if packet.body.first() == Some(&ERROR) {
            return Err(server_error(packet.body));
        }
    }
    if number > 0 && ends == Ends::Old {
        let packet = channel.next()?;
        if !is_end(&packet, ends) {
            return Err(broken().into());
        }
    }
    Ok(())
}

fn skip_rows(channel: &mut Channel, ends: Ends) -> Result<(u64, u16), Error> {
    let mut rows = 0;
    loop {
        let packet = channel.next()?;
        match packet.body.first() {
            Some(&END) if is_end(&packet, ends) => return Ok((rows, status_at_end(packet.body, ends)?)),
            Some(&ERROR) => return Err(server_error(packet.body)),
            Some(_) => rows += 1,
            None => return Err(broken().into()),
        }
    }
}

/// A row may begin like an end: with a value that is at least 16 MiB long.
fn is_end(packet: &Packet<'_>, ends: Ends) -> bool {
    let short = match ends {
        Ends::Old => packet.length < LONGEST_OLD_END,
        Ends::LikeOk => !packet.is_continued(),
    };
    short && packet.body.first() == Some(&END)
}

fn status_at_end(body: &[u8], ends: Ends) -> io::Result<u16> {
    match ends {
        Ends::LikeOk => changes(body).map(|(_, status)| status),
        Ends::Old => {
            let status = body.get(3..5).ok_or_else(broken)?;
            Ok(u16::from_le_bytes([status[0], status[1]]))
        }
    }
}

/// How many rows were changed, and the server's status.
fn changes(body: &[u8]) -> io::Result<(u64, u16)> {
    let mut rest = body.get(1..).unwrap_or_default();
    let changed = take_number(&mut rest).ok_or_else(broken)?;
    let _last_id = take_number(&mut rest).ok_or_else(broken)?;
    let status = rest.first_chunk().ok_or_else(broken)?;
    Ok((changed, u16::from_le_bytes(*status)))
}

/// Takes a number of one, three, four or nine bytes from the front; `None` when there is none.
#[inline]
pub(super) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first()?;
    let size = match first {
        0..=0xfa => {
            *bytes = rest;
            return Some(u64::from(*first));
        }
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => return None,
    };
    let mut number = [0; 8];
    let (digits, rest) = rest.split_at_checked(size)?;
    number[..size].copy_from_slice(digits);
    *bytes = rest;
    Some(u64::from_le_bytes(number))
}

/// What the server said when it said no: a number, mostly a state of five letters, and a text.
#[cold]
pub(super) fn server_error(body: &[u8]) -> Error {
    let Some((code, rest)) = body.get(1..).and_then(|rest| rest.split_first_chunk()) else {
        return broken().into();
    };
    let (state, text) = match rest {
        [b'#', rest @ ..] if rest.len() >= 5 => rest.split_at(5),
        _ => (&b"HY000"[..], rest),
    };
    Error::Server(ServerError {
        code: u16::from_le_bytes(*code),
        message: String::from_utf8_lossy(text).into_owned(),
        state: String::from_utf8_lossy(state).into_owned(),
    })
}

#[cold]
pub(super) fn broken() -> io::Error {
    not_understood("a packet is shorter than it must be, or of an unknown kind")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_sizes() {
        for (bytes, number) in [
            (&b"\xfa"[..], Some(250)),
            (b"\xfc\x01\x02", Some(0x201)),
            (b"\xfd\x01\x02\x03", Some(0x3_0201)),
            (b"\xfe\x01\0\0\0\0\0\0\x80", Some(0x8000_0000_0000_0001)),
            (b"\xfc\x01", None),
            (b"\xfb", None),
            (b"\xff", None),
            (b"", None),
        ] {
            assert_eq!(take_number(&mut { bytes }), number, "{bytes:?}");
        }
    }

    #[test]
    fn a_servers_no_may_come_without_a_state() {
        for (body, code, message, state) in [
            (&b"\xff\x10\x04#08004Too many connections"[..], 1040, "Too many connections", "08004"),
            (b"\xff\x6a\x04Host is not allowed", 1130, "Host is not allowed", "HY000"),
            (b"\xff\x10\x04#080", 1040, "#080", "HY000"),
        ] {
            let Error::Server(error) = server_error(body) else { panic!("{body:?}") };
            assert_eq!((error.code, &*error.message, &*error.state), (code, message, state));
        }
        assert!(matches!(server_error(b"\xff\x10"), Error::Io(_)));
    }
}
