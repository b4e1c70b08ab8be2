//! What is stored of a run and of each of its cases: what was asked, the facts of host and target, what was
//! measured, and how it ended. Everything later (metrics, comparison, verdicts) is computed from stored records.

mod comparison;
mod event;
mod histogram;
mod id;
mod steady;
mod view;
mod words;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use comparison::{Against, Cell, Comparison, Measure, Pair, TwoRuns, Verdict};
pub use event::{Event, LIVE_BUCKETS_SECONDS};
pub use histogram::{Beyond, EncodedHistogram, Percentiles, new_histogram};
pub use id::RunId;
pub use steady::Steady;
pub use view::{CaseView, Measured, ResultView, RunView};
pub(crate) use words::words;
pub use words::{LoadModel, Outcome, Profile, Stage, TlsMode, Trigger};

/// The version of the record's JSON. It may only grow: a reader of an older one finds all it knows.
pub const SCHEMA: u32 = 1;

/// The parameters of a case by key, as they are written in the configuration.
pub type Parameters = serde_json::Map<String, serde_json::Value>;

/// Why something did not succeed, in the terms of a person who has to mend it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The stage in which it happened.
    pub stage: Stage,
    /// A short word for metrics: `connect`, `server`, `no_space`, `errors`, `deadline`, `worker`, …
    pub reason: String,
    /// What did not happen, where; what was measured; what to do.
    pub message: String,
}

/// One guard as it was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuardCheck {
    /// The guard's name.
    pub guard: String,
    /// `Some(true)` holds, `Some(false)` does not hold, `None` does not apply.
    pub holds: Option<bool>,
    /// What was found, with its unit.
    pub measured: String,
    /// What it must be.
    pub limit: String,
    /// What to do when it does not hold.
    #[serde(rename = "do", default, skip_serializing_if = "String::is_empty")]
    pub advice: String,
}

/// One run: a suite executed once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The run's id.
    pub id: RunId,
    /// The suite's name.
    pub suite: String,
    /// Name of the host.
    pub host: String,
    /// What made it begin.
    pub trigger: Trigger,
    /// Who asked: `schedule`, a user's name, or `uid 1000`.
    pub by: String,
    /// How much it was allowed to take.
    pub profile: Profile,
    /// When it began.
    pub start: Timestamp,
    /// When it ended; absent while it is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
    /// How it ended; absent while it is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Its first failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// What the person who asked wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How many cases it was to run.
    pub planned_cases: u32,
    /// How many of its cases finished.
    #[serde(default)]
    pub finished_cases: u32,
    /// Wall time of each stage, summed over the cases, in seconds.
    #[serde(default)]
    pub stage_seconds: BTreeMap<Stage, f64>,
    /// The guards as they were found before it began.
    #[serde(default)]
    pub guards: Vec<GuardCheck>,
    /// Version of benchd that made it.
    pub version: String,
    /// Facts of the host that explain its numbers.
    #[serde(default)]
    pub host_facts: BTreeMap<String, String>,
    /// What the suite's rows, statements, file sizes and times were multiplied by.
    #[serde(default = "unscaled")]
    pub scale: f64,
    /// Its cases side by side, when its benchmarks have a matrix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Box<Comparison>>,
}

fn unscaled() -> f64 {
    1.0
}

/// One case of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseRecord {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The run it belongs to.
    pub run: RunId,
    /// Its place in the run, from 0.
    pub index: u32,
    /// The suite's name.
    pub suite: String,
    /// The case's name, `NAME/key=value/…`.
    pub case: String,
    /// The kind of load.
    pub workload: String,
    /// Version of the workload's algorithm; results of different revisions are never compared.
    pub revision: u32,
    /// Where the load went; absent for workloads of the host itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Every parameter, defaults included.
    pub parameters: Parameters,
    /// What one operation is: `event`, `transaction`.
    pub operation: String,
    /// When it began.
    pub start: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Wall time of each stage in seconds.
    #[serde(default)]
    pub stage_seconds: BTreeMap<Stage, f64>,
    /// What was measured; absent when measuring did not begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<CaseResult>,
    /// Facts of the target that explain the numbers: flavour, version, options read back.
    #[serde(default)]
    pub target_facts: BTreeMap<String, String>,
    /// How much of the host the load was held to: by the limit's name its value, or why it did not hold.
    #[serde(default)]
    pub limits: BTreeMap<String, String>,
    /// Warnings about how far the numbers can be trusted.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl CaseRecord {
    /// The load in a few words: `1 thread`, `scratch, 2 clients`, `main 200/s`.
    pub fn load_in_words(&self) -> String {
        let clients = self.parameters.get("threads").and_then(serde_json::Value::as_u64).unwrap_or(1);
        let plural = if clients == 1 { "" } else { "s" };
        let rate = self.parameters.get("rate").and_then(serde_json::Value::as_f64).filter(|rate| *rate > 0.0);
        match (&self.target, rate) {
            (Some(target), Some(rate)) => format!("{target} {rate}/s"),
            (Some(target), None) => format!("{target}, {clients} client{plural}"),
            (None, Some(rate)) => format!("{rate}/s"),
            (None, None) => format!("{clients} thread{plural}"),
        }
    }
}

/// Statements by what the server answered, counted as sysbench does: a result set is a read, affected rows a
/// write, anything else other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statements {
    /// Statements that returned a result set.
    pub read: u64,
    /// Statements that changed rows.
    pub write: u64,
    /// All others: BEGIN, COMMIT, changes that met no row.
    pub other: u64,
}

impl Statements {
    /// All statements.
    pub const fn total(self) -> u64 {
        self.read + self.write + self.other
    }
}

impl std::ops::AddAssign for Statements {
    fn add_assign(&mut self, more: Statements) {
        self.read += more.read;
        self.write += more.write;
        self.other += more.other;
    }
}

/// What was measured in a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The load that was asked for and what came of it.
    pub load: Load,
    /// Length of the measured part in seconds.
    pub seconds: f64,
    /// Length of the warm-up before it in seconds.
    pub warm_up_seconds: f64,
    /// Operations completed in the measured part.
    pub operations: u64,
    /// Operations a second.
    pub per_second: f64,
    /// Statements; all zero for workloads without a server.
    pub statements: Statements,
    /// Bytes that the load read; 0 for workloads that do not count bytes.
    #[serde(default)]
    pub bytes_read: u64,
    /// Bytes that the load wrote; 0 for workloads that do not count bytes.
    #[serde(default)]
    pub bytes_written: u64,
    /// Requests to make written data durable that were answered; 0 for workloads without files.
    #[serde(default)]
    pub fsyncs: u64,
    /// Response time: from intended start in open loop, from send in closed loop.
    pub response: Percentiles,
    /// Service time: from send to answer.
    pub service: Percentiles,
    /// How late operations were sent; empty in closed loop.
    pub lag: Percentiles,
    /// Operations by kind (`read`, `write`, `fsync`), for workloads that tell them apart: how many, and in native
    /// mode their times.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_operation: BTreeMap<String, Percentiles>,
    /// What the device under the files gave of each kind of operation, where the load drove it as hard as it could and
    /// nothing answered in its place. A device can do at least so much.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ceilings: BTreeMap<String, Ceiling>,
    /// Times until operations failed for good, counted as response times are; these are in no other distribution.
    #[serde(default)]
    pub failed: Percentiles,
    /// Times longer than a histogram tells apart, 600 s: they count there as 600 s.
    #[serde(default)]
    pub overflow: u64,
    /// Whether the measured part was steady; absent when it was too short to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
    /// Standard error of the throughput within this run, relative to it; absent when it was too short to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// True when the load generator itself was the limit: the result is a lower bound of what the target can do.
    #[serde(default)]
    pub limited: bool,
    /// What shows that it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
    /// What did not succeed.
    pub errors: Errors,
    /// What the load generator itself cost.
    pub generator: Generator,
    /// Consecutive parts of the measured time, in order.
    pub intervals: Vec<Interval>,
    /// The whole distributions, by `response`, `service`, `lag` and `error`, and by kind of operation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<String, EncodedHistogram>,
}

impl CaseResult {
    /// A number of the measured part by its length; `None` when there is nothing to tell.
    pub fn by_second(&self, number: u64) -> Option<f64> {
        (number > 0 && self.seconds > 0.0).then(|| number as f64 / self.seconds)
    }

    /// Bytes read and written a second; `None` for workloads that do not count bytes.
    pub fn bytes_per_second(&self) -> Option<f64> {
        self.by_second(self.bytes_read.saturating_add(self.bytes_written))
    }
}

/// How much a device did of one kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Operations a second.
    pub operations_per_second: f64,
    /// Bytes a second; absent for operations that move none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<f64>,
}

/// The load that was asked for and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Open or closed loop.
    pub model: LoadModel,
    /// Client threads.
    pub clients: u32,
    /// The rate asked for in open loop, operations a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_per_second: Option<f64>,
    /// Operations whose intended start had passed and that were never sent.
    pub never_sent: u64,
    /// How long the first of them had been due at the end, in seconds: it would have taken at least so long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never_sent_oldest_seconds: Option<f64>,
    /// How long the last of them had been due at the end, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never_sent_youngest_seconds: Option<f64>,
    /// True when less than 99 % of the rate asked for was achieved.
    pub overloaded: bool,
}

/// What did not succeed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// Operations that failed for good.
    pub failed: u64,
    /// Attempts that were tried again.
    pub retried: u64,
    /// Failed attempts by server error code, or `connection`, `timeout`.
    pub by_code: BTreeMap<String, u64>,
}

/// What the load generator itself cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// User and system CPU time of the load process in the measured part, in seconds.
    pub cpu_seconds: f64,
    /// Its user part; 0 in records of versions that did not tell the parts apart.
    #[serde(default)]
    pub user_cpu_seconds: f64,
    /// Its system part; likewise.
    #[serde(default)]
    pub system_cpu_seconds: f64,
    /// The same by operation, in seconds.
    pub cpu_seconds_per_operation: f64,
    /// Largest resident memory of the load process, in bytes.
    pub peak_memory_bytes: u64,
    /// CPUs that the load process may use; 0 in older records.
    #[serde(default)]
    pub cpus: f64,
    /// The largest share of its time that one of the client threads spent on a CPU.
    #[serde(default)]
    pub busiest_thread: f64,
    /// How late operations were sent by clients that were free, in open loop: 99th percentile in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_p99: Option<f64>,
}

/// One interval of the measured part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Seconds from the start of the measured part to the end of this interval.
    pub at: f64,
    /// Its length in seconds.
    pub seconds: f64,
    /// Operations completed in it.
    pub operations: u64,
    /// Statements answered in it.
    pub statements: Statements,
    /// Response times of the operations completed in it.
    pub response: Percentiles,
    /// Attempts that failed in it, by code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Attempts that were tried again in it.
    #[serde(default)]
    pub retried: u64,
    /// Operations due and not yet sent at its end; 0 in closed loop.
    #[serde(default)]
    pub overdue: u64,
    /// Cumulated counts of response times up to each of [`LIVE_BUCKETS_SECONDS`]; only on the wire.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<u64>,
    /// Sum of the response times in seconds; only on the wire.
    #[serde(default)]
    pub response_sum: f64,
}
