//! What happens to a run around its worker: it is refused, begun, ended, and kept.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::watch;

use super::guards;
use super::plan::RunPlan;
use super::queue::{Active, ActiveRun, Start, StopReason, Waiting};
use super::runner::Runner;
use super::stuck::in_thread;
use super::supervise;
use crate::journal;
use crate::record::{Event, Failure, GuardCheck, Outcome, RunId, RunRecord, SCHEMA, Stage, Trigger};
use crate::text::counted;

/// A run waits at most so long for its records to be on disk; longer, and they are kept in memory.
const RECORD_LIMIT: Duration = Duration::from_secs(5);

impl Runner {
    pub(super) fn keep_blocked(&self, id: RunId, start: &Start, plan: &RunPlan, checks: Vec<GuardCheck>) {
        let mut record = self.record(id, start, plan);
        record.guards = checks;
        self.block(&mut record, &start.overrides);
    }

    /// Ends a run that its guards do not let begin.
    fn block(&self, record: &mut RunRecord, overrides: &BTreeSet<String>) {
        let blocking = guards::blocking(&record.guards, overrides);
        if record.trigger == Trigger::Schedule {
            self.count_missed(&record.suite, 1);
        }
        for check in &blocking {
            *self.shared.state().count(&record.suite).blocked.entry(check.guard.clone()).or_default() += 1;
        }
        record.end = Some(Timestamp::now());
        record.outcome = Some(Outcome::Blocked);
        record.failure = Some(Failure {
            stage: Stage::Guard,
            reason: blocking.first().map_or_else(|| "guard".to_owned(), |check| check.guard.clone()),
            message: guards::sentence(&record.suite, &blocking),
        });
        log::warn!(MESSAGE_ID = journal::RUN_BLOCKED, BENCHD_RUN = record.id.to_string(), BENCHD_SUITE = record.suite; "{}", guards::sentence(&record.suite, &blocking));
        self.shared.parts.store.begin_run(record);
        self.shared.parts.store.end_run(record);
    }

    fn record(&self, id: RunId, start: &Start, plan: &RunPlan) -> RunRecord {
        let parts = &self.shared.parts;
        RunRecord {
            schema: SCHEMA,
            id,
            suite: plan.suite.clone(),
            host: parts.host.clone(),
            trigger: start.trigger,
            by: start.by.clone(),
            profile: plan.profile,
            start: Timestamp::now(),
            end: None,
            outcome: None,
            failure: None,
            note: start.note.clone(),
            planned_cases: u32::try_from(plan.cases.len()).unwrap_or(u32::MAX),
            finished_cases: 0,
            stage_seconds: BTreeMap::new(),
            guards: Vec::new(),
            version: crate::VERSION.to_owned(),
            host_facts: (parts.host_facts)(),
            scale: plan.scale,
            comparison: None,
        }
    }

    /// Keeps a run that never began.
    pub(super) fn end_before_start(&self, waiting: &Waiting, outcome: Outcome, message: &str) {
        let mut record = self.record(waiting.id, &waiting.start, &waiting.plan);
        (record.end, record.outcome) = (Some(record.start), Some(outcome));
        let reason = outcome.as_str().to_owned();
        record.failure = Some(Failure { stage: Stage::Guard, reason, message: message.to_owned() });
        if outcome == Outcome::Cancelled {
            self.shared.state().count(&record.suite).cancelled += 1;
        }
        self.shared.parts.store.begin_run(&record);
        self.shared.parts.store.end_run(&record);
        let of = record.planned_cases;
        let end = Event::End { t: 0.0, outcome, finished: 0, of, message: Some(message.to_owned()) };
        self.shared.log(waiting.id, end);
    }

    /// Executes a run about which the guards said this.
    pub(super) async fn execute(&self, waiting: Waiting, checks: Vec<GuardCheck>) {
        let Waiting { id, start, plan } = waiting;
        let mut record = self.record(id, &start, &plan);
        record.guards = checks;
        if !guards::blocking(&record.guards, &start.overrides).is_empty() {
            self.block(&mut record, &start.overrides);
            let message = record.failure.as_ref().map(|failure| failure.message.clone());
            self.written().await;
            self.shared.log(id, ended(&record, Duration::ZERO, message));
            return;
        }
        let stop = self.begin(&record, &plan);
        let used =
            plan.cases.iter().filter_map(|plan| plan.case.target.as_deref()).collect::<BTreeSet<&str>>();
        let _closely = self.shared.parts.observer.closely(used);
        let clock = Instant::now();
        let message = supervise::run(&self.shared, &mut record, &start, &plan, stop).await;
        self.finish(&record, clock.elapsed(), message).await;
    }

    /// What the guards say, asked beside everything else: they look at disks.
    pub(super) async fn check_beside(&self, start: &Start, plan: &RunPlan) -> Vec<GuardCheck> {
        let (runner, start, plan) = (self.clone(), start.clone(), plan.clone());
        let checked = in_thread(move || runner.check(&start, &plan)).await;
        checked.unwrap_or_else(|| vec![guards::unanswered()])
    }

    fn begin(&self, record: &RunRecord, plan: &RunPlan) -> watch::Receiver<Option<StopReason>> {
        self.shared.parts.store.begin_run(record);
        let (stop, stopped) = watch::channel(None);
        let view = ActiveRun {
            id: record.id,
            suite: record.suite.clone(),
            start: record.start,
            planned: plan.planned,
            case: None,
            stage: Stage::Guard,
            done: 0,
            of: record.planned_cases,
            cancelling: false,
        };
        let mut state = self.shared.state();
        *state.count(&record.suite).begun.entry(record.trigger).or_default() += 1;
        state.active = Some(Active { view, stop });
        drop(state);
        let by = match record.trigger {
            Trigger::Schedule => "schedule",
            Trigger::Request => record.by.as_str(),
        };
        log::info!(MESSAGE_ID = journal::RUN_STARTED, BENCHD_RUN = record.id.to_string(), BENCHD_SUITE = record.suite; "run {} {} started by {by}", record.id.short(), record.suite);
        stopped
    }

    /// Whoever learns that the run has ended finds it in the store, unless the disk is full.
    async fn finish(&self, record: &RunRecord, took: Duration, message: Option<String>) {
        self.shared.parts.store.end_run(record);
        self.written().await;
        let outcome = record.outcome.unwrap_or(Outcome::Failed);
        let mut state = self.shared.state();
        state.active = None;
        state.live.end(Instant::now());
        let counters = state.count(&record.suite);
        match (outcome, &record.failure) {
            (Outcome::Failed, _) => counters.failed += 1,
            (Outcome::Cancelled, _) => counters.cancelled += 1,
            (Outcome::Aborted, Some(failure)) => {
                *counters.aborted.entry(failure.reason.clone()).or_default() += 1
            }
            _ => {}
        }
        drop(state);
        let why = record.failure.as_ref().map(|failure| format!(": {}", failure.message)).unwrap_or_default();
        log::info!(MESSAGE_ID = journal::RUN_ENDED, BENCHD_RUN = record.id.to_string(), BENCHD_SUITE = record.suite,
            BENCHD_OUTCOME = outcome.as_str();
            "run {} {} {outcome} in {:.0} s: {} of {}{why}", record.id.short(), record.suite,
            took.as_secs_f64(), record.finished_cases, counted(record.planned_cases, "case"));
        self.shared.log(record.id, ended(record, took, message));
    }

    /// Waits until all records are on disk, for a while.
    async fn written(&self) {
        self.shared.written(RECORD_LIMIT).await;
    }
}

fn ended(record: &RunRecord, took: Duration, message: Option<String>) -> Event {
    Event::End {
        t: took.as_secs_f64(),
        outcome: record.outcome.unwrap_or(Outcome::Failed),
        finished: record.finished_cases,
        of: record.planned_cases,
        message,
    }
}
