//! Mode `compatible`: what sysbench 1.0.20 does in an event, and what it does between two.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence};
use std::time::Instant;

use super::options::{Operation, Options, Order, Scope};
use super::{WORD, buffer};
use crate::driver::random::Random;
use crate::driver::{Failed, Tally, Worker};
use crate::system::{Mapping, store_words_left};

/// What the threads share.
pub(super) struct Shared<'a> {
    options: &'a Options,
    blocks: Vec<Mapping>,
    slots: Box<[Slot]>,
}

/// A count that threads meet at random, on a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Slot(AtomicU64);

/// As many counts as sysbench spreads its histogram over.
const SLOTS: u64 = 128;

impl Shared<'_> {
    /// Takes the blocks and writes to every page of them before any thread runs, as sysbench does: they lie on the
    /// NUMA node of the calling thread.
    pub(super) fn new(options: &Options, threads: u32) -> anyhow::Result<Shared<'_>> {
        let count = if options.scope == Scope::Global { 1 } else { threads };
        let mut blocks = Vec::new();
        for _ in 0..count {
            let mut block = buffer(options.block_size.get(), options.huge_pages)?;
            black_box(block.words_mut()).fill(0);
            blocks.push(block);
        }
        Ok(Shared { options, blocks, slots: (0..SLOTS).map(|_| Slot::default()).collect() })
    }

    pub(super) fn worker(&self, client: u32, seed: u64) -> anyhow::Result<Passes<'_>> {
        let of_client = if self.options.scope == Scope::Global { 0 } else { client as usize };
        let block =
            self.blocks.get(of_client).ok_or_else(|| anyhow::anyhow!("client {client} has no block"))?;
        let mut random = Random::for_operation(seed, u64::from(client));
        Ok(Passes {
            words: block.words(),
            operation: self.options.operation,
            order: self.options.access,
            random: Xoroshiro::new([random.bits(), random.bits()]),
            books: Books {
                slots: &self.slots,
                random: Xoroshiro::new([random.bits(), random.bits()]),
                lock: Lock::default(),
                last: Instant::now(),
                sum: 0.0,
            },
        })
    }
}

/// One thread's passes over its block.
pub(super) struct Passes<'a> {
    words: &'a [AtomicU64],
    operation: Operation,
    order: Order,
    random: Xoroshiro,
    books: Books<'a>,
}

impl Worker for Passes<'_> {
    #[inline(always)]
    fn step(&mut self, _operation: u64, tally: &mut Tally) -> Result<(), Failed> {
        let bytes = self.words.len() as u64 * WORD;
        match (self.order, self.operation) {
            (Order::Seq, Operation::Read) => read_in_order(self.words),
            (Order::Seq, Operation::Write) => store_words_left(self.words),
            (Order::Seq, Operation::None | Operation::Copy) => touch_nothing(self.words),
            (Order::Rnd, operation) => at_random(self.words, &mut self.random, operation),
        }
        match self.operation {
            Operation::Read => tally.read_bytes(bytes),
            Operation::Write => tally.written_bytes(bytes),
            Operation::None | Operation::Copy => {}
        }
        Ok(())
    }

    #[inline(always)]
    fn between(&mut self) {
        self.books.keep();
    }
}

// Every access below is a relaxed atomic one: exactly one 8-byte instruction a word, which no compiler may join to a
// vector or leave out.

#[inline(never)]
fn read_in_order(words: &[AtomicU64]) {
    for word in words {
        word.load(Ordering::Relaxed);
    }
}

#[inline(never)]
fn touch_nothing(words: &[AtomicU64]) {
    for _ in words {
        compiler_fence(Ordering::SeqCst);
    }
}

/// As many words as the block has, each anywhere in it.
#[inline(never)]
fn at_random(words: &[AtomicU64], random: &mut Xoroshiro, operation: Operation) {
    let count = words.len() as f64;
    match operation {
        Operation::Read => (0..words.len()).for_each(|_| {
            if let Some(word) = words.get(random.below(count)) {
                word.load(Ordering::Relaxed);
            }
        }),
        Operation::Write => (0..words.len()).for_each(|number| {
            if let Some(word) = words.get(random.below(count)) {
                word.store(number as u64 * WORD, Ordering::Relaxed);
            }
        }),
        Operation::None | Operation::Copy => (0..words.len()).for_each(|_| {
            black_box(random.bits());
        }),
    }
}

/// The generator of sysbench (xoroshiro128+ by Blackman and Vigna, 2016), kept in memory from step to step as there.
struct Xoroshiro([AtomicU64; 2]);

impl Xoroshiro {
    fn new(seed: [u64; 2]) -> Xoroshiro {
        Xoroshiro(seed.map(AtomicU64::new))
    }

    #[inline(always)]
    fn bits(&mut self) -> u64 {
        let [a, b] = &self.0;
        let (first, second) = (a.load(Ordering::Relaxed), b.load(Ordering::Relaxed));
        let mixed = first ^ second;
        a.store(first.rotate_left(55) ^ mixed ^ (mixed << 14), Ordering::Relaxed);
        b.store(mixed.rotate_left(36), Ordering::Relaxed);
        first.wrapping_add(second)
    }

    /// A number of [0, 1).
    #[inline(always)]
    fn uniform(&mut self) -> f64 {
        f64::from_bits((self.bits() >> 12) | 1.0_f64.to_bits()) - 1.0
    }

    /// A whole number of [0, count).
    #[inline(always)]
    fn below(&mut self, count: f64) -> usize {
        (self.uniform() * count) as i64 as usize
    }
}

/// What sysbench does for each event beside the event: a third reading of the clock, a timer of the thread locked
/// twice, the logarithm of the time for its histogram, and one of 128 shared counts. At 1 KiB this is most of the
/// number, so a comparable one needs it too.
struct Books<'a> {
    slots: &'a [Slot],
    random: Xoroshiro,
    lock: Lock,
    last: Instant,
    sum: f64,
}

#[derive(Default)]
#[repr(align(64))]
struct Lock(AtomicBool);

impl Lock {
    /// Nobody else ever holds it.
    #[inline(always)]
    fn pass(&self) {
        while self.0.swap(true, Ordering::Acquire) {}
        self.0.store(false, Ordering::Release);
    }
}

impl Books<'_> {
    #[inline(always)]
    fn keep(&mut self) {
        let now = Instant::now();
        self.lock.pass();
        self.lock.pass();
        let nanoseconds = now.duration_since(self.last).as_nanos() as u64;
        self.last = now;
        self.sum += black_box((nanoseconds as f64 / 1e6).ln());
        let slot = self.random.bits() % SLOTS;
        if let Some(slot) = self.slots.get(slot as usize) {
            slot.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}
