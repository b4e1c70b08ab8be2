//! What the device under the files gave at most, where a load shows it.

use std::collections::BTreeMap;

use super::options::Job;
use crate::record::{CaseResult, Ceiling, LoadModel};

/// The rates of the kinds of operations that only the device can have answered: reads past the page cache, writes that
/// are durable or past it, syncs of which each had something to write. None of a load at a rate, which says how much
/// was asked.
pub(super) fn of_device(job: &Job, result: &CaseResult) -> BTreeMap<String, Ceiling> {
    if result.load.model == LoadModel::Open || result.seconds <= 0.0 {
        return BTreeMap::new();
    }
    let direct = job.flags.is_direct();
    let kinds = [
        ("read", direct, Some(result.bytes_read)),
        ("write", direct || job.flags.are_durable() || job.fsync_all, Some(result.bytes_written)),
        ("fsync", job.syncs_each_write(), None),
    ];
    let shown = kinds.into_iter().filter(|(_, shown, _)| *shown);
    let ceiling = |(kind, _, bytes): (&str, bool, Option<u64>)| {
        let count = result.by_operation.get(kind)?.count;
        let a_second = |number: u64| number as f64 / result.seconds;
        let ceiling =
            Ceiling { operations_per_second: a_second(count), bytes_per_second: bytes.map(a_second) };
        Some((kind.to_owned(), ceiling))
    };
    shown.filter_map(ceiling).collect()
}
