//! What runs when, what ran last, and what guards did.

use super::super::family::{BYTES, COUNT, FACTS, Family, NUMBER, Points, SECONDS, TIME};
use super::super::snapshot::{Snapshot, SuiteStatus};
use super::{flag, unix_seconds};
use crate::observe::Holdings;
use crate::record::{Outcome, RunRecord, Trigger};
use crate::run::LeftOver;

pub(super) const SCHEDULER: &[Family] = &[
    Family::new(
        "benchd_schedule_next_run_timestamp_seconds",
        TIME,
        &["suite"],
        "Unix time of the next scheduled start, jitter included.",
        ("scheduler", "suite without schedule or disabled"),
        |now, out| suites(now, out, |suite| suite.next.map(unix_seconds)),
    ),
    Family::new(
        "benchd_schedule_interval_seconds",
        SECONDS,
        &["suite"],
        "Longest gap between two scheduled starts in the coming 8 days; alert rules use twice this.",
        ("scheduler", "suite without schedule or disabled"),
        |now, out| suites(now, out, |suite| suite.interval.map(|interval| interval.seconds())),
    ),
    Family::new(
        "benchd_schedule_missed_runs_total",
        COUNT,
        &["suite"],
        "Scheduled starts that did not become a run: daemon down, overlap with the suite's own previous run, or window \
         over before its turn.",
        ("scheduler", "suite without schedule"),
        |now, out| suites(now, out, |suite| suite.scheduled.then_some(suite.counters.missed as f64)),
    ),
    Family::new(
        "benchd_queue_length",
        NUMBER,
        &[],
        "Runs waiting for the one now active.",
        ("queue", "never"),
        |now, out| out.one(now.queue_length as f64),
    ),
    Family::new(
        "benchd_suite_ready",
        NUMBER,
        &["suite"],
        "1 when every guard of the suite held at the last check (each minute): a run started now would not be blocked. The \
         window guard counts.",
        ("guards", "before the first check"),
        |now, out| suites(now, out, |suite| suite.ready.map(flag)),
    ),
];

pub(super) const RUNS: &[Family] = &[
    Family::new(
        "benchd_runs_total",
        COUNT,
        &["suite", "trigger"],
        "Runs that began (passed the gate), by trigger: schedule, request (HTTP or command line).",
        ("runner", "never"),
        |now, out| {
            for (suite, trigger) in
                now.suites.iter().flat_map(|suite| Trigger::ALL.iter().map(move |t| (suite, t)))
            {
                let begun = suite.counters.begun.get(trigger).copied().unwrap_or(0);
                out.add(&[&suite.name, trigger.as_str()], begun as f64);
            }
        },
    ),
    Family::new(
        "benchd_runs_failed_total",
        COUNT,
        &["suite"],
        "Runs in which at least one case failed; why is in benchd_last_run_failure_info and in the record.",
        ("runner", "never"),
        |now, out| suites(now, out, |suite| Some(suite.counters.failed as f64)),
    ),
    Family::new(
        "benchd_runs_cancelled_total",
        COUNT,
        &["suite"],
        "Runs cancelled by a person.",
        ("runner", "never"),
        |now, out| suites(now, out, |suite| Some(suite.counters.cancelled as f64)),
    ),
    Family::new(
        "benchd_run_active",
        NUMBER,
        &["suite"],
        "1 while a run of the suite is between guard and clean-up; the dashboards draw run regions from it.",
        ("runner", "never"),
        |now, out| suites(now, out, |suite| Some(flag(suite.active))),
    ),
    Family::new(
        "benchd_last_run_start_timestamp_seconds",
        TIME,
        &["suite"],
        "Unix time at which the last finished run started.",
        ("store", "before the first run"),
        |now, out| last_runs(now, out, |run| Some(unix_seconds(run.start))),
    ),
    Family::new(
        "benchd_last_run_end_timestamp_seconds",
        TIME,
        &["suite"],
        "Unix time at which the last finished run ended, whatever its outcome.",
        ("store", "before the first run"),
        |now, out| last_runs(now, out, |run| run.end.map(unix_seconds)),
    ),
    Family::new(
        "benchd_last_run_success_timestamp_seconds",
        TIME,
        &["suite"],
        "Unix time at which a run last ended with every case finished.",
        ("store", "before the first success"),
        |now, out| suites(now, out, |suite| suite.last_success.map(unix_seconds)),
    ),
    Family::new(
        "benchd_last_run_success",
        NUMBER,
        &["suite"],
        "1 when every case of the last finished run finished, else 0.",
        ("store", "before the first run"),
        |now, out| last_runs(now, out, |run| Some(flag(run.outcome == Some(Outcome::Finished)))),
    ),
    Family::new(
        "benchd_last_run_duration_seconds",
        SECONDS,
        &["suite"],
        "Wall time of the last finished run.",
        ("store", "before the first run"),
        |now, out| last_runs(now, out, |run| Some(run.end?.duration_since(run.start).as_secs_f64())),
    ),
    Family::new(
        "benchd_last_run_stage_duration_seconds",
        SECONDS,
        &["suite", "stage"],
        "Wall time of each stage of the last finished run, summed over its cases.",
        ("store", "before the first run"),
        |now, out| {
            for run in now.suites.iter().filter_map(|suite| suite.last_run.as_ref()) {
                for (stage, seconds) in &run.stage_seconds {
                    out.add(&[&run.suite, stage.as_str()], *seconds);
                }
            }
        },
    ),
    Family::new(
        "benchd_last_run_failure_info",
        FACTS,
        &["suite", "case", "stage", "reason"],
        "First failure of the last finished run: stage and short reason (connect, server, no_space, errors, deadline, \
         worker, ...).",
        ("store", "last run succeeded"),
        |now, out| {
            for suite in &now.suites {
                let Some(failure) = suite.last_run.as_ref().and_then(|run| run.failure.as_ref()) else {
                    continue;
                };
                let case = suite.failed_case.as_deref().unwrap_or_default();
                out.fact(&[&suite.name, case, failure.stage.as_str(), &failure.reason]);
            }
        },
    ),
];

pub(super) const SAFETY: &[Family] = &[
    Family::new(
        "benchd_runs_blocked_total",
        COUNT,
        &["guard"],
        "Runs not started because this guard did not hold; a run blocked by three guards counts once in each.",
        ("guards", "guard applies to no suite"),
        |now, out| now.blocked_runs.iter().for_each(|(guard, count)| out.add(&[guard], *count as f64)),
    ),
    Family::new(
        "benchd_runs_aborted_total",
        COUNT,
        &["guard"],
        "Runs stopped by this guard while running.",
        ("guards", "guard applies to no suite"),
        |now, out| now.aborted_runs.iter().for_each(|(guard, count)| out.add(&[guard], *count as f64)),
    ),
    Family::new(
        "benchd_scratch_bytes",
        BYTES,
        &["target"],
        "Size of what benchd owns on the target: scratch schema or scratch server.",
        ("information_schema, data directory", "nothing owned"),
        |now, out| {
            now.scratch.iter().for_each(|(target, bytes)| out.add(&[target], *bytes as f64));
            holdings(now, out, |found| found.own);
        },
    ),
    Family::new(
        "benchd_foreign_scratch",
        NUMBER,
        &["target"],
        "Objects under benchd's names that this daemon did not create (clone, restore, other daemon): left untouched.",
        ("ownership check, each minute", "target not a server; server down"),
        |now, out| holdings(now, out, |found| Some(found.foreign)),
    ),
    Family::new(
        "benchd_recovered_leftovers_total",
        COUNT,
        &["kind"],
        "Leftovers of an earlier crash removed at start: worker, server, schema, file, run.",
        ("recovery", "never"),
        |now, out| {
            for kind in LeftOver::ALL {
                out.add(&[kind.as_str()], now.left_over.get(kind).copied().unwrap_or(0) as f64);
            }
        },
    ),
];

fn holdings(now: &Snapshot, out: &mut Points, value: fn(&Holdings) -> Option<u64>) {
    for server in &now.servers {
        let found = server.sample.as_ref().and_then(|sample| sample.holdings.as_ref());
        out.add_known(&[&server.target], found.and_then(value).map(|number| number as f64));
    }
}

fn suites(now: &Snapshot, out: &mut Points, value: fn(&SuiteStatus) -> Option<f64>) {
    now.suites.iter().for_each(|suite| out.add_known(&[&suite.name], value(suite)));
}

fn last_runs(now: &Snapshot, out: &mut Points, value: fn(&RunRecord) -> Option<f64>) {
    for suite in &now.suites {
        out.add_known(&[&suite.name], suite.last_run.as_ref().and_then(value));
    }
}
