//! A suite's schedule as it is written, and what was read from it.

use jiff::{SignedDuration, Timestamp};

use super::Window;
use super::cron::CronSchedule;
use crate::units::Span;

/// Shortest and longest distance that `every` takes, in seconds.
const EVERY_SECONDS: std::ops::RangeInclusive<u64> = 1..=366 * 86_400;
/// A jitter must be shorter than this, in seconds.
const JITTER_SECONDS: u64 = 7 * 86_400;

/// What is wrong with a key of a schedule, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}: {hint}")]
pub struct TimingProblem {
    /// The suite's key: `schedule`, `every`, `timezone`, `window` or `jitter`.
    pub key: &'static str,
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub hint: String,
}

/// How starts follow each other, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recurrence<'a> {
    /// A cron schedule of five fields, or six with seconds in front.
    Cron(&'a str),
    /// At every multiple of this span since 1970-01-01 00:00 UTC, so that a restart moves nothing.
    Every(Span),
}

/// A suite's schedule as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimingText<'a> {
    /// How starts follow each other.
    pub recurrence: Recurrence<'a>,
    /// Name of an IANA time zone for schedule and window; empty for the host's.
    pub timezone: &'a str,
    /// `HH:MM-HH:MM`; empty for any time.
    pub window: &'a str,
    /// Starts are moved later by a fixed time below this.
    pub jitter: Span,
}

/// A checked schedule: everything that decides when a suite's runs start.
#[derive(Debug, Clone)]
pub struct Timing {
    pub(super) rhythm: Rhythm,
    pub(super) window: Window,
    pub(super) jitter: SignedDuration,
}

#[derive(Debug, Clone)]
pub(super) enum Rhythm {
    Cron(Box<CronSchedule>),
    Every(SignedDuration),
}

impl Timing {
    /// Checks a schedule. The jitter follows from the machine's id and the suite's name, so that it is the same
    /// after each restart and spreads the hosts of a fleet.
    ///
    /// # Errors
    /// All that is wrong, by key. A window that never meets the schedule is found by [`Timing::never_meets`].
    pub fn parse(text: &TimingText<'_>, machine_id: &str, suite: &str) -> Result<Timing, Vec<TimingProblem>> {
        let rhythm = parse_rhythm(text.recurrence).map_err(|problem| vec![problem]);
        let window = Window::parse(text.window, text.timezone);
        let jitter = parse_jitter(text.jitter, machine_id, suite).map_err(|problem| vec![problem]);
        match (rhythm, window, jitter) {
            (Ok(rhythm), Ok(window), Ok(jitter)) => Ok(Timing { rhythm, window, jitter }),
            (rhythm, window, jitter) => {
                let problems = [rhythm.err(), window.err(), jitter.err()];
                Err(problems.into_iter().flatten().flatten().collect())
            }
        }
    }

    /// The window in which its runs may start; its zone is the schedule's.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// How much later than scheduled its runs start on this machine.
    pub fn jitter(&self) -> Span {
        Span::from(self.jitter.unsigned_abs())
    }

    /// The key that holds the rhythm.
    pub(super) fn key(&self) -> &'static str {
        match self.rhythm {
            Rhythm::Cron(_) => "schedule",
            Rhythm::Every(_) => "every",
        }
    }

    /// `HH:MM` of an instant in the schedule's zone.
    pub(super) fn clock(&self, at: Timestamp) -> String {
        at.to_zoned(self.window.zone().clone()).strftime("%H:%M").to_string()
    }
}

fn parse_rhythm(recurrence: Recurrence<'_>) -> Result<Rhythm, TimingProblem> {
    let span = match recurrence {
        Recurrence::Cron(text) => return CronSchedule::parse(text).map(|cron| Rhythm::Cron(Box::new(cron))),
        Recurrence::Every(span) => span,
    };
    if EVERY_SECONDS.contains(&span.duration().as_secs())
        && let Ok(distance) = SignedDuration::try_from(span.duration())
    {
        return Ok(Rhythm::Every(distance));
    }
    Err(TimingProblem {
        key: "every",
        problem: format!("a run every {span} cannot be scheduled"),
        hint: "write a span from \"1s\" to \"366d\"".to_owned(),
    })
}

fn parse_jitter(below: Span, machine_id: &str, suite: &str) -> Result<SignedDuration, TimingProblem> {
    let seconds = below.duration().as_secs();
    if seconds > JITTER_SECONDS {
        return Err(TimingProblem {
            key: "jitter",
            problem: format!("a jitter of {below} is too long"),
            hint: "write at most \"7d\"; \"0s\" starts all hosts at once".to_owned(),
        });
    }
    let whole_seconds = fixed_hash(machine_id, suite).checked_rem(seconds).unwrap_or(0);
    Ok(SignedDuration::from_secs(i64::try_from(whole_seconds).unwrap_or(0)))
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo), over both names: the same on every version and platform.
fn fixed_hash(machine_id: &str, suite: &str) -> u64 {
    let bytes = machine_id.bytes().chain([0]).chain(suite.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NIGHTLY: TimingText<'static> = TimingText {
        recurrence: Recurrence::Cron("0 3 * * *"),
        timezone: "Europe/Berlin",
        window: "02:00-05:00",
        jitter: Span::from_secs(1800),
    };

    fn jitter(machine_id: &str, suite: &str) -> u64 {
        Timing::parse(&NIGHTLY, machine_id, suite).unwrap().jitter().duration().as_secs()
    }

    #[test]
    fn all_problems_are_found_at_once() {
        let wrong = TimingText {
            recurrence: Recurrence::Every(Span::ZERO),
            timezone: "Mars",
            window: "night",
            jitter: Span::from_secs(8 * 86_400),
        };
        let problems = Timing::parse(&wrong, "m", "s").unwrap_err();
        let keys: Vec<&str> = problems.iter().map(|problem| problem.key).collect();
        assert_eq!(keys, ["every", "window", "timezone", "jitter"]);
    }

    #[test]
    fn the_jitter_is_the_same_in_every_version() {
        assert_eq!(jitter("4c2f6d7be0d14f6fbd2f5a3c9c5d8e11", "nightly"), 328);
    }

    #[test]
    fn hosts_and_suites_are_spread() {
        let hosts: std::collections::BTreeSet<u64> =
            (0..600).map(|host| jitter(&format!("{host:032x}"), "nightly") / 180).collect();
        assert_eq!(hosts.len(), 10, "each tenth of the jitter has some of 600 hosts");
        assert_ne!(jitter("m", "nightly"), jitter("m", "weekly"));
    }

    #[test]
    fn without_jitter_starts_are_not_moved() {
        for jitter in [Span::ZERO, Span::from_millis(999)] {
            let text = TimingText { jitter, ..NIGHTLY };
            assert!(Timing::parse(&text, "m", "s").unwrap().jitter().is_zero());
        }
    }

    proptest! {
        #[test]
        fn the_jitter_is_below_its_span(seconds in 1_u64..604_800, machine in ".{0,40}", suite in "[a-z]{1,20}") {
            let span = Span::from_secs(seconds);
            let timing = Timing::parse(&TimingText { jitter: span, ..NIGHTLY }, &machine, &suite).unwrap();
            prop_assert!(timing.jitter() < span);
        }
    }
}
