//! The distributions of ids of sysbench: which rows an operation meets.

use super::Random;

/// How ids are picked from a range. The formulas are those of sysbench 1.0.20, and for zipfian of its master
/// branch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// All ids are equally likely.
    Uniform,
    /// Most picks are in the middle: the mean of `iterations` uniform numbers.
    Gaussian {
        /// Numbers averaged, at least 1; sysbench's `--rand-spec-iter`, 12 there.
        iterations: u32,
    },
    /// A few hot ids in the middle take most picks, a gaussian the rest.
    Special {
        /// Numbers averaged, at least 1; `--rand-spec-iter`, 12 there.
        iterations: u32,
        /// Percent of ids that are hot, at most 100; `--rand-spec-pct`, 1 there.
        percent: u32,
        /// Percent of picks that meet them, below 100; `--rand-spec-res`, 75 there.
        picks: u32,
    },
    /// What `special` was in sysbench 0.4 and 0.5, in whole numbers: all of the hot ids are met alike, and the share of
    /// other picks is one of a whole number.
    Band {
        /// Numbers averaged, at least 1; `--oltp-dist-iter`, 12 there.
        iterations: u32,
        /// Percent of ids that are hot, at most 100; `--oltp-dist-pct`, 1 there.
        percent: u32,
        /// Percent of picks that meet them, below 100; `--oltp-dist-res`, 75 there.
        picks: u32,
    },
    /// The first ids are hot: the share `h` of ids takes the share `1 - h` of picks.
    Pareto {
        /// Between 0 and 1, neither included; `--rand-pareto-h`, 0.2 there.
        h: f64,
    },
    /// The id of rank k is met in proportion to k to the power of `-exponent`.
    Zipfian {
        /// At least 0; `--rand-zipfian-exp`, 0.8 there.
        exponent: f64,
    },
}

/// A distribution over one range of ids.
#[derive(Debug, Clone, PartialEq)]
pub struct Ids {
    low: u64,
    count: u64,
    shape: Shape,
}

/// A distribution with what can be computed before the first pick.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Even,
    Uneven(Uneven),
}

/// A distribution of which some ids are met more often.
#[derive(Debug, Clone, PartialEq)]
enum Uneven {
    Gaussian { iterations: u32 },
    Special { iterations: u32, hot: f64, cold_share: f64 },
    Band { iterations: u32, hot: u64, times: u64 },
    Power { exponent: f64 },
    Zipfian(Zipfian),
}

impl Distribution {
    /// This distribution over the ids from `low` to `high`, both included; a `high` below `low` is `low`.
    pub fn over(self, low: u64, high: u64) -> Ids {
        let count = (high.max(low) - low).saturating_add(1);
        let shape = self.uneven(count).map_or(Shape::Even, Shape::Uneven);
        Ids { low, count, shape }
    }

    fn uneven(self, count: u64) -> Option<Uneven> {
        Some(match self {
            Distribution::Uniform => return None,
            Distribution::Gaussian { iterations } => Uneven::Gaussian { iterations },
            Distribution::Special { iterations, percent, picks } => Uneven::Special {
                iterations,
                hot: f64::from(percent) / 100.0,
                cold_share: 1.0 - f64::from(picks) / 100.0,
            },
            Distribution::Band { iterations, percent, picks } => Uneven::Band {
                iterations,
                hot: (count.saturating_mul(u64::from(percent)) / 100).clamp(1, count),
                times: 100 / u64::from(100 - picks.min(99)),
            },
            Distribution::Pareto { h } => Uneven::Power { exponent: h.ln() / (1.0 - h).ln() },
            Distribution::Zipfian { exponent } => Uneven::Zipfian(Zipfian::new(exponent, count)),
        })
    }
}

impl Ids {
    /// Picks one id.
    #[inline]
    pub fn pick(&self, random: &mut Random) -> u64 {
        let offset = match &self.shape {
            Shape::Even => random.below(self.count),
            Shape::Uneven(uneven) => uneven.offset(self.count, random).min(self.count - 1),
        };
        self.low + offset
    }
}

impl Uneven {
    /// Picks one of so many, from 0; by rounding it may be one too high.
    fn offset(&self, ids: u64, random: &mut Random) -> u64 {
        let count = ids as f64;
        match self {
            Uneven::Gaussian { iterations } => (mean(random, *iterations) * count) as u64,
            Uneven::Special { iterations, hot, cold_share } => {
                special(random, count - 1.0, *iterations, *hot, *cold_share)
            }
            Uneven::Band { iterations, hot, times } => {
                if random.below(*times) == 0 {
                    (mean(random, *iterations) * count) as u64
                } else {
                    (ids / 2).saturating_sub(hot / 2) + random.below(*hot)
                }
            }
            Uneven::Power { exponent } => (random.uniform().powf(*exponent) * count) as u64,
            Uneven::Zipfian(zipfian) => zipfian.rank(random) - 1,
        }
    }
}

fn mean(random: &mut Random, iterations: u32) -> f64 {
    (0..iterations).map(|_| random.uniform()).sum::<f64>() / f64::from(iterations.max(1))
}

/// The offset of an id in a range of `last + 1`. As in sysbench 1.0.20, the number that decides for the hot ids
/// also picks among them, so only the upper part of their band is met: with 1 % and 75 %, 0.75 % of all ids.
fn special(random: &mut Random, last: f64, iterations: u32, hot: f64, cold_share: f64) -> u64 {
    let decision = random.uniform();
    if decision * last / cold_share < last {
        (mean(random, iterations) * last) as u64
    } else {
        (decision * (last * hot + 1.0) + last / 2.0 - last * hot / 2.0) as u64
    }
}

/// Picks ranks 1 to n in proportion to rank^-exponent, by rejection-inversion (Hörmann and Derflinger 1996), in
/// constant time and without a table.
#[derive(Debug, Clone, PartialEq)]
struct Zipfian {
    exponent: f64,
    ranks: f64,
    area_of_first: f64,
    area_of_last: f64,
    always: f64,
}

impl Zipfian {
    fn new(exponent: f64, ranks: u64) -> Zipfian {
        let ranks = ranks as f64;
        Zipfian {
            exponent,
            ranks,
            area_of_first: area(exponent, 1.5) - 1.0,
            area_of_last: area(exponent, ranks + 0.5),
            always: 2.0 - area_inverse(exponent, area(exponent, 2.5) - 2.0_f64.powf(-exponent)),
        }
    }

    fn rank(&self, random: &mut Random) -> u64 {
        loop {
            let point = self.area_of_last + random.uniform() * (self.area_of_first - self.area_of_last);
            let x = area_inverse(self.exponent, point);
            let rank = x.round().clamp(1.0, self.ranks);
            let bar = area(self.exponent, rank + 0.5) - rank.powf(-self.exponent);
            if rank - x <= self.always || point >= bar {
                return rank as u64;
            }
        }
    }
}

/// The integral of x^-exponent from 1 to `x`.
fn area(exponent: f64, x: f64) -> f64 {
    let power = 1.0 - exponent;
    if power == 0.0 { x.ln() } else { (power * x.ln()).exp_m1() / power }
}

/// The `x` to which [`area`] is `area`.
fn area_inverse(exponent: f64, area: f64) -> f64 {
    let power = 1.0 - exponent;
    if power == 0.0 { area.exp() } else { ((power * area).max(-1.0).ln_1p() / power).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u64 = 400_000;

    /// How often each id of 1 to `count` is picked.
    fn histogram(distribution: Distribution, count: u64) -> Vec<u64> {
        let ids = distribution.over(1, count);
        let mut random = Random::for_operation(7, count);
        let mut times = vec![0; usize::try_from(count).unwrap() + 1];
        for _ in 0..DRAWS {
            times[usize::try_from(ids.pick(&mut random)).unwrap()] += 1;
        }
        assert_eq!(times[0], 0);
        times
    }

    fn share(times: &[u64]) -> f64 {
        times.iter().sum::<u64>() as f64 / DRAWS as f64
    }

    fn moments(times: &[u64]) -> (f64, f64) {
        let at = |power| {
            times.iter().enumerate().map(|(id, n)| (id as f64).powi(power) * *n as f64).sum::<f64>()
                / DRAWS as f64
        };
        (at(1), (at(2) - at(1).powi(2)).sqrt())
    }

    const SPECIAL: Distribution = Distribution::Special { iterations: 12, percent: 1, picks: 75 };

    #[test]
    fn uniform_meets_all_ids_equally() {
        let times = histogram(Distribution::Uniform, 100);
        let expected = DRAWS as f64 / 100.0;
        let chi_squared: f64 = times[1..].iter().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
        assert!((60.0..150.0).contains(&chi_squared), "{chi_squared} with 99 degrees of freedom");
    }

    #[test]
    fn gaussian_has_the_mean_and_deviation_of_a_mean_of_uniform_numbers() {
        let (mean, deviation) = moments(&histogram(Distribution::Gaussian { iterations: 12 }, 12_000));
        assert!((mean - 6_000.5).abs() < 8.0, "{mean}");
        assert!((deviation - 1_000.0).abs() < 8.0, "n / 12 is expected, not {deviation}");
    }

    #[test]
    fn special_has_the_hot_ids_of_sysbench() {
        for (count, first, last) in [(1_000, 498, 506), (10_000, 4_975, 5_051), (1_000_000, 497_500, 505_001)]
        {
            let times = histogram(SPECIAL, count);
            let hot = share(&times[first..=last]);
            assert!((0.75..0.80).contains(&hot), "{hot} of picks in the hot ids of {count}");
            let reach = 8 * (last - first + 1) / 10;
            assert!(times[last - reach..=last].iter().filter(|n| **n > 0).count() > reach / 2);
        }
        let times = histogram(SPECIAL, 10_000);
        assert!(
            (times[4_974] as f64) < 0.1 * times[4_980] as f64,
            "the band begins at its upper three quarters"
        );
        assert!((times[5_052] as f64) < 0.1 * times[5_045] as f64, "the band ends in the middle of it");
        let touched = times.iter().filter(|n| **n > 0).count();
        assert!((4_700..5_000).contains(&touched), "4,861 of 10,000 ids were met by sysbench, not {touched}");
    }

    #[test]
    fn a_band_is_met_evenly_and_the_rest_in_a_bell() {
        let band = |picks| Distribution::Band { iterations: 12, percent: 1, picks };
        let times = histogram(band(75), 10_000);
        let hot = &times[4_951..=5_050];
        let cold_among_them = 0.25 * 100.0 * 12.0 / (10_000.0 * (std::f64::consts::TAU).sqrt());
        assert!((share(hot) - 0.75 - cold_among_them).abs() < 0.003, "{}", share(hot));
        assert!(hot.iter().all(|times| (2_700..3_500).contains(times)), "{hot:?}");
        assert!(times[4_950] < 200 && times[5_051] < 200);
        // One of 100 / (100 - 60) = 2 is not among the hot ones.
        let half = histogram(band(60), 10_000);
        assert!((0.5..0.53).contains(&share(&half[4_951..=5_050])));
    }

    #[test]
    fn pareto_gives_the_first_fifth_four_fifths() {
        let times = histogram(Distribution::Pareto { h: 0.2 }, 10_000);
        assert!((share(&times[1..=2_000]) - 0.8).abs() < 0.003);
        assert!((share(&times[1..=1]) - 0.28).abs() < 0.003);
    }

    #[test]
    fn zipfian_follows_its_power_law() {
        for exponent in [0.0, 0.8, 1.0, 1.3] {
            let times = histogram(Distribution::Zipfian { exponent }, 1_000);
            let total: f64 = (1..=1_000).map(|rank| f64::from(rank).powf(-exponent)).sum();
            let expected = |ranks: std::ops::RangeInclusive<i32>| {
                ranks.map(|k| f64::from(k).powf(-exponent)).sum::<f64>() / total
            };
            assert!((share(&times[1..=1]) - expected(1..=1)).abs() < 0.003, "exponent {exponent}");
            assert!((share(&times[1..=10]) - expected(1..=10)).abs() < 0.003, "exponent {exponent}");
            assert!(
                (share(&times[500..=1_000]) - expected(500..=1_000)).abs() < 0.003,
                "exponent {exponent}"
            );
        }
        let times = histogram(Distribution::Zipfian { exponent: 0.8 }, 10_000);
        assert!((share(&times[1..=1]) - 0.037).abs() < 0.002);
        assert!((share(&times[1..=100]) - 0.30).abs() < 0.005);
        assert!((share(&times[1..=2_000]) - 0.68).abs() < 0.005);
    }

    #[test]
    fn every_distribution_stays_in_its_range() {
        let all = [
            Distribution::Uniform,
            Distribution::Gaussian { iterations: 12 },
            SPECIAL,
            Distribution::Special { iterations: 1, percent: 100, picks: 0 },
            Distribution::Band { iterations: 12, percent: 1, picks: 75 },
            Distribution::Band { iterations: 1, percent: 100, picks: 99 },
            Distribution::Pareto { h: 0.01 },
            Distribution::Zipfian { exponent: 2.5 },
        ];
        let mut random = Random::for_operation(1, 2);
        for distribution in all {
            for (low, high) in [(1, 1), (5, 6), (u64::MAX - 1, u64::MAX), (1, 4_000_000_000_000), (9, 3)] {
                let ids = distribution.over(low, high);
                for _ in 0..1_000 {
                    let id = ids.pick(&mut random);
                    assert!((low..=high.max(low)).contains(&id), "{distribution:?} {low} {high} {id}");
                }
            }
        }
    }
}
