//! Modes `native` and `latency`: what the memory gives, without any bookkeeping.

use std::hint::black_box;

use super::WORD;
use super::options::Operation;
use crate::driver::random::Random;
use crate::driver::{Failed, Tally, Worker};
use crate::system::Mapping;

/// An operation moves at least so many bytes, so that reading the clock costs nothing beside it.
const LEAST: u64 = 16 << 20;

/// Streams through a buffer of its own.
pub(super) struct Stream {
    operation: Operation,
    memory: Mapping,
    /// How often an operation passes over the buffer.
    passes: u64,
}

impl Stream {
    /// Writes to every page, from the thread that will stream.
    pub(super) fn new(operation: Operation, mut memory: Mapping) -> Stream {
        black_box(memory.words_mut()).fill(PATTERN);
        let bytes = memory.words().len() as u64 * WORD;
        Stream { operation, memory, passes: LEAST.div_ceil(bytes.max(1)) }
    }
}

/// All of its bytes are equal, so that a compiler may make the fill of the C library of it; not zero, which some
/// processors do not write to memory.
const PATTERN: u64 = 0x5a5a_5a5a_5a5a_5a5a;

impl Worker for Stream {
    fn step(&mut self, _operation: u64, tally: &mut Tally) -> Result<(), Failed> {
        let words = self.memory.words_mut();
        let bytes = words.len() as u64 * WORD * self.passes;
        for _ in 0..self.passes {
            match self.operation {
                Operation::Write => black_box(&mut *words).fill(PATTERN),
                Operation::Copy => {
                    let half = words.len() / 2;
                    let (from, to) = black_box(&mut *words).split_at_mut(half);
                    to.copy_from_slice(from);
                }
                Operation::Read | Operation::None => {
                    black_box(sum(black_box(words)));
                }
            }
        }
        black_box(words);
        match self.operation {
            Operation::Write => tally.written_bytes(bytes),
            Operation::Copy => {
                tally.read_bytes(bytes / 2);
                tally.written_bytes(bytes / 2);
            }
            Operation::Read | Operation::None => tally.read_bytes(bytes),
        }
        Ok(())
    }
}

/// Each word once, in vectors, and in as many sums as keep a core's loads busy.
#[inline(never)]
fn sum(words: &[u64]) -> u64 {
    let mut sums = [0_u64; 32];
    for chunk in words.chunks_exact(32) {
        for (sum, word) in sums.iter_mut().zip(chunk) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
}

/// Loads of an operation: its time in milliseconds is that of one load in nanoseconds.
const LOADS: u64 = 1_000_000;
/// Words of a cache line, of which one holds the way to the next.
const LINE: usize = 8;

/// Follows pointers from cache line to cache line, each load waiting for the one before.
pub(super) struct Chase {
    memory: Mapping,
    at: u64,
}

impl Chase {
    /// Lays one way through all lines of the buffer, in random order, so that nothing can tell the next one ahead
    /// (Sattolo 1986: one cycle, all equally likely).
    pub(super) fn new(mut memory: Mapping, seed: u64, client: u32) -> Chase {
        let mut random = Random::for_operation(seed, u64::from(client));
        let words = memory.words_mut();
        let lines = words.len() / LINE;
        for line in 0..lines {
            if let Some(next) = words.get_mut(line * LINE) {
                *next = (line * LINE) as u64;
            }
        }
        for line in (1..lines).rev() {
            let other = random.below(line as u64) as usize;
            words.swap(line * LINE, other * LINE);
        }
        Chase { memory, at: 0 }
    }
}

impl Worker for Chase {
    fn step(&mut self, _operation: u64, _tally: &mut Tally) -> Result<(), Failed> {
        let words = self.memory.words_mut();
        for _ in 0..LOADS {
            self.at = words.get(self.at as usize).copied().unwrap_or_default();
        }
        black_box(self.at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_way_meets_every_line_once_before_it_comes_back() {
        for lines in [1, 2, 64, 1000] {
            let mut chase = Chase::new(Mapping::new(lines * LINE, 4096, false).unwrap(), 1, 0);
            let words = chase.memory.words_mut();
            let mut at = 0;
            let met: BTreeSet<u64> = std::iter::repeat_with(|| {
                at = words[at as usize];
                at
            })
            .take(lines)
            .collect();
            assert_eq!((met.len(), at), (lines, 0));
            assert!(met.iter().all(|word| (*word as usize).is_multiple_of(LINE)));
        }
    }

    #[test]
    fn the_way_differs_from_client_to_client_and_is_the_same_again() {
        let way = |client| {
            let mut chase = Chase::new(Mapping::new(512, 4096, false).unwrap(), 7, client);
            chase.memory.words_mut().to_vec()
        };
        assert_eq!(way(0), way(0));
        assert_ne!(way(0), way(1));
    }

    #[test]
    fn a_sum_holds_every_word_of_whole_chunks() {
        let words: Vec<u64> = (0..4096).collect();
        assert_eq!(sum(&words), 4095 * 2048);
    }
}
