//! The metric table as a page of the documentation.

use std::fmt::Write as _;

use super::family::Family;
use super::table::SECTIONS;

const INTRODUCTION: &str = "\
# Metrics

Every metric of `/metrics`, from the table that registers them. Ratios are 0 to 1, times are seconds, sizes are bytes.

* What is not known has no series; a value is never 0 for \"not known\". A device, case or suite that goes away takes
  its series along.
* **K** stands for the labels of a case: `suite`, `case`, `workload`, `target` (no `target` for a workload of the host
  itself). All other parameters of a case are in `benchd_case_info`, to be joined on `suite` and `case`.
* Counters of a configured suite or guard exist from start with 0. Run ids are never labels.
* Raw counters of the host are read when they are scraped; filesystems and facts are cached, and
  `benchd_collector_last_success_timestamp_seconds` says since when.
";

/// `docs/metrics.md`.
pub fn document() -> String {
    let mut page = INTRODUCTION.to_owned();
    for section in SECTIONS {
        // Writing to a String cannot fail.
        let _ = write!(page, "\n## {}\n\n", section.title);
        if !section.about.is_empty() {
            let _ = write!(page, "{}\n\n", section.about);
        }
        page.push_str(
            "| name | type, unit | labels | help | source | absent when |\n|---|---|---|---|---|---|\n",
        );
        section.families.iter().for_each(|family| page.push_str(&row(family)));
    }
    page
}

fn row(family: &Family) -> String {
    let Family { name, kind, unit, help, source, absent, .. } = family;
    let kind = kind.as_str();
    format!("| `{name}` | {kind}, {unit} | {} | {help} | {source} | {absent} |\n", labels(family.labels))
}

fn labels(names: &[&str]) -> String {
    let rest = names.strip_prefix(&["suite", "case", "workload", "target"]);
    let mut words: Vec<&str> = rest.map_or_else(Vec::new, |_| vec!["**K**"]);
    words.extend(rest.unwrap_or(names));
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}
