//! A run and its cases as programs read them: the JSON of `show`, of the API, and of `run --output json`.
//! It may only grow.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    CaseRecord, CaseResult, Ceiling, Errors, Failure, Generator, Load, LoadModel, Outcome, Parameters,
    Percentiles, RunRecord, Stage, Statements,
};

/// A run with its cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunView {
    /// The run.
    #[serde(flatten)]
    pub run: RunRecord,
    /// Its cases in the order in which they ran.
    pub cases: Vec<CaseView>,
}

/// A case with what was measured; what was not measured is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseView {
    /// Its name.
    pub case: String,
    /// Its place in the run, from 0.
    pub index: u32,
    /// The kind of load.
    pub workload: String,
    /// Version of the workload's algorithm.
    pub revision: u32,
    /// Where the load went.
    pub target: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// What one operation is.
    pub operation: String,
    /// When it began.
    pub start: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// Every parameter.
    pub parameters: Parameters,
    /// Wall time of each stage in seconds.
    pub stage_seconds: BTreeMap<Stage, f64>,
    /// Facts of the target.
    pub target_facts: BTreeMap<String, String>,
    /// How much of the host the load was held to, and what of it did not hold and why.
    #[serde(default)]
    pub limits: BTreeMap<String, String>,
    /// Warnings about how far the numbers can be trusted.
    pub notes: Vec<String>,
    /// What was measured.
    #[serde(flatten)]
    pub result: Option<ResultView>,
}

/// What was measured in a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultView {
    /// The load that was asked for and what came of it.
    pub load: LoadView,
    /// The measured part.
    pub measured: Measured,
    /// How much was done.
    pub throughput: Throughput,
    /// From intended start in open loop, from send in closed loop.
    pub response_seconds: Percentiles,
    /// From send to answer.
    pub service_seconds: Percentiles,
    /// From intended start to send.
    pub lag_seconds: Percentiles,
    /// Operations by kind, with their times where these are told apart.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operations: BTreeMap<String, Percentiles>,
    /// What the device under the files gave at most of each kind, where the load shows it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ceilings: BTreeMap<String, Ceiling>,
    /// From intended start (open loop) or send (closed loop) to the failure.
    #[serde(default)]
    pub failed_seconds: Percentiles,
    /// Times longer than a histogram tells apart.
    #[serde(default)]
    pub overflow: u64,
    /// What did not succeed.
    pub errors: Errors,
    /// What the load generator cost.
    pub generator: GeneratorView,
}

/// What the load generator cost, and whether it was the limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratorView {
    /// The cost.
    #[serde(flatten)]
    pub cost: Generator,
    /// Whether it was the limit.
    #[serde(default)]
    pub limited: bool,
    /// What shows that it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
}

/// The load that was asked for and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadView {
    /// Open or closed loop.
    pub model: LoadModel,
    /// Client threads.
    pub clients: u32,
    /// The rate asked for.
    pub asked_per_second: Option<f64>,
    /// The rate achieved.
    pub achieved_per_second: f64,
    /// Operations due and never sent.
    pub never_sent: u64,
    /// How long the first of them had been due at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never_sent_oldest_seconds: Option<f64>,
    /// How long the last of them had been due at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never_sent_youngest_seconds: Option<f64>,
    /// Whether less than 99 % of the rate was achieved.
    pub overloaded: bool,
}

/// The measured part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Its length.
    pub seconds: f64,
    /// Length of the warm-up before it.
    pub warm_up_seconds: f64,
    /// So much of its beginning was not yet steady; absent, as the next three, when it was too short to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_seconds: Option<f64>,
    /// Whether it was steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<bool>,
    /// Change of the throughput after that beginning, relative to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<f64>,
    /// Why it was not steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_steady: Option<String>,
}

/// How much was done.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// Completed operations.
    pub operations: u64,
    /// Operations a second.
    pub per_second: f64,
    /// The same without the beginning that was not yet steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_per_second: Option<f64>,
    /// Standard error of the throughput within the run, relative to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// Statements by result.
    pub statements: Statements,
    /// Bytes that the load read.
    #[serde(default)]
    pub bytes_read: u64,
    /// Bytes that the load wrote.
    #[serde(default)]
    pub bytes_written: u64,
    /// Requests to make written data durable.
    #[serde(default)]
    pub fsyncs: u64,
}

impl RunView {
    /// Puts a run and its cases together.
    pub fn new(run: RunRecord, cases: Vec<CaseRecord>) -> RunView {
        RunView { run, cases: cases.into_iter().map(CaseView::from).collect() }
    }
}

impl From<CaseRecord> for CaseView {
    fn from(record: CaseRecord) -> CaseView {
        CaseView {
            case: record.case,
            index: record.index,
            workload: record.workload,
            revision: record.revision,
            target: record.target,
            outcome: record.outcome,
            failure: record.failure,
            operation: record.operation,
            start: record.start,
            end: record.end,
            parameters: record.parameters,
            stage_seconds: record.stage_seconds,
            target_facts: record.target_facts,
            limits: record.limits,
            notes: record.notes,
            result: record.result.map(ResultView::from),
        }
    }
}

impl From<CaseResult> for ResultView {
    fn from(result: CaseResult) -> ResultView {
        let steady = result.steady;
        ResultView {
            load: load_view(result.load, result.per_second),
            measured: Measured {
                seconds: result.seconds,
                warm_up_seconds: result.warm_up_seconds,
                cut_seconds: steady.as_ref().map(|steady| steady.cut_seconds),
                steady: steady.as_ref().map(|steady| steady.steady),
                drift: steady.as_ref().map(|steady| steady.drift),
                not_steady: steady.as_ref().and_then(|steady| steady.why.clone()),
            },
            throughput: Throughput {
                operations: result.operations,
                per_second: result.per_second,
                steady_per_second: steady.map(|steady| steady.per_second),
                error: result.error,
                statements: result.statements,
                bytes_read: result.bytes_read,
                bytes_written: result.bytes_written,
                fsyncs: result.fsyncs,
            },
            response_seconds: result.response,
            service_seconds: result.service,
            lag_seconds: result.lag,
            operations: result.by_operation,
            ceilings: result.ceilings,
            failed_seconds: result.failed,
            overflow: result.overflow,
            errors: result.errors,
            generator: GeneratorView {
                cost: result.generator,
                limited: result.limited,
                limited_by: result.limited_by,
            },
        }
    }
}

fn load_view(load: Load, achieved_per_second: f64) -> LoadView {
    LoadView {
        model: load.model,
        clients: load.clients,
        asked_per_second: load.asked_per_second,
        achieved_per_second,
        never_sent: load.never_sent,
        never_sent_oldest_seconds: load.never_sent_oldest_seconds,
        never_sent_youngest_seconds: load.never_sent_youngest_seconds,
        overloaded: load.overloaded,
    }
}
