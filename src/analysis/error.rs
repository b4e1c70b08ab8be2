//! How far a mean can be trusted when neighbouring values resemble each other.

use super::{mean, variance};

/// Fewer values than this say nothing about their own error.
const LEAST: usize = 10;
/// Fewer batches than this say nothing about the variance of a batch.
const LEAST_BATCHES: usize = 8;

/// Standard error of the mean relative to it; `None` of too few values, or of a mean that is 0.
pub(super) fn relative(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    (values.len() >= LEAST && mean > 0.0).then(|| standard_error(values) / mean)
}

/// Standard error of the mean, from as many values as it has independent ones.
pub(super) fn standard_error(values: &[f64]) -> f64 {
    (variance(values) / effective_size(values)).sqrt()
}

/// How many independent values would say as much (batch means): the variance of means of b values falls as 1/b once
/// batches are long beside the time over which values resemble each other; what it falls short of that is that time.
/// Batches are doubled while they are not five times as long.
pub(super) fn effective_size(values: &[f64]) -> f64 {
    let all = variance(values);
    let count = values.len() as f64;
    if all <= 0.0 {
        return count.max(1.0);
    }
    let (mut alike, mut size) = (1.0_f64, 1);
    while values.len() / size >= LEAST_BATCHES && alike > 0.2 * size as f64 {
        let means: Vec<f64> = values.chunks_exact(size).map(mean).collect();
        alike = alike.max(size as f64 * variance(&means) / all);
        size *= 2;
    }
    (count / alike).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Noise;
    use super::*;

    #[test]
    fn independent_values_count_each() {
        let values = Noise::new(1).series(4_000, 1.0, 0.0);
        let effective = effective_size(&values);
        assert!((2_400.0..=4_000.0).contains(&effective), "{effective}");
        assert_eq!(effective_size(&[5.0; 100]), 100.0);
    }

    #[test]
    fn values_that_resemble_their_neighbours_count_for_fewer() {
        // Of an autoregressive series with coefficient r, (1 - r) / (1 + r) of the values are independent.
        for correlation in [0.4, 0.7, 0.9] {
            let share = |seed| effective_size(&Noise::new(seed).series(4_000, 1.0, correlation)) / 4_000.0;
            let found = mean(&(0..20).map(share).collect::<Vec<f64>>());
            let expected = (1.0 - correlation) / (1.0 + correlation);
            assert!((0.6..1.3).contains(&(found / expected)), "{correlation}: {found} for {expected}");
        }
    }

    #[test]
    fn the_mean_is_as_far_off_as_the_error_says() {
        for (correlation, least) in [(0.0, 0.88), (0.4, 0.84), (0.7, 0.78)] {
            let within = (0..400).filter(|seed| {
                let values = Noise::new(*seed).series(120, 0.03, correlation);
                let off = (mean(&values) - 1.0).abs() / mean(&values);
                off <= 1.96 * relative(&values).unwrap_or_default()
            });
            let share = within.count() as f64 / 400.0;
            assert!((least..=0.99).contains(&share), "{correlation}: {share} where 0.95 is meant");
        }
    }

    #[test]
    fn too_few_values_have_no_error() {
        assert_eq!(relative(&[1.0; 9]), None);
        assert_eq!(relative(&[0.0; 20]), None);
        assert_eq!(relative(&[7.0; 20]), Some(0.0));
    }
}
