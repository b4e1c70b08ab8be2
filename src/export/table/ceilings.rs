//! What the devices under targets gave at most.

use super::super::family::{BYTES_RATE, Family, Points, RATE, TIME};
use super::super::snapshot::Snapshot;
use super::unix_seconds;
use crate::record::Ceiling;

pub(super) const FAMILIES: &[Family] = &[
    Family::new(
        "benchd_ceiling_operations_per_second",
        RATE,
        &["target", "operation"],
        "Highest fileio rate measured on the target's device in 30 days: read, write, fsync. Only of loads that nothing \
         but the device can have answered.",
        ("records", "never measured"),
        |now, out| ceilings(now, out, |ceiling| Some(ceiling.operations_per_second)),
    ),
    Family::new(
        "benchd_ceiling_bytes_per_second",
        BYTES_RATE,
        &["target", "operation"],
        "Highest fileio bandwidth measured on the target's device, same rule.",
        ("records", "never measured"),
        |now, out| ceilings(now, out, |ceiling| ceiling.bytes_per_second),
    ),
    Family::new(
        "benchd_ceiling_timestamp_seconds",
        TIME,
        &["target"],
        "Unix time at which the ceilings were last measured.",
        ("records", "never measured"),
        |now, out| now.ceilings.iter().for_each(|one| out.add(&[&one.target], unix_seconds(one.measured))),
    ),
];

fn ceilings(now: &Snapshot, out: &mut Points, value: fn(&Ceiling) -> Option<f64>) {
    for one in &now.ceilings {
        for (operation, ceiling) in &one.by_operation {
            out.add_known(&[&one.target, operation], value(ceiling));
        }
    }
}
