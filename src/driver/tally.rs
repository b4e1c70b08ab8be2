//! What one client counts, written by it alone and read by the reporter while the load runs.
//!
//! Every number only grows and has one writer, so a plain load and store count, no client is ever stopped or
//! asked for anything, and an interval is the difference of two readings. The sum of the intervals is the whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::record::Statements;

use super::buckets::{Buckets, Layout};
use super::codes::Codes;
use super::{ErrorCode, Kinds, clock};
use crate::system::prefetch;

/// What a client counts of its operations.
#[derive(Debug, Default)]
pub struct Tally {
    counts: Arc<Counts>,
    /// When the present operation should have started, when its client was free for it, and when it started.
    present: Deferred,
    /// Whether the present operation ends later.
    deferred: bool,
}

/// An operation that was begun and is not over: a request that the system works on while the client goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deferred {
    intended: Option<u64>,
    free: u64,
    sent: u64,
}

/// The numbers behind a tally; aligned so that clients do not share cache lines, and in an order that has what every
/// operation touches in the first two of them.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub(super) struct Counts {
    pub(super) response: Buckets,
    pub(super) sent: Count,
    read: Count,
    write: Count,
    other: Count,
    pub(super) open: Option<Box<OpenLoop>>,
    pub(super) kinds: Box<[KindCounts]>,
    pub(super) failed: Count,
    pub(super) retried: Count,
    pub(super) bytes_read: Count,
    pub(super) bytes_written: Count,
    pub(super) fsyncs: Count,
    pub(super) codes: Codes,
    /// Times until operations failed for good.
    pub(super) error: Buckets,
    /// CPU time of the client's thread, and the time it took, in nanoseconds; told at its end.
    pub(super) cpu: Count,
    pub(super) wall: Count,
    /// One more than the intended start of the arrival that the client took last and did not send; 0 is none.
    unsent: Count,
}

/// One kind of operations that is told apart.
#[derive(Debug)]
pub(super) struct KindCounts {
    pub(super) count: Count,
    /// Their times; without buckets where kinds are only counted.
    pub(super) times: Option<Buckets>,
}

/// What differs from the response time only in open loop.
#[derive(Debug)]
pub(super) struct OpenLoop {
    pub(super) service: Buckets,
    pub(super) lag: Buckets,
    /// The part of the lag in which the client was free: what the generator alone is to blame for.
    pub(super) late: Buckets,
}

/// A number with one writer.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

/// When an operation should have started, when its client was free for it, when it started, and when it ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timing {
    pub(super) intended: Option<u64>,
    pub(super) free: u64,
    pub(super) sent: u64,
    pub(super) end: u64,
}

impl Count {
    pub(super) fn add_one(&self) {
        self.add(1);
    }

    pub(super) fn add(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }

    pub(super) fn set(&self, number: u64) {
        self.0.store(number, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Tally {
    /// Counts a statement that returned a result set.
    pub fn read(&mut self) {
        self.counts.read.add_one();
    }

    /// Counts a statement that changed rows.
    pub fn write(&mut self) {
        self.counts.write.add_one();
    }

    /// Counts any other statement.
    pub fn other(&mut self) {
        self.counts.other.add_one();
    }

    /// Counts bytes that were read.
    pub fn read_bytes(&mut self, bytes: u64) {
        self.counts.bytes_read.add(bytes);
    }

    /// Counts bytes that were written.
    pub fn written_bytes(&mut self, bytes: u64) {
        self.counts.bytes_written.add(bytes);
    }

    /// Counts an answered request to make written data durable.
    pub fn fsync(&mut self) {
        self.counts.fsyncs.add_one();
    }

    /// Begins to fetch the memory that the end of an operation counts in, while something else is done.
    #[inline]
    pub fn fetch(&self) {
        prefetch(&self.counts.response);
    }

    /// The instant at which something of a kind begins; 0, at no cost, where kinds are not timed.
    #[inline]
    pub fn begin(&self) -> u64 {
        if self.counts.kinds.first().is_some_and(|kind| kind.times.is_some()) { clock::now() } else { 0 }
    }

    /// Counts something of a kind that began at the instant and is over now.
    #[inline]
    pub fn done(&mut self, kind: usize, began: u64) {
        let Some(kind) = self.counts.kinds.get(kind) else { return };
        kind.count.add_one();
        if let Some(times) = &kind.times {
            times.record(clock::now().saturating_sub(began));
        }
    }

    /// The present operation goes on after its step: it counts when it is told to have [`ended`](Tally::ended).
    pub fn defer(&mut self) -> Deferred {
        self.deferred = true;
        self.present
    }

    /// Counts an operation of a kind that was deferred and is over now.
    pub fn ended(&mut self, operation: Deferred, kind: usize) {
        let Deferred { intended, free, sent } = operation;
        self.done(kind, sent);
        self.completed(Timing { intended, free, sent, end: clock::now() });
    }

    /// Counts an attempt that failed and is tried again inside the operation.
    pub fn retry(&mut self, code: ErrorCode) {
        self.counts.retried.add_one();
        self.counts.codes.count(code);
    }

    /// The statements counted so far.
    pub fn statements(&self) -> Statements {
        self.counts.statements()
    }

    /// The attempts tried again so far.
    pub fn retried(&self) -> u64 {
        self.counts.retried.get()
    }

    pub(super) fn over(counts: &Arc<Counts>) -> Tally {
        Tally { counts: Arc::clone(counts), ..Tally::default() }
    }

    #[inline]
    pub(super) fn sent(&mut self, intended: Option<u64>, free: u64, sent: u64) {
        self.present = Deferred { intended, free, sent };
        self.counts.sent.add_one();
    }

    /// Whether the present operation ends later; asked once.
    #[inline]
    pub(super) fn take_deferred(&mut self) -> bool {
        std::mem::take(&mut self.deferred)
    }

    #[inline]
    pub(super) fn completed(&mut self, timing: Timing) {
        self.counts.response.record(timing.response());
        if let Some(intended) = timing.intended {
            self.completed_due(intended, timing);
        }
    }

    /// What is counted in open loop alone.
    #[inline(never)]
    fn completed_due(&mut self, intended: u64, timing: Timing) {
        if let Some(open) = &self.counts.open {
            open.service.record(timing.end.saturating_sub(timing.sent));
            open.lag.record(timing.sent.saturating_sub(intended));
            open.late.record(timing.sent.saturating_sub(intended.max(timing.free)));
        }
    }

    pub(super) fn failed(&mut self, code: ErrorCode, timing: Timing) {
        self.counts.error.record(timing.response());
        self.counts.failed.add_one();
        self.counts.codes.count(code);
    }

    /// The client ends with an arrival that it took and did not send.
    pub(super) fn leave_unsent(&mut self, intended: u64) {
        self.counts.unsent.set(intended.saturating_add(1));
    }

    /// What the client's thread took of a CPU, and how long it was at it, in nanoseconds.
    pub(super) fn spent(&mut self, cpu: u64, wall: u64) {
        self.counts.cpu.set(cpu);
        self.counts.wall.set(wall);
    }
}

impl Timing {
    fn response(self) -> u64 {
        self.end.saturating_sub(self.intended.unwrap_or(self.sent))
    }
}

impl Counts {
    /// Counts for one client in the warm-up, of which only response times are shown.
    pub(super) fn brief(layout: Layout) -> Counts {
        Counts { response: Buckets::new(layout), ..Counts::default() }
    }

    /// Counts for one client; service and lag only where they are told apart from the response.
    pub(super) fn full(fine: Layout, coarse: Layout, open: bool, kinds: Kinds) -> Counts {
        let times = || kinds.timed.then(|| Buckets::new(fine));
        let kinds = kinds.names.iter().map(|_| KindCounts { count: Count::default(), times: times() });
        Counts {
            response: Buckets::new(fine),
            error: Buckets::new(fine),
            open: open.then(|| {
                let [service, lag] = [fine, fine].map(Buckets::new);
                Box::new(OpenLoop { service, lag, late: Buckets::new(coarse) })
            }),
            kinds: kinds.collect(),
            ..Counts::default()
        }
    }

    /// How many times of operations, completed or failed, were longer than the longest told apart.
    pub(super) fn overflow(&self) -> u64 {
        self.response.overflow() + self.error.overflow()
    }

    /// The intended start of the arrival that the client took and did not send.
    pub(super) fn unsent(&self) -> Option<u64> {
        self.unsent.get().checked_sub(1)
    }

    pub(super) fn statements(&self) -> Statements {
        Statements { read: self.read.get(), write: self.write.get(), other: self.other.get() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_syncs_are_counted_apart() {
        let mut tally = Tally::default();
        tally.read_bytes(4096);
        tally.written_bytes(100);
        tally.written_bytes(28);
        tally.fsync();
        let counts = &tally.counts;
        assert_eq!(
            (counts.bytes_read.get(), counts.bytes_written.get(), counts.fsyncs.get()),
            (4096, 128, 1)
        );
    }

    #[test]
    fn lateness_of_a_client_that_was_free_is_told_apart_from_waiting_for_one() {
        let mut histogram = crate::record::new_histogram().unwrap();
        let coarse = Layout::coarse(&histogram);
        let fine = Layout::fine(&histogram);
        let mut tally = Tally::over(&Arc::new(Counts::full(fine, coarse, true, Kinds::default())));
        tally.completed(Timing { intended: Some(1_000), free: 5_000, sent: 5_010, end: 9_000 });
        tally.completed(Timing { intended: Some(9_500), free: 9_000, sent: 9_520, end: 9_900 });
        let mut longest = |buckets: &Buckets| {
            Buckets::merge(&[buckets], &mut histogram);
            histogram.max()
        };
        let open = tally.counts.open.as_ref().unwrap();
        assert_eq!(longest(&open.late), 20);
        assert!((4_000..4_020).contains(&longest(&open.lag)));
    }

    #[test]
    fn statements_are_counted_by_what_they_did() {
        let mut tally = Tally::default();
        tally.read();
        tally.write();
        tally.write();
        tally.other();
        assert_eq!(tally.statements(), Statements { read: 1, write: 2, other: 1 });
    }
}
