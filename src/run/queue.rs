//! Who runs, who waits, and what happened: the state behind a [`Runner`](super::Runner), and the answers it gives.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::{broadcast, watch};

use super::live::Live;
use super::plan::RunPlan;
use super::recover::LeftOver;
use super::stuck::Stuck;
use crate::config::{Suite, Target};
use crate::record::{Event, GuardCheck, Outcome, RunId, Stage, Trigger};
use crate::units::Span;

/// Events of a run that can still be asked for; older ones are forgotten.
const KEPT_EVENTS: usize = 4096;
/// The events of a run are kept so long after its end.
const KEPT_AFTER_END: Duration = Duration::from_secs(600);

/// What it takes to start a run.
#[derive(Debug, Clone)]
pub struct Start {
    /// The suite as the configuration has it now.
    pub suite: Suite,
    /// The targets as the configuration has them now.
    pub targets: BTreeMap<String, Target>,
    /// What made it begin.
    pub trigger: Trigger,
    /// Who asked.
    pub by: String,
    /// What they wrote.
    pub note: Option<String>,
    /// Patterns of case names; none = all cases.
    pub cases: Vec<String>,
    /// Wait for the active run, or for the suite's window, instead of being refused.
    pub queue: bool,
    /// Guards that may not hold: [`OVERRIDABLE`](super::guards::OVERRIDABLE) ones alone.
    pub overrides: BTreeSet<String>,
}

/// A run that began or waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Its id.
    pub id: RunId,
    /// How many runs go before it.
    pub position: usize,
    /// How many cases it has.
    pub cases: usize,
    /// How long it should take.
    pub planned: Span,
}

/// Why a run did not begin.
#[derive(Debug, Clone, PartialEq)]
pub enum Refused {
    /// The daemon is stopping.
    Draining,
    /// No case matches the patterns.
    NoCase,
    /// Another run is active or waits, and waiting was not asked for.
    Active(Box<ActiveRun>),
    /// Guards do not hold; the attempt is kept under this id.
    Blocked(RunId, Vec<GuardCheck>),
}

/// The run that is active now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActiveRun {
    /// Its id.
    pub id: RunId,
    /// The suite's name.
    pub suite: String,
    /// When it began.
    pub start: Timestamp,
    /// How long it should take.
    pub planned: Span,
    /// The case under way.
    pub case: Option<String>,
    /// The stage of that case.
    pub stage: Stage,
    /// Cases done.
    pub done: u32,
    /// Cases in all.
    pub of: u32,
    /// True from the moment its end was asked for.
    pub cancelling: bool,
}

/// A run that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedRun {
    /// Its id.
    pub id: RunId,
    /// The suite's name.
    pub suite: String,
    /// How many cases it has.
    pub cases: usize,
    /// How long it should take.
    pub planned: Span,
    /// Who asked for it.
    pub by: String,
}

impl From<&Waiting> for QueuedRun {
    fn from(waiting: &Waiting) -> QueuedRun {
        QueuedRun {
            id: waiting.id,
            suite: waiting.plan.suite.clone(),
            cases: waiting.plan.cases.len(),
            planned: waiting.plan.planned,
            by: waiting.start.by.clone(),
        }
    }
}

/// Why a cancellation could not be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelError {
    /// No such run is active or waits.
    Unknown,
    /// The run has ended already.
    Ended,
}

/// Counts since the program began, by suite.
pub type Counters = BTreeMap<String, SuiteCounters>;

/// Counts of one suite.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SuiteCounters {
    /// Runs that passed the guards, by trigger.
    pub begun: BTreeMap<Trigger, u64>,
    /// Runs in which a case failed.
    pub failed: u64,
    /// Runs cancelled by a person.
    pub cancelled: u64,
    /// Scheduled starts that did not become a run.
    pub missed: u64,
    /// Runs refused, by guard.
    pub blocked: BTreeMap<String, u64>,
    /// Runs stopped while they ran, by guard.
    pub aborted: BTreeMap<String, u64>,
}

/// The events of a run: those so far, with their numbers, and those to come.
pub struct Follow {
    /// What happened so far.
    pub past: Vec<(u64, Event)>,
    /// What happens from now on; closed at the end of the run. `None` when it has ended.
    pub coming: Option<broadcast::Receiver<(u64, Event)>>,
}

/// Why a run is asked to end before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StopReason {
    Cancelled(String),
    Deadline(Span),
    Drain,
}

#[derive(Clone)]
pub(super) struct Waiting {
    pub(super) id: RunId,
    pub(super) start: Start,
    pub(super) plan: RunPlan,
}

pub(super) struct Active {
    pub(super) view: ActiveRun,
    pub(super) stop: watch::Sender<Option<StopReason>>,
}

/// All that changes while runs come and go.
#[derive(Default)]
pub(super) struct State {
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) active: Option<Active>,
    pub(super) counters: Counters,
    pub(super) live: Live,
    pub(super) draining: bool,
    pub(super) stuck: Stuck,
    /// What earlier runs left and was ended or removed, counted since the program began.
    pub(super) left_over: BTreeMap<LeftOver, u64>,
    logs: VecDeque<Log>,
}

struct Log {
    id: RunId,
    events: VecDeque<(u64, Event)>,
    next: u64,
    sender: Option<broadcast::Sender<(u64, Event)>>,
    ended: Option<Instant>,
}

impl State {
    /// The run that goes before a new one: the active one, else the first that waits.
    pub(super) fn in_the_way(&self) -> Option<ActiveRun> {
        self.active.as_ref().map(|active| active.view.clone()).or_else(|| {
            self.waiting.front().map(|waiting| ActiveRun {
                id: waiting.id,
                suite: waiting.plan.suite.clone(),
                start: Timestamp::now(),
                planned: waiting.plan.planned,
                case: None,
                stage: Stage::Guard,
                done: 0,
                of: u32::try_from(waiting.plan.cases.len()).unwrap_or(u32::MAX),
                cancelling: false,
            })
        })
    }

    pub(super) fn count(&mut self, suite: &str) -> &mut SuiteCounters {
        self.counters.entry(suite.to_owned()).or_default()
    }

    pub(super) fn count_left_over(&mut self, found: &[LeftOver]) {
        found.iter().for_each(|kind| *self.left_over.entry(*kind).or_default() += 1);
    }

    pub(super) fn open_log(&mut self, id: RunId, now: Instant) {
        self.logs.retain(|log| log.ended.is_none_or(|ended| now < ended + KEPT_AFTER_END));
        let (sender, _) = broadcast::channel(KEPT_EVENTS);
        self.logs.push_back(Log { id, events: VecDeque::new(), next: 1, sender: Some(sender), ended: None });
    }

    /// Notes an event of a run for those who follow it, now or later.
    pub(super) fn log(&mut self, id: RunId, event: Event, now: Instant) {
        self.see(id, &event, now);
        let Some(log) = self.logs.iter_mut().find(|log| log.id == id) else { return };
        if log.events.len() == KEPT_EVENTS {
            log.events.pop_front();
        }
        let numbered = (log.next, event);
        log.next += 1;
        if let Some(sender) = &log.sender {
            // Nobody listens: then nobody misses it.
            let _ = sender.send(numbered.clone());
        }
        if matches!(numbered.1, Event::End { .. }) {
            (log.sender, log.ended) = (None, Some(now));
        }
        log.events.push_back(numbered);
    }

    /// Keeps the view of the active run and the live numbers up to date.
    fn see(&mut self, id: RunId, event: &Event, now: Instant) {
        self.live.take(event, now);
        let Some(active) = self.active.as_mut().filter(|active| active.view.id == id) else { return };
        match event {
            Event::Stage { case, stage, .. } => {
                (active.view.case, active.view.stage) = (Some(case.clone()), *stage);
            }
            Event::Result { outcome, .. } if *outcome == Outcome::Finished => active.view.done += 1,
            _ => {}
        }
    }

    pub(super) fn follow(&self, id: RunId) -> Option<Follow> {
        let log = self.logs.iter().find(|log| log.id == id)?;
        let coming = log.sender.as_ref().map(broadcast::Sender::subscribe);
        Some(Follow { past: log.events.iter().cloned().collect(), coming })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> Event {
        Event::Note { t: 0.0, text: text.to_owned() }
    }

    fn end() -> Event {
        Event::End { t: 1.0, outcome: Outcome::Finished, finished: 1, of: 1, message: None }
    }

    #[test]
    fn a_follower_gets_what_was_and_what_comes_and_the_end() {
        let (mut state, id, now) = (State::default(), RunId::new(), Instant::now());
        state.open_log(id, now);
        state.log(id, note("one"), now);
        let mut follow = state.follow(id).unwrap();
        state.log(id, note("two"), now);
        state.log(id, end(), now);
        assert_eq!(follow.past, [(1, note("one"))]);
        let coming = follow.coming.as_mut().unwrap();
        assert_eq!(coming.try_recv().unwrap(), (2, note("two")));
        assert_eq!(coming.try_recv().unwrap(), (3, end()));
        assert!(matches!(coming.try_recv(), Err(broadcast::error::TryRecvError::Closed)));
        assert!(state.follow(id).unwrap().coming.is_none());
    }

    #[test]
    fn the_events_of_a_run_are_forgotten_ten_minutes_after_its_end() {
        let (mut state, first, now) = (State::default(), RunId::new(), Instant::now());
        state.open_log(first, now);
        state.log(first, end(), now);
        state.open_log(RunId::new(), now + KEPT_AFTER_END - Duration::from_secs(1));
        assert!(state.follow(first).is_some());
        state.open_log(RunId::new(), now + KEPT_AFTER_END);
        assert!(state.follow(first).is_none());
    }
}
