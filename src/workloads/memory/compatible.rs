//! Mode `compatible`: what sysbench 1.0.20 does in an event, and what it does between two.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use super::options::{Operation, Options, Order, Scope};
use super::{WORD, buffer};
use crate::driver::random::Random;
use crate::driver::{Failed, Tally, Worker};
use crate::system::{Mapping, read_at_random, store_at_random, store_words_left};
use crate::workloads::books::{Books, Ledger, Xoroshiro};

/// What the threads share.
pub(super) struct Shared<'a> {
    options: &'a Options,
    blocks: Vec<Mapping>,
    ledger: Ledger,
}

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
        Ok(Shared { options, blocks, ledger: Ledger::default() })
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
            books: self.ledger.books(&mut random),
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
        self.books.pass();
        match (self.order, self.operation) {
            (Order::Seq, Operation::Read) => read_in_order(self.words),
            (Order::Seq, Operation::Write) => store_words_left(self.words),
            (Order::Seq, Operation::None | Operation::Copy) => touch_nothing(self.words),
            (Order::Rnd, Operation::Read) => read_at_random(self.words, self.random.state()),
            (Order::Rnd, Operation::Write) => store_at_random(self.words, self.random.state()),
            (Order::Rnd, Operation::None | Operation::Copy) => draw_only(self.words, &mut self.random),
        }
        self.books.pass();
        match self.operation {
            Operation::Read => tally.read_bytes(bytes),
            Operation::Write => tally.written_bytes(bytes),
            Operation::None | Operation::Copy => {}
        }
        Ok(())
    }

    fn is_numbered(&self) -> bool {
        false
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

#[inline(never)]
fn draw_only(words: &[AtomicU64], random: &mut Xoroshiro) {
    for _ in words {
        black_box(random.bits());
    }
}
