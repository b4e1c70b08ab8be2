//! The time of day in which a run may start.

use std::fmt;

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan};

use super::TimingProblem;

const DAY: u16 = 24 * 60;

/// A time of day in a zone, from its first minute up to and without its last; it may pass midnight.
///
/// It speaks of what a wall clock shows: where clocks are set back inside it, it is open in both passes.
#[derive(Debug, Clone)]
pub struct Window {
    /// Minutes after midnight.
    start: u16,
    /// Minutes after midnight; [`DAY`] for 24:00.
    end: u16,
    zone: TimeZone,
}

impl Window {
    /// Reads `HH:MM-HH:MM`, or nothing for any time, in an IANA time zone, or the host's when that is empty.
    ///
    /// # Errors
    /// All that is wrong, by the keys `window` and `timezone`.
    pub fn parse(window: &str, timezone: &str) -> Result<Window, Vec<TimingProblem>> {
        match (parse_window(window), parse_zone(timezone)) {
            (Ok((start, end)), Ok(zone)) => Ok(Window { start, end, zone }),
            (window, zone) => Err(window.err().into_iter().chain(zone.err()).collect()),
        }
    }

    /// The zone in which it is read.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// The zone's name.
    pub fn zone_name(&self) -> &str {
        self.zone.iana_name().unwrap_or("local time")
    }

    /// Whether it is open all day.
    pub fn is_any_time(&self) -> bool {
        self.start == 0 && self.end == DAY
    }

    /// Whether a run may start at this instant.
    pub fn is_open(&self, at: Timestamp) -> bool {
        self.contains(self.zone.to_offset(at).to_datetime(at))
    }

    /// The first instant at or after `from` at which it is open.
    pub fn opens(&self, from: Timestamp) -> Option<Timestamp> {
        self.first(from, true)
    }

    /// The first instant at or after `from` at which it is not open; `None` when it is open all day.
    pub fn closes(&self, from: Timestamp) -> Option<Timestamp> {
        if self.is_any_time() { None } else { self.first(from, false) }
    }

    /// The same time of day where clocks never change.
    pub(super) fn in_utc(&self) -> Window {
        Window { zone: TimeZone::UTC, ..self.clone() }
    }

    fn contains(&self, civil: DateTime) -> bool {
        let minute = u16::from(civil.hour().unsigned_abs()) * 60 + u16::from(civil.minute().unsigned_abs());
        if self.start < self.end {
            (self.start..self.end).contains(&minute)
        } else {
            minute >= self.start || minute < self.end
        }
    }

    /// Walks from edge to edge; a change of clocks on the way is looked at anew.
    fn first(&self, from: Timestamp, open: bool) -> Option<Timestamp> {
        let mut at = from;
        loop {
            let offset = self.zone.to_offset(at);
            let civil = offset.to_datetime(at);
            if self.contains(civil) == open {
                return Some(at);
            }
            let edge = next_minute_of_day(civil, offset, if open { self.start } else { self.end })?;
            at = match self.zone.following(at).next() {
                Some(change) if change.timestamp() < edge => change.timestamp(),
                _ => edge,
            };
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Window { start, end, .. } = self;
        write!(f, "{:02}:{:02}-{:02}:{:02}", start / 60, start % 60, end / 60, end % 60)
    }
}

fn next_minute_of_day(after: DateTime, offset: Offset, minute: u16) -> Option<Timestamp> {
    let midnight = after.date().at(0, 0, 0, 0);
    let today = midnight.checked_add(i64::from(minute).minutes()).ok()?;
    let next = if today > after { today } else { today.checked_add(1.day()).ok()? };
    offset.to_timestamp(next).ok()
}

fn parse_window(text: &str) -> Result<(u16, u16), TimingProblem> {
    let wrong = |problem: String, hint: &str| TimingProblem { key: "window", problem, hint: hint.to_owned() };
    if text.is_empty() {
        return Ok((0, DAY));
    }
    let (start, end) = text
        .split_once('-')
        .and_then(|(start, end)| Some((minute_of_day(start)?, minute_of_day(end)?)))
        .filter(|(start, _)| *start < DAY)
        .ok_or_else(|| {
            wrong(format!("\"{text}\" is not a window"), "write \"02:00-05:00\"; \"\" is any time")
        })?;
    if start == end {
        return Err(wrong(
            format!("the window {text} ends where it begins"),
            "for any time write \"00:00-24:00\"",
        ));
    }
    Ok((start, end))
}

/// The minutes after midnight of `HH:MM`, up to 24:00.
fn minute_of_day(text: &str) -> Option<u16> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let two_digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !two_digits(hours) || !two_digits(minutes) {
        return None;
    }
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
    (minutes < 60).then_some(hours * 60 + minutes).filter(|minute| *minute <= DAY)
}

fn parse_zone(name: &str) -> Result<TimeZone, TimingProblem> {
    if name.is_empty() {
        return Ok(TimeZone::try_system().unwrap_or(TimeZone::UTC));
    }
    TimeZone::get(name).map_err(|_| TimingProblem {
        key: "timezone",
        problem: format!("time zone \"{name}\" is not known on this host"),
        hint:
            "write a name such as \"Europe/Berlin\" or \"UTC\", or \"\" for the host's; the names come with \
               the package tzdata"
                .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn window(text: &str, zone: &str) -> Window {
        Window::parse(text, zone).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn problem(text: &str) -> String {
        Window::parse(text, "UTC").unwrap_err()[0].to_string()
    }

    #[test]
    fn it_holds_its_first_minute_and_not_its_last() {
        let night = window("02:00-05:00", "Europe/Berlin");
        assert!(!night.is_open(at("2026-12-01T00:59:59.999Z")));
        assert!(night.is_open(at("2026-12-01T01:00:00Z")));
        assert!(night.is_open(at("2026-12-01T03:59:59.999Z")));
        assert!(!night.is_open(at("2026-12-01T04:00:00Z")));
    }

    #[test]
    fn it_may_pass_midnight() {
        let night = window("22:30-01:00", "UTC");
        assert!(night.is_open(at("2026-12-01T00:30:00Z")));
        assert!(!night.is_open(at("2026-12-01T12:00:00Z")));
        assert_eq!(night.opens(at("2026-12-01T12:00:00Z")), Some(at("2026-12-01T22:30:00Z")));
        assert_eq!(night.closes(at("2026-12-01T22:30:00Z")), Some(at("2026-12-02T01:00:00Z")));
    }

    #[test]
    fn any_time_never_closes() {
        for text in ["", "00:00-24:00"] {
            let any = window(text, "Europe/Berlin");
            assert!(any.is_any_time() && any.closes(at("2026-12-01T12:00:00Z")).is_none(), "{text}");
        }
    }

    #[test]
    fn midnight_may_be_written_as_the_end_in_both_ways() {
        for text in ["22:00-24:00", "22:00-00:00"] {
            let closes = window(text, "UTC").closes(at("2026-12-01T23:00:00Z"));
            assert_eq!(closes, Some(at("2026-12-02T00:00:00Z")), "{text}");
        }
    }

    #[test]
    fn where_clocks_are_set_back_it_is_open_in_both_passes() {
        let whole = window("02:00-03:00", "Europe/Berlin");
        assert_eq!(whole.closes(at("2026-10-25T00:00:00Z")), Some(at("2026-10-25T02:00:00Z")));
        let half = window("02:00-02:30", "Europe/Berlin");
        assert_eq!(half.closes(at("2026-10-25T00:00:00Z")), Some(at("2026-10-25T00:30:00Z")));
        assert_eq!(half.opens(at("2026-10-25T00:30:00Z")), Some(at("2026-10-25T01:00:00Z")));
    }

    #[test]
    fn where_clocks_are_set_forward_over_it_it_does_not_open_that_day() {
        let hour = window("02:00-03:00", "Europe/Berlin");
        assert_eq!(hour.opens(at("2026-03-28T12:00:00Z")), Some(at("2026-03-30T00:00:00Z")));
        let longer = window("02:00-03:30", "Europe/Berlin");
        assert_eq!(longer.opens(at("2026-03-28T12:00:00Z")), Some(at("2026-03-29T01:00:00Z")));
    }

    #[test]
    fn problems_say_what_to_write() {
        let hint = ": write \"02:00-05:00\"; \"\" is any time";
        for text in ["2-5", "02:00", "02:60-03:00", "24:00-01:00", "02:00-25:00", "+2:00-05:00", "2:00-5:00"]
        {
            assert_eq!(problem(text), format!("\"{text}\" is not a window{hint}"));
        }
        for text in ["02:00-02:00", "00:00-00:00"] {
            let expected =
                format!("the window {text} ends where it begins: for any time write \"00:00-24:00\"");
            assert_eq!(problem(text), expected);
        }
        let both = Window::parse("x", "Europe/Atlantis").unwrap_err();
        assert_eq!(both.iter().map(|problem| problem.key).collect::<Vec<_>>(), ["window", "timezone"]);
    }

    proptest! {
        #[test]
        fn it_opens_and_closes_at_its_edges_and_nowhere_else(
            start in 0..DAY, length in 1..DAY, minutes in 0_i64..1_000_000,
            zone in prop::sample::select(vec!["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"]),
        ) {
            let edges = Window { start, end: (start + length) % DAY, zone: TimeZone::get(zone).unwrap() };
            let parsed = window(&edges.to_string(), zone);
            let from = at("2025-06-01T00:00:00Z") + minutes.minutes();
            let (opens, closes) = (parsed.opens(from).unwrap(), parsed.closes(from).unwrap());
            prop_assert!(parsed.is_open(opens) && !parsed.is_open(closes));
            prop_assert!(opens == from || !parsed.is_open(opens - 1.nanosecond()));
            prop_assert!(closes == from || parsed.is_open(closes - 1.nanosecond()));
            prop_assert!(opens == from || closes == from);
            let (mut minute, change) = (from, opens.max(closes));
            while minute < change {
                prop_assert_eq!(parsed.is_open(minute), opens == from);
                minute += 1.minute();
            }
        }
    }
}
