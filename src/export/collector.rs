//! The table filled from a snapshot, in the format that was asked for.

use std::sync::LazyLock;

use anyhow::{Context, Result};
use prometheus::TextEncoder;

use super::family::Family;
use super::openmetrics;
use super::snapshot::Snapshot;
use super::table::families;

/// How metrics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Prometheus text format 0.0.4.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// The content type of what [`render`] writes.
    pub const fn content_type(self) -> &'static str {
        match self {
            Format::Text => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The table in the order of names, in which the formats are read most easily.
static SORTED: LazyLock<Vec<&'static Family>> = LazyLock::new(|| {
    let mut sorted: Vec<&Family> = families().collect();
    sorted.sort_by_key(|family| family.name);
    sorted
});

/// The snapshot as text, families in the order of their names.
///
/// # Errors
/// When the table describes a metric that the text format has no word for, which tests rule out.
pub fn render(snapshot: &Snapshot, format: Format) -> Result<String> {
    let filled = SORTED.iter().filter_map(|family| Some((*family, family.collect(snapshot)?)));
    match format {
        Format::Text => {
            let families: Vec<_> = filled.map(|(_, filled)| filled).collect();
            TextEncoder::new().encode_to_string(&families).context("write the metrics as text")
        }
        Format::OpenMetrics => Ok(openmetrics::encode(filled)),
    }
}
