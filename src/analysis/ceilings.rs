//! What devices gave at most, out of the results that show it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::record::{CaseRecord, Ceiling};

/// The most that was measured on the device under a target.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetCeilings {
    /// The target.
    pub target: String,
    /// The highest rate of each kind of operation, and the highest bandwidth, be they of different results.
    pub by_operation: BTreeMap<String, Ceiling>,
    /// When the newest of those results ended.
    pub measured: Timestamp,
}

/// The ceilings of each target that results show any of, by name.
pub fn ceilings(results: &[CaseRecord]) -> Vec<TargetCeilings> {
    let mut found: BTreeMap<&str, TargetCeilings> = BTreeMap::new();
    for record in results {
        let (Some(target), Some(result)) = (&record.target, &record.result) else { continue };
        if result.ceilings.is_empty() {
            continue;
        }
        let known = found.entry(target).or_insert_with(|| TargetCeilings {
            target: target.clone(),
            by_operation: BTreeMap::new(),
            measured: record.end,
        });
        known.measured = known.measured.max(record.end);
        for (operation, ceiling) in &result.ceilings {
            let most = known.by_operation.entry(operation.clone()).or_insert(*ceiling);
            *most = higher(*most, *ceiling);
        }
    }
    found.into_values().collect()
}

fn higher(one: Ceiling, other: Ceiling) -> Ceiling {
    let bytes = one.bytes_per_second.into_iter().chain(other.bytes_per_second).reduce(f64::max);
    Ceiling {
        operations_per_second: one.operations_per_second.max(other.operations_per_second),
        bytes_per_second: bytes,
    }
}
