//! All that metrics are made of, at one instant, as plain data.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::analysis::TargetCeilings;
use crate::inventory::{Filesystem, Hardware};
use crate::observe::Observed;
use crate::record::{CaseRecord, Profile, RunRecord};
use crate::run::{LeftOver, LiveCase, SuiteCounters};
use crate::sample::{Peak, Sample, SelfProcess};
use crate::store;
use crate::units::Span;

/// Everything that `/metrics` shows, at one instant. What is not known is absent, never 0.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The running program.
    pub build: Build,
    /// What became of the last reload.
    pub reload: Option<Reload>,
    /// When the certificate of the TCP listeners expires.
    pub certificate_expiry: Option<Timestamp>,
    /// What reads values, and how that went.
    pub collectors: Vec<CollectorStatus>,
    /// The continuous sampler.
    pub sampler: SamplerStatus,
    /// The result store.
    pub store: store::Status,
    /// HTTP requests refused before a handler ran, by reason.
    pub rejected_requests: Vec<(&'static str, u64)>,
    /// Messages logged, by level.
    pub log_messages: Vec<(&'static str, u64)>,
    /// The daemon's own process.
    pub process: Option<SelfProcess>,
    /// The configured suites.
    pub suites: Vec<SuiteStatus>,
    /// Runs refused, by guard; each guard that can refuse a run of a configured suite is there.
    pub blocked_runs: Vec<(String, u64)>,
    /// Runs ended, by guard; each guard that can end a run of a configured suite is there.
    pub aborted_runs: Vec<(String, u64)>,
    /// What earlier runs left and was ended or removed, by kind.
    pub left_over: BTreeMap<LeftOver, u64>,
    /// Runs that wait.
    pub queue_length: usize,
    /// The last result of each configured case.
    pub results: Vec<LastResult>,
    /// Bytes that scratch servers hold, by target; of those that hold any.
    pub scratch: BTreeMap<String, u64>,
    /// What the devices under targets gave at most.
    pub ceilings: Vec<TargetCeilings>,
    /// Cases that are measured now, or were a moment ago.
    pub live: Vec<LiveCase>,
    /// CPU time of all load since the program began, in seconds.
    pub load_cpu_seconds: f64,
    /// Bytes that all load and scratch servers have written since the program began; `None` where the kernel does not
    /// account for them.
    pub load_written_bytes: Option<u64>,
    /// The host's raw counters.
    pub host: Option<Arc<Sample>>,
    /// The host's peaks and distributions, of the disks that are to have some.
    pub peaks: Vec<Peak>,
    /// The servers that are targets, whether they answer or not.
    pub servers: Vec<Observed>,
    /// With more CPUs than this, one set of series stands for all of them.
    pub per_cpu_limit: usize,
    /// Filesystems that hold data of a target, the store or `/`.
    pub filesystems: Vec<Filesystem>,
    /// Facts of the host that explain its numbers.
    pub facts: Arc<BTreeMap<String, String>>,
    /// Facts of its disks and network cards.
    pub hardware: Arc<Hardware>,
    /// CPUs the daemon may use.
    pub cpus: Option<u32>,
}

/// Which program this is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Build {
    /// Version of the program.
    pub version: String,
    /// The commit it was built from; empty when the build did not know it.
    pub revision: String,
    /// The compiler's version; empty when the build did not know it.
    pub rustc: String,
}

/// What became of the last reload of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reload {
    /// Whether it was accepted.
    pub successful: bool,
    /// When a configuration was last accepted.
    pub accepted: Timestamp,
}

/// How the last reading of a collector went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectorStatus {
    /// The collector's name.
    pub name: &'static str,
    /// Whether it succeeded; having nothing to read is success.
    pub success: bool,
    /// How long it took.
    pub duration: Duration,
    /// For values that are cached: when they were read.
    pub cached: Option<Timestamp>,
}

/// The continuous sampler.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SamplerStatus {
    /// Samples taken.
    pub samples: u64,
    /// Deadlines missed by more than one interval.
    pub missed: u64,
    /// When the newest sample was taken.
    pub last: Option<Timestamp>,
}

/// A configured suite.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SuiteStatus {
    /// Its name.
    pub name: String,
    /// Whether it has a schedule and is enabled.
    pub scheduled: bool,
    /// Its next start, jitter included.
    pub next: Option<Timestamp>,
    /// The longest gap between two scheduled starts.
    pub interval: Option<Span>,
    /// Whether a run of it is under way.
    pub active: bool,
    /// Whether every guard held when they were last asked; `None` before that.
    pub ready: Option<bool>,
    /// What was counted since the program began.
    pub counters: SuiteCounters,
    /// Its last run that began and ended.
    pub last_run: Option<RunRecord>,
    /// The first case of that run that did not finish.
    pub failed_case: Option<String>,
    /// When its last run with every case finished ended.
    pub last_success: Option<Timestamp>,
}

/// The last result of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct LastResult {
    /// How much its run was allowed to take.
    pub profile: Profile,
    /// What was stored.
    pub record: CaseRecord,
}
