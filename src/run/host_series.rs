//! What the host did while a case ran, as columns for the store: taken piece by piece, because a case may last
//! longer than the sampler remembers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, ToSpan};

use crate::sample::{self, Sample, Sampler};
use crate::store::Column;
use crate::units::Span;

/// Samples are taken over this often; well within what the sampler remembers.
const PIECE: Duration = Duration::from_secs(60);

/// The columns of one case so far.
pub(super) struct HostSeries {
    begin: Timestamp,
    /// The last sample taken over; the next piece begins with it, because a rate needs two.
    last: Option<Arc<Sample>>,
    first: Option<Timestamp>,
    length: usize,
    columns: BTreeMap<String, Vec<f64>>,
}

impl HostSeries {
    pub(super) fn new(begin: Timestamp) -> HostSeries {
        HostSeries { begin, last: None, first: None, length: 0, columns: BTreeMap::new() }
    }

    /// Takes over what came since the last time, when that is long enough ago.
    pub(super) fn look(&mut self, sampler: &Sampler, now: Timestamp) {
        let since = self.last.as_ref().map_or(self.begin, |sample| sample.at);
        if Duration::try_from(now.duration_since(since)).is_ok_and(|waited| waited >= PIECE) {
            self.take(sampler, now);
        }
    }

    fn take(&mut self, sampler: &Sampler, until: Timestamp) {
        let from = self
            .last
            .as_ref()
            .map_or(self.begin, |sample| sample.at.checked_add(1.nanosecond()).unwrap_or(until));
        let mut samples: Vec<Arc<Sample>> = self.last.take().into_iter().collect();
        samples.extend(sampler.between(from, until));
        self.add(&samples);
        self.last = samples.pop();
    }

    fn add(&mut self, samples: &[Arc<Sample>]) {
        let Some(steps) = samples.len().checked_sub(1).filter(|steps| *steps > 0) else { return };
        self.first.get_or_insert(samples[0].at);
        for (name, values) in sample::columns(samples) {
            let column = self.columns.entry(name).or_default();
            column.resize(self.length, f64::NAN);
            column.extend(values);
        }
        self.length += steps;
    }

    /// All columns up to an instant, each as long as the others; what was not known is NaN.
    pub(super) fn finish(mut self, sampler: &Sampler, end: Timestamp) -> Vec<Column> {
        self.take(sampler, end);
        let (Some(first), Some(last)) = (self.first, &self.last) else { return Vec::new() };
        let length = Duration::try_from(last.at.duration_since(first)).unwrap_or_default();
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
        let mut series = HostSeries::new(begin);
        series.add(&samples(0..5, false));
        series.add(&samples(4..9, true));
        assert_eq!(series.length, 8);
        assert!(series.columns.values().all(|column| column.len() == 8));
    }
}
