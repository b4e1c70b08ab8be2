//! The last result of each case.

use super::super::family::{BYTES_RATE, FACTS, Family, NUMBER, Points, RATE, RATIO, SECONDS, TIME};
use super::super::snapshot::{LastResult, Snapshot};
use super::{flag, unix_seconds};
use crate::record::{CaseRecord, CaseResult, Parameters};
use crate::text::digest;

pub(super) const FAMILIES: &[Family] = &[
    Family::new(
        "benchd_last_operations_per_second",
        RATE,
        &["suite", "case", "workload", "target"],
        "Throughput of the measured part: completed operations by its duration. Operation: event \
         (cpu, memory, threads, mutex), request (fileio), transaction (oltp), row (bulk_insert).",
        ("record", "before the first result; case no longer configured"),
        |now, out| results(now, out, |result| Some(result.per_second)),
    ),
    Family::new(
        "benchd_last_queries_per_second",
        RATE,
        &["suite", "case", "workload", "target"],
        "Statements per second of SQL workloads, BEGIN and COMMIT included.",
        ("record", "not an SQL workload"),
        |now, out| results(now, out, queries_per_second),
    ),
    Family::new(
        "benchd_last_read_bytes_per_second",
        BYTES_RATE,
        &["suite", "case", "workload", "target"],
        "Bytes read per second by the load (memory, fileio).",
        ("record", "workload without bytes; nothing read"),
        |now, out| results(now, out, |result| result.by_second(result.bytes_read)),
    ),
    Family::new(
        "benchd_last_written_bytes_per_second",
        BYTES_RATE,
        &["suite", "case", "workload", "target"],
        "Bytes written per second by the load (memory, fileio).",
        ("record", "workload without bytes; nothing written"),
        |now, out| results(now, out, |result| result.by_second(result.bytes_written)),
    ),
    Family::new(
        "benchd_last_fsyncs_per_second",
        RATE,
        &["suite", "case", "workload", "target"],
        "Completed fsync calls per second (fileio).",
        ("record", "not fileio; nothing synced"),
        |now, out| results(now, out, |result| result.by_second(result.fsyncs)),
    ),
    Family::new(
        "benchd_last_response_seconds",
        SECONDS,
        &["suite", "case", "workload", "target", "percentile"],
        "Response time of one operation, from intended start in open loop, from send in closed loop (load_model in \
         benchd_case_info). percentile: p50, p95, p99, max.",
        ("record, HDR histogram", "fewer than 10 samples beyond the percentile"),
        |now, out| now.results.iter().for_each(|last| response(&last.record, out)),
    ),
    Family::new(
        "benchd_last_offered_operations_per_second",
        RATE,
        &["suite", "case", "workload", "target"],
        "Rate asked for in open loop; compare with benchd_last_operations_per_second.",
        ("record", "closed loop"),
        |now, out| results(now, out, |result| result.load.asked_per_second),
    ),
    Family::new(
        "benchd_last_errors_ratio",
        RATIO,
        &["suite", "case", "workload", "target"],
        "Failed operations by attempted ones; codes are in the record. Retried and then successful operations are not failed.",
        ("record", "before the first result"),
        |now, out| results(now, out, errors_ratio),
    ),
    Family::new(
        "benchd_last_client_cpu_per_operation_seconds",
        SECONDS,
        &["suite", "case", "workload", "target"],
        "CPU time of the load generator by completed operations: the cost of asking.",
        ("record, getrusage of the worker", "before the first result"),
        |now, out| {
            results(now, out, |result| {
                (result.operations > 0).then_some(result.generator.cpu_seconds_per_operation)
            })
        },
    ),
    Family::new(
        "benchd_last_steady",
        NUMBER,
        &["suite", "case", "workload", "target"],
        "1 when the measured part passed the steady-state test, 0 when its throughput had not settled, drifted or shifted.",
        ("record", "before the first result; fewer than 40 intervals of 1 s, too short to tell"),
        |now, out| results(now, out, |result| result.steady.as_ref().map(|steady| flag(steady.steady))),
    ),
    Family::new(
        "benchd_last_end_timestamp_seconds",
        TIME,
        &["suite", "case", "workload", "target"],
        "Unix time at which the case's last stored result was taken; older than the run's end when the case failed since.",
        ("record", "before the first result"),
        |now, out| {
            for last in &now.results {
                out.add(&case_labels(&last.record), unix_seconds(last.record.end));
            }
        },
    ),
    Family::new(
        "benchd_case_info",
        FACTS,
        &[
            "suite",
            "case",
            "workload",
            "target",
            "engine",
            "threads",
            "load_model",
            "mode",
            "profile",
            "revision",
            "parameters",
        ],
        "Facts of the case for joins: engine, number of client threads, load_model (open, closed), mode (that of \
         the workload, where it has several), profile, workload revision, and an 8-digit hash of all parameters.",
        ("record", "before the first result"),
        |now, out| now.results.iter().for_each(|last| facts(last, out)),
    ),
];

/// The values of `suite`, `case`, `workload`, `target`.
fn case_labels(record: &CaseRecord) -> [&str; 4] {
    [&record.suite, &record.case, &record.workload, record.target.as_deref().unwrap_or_default()]
}

fn results(now: &Snapshot, out: &mut Points, value: fn(&CaseResult) -> Option<f64>) {
    for last in &now.results {
        out.add_known(&case_labels(&last.record), last.record.result.as_ref().and_then(value));
    }
}

fn queries_per_second(result: &CaseResult) -> Option<f64> {
    result.by_second(result.statements.total())
}

fn errors_ratio(result: &CaseResult) -> Option<f64> {
    let attempted = result.operations + result.errors.failed;
    (attempted > 0).then(|| result.errors.failed as f64 / attempted as f64)
}

fn response(record: &CaseRecord, out: &mut Points) {
    let Some(result) = &record.result else { return };
    let [suite, case, workload, target] = case_labels(record);
    let times = &result.response;
    for (name, seconds) in [("p50", times.p50), ("p95", times.p95), ("p99", times.p99), ("max", times.max)] {
        out.add_known(&[suite, case, workload, target, name], seconds);
    }
}

fn facts(last: &LastResult, out: &mut Points) {
    let record = &last.record;
    let Some(result) = &record.result else { return };
    let [suite, case, workload, target] = case_labels(record);
    let parameter =
        |key: &str| record.parameters.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    out.fact(&[
        suite,
        case,
        workload,
        target,
        parameter("engine"),
        &result.load.clients.to_string(),
        result.load.model.as_str(),
        parameter("mode"),
        last.profile.as_str(),
        &record.revision.to_string(),
        &fingerprint(&record.parameters),
    ]);
}

/// Eight digits that change when any parameter does: of their JSON, keys in order.
fn fingerprint(parameters: &Parameters) -> String {
    digest(&serde_json::to_string(parameters).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_depends_on_values_and_not_on_the_order_of_keys() {
        let parameters = |text: &str| serde_json::from_str::<Parameters>(text).unwrap();
        let one = fingerprint(&parameters(r#"{"threads":1,"time":"5s"}"#));
        assert_eq!(one, fingerprint(&parameters(r#"{"time":"5s","threads":1}"#)));
        assert_ne!(one, fingerprint(&parameters(r#"{"time":"5s","threads":2}"#)));
        assert_eq!(one.len(), 8);
    }
}
