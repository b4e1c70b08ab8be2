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
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering, fence};
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
/// What of a count is moved to its upper part, long before the lower one ends.
const FULL: u32 = 1 << 31;
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
    /// The lower parts of all counts, below [`FULL`], and after them how often each was full, which is hardly ever looked
    /// at: less memory is less that is in no cache.
    counts: Box<[AtomicU32]>,
    /// A bit for each block that is in use.
    used: AtomicU64,
    overflow: Count,
    /// The buckets of the times that wait.
    waiting: [AtomicU16; BATCH as usize],
    /// Twice how often a lower part was full; odd while one is moved to the upper.
    carries: AtomicU32,
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
    #[inline(never)]
    fn add_batch(&self, recorded: u64) {
        // Who sees a count of this batch sees that the batch was full before.
        fence(Ordering::Release);
        let mut used = self.used.load(Ordering::Relaxed);
        for index in &self.waiting {
            let index = index.load(Ordering::Relaxed);
            used |= 1 << (index >> BLOCK_BITS);
            if let Some(count) = self.counts.get(usize::from(index))
                && add_one_to(count) >= FULL
            {
                self.carry(index);
            }
        }
        self.used.store(used, Ordering::Relaxed);
        self.added.store(recorded, Ordering::Release);
    }

    /// Moves a full lower part of a count to the upper one.
    #[cold]
    fn carry(&self, index: u16) {
        let index = usize::from(index);
        let (Some(lower), Some(upper)) = (self.counts.get(index), self.counts.get(self.layout.len() + index))
        else {
            return;
        };
        let carries = self.carries.load(Ordering::Relaxed);
        self.carries.store(carries.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        lower.store(lower.load(Ordering::Relaxed) - FULL, Ordering::Relaxed);
        add_one_to(upper);
        self.carries.store(carries.wrapping_add(2), Ordering::Release);
    }

    /// How many times were longer than the longest told apart.
    pub(super) fn overflow(&self) -> u64 {
        self.overflow.get()
    }

    /// Fills the histogram with what buckets of one layout hold together; with nothing where there are none.
    pub fn merge(all: &[&Buckets], histogram: &mut Histogram<u64>) {
        histogram.reset();
        let Some(layout) = all.first().map(|buckets| buckets.layout) else { return };
        let mut sum = Sum::new(layout);
        all.iter().for_each(|buckets| buckets.add_to(&mut sum));
        layout.fill(histogram, &sum.counts);
    }

    /// Adds the counts to a sum of the same layout: all that were recorded by some moment of this call. Where the
    /// writer moves batches faster than they are read, up to two batches fewer, but all of any earlier call.
    pub(super) fn add_to(&self, sum: &mut Sum) {
        let first = self.added.load(Ordering::Acquire);
        while !self.try_add_to(sum, first) {
            thread::yield_now();
        }
    }

    /// Does so unless the writer was in the way, and says whether. `first` is what was in the counts when it was asked for.
    fn try_add_to(&self, sum: &mut Sum, first: u64) -> bool {
        let (added, recorded) = (self.added.load(Ordering::Acquire), self.recorded.load(Ordering::Acquire));
        let carries = self.carries.load(Ordering::Acquire);
        let blocks = self.copy_to(&mut sum.copy, carries > 0);
        let waiting: [u16; BATCH as usize] =
            array::from_fn(|place| self.waiting[place].load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        // A count of which a part was moved meanwhile may be far off.
        let carried = !carries.is_multiple_of(2) || self.carries.load(Ordering::Relaxed) != carries;
        // Nothing moved meanwhile, nor began to, so that the places that wait were not written over either.
        let whole = self.recorded.load(Ordering::Relaxed) - added < BATCH;
        if carried || !(whole || added > first) {
            return false;
        }
        let waited = if whole { recorded - added } else { 0 };
        sum.take(blocks, &waiting[..waited as usize]);
        true
    }

    /// Copies the blocks in use, with the upper parts where there are any, and says which they are.
    fn copy_to(&self, copy: &mut [u64], with_upper: bool) -> u64 {
        let used = self.used.load(Ordering::Relaxed);
        let upper = self.counts.get(self.layout.len()..).filter(|_| with_upper).unwrap_or_default();
        for block in blocks_of(used) {
            in_block(copy, &self.counts, &block)
                .for_each(|(copy, count)| *copy = u64::from(count.load(Ordering::Relaxed)));
            in_block(copy, upper, &block).for_each(|(copy, times)| {
                *copy += u64::from(times.load(Ordering::Relaxed)) * u64::from(FULL);
            });
        }
        used
    }
}

/// Adds one as the only writer, and gives the sum.
///
/// It is read back rather than kept: so the processor adds within memory. Where the first access to a page only reads,
/// the kernel is asked for it twice.
#[inline]
fn add_one_to(count: &AtomicU32) -> u32 {
    count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    count.load(Ordering::Relaxed)
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
mod tests;
