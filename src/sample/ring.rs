//! The last minutes of samples, kept as differences.
//!
//! A plain sample takes 1.3 KiB for a host with 2 CPUs, a disk and 2 network cards, and 10 KiB for one with 128
//! CPUs; at 10 samples a second, 15 minutes of them would be nearly all that the daemon may take. Most numbers
//! hardly change from one sample to the next, so a block holds its first sample whole and of each later one the
//! differences, as variable-length integers: about 160 bytes for the small host.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;

use super::raw::{Moment, Sample};

/// Samples in a block.
const BLOCK: usize = 64;

/// What all blocks may take together, whatever the configured length.
const MAX_BYTES: usize = 4 << 20;

/// Samples in the order they were taken.
pub(super) struct Ring {
    nanos: u64,
    blocks: VecDeque<Arc<Block>>,
    /// The numbers of the newest sample, which the next one is compared with.
    last: Vec<u64>,
}

/// A first sample and the differences of those after it.
#[derive(Clone)]
pub(super) struct Block {
    first: Arc<Sample>,
    differences: Vec<u8>,
    count: usize,
    /// When the newest sample was taken, on the clock that never goes back.
    newest: Moment,
    /// The range of wall-clock times, which may be set back in between.
    earliest: Timestamp,
    latest: Timestamp,
    bytes_of_first: usize,
}

impl Ring {
    /// A ring that covers so many nanoseconds.
    pub(super) fn new(nanos: u64) -> Ring {
        Ring { nanos, blocks: VecDeque::new(), last: Vec::new() }
    }

    /// Changes what the ring covers; what is too old goes with the next sample.
    pub(super) fn cover(&mut self, nanos: u64) {
        self.nanos = nanos;
    }

    /// Adds the newest sample and forgets what is older than the ring's length.
    pub(super) fn push(&mut self, sample: &Arc<Sample>) {
        let numbers = numbers(sample);
        match self.blocks.back_mut() {
            Some(block) if block.count < BLOCK && block.first.same_shape(sample) => {
                Arc::make_mut(block).append(&self.last, &numbers, sample);
            }
            newest => {
                if let Some(block) = newest {
                    Arc::make_mut(block).differences.shrink_to_fit();
                }
                self.blocks.push_back(Arc::new(Block::new(sample, numbers.len())));
            }
        }
        self.last = numbers;
        self.forget(sample.moment);
    }

    fn forget(&mut self, now: Moment) {
        let oldest = now.nanos().saturating_sub(self.nanos);
        while self.blocks.len() > 1 && (self.blocks[0].newest.nanos() < oldest || self.bytes() > MAX_BYTES) {
            self.blocks.pop_front();
        }
    }

    fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.bytes()).sum()
    }

    /// The blocks as they are now; cheap, so that a reader can take samples out of them in its own time.
    pub(super) fn blocks(&self) -> Vec<Arc<Block>> {
        self.blocks.iter().cloned().collect()
    }
}

impl Block {
    fn new(first: &Arc<Sample>, numbers: usize) -> Block {
        Block {
            first: Arc::clone(first),
            differences: Vec::new(),
            count: 1,
            newest: first.moment,
            earliest: first.at,
            latest: first.at,
            bytes_of_first: size_of::<Sample>() + numbers * size_of::<u64>(),
        }
    }

    fn append(&mut self, last: &[u64], numbers: &[u64], sample: &Sample) {
        for (old, new) in last.iter().zip(numbers) {
            put(&mut self.differences, new.wrapping_sub(*old).cast_signed());
        }
        self.count += 1;
        self.newest = sample.moment;
        self.earliest = self.earliest.min(sample.at);
        self.latest = self.latest.max(sample.at);
    }

    fn bytes(&self) -> usize {
        size_of::<Block>() + self.bytes_of_first + self.differences.capacity()
    }

    /// Adds this block's samples taken between two instants, both included.
    pub(super) fn add_between(&self, from: Timestamp, to: Timestamp, into: &mut Vec<Arc<Sample>>) {
        if self.latest < from || to < self.earliest {
            return;
        }
        let mut add = |sample: Arc<Sample>| {
            if from <= sample.at && sample.at <= to {
                into.push(sample);
            }
        };
        add(Arc::clone(&self.first));
        let mut numbers = numbers(&self.first);
        let mut rest = self.differences.as_slice();
        for _ in 1..self.count {
            for number in &mut numbers {
                *number = number.wrapping_add(take(&mut rest).cast_unsigned());
            }
            add(Arc::new(restored(&self.first, &numbers)));
        }
    }
}

/// Every number of a sample, in the order its shape gives.
fn numbers(sample: &Sample) -> Vec<u64> {
    let mut numbers = Vec::new();
    sample.clone().each_number(&mut |number| numbers.push(*number));
    numbers
}

/// A sample of the same shape with other numbers.
fn restored(shape: &Sample, numbers: &[u64]) -> Sample {
    let mut sample = shape.clone();
    let mut numbers = numbers.iter();
    sample.each_number(&mut |number| {
        if let Some(kept) = numbers.next() {
            *number = *kept;
        }
    });
    sample
}

/// Appends a difference: small ones of either sign take one byte (zigzag and LEB128, as in Protocol Buffers).
fn put(bytes: &mut Vec<u8>, difference: i64) {
    let mut rest = (difference << 1 ^ difference >> 63).cast_unsigned();
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// Takes the next difference off the front.
fn take(bytes: &mut &[u8]) -> i64 {
    let mut folded = 0_u64;
    let mut shift = 0;
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        folded |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    (folded >> 1).cast_signed() ^ -((folded & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::raw::tests::any_sample;
    use crate::sample::raw::{Cpu, CpuTimes, Reading};
    use proptest::prelude::*;

    fn all(ring: &Ring) -> Vec<Arc<Sample>> {
        let mut samples = Vec::new();
        for block in ring.blocks() {
            block.add_between(Timestamp::MIN, Timestamp::MAX, &mut samples);
        }
        samples
    }

    fn at_second(second: i64) -> Arc<Sample> {
        let at = Timestamp::from_second(second).unwrap();
        Arc::new(Sample::empty(at, Moment::from_nanos(second.cast_unsigned() * 1_000_000_000)))
    }

    proptest! {
        #[test]
        fn a_difference_comes_back_as_it_went(difference in any::<i64>()) {
            let mut bytes = Vec::new();
            put(&mut bytes, difference);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(take(&mut rest), difference);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn samples_come_back_as_they_went(samples in proptest::collection::vec(any_sample(), 1..8)) {
            let mut ring = Ring::new(u64::MAX);
            let samples: Vec<_> = samples.into_iter().map(Arc::new).collect();
            samples.iter().for_each(|sample| ring.push(sample));
            prop_assert_eq!(all(&ring), samples);
        }
    }

    #[test]
    fn old_samples_are_forgotten_and_the_asked_range_is_answered() {
        let mut ring = Ring::new(100 * 1_000_000_000);
        (0..1000).for_each(|second| ring.push(&at_second(second)));
        let kept = all(&ring);
        assert!((101..=101 + BLOCK).contains(&kept.len()), "{}", kept.len());
        assert_eq!(kept.last().unwrap().at, Timestamp::from_second(999).unwrap());
        let mut some = Vec::new();
        let (from, to) = (Timestamp::from_second(950).unwrap(), Timestamp::from_second(960).unwrap());
        ring.blocks().iter().for_each(|block| block.add_between(from, to, &mut some));
        assert_eq!(some.len(), 11);
    }

    #[test]
    fn memory_is_bounded_whatever_is_configured() {
        let mut ring = Ring::new(u64::MAX);
        let one_block_each = |second: i64| {
            let cpu = Cpu { cpus: vec![CpuTimes::default(); 500 + second as usize % 2], ..Cpu::default() };
            let mut sample = Sample::clone(&at_second(second));
            sample.cpu = Some(Reading { moment: sample.moment, values: cpu });
            Arc::new(sample)
        };
        (0..300).for_each(|second| ring.push(&one_block_each(second)));
        assert!(ring.bytes() <= MAX_BYTES, "{}", ring.bytes());
        assert!((100..150).contains(&ring.blocks.len()), "{}", ring.blocks.len());
        assert_eq!(ring.blocks.back().unwrap().first.at, Timestamp::from_second(299).unwrap());
    }
}
