//! The table as a collector of the `prometheus` crate, and its text.

use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Registry, TextEncoder};

use super::snapshot::Snapshot;
use super::table::families;

/// The content type of [`render`]'s text: Prometheus text format 0.0.4.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the registry asks for before it takes the collector: its families by name.
static DESCRIPTIONS: LazyLock<Vec<Desc>> = LazyLock::new(|| {
    let described = families().map(|family| {
        let labels = family.labels.iter().map(|label| (*label).to_owned()).collect();
        Desc::new(family.name.to_owned(), family.help.to_owned(), labels, std::collections::HashMap::new())
    });
    described.filter_map(Result::ok).collect()
});

/// How many families the registry can be told of: all of them, unless a name or label is impossible.
#[cfg(test)]
pub(super) fn descriptions() -> usize {
    DESCRIPTIONS.len()
}

/// The one collector: every family of the table, read off one snapshot.
struct Table(Arc<Snapshot>);

impl Collector for Table {
    fn desc(&self) -> Vec<&Desc> {
        DESCRIPTIONS.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        families().filter_map(|family| family.collect(&self.0)).collect()
    }
}

/// The snapshot in the text format 0.0.4, families in the order of their names.
///
/// # Errors
/// When the table describes a metric that Prometheus would not take, which tests rule out.
pub fn render(snapshot: Arc<Snapshot>) -> Result<String> {
    let registry = Registry::new();
    registry.register(Box::new(Table(snapshot))).context("register the metric table")?;
    TextEncoder::new().encode_to_string(&registry.gather()).context("write the metrics as text")
}
