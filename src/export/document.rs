//! The metric table as a page of the documentation.

use std::fmt::Write as _;

use super::estimate::Shape;
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

/// What adds series.
pub(super) struct Growth {
    /// In words.
    what: &'static str,
    /// How many each.
    pub(super) series: usize,
    /// How many of it there are.
    pub(super) number: fn(&Shape) -> usize,
}

const fn each(what: &'static str, series: usize, number: fn(&Shape) -> usize) -> Growth {
    Growth { what, series, number }
}

/// What adds series, and how many each; a test counts them.
pub(super) const GROWTH: &[Growth] = &[
    each("nothing but the program and its host", 119, |_| 1),
    each("collector", 2, |shape| shape.collectors),
    each("collector whose values are cached, in addition", 1, |shape| shape.cached_collectors),
    each("guard that can refuse runs, or that can end them", 1, |shape| shape.guards),
    each("CPU, up to sample.per_cpu_limit; beyond it 8 in all", 8, |shape| shape.cpus),
    each("disk sampled", 16, |shape| shape.disks),
    each("disk with peaks, in addition", 55, |shape| shape.disks_with_peaks),
    each("network card", 10, |shape| shape.networks),
    each("network card whose speed is known, in addition", 23, |shape| shape.networks_with_speed),
    each("filesystem watched", 5, |shape| shape.filesystems),
    each(
        "server target; 2 fewer when it is no replica, 4 fewer when it is not in a unit of this host",
        53,
        |shape| shape.servers,
    ),
    each("suite, with a schedule and a last run that failed", 21, |shape| shape.suites),
    each("case with a last result", 15, |shape| shape.cases),
    each("scratch target that holds data", 1, |shape| shape.scratch),
    each("target whose device fileio has measured", 6, |shape| shape.measured),
    each("disk whose health is known", 4, |shape| shape.disks),
    each("case that is live, at most two", 27, |shape| shape.cases.min(2)),
];

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
    page + &budget()
}

/// How the number of series follows from what there is.
fn budget() -> String {
    let about = "\n## How many series\n\nAt most the sum of this table, once every case has run, with one window of peaks (each further one is a \
                 series more for every `_max` metric); with the configuration as shipped on a host with 2 CPUs at most 800. `benchd check` works \
                 it out for the host it is typed on, and says so when it is more than 5,000.\n\n| each | series |\n|---|---|\n";
    GROWTH
        .iter()
        .fold(about.to_owned(), |page, growth| page + &format!("| {} | {} |\n", growth.what, growth.series))
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
