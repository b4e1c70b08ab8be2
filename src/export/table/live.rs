//! The case that runs right now.

use super::super::family::{COUNT, COUNT_SECONDS, FACTS, Family, NUMBER, Points, RATIO, TIMES};
use super::super::snapshot::Snapshot;
use crate::record::LIVE_BUCKETS_SECONDS;
use crate::run::LiveCase;

pub(super) const FAMILIES: &[Family] = &[
    Family::new(
        "benchd_live_operations_total",
        COUNT,
        &["suite", "case", "workload", "target"],
        "Operations completed in the measured part of the running case.",
        ("worker events, 1 s", "no case live"),
        |now, out| cases(now, out, |case| Some(case.operations as f64)),
    ),
    Family::new(
        "benchd_live_queries_total",
        COUNT,
        &["suite", "case", "workload", "target", "kind"],
        "Statements by result as sysbench counts them: read, write, other.",
        ("worker events", "not an SQL workload"),
        |now, out| now.live.iter().for_each(|case| queries(case, out)),
    ),
    Family::new(
        "benchd_live_errors_total",
        COUNT,
        &["suite", "case", "workload", "target", "code"],
        "Failed attempts by server error code, or timeout, connection.",
        ("worker events", "no such error yet"),
        |now, out| now.live.iter().for_each(|case| errors(case, out)),
    ),
    Family::new(
        "benchd_live_retries_total",
        COUNT,
        &["suite", "case", "workload", "target"],
        "Operations tried again after a retryable error.",
        ("worker events", "no case live"),
        |now, out| cases(now, out, |case| Some(case.retried as f64)),
    ),
    Family::new(
        "benchd_live_response_seconds",
        TIMES,
        &["suite", "case", "workload", "target"],
        "Response time of operations, from intended start in open loop. Buckets 3e-05 0.0001 0.0003 0.001 0.003 0.01 0.03 \
         0.1 0.3 1 3 10 30 +Inf.",
        ("worker events", "no case live"),
        |now, out| now.live.iter().for_each(|case| response(case, out)),
    ),
    Family::new(
        "benchd_live_overdue_operations",
        NUMBER,
        &["suite", "case", "workload", "target"],
        "Operations whose intended start has passed and that are not sent yet.",
        ("worker events", "closed loop"),
        |now, out| cases(now, out, |case| case.open_loop.then_some(case.overdue as f64)),
    ),
    Family::new(
        "benchd_live_clients",
        NUMBER,
        &["suite", "case", "workload", "target"],
        "Connected clients of the load.",
        ("worker events", "no case live"),
        |now, out| cases(now, out, |case| Some(f64::from(case.clients))),
    ),
    Family::new(
        "benchd_live_progress_ratio",
        RATIO,
        &["suite", "case", "workload", "target"],
        "Done share of warm-up and measured part.",
        ("runner", "no case live"),
        |now, out| cases(now, out, |case| Some(case.progress)),
    ),
    Family::new(
        "benchd_live_stage_info",
        FACTS,
        &["suite", "case", "workload", "target", "stage"],
        "Present stage of the running case.",
        ("runner", "no case live"),
        |now, out| {
            for case in &now.live {
                let [suite, name, workload, target] = labels(case);
                out.fact(&[suite, name, workload, target, case.stage.as_str()]);
            }
        },
    ),
    Family::new(
        "benchd_live_client_cpu_seconds_total",
        COUNT_SECONDS,
        &["suite", "case", "workload", "target"],
        "CPU time of the load generator.",
        ("worker, getrusage", "no case live"),
        |now, out| cases(now, out, |case| Some(case.cpu_seconds)),
    ),
];

/// The values of `suite`, `case`, `workload`, `target`.
fn labels(case: &LiveCase) -> [&str; 4] {
    [&case.suite, &case.case, &case.workload, case.target.as_deref().unwrap_or_default()]
}

fn cases(now: &Snapshot, out: &mut Points, value: fn(&LiveCase) -> Option<f64>) {
    now.live.iter().for_each(|case| out.add_known(&labels(case), value(case)));
}

/// A workload of the host itself has no target, and no statements.
fn queries(case: &LiveCase, out: &mut Points) {
    let Some(target) = case.target.as_deref() else { return };
    let statements = case.statements;
    for (kind, count) in [("read", statements.read), ("write", statements.write), ("other", statements.other)]
    {
        out.add(&[&case.suite, &case.case, &case.workload, target, kind], count as f64);
    }
}

fn errors(case: &LiveCase, out: &mut Points) {
    let [suite, name, workload, target] = labels(case);
    for (code, count) in &case.errors {
        out.add(&[suite, name, workload, target, code], *count as f64);
    }
}

fn response(case: &LiveCase, out: &mut Points) {
    let buckets: Vec<(f64, u64)> = LIVE_BUCKETS_SECONDS.into_iter().zip(case.buckets).collect();
    out.distribution(&labels(case), &buckets, case.operations, case.response_sum);
}
