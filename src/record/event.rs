//! What happens in a run, one JSON object each: the load process tells the worker, the worker the daemon, the
//! daemon whoever follows the run. There is one schema.

use serde::{Deserialize, Serialize};

use super::{GuardCheck, Interval, Outcome, Stage};

/// Upper bounds in seconds of the live histogram of response times (metrics: `benchd_live_response_seconds`).
pub const LIVE_BUCKETS_SECONDS: [f64; 13] =
    [3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

/// One thing that happened in a run. `t` is seconds since the run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A case entered a stage.
    Stage {
        /// Seconds since the run began.
        t: f64,
        /// The case.
        case: String,
        /// Its place in the run, from 1.
        index: u32,
        /// How many cases the run has.
        of: u32,
        /// The stage.
        stage: Stage,
        /// How long the stage should take, when that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        planned_seconds: Option<f64>,
    },
    /// Work of a stage that does not measure.
    Progress {
        /// Seconds since the run began.
        t: f64,
        /// The case.
        case: String,
        /// The stage.
        stage: Stage,
        /// Units done.
        done: u64,
        /// Units in all.
        of: u64,
        /// What is counted, `rows`.
        unit: String,
        /// Units a second since the stage's first; absent at its beginning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        per_second: Option<f64>,
    },
    /// Something a person should read: a server started, data was kept.
    Note {
        /// Seconds since the run began.
        t: f64,
        /// The sentence.
        text: String,
    },
    /// One interval of load.
    Interval {
        /// Seconds since the run began.
        t: f64,
        /// The case.
        case: String,
        /// True in the warm-up: shown, never counted.
        warm_up: bool,
        /// Connected clients.
        clients: u32,
        /// CPU time of the load process so far, in seconds.
        cpu_seconds: f64,
        /// What was measured in it.
        #[serde(flatten)]
        interval: Box<Interval>,
    },
    /// A guard was checked and did not hold.
    Guard {
        /// Seconds since the run began.
        t: f64,
        /// What was found.
        #[serde(flatten)]
        check: GuardCheck,
    },
    /// A case ended.
    Result {
        /// Seconds since the run began.
        t: f64,
        /// The case.
        case: String,
        /// Its place in the run, from 1.
        index: u32,
        /// How it ended.
        outcome: Outcome,
        /// Operations a second.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        per_second: Option<f64>,
        /// 95th percentile of the response time in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        p95_ms: Option<f64>,
        /// Bytes read and written a second; absent for workloads that do not count bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes_per_second: Option<f64>,
        /// Failed operations.
        #[serde(default)]
        failed: u64,
        /// What one operation is.
        operation: String,
        /// What the load was, for people: `scratch, 2 clients`.
        load: String,
        /// Why it did not finish.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// The run ended.
    End {
        /// Seconds since the run began.
        t: f64,
        /// How it ended.
        outcome: Outcome,
        /// How many cases finished.
        finished: u32,
        /// How many there were.
        of: u32,
        /// Why it did not finish.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
}
