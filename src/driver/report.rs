//! The reporter: reads what the clients count at fixed instants, tells the observer, judges errors, and makes the
//! result. It runs on the calling thread and never waits for a client in the middle of an operation.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::record::{CaseResult, EncodedHistogram, Generator, Interval, Load, LoadModel, Percentiles};

use super::buckets::Buckets;
use super::client::{Control, Message, Why};
use super::part::{Part, nanoseconds};
use super::process::CpuTime;
use super::reading::{Reading, merge, seconds};
use super::schedule::Due;
use super::tally::Counts;
use super::{DriveError, Observed, Pace, Plan, clock, process};

/// Fewer operations than this say nothing about the share that fails, before the end.
const JUDGED_FROM: u64 = 100;
/// Less of what was due than this is an overload.
const ACHIEVED: f64 = 0.99;
/// A shorter rest at the end of a part is no interval of its own, in nanoseconds.
const REST: u64 = 1_000_000;

/// Watches a load and reports it.
pub(super) struct Reporter<'a> {
    pub(super) plan: &'a Plan,
    pub(super) control: &'a Control<'a>,
    pub(super) messages: &'a Receiver<Message>,
    pub(super) observe: &'a mut dyn FnMut(Observed),
    /// Clients that have not ended.
    pub(super) clients: u32,
    /// When the last of the clients that ended did so.
    pub(super) ended: u64,
    /// What cut the load short.
    pub(super) cut: Option<Cut>,
    /// Holds one distribution at a time.
    pub(super) histogram: Histogram<u64>,
}

/// What cut a load short.
pub(super) enum Cut {
    Stopped,
    Fatal(String),
    TooManyErrors { failed: u64, ended: u64, most: String },
}

/// One part while it is watched.
struct Watched<'a> {
    part: &'a Part,
    /// Its start and end on the clock.
    from: u64,
    to: u64,
    /// Counts the arrivals that are due; `None` in closed loop.
    due: Option<Due>,
    last: Reading,
    intervals: Vec<Interval>,
}

impl<'a> Watched<'a> {
    fn new(part: &'a Part, start: u64) -> Watched<'a> {
        let from = start.saturating_add(part.from);
        Watched {
            part,
            from,
            to: start.saturating_add(part.to),
            due: part.schedule.clone().map(|schedule| Due::new(schedule, part.operations)),
            last: Reading::nothing(part, from),
            intervals: Vec::new(),
        }
    }

    /// The next instant to report at: whole intervals after the start, but never within half an interval of the
    /// end, so that the last interval is not a sliver.
    fn next_tick(&self, interval: u64) -> u64 {
        let after = |instant: u64| self.from + ((instant - self.from) / interval + 1) * interval;
        let tick = after(self.last.at.max(clock::now()).max(self.from));
        let near_end = tick.abs_diff(self.to) <= interval / 2 || tick > self.to;
        match near_end && self.last.at < self.to {
            true if self.part.warm_up => self.to,
            true => after(self.to.saturating_add(interval / 2)),
            false => tick,
        }
    }

    /// Arrivals due by the instant, and of them those not sent.
    fn due_by(&mut self, instant: u64, sent: u64) -> (u64, u64) {
        let until = instant.min(self.to).saturating_sub(self.from);
        let due = self.due.as_mut().map_or(0, |due| due.before(until));
        (due, due.saturating_sub(sent))
    }

    /// How long the first and the last of the arrivals that were never sent had been due when the part ended, or
    /// the load in it. Never sent are those that nobody took, and those that a client took and ended with.
    fn unsent_ages(&self, due: u64, never_sent: u64) -> Option<(f64, f64)> {
        let mut schedule = self.part.schedule.clone().filter(|_| never_sent > 0)?;
        let (end, taken) = (self.last.at.min(self.to), self.part.taken.0.load(Ordering::Relaxed));
        let ended_with = self.part.counts.iter().filter_map(|counts| counts.unsent());
        let not_taken = [taken, due.saturating_sub(1)].into_iter().filter(|_| taken < due);
        let not_taken = not_taken.map(|arrival| self.from.saturating_add(schedule.at(arrival)));
        let intended: Vec<u64> = not_taken.chain(ended_with).filter(|intended| *intended < end).collect();
        let age = |intended: &u64| seconds(end - intended);
        Some((age(intended.iter().min()?), age(intended.iter().max()?)))
    }
}

/// What the load generator cost in the part.
fn generator(part: &Part, cpu: CpuTime, operations: u64, late_p99: Option<f64>) -> Generator {
    let share = |counts: &Counts| counts.cpu.get() as f64 / counts.wall.get().max(1) as f64;
    Generator {
        cpu_seconds: cpu.total(),
        user_cpu_seconds: cpu.user,
        system_cpu_seconds: cpu.system,
        cpu_seconds_per_operation: if operations > 0 { cpu.total() / operations as f64 } else { 0.0 },
        peak_memory_bytes: process::peak_memory_bytes(),
        cpus: process::cpus(),
        busiest_thread: part.counts.iter().map(|counts| share(counts)).fold(0.0, f64::max),
        late_p99,
    }
}

impl Reporter<'_> {
    /// Reports the load that starts at the instant, to its end.
    pub(super) fn report(mut self, parts: &[Part], start: u64) -> Result<CaseResult, DriveError> {
        let mut result = None;
        for part in parts {
            let cpu_before = CpuTime::so_far();
            let mut watched = Watched::new(part, start);
            if !part.warm_up && clock::now() < watched.from && self.clients == 0 {
                break;
            }
            self.watch(&mut watched);
            if !part.warm_up {
                let cpu = CpuTime::so_far().since(cpu_before);
                self.judge(&watched.last, 0);
                result = Some(self.result(watched, cpu));
            }
        }
        self.conclude(result)
    }

    /// Watches a part: the warm-up to its end, the measured part until every client has ended.
    fn watch(&mut self, watched: &mut Watched<'_>) {
        let interval = nanoseconds(self.plan.interval.duration()).max(REST);
        loop {
            let all_ended = self.listen_until(watched.next_tick(interval));
            let at = if all_ended { self.ended.max(watched.last.at) } else { clock::now() };
            self.observe(watched, at);
            if !watched.part.warm_up && !all_ended {
                self.judge(&watched.last, JUDGED_FROM);
            }
            if all_ended || (watched.part.warm_up && at >= watched.to) {
                return;
            }
        }
    }

    /// Hears the clients until the instant; true when all have ended.
    fn listen_until(&mut self, instant: u64) -> bool {
        while self.clients > 0 {
            let left = Duration::from_nanos(instant.saturating_sub(clock::now()));
            match self.messages.recv_timeout(left) {
                Ok(Message::Ended { at, why }) => self.client_ended(at, why),
                Ok(Message::Ready | Message::NotMade(_)) => {}
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => self.clients = 0,
            }
        }
        true
    }

    fn client_ended(&mut self, at: u64, why: Why) {
        self.clients -= 1;
        self.ended = self.ended.max(at);
        match why {
            Why::Over => {}
            Why::Stopped => self.cut_short(Cut::Stopped),
            Why::Fatal(message) => self.cut_short(Cut::Fatal(message)),
        }
    }

    /// Ends the load; the first cause is the one that counts.
    fn cut_short(&mut self, cut: Cut) {
        self.cut.get_or_insert(cut);
        self.control.end();
    }

    /// Ends the load when too large a share of at least `minimum` operations failed.
    fn judge(&mut self, reading: &Reading, minimum: u64) {
        let too_many = reading.failed_share() > self.plan.max_errors.ratio();
        if self.cut.is_none() && too_many && reading.ended() >= minimum {
            let most = reading.codes.iter().max_by_key(|(_, count)| **count).map(|(code, _)| code.as_text());
            let (failed, ended) = (reading.failed, reading.ended());
            self.cut_short(Cut::TooManyErrors { failed, ended, most: most.unwrap_or_default() });
        }
    }

    /// Makes an interval of what was counted since the last one.
    fn observe(&mut self, watched: &mut Watched<'_>, at: u64) {
        let reading = Reading::take(watched.part, at);
        if at - watched.last.at < REST
            && reading.sent == watched.last.sent
            && reading.ended() == watched.last.ended()
        {
            return;
        }
        let (_, overdue) = watched.due_by(at, reading.sent);
        let interval = reading.interval(&watched.last, watched.part, watched.from, &mut self.histogram);
        let interval = Interval { overdue, ..interval };
        watched.intervals.push(Interval { buckets: Vec::new(), response_sum: 0.0, ..interval.clone() });
        watched.last = reading;
        (self.observe)(Observed {
            warm_up: watched.part.warm_up,
            clients: self.clients,
            cpu_seconds: CpuTime::so_far().total(),
            interval,
        });
    }

    fn result(&mut self, mut watched: Watched<'_>, cpu: CpuTime) -> CaseResult {
        let part = watched.part;
        let total = watched.last.clone();
        let measured = seconds(total.at - watched.from);
        let mut histograms = BTreeMap::new();
        total.response(part, &mut self.histogram);
        let response = self.keep(&mut histograms, "response");
        let (mut service, mut lag, mut late_p99) = (response, Percentiles::default(), None);
        if part.schedule.is_some() {
            merge(part, &mut self.histogram, |counts| counts.open.as_ref().map(|open| &open.service));
            service = self.keep(&mut histograms, "service");
            merge(part, &mut self.histogram, |counts| counts.open.as_ref().map(|open| &open.lag));
            lag = self.keep(&mut histograms, "lag");
            merge(part, &mut self.histogram, |counts| counts.open.as_ref().map(|open| &open.late));
            late_p99 = Percentiles::of(&self.histogram).p99;
        }
        let mut failed = Percentiles::default();
        if total.failed > 0 {
            merge(part, &mut self.histogram, |counts| Some(&counts.error));
            failed = self.keep(&mut histograms, "error");
        }
        let by_operation = self.by_operation(part, &mut histograms);
        CaseResult {
            load: self.load(&mut watched, total.sent),
            seconds: measured,
            warm_up_seconds: seconds(part.from),
            operations: total.completed,
            per_second: if measured > 0.0 { total.completed as f64 / measured } else { 0.0 },
            statements: total.statements,
            bytes_read: total.bytes_read,
            bytes_written: total.bytes_written,
            fsyncs: total.fsyncs,
            response,
            service,
            lag,
            by_operation,
            ceilings: BTreeMap::new(),
            failed,
            overflow: part.counts.iter().map(|counts| counts.overflow()).sum(),
            // Judged by whoever makes the record, who knows what was loaded.
            steady: None,
            error: None,
            limited: false,
            limited_by: None,
            errors: total.errors(),
            generator: generator(part, cpu, total.completed, late_p99),
            intervals: watched.intervals,
            histograms,
        }
    }

    /// The kinds of operations that were met, with their times where these are kept.
    fn by_operation(
        &mut self,
        part: &Part,
        histograms: &mut BTreeMap<String, EncodedHistogram>,
    ) -> BTreeMap<String, Percentiles> {
        let mut kinds = BTreeMap::new();
        for (place, name) in self.plan.kinds.names.iter().enumerate() {
            let of = part.counts.iter().filter_map(|counts| counts.kinds.get(place));
            let count = of.map(|kind| kind.count.get()).sum();
            let times = if count > 0 && self.plan.kinds.timed {
                merge(part, &mut self.histogram, |counts| kind_times(counts, place));
                self.keep(histograms, name)
            } else {
                Percentiles { count, ..Percentiles::default() }
            };
            if count > 0 {
                kinds.insert((*name).to_owned(), times);
            }
        }
        kinds
    }

    /// Stores the distribution that is held under its name, and reads its percentiles.
    fn keep(&self, histograms: &mut BTreeMap<String, EncodedHistogram>, name: &str) -> Percentiles {
        if let Ok(encoded) = EncodedHistogram::encode(&self.histogram) {
            histograms.insert(name.to_owned(), encoded);
        }
        Percentiles::of(&self.histogram)
    }

    fn load(&self, watched: &mut Watched<'_>, sent: u64) -> Load {
        let (due, never_sent) = watched.due_by(watched.last.at, sent);
        let (model, asked_per_second) = match self.plan.pace {
            Pace::FlatOut => (LoadModel::Closed, None),
            Pace::Open { rate, .. } => (LoadModel::Open, Some(rate.per_second())),
        };
        let ages = watched.unsent_ages(due, never_sent);
        Load {
            model,
            clients: self.plan.clients,
            asked_per_second,
            never_sent,
            never_sent_oldest_seconds: ages.map(|(oldest, _)| oldest),
            never_sent_youngest_seconds: ages.map(|(_, youngest)| youngest),
            overloaded: (sent as f64) < ACHIEVED * due as f64,
        }
    }

    /// The result, or why there is no whole one.
    fn conclude(self, result: Option<CaseResult>) -> Result<CaseResult, DriveError> {
        let partial = |result: Option<CaseResult>| result.map(Box::new);
        match (self.cut, result) {
            (None, Some(result)) => Ok(result),
            (None | Some(Cut::Stopped), result) => Err(DriveError::Stopped { partial: partial(result) }),
            (Some(Cut::Fatal(message)), result) => {
                Err(DriveError::Fatal { message, partial: partial(result) })
            }
            (Some(Cut::TooManyErrors { failed, ended, most }), result) => Err(DriveError::TooManyErrors {
                failed,
                ended,
                allowed: self.plan.max_errors,
                most,
                partial: partial(result),
            }),
        }
    }
}

/// The times of the kind at a place of the list, of one client.
fn kind_times(counts: &Counts, place: usize) -> Option<&Buckets> {
    counts.kinds.get(place)?.times.as_ref()
}
