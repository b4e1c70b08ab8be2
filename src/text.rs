//! Numbers, lengths of time and tables as people read them.

/// Lines up columns; the last one is not padded.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let line: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Eight digits that stand for a text and change when it does: FNV-1a.
pub fn digest(text: &str) -> String {
    let hash =
        text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{hash:08x}")
}

/// A value, or `–` where there is none.
pub fn or_dash<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), show)
}

/// How many of something: `1 case`, `2 cases`.
pub fn counted(count: impl Into<u64>, one: &str) -> String {
    let count = count.into();
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// A number with enough digits and thousands set apart: `21,431`, `862.0`, `3.49`, `0.019`.
pub fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 1000.0 => thousands(value.round()),
        middle if middle >= 100.0 => format!("{value:.1}"),
        tiny if tiny < 0.01 && tiny > 0.0 => format!("{value:.*}", significant(tiny)),
        small if small < 1.0 && small > 0.0 => format!("{value:.3}"),
        _ => format!("{value:.2}"),
    }
}

/// Decimals that show two digits of a number below one: what was measured is never shown as 0.
fn significant(value: f64) -> usize {
    (-value.log10()).ceil().clamp(0.0, 12.0) as usize + 1
}

fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// Seconds as milliseconds.
pub fn milliseconds(seconds: f64) -> String {
    number(seconds * 1e3)
}

/// Bytes a second in the unit that suits them: `11.2 GiB/s`, `96.0 MiB/s`, `7.5 KiB/s`.
pub fn byte_rate(bytes_per_second: f64) -> String {
    let kib = bytes_per_second / 1024.0;
    let (value, unit) = match kib {
        large if large >= 1024.0 * 1024.0 => (kib / (1024.0 * 1024.0), "GiB/s"),
        middle if middle >= 1024.0 => (kib / 1024.0, "MiB/s"),
        _ => (kib, "KiB/s"),
    };
    format!("{value:.1} {unit}")
}

/// A length of time for people: `53 s`, `5 min 24 s`, `2 h 5 min`.
pub fn took(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) if h < 48 => format!("{h} h {m:02} min"),
        (h, ..) => format!("{} days", h / 24),
    }
}

/// An instant as the host's clock shows it.
pub fn local_time(at: jiff::Timestamp) -> String {
    at.to_zoned(jiff::tz::TimeZone::system()).strftime("%a %d %b %Y %H:%M:%S %Z").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_the_digits_that_matter() {
        for (value, text) in [
            (21430.6, "21,431"),
            (999.96, "1000.0"),
            (689.04, "689.0"),
            (3.494, "3.49"),
            (1234567.0, "1,234,567"),
            (0.0187, "0.019"),
            (0.000_031_4, "0.000031"),
            (0.001, "0.0010"),
            (0.0, "0.00"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn bytes_a_second_have_the_unit_that_suits_them() {
        for (bytes, text) in [
            (7680.0, "7.5 KiB/s"),
            (96.0 * 1_048_576.0, "96.0 MiB/s"),
            (11.2 * 1_073_741_824.0, "11.2 GiB/s"),
        ] {
            assert_eq!(byte_rate(bytes), text);
        }
    }

    #[test]
    fn lengths_of_time_use_two_units_at_most() {
        for (seconds, text) in
            [(53.2, "53 s"), (324.0, "5 min 24 s"), (7500.0, "2 h 05 min"), (200_000.0, "2 days")]
        {
            assert_eq!(took(seconds), text);
        }
    }

    #[test]
    fn columns_line_up() {
        let rows = [["SUITE", "CASES"], ["quick", "3"], ["maintenance", "12"]]
            .map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "SUITE        CASES\nquick        3\nmaintenance  12\n");
    }
}
