//! Whether two cases measure the same, so that a difference says something.

use std::collections::BTreeSet;

use serde_json::Value;

use super::compare::{BENCHMARK, Rounds};
use crate::record::CaseRecord;

/// What a server promises of a commit.
const DURABILITY: [&str; 6] = [
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_log_at_timeout",
    "innodb_doublewrite",
    "sync_binlog",
    "log_bin",
    "wsrep_on",
];
/// Parameters that are never compared across their values: engines promise different things, and another amount of
/// data is another question.
const NEVER: [&str; 8] = ["engine", "tables", "table_size", "files", "total", "rows", "warehouses", "scale"];
/// Facts that tell servers apart without explaining their results.
const PLACES: [&str; 7] =
    ["datadir", "hostname", "port", "server_identity", "version_comment", "path", "open_files_limit"];
/// More differences than this are counted, not named.
const MOST_NAMED: usize = 8;

/// A parameter as text.
pub(super) fn in_words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Why no verdict is given between two cases; `named` are the keys of the table that tells them apart.
pub(super) fn why_not(of: &Rounds<'_>, against: &Rounds<'_>, named: &[&str]) -> Vec<String> {
    let (Some(one), Some(other)) = (of.first(), against.first()) else { return Vec::new() };
    unlike(one, other, named)
}

/// Why no verdict is given between the runs of two sides: each is set against the first.
pub(super) fn of_sides(of: &Rounds<'_>, against: &Rounds<'_>) -> Vec<String> {
    let Some(first) = against.first() else { return Vec::new() };
    let mut why = Vec::new();
    for reason in against.records.iter().chain(&of.records).flat_map(|record| unlike(record, first, &[])) {
        if !why.contains(&reason) {
            why.push(reason);
        }
    }
    why
}

/// In what two records do not measure the same.
fn unlike(one: &CaseRecord, other: &CaseRecord, named: &[&str]) -> Vec<String> {
    let mut why = Vec::new();
    let mut differ = |what: &str, one: &str, other: &str| {
        if one != other {
            why.push(format!("{what} differs ({one}, {other})"));
        }
    };
    differ("workload", &one.workload, &other.workload);
    differ("workload revision", &one.revision.to_string(), &other.revision.to_string());
    for (key, value) in &one.parameters {
        let free = named.contains(&key.as_str()) && !NEVER.contains(&key.as_str());
        if let Some(others) = other.parameters.get(key).filter(|_| !free) {
            differ(key, &in_words(value), &in_words(others));
        }
    }
    for fact in DURABILITY {
        if let (Some(one), Some(other)) = (one.target_facts.get(fact), other.target_facts.get(fact)) {
            differ(fact, one, other);
        }
    }
    let model = |record: &CaseRecord| record.result.as_ref().map(|result| result.load.model.as_str());
    if let (Some(one), Some(other)) = (model(one), model(other)) {
        differ("load model", one, other);
    }
    why
}

/// What differs between the servers of some cases as they were read back, beside what tells them apart anyway.
pub(super) fn differs<'a>(records: impl Iterator<Item = &'a CaseRecord>, named: &[&str]) -> Vec<String> {
    let records: Vec<&CaseRecord> = records.filter(|record| !record.target_facts.is_empty()).collect();
    let names: BTreeSet<&str> =
        records.iter().flat_map(|record| record.target_facts.keys().map(String::as_str)).collect();
    let varies = |name: &&str| {
        let values: BTreeSet<Option<&String>> =
            records.iter().map(|record| record.target_facts.get(*name)).collect();
        values.len() > 1
    };
    let told = names
        .into_iter()
        .filter(|name| !PLACES.contains(name) && !named.contains(name) && *name != BENCHMARK);
    let mut differing: Vec<String> = told.filter(varies).map(str::to_owned).collect();
    if differing.len() > MOST_NAMED {
        let more = differing.split_off(MOST_NAMED).len();
        differing.push(format!("{more} more"));
    }
    differing
}
