//! The next start as a pure function of a schedule and an instant.
//!
//! A cron schedule is matched on civil time, what a wall clock shows, and then placed in its zone. Where clocks
//! change, the rule is that of ordinary cron:
//!
//! * A schedule with fixed hours starts once for each of its civil times. One that the clocks skip starts at the
//!   first instant after the gap; one that they show twice starts in the first pass.
//! * A schedule whose hour is a wildcard or stepped (`*`, `*/2`) follows the wall clock as it runs: it starts in
//!   both passes, and times that the clocks skip are not made up for.
//!
//! `every` counts instants and does not see a change of clocks. The scheduled instant and the start, which is
//! later by the jitter, must both lie inside the window; otherwise there is no start.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::cron::CronSchedule;
use super::timing::Rhythm;
use super::{Timing, TimingProblem};
use crate::units::Span;

/// The 29th of February may be eight years away; further than this nothing is looked for.
const HORIZON: SignedDuration = SignedDuration::from_hours(10 * 366 * 24);
/// In the coming so many days the longest gap is looked for: a week, and a day for what is moved by a clock change.
const GAP_DAYS: SignedDuration = SignedDuration::from_hours(8 * 24);
/// No more starts than this are looked at for the longest gap: 8 days of one a minute.
const GAP_STARTS: usize = 12_000;
const TICK: SignedDuration = SignedDuration::from_nanos(1);

impl Timing {
    /// The first start after an instant, jitter included; `None` when there is none in the ten years after it.
    pub fn next_start(&self, after: Timestamp) -> Option<Timestamp> {
        let limit = after.checked_add(HORIZON).unwrap_or(Timestamp::MAX);
        let mut cursor = after.checked_sub(self.jitter).ok()?;
        loop {
            let scheduled = self.next_scheduled(cursor).filter(|scheduled| *scheduled <= limit)?;
            let start = scheduled.checked_add(self.jitter).ok()?;
            let earliest = self.earliest_inside(scheduled, start)?;
            if earliest == scheduled {
                return Some(start);
            }
            cursor = earliest.checked_sub(TICK).ok()?;
        }
    }

    /// The longest distance between a start of the coming 8 days, or the first one when it is later, and the
    /// start that follows it. Where starts are closer than a minute, the first 12,000 are looked at.
    pub fn longest_gap(&self, from: Timestamp) -> Option<Span> {
        let end = from.checked_add(GAP_DAYS).ok()?;
        let first = self.next_start(from)?;
        let starts = std::iter::successors(Some(first), |start| {
            if *start == first || *start < end { self.next_start(*start) } else { None }
        });
        let starts: Vec<Timestamp> = starts.take(GAP_STARTS).collect();
        let longest = starts.windows(2).map(|pair| pair[1].duration_since(pair[0])).max()?;
        Some(Span::from(longest.unsigned_abs()))
    }

    /// What is wrong when the window is never open at a start. `from` chooses the start that the text shows.
    pub fn never_meets(&self, from: Timestamp) -> Option<TimingProblem> {
        if self.on_plain_days().next_start(from).is_some() {
            return None;
        }
        let opening = self.window.opens(from)?.checked_sub(TICK).ok()?;
        let scheduled = self.next_scheduled(opening)?;
        let (key, zone) = (self.key(), self.window.zone_name());
        let times = match self.jitter.is_zero() {
            true => self.clock(scheduled),
            false => format!(
                "{}, with jitter {}",
                self.clock(scheduled),
                self.clock(scheduled.checked_add(self.jitter).ok()?)
            ),
        };
        Some(TimingProblem {
            key: "window",
            problem: format!("the window {} never meets the schedule ({times} {zone})", self.window),
            hint: format!("widen the window or move `{key}`: a run may only start inside its window"),
        })
    }

    /// A start that only a change of clocks would bring into the window is none to rely on.
    fn on_plain_days(&self) -> Timing {
        match self.rhythm {
            Rhythm::Cron(_) => Timing { window: self.window.in_utc(), ..self.clone() },
            Rhythm::Every(_) => self.clone(),
        }
    }

    /// The first instant at or after `scheduled` where it and the start belonging to it could be inside the window.
    fn earliest_inside(&self, scheduled: Timestamp, start: Timestamp) -> Option<Timestamp> {
        let start_opens = self.window.opens(start)?.checked_sub(self.jitter).ok()?;
        Some(self.window.opens(scheduled)?.max(start_opens))
    }

    /// The first scheduled instant after another, without jitter and window.
    fn next_scheduled(&self, after: Timestamp) -> Option<Timestamp> {
        let zone = self.window.zone();
        match &self.rhythm {
            Rhythm::Every(distance) => next_multiple(*distance, after),
            Rhythm::Cron(cron) if cron.every_hour() => next_as_clocks_run(cron, zone, after),
            Rhythm::Cron(cron) => next_once_each(cron, zone, after),
        }
    }
}

fn next_multiple(distance: SignedDuration, after: Timestamp) -> Option<Timestamp> {
    let distance = distance.as_nanos();
    let count = after.as_nanosecond().div_euclid(distance) + 1;
    Timestamp::from_nanosecond(count.checked_mul(distance)?).ok()
}

/// Matches within each stretch of time in which the zone's offset stays the same.
fn next_as_clocks_run(cron: &CronSchedule, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    let mut from = after;
    let mut inclusive = false;
    loop {
        let offset = zone.to_offset(from);
        let at = offset.to_timestamp(cron.next(offset.to_datetime(from), inclusive)?).ok()?;
        match zone.following(from).next() {
            Some(change) if change.timestamp() <= at => from = change.timestamp(),
            _ => return Some(at),
        }
        inclusive = true;
    }
}

/// Places one civil time after the other until one is later; `placed` never goes back, so none is passed over.
fn next_once_each(cron: &CronSchedule, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    let mut civil = zone.to_offset(after).to_datetime(after);
    loop {
        civil = cron.next(civil, false)?;
        let at = placed(civil, zone)?;
        if at > after {
            return Some(at);
        }
    }
}

/// The instant at which the clocks show a civil time for the first time, or go past it.
fn placed(civil: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(civil).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(civil).ok(),
        AmbiguousOffset::Gap { after, .. } => {
            let before_the_gap = after.to_timestamp(civil).ok()?;
            zone.following(before_the_gap).next().map(|change| change.timestamp())
        }
    }
}

#[cfg(test)]
mod tests;
