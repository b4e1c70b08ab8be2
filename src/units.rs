//! Quantities with their units: how they are written in the configuration, and how they are printed.
//!
//! One parser and one printer each, so a value prints as it may be written. A bare number where a unit is
//! needed is refused, because `time = 300` says nothing about what was meant.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

/// Why a text is not a quantity: what is wrong, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}: {hint}")]
pub struct UnitError {
    /// What is wrong with the text.
    pub problem: String,
    /// What to write instead.
    pub hint: String,
}

fn unit_error(problem: impl Into<String>, hint: impl Into<String>) -> UnitError {
    UnitError { problem: problem.into(), hint: hint.into() }
}

/// A length of time, written `500ms`, `30s`, `10m`, `6h`, `7d` or several of them from large to small (`1h30m`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(Duration);

/// A number of bytes, written `64KiB`, `20GiB`; `K M G T` and `KB MB GB TB` are the same powers of 1024, as in MySQL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

/// A share of a whole between 0 and 1, written `30%`.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Share(f64);

/// Operations a second, a plain number above 0.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Rate(f64);

/// A bandwidth of a link, written `1Gbit/s`; kept in bytes a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkSpeed(u64);

const SPAN_UNITS: [(&str, u64); 6] = [
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("m", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
];
const BYTE_UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];

impl Span {
    /// Nothing at all; in a limit it means "no limit".
    pub const ZERO: Span = Span(Duration::ZERO);

    /// So many whole seconds.
    pub const fn from_secs(seconds: u64) -> Span {
        Span(Duration::from_secs(seconds))
    }

    /// So many milliseconds.
    pub const fn from_millis(milliseconds: u64) -> Span {
        Span(Duration::from_millis(milliseconds))
    }

    /// The same as the standard library's duration.
    pub const fn duration(self) -> Duration {
        self.0
    }

    /// The same as seconds with a fraction.
    pub fn seconds(self) -> f64 {
        self.0.as_secs_f64()
    }

    /// Whether it is 0.
    pub const fn is_zero(self) -> bool {
        self.0.is_zero()
    }

    /// This span times a factor; a factor below 0 or not a number gives 0.
    pub fn scaled(self, factor: f64) -> Span {
        Span(Duration::try_from_secs_f64(self.0.as_secs_f64() * factor.max(0.0)).unwrap_or_default())
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Span {
        Span(duration)
    }
}

impl FromStr for Span {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Span, UnitError> {
        let mut rest = text.trim();
        let mut micros = 0_u64;
        if rest.is_empty() {
            return Err(unit_error("a duration is empty", "write \"30s\" or \"5m\""));
        }
        while !rest.is_empty() {
            let (number, unit, after) = number_and_unit(rest);
            micros = span_part(text, number, unit)
                .and_then(|part| micros.checked_add(part).ok_or_else(|| too_large(text)))?;
            rest = after;
        }
        Ok(Span(Duration::from_micros(micros)))
    }
}

/// One `30s` of a span, in microseconds.
fn span_part(whole: &str, number: &str, unit: &str) -> Result<u64, UnitError> {
    let value: u64 = number.parse().map_err(|_| {
        unit_error(
            format!("\"{whole}\" is not a duration"),
            "write whole numbers with a unit, \"500ms\" or \"1h30m\"",
        )
    })?;
    if unit.is_empty() {
        return Err(unit_error("a duration needs a unit", format!("write \"{value}s\" or \"{value}m\"")));
    }
    let factor = SPAN_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(|| {
        unit_error(format!("\"{unit}\" is not a unit of time"), "units are us, ms, s, m, h, d")
    })?;
    value.checked_mul(factor.1).ok_or_else(|| too_large(whole))
}

fn too_large(text: &str) -> UnitError {
    unit_error(format!("\"{text}\" is too large"), "write a smaller value")
}

/// Splits `30s rest` into its digits, its unit and what follows.
fn number_and_unit(text: &str) -> (&str, &str, &str) {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(digits);
    let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, after) = rest.split_at(letters);
    (number, unit.trim(), after)
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = u64::try_from(self.0.as_micros()).unwrap_or(u64::MAX);
        if rest == 0 {
            return f.write_str("0s");
        }
        for (unit, factor) in SPAN_UNITS {
            let count = rest / factor;
            rest %= factor;
            if count > 0 {
                write!(f, "{count}{unit}")?;
            }
        }
        Ok(())
    }
}

impl Bytes {
    /// So many bytes.
    pub const fn new(bytes: u64) -> Bytes {
        Bytes(bytes)
    }

    /// So many MiB (2^20 bytes).
    pub const fn from_mib(mib: u64) -> Bytes {
        Bytes(mib << 20)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        let (number, unit, rest) = number_and_unit(text.trim());
        let value: u64 = number.parse().map_err(|_| not_a_size(text))?;
        if unit.is_empty() && value != 0 {
            return Err(unit_error("a size needs a unit", format!("write \"{value}KiB\" or \"{value}MiB\"")));
        }
        let shift = byte_shift(unit).filter(|_| rest.is_empty()).ok_or_else(|| not_a_size(text))?;
        value
            .checked_shl(shift)
            .filter(|shifted| shifted >> shift == value)
            .map(Bytes)
            .ok_or_else(|| too_large(text))
    }
}

fn not_a_size(text: &str) -> UnitError {
    unit_error(format!("\"{text}\" is not a size"), "write \"64KiB\", \"512MiB\" or \"20GiB\"")
}

fn byte_shift(unit: &str) -> Option<u32> {
    match unit.to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" => Some(0),
        "k" => Some(10),
        "m" => Some(20),
        "g" => Some(30),
        "t" => Some(40),
        _ => None,
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact =
            BYTE_UNITS.iter().find(|(_, shift)| self.0 >> shift << shift == self.0 && self.0 >> shift > 0);
        match exact {
            Some((unit, shift)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl Share {
    /// So many percent, at most 100.
    pub const fn from_percent(percent: u8) -> Share {
        Share(if percent > 100 { 1.0 } else { percent as f64 / 100.0 })
    }

    /// The share as a number between 0 and 1.
    pub const fn ratio(self) -> f64 {
        self.0
    }
}

impl FromStr for Share {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Share, UnitError> {
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        match percent {
            Some(value) if (0.0..=100.0).contains(&value) => Ok(Share(value / 100.0)),
            _ => Err(unit_error(
                format!("\"{text}\" is not a share"),
                "write a percentage between \"0%\" and \"100%\"",
            )),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", (self.0 * 1e6).round() / 1e4)
    }
}

impl Rate {
    /// A rate of so many operations a second; `None` unless it is finite and above 0.
    pub fn new(per_second: f64) -> Option<Rate> {
        (per_second.is_finite() && per_second > 0.0).then_some(Rate(per_second))
    }

    /// Operations a second.
    pub const fn per_second(self) -> f64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rate, D::Error> {
        let value = f64::deserialize(deserializer)?;
        Rate::new(value).ok_or_else(|| D::Error::custom("a rate must be a number above 0"))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

impl LinkSpeed {
    /// A link of so many bytes a second.
    pub const fn from_bytes_per_second(bytes: u64) -> LinkSpeed {
        LinkSpeed(bytes)
    }

    /// Bytes a second in one direction.
    pub const fn bytes_per_second(self) -> u64 {
        self.0
    }
}

impl FromStr for LinkSpeed {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<LinkSpeed, UnitError> {
        let wrong =
            || unit_error(format!("\"{text}\" is not a link speed"), "write \"1Gbit/s\" or \"100Mbit/s\"");
        let (number, unit, rest) = number_and_unit(text.trim());
        let value: u64 = number.parse().map_err(|_| wrong())?;
        let factor: u64 = match unit {
            "kbit/s" => 1_000,
            "Mbit/s" => 1_000_000,
            "Gbit/s" => 1_000_000_000,
            _ => return Err(wrong()),
        };
        let bits = value.checked_mul(factor).filter(|bits| *bits > 0 && rest.is_empty()).ok_or_else(wrong)?;
        Ok(LinkSpeed(bits / 8))
    }
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0 * 8;
        match bits {
            b if b % 1_000_000_000 == 0 => write!(f, "{}Gbit/s", b / 1_000_000_000),
            b if b % 1_000_000 == 0 => write!(f, "{}Mbit/s", b / 1_000_000),
            b => write!(f, "{}kbit/s", b / 1_000),
        }
    }
}

/// Reads and writes a quantity as the text a person writes.
macro_rules! as_text {
    ($($quantity:ty: $example:literal),+) => {$(
        impl Serialize for $quantity {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$quantity, D::Error> {
                deserializer.deserialize_any(TextVisitor::<$quantity>(std::marker::PhantomData, $example))
            }
        }
    )+};
}

as_text!(Span: "30s", Bytes: "64MiB", Share: "30%", LinkSpeed: "1Gbit/s");

/// Accepts a text with a unit; a bare number is answered with what was probably meant.
struct TextVisitor<T>(std::marker::PhantomData<T>, &'static str);

impl<T: FromStr<Err = UnitError>> serde::de::Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a text with a unit such as \"{}\"", self.1)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        number.to_string().parse().map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        number.to_string().parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_span_prints_as_it_may_be_written(micros in 0..u64::from(u32::MAX) * 1_000_000) {
            let span = Span(Duration::from_micros(micros));
            prop_assert_eq!(span.to_string().parse::<Span>(), Ok(span));
        }

        #[test]
        fn a_size_prints_as_it_may_be_written(bytes in any::<u64>()) {
            let size = Bytes(bytes);
            prop_assert_eq!(size.to_string().parse::<Bytes>(), Ok(size));
        }

        #[test]
        fn no_text_panics(text in ".{0,20}") {
            let _ = (text.parse::<Span>(), text.parse::<Bytes>(), text.parse::<Share>(), text.parse::<LinkSpeed>());
        }
    }

    #[test]
    fn a_bare_number_is_answered_with_what_was_meant() {
        let error = "300".parse::<Span>().unwrap_err();
        assert_eq!(error.to_string(), "a duration needs a unit: write \"300s\" or \"300m\"");
    }

    #[test]
    fn sizes_are_powers_of_1024_whatever_the_suffix() {
        for text in ["1G", "1GB", "1GiB", "1g"] {
            assert_eq!(text.parse::<Bytes>(), Ok(Bytes(1 << 30)), "{text}");
        }
        assert!("99999999T".parse::<Bytes>().is_err());
    }

    #[test]
    fn several_units_add_up() {
        assert_eq!("1h30m".parse::<Span>(), Ok(Span::from_secs(5400)));
        assert_eq!(Span::from_millis(1500).to_string(), "1s500ms");
    }
}
