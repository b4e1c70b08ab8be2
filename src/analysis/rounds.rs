//! Results of several rounds: how far their middle can be trusted, and what the ratio of two of them says.
//!
//! Rounds are few, so the interval is Student's (1908), of the logarithms, because differences of results are shares of
//! them. Rounds of one run are paired: each alternates the order of its cases, so that what drifts between rounds is in
//! neither side's favour and cancels in the ratios of a round. Results of two runs are not paired: there the interval is
//! Welch's (1947). Both are right for results that scatter about evenly; an outlier makes them wide, never narrow.

use super::{mean, median_of, variance};
use crate::record::Verdict;

/// Quantiles 0.975 of Student's t for 1 to 30 degrees of freedom.
const T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
/// Quantile 0.975 of the normal distribution.
const NORMAL_975: f64 = 1.959_964;
/// More rounds than this are not asked for: the two differ by just about the margin.
const MOST_ROUNDS: u32 = 200;

/// The quantile 0.975 of Student's t; beyond the table by two terms of its expansion (Abramowitz and Stegun 26.7.5).
fn t_975(freedom: f64) -> f64 {
    let whole = freedom.floor().max(1.0);
    if let Some(quantile) = T_975.get(whole as usize - 1) {
        return *quantile;
    }
    let z = NORMAL_975;
    let first = (z.powi(3) + z) / (4.0 * whole);
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * whole * whole);
    z + first + second
}

/// The middle of some results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Middle {
    /// Median.
    pub(super) median: f64,
    /// Half of the 95 % interval of the middle, relative to it; `None` of fewer than two.
    pub(super) interval95: Option<f64>,
}

/// The middle of results above 0; `None` of none.
pub(super) fn middle(results: &[f64]) -> Option<Middle> {
    let logs = logs(results);
    let interval95 = half(&logs).map(|half| half.exp() - 1.0);
    (!logs.is_empty()).then(|| Middle { median: median_of(results), interval95 })
}

/// The ratio of two results, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ratio {
    /// One by the other.
    pub(super) ratio: f64,
    /// The 95 % interval; `None` when there are too few results to tell.
    pub(super) interval95: Option<[f64; 2]>,
    /// Half of the interval in logarithms, and of how many results a side.
    spread: Option<(f64, usize)>,
}

impl Ratio {
    /// Of results that belong together one by one; where either side has none, the pair is left out. `None` when no
    /// pair is whole.
    pub(super) fn paired(of: &[Option<f64>], against: &[Option<f64>]) -> Option<Ratio> {
        let whole = |(of, against): (&Option<f64>, &Option<f64>)| {
            Some(above_zero(*of)?.ln() - above_zero(*against)?.ln())
        };
        let differences: Vec<f64> = of.iter().zip(against).filter_map(whole).collect();
        (!differences.is_empty()).then(|| {
            Ratio::around(mean(&differences), half(&differences).map(|half| (half, differences.len())))
        })
    }

    /// Of results that do not belong together. `None` when a side has none.
    pub(super) fn unpaired(of: &[f64], against: &[f64]) -> Option<Ratio> {
        let (of, against) = (logs(of), logs(against));
        (!of.is_empty() && !against.is_empty()).then(|| {
            let fewest = of.len().min(against.len());
            Ratio::around(mean(&of) - mean(&against), welch(&of, &against).map(|half| (half, fewest)))
        })
    }

    fn around(middle: f64, spread: Option<(f64, usize)>) -> Ratio {
        let interval95 = spread.map(|(half, _)| [(middle - half).exp(), (middle + half).exp()]);
        Ratio { ratio: middle.exp(), interval95, spread }
    }

    /// What the ratio says when differences inside `margin` are none.
    pub(super) fn verdict(&self, margin: f64, less_is_better: bool) -> Verdict {
        let Some([low, high]) = self.interval95 else { return Verdict::Unclear };
        let (more, less) = if less_is_better {
            (Verdict::Worse, Verdict::Better)
        } else {
            (Verdict::Better, Verdict::Worse)
        };
        match (low, high) {
            (low, _) if low > 1.0 + margin => more,
            (_, high) if high < 1.0 - margin => less,
            (low, high) if low >= 1.0 - margin && high <= 1.0 + margin => Verdict::Same,
            _ => Verdict::Unclear,
        }
    }

    /// The fewest rounds after which the interval would lie on one side of each end of the margin, should they scatter
    /// as those there are; `None` when that cannot be told, or is not to be expected.
    pub(super) fn rounds_needed(&self, margin: f64) -> Option<u32> {
        let (half, rounds) = self.spread?;
        let deviation = half * (rounds as f64).sqrt() / t_975(rounds as f64 - 1.0);
        let middle = self.ratio.ln();
        let ends = [(1.0 - margin).ln(), (1.0 + margin).ln()];
        let room = ends.iter().map(|end| (middle - end).abs()).fold(f64::INFINITY, f64::min);
        let fits = |rounds: &u32| {
            let rounds = f64::from(*rounds);
            t_975(rounds - 1.0) * deviation / rounds.sqrt() < room
        };
        let from = u32::try_from(rounds).unwrap_or(MOST_ROUNDS) + 1;
        (from..=MOST_ROUNDS).find(fits)
    }
}

fn above_zero(result: Option<f64>) -> Option<f64> {
    result.filter(|result| *result > 0.0 && result.is_finite())
}

fn logs(results: &[f64]) -> Vec<f64> {
    results.iter().filter_map(|result| above_zero(Some(*result))).map(f64::ln).collect()
}

/// Half of the interval of the mean.
fn half(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    (values.len() > 1).then(|| t_975(count - 1.0) * (variance(values) / count).sqrt())
}

/// Half of the interval of the difference of two means.
fn welch(one: &[f64], other: &[f64]) -> Option<f64> {
    if one.len() < 2 || other.len() < 2 {
        return None;
    }
    let part = |values: &[f64]| variance(values) / values.len() as f64;
    let (one_part, other_part) = (part(one), part(other));
    let sum = one_part + other_part;
    let freedom_of = |part: f64, values: &[f64]| part * part / (values.len() as f64 - 1.0);
    let freedom = sum * sum / (freedom_of(one_part, one) + freedom_of(other_part, other));
    // Of results without any scatter the division gives no number.
    let freedom = if freedom.is_finite() { freedom } else { (one.len() + other.len() - 2) as f64 };
    Some(t_975(freedom) * sum.sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::Noise;
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, quantile) in
            [(1.0, 12.706), (4.0, 2.776), (4.9, 2.776), (30.0, 2.042), (60.0, 2.000), (120.0, 1.980)]
        {
            assert!((t_975(freedom) - quantile).abs() < 0.0006, "{freedom}: {}", t_975(freedom));
        }
    }

    fn some(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    #[test]
    fn one_round_says_nothing_about_its_own_error() {
        assert_eq!(middle(&[]), None);
        assert_eq!(middle(&[5.0]), Some(Middle { median: 5.0, interval95: None }));
        let ratio = Ratio::paired(&some(&[10.0]), &some(&[5.0])).unwrap();
        assert_eq!(
            (ratio.interval95, ratio.verdict(0.02, false), ratio.rounds_needed(0.02)),
            (None, Verdict::Unclear, None)
        );
        assert!((ratio.ratio - 2.0).abs() < 1e-12);
    }

    #[test]
    fn verdicts_follow_the_interval_and_the_direction() {
        let base = [100.0, 101.0, 99.0, 100.5, 99.5];
        let by = |factor: f64| base.map(|value| value * factor * (1.0 + (value - 100.0) * 1e-4));
        for (factor, more, less) in [
            (1.10, Verdict::Better, Verdict::Worse),
            (0.90, Verdict::Worse, Verdict::Better),
            (1.005, Verdict::Same, Verdict::Same),
            (1.02, Verdict::Unclear, Verdict::Unclear),
        ] {
            let ratio = Ratio::paired(&some(&by(factor)), &some(&base)).unwrap();
            assert_eq!([ratio.verdict(0.02, false), ratio.verdict(0.02, true)], [more, less], "{factor}");
        }
    }

    #[test]
    fn pairs_without_a_side_are_left_out() {
        let of = [Some(2.0), None, Some(4.0), Some(0.0)];
        let against = [Some(1.0), Some(1.0), Some(2.0), Some(1.0)];
        assert!((Ratio::paired(&of, &against).unwrap().ratio - 2.0).abs() < 1e-12);
        assert_eq!(Ratio::paired(&[None], &[Some(1.0)]), None);
        assert_eq!(Ratio::unpaired(&[], &[1.0]), None);
    }

    #[test]
    fn what_drifts_over_the_rounds_cancels_in_pairs() {
        let drifting = |factor: f64| [1.0, 1.3, 0.8, 1.6, 0.7].map(|drift| 1_000.0 * drift * factor);
        let (of, against) = (drifting(1.05), drifting(1.0));
        assert_eq!(Ratio::paired(&some(&of), &some(&against)).unwrap().verdict(0.02, false), Verdict::Better);
        assert_eq!(Ratio::unpaired(&of, &against).unwrap().verdict(0.02, false), Verdict::Unclear);
    }

    /// Of `count` comparisons of rounds that scatter by `deviation` around a true ratio: the share whose interval holds
    /// it, and the share of each verdict asked for.
    fn trials(rounds: usize, deviation: f64, truth: f64, skewed: bool, verdicts: &[Verdict]) -> (f64, f64) {
        let (mut held, mut met) = (0, 0);
        let count = 2_000;
        for trial in 0..count {
            let noise = Noise::new(trial).series(2 * rounds, deviation, 0.0);
            let shape = |value: &f64| if skewed { 1.0 - (value - 1.0).abs() } else { *value };
            let values: Vec<f64> = noise.iter().map(shape).collect();
            let of: Vec<f64> = values[..rounds].iter().map(|value| value * truth).collect();
            for ratio in [
                Ratio::paired(&some(&of), &some(&values[rounds..])).unwrap(),
                Ratio::unpaired(&of, &values[rounds..]).unwrap(),
            ] {
                let [low, high] = ratio.interval95.unwrap();
                held += u32::from((low..=high).contains(&truth));
                met += u32::from(verdicts.contains(&ratio.verdict(0.02, false)));
            }
        }
        let share = |number: u32| f64::from(number) / 2.0 / count as f64;
        (share(held), share(met))
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        for rounds in [2, 3, 5, 10, 40] {
            for skewed in [false, true] {
                let (held, _) = trials(rounds, 0.03, 1.0, skewed, &[]);
                assert!(held >= 0.935, "{rounds} rounds, skewed {skewed}: {held}");
            }
        }
    }

    #[test]
    fn no_difference_is_seldom_called_one_and_a_large_one_is_found() {
        for rounds in [2, 3, 5, 10] {
            for deviation in [0.005, 0.03, 0.10] {
                let (_, wrong) = trials(rounds, deviation, 1.0, false, &[Verdict::Better, Verdict::Worse]);
                assert!(wrong < 0.03, "{rounds} rounds, {deviation}: {wrong}");
            }
        }
        assert!(trials(5, 0.01, 1.10, false, &[Verdict::Better]).1 > 0.97);
        assert!(trials(5, 0.005, 1.0, false, &[Verdict::Same]).1 > 0.95);
        let (_, wrong) = trials(5, 0.03, 1.10, false, &[Verdict::Same, Verdict::Worse]);
        assert!(wrong < 0.001, "{wrong}");
    }

    #[test]
    fn so_many_rounds_as_are_said_to_be_needed_settle_it() {
        let (few, truth) = (4, 1.05);
        let mut settled = 0;
        let mut asked = 0;
        for trial in 0..200 {
            let noise = Noise::new(trial).series(400, 0.04, 0.0);
            let (of, against) = noise.split_at(200);
            let of: Vec<Option<f64>> = of.iter().map(|value| Some(value * truth)).collect();
            let against = some(against);
            let first = Ratio::paired(&of[..few], &against[..few]).unwrap();
            if first.verdict(0.02, false) != Verdict::Unclear {
                continue;
            }
            let Some(needed) = first.rounds_needed(0.02).map(|needed| needed as usize) else { continue };
            assert!(needed > few);
            asked += 1;
            let then = Ratio::paired(&of[..needed], &against[..needed]).unwrap();
            settled += u32::from(then.verdict(0.02, false) != Verdict::Unclear);
        }
        assert!(asked > 50 && f64::from(settled) > 0.4 * f64::from(asked), "{settled} of {asked}");
    }

    proptest! {
        #[test]
        fn the_ratio_turned_round_says_the_opposite(
            pairs in proptest::collection::vec((1.0..1e6_f64, 1.0..1e6_f64), 2..12), margin in 0.001..0.2_f64,
        ) {
            let (of, against): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let there = Ratio::paired(&some(&of), &some(&against)).unwrap();
            let back = Ratio::paired(&some(&against), &some(&of)).unwrap();
            prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
            let [low, high] = there.interval95.unwrap();
            prop_assert!(low <= there.ratio * (1.0 + 1e-9) && there.ratio <= high * (1.0 + 1e-9));
            prop_assert!((back.interval95.unwrap()[0] * high - 1.0).abs() < 1e-9);
            let opposite = (there.verdict(margin, false), back.verdict(margin, false));
            prop_assert!(!matches!(opposite, (Verdict::Better, Verdict::Better) | (Verdict::Worse, Verdict::Worse)));
            prop_assert_eq!(there.verdict(margin, true) == Verdict::Better, there.verdict(margin, false) == Verdict::Worse);
        }

        #[test]
        fn the_unit_of_the_results_does_not_matter(
            values in proptest::collection::vec(1.0..1e4_f64, 4..12), unit in 1e-6..1e6_f64,
        ) {
            let (of, against) = values.split_at(values.len() / 2);
            let scaled = |values: &[f64]| values.iter().map(|value| value * unit).collect::<Vec<f64>>();
            let (plain, other) = (Ratio::unpaired(of, against).unwrap(), Ratio::unpaired(&scaled(of), &scaled(against)).unwrap());
            prop_assert!((plain.ratio / other.ratio - 1.0).abs() < 1e-9);
            let (one, two) = (middle(of).unwrap(), middle(&scaled(of)).unwrap());
            prop_assert!((one.median * unit / two.median - 1.0).abs() < 1e-9);
        }

        #[test]
        fn a_wider_margin_never_makes_a_difference(
            values in proptest::collection::vec(90.0..110.0_f64, 6..20), margin in 0.0..0.2_f64,
        ) {
            let (of, against) = values.split_at(values.len() / 2);
            let ratio = Ratio::unpaired(of, against).unwrap();
            let differs = |margin| matches!(ratio.verdict(margin, false), Verdict::Better | Verdict::Worse);
            prop_assert!(differs(margin) || !differs(margin + 0.05));
            prop_assert!(ratio.verdict(margin, false) != Verdict::Same || ratio.verdict(margin + 0.05, false) == Verdict::Same);
        }
    }
}
