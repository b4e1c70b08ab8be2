//! What is written by hand: a dashboard as rows of panels, with nothing that every panel has alike.

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;

use super::kept;

/// Grafana's width in columns; the panels of a line fill it.
pub(crate) const COLUMNS: u64 = 24;

/// A dashboard.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dashboard {
    pub(crate) uid: String,
    pub(crate) title: String,
    pub(crate) about: String,
    /// The time it opens with, up to now.
    pub(crate) from: String,
    /// Variables beside data source, job and instance, by their names in the table of variables.
    #[serde(default)]
    pub(crate) variables: Vec<String>,
    /// What is marked in all of its graphs, by names in the table of annotations.
    #[serde(default)]
    pub(crate) marks: Vec<String>,
    #[serde(rename = "row")]
    pub(crate) rows: Vec<Row>,
}

/// A heading and the panels below it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) title: String,
    #[serde(rename = "panel")]
    pub(crate) panels: Vec<Panel>,
}

/// How a panel shows its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Lines over time.
    Lines,
    /// Areas on top of each other over time.
    Stack,
    /// Values that change once per run, as steps with points.
    Steps,
    /// The last value in big figures.
    Stat,
    /// The last values as bars beside each other.
    Bars,
    /// The last values in rows.
    Table,
    /// A histogram over time.
    Heat,
    /// What was so from when to when.
    States,
}

/// A panel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Panel {
    pub(crate) title: String,
    /// What it shows and what is good.
    pub(crate) about: String,
    pub(crate) kind: Kind,
    pub(crate) width: u64,
    pub(crate) height: Option<u64>,
    /// Grafana's name of the unit.
    pub(crate) unit: Option<String>,
    pub(crate) decimals: Option<u64>,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    /// Where the axis begins and ends when no value is beyond.
    pub(crate) soft_min: Option<f64>,
    pub(crate) soft_max: Option<f64>,
    /// Each line of the axis is ten times the one below: for values that are far apart.
    #[serde(default)]
    pub(crate) log: bool,
    /// The colour from a value on; below the first it is green, or what `calm` says.
    #[serde(default)]
    pub(crate) thresholds: Vec<(f64, String)>,
    pub(crate) calm: Option<String>,
    /// Draws the thresholds as lines.
    #[serde(default)]
    pub(crate) limits: bool,
    /// Words for values: of one value, its text and its colour.
    #[serde(default)]
    pub(crate) words: Vec<(f64, String, String)>,
    /// What a stat or table says while there is no value.
    pub(crate) none: Option<String>,
    /// The legend names the series only, without mean, highest and last value.
    #[serde(default)]
    pub(crate) plain_legend: bool,
    /// Labels that are columns of a table.
    #[serde(default)]
    pub(crate) labels: Vec<Label>,
    /// Uid of the dashboard that a row of a table leads to.
    pub(crate) leads_to: Option<String>,
    /// Column a table is sorted by, largest first.
    pub(crate) sort: Option<String>,
    pub(crate) queries: Vec<Query>,
}

/// A label that is a column of a table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Label {
    pub(crate) label: String,
    pub(crate) title: String,
    /// In pixels; without it the column takes its share of what is left.
    pub(crate) width: Option<u64>,
}

/// A query; in a table it is also a column.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    /// PromQL, with the short forms of `expand` for matchers.
    pub(crate) expr: String,
    /// Name of the series, or heading of the column.
    pub(crate) legend: String,
    /// Shortest step, where the data source's is too long.
    pub(crate) step: Option<String>,
    pub(crate) unit: Option<String>,
    pub(crate) decimals: Option<u64>,
    pub(crate) width: Option<u64>,
    /// How a cell is drawn: `gauge`, or `background` and `text` in the colours of the thresholds.
    pub(crate) cell: Option<String>,
    #[serde(default)]
    pub(crate) thresholds: Vec<(f64, String)>,
    pub(crate) calm: Option<String>,
    #[serde(default)]
    pub(crate) words: Vec<(f64, String, String)>,
}

/// All dashboards as they are written.
pub(crate) fn all() -> Vec<(String, Dashboard)> {
    let read = |(name, path): (String, PathBuf)| {
        let text = fs::read_to_string(&path).unwrap();
        let dashboard = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (name, dashboard)
    };
    kept::files("source", "toml").into_iter().map(read).collect()
}
