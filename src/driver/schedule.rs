//! Intended starts of an open loop, fixed in advance by rate and seed.
//!
//! Clients take the numbers of operations from one counter, so the schedule is the queue: nothing can overflow
//! and no operation is skipped. Which instant belongs to a number, every client finds by itself, without a lock:
//! it walks the same seeded sequence of gaps, one multiplication a gap, past those that others took.

use super::random::Random;
use super::{Arrivals, Pace};

/// The generator of the gaps is that of an operation number that no operation has.
const STREAM: u64 = u64::MAX;
/// Gaps multiplied before a logarithm is taken; their product stays far above the smallest `f64`.
const GAPS_AT_ONCE: u64 = 64;

/// The intended starts of one part of the load.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    mean_gap: f64,
    gaps: Gaps,
}

#[derive(Debug, Clone)]
enum Gaps {
    Even,
    Poisson(Walk),
}

/// A place in a sequence of exponential gaps with mean 1. The sum of gaps `-ln(u)` is the logarithm of the
/// product of the `u`.
#[derive(Debug, Clone)]
struct Walk {
    random: Random,
    walked: u64,
    sum: f64,
    product: f64,
}

impl Schedule {
    /// The schedule of a pace; `None` in closed loop. `part` tells the schedules of one seed apart.
    pub(super) fn new(pace: Pace, seed: u64, part: u64) -> Option<Schedule> {
        let Pace::Open { rate, arrivals } = pace else { return None };
        let gaps = match arrivals {
            Arrivals::Even => Gaps::Even,
            Arrivals::Poisson => Gaps::Poisson(Walk {
                random: Random::for_operation(seed, STREAM - part),
                walked: 0,
                sum: 0.0,
                product: 1.0,
            }),
        };
        Some(Schedule { mean_gap: 1e9 / rate.per_second(), gaps })
    }

    /// The intended start of an arrival, in nanoseconds after the part's start. Arrivals are numbered from 0 and
    /// must be asked for in rising order.
    ///
    /// A call, so that its numbers do not take the registers of a closed loop.
    #[inline(never)]
    pub(super) fn at(&mut self, arrival: u64) -> u64 {
        let gaps = match &mut self.gaps {
            Gaps::Even => arrival as f64,
            Gaps::Poisson(walk) => walk.past(arrival + 1),
        };
        (gaps * self.mean_gap) as u64
    }
}

impl Walk {
    /// The sum of the first `gaps` gaps.
    fn past(&mut self, gaps: u64) -> f64 {
        while self.walked < gaps {
            self.product *= 1.0 - self.random.uniform();
            self.walked += 1;
            if self.walked.is_multiple_of(GAPS_AT_ONCE) {
                self.sum -= self.product.ln();
                self.product = 1.0;
            }
        }
        self.sum - self.product.ln()
    }
}

/// Counts the arrivals of a schedule that are due.
#[derive(Debug)]
pub(super) struct Due {
    schedule: Schedule,
    next_at: u64,
    count: u64,
    limit: u64,
}

impl Due {
    /// Counts at most `limit` arrivals.
    pub(super) fn new(mut schedule: Schedule, limit: u64) -> Due {
        Due { next_at: schedule.at(0), schedule, count: 0, limit }
    }

    /// How many arrivals have intended starts before `until`, in nanoseconds after the part's start.
    pub(super) fn before(&mut self, until: u64) -> u64 {
        while self.next_at < until && self.count < self.limit {
            self.count += 1;
            self.next_at = self.schedule.at(self.count);
        }
        self.count
    }
}

#[cfg(test)]
mod tests {
    use crate::units::Rate;

    use super::*;

    fn schedule(arrivals: Arrivals, rate: f64, seed: u64) -> Schedule {
        let rate = Rate::new(rate).unwrap();
        Schedule::new(Pace::Open { rate, arrivals }, seed, 0).unwrap()
    }

    fn starts(arrivals: Arrivals, rate: f64, seed: u64, count: u64) -> Vec<u64> {
        let mut schedule = schedule(arrivals, rate, seed);
        (0..count).map(|arrival| schedule.at(arrival)).collect()
    }

    #[test]
    fn even_arrivals_are_one_gap_apart() {
        assert_eq!(starts(Arrivals::Even, 1_000.0, 1, 4), [0, 1_000_000, 2_000_000, 3_000_000]);
    }

    #[test]
    fn poisson_gaps_are_exponential_and_independent() {
        let starts = starts(Arrivals::Poisson, 1_000.0, 1, 200_001);
        let gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / 200_000.0;
        let average = mean(&mut gaps.iter().copied());
        let deviation = mean(&mut gaps.iter().map(|gap| (gap - average).powi(2))).sqrt();
        let beyond_two = mean(&mut gaps.iter().map(|gap| f64::from(u8::from(*gap > 2.0))));
        let together = mean(&mut gaps.windows(2).map(|pair| (pair[0] - 1.0) * (pair[1] - 1.0)));
        assert!((average - 1.0).abs() < 0.01, "{average}");
        assert!((deviation - 1.0).abs() < 0.015, "{deviation}");
        assert!((beyond_two - (-2.0_f64).exp()).abs() < 0.003, "{beyond_two}");
        assert!(together.abs() < 0.01, "{together}");
    }

    #[test]
    fn an_arrival_has_the_same_start_whoever_asks_for_it() {
        let all = starts(Arrivals::Poisson, 50.0, 9, 1_000);
        let mut other = schedule(Arrivals::Poisson, 50.0, 9);
        for arrival in [0, 1, 63, 64, 65, 128, 700, 999] {
            assert!(other.at(arrival).abs_diff(all[usize::try_from(arrival).unwrap()]) <= 1);
        }
        assert_ne!(starts(Arrivals::Poisson, 50.0, 10, 1_000), all);
    }

    #[test]
    fn due_arrivals_are_those_before_the_instant() {
        let mut due = Due::new(schedule(Arrivals::Even, 1_000.0, 1), u64::MAX);
        assert_eq!(
            [due.before(0), due.before(1), due.before(1_000_001), due.before(10_000_000)],
            [0, 1, 2, 10]
        );
        let mut limited = Due::new(schedule(Arrivals::Even, 1_000.0, 1), 5);
        assert_eq!(limited.before(1_000_000_000), 5);
    }
}
