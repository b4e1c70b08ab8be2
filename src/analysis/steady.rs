//! Whether a measured part was steady, judged by its throughput.
//!
//! Two questions. How much of the beginning is unlike the rest: MSER-5 (White 1997) cuts what makes the error of the
//! mean smallest. Whether the rest moves: the slope (Theil-Sen) and the shift (Hodges-Lehmann) of its second half and of
//! its end, each against what noise alone would show.

use super::error::standard_error;
use super::{Series, median};
use crate::record::Steady;

/// Intervals in a batch.
const BATCH: usize = 5;
/// Fewer batches than this cannot be told apart from noise.
const LEAST_BATCHES: usize = 8;
/// A change of the throughput that is none, as a share of it: from beginning to end, or of the beginning cut.
const DRIFT: f64 = 0.03;
/// The same for the shift of a later part.
const SHIFT: f64 = 0.01;
/// A slope is real beyond so many standard errors.
const DRIFT_ERRORS: f64 = 2.0;
/// A shift is real beyond so many standard errors.
const SHIFT_ERRORS: f64 = 3.0;
/// What is compared with all before it: the second half, and the last sixth, in which a late dip would be.
const LATER_PARTS: [(f64, &str); 2] = [(1.0 / 2.0, "second half"), (1.0 / 6.0, "last sixth")];
/// Values compared in pairs: of longer series, means of neighbours.
const MOST_COMPARED: usize = 600;

/// Judges a series of throughput; `None` when it is too short.
pub fn steady(series: &Series) -> Option<Steady> {
    let batches = series.rates().len() / BATCH;
    if batches < LEAST_BATCHES || series.per_second() <= 0.0 {
        return None;
    }
    let cut = unlike_the_rest(series.rates());
    let kept = series.from(cut * BATCH);
    let per_second = kept.per_second();
    let values = thinned(kept.rates(), per_second);
    let drift = Change::drift(&values);
    let cut_part = series.up_to(cut * BATCH).per_second();
    let why = not_settled(cut == batches / 2, cut_part / per_second - 1.0)
        .or_else(|| drift.why("from beginning to end"))
        .or_else(|| {
            LATER_PARTS
                .iter()
                .find_map(|(share, name)| Change::shift(&values, *share).why(&format!("in its {name}")))
        });
    let cut_seconds = series.length() - kept.length();
    Some(Steady { steady: why.is_none(), cut_seconds, per_second, drift: drift.by, why })
}

/// When all that may be cut was, and it was unlike the rest, there may be more of it.
fn not_settled(all_cut: bool, unlike_by: f64) -> Option<String> {
    (all_cut && unlike_by.abs() > DRIFT).then(|| {
        format!(
            "the throughput of the first half was {:+.1} % off the second, with no end in sight",
            unlike_by * 100.0
        )
    })
}

/// How many batches at the beginning to leave out, at most half of them: MSER-5.
fn unlike_the_rest(rates: &[f64]) -> usize {
    let batches: Vec<f64> = rates.chunks_exact(BATCH).map(super::mean).collect();
    let error = |cut: usize| {
        let kept = &batches[cut..];
        let mean = super::mean(kept);
        kept.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (kept.len() as f64).powi(2)
    };
    let candidates = (0..=batches.len() / 2).map(|cut| (cut, error(cut)));
    candidates.min_by(|one, other| one.1.total_cmp(&other.1)).map_or(0, |(cut, _)| cut)
}

/// Values relative to `whole`, at most [`MOST_COMPARED`] of them.
fn thinned(values: &[f64], whole: f64) -> Vec<f64> {
    let size = values.len().div_ceil(MOST_COMPARED).max(1);
    values.chunks_exact(size).map(|chunk| super::mean(chunk) / whole).collect()
}

/// A change of the throughput, relative to it, and what it takes to be one.
struct Change {
    by: f64,
    limit: f64,
}

impl Change {
    /// The change from the first value to the last along the median of all slopes.
    fn drift(values: &[f64]) -> Change {
        let mut slopes = Vec::with_capacity(values.len() * values.len() / 2);
        for (from, first) in values.iter().enumerate() {
            slopes.extend((from + 1..values.len()).map(|to| (values[to] - first) / (to - from) as f64));
        }
        let slope = median(slopes);
        let level: Vec<f64> =
            values.iter().enumerate().map(|(place, value)| value - slope * place as f64).collect();
        // A slope over the whole length is off by the root of 12 times as much as the mean.
        let noise = 12.0_f64.sqrt() * standard_error(&level);
        Change { by: slope * values.len().saturating_sub(1) as f64, limit: DRIFT.max(DRIFT_ERRORS * noise) }
    }

    /// The median of the differences between any value of the last `share` of all and any before.
    fn shift(values: &[f64], share: f64) -> Change {
        let later = (values.len() as f64 * share) as usize;
        let (before, after) = values.split_at(values.len() - later);
        let differences = after.iter().flat_map(|after| before.iter().map(move |before| after - before));
        let by = median(differences.collect());
        let around = |part: &[f64]| {
            let middle = median(part.to_vec());
            part.iter().map(|value| value - middle).collect::<Vec<f64>>()
        };
        // The difference of two parts is off by so many times as much as the mean of both.
        let times = 1.0 / (share * (1.0 - share)).sqrt();
        let noise = times * standard_error(&[around(before), around(after)].concat());
        Change { by, limit: SHIFT.max(SHIFT_ERRORS * noise) }
    }

    fn why(&self, place: &str) -> Option<String> {
        let (by, limit) = (self.by * 100.0, self.limit * 100.0);
        (self.by.abs() > self.limit)
            .then(|| format!("the throughput changed by {by:+.1} % {place} (limit {limit:.1} %)"))
    }
}
