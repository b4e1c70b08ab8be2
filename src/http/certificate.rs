//! What benchd needs to know of an X.509 certificate (RFC 5280): for which names it is, and until when.
//!
//! Whether a certificate is to be trusted is decided by the TLS library; this only reads two fields of it.

use std::net::{Ipv4Addr, Ipv6Addr};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The fields of one certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    /// The instant after which it is not valid any more.
    pub(super) not_after: Timestamp,
    /// Its subject alternative names: hosts, addresses, mailboxes, URIs, each as text.
    pub(super) names: Vec<String>,
}

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;
const OCTETS: u8 = 0x04;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// The version that begins the signed part, when it is written.
const VERSION: u8 = 0xa0;
/// The extensions that end it.
const EXTENSIONS: u8 = 0xa3;
/// 2.5.29.17, subjectAltName.
const ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];
const MAILBOX: u8 = 0x81;
const HOST: u8 = 0x82;
const URI: u8 = 0x86;
const ADDRESS: u8 = 0x87;

/// Reads a certificate in DER; `None` when it is none.
pub(super) fn read(der: &[u8]) -> Option<Facts> {
    let mut signed = Der(Der(Der(der).expect(SEQUENCE)?).expect(SEQUENCE)?);
    if signed.0.first() == Some(&VERSION) {
        signed.next()?;
    }
    // Serial number, algorithm of the signature, issuer.
    for _ in 0..3 {
        signed.next()?;
    }
    let mut validity = Der(signed.expect(SEQUENCE)?);
    validity.next()?;
    let not_after = instant(validity.next()?)?;
    let mut names = Vec::new();
    while let Some((tag, content)) = signed.next() {
        if tag == EXTENSIONS {
            names = alternative_names(Der(content).expect(SEQUENCE)?)?;
        }
    }
    Some(Facts { not_after, names })
}

/// A text of elements, each a tag, a length and its content.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(*first), rest),
            0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
                (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, content))
    }

    fn expect(&mut self, wanted: u8) -> Option<&'a [u8]> {
        self.next().filter(|(tag, _)| *tag == wanted).map(|(_, content)| content)
    }
}

/// `YYMMDDHHMMSSZ`, of the years 1950 to 2049, or with four digits of the year.
fn instant((tag, content): (u8, &[u8])) -> Option<Timestamp> {
    let text = std::str::from_utf8(content).ok()?;
    let text = match tag {
        UTC_TIME if text.as_bytes().first()? >= &b'5' => format!("19{text}"),
        UTC_TIME => format!("20{text}"),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let civil = DateTime::strptime("%Y%m%d%H%M%SZ", &text).ok()?;
    // The end of the year 9999 stands for "never", and lies beyond what an instant can be.
    Some(civil.to_zoned(TimeZone::UTC).map_or(Timestamp::MAX, |zoned| zoned.timestamp()))
}

fn alternative_names(extensions: &[u8]) -> Option<Vec<String>> {
    let mut extensions = Der(extensions);
    while let Some((SEQUENCE, extension)) = extensions.next() {
        let mut extension = Der(extension);
        if extension.expect(OBJECT_IDENTIFIER)? != ALTERNATIVE_NAME {
            continue;
        }
        // Whether it is critical may stand between.
        let value = std::iter::from_fn(|| extension.next()).find(|(tag, _)| *tag == OCTETS)?.1;
        let mut names = Der(Der(value).expect(SEQUENCE)?);
        return Some(
            std::iter::from_fn(|| names.next()).filter_map(|(tag, name)| as_text(tag, name)).collect(),
        );
    }
    Some(Vec::new())
}

fn as_text(kind: u8, name: &[u8]) -> Option<String> {
    match kind {
        MAILBOX | HOST | URI => std::str::from_utf8(name).ok().map(str::to_owned),
        ADDRESS => match (<[u8; 4]>::try_from(name), <[u8; 16]>::try_from(name)) {
            (Ok(four), _) => Some(Ipv4Addr::from(four).to_string()),
            (_, Ok(sixteen)) => Some(Ipv6Addr::from(sixteen).to_string()),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio_rustls::rustls::pki_types::CertificateDer;
    use tokio_rustls::rustls::pki_types::pem::PemObject;

    /// Made by openssl 3.0: subjectAltName with every kind of name that is read.
    const PEM: &str = include_str!("../../tests/fixtures/certificate.pem");

    fn der() -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(PEM.as_bytes()).unwrap()
    }

    #[test]
    fn the_names_and_the_end_of_a_certificate_are_read() {
        let facts = read(&der()).unwrap();
        let names =
            ["db1.example.com", "192.0.2.7", "2001:db8::7", "ops@example.com", "spiffe://example/db1"];
        assert_eq!(facts.names, names);
        assert_eq!(facts.not_after.to_string(), "2126-11-06T19:56:25Z");
    }

    #[test]
    fn both_ways_to_write_a_year_are_read() {
        let read = |tag, text: &str| instant((tag, text.as_bytes())).map(|at| at.to_string());
        assert_eq!(read(UTC_TIME, "491231235959Z").as_deref(), Some("2049-12-31T23:59:59Z"));
        assert_eq!(read(UTC_TIME, "500101000000Z").as_deref(), Some("1950-01-01T00:00:00Z"));
        assert_eq!(read(GENERALIZED_TIME, "20500101000000Z").as_deref(), Some("2050-01-01T00:00:00Z"));
        assert_eq!(read(GENERALIZED_TIME, "99991231235959Z"), Some(Timestamp::MAX.to_string()));
        assert_eq!(read(UTC_TIME, ""), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(at in 0..2000_usize, byte: u8, cut in 0..2000_usize) {
            let mut bytes = der().to_vec();
            if let Some(changed) = bytes.get_mut(at) {
                *changed = byte;
            }
            bytes.truncate(cut);
            let _ = read(&bytes);
        }
    }
}
