//! What runs right now, as numbers: fed by the events of the active run, read by metrics and by `status`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::record::{Event, Interval, LIVE_BUCKETS_SECONDS, Outcome, Stage, Statements};

/// A case stays visible so long after its end, so that the last scrape sees its last numbers.
const LINGER: Duration = Duration::from_secs(60);
/// Cases visible at once: the one that runs and the one before it.
const VISIBLE: usize = 2;

/// The cases of the active run that are measured now or were a moment ago.
#[derive(Debug, Clone, Default)]
pub struct Live {
    cases: Vec<LiveCase>,
    cpu_seconds: f64,
    written_bytes: u64,
}

/// Totals of one case since its measured part began.
#[derive(Debug, Clone)]
pub struct LiveCase {
    /// The suite's name.
    pub suite: String,
    /// The case's name.
    pub case: String,
    /// The kind of load.
    pub workload: String,
    /// Where the load goes.
    pub target: Option<String>,
    /// True in open loop.
    pub open_loop: bool,
    /// The present stage.
    pub stage: Stage,
    /// Done share of warm-up and measured part, 0 to 1.
    pub progress: f64,
    /// Completed operations.
    pub operations: u64,
    /// Statements by result.
    pub statements: Statements,
    /// Failed attempts by code.
    pub errors: BTreeMap<String, u64>,
    /// Attempts tried again.
    pub retried: u64,
    /// Operations due and not yet sent.
    pub overdue: u64,
    /// Connected clients.
    pub clients: u32,
    /// CPU time of the load process in seconds.
    pub cpu_seconds: f64,
    /// Cumulated counts of response times by [`LIVE_BUCKETS_SECONDS`].
    pub buckets: [u64; LIVE_BUCKETS_SECONDS.len()],
    /// Sum of the response times in seconds.
    pub response_sum: f64,
    planned_seconds: f64,
    /// When it disappears; `None` while it runs.
    until: Option<Instant>,
}

/// What a case is, before anything of it was measured.
#[derive(Debug, Clone)]
pub(crate) struct Begun<'a> {
    pub(crate) suite: &'a str,
    pub(crate) case: &'a str,
    pub(crate) workload: &'a str,
    pub(crate) target: Option<&'a str>,
    pub(crate) open_loop: bool,
    pub(crate) planned_seconds: f64,
}

impl Live {
    /// The visible cases, oldest first.
    pub fn cases(&self, now: Instant) -> impl Iterator<Item = &LiveCase> {
        self.cases.iter().filter(move |case| case.until.is_none_or(|until| now < until))
    }

    /// CPU time of all load since the program began, in seconds.
    pub fn cpu_seconds(&self) -> f64 {
        self.cpu_seconds
    }

    /// Bytes that all load and scratch servers have written since the program began.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// So many more bytes were written.
    pub(crate) fn wrote(&mut self, bytes: u64) {
        self.written_bytes += bytes;
    }

    /// A case begins: its series start at 0, whatever ran under its name before.
    pub(crate) fn begin(&mut self, begun: &Begun<'_>) {
        self.cases.retain(|case| (case.suite.as_str(), case.case.as_str()) != (begun.suite, begun.case));
        if self.cases.len() == VISIBLE {
            self.cases.remove(0);
        }
        self.cases.push(LiveCase::new(begun));
    }

    /// Takes what an event says about the newest case.
    pub(crate) fn take(&mut self, event: &Event, now: Instant) {
        let Some(case) = self.cases.last_mut().filter(|case| case.until.is_none()) else { return };
        match event {
            Event::Stage { stage, .. } => case.stage = *stage,
            Event::Interval { interval, warm_up, clients, cpu_seconds, .. } => {
                self.cpu_seconds += (cpu_seconds - case.cpu_seconds).max(0.0);
                (case.clients, case.cpu_seconds) = (*clients, *cpu_seconds);
                case.add(interval, *warm_up);
            }
            Event::Result { outcome, .. } => case.end(*outcome, now),
            _ => {}
        }
    }

    /// The run is over, however it ended.
    pub(crate) fn end(&mut self, now: Instant) {
        for case in &mut self.cases {
            case.until.get_or_insert(now + LINGER);
        }
    }
}

impl LiveCase {
    fn new(begun: &Begun<'_>) -> LiveCase {
        LiveCase {
            suite: begun.suite.to_owned(),
            case: begun.case.to_owned(),
            workload: begun.workload.to_owned(),
            target: begun.target.map(str::to_owned),
            open_loop: begun.open_loop,
            stage: Stage::Prepare,
            progress: 0.0,
            operations: 0,
            statements: Statements::default(),
            errors: BTreeMap::new(),
            retried: 0,
            overdue: 0,
            clients: 0,
            cpu_seconds: 0.0,
            buckets: [0; LIVE_BUCKETS_SECONDS.len()],
            response_sum: 0.0,
            planned_seconds: begun.planned_seconds,
            until: None,
        }
    }

    /// An interval of the warm-up moves progress alone.
    fn add(&mut self, interval: &Interval, warm_up: bool) {
        self.progress =
            (self.progress + interval.seconds / self.planned_seconds.max(interval.seconds)).min(1.0);
        if warm_up {
            return;
        }
        self.operations += interval.operations;
        self.statements += interval.statements;
        self.retried += interval.retried;
        self.overdue = interval.overdue;
        self.response_sum += interval.response_sum;
        for (total, more) in self.buckets.iter_mut().zip(&interval.buckets) {
            *total += more;
        }
        for (code, count) in &interval.errors {
            *self.errors.entry(code.clone()).or_default() += count;
        }
    }

    fn end(&mut self, outcome: Outcome, now: Instant) {
        self.clients = 0;
        if outcome == Outcome::Finished {
            self.progress = 1.0;
        }
        self.until = Some(now + LINGER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Percentiles;

    fn begun(case: &str) -> Begun<'_> {
        Begun { suite: "s", case, workload: "cpu", target: None, open_loop: false, planned_seconds: 10.0 }
    }

    fn interval(warm_up: bool, operations: u64) -> Event {
        let interval = Interval {
            at: 1.0,
            seconds: 1.0,
            operations,
            statements: Statements::default(),
            response: Percentiles::default(),
            errors: BTreeMap::from([("1213".to_owned(), 2)]),
            retried: 2,
            overdue: 0,
            buckets: vec![operations; LIVE_BUCKETS_SECONDS.len()],
            response_sum: 0.5,
        };
        Event::Interval {
            t: 1.0,
            case: "a".to_owned(),
            warm_up,
            clients: 2,
            cpu_seconds: 0.1,
            interval: Box::new(interval),
        }
    }

    #[test]
    fn the_warm_up_is_shown_and_not_counted() {
        let (mut live, now) = (Live::default(), Instant::now());
        live.begin(&begun("a"));
        live.take(&interval(true, 100), now);
        live.take(&interval(false, 7), now);
        let case = live.cases(now).next().unwrap();
        assert_eq!((case.operations, case.clients, case.errors["1213"]), (7, 2, 2));
        assert!((case.progress - 0.2).abs() < 1e-9);
        assert!((live.cpu_seconds() - 0.1).abs() < 1e-9, "a total that both intervals told is counted once");
    }

    #[test]
    fn a_case_lingers_a_minute_and_two_at_most_are_seen() {
        let (mut live, now) = (Live::default(), Instant::now());
        for name in ["a", "b", "c"] {
            live.begin(&begun(name));
        }
        assert_eq!(live.cases(now).map(|case| case.case.as_str()).collect::<Vec<_>>(), ["b", "c"]);
        live.end(now);
        assert_eq!(live.cases(now + LINGER - Duration::from_secs(1)).count(), 2);
        assert_eq!(live.cases(now + LINGER).count(), 0);
    }
}
