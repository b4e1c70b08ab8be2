//! What sysbench 1.0.20 does for each event beside the event. Where an event takes less than some microseconds this is a
//! part of the number, so a comparable one needs it too.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::driver::random::Random;

/// The counts that all threads share.
pub(super) struct Ledger(Box<[Slot]>);

/// A count that threads meet at random, on a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Slot(AtomicU64);

/// As many counts as sysbench spreads its histogram over.
const SLOTS: u64 = 128;

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger((0..SLOTS).map(|_| Slot::default()).collect())
    }
}

impl Ledger {
    /// The books of one thread.
    pub(super) fn books(&self, random: &mut Random) -> Books<'_> {
        Books {
            slots: &self.0,
            random: Xoroshiro::new([random.bits(), random.bits()]),
            lock: Lock::default(),
            last: Instant::now(),
            sum: 0.0,
        }
    }
}

/// A timer of the thread that is locked before an event and after it, a third reading of the clock, the logarithm of
/// the time for the histogram, and one of the shared counts. Each stands at its place: the lock behind an event waits
/// until all of the event's stores have reached the cache.
pub(super) struct Books<'a> {
    slots: &'a [Slot],
    random: Xoroshiro,
    lock: Lock,
    last: Instant,
    sum: f64,
}

impl Books<'_> {
    /// Before an event, and after it.
    #[inline(always)]
    pub(super) fn pass(&self) {
        self.lock.pass();
    }

    /// Between two events.
    #[inline(always)]
    pub(super) fn keep(&mut self) {
        let now = Instant::now();
        let nanoseconds = now.duration_since(self.last).as_nanos() as u64;
        self.last = now;
        self.sum += black_box((nanoseconds as f64 / 1e6).ln());
        self.count();
    }

    /// Between two events of a workload that itself does more than sysbench between them: one of the shared counts.
    #[inline(always)]
    pub(super) fn count(&mut self) {
        let slot = self.random.bits() % SLOTS;
        if let Some(slot) = self.slots.get(slot as usize) {
            slot.0.fetch_add(1, Ordering::Relaxed);
        }
    }
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

/// The generator of sysbench (xoroshiro128+ by Blackman and Vigna, 2016), kept in memory from step to step as there.
pub(super) struct Xoroshiro([AtomicU64; 2]);

impl Xoroshiro {
    pub(super) fn new(seed: [u64; 2]) -> Xoroshiro {
        Xoroshiro(seed.map(AtomicU64::new))
    }

    #[inline(always)]
    pub(super) fn bits(&mut self) -> u64 {
        let [a, b] = &self.0;
        let (first, second) = (a.load(Ordering::Relaxed), b.load(Ordering::Relaxed));
        let mixed = first ^ second;
        a.store(first.rotate_left(55) ^ mixed ^ (mixed << 14), Ordering::Relaxed);
        b.store(mixed.rotate_left(36), Ordering::Relaxed);
        first.wrapping_add(second)
    }

    /// What a loop of its own draws from.
    pub(super) fn state(&self) -> &[AtomicU64; 2] {
        &self.0
    }
}
