//! The table of metrics, in sections of one file each.

mod ceilings;
mod database;
mod host;
mod host_devices;
mod host_memory;
mod host_peaks;
mod inventory;
mod live;
mod own;
mod results;
mod runs;

use super::family::Family;

/// A part of the table.
#[derive(Debug)]
pub struct Section {
    /// What its metrics are about.
    pub title: &'static str,
    /// What holds for all of them.
    pub about: &'static str,
    /// The metrics.
    pub families: &'static [Family],
}

/// The table of metrics.
pub const SECTIONS: &[Section] = &[
    Section { title: "Build, configuration and self", about: "", families: own::FAMILIES },
    Section { title: "Scheduler", about: "", families: runs::SCHEDULER },
    Section {
        title: "Runs",
        about: "Counters exist from start with value 0 for every configured suite, so that increase() sees the first event.",
        families: runs::RUNS,
    },
    Section {
        title: "Safety",
        about: "All counters exist from start with value 0, those of guards for each that applies to a configured suite.",
        families: runs::SAFETY,
    },
    Section {
        title: "Last result of each case",
        about: "Values survive a restart. They change once per run: use them as they are or with last_over_time, never with rate().",
        families: results::FAMILIES,
    },
    Section {
        title: "Ceilings",
        about: "What the devices under targets can do at least: the most that a load of fileio got of them.",
        families: ceilings::FAMILIES,
    },
    Section {
        title: "Live, while a case runs",
        about: "They exist from the start of the measured part until 60 s after its end, for at most two cases. Each case \
                starts at 0: rate() and histogram_quantile() work across runs.",
        families: live::FAMILIES,
    },
    Section {
        title: "Host counters",
        about: "Suffixes and labels are node_exporter's: replace `node_` by `benchd_host_`.",
        families: host::FAMILIES,
    },
    Section { title: "Disks of the host", about: "", families: host_devices::DISKS },
    Section { title: "Network of the host", about: "", families: host_devices::NETWORK },
    Section { title: "Memory of the host", about: "", families: host_memory::FAMILIES },
    Section {
        title: "Host peaks",
        about: "Histograms count the sampler's samples (one a sample and device, so seconds at the default interval): nothing \
                is lost between scrapes and two Prometheus servers see the same. `_max` gauges are the largest sample in \
                the trailing window; windows are sample.peak_windows. Disks are those under a target, the store, / and \
                sample.filesystems; all of them with sample.peaks = \"all\".",
        families: host_peaks::FAMILIES,
    },
    Section {
        title: "Database",
        about: "One set a target of kind server, from one persistent connection, cached: asked at sample.database_interval, each \
                second while a run uses the target. Names work alike for MySQL and MariaDB. All but `up` are absent while \
                the server does not answer. What an account may not see is absent too, and said in the log.",
        families: database::FAMILIES,
    },
    Section { title: "InnoDB of the database", about: "", families: database::INNODB },
    Section { title: "Inventory", about: "", families: inventory::FAMILIES },
];

/// Every metric of the table.
pub fn families() -> impl Iterator<Item = &'static Family> {
    SECTIONS.iter().flat_map(|section| section.families)
}

/// Seconds since the Unix epoch.
fn unix_seconds(at: jiff::Timestamp) -> f64 {
    at.as_duration().as_secs_f64()
}

/// 1 for yes, 0 for no.
fn flag(value: bool) -> f64 {
    f64::from(u8::from(value))
}
