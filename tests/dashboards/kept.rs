//! The dashboards as they are kept: what Grafana gets.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A folder below `grafana/`.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("grafana").join(name)
}

/// Files of a folder below `grafana/`, sorted by name, without their extension.
pub(crate) fn files(name: &str, extension: &str) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path());
    let wanted = entries.filter(|path| path.extension().is_some_and(|found| found == extension));
    let mut files: Vec<(String, PathBuf)> =
        wanted.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path)).collect();
    files.sort();
    files
}

/// All dashboards.
pub(crate) fn dashboards() -> Vec<(String, Value)> {
    let read = |(name, path): (String, PathBuf)| {
        (name, serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
    };
    files("dashboards", "json").into_iter().map(read).collect()
}

/// The panels of a dashboard but its headings.
pub(crate) fn panels(dashboard: &Value) -> impl Iterator<Item = &Value> {
    dashboard["panels"].as_array().unwrap().iter().filter(|panel| panel["type"] != "row")
}

/// The queries of a panel.
pub(crate) fn targets(panel: &Value) -> impl Iterator<Item = &Value> {
    panel["targets"].as_array().into_iter().flatten()
}

/// The query of each mark.
pub(crate) fn marks(dashboard: &Value) -> impl Iterator<Item = &str> {
    let list = dashboard["annotations"]["list"].as_array().unwrap();
    list.iter().filter_map(|mark| mark["target"]["expr"].as_str())
}

/// A query as Prometheus sees it: variables have a value, those that choose from series all of them.
pub(crate) fn without_variables(query: &str, values: &[(&str, &str)]) -> String {
    let filled = values.iter().fold(query.to_owned(), |query, (name, value)| query.replace(name, value));
    let mut parts = filled.split("\"$");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |done, part| format!("{done}\".+{}", &part[part.find('"').unwrap()..]))
}
