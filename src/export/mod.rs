//! What Prometheus sees: one table of metrics, filled from one snapshot.
//!
//! A metric is one row of [`SECTIONS`]: its name, type, unit, labels and help, where its values come from, when it
//! has none, and the function that reads them off a [`Snapshot`]. The text format, the documentation and the tests
//! follow from that table. A snapshot is plain data, so nothing is read, asked or waited for while it is written.

mod collector;
mod document;
mod estimate;
mod family;
mod openmetrics;
mod snapshot;
mod table;
#[cfg(test)]
mod tests;

pub use collector::{Format, render};
pub use document::document;
pub use estimate::{Shape, estimate};
pub use family::{Family, Kind};
pub use snapshot::{Build, CollectorStatus, LastResult, Reload, SamplerStatus, Snapshot, SuiteStatus};
pub use table::{SECTIONS, Section, families};
