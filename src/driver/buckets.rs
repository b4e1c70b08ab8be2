//! A histogram of times with one writer and any number of readers.
//!
//! Buckets are laid out as in HdrHistogram (Tene): powers of two, each divided evenly, so that a bucket is at most
//! a fixed share of the times in it wide.
//!
//! A count lies anywhere in an eighth of a megabyte, and beside hundreds of clients it is in no cache any more when its
//! client needs it. So times wait in one line of memory until there are enough that the processor fetches their counts
//! side by side.

use std::array;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};
use std::thread;

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

/// Times that wait at most.
const BATCH: u64 = 16;
/// Counts lie in blocks of 2^10, of which only those in use are read. The finest layout of 64 bits has 55 of them.
const BLOCK_BITS: u32 = 10;

/// Counts of times in nanoseconds; without buckets by default, when it keeps nothing.
///
/// Where it begins with a line of the cache, a time touches that one and the next.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Buckets {
    /// How many times were recorded, and how many of them are in `counts`. A whole batch between the two is being
    /// moved.
    recorded: AtomicU64,
    added: AtomicU64,
    layout: Layout,
    /// The lower halves of all counts and after them the upper ones, most of which are never looked at: less memory is
    /// less that is in no cache.
    counts: Box<[AtomicU32]>,
    /// A bit for each block that is in use.
    used: AtomicU64,
    overflow: Count,
    /// The buckets of the times that wait.
    waiting: [AtomicU16; BATCH as usize],
    /// Whether an upper half is not 0.
    has_upper: AtomicBool,
}

/// What the buckets of several clients hold together.
#[derive(Debug)]
pub(super) struct Sum {
    /// The counts, as many as the layout has.
    pub(super) counts: Vec<u64>,
    /// A copy of those of one client, which is added when it is known to be whole.
    copy: Vec<u64>,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { bits: FINE_BITS, highest: 0 }
    }
}

/// Three significant digits, the buckets of the stored histograms themselves: 125 KB to 600 s.
const FINE_BITS: u32 = 10;
/// Two significant digits: 17 KB to 600 s.
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
        Buckets { layout, counts: system::zeroed_counters(2 * layout.len()), ..Buckets::default() }
    }

    /// Counts one time.
    #[inline]
    pub fn record(&self, time: u64) {
        if time > self.layout.highest {
            self.overflow.add_one();
        }
        // No layout of 64 bits has as many buckets as a u16 has values.
        let index = self.layout.index(time.min(self.layout.highest)) as u16;
        let before = self.recorded.load(Ordering::Relaxed);
        self.waiting[(before % BATCH) as usize].store(index, Ordering::Relaxed);
        self.recorded.store(before + 1, Ordering::Release);
        if (before + 1).is_multiple_of(BATCH) {
            self.add_batch(before + 1);
        }
    }

    /// Moves the times that wait to the counts. One writer: no other count can be lost in between.
    fn add_batch(&self, recorded: u64) {
        // Who sees a count of this batch sees that the batch was full before.
        fence(Ordering::Release);
        let mut used = self.used.load(Ordering::Relaxed);
        for index in &self.waiting {
            let index = index.load(Ordering::Relaxed);
            used |= 1 << (index >> BLOCK_BITS);
            if let Some(count) = self.counts.get(usize::from(index))
                && add_one_to(count)
            {
                self.carry(index);
            }
        }
        self.used.store(used, Ordering::Relaxed);
        self.added.store(recorded, Ordering::Release);
    }

    /// Counts one in the upper half, as the lower one began anew.
    #[cold]
    fn carry(&self, index: u16) {
        self.has_upper.store(true, Ordering::Relaxed);
        self.counts.get(self.layout.len() + usize::from(index)).map(add_one_to);
    }

    /// How many times were longer than the longest told apart.
    pub(super) fn overflow(&self) -> u64 {
        self.overflow.get()
    }

    /// How its times are kept.
    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Adds the counts to a sum of the same layout: all that were recorded by some moment of this call. Where the
    /// writer moves batches faster than they are read, up to two batches fewer, but all of any earlier call.
    pub(super) fn add_to(&self, sum: &mut Sum) {
        let first = self.added.load(Ordering::Acquire);
        loop {
            let (added, recorded) =
                (self.added.load(Ordering::Acquire), self.recorded.load(Ordering::Acquire));
            let blocks = self.copy_to(&mut sum.copy);
            let waiting: [u16; BATCH as usize] =
                array::from_fn(|place| self.waiting[place].load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            // Nothing moved meanwhile, nor began to, so that the places that wait were not written over either.
            let whole = self.recorded.load(Ordering::Relaxed) - added < BATCH;
            if whole || added > first {
                let waited = if whole { recorded - added } else { 0 };
                return sum.take(blocks, &waiting[..waited as usize]);
            }
            thread::yield_now();
        }
    }

    /// Copies the blocks in use, and says which they are.
    fn copy_to(&self, copy: &mut [u64]) -> u64 {
        let used = self.used.load(Ordering::Relaxed);
        for block in blocks_of(used) {
            in_block(copy, &self.counts, &block)
                .for_each(|(copy, count)| *copy = u64::from(count.load(Ordering::Relaxed)));
            if let Some((_, upper)) = self.counts.split_at_checked(self.layout.len())
                && self.has_upper.load(Ordering::Relaxed)
            {
                in_block(copy, upper, &block)
                    .for_each(|(copy, count)| *copy += u64::from(count.load(Ordering::Relaxed)) << u32::BITS);
            }
        }
        used
    }
}

/// Adds one as the only writer; whether the count began anew.
///
/// The sum is read back rather than kept: so the processor adds within memory. Where the first access to a page only
/// reads, the kernel is asked for it twice.
#[inline]
fn add_one_to(count: &AtomicU32) -> bool {
    count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    count.load(Ordering::Relaxed) == 0
}

/// The places of a block in both.
fn in_block<'a, T>(
    into: &'a mut [u64],
    from: &'a [T],
    block: &Range<usize>,
) -> impl Iterator<Item = (&'a mut u64, &'a T)> {
    into.iter_mut().zip(from).skip(block.start).take(block.len())
}

/// The places of the counts in the blocks of these bits.
fn blocks_of(used: u64) -> impl Iterator<Item = Range<usize>> {
    let is_used = move |block: &usize| used & 1 << block != 0;
    (0..u64::BITS as usize).filter(is_used).map(|block| block << BLOCK_BITS..(block + 1) << BLOCK_BITS)
}

impl Sum {
    /// Nothing yet.
    pub(super) fn new(layout: Layout) -> Sum {
        Sum { counts: vec![0; layout.len()], copy: vec![0; layout.len()] }
    }

    /// Takes in the blocks of the copy, and times that waited.
    fn take(&mut self, blocks: u64, waited: &[u16]) {
        for block in blocks_of(blocks) {
            in_block(&mut self.counts, &self.copy, &block).for_each(|(sum, count)| *sum += count);
        }
        for index in waited {
            if let Some(count) = self.counts.get_mut(usize::from(*index)) {
                *count += 1;
            }
        }
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
            let mut sum = Sum::new(layout);
            buckets.add_to(&mut sum);
            let mut filled = new_histogram().unwrap();
            layout.fill(&mut filled, &sum.counts);
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

    /// Reads over and over while another thread counts.
    #[test]
    fn a_reading_is_whole_and_never_less_than_an_earlier_one() {
        const TIMES: u64 = 300_000;
        let layout = Layout::fine(&new_histogram().unwrap());
        let (buckets, told) = (Buckets::new(layout), AtomicU64::new(0));
        let read = || {
            let mut sum = Sum::new(layout);
            buckets.add_to(&mut sum);
            sum.counts
        };
        thread::scope(|scope| {
            let count = scope.spawn(|| {
                for number in 0..TIMES {
                    buckets.record(1_000 * (1 + number % 50));
                    told.store(number + 1, Ordering::Release);
                }
            });
            let mut before = read();
            while !count.is_finished() {
                let least = told.load(Ordering::Acquire);
                let now = read();
                assert!(now.iter().zip(&before).all(|(now, before)| now >= before));
                assert!(now.iter().sum::<u64>() + 2 * BATCH > least);
                before = now;
            }
        });
        let all = read();
        assert_eq!(all.iter().sum::<u64>(), TIMES);
        assert_eq!(all[layout.index(7_000)], TIMES / 50);
    }

    #[test]
    fn times_that_wait_are_read_too() {
        let layout = Layout::fine(&new_histogram().unwrap());
        let buckets = Buckets::new(layout);
        for number in 1..=3 * BATCH {
            buckets.record(5);
            let mut sum = Sum::new(layout);
            buckets.add_to(&mut sum);
            assert_eq!((sum.counts[5], sum.counts.iter().sum::<u64>()), (number, number));
        }
    }

    #[test]
    fn a_count_of_more_than_32_bits_is_whole() {
        let layout = Layout::fine(&new_histogram().unwrap());
        let buckets = Buckets::new(layout);
        buckets.counts[7].store(u32::MAX - 2, Ordering::Relaxed);
        (0..BATCH).for_each(|_| buckets.record(7));
        (0..BATCH).for_each(|_| buckets.record(8));
        let mut sum = Sum::new(layout);
        buckets.add_to(&mut sum);
        assert_eq!((sum.counts[7], sum.counts[8]), ((1 << 32) + 13, 16));
    }

    #[test]
    fn without_buckets_nothing_is_kept() {
        let buckets = Buckets::default();
        buckets.record(5);
        assert!(buckets.counts.is_empty());
    }
}
