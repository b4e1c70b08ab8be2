//! A cron schedule over civil time: what a wall clock shows, without a zone.

use chrono::{Datelike, NaiveDate, NaiveDateTime, Timelike};
use croner::Cron;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::{Date, DateTime, Time};

use super::TimingProblem;

/// The fields in order, and what each may hold.
const FIELDS: [(&str, &str); 6] = [
    ("second", "0-59"),
    ("minute", "0-59"),
    ("hour", "0-23"),
    ("day of month", "1-31 or L, the last"),
    ("month", "1-12 or JAN-DEC"),
    ("day of week", "0-7 or SUN-SAT, 0 and 7 are Sunday"),
];
const HOUR: usize = 2;
const EXAMPLE: &str = "write minute, hour, day of month, month and day of week, as in \"0 3 * * *\"";

/// A checked cron schedule of five fields, or six with seconds in front.
#[derive(Debug, Clone)]
pub(super) struct CronSchedule {
    cron: Cron,
    every_hour: bool,
}

impl CronSchedule {
    /// Checks a schedule; day of month and day of week are joined by OR when both are given, as in cron.
    pub(super) fn parse(text: &str) -> Result<CronSchedule, TimingProblem> {
        let fields = six_fields(text)?;
        if let Some(problem) = first_wrong_field(&fields) {
            return Err(problem);
        }
        let cron = parser().parse(&fields.join(" ")).map_err(|error| {
            schedule_problem(format!("\"{text}\" is not a cron schedule: {error}"), EXAMPLE)
        })?;
        let schedule = CronSchedule { cron, every_hour: fields[HOUR].contains(['*', '/']) };
        match schedule.next(Date::constant(2000, 1, 1).at(0, 0, 0, 0), true) {
            Some(_) => Ok(schedule),
            None => Err(schedule_problem(
                format!("\"{text}\" never happens"),
                "no date fits these days and months: choose others",
            )),
        }
    }

    /// Whether the hour is a wildcard or stepped: such a schedule keeps its rhythm when clocks change.
    pub(super) fn every_hour(&self) -> bool {
        self.every_hour
    }

    /// The first civil time that fits, after `from` or at it; fractions of a second in `from` are dropped.
    pub(super) fn next(&self, from: DateTime, inclusive: bool) -> Option<DateTime> {
        let found = self.cron.find_next_occurrence(&to_chrono(from)?.and_utc(), inclusive).ok()?;
        from_chrono(found.naive_utc())
    }
}

fn parser() -> CronParser {
    CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed).build()
}

fn schedule_problem(problem: String, hint: &str) -> TimingProblem {
    TimingProblem { key: "schedule", problem, hint: hint.to_owned() }
}

fn six_fields(text: &str) -> Result<Vec<&str>, TimingProblem> {
    let mut fields: Vec<&str> = text.split_whitespace().collect();
    match fields.len() {
        5 => fields.insert(0, "0"),
        6 => {}
        count => {
            let problem =
                format!("the schedule \"{text}\" has {count} of 5 fields, or 6 with seconds in front");
            return Err(schedule_problem(problem, EXAMPLE));
        }
    }
    Ok(fields)
}

/// Tries each field with the others open, so that the message can name the one that is wrong.
fn first_wrong_field(fields: &[&str]) -> Option<TimingProblem> {
    FIELDS.iter().zip(fields).enumerate().find_map(|(place, ((name, values), field))| {
        let reason = field_reason(place, field)?;
        let problem = format!("the {name} \"{field}\" of the schedule is not valid ({reason})");
        Some(schedule_problem(problem, &format!("values are {values}; {EXAMPLE}")))
    })
}

fn field_reason(place: usize, field: &str) -> Option<String> {
    if field.split(',').any(str::is_empty) {
        return Some("a comma without a value beside it".to_owned());
    }
    let mut others = ["*"; FIELDS.len()];
    others[place] = field;
    Some(match parser().parse(&others.join(" ")).err()? {
        CronError::IllegalCharacters(_) => "it has signs or names that mean nothing here".to_owned(),
        CronError::ComponentError(reason) => reason.trim_end_matches('.').to_owned(),
        other => other.to_string(),
    })
}

fn to_chrono(time: DateTime) -> Option<NaiveDateTime> {
    let part = |value: i8| u32::try_from(value).ok();
    NaiveDate::from_ymd_opt(i32::from(time.year()), part(time.month())?, part(time.day())?)?.and_hms_opt(
        part(time.hour())?,
        part(time.minute())?,
        part(time.second())?,
    )
}

fn from_chrono(time: NaiveDateTime) -> Option<DateTime> {
    let part = |value: u32| i8::try_from(value).ok();
    let date = Date::new(i16::try_from(time.year()).ok()?, part(time.month())?, part(time.day())?).ok()?;
    let clock = Time::new(part(time.hour())?, part(time.minute())?, part(time.second())?, 0).ok()?;
    Some(date.to_datetime(clock))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::ToSpan;
    use jiff::civil::datetime;
    use proptest::prelude::*;

    fn starts(text: &str, from: DateTime, count: usize) -> Vec<String> {
        let schedule = CronSchedule::parse(text).unwrap();
        let mut at = from;
        (0..count)
            .map(|_| {
                at = schedule.next(at, false).unwrap();
                at.strftime("%F %T").to_string()
            })
            .collect()
    }

    fn problem(text: &str) -> String {
        CronSchedule::parse(text).unwrap_err().problem
    }

    #[test]
    fn five_fields_begin_at_the_minute_and_six_have_seconds() {
        let from = datetime(2026, 11, 30, 12, 0, 0, 0);
        assert_eq!(starts("30 3 * * *", from, 1), ["2026-12-01 03:30:00"]);
        assert_eq!(starts("15 30 3 * * *", from, 1), ["2026-12-01 03:30:15"]);
        assert_eq!(starts("*/20 0 12 * * *", from, 2), ["2026-11-30 12:00:20", "2026-11-30 12:00:40"]);
    }

    #[test]
    fn both_day_fields_are_joined_by_or() {
        let from = datetime(2026, 8, 20, 0, 0, 0, 0);
        let expected = ["2026-08-24 03:00:00", "2026-08-31 03:00:00", "2026-09-01 03:00:00"];
        assert_eq!(starts("0 3 1 * Mon", from, 3), expected);
    }

    #[test]
    fn the_29th_of_february_comes_in_leap_years_only() {
        let from = datetime(2096, 2, 1, 0, 0, 0, 0);
        assert_eq!(starts("0 3 29 2 *", from, 2), ["2096-02-29 03:00:00", "2104-02-29 03:00:00"]);
    }

    #[test]
    fn the_31st_comes_in_long_months_and_l_is_the_last_day() {
        let from = datetime(2027, 1, 31, 3, 0, 0, 0);
        assert_eq!(starts("0 3 31 * *", from, 2), ["2027-03-31 03:00:00", "2027-05-31 03:00:00"]);
        assert_eq!(starts("0 3 L * *", from, 2), ["2027-02-28 03:00:00", "2027-03-31 03:00:00"]);
    }

    #[test]
    fn sunday_is_0_and_7_and_a_name() {
        let from = datetime(2026, 11, 30, 0, 0, 0, 0);
        for day in ["0", "7", "Sun", "SUN"] {
            assert_eq!(starts(&format!("0 3 * * {day}"), from, 1), ["2026-12-06 03:00:00"], "{day}");
        }
    }

    #[test]
    fn a_problem_names_the_field_and_the_reason() {
        assert_eq!(
            CronSchedule::parse("61 3 * * *").unwrap_err().to_string(),
            "the minute \"61\" of the schedule is not valid (Number out of bounds): values are 0-59; \
             write minute, hour, day of month, month and day of week, as in \"0 3 * * *\""
        );
        assert_eq!(
            problem("0 3 * Foo *"),
            "the month \"Foo\" of the schedule is not valid (it has signs or names that mean nothing here)"
        );
        assert_eq!(
            problem("0 3 * *"),
            "the schedule \"0 3 * *\" has 4 of 5 fields, or 6 with seconds in front"
        );
        assert_eq!(
            problem("@daily"),
            "the schedule \"@daily\" has 1 of 5 fields, or 6 with seconds in front"
        );
        assert_eq!(
            problem("1,,2 3 * * *"),
            "the minute \"1,,2\" of the schedule is not valid (a comma without a value beside it)"
        );
    }

    #[test]
    fn a_date_that_never_comes_is_a_problem() {
        for text in ["0 3 30 2 *", "0 3 31 4,6,9,11 *"] {
            assert_eq!(problem(text), format!("\"{text}\" never happens"));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn no_text_panics(text in "([*0-9/,LW#?+ @a-zß-]{0,6} ){4,6}[*0-9-]{1,3}") {
            let _ = CronSchedule::parse(&text);
        }

        /// Every minute between two neighbouring results is one that does not fit.
        #[test]
        fn nothing_that_fits_is_passed_over(
            text in "(\\*|\\*/[1-9]|[1-5]?[0-9]|[0-5],4[0-9]) (\\*|\\*/[2-9]|1?[0-9]|[0-5]-1[0-9]) (\\*|[1-9]|1-7) \\* (\\*|[0-6]|1-5)",
            minutes in 0_i64..500_000,
        ) {
            let schedule = CronSchedule::parse(&text).unwrap();
            let from = datetime(2026, 1, 1, 0, 0, 0, 0) + minutes.minutes();
            let found = schedule.next(from, false).unwrap();
            let mut minute = from + 1.minute();
            while minute < found && minute < from + 2000.minutes() {
                let time = to_chrono(minute).unwrap().and_utc();
                prop_assert!(!schedule.cron.is_time_matching(&time).unwrap(), "{text}: {minute}");
                minute += 1.minute();
            }
            prop_assert!(schedule.cron.is_time_matching(&to_chrono(found).unwrap().and_utc()).unwrap());
        }
    }
}
