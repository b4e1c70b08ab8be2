//! What becomes of a planned start: when the clock is not where it was expected, when nobody was there to start
//! it, and when another run is active. Each answer names what counts as missed.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Timing, Window};

/// A start may be this late, for a coarse alarm or a busy host, and still be met.
const GRACE: SignedDuration = SignedDuration::from_mins(2);
/// A clock set back by no more than this is waited for, so that no start is repeated; set back further, it was
/// wrong before, and its new time holds. The limit is that of Vixie cron.
const STEP_BACK: SignedDuration = SignedDuration::from_hours(3);
/// More missed starts than this are not told apart.
const COUNTED: usize = 10_000;

/// What to do about a start that was missed while nobody was there to start it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missed {
    /// Nothing: the next one will come.
    #[default]
    Skip,
    /// Make up for it once, inside the window.
    Once,
}

/// What to do when a suite is due while its own previous run is active.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Overlap {
    /// The start is missed.
    #[default]
    Skip,
    /// The start waits for the run to end.
    Queue,
}

/// What a planned start is at the present clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Start now.
    Now,
    /// Not yet: set the alarm to this instant.
    Early(Timestamp),
    /// Too late, or its window has closed: ask [`catch_up`], which counts it.
    Missed,
}

/// Compares a planned start with the present clock. However often it is asked, and however early or late, it
/// answers `Now` only when the start can be met; the next one is then [`Timing::next_start`] of the present.
pub fn due(timing: &Timing, planned: Timestamp, now: Timestamp) -> Due {
    if now < planned {
        return Due::Early(still_planned(timing, planned, now));
    }
    if now.duration_since(planned) <= GRACE && timing.window().is_open(now) { Due::Now } else { Due::Missed }
}

/// Holds on to a planned start unless the clock was set back so far that other starts now come before it.
fn still_planned(timing: &Timing, planned: Timestamp, now: Timestamp) -> Timestamp {
    let next = |after: Timestamp| timing.next_start(after).filter(|start| *start < planned);
    let other_starts_wait = now.checked_add(STEP_BACK).is_ok_and(|later| next(later).is_some());
    if other_starts_wait { next(now).unwrap_or(planned) } else { planned }
}

/// What to do when the daemon is back after an absence, or finds a start [`Due::Missed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatchUp {
    /// Nothing was missed; wait for the next start.
    Wait {
        /// The next start, if there is one.
        next: Option<Timestamp>,
    },
    /// Starts were missed.
    Missed {
        /// How many: to be counted.
        starts: u64,
        /// The next start, if there is one.
        next: Option<Timestamp>,
    },
    /// The last of them is made up for.
    Start {
        /// When it had been planned.
        planned: Timestamp,
        /// When it is to start: now, or when the window is open.
        at: Timestamp,
        /// How many were missed beside it: to be counted.
        missed: u64,
    },
}

/// Decides about the starts after `since` up to `now`. `since` is the last instant whose start, if any, was dealt
/// with: the last planned start, or the last time the daemon was known to be up; for a start found
/// [`Due::Missed`], a nanosecond before the instant for which it was planned.
pub fn catch_up(timing: &Timing, missed: Missed, since: Timestamp, now: Timestamp) -> CatchUp {
    let Some((starts, last)) = starts_between(timing, since, now) else {
        return CatchUp::Wait { next: timing.next_start(resumed(since, now)) };
    };
    let next = timing.next_start(now);
    let at = match (due(timing, last, now), missed) {
        (Due::Now, _) => Some(now),
        (_, Missed::Once) => make_up_at(timing, now).filter(|at| next.is_none_or(|next| *at < next)),
        (_, Missed::Skip) => None,
    };
    match at {
        Some(at) => CatchUp::Start { planned: last, at, missed: starts - 1 },
        None => CatchUp::Missed { starts, next },
    }
}

/// How many starts lie after one instant, up to and with another; at most 10,000 are told apart. Beside a start
/// that is met late, those between it and the present are missed.
pub fn passed(timing: &Timing, after: Timestamp, until: Timestamp) -> u64 {
    starts_between(timing, after, until).map_or(0, |(starts, _)| starts)
}

/// The number of starts after an instant up to another, and the last of them.
fn starts_between(timing: &Timing, after: Timestamp, until: Timestamp) -> Option<(u64, Timestamp)> {
    let next = |after: Timestamp| timing.next_start(after).filter(|start| *start <= until);
    std::iter::successors(next(after), |start| next(*start))
        .take(COUNTED)
        .fold(None, |found: Option<(u64, Timestamp)>, start| Some((found.map_or(1, |(n, _)| n + 1), start)))
}

/// The instant after which starts are new: a clock set back a little has seen some of them already.
fn resumed(since: Timestamp, now: Timestamp) -> Timestamp {
    if since.duration_since(now) <= STEP_BACK { now.max(since) } else { now }
}

/// Later by the jitter, so that a fleet that comes back together does not start together.
fn make_up_at(timing: &Timing, now: Timestamp) -> Option<Timestamp> {
    timing.window().opens(now.checked_add(timing.jitter().duration()).ok()?)
}

/// The run that stands in the way of a start: the active one, or else the first in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Active {
    /// None.
    Nothing,
    /// A run of the same suite.
    Own,
    /// A run of another suite.
    Other,
}

/// Why a scheduled start did not become a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissReason {
    /// A run of the same suite was active or queued.
    Overlap,
    /// The window closed before its turn.
    WindowOver,
}

impl MissReason {
    /// The reason as a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            MissReason::Overlap => "overlap",
            MissReason::WindowOver => "window_over",
        }
    }
}

impl fmt::Display for MissReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What becomes of a start that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It starts.
    Start,
    /// It waits for its turn.
    Queue {
        /// When its window closes; `None` when it is open all day.
        until: Option<Timestamp>,
    },
    /// It does not become a run: to be counted once.
    Missed(MissReason),
}

/// Decides about a start that is due. A suite waits in the queue at most once; another suite's run is always
/// waited for, until the window closes.
pub fn admit(
    overlap: Overlap,
    active: Active,
    own_queued: bool,
    window: &Window,
    now: Timestamp,
) -> Admission {
    match (active, overlap) {
        _ if own_queued => Admission::Missed(MissReason::Overlap),
        (Active::Nothing, _) => Admission::Start,
        (Active::Own, Overlap::Skip) => Admission::Missed(MissReason::Overlap),
        (Active::Own, Overlap::Queue) | (Active::Other, _) => Admission::Queue { until: window.closes(now) },
    }
}

/// Decides about a start whose turn in the queue has come. Asked each time the queue moves, or when `until`
/// passes, it never starts a run outside the window.
pub fn leave_queue(until: Option<Timestamp>, now: Timestamp) -> Admission {
    if until.is_none_or(|until| now < until) {
        Admission::Start
    } else {
        Admission::Missed(MissReason::WindowOver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Recurrence, TimingText};
    use crate::units::Span;
    use jiff::ToSpan;
    use proptest::prelude::*;

    fn timing(schedule: &str, window: &str) -> Timing {
        let recurrence = Recurrence::Cron(schedule);
        let text = TimingText { recurrence, timezone: "UTC", window, jitter: Span::ZERO };
        Timing::parse(&text, "machine", "suite").unwrap()
    }

    fn nightly() -> Timing {
        timing("0 3 * * *", "02:00-05:00")
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    const THREE: &str = "2026-12-02T03:00:00Z";

    #[test]
    fn a_start_is_due_from_its_instant_on_for_a_little_while() {
        let due_at = |now: &str| due(&nightly(), at(THREE), at(now));
        assert_eq!(due_at("2026-12-02T02:59:59.9Z"), Due::Early(at(THREE)));
        assert_eq!(due_at(THREE), Due::Now);
        assert_eq!(due_at("2026-12-02T03:02:00Z"), Due::Now);
        assert_eq!(due_at("2026-12-02T03:02:00.1Z"), Due::Missed);
    }

    #[test]
    fn a_late_start_is_missed_once_its_window_has_closed() {
        let at_the_end = timing("59 4 * * *", "02:00-05:00");
        assert_eq!(due(&at_the_end, at("2026-12-02T04:59:00Z"), at("2026-12-02T04:59:59Z")), Due::Now);
        assert_eq!(due(&at_the_end, at("2026-12-02T04:59:00Z"), at("2026-12-02T05:00:00Z")), Due::Missed);
    }

    #[test]
    fn a_clock_set_back_a_little_repeats_no_start() {
        let planned_after_three_of_the_1st = at(THREE);
        let just_before_three_again = at("2026-12-01T02:59:50Z");
        let answer = due(&nightly(), planned_after_three_of_the_1st, just_before_three_again);
        assert_eq!(answer, Due::Early(at(THREE)));
        let dense = timing("* * * * *", "");
        assert_eq!(due(&dense, at(THREE), at("2026-12-02T00:01:00Z")), Due::Early(at(THREE)));
    }

    #[test]
    fn a_clock_set_back_far_loses_no_start() {
        assert_eq!(
            due(&nightly(), at(THREE), at("2026-11-02T12:00:00Z")),
            Due::Early(at("2026-11-03T03:00:00Z"))
        );
        let dense = timing("* * * * *", "");
        let expected = Due::Early(at("2026-12-01T23:59:00Z"));
        assert_eq!(due(&dense, at(THREE), at("2026-12-01T23:58:30Z")), expected);
    }

    #[test]
    fn a_clock_set_forward_over_a_start_misses_it() {
        assert_eq!(due(&nightly(), at(THREE), at("2026-12-02T03:40:00Z")), Due::Missed);
    }

    #[test]
    fn an_absence_without_a_start_in_it_misses_nothing() {
        for policy in [Missed::Skip, Missed::Once] {
            let answer = catch_up(&nightly(), policy, at("2026-12-01T03:00:00Z"), at("2026-12-01T20:00:00Z"));
            assert_eq!(answer, CatchUp::Wait { next: Some(at(THREE)) });
        }
    }

    #[test]
    fn after_a_clock_set_back_a_start_dealt_with_is_not_repeated() {
        let wait = |since: &str, now: &str| catch_up(&nightly(), Missed::Once, at(since), at(now));
        let next = CatchUp::Wait { next: Some(at("2026-12-03T03:00:00Z")) };
        assert_eq!(wait(THREE, "2026-12-02T02:59:50Z"), next);
        let far = CatchUp::Wait { next: Some(at("2026-11-02T03:00:00Z")) };
        assert_eq!(wait(THREE, "2026-11-02T00:00:00Z"), far);
    }

    #[test]
    fn skipped_starts_are_counted() {
        let answer =
            catch_up(&nightly(), Missed::Skip, at("2026-11-29T03:00:00Z"), at("2026-12-02T04:00:00Z"));
        assert_eq!(answer, CatchUp::Missed { starts: 3, next: Some(at("2026-12-03T03:00:00Z")) });
    }

    #[test]
    fn once_makes_up_for_the_last_one_while_the_window_is_open() {
        let now = at("2026-12-02T04:00:00Z");
        let answer = catch_up(&nightly(), Missed::Once, at("2026-11-29T03:00:00Z"), now);
        assert_eq!(answer, CatchUp::Start { planned: at(THREE), at: now, missed: 2 });
    }

    #[test]
    fn once_waits_for_the_window_unless_the_next_start_comes_first() {
        let weekly = timing("0 3 * * Wed", "02:00-05:00");
        let (since, noon) = (at("2026-12-01T00:00:00Z"), at("2026-12-02T12:00:00Z"));
        let opens = at("2026-12-03T02:00:00Z");
        let expected = CatchUp::Start { planned: at(THREE), at: opens, missed: 0 };
        assert_eq!(catch_up(&weekly, Missed::Once, since, noon), expected);
        let first_thing = timing("0 2 * * *", "02:00-05:00");
        let expected = CatchUp::Missed { starts: 1, next: Some(opens) };
        assert_eq!(catch_up(&first_thing, Missed::Once, at("2026-12-02T01:00:00Z"), noon), expected);
    }

    #[test]
    fn what_is_made_up_for_keeps_its_jitter() {
        let (machine, suite) = ("machine", "suite");
        let text = TimingText {
            recurrence: Recurrence::Cron("0 3 * * *"),
            timezone: "UTC",
            window: "",
            jitter: Span::from_secs(1800),
        };
        let spread = Timing::parse(&text, machine, suite).unwrap();
        assert!(!spread.jitter().is_zero());
        let now = at("2026-12-02T12:00:00Z");
        let answer = catch_up(&spread, Missed::Once, at("2026-12-02T00:00:00Z"), now);
        let planned = at(THREE) + spread.jitter().duration();
        assert_eq!(answer, CatchUp::Start { planned, at: now + spread.jitter().duration(), missed: 0 });
    }

    #[test]
    fn a_start_during_a_short_restart_is_met_whatever_the_rule() {
        let now = at("2026-12-02T03:00:20Z");
        let answer = catch_up(&nightly(), Missed::Skip, at("2026-12-02T02:59:50Z"), now);
        assert_eq!(answer, CatchUp::Start { planned: at(THREE), at: now, missed: 0 });
    }

    #[test]
    fn starts_that_pass_while_one_is_met_late_are_counted() {
        let dense = timing("*/10 * * * * *", "");
        assert_eq!(passed(&dense, at(THREE), at("2026-12-02T03:00:35Z")), 3);
        assert_eq!(passed(&nightly(), at(THREE), at("2026-12-02T03:00:35Z")), 0);
    }

    #[test]
    fn a_start_meets_the_run_in_its_way() {
        use {Active::*, Overlap::*};
        let now = at(THREE);
        let admit = |overlap, active, queued| super::admit(overlap, active, queued, nightly().window(), now);
        let queue = Admission::Queue { until: Some(at("2026-12-02T05:00:00Z")) };
        let missed = Admission::Missed(MissReason::Overlap);
        for (overlap, active, own_queued, expected) in [
            (Skip, Nothing, false, Admission::Start),
            (Skip, Own, false, missed),
            (Queue, Own, false, queue),
            (Skip, Other, false, queue),
            (Queue, Other, false, queue),
            (Skip, Other, true, missed),
            (Queue, Own, true, missed),
            (Queue, Nothing, true, missed),
        ] {
            assert_eq!(admit(overlap, active, own_queued), expected, "{overlap:?} {active:?} {own_queued}");
        }
        let any_time = timing("0 3 * * *", "");
        let for_ever = super::admit(Queue, Own, false, any_time.window(), now);
        assert_eq!(for_ever, Admission::Queue { until: None });
    }

    #[test]
    fn in_the_queue_a_start_is_missed_when_its_window_closes() {
        let closes = at("2026-12-02T05:00:00Z");
        assert_eq!(leave_queue(Some(closes), closes - 1.nanosecond()), Admission::Start);
        assert_eq!(leave_queue(Some(closes), closes), Admission::Missed(MissReason::WindowOver));
        assert_eq!(leave_queue(None, closes), Admission::Start);
    }

    #[test]
    fn rules_are_written_in_small_letters() {
        let words = serde_json::json!([Missed::Skip, Missed::Once, Overlap::Skip, Overlap::Queue]);
        assert_eq!(words, serde_json::json!(["skip", "once", "skip", "queue"]));
    }

    /// A daemon as it uses these rules: woken at any instants, by a clock that is set now and then.
    struct Daemon {
        timing: Timing,
        policy: Missed,
        /// When the next start is planned, and when it is to be made; they differ for one that is made up for.
        next: Option<(Timestamp, Timestamp)>,
        met: Vec<Timestamp>,
        missed: u64,
    }

    impl Daemon {
        fn wake(&mut self, now: Timestamp) {
            let Some((planned, start)) = self.next else { return };
            match due(&self.timing, start, now) {
                Due::Early(again) if again == start => {}
                Due::Early(again) => self.wait(Some(again)),
                Due::Now => self.meet(planned, now),
                Due::Missed => match catch_up(&self.timing, self.policy, planned - 1.nanosecond(), now) {
                    CatchUp::Wait { next } => self.wait(next),
                    CatchUp::Missed { starts, next } => {
                        self.missed += starts;
                        self.wait(next);
                    }
                    CatchUp::Start { planned, at, missed } => {
                        self.missed += missed;
                        self.next = Some((planned, at));
                        if at <= now {
                            self.meet(planned, now);
                        }
                    }
                },
            }
        }

        fn wait(&mut self, next: Option<Timestamp>) {
            self.next = next.map(|start| (start, start));
        }

        fn meet(&mut self, planned: Timestamp, now: Timestamp) {
            self.met.push(planned);
            self.missed += passed(&self.timing, planned, now);
            self.wait(self.timing.next_start(now));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Steps of the clock back by up to an hour and forward by any length, wakes at random: each start up to
        /// the latest instant seen was met once or counted once.
        #[test]
        fn no_start_is_lost_and_none_is_doubled(
            schedule in prop::sample::select(vec!["0 3 * * *", "*/20 * * * *", "30 1,4 * * *", "*/5 2-4 * * *"]),
            window in prop::sample::select(vec!["", "02:00-05:00", "01:00-04:31"]),
            once in any::<bool>(),
            steps in prop::collection::vec(-3600_i64..5400, 1..120),
        ) {
            let timing = timing(schedule, window);
            let begin = at("2026-12-01T00:00:00Z");
            let policy = if once { Missed::Once } else { Missed::Skip };
            let next = timing.next_start(begin).map(|start| (start, start));
            let mut daemon = Daemon { timing, policy, next, met: Vec::new(), missed: 0 };
            let (mut now, mut latest) = (begin, begin);
            for step in steps {
                now = (now + step.seconds()).max(latest - 1.hour());
                latest = latest.max(now);
                daemon.wake(now);
            }
            daemon.wake(latest);
            prop_assert!(daemon.met.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", daemon.met);
            let made_up_later = daemon.next.is_some_and(|(planned, _)| planned <= latest);
            let told = daemon.met.len() as u64 + daemon.missed + u64::from(made_up_later);
            prop_assert_eq!(told, passed(&daemon.timing, begin, latest));
        }
    }
}
