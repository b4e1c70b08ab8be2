//! Basic authentication (RFC 7617): the header that carries a user's name and password.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A user's name and password, as they were sent.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credentials {
    pub(super) user: String,
    pub(super) password: Vec<u8>,
}

/// What an `Authorization` header says; `None` when it is none of this kind.
pub(super) fn parse(header: &str) -> Option<Credentials> {
    let (scheme, encoded) = header.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let both = decode(encoded.trim().as_bytes())?;
    let colon = both.iter().position(|byte| *byte == b':')?;
    let user = String::from_utf8(both[..colon].to_vec()).ok()?;
    Some(Credentials { user, password: both[colon + 1..].to_vec() })
}

/// The header that carries a name and a password.
pub fn basic_header(user: &str, password: &str) -> String {
    format!("Basic {}", encode(format!("{user}:{password}").as_bytes()))
}

fn encode(bytes: &[u8]) -> String {
    let group = |group: &[u8]| -> [char; 4] {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        let letter = |place: usize| match place <= group.len() {
            true => char::from(ALPHABET[(bits >> (18 - 6 * place)) as usize & 63]),
            false => '=',
        };
        [letter(0), letter(1), letter(2), letter(3)]
    };
    bytes.chunks(3).flat_map(group).collect()
}

fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    if !text.len().is_multiple_of(4) || padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut filled) = (0_u32, 0);
    for byte in &text[..text.len() - padding] {
        let value = ALPHABET.iter().position(|letter| letter == byte)?;
        bits = bits << 6 | u32::try_from(value).ok()?;
        filled += 6;
        if filled >= 8 {
            filled -= 8;
            bytes.push((bits >> filled) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_the_standard_is_read() {
        let both = parse("basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==").unwrap();
        assert_eq!((both.user.as_str(), both.password.as_slice()), ("Aladdin", &b"open sesame"[..]));
        assert_eq!(basic_header("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }

    #[test]
    fn what_is_something_else_is_not() {
        for header in
            ["", "Basic", "Bearer QTpi", "Basic QWxhZGRpbg==", "Basic QTp", "Basic QT!i", "Basic ===="]
        {
            assert!(parse(header).is_none(), "{header}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(user in "[^:]{0,20}", password in ".{0,20}") {
            let both = parse(&basic_header(&user, &password)).unwrap();
            prop_assert_eq!((both.user, both.password), (user, password.into_bytes()));
        }

        #[test]
        fn no_header_panics(header in ".{0,60}") {
            let _ = parse(&format!("Basic {header}"));
        }
    }
}
