//! The parts of a load: a warm-up, and what is measured after it without a gap.
//!
//! An operation belongs to the part of its intended start, in closed loop of its send. So what was intended in
//! the warm-up never counts in the measured part: an operation under way at the boundary counts in neither, and
//! arrivals of an open loop that are overdue there are dropped.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hdrhistogram::Histogram;

use super::buckets::Layout;
use super::schedule::Schedule;
use super::tally::Counts;
use super::{Pace, Plan};

/// Number of the first operation of a warm-up: those of the measured part are the same with and without one.
const WARM_UP_OPERATIONS: u64 = 1 << 62;

/// What all clients write, apart from the lines of the cache that they only read.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Apart<T>(pub(super) T);

/// One part of a load.
pub(super) struct Part {
    /// Whether it is only shown and never counted.
    pub(super) warm_up: bool,
    /// From the start of the load to that of this part, in nanoseconds.
    pub(super) from: u64,
    /// From the start of the load to the end of this part; `u64::MAX` is no limit by time.
    pub(super) to: u64,
    /// The number of its first operation.
    pub(super) first_operation: u64,
    /// Operations over all clients; `u64::MAX` is no limit by number.
    pub(super) operations: u64,
    /// Operations of each client; `u64::MAX` is no limit by number.
    pub(super) operations_each: u64,
    /// How many operations clients have taken; where their order is not [needed](Part::needs_order), some of them
    /// ahead.
    pub(super) taken: Apart<AtomicU64>,
    /// Intended starts; `None` in closed loop.
    pub(super) schedule: Option<Schedule>,
    /// How response times are kept.
    pub(super) layout: Layout,
    /// What each client counts.
    pub(super) counts: Vec<Arc<Counts>>,
}

impl Part {
    /// Whether clients have to take operations one by one: their number ends the part, or says when each starts.
    pub(super) fn needs_order(&self) -> bool {
        self.operations < u64::MAX || self.schedule.is_some()
    }

    /// The parts of a plan in order; the measured one is the last.
    pub(super) fn all(plan: &Plan, histogram: &Histogram<u64>) -> Vec<Part> {
        let boundary = nanoseconds(plan.warm_up.duration());
        let mut parts = Vec::new();
        if boundary > 0 {
            parts.push(Part {
                warm_up: true,
                to: boundary,
                first_operation: WARM_UP_OPERATIONS,
                schedule: Schedule::new(plan.pace, plan.seed, 1),
                ..Part::new(plan, Layout::coarse(histogram), &|| Counts::brief(Layout::coarse(histogram)))
            });
        }
        let time = nanoseconds(plan.time.duration());
        let (fine, coarse) = (Layout::fine(histogram), Layout::coarse(histogram));
        let open = plan.pace != Pace::FlatOut;
        parts.push(Part {
            from: boundary,
            to: if time == 0 { u64::MAX } else { boundary.saturating_add(time) },
            operations: limit(plan.operations),
            operations_each: limit(plan.operations_each),
            ..Part::new(plan, fine, &|| Counts::full(fine, coarse, open, plan.kinds))
        });
        parts
    }

    fn new(plan: &Plan, layout: Layout, counts: &dyn Fn() -> Counts) -> Part {
        Part {
            warm_up: false,
            from: 0,
            to: u64::MAX,
            first_operation: 0,
            operations: u64::MAX,
            operations_each: u64::MAX,
            taken: Apart::default(),
            schedule: Schedule::new(plan.pace, plan.seed, 0),
            layout,
            counts: (0..plan.clients).map(|_| Arc::new(counts())).collect(),
        }
    }
}

/// A number of operations of a plan, where 0 is no limit.
const fn limit(operations: u64) -> u64 {
    if operations == 0 { u64::MAX } else { operations }
}

/// A duration in nanoseconds, at most 584 years.
pub(super) fn nanoseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
