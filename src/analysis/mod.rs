//! What the intervals of one case say about its numbers: whether it was steady, how far its throughput can be trusted,
//! and whether the load generator was the limit. And what several cases say beside each other.

mod ceilings;
mod comparable;
mod compare;
mod error;
mod generator;
mod rounds;
mod steady;

use crate::record::{CaseResult, Interval};

pub use ceilings::{TargetCeilings, ceilings};
pub(crate) use compare::BENCHMARK;
pub use compare::{MARGIN, Question, of_run, table, two_runs};
pub use generator::limit;
pub use steady::steady;

/// Completes a result with what can be said about it; `generated` = it loads something outside the load process.
pub fn judge(result: &mut CaseResult, generated: bool) {
    let series = Series::of(&result.intervals);
    result.steady = steady(&series);
    let kept = series.after(result.steady.as_ref().map_or(0.0, |steady| steady.cut_seconds));
    result.error = error::relative(kept.rates());
    result.limited_by = generated.then(|| limit(result)).flatten();
    result.limited = result.limited_by.is_some();
}

/// Throughput over time: one value an interval, whole intervals only.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    rates: Vec<f64>,
    seconds: Vec<f64>,
}

impl Series {
    /// The throughput of each interval. The last one is left out when it is shorter than half of those before:
    /// its rate says little.
    pub fn of(intervals: &[Interval]) -> Series {
        let longest = intervals.iter().map(|interval| interval.seconds).fold(0.0, f64::max);
        let whole = match intervals.split_last() {
            Some((last, before)) if last.seconds < longest / 2.0 => before,
            _ => intervals,
        };
        let timed = whole.iter().filter(|interval| interval.seconds > 0.0);
        let (rates, seconds) =
            timed.map(|interval| (interval.operations as f64 / interval.seconds, interval.seconds)).unzip();
        Series { rates, seconds }
    }

    /// Without the intervals of the first so many seconds.
    fn after(&self, cut_seconds: f64) -> Series {
        let mut end = 0.0;
        let cut = self.seconds.iter().take_while(|seconds| {
            end += **seconds;
            end <= cut_seconds + 1e-6
        });
        self.from(cut.count())
    }

    fn from(&self, first: usize) -> Series {
        let rest = |values: &[f64]| values.get(first..).unwrap_or_default().to_vec();
        Series { rates: rest(&self.rates), seconds: rest(&self.seconds) }
    }

    fn up_to(&self, end: usize) -> Series {
        let first = |values: &[f64]| values.get(..end).unwrap_or(values).to_vec();
        Series { rates: first(&self.rates), seconds: first(&self.seconds) }
    }

    fn rates(&self) -> &[f64] {
        &self.rates
    }

    fn length(&self) -> f64 {
        self.seconds.iter().sum()
    }

    /// Operations a second over all of it.
    fn per_second(&self) -> f64 {
        let operations: f64 =
            self.rates.iter().zip(&self.seconds).map(|(rate, seconds)| rate * seconds).sum();
        operations / self.length().max(f64::MIN_POSITIVE)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The variance of a sample; 0 of fewer than two values.
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / values.len().saturating_sub(1).max(1) as f64
}

/// The middle value, or the mean of the two in the middle; 0 of none.
fn median_of(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle), sorted.len() % 2) {
        (None, _) => 0.0,
        (Some(upper), 0) => f64::midpoint(sorted.get(middle - 1).copied().unwrap_or(*upper), *upper),
        (Some(only), _) => *only,
    }
}

/// The middle value, the upper of two; 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(middle, f64::total_cmp).1 }
}

#[cfg(test)]
mod tests;
