//! A histogram of times with one writer and any number of readers.
//!
//! Buckets are laid out as in HdrHistogram (Tene): powers of two, each divided evenly, so that a bucket is at most
//! a fixed share of the times in it wide.

use std::sync::atomic::{AtomicU64, Ordering};

use hdrhistogram::Histogram;

use super::tally::Count;
use crate::system;

/// How finely times are told apart, and up to which. Longer ones count in the last bucket, and as overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Each power of two is divided into 2^bits buckets.
    bits: u32,
    highest: u64,
}

/// Counts of times in nanoseconds; without buckets by default, when it keeps nothing.
#[derive(Debug, Default)]
pub struct Buckets {
    layout: Layout,
    counts: Box<[AtomicU64]>,
    overflow: Count,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { bits: FINE_BITS, highest: 0 }
    }
}

/// Three significant digits, the buckets of the stored histograms themselves: 250 KB to 600 s.
const FINE_BITS: u32 = 10;
/// Two significant digits: 33 KB to 600 s.
const COARSE_BITS: u32 = 7;

impl Layout {
    /// The buckets of the measured part: those of `histogram`.
    pub fn fine(histogram: &Histogram<u64>) -> Layout {
        Layout { bits: FINE_BITS, highest: histogram.high() }
    }

    /// Buckets for times that are only shown or judged.
    pub fn coarse(histogram: &Histogram<u64>) -> Layout {
        Layout { bits: COARSE_BITS, highest: histogram.high() }
    }

    /// How many buckets there are.
    pub(super) fn len(self) -> usize {
        self.index(self.highest) + 1
    }

    #[inline]
    fn index(self, time: u64) -> usize {
        let shift = (63 - (time | 1).leading_zeros()).saturating_sub(self.bits);
        ((u64::from(shift) << self.bits) + (time >> shift)) as usize
    }

    /// The shortest time of a bucket.
    fn lowest(self, index: usize) -> u64 {
        let shift = (index >> self.bits).saturating_sub(1);
        ((index - (shift << self.bits)) as u64) << shift
    }

    /// Fills the histogram with counts laid out like this.
    pub(super) fn fill(self, histogram: &mut Histogram<u64>, counts: &[u64]) {
        histogram.reset();
        for (index, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            histogram.saturating_record_n(self.lowest(index), *count);
        }
    }
}

impl Buckets {
    /// Empty buckets; nothing is allocated after this, and memory is used only where times are counted.
    pub fn new(layout: Layout) -> Buckets {
        Buckets { layout, counts: system::zeroed_counters(layout.len()), overflow: Count::default() }
    }

    /// Counts one time.
    #[inline]
    pub fn record(&self, time: u64) {
        if time > self.layout.highest {
            self.overflow.add_one();
        }
        let index = self.layout.index(time.min(self.layout.highest));
        if let Some(count) = self.counts.get(index) {
            // One writer: no other count can be lost in between.
            count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// How many times were longer than the longest told apart.
    pub(super) fn overflow(&self) -> u64 {
        self.overflow.get()
    }

    /// How its times are kept.
    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Adds the counts to `sum`, which has as many buckets.
    pub(super) fn add_to(&self, sum: &mut [u64]) {
        sum.iter_mut().zip(&self.counts).for_each(|(sum, count)| *sum += count.load(Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::record::new_histogram;

    use super::*;

    proptest! {
        #[test]
        fn times_are_kept_as_hdrhistogram_keeps_them(times in prop::collection::vec(any_time(), 1..100)) {
            let mut expected = new_histogram().unwrap();
            let layout = Layout::fine(&expected);
            let buckets = Buckets::new(layout);
            let longer = times.iter().filter(|time| **time > expected.high()).count() as u64;
            for time in times {
                buckets.record(time);
                expected.saturating_record(time.min(expected.high()));
            }
            prop_assert_eq!(buckets.overflow(), longer);
            let mut sum = vec![0; layout.len()];
            buckets.add_to(&mut sum);
            let mut filled = new_histogram().unwrap();
            layout.fill(&mut filled, &sum);
            let counts = |histogram: &Histogram<u64>| -> Vec<(u64, u64)> {
                histogram
                    .iter_recorded()
                    .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
                    .collect()
            };
            prop_assert_eq!(counts(&filled), counts(&expected));
        }

        #[test]
        fn coarse_buckets_are_within_one_percent(time in 1_u64..600_000_000_000) {
            let layout = Layout::coarse(&new_histogram().unwrap());
            let lowest = layout.lowest(layout.index(time));
            prop_assert!(lowest <= time);
            prop_assert!(time - lowest <= time / 100);
        }
    }

    /// Times spread over all magnitudes, beyond the longest too.
    fn any_time() -> impl Strategy<Value = u64> {
        (0_u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift)
    }

    #[test]
    fn without_buckets_nothing_is_kept() {
        let buckets = Buckets::default();
        buckets.record(5);
        assert!(buckets.counts.is_empty());
    }
}
