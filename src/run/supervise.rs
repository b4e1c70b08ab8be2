//! One run from the daemon's side: starts the worker, follows what it says, keeps what it delivers, and ends it
//! when it must end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use jiff::Timestamp;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::watch;

use super::launch::{Launcher, WorkerLink, WorkerProcess};
use super::ledger::Part;
use super::live::Begun;
use super::plan::{CasePlan, RunPlan};
use super::protocol::{ClearRequest, FromWorker, Hello, LINE_LIMIT, RunRequest, ToWorker, parse_line};
use super::queue::{Start, StopReason};
use super::recover::LeftOver;
use super::runner::Shared;
use super::series::CaseSeries;
use super::stuck::{Doing, in_thread};
use super::{ledger, request};
use crate::analysis;
use crate::record::{CaseRecord, CaseResult, Event, Failure, Outcome, RunRecord, Stage};
use crate::units::Span;

/// A worker that was asked to stop may take so long to clean up before it is killed.
const CLEAN_UP_LIMIT: Duration = Duration::from_secs(45);

/// A finished case is waited for so long to be on disk; meanwhile the run cannot be cancelled.
const CASE_LIMIT: Duration = Duration::from_secs(1);
/// The worker is remembered on disk within this time, or the run does not begin.
const REMEMBER_LIMIT: Duration = Duration::from_secs(5);
/// A worker that said its last word, or was killed, may take so long to be gone.
const GONE_LIMIT: Duration = Duration::from_secs(2);
/// Reason of a failure of the worker itself.
const WORKER: &str = "worker";

/// What is known while the run goes on.
struct Supervision<'a> {
    shared: &'a Arc<Shared>,
    record: &'a mut RunRecord,
    plan: &'a RunPlan,
    clock: Instant,
    stopped: Option<StopReason>,
    /// What the host does while the present case runs.
    series: Option<CaseSeries>,
    /// Bytes that the worker told of as written.
    written: u64,
    /// The cases so far without their intervals and histograms, to be set side by side.
    cases: Vec<CaseRecord>,
}

/// Executes a run whose guards hold; fills in how it ended. Gives what there is to say of the end beside what each
/// case said of its own.
pub(super) async fn run(
    shared: &Arc<Shared>,
    record: &mut RunRecord,
    start: &Start,
    plan: &RunPlan,
    stop: watch::Receiver<Option<StopReason>>,
) -> Option<String> {
    let mut supervision = Supervision {
        shared,
        record,
        plan,
        clock: Instant::now(),
        stopped: None,
        series: None,
        written: 0,
        cases: Vec::new(),
    };
    let failure = match supervision.work(start, stop).await {
        Ok(failure) => failure,
        Err(error) => Some(worker_failure(format!("{error:#}"))),
    };
    if failure.as_ref().is_some_and(|failure| failure.reason == WORKER) {
        shared.clear(&start.targets).await;
    } else {
        shared.clear_load(&start.targets).await;
    }
    supervision.conclude(failure)
}

/// Has a worker clear what earlier runs left, and keeps what it found.
pub(super) async fn clear(
    launcher: &dyn Launcher,
    request: ClearRequest,
    found: &mut Vec<LeftOver>,
) -> Result<()> {
    let mut link = launcher.launch().await?;
    send(&mut link, &ToWorker::Hello(Hello::here())).await?;
    send(&mut link, &ToWorker::Clear(request)).await?;
    let mut lines = BufReader::new(link.output);
    let mut line = Vec::new();
    while read_line(&mut lines, &mut line).await? > 0 {
        match parse_line(&line)? {
            FromWorker::Hello(hello) => hello.check()?,
            FromWorker::LeftOver(kind) => found.push(kind),
            FromWorker::Ended(_) => return Ok(()),
            FromWorker::Event(_) | FromWorker::Case(_) | FromWorker::Written(_) => {}
        }
        line.clear();
    }
    anyhow::bail!(lost(link.process.wait().await))
}

fn worker_failure(message: String) -> Failure {
    Failure { stage: Stage::Prepare, reason: WORKER.to_owned(), message }
}

impl Supervision<'_> {
    async fn work(
        &mut self,
        start: &Start,
        mut stop: watch::Receiver<Option<StopReason>>,
    ) -> Result<Option<Failure>> {
        let request = request::build(&self.shared.parts, self.record, start, self.plan)?;
        let mut link = self.shared.parts.launcher.launch().await?;
        let ended = match self.remember(link.process.id(), start).await {
            Ok(()) => self.converse(&mut link, request, &mut stop).await,
            Err(error) => Err(error),
        };
        if ended.is_err() {
            link.process.kill();
        }
        drop(link.input);
        match (ended, self.reap(link.process).await) {
            (Ok(Some(failure)), _) => Ok(failure),
            (Ok(None), how) => Ok(Some(worker_failure(lost(how)))),
            (Err(error), _) => Err(error),
        }
    }

    /// Makes sure that a worker is known to whoever starts after a crash, before it is given anything to do.
    async fn remember(&self, pid: Option<u32>, start: &Start) -> Result<()> {
        let Some(pid) = pid else { return Ok(()) };
        let scratch = start.targets.values().filter_map(crate::config::Target::scratch);
        let directories = scratch.map(|scratch| scratch.directory.clone()).collect();
        let (state, run) = (self.shared.parts.state_directory.clone(), self.record.id);
        let doing = Doing::new(format!("write {} for run {}", state.display(), run.short()));
        let write = in_thread(move || ledger::remember(&state, Part::Worker, pid, run, directories));
        let written = self.shared.within(REMEMBER_LIMIT, doing, write).await.flatten();
        written
            .context("the worker could not be remembered on disk, so it was given nothing to do")?
            .map(drop)
    }

    /// Waits for the end of the worker; one that does not end is killed, and one that the kernel holds is left to
    /// end by itself.
    async fn reap(&self, mut process: Box<dyn WorkerProcess>) -> Option<String> {
        if let Ok(how) = tokio::time::timeout(GONE_LIMIT, process.wait()).await {
            return how;
        }
        process.kill();
        let doing = Doing::new(format!(
            "the worker of run {} was killed and is still there, stuck in the kernel",
            self.record.id.short()
        ));
        let gone = self.shared.within(GONE_LIMIT, doing.clone(), async move { process.wait().await }).await;
        gone.unwrap_or_else(|| {
            Some("the worker was killed and is still there, stuck in the kernel".to_owned())
        })
    }

    /// Talks to the worker until it says that the run ended; `None` when it went away without saying so.
    async fn converse(
        &mut self,
        link: &mut WorkerLink,
        request: RunRequest,
        stop: &mut watch::Receiver<Option<StopReason>>,
    ) -> Result<Option<Option<Failure>>> {
        send(link, &ToWorker::Hello(Hello::here())).await?;
        send(link, &ToWorker::Run(Box::new(request))).await?;
        let mut lines = BufReader::new(std::mem::replace(&mut link.output, Box::new(tokio::io::empty())));
        let mut limit = Box::pin(tokio::time::sleep(self.plan.deadline.duration()));
        let mut line = Vec::new();
        loop {
            tokio::select! {
                read = read_line(&mut lines, &mut line) => match read? {
                    0 => return Ok(None),
                    _ => {
                        let message = parse_line(&line)?;
                        line.clear();
                        if let Some(end) = self.take(message).await? {
                            return Ok(Some(end));
                        }
                    }
                },
                asked = asked_to_stop(stop), if self.stopped.is_none() => {
                    self.stop(link, asked, &mut limit);
                }
                () = &mut limit => {
                    if self.stopped.is_some() {
                        anyhow::bail!("the worker did not clean up within {} s and was killed", CLEAN_UP_LIMIT.as_secs());
                    }
                    self.stop(link, StopReason::Deadline(self.plan.deadline), &mut limit);
                }
            }
        }
    }

    /// Closes the worker's input, which means stop; from now on it has a limited time to clean up.
    fn stop(
        &mut self,
        link: &mut WorkerLink,
        reason: StopReason,
        limit: &mut std::pin::Pin<Box<tokio::time::Sleep>>,
    ) {
        self.stopped = Some(reason);
        link.input = Box::new(tokio::io::sink());
        limit.as_mut().reset(tokio::time::Instant::now() + CLEAN_UP_LIMIT);
    }

    /// Takes one message; `Some` when it was the last.
    async fn take(&mut self, message: FromWorker) -> Result<Option<Option<Failure>>> {
        match message {
            FromWorker::Hello(hello) => hello.check()?,
            FromWorker::Event(event) => self.happened(event),
            FromWorker::LeftOver(kind) => self.shared.state().count_left_over(&[kind]),
            FromWorker::Written(bytes) => {
                self.shared.state().live.wrote(bytes.saturating_sub(self.written));
                self.written = self.written.max(bytes);
            }
            FromWorker::Case(record) => self.keep(*record).await,
            FromWorker::Ended(failure) => return Ok(Some(failure)),
        }
        Ok(None)
    }

    fn happened(&mut self, event: Event) {
        let now = Timestamp::now();
        if let Event::Stage { case, stage: Stage::Prepare, index, .. } = &event {
            self.begin_live(case, *index);
            let target = self.planned(*index).and_then(|plan| plan.case.target.as_deref());
            self.series = Some(CaseSeries::new(now, target));
        } else if let Some(series) = &mut self.series {
            let parts = &self.shared.parts;
            series.look(&parts.sampler, &parts.observer, now);
        }
        self.shared.log(self.record.id, event);
    }

    /// The plan of a case by its place, the first being 1.
    fn planned(&self, index: u32) -> Option<&CasePlan> {
        self.plan.cases.get(usize::try_from(index.saturating_sub(1)).unwrap_or(usize::MAX))
    }

    fn begin_live(&self, case: &str, index: u32) {
        let Some(plan) = self.planned(index) else { return };
        self.shared.state().live.begin(&Begun {
            suite: &self.record.suite,
            case,
            workload: &plan.case.workload,
            target: plan.case.target.as_deref(),
            open_loop: plan
                .case
                .parameters
                .get("rate")
                .and_then(serde_json::Value::as_f64)
                .is_some_and(|rate| rate > 0.0),
            planned_seconds: plan.load.map_or(0.0, Span::seconds),
        });
    }

    /// Stage `record`: the case goes to the store, with what the host did meanwhile.
    async fn keep(&mut self, mut case: CaseRecord) {
        let begun = Instant::now();
        let t = self.clock.elapsed().as_secs_f64();
        let (of, index) = (self.record.planned_cases, case.index + 1);
        let stage = Event::Stage {
            t,
            case: case.case.clone(),
            index,
            of,
            stage: Stage::Record,
            planned_seconds: None,
        };
        self.shared.log(self.record.id, stage);
        if self.stopped.is_some() && case.outcome == Outcome::Failed {
            case.outcome = self.stopped_outcome();
        }
        let parts = &self.shared.parts;
        let series =
            self.series.take().unwrap_or_else(|| CaseSeries::new(case.start, case.target.as_deref()));
        let columns = series.finish(&parts.sampler, &parts.observer, case.end);
        parts.store.save_case(&case, &columns);
        if !self.shared.written(CASE_LIMIT).await {
            log::warn!(BENCHD_RUN = self.record.id.to_string(), BENCHD_CASE = case.case; "case {} is kept in memory: the store could not write it yet", case.case);
        }
        self.count(&case, begun.elapsed());
        self.shared.log(self.record.id, result(self.clock.elapsed(), &case));
        if let Some(result) = &mut case.result {
            (result.intervals, result.histograms) = (Vec::new(), [].into());
        }
        self.cases.push(case);
    }

    fn count(&mut self, case: &CaseRecord, recording: Duration) {
        for (stage, seconds) in &case.stage_seconds {
            *self.record.stage_seconds.entry(*stage).or_default() += seconds;
        }
        *self.record.stage_seconds.entry(Stage::Record).or_default() += recording.as_secs_f64();
        self.record.finished_cases += u32::from(case.outcome == Outcome::Finished);
        if let Some(failure) = &case.failure {
            self.record.failure.get_or_insert_with(|| Failure {
                message: format!("{}: {}", case.case, failure.message),
                ..failure.clone()
            });
        }
    }

    fn stopped_outcome(&self) -> Outcome {
        match self.stopped {
            Some(StopReason::Cancelled(_)) => Outcome::Cancelled,
            _ => Outcome::Aborted,
        }
    }

    /// Decides how the run ended; gives the failure that is not a case's.
    fn conclude(&mut self, failure: Option<Failure>) -> Option<String> {
        self.record.end = Some(Timestamp::now());
        self.record.comparison = analysis::of_run(&self.cases).map(Box::new);
        if let Some(reason) = &self.stopped {
            let stage =
                self.shared.state().active.as_ref().map_or(Stage::Measure, |active| active.view.stage);
            let failure = stop_failure(reason, stage, failure);
            let message = failure.message.clone();
            self.record.outcome = Some(self.stopped_outcome());
            self.record.failure = Some(failure);
            return Some(message);
        }
        let message = failure.as_ref().map(|failure| failure.message.clone());
        if let Some(failure) = failure {
            self.record.failure.get_or_insert(failure);
        }
        let all = self.record.finished_cases == self.record.planned_cases && self.record.failure.is_none();
        self.record.outcome = Some(if all { Outcome::Finished } else { Outcome::Failed });
        message
    }
}

fn stop_failure(reason: &StopReason, stage: Stage, failure: Option<Failure>) -> Failure {
    let (word, mut message) = match reason {
        StopReason::Cancelled(by) => ("cancelled", format!("cancelled by {by}")),
        StopReason::Deadline(limit) => ("deadline", format!("not over after {limit}, its deadline")),
        StopReason::Drain => ("stopped", "the daemon was stopped".to_owned()),
    };
    if let Some(failure) = failure {
        message = format!("{message}; {}", failure.message);
    }
    Failure { stage, reason: word.to_owned(), message }
}

fn lost(how: Option<String>) -> String {
    let how = how.unwrap_or_else(|| "the worker ended without a word".to_owned());
    format!("{how}; finished cases are kept. Its last words are in the journal")
}

fn result(clock: Duration, case: &CaseRecord) -> Event {
    let result = case.result.as_ref();
    Event::Result {
        t: clock.as_secs_f64(),
        case: case.case.clone(),
        index: case.index + 1,
        outcome: case.outcome,
        per_second: result.map(|result| result.per_second),
        p95_ms: result.and_then(|result| result.response.p95).map(|seconds| seconds * 1e3),
        bytes_per_second: result.and_then(CaseResult::bytes_per_second),
        failed: result.map_or(0, |result| result.errors.failed),
        operation: case.operation.clone(),
        load: case.load_in_words(),
        message: case.failure.as_ref().map(|failure| failure.message.clone()),
    }
}

/// Reads up to the end of a line; can be dropped and called again without losing what was read.
async fn read_line(lines: &mut (impl tokio::io::AsyncBufRead + Unpin), line: &mut Vec<u8>) -> Result<usize> {
    let room = LINE_LIMIT.saturating_sub(line.len() as u64);
    lines.take(room).read_until(b'\n', line).await.context("read what the worker says")?;
    Ok(line.len())
}

async fn send(link: &mut WorkerLink, message: &ToWorker) -> Result<()> {
    let mut line = serde_json::to_vec(message).context("write a message as JSON")?;
    line.push(b'\n');
    link.input.write_all(&line).await.context("write to the worker")?;
    link.input.flush().await.context("write to the worker")
}

async fn asked_to_stop(stop: &mut watch::Receiver<Option<StopReason>>) -> StopReason {
    let reason = stop.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
    match reason {
        Some(reason) => reason,
        None => std::future::pending().await,
    }
}
