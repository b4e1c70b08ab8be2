//! What the host and the server did while a case ran, as columns for the store: taken piece by piece, because a case
//! may last longer than their samples are remembered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, ToSpan};

use crate::observe::{self, Observer, ServerSample};
use crate::sample::{self, Sample, Sampler};
use crate::store::Column;
use crate::units::Span;

/// Samples are taken over this often; well within what is remembered of them.
const PIECE: Duration = Duration::from_secs(60);

/// What samples of either kind have in common.
trait Sampled: Sized {
    fn at(&self) -> Timestamp;

    /// One value for each pair of neighbours.
    fn columns(samples: &[Arc<Self>]) -> Vec<(String, Vec<f64>)>;
}

impl Sampled for Sample {
    fn at(&self) -> Timestamp {
        self.at
    }

    fn columns(samples: &[Arc<Sample>]) -> Vec<(String, Vec<f64>)> {
        sample::columns(samples)
    }
}

impl Sampled for ServerSample {
    fn at(&self) -> Timestamp {
        self.at
    }

    fn columns(samples: &[Arc<ServerSample>]) -> Vec<(String, Vec<f64>)> {
        observe::columns(samples)
    }
}

/// The columns of one case so far.
pub(super) struct CaseSeries {
    host: Series<Sample>,
    /// Of the server it loads, if that is one that exists.
    server: Series<ServerSample>,
    target: Option<String>,
}

impl CaseSeries {
    pub(super) fn new(begin: Timestamp, target: Option<&str>) -> CaseSeries {
        CaseSeries { host: Series::new(begin), server: Series::new(begin), target: target.map(str::to_owned) }
    }

    /// Takes over what came since the last time, when that is long enough ago.
    pub(super) fn look(&mut self, sampler: &Sampler, observer: &Observer, now: Timestamp) {
        self.host.look(now, |from, to| sampler.between(from, to));
        if let Some(target) = &self.target {
            self.server.look(now, |from, to| observer.between(target, from, to));
        }
    }

    /// All columns up to an instant.
    pub(super) fn finish(self, sampler: &Sampler, observer: &Observer, end: Timestamp) -> Vec<Column> {
        let mut columns = self.host.finish(end, |from, to| sampler.between(from, to));
        if let Some(target) = &self.target {
            columns.extend(self.server.finish(end, |from, to| observer.between(target, from, to)));
        }
        columns
    }
}

/// The columns of one kind so far.
struct Series<S> {
    begin: Timestamp,
    /// The last sample taken over; the next piece begins with it, because a rate needs two.
    last: Option<Arc<S>>,
    first: Option<Timestamp>,
    length: usize,
    columns: BTreeMap<String, Vec<f64>>,
}

impl<S: Sampled> Series<S> {
    fn new(begin: Timestamp) -> Series<S> {
        Series { begin, last: None, first: None, length: 0, columns: BTreeMap::new() }
    }

    fn look(&mut self, now: Timestamp, between: impl Fn(Timestamp, Timestamp) -> Vec<Arc<S>>) {
        let since = self.last.as_ref().map_or(self.begin, |sample| sample.at());
        if Duration::try_from(now.duration_since(since)).is_ok_and(|waited| waited >= PIECE) {
            self.take(now, between);
        }
    }

    fn take(&mut self, until: Timestamp, between: impl Fn(Timestamp, Timestamp) -> Vec<Arc<S>>) {
        let from = self
            .last
            .as_ref()
            .map_or(self.begin, |sample| sample.at().checked_add(1.nanosecond()).unwrap_or(until));
        let mut samples: Vec<Arc<S>> = self.last.take().into_iter().collect();
        samples.extend(between(from, until));
        self.add(&samples);
        self.last = samples.pop();
    }

    fn add(&mut self, samples: &[Arc<S>]) {
        let Some(steps) = samples.len().checked_sub(1).filter(|steps| *steps > 0) else { return };
        self.first.get_or_insert(samples[0].at());
        for (name, values) in S::columns(samples) {
            let column = self.columns.entry(name).or_default();
            column.resize(self.length, f64::NAN);
            column.extend(values);
        }
        self.length += steps;
    }

    /// All columns up to an instant, each as long as the others; what was not known is NaN.
    fn finish(
        mut self,
        end: Timestamp,
        between: impl Fn(Timestamp, Timestamp) -> Vec<Arc<S>>,
    ) -> Vec<Column> {
        self.take(end, between);
        let (Some(first), Some(last)) = (self.first, &self.last) else { return Vec::new() };
        let length = Duration::try_from(last.at().duration_since(first)).unwrap_or_default();
        let step = Span::from(length / u32::try_from(self.length).unwrap_or(u32::MAX).max(1));
        let whole = self.length;
        self.columns
            .into_iter()
            .map(|(name, mut values)| {
                values.resize(whole, f64::NAN);
                Column { name, start: first, step, values }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Moment, Reading};

    fn samples(range: std::ops::Range<i64>, with_load: bool) -> Vec<Arc<Sample>> {
        range
            .map(|second| {
                let at = Timestamp::from_second(1_800_000_000 + second).unwrap();
                let moment = Moment::from_nanos(u64::try_from(second).unwrap() * 1_000_000_000);
                let mut sample = Sample::empty(at, moment);
                if with_load {
                    sample.memory = Some(Reading { moment, values: crate::sample::Memory::default() });
                }
                Arc::new(sample)
            })
            .collect()
    }

    #[test]
    fn pieces_join_without_losing_or_doubling_a_step() {
        let begin = Timestamp::from_second(1_800_000_000).unwrap();
        let mut series = Series::new(begin);
        series.add(&samples(0..5, false));
        series.add(&samples(4..9, true));
        assert_eq!(series.length, 8);
        assert!(series.columns.values().all(|column| column.len() == 8));
    }
}
