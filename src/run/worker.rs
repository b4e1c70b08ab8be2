//! The worker process: one run. It makes targets ready, starts a load process for each case, and leaves nothing
//! behind that is not meant to stay.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;

use super::emit::Emitter;
use super::groups::Groups;
use super::limits::{self, Stamp};
use super::load::stop_at_end_of;
use super::load_process::{self, Known, LoadReport, Memory, STUCK};
use super::pace::Pace;
use super::protocol::{
    CaseRequest, ClearRequest, FromWorker, Hello, LoadRequest, RunRequest, ToWorker, read_line,
};
use super::recover::LeftOver;
use super::targets::{Targets, Teller};
use crate::analysis;
use crate::driver::Stop;
use crate::process::written_bytes;
use crate::record::{CaseRecord, Event, Failure, Outcome, SCHEMA, Stage};
use crate::workloads::{self, Kind, NO_SPACE, Needs, Workload};

/// Serves one run on a pair of streams.
///
/// # Errors
/// When the other side does not speak this protocol or is gone; what goes wrong in the run itself is reported.
pub fn serve_worker(
    mut input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<()> {
    let emitter = Emitter::start(output)?;
    emitter.send(FromWorker::Hello(Hello::here()))?;
    let failure = match receive(&mut input)? {
        Order::Run(request) => run(&request, input, &emitter)?,
        Order::Clear(request) => {
            request.clear(&mut |kind| emitter.offer(FromWorker::LeftOver(kind)));
            None
        }
    };
    emitter.send(FromWorker::Ended(failure))?;
    emitter.finish()
}

/// What a worker is there for.
enum Order {
    Run(Box<RunRequest>),
    Clear(ClearRequest),
}

fn receive(input: &mut impl BufRead) -> Result<Order> {
    match read_line(input)?.context("nobody asked for a run")? {
        ToWorker::Hello(hello) => hello.check()?,
        ToWorker::Run(_) | ToWorker::Clear(_) => bail!("the other side did not greet"),
    }
    match read_line(input)?.context("nobody asked for a run")? {
        ToWorker::Run(request) => Ok(Order::Run(request)),
        ToWorker::Clear(request) => Ok(Order::Clear(request)),
        ToWorker::Hello(_) => bail!("the other side greeted twice"),
    }
}

fn run(
    request: &RunRequest,
    input: impl BufRead + Send + 'static,
    emitter: &Emitter<FromWorker>,
) -> Result<Option<Failure>> {
    limits::apply(&request.limits);
    let groups = Groups::divide();
    let stop = Stop::new();
    stop_at_end_of(input, stop.clone())?;
    Worker { request, emitter, groups: &groups, stop, clock: Instant::now() }.run()
}

/// Reason of the failure of a case whose load process did not end in order.
const LOAD: &str = "load";

struct Worker<'a> {
    request: &'a RunRequest,
    emitter: &'a Emitter<FromWorker>,
    groups: &'a Groups,
    stop: Stop,
    clock: Instant,
}

/// One case as it goes through its stages.
struct CaseRun<'a> {
    case: &'a CaseRequest,
    kind: &'static Kind,
    index: u32,
    start: Timestamp,
    stage: Stage,
    entered: Instant,
    seconds: BTreeMap<Stage, f64>,
}

impl Worker<'_> {
    /// Runs the cases in order, then cleans up whatever happened; gives what went wrong beside the cases.
    fn run(&mut self) -> Result<Option<Failure>> {
        let mut targets = Targets::new(self.request, self.groups, self.stop.clone());
        let mut cut_short = false;
        for (index, case) in (0..).zip(&self.request.cases) {
            if self.stop.requested() {
                break;
            }
            let record = self.case(index, case, &mut targets)?;
            let failed = record.outcome != Outcome::Finished;
            cut_short |= record.failure.as_ref().is_some_and(|failure| failure.reason == LOAD);
            let stuck = record.failure.as_ref().is_some_and(|failure| failure.reason == STUCK);
            self.emitter.send(FromWorker::Case(Box::new(record)))?;
            if stuck || (failed && self.request.stop_on_failure) {
                break;
            }
        }
        if self.stop.requested() || cut_short {
            targets.end_own_connections(self);
        }
        let cleaned = targets.close(self);
        if let Some(bytes) = written_bytes() {
            self.emitter.send(FromWorker::Written(bytes))?;
        }
        Ok(cleaned.err().map(|error| Failure {
            stage: Stage::CleanUp,
            reason: "clean_up".to_owned(),
            message: format!("{error:#}"),
        }))
    }

    fn seconds(&self) -> f64 {
        self.clock.elapsed().as_secs_f64()
    }

    fn case(&self, index: u32, case: &CaseRequest, targets: &mut Targets<'_>) -> Result<CaseRecord> {
        let kind = workloads::find(&case.workload)
            .with_context(|| format!("this version has no workload `{}`", case.workload))?;
        let mut run = CaseRun {
            case,
            kind,
            index,
            start: Timestamp::now(),
            stage: Stage::Prepare,
            entered: Instant::now(),
            seconds: BTreeMap::new(),
        };
        self.tell(&run, None)?;
        let mut report = self.prepare_and_load(&mut run, targets);
        self.explain(&mut report);
        run.enter(Stage::Record);
        Ok(self.record(run, report, targets))
    }

    /// Tells that the case entered its present stage.
    fn tell(&self, run: &CaseRun<'_>, planned_seconds: Option<f64>) -> Result<()> {
        self.emitter.send(FromWorker::Event(Event::Stage {
            t: self.seconds(),
            case: run.case.name.clone(),
            index: run.index + 1,
            of: u32::try_from(self.request.cases.len()).unwrap_or(u32::MAX),
            stage: run.stage,
            planned_seconds,
        }))
    }

    /// Tells what this process and those it started have written. Whoever misses it learns it from the next one.
    fn tell_written(&self) {
        if let Some(bytes) = written_bytes() {
            self.emitter.offer(FromWorker::Written(bytes));
        }
    }

    fn prepare_and_load(&self, run: &mut CaseRun<'_>, targets: &mut Targets<'_>) -> LoadReport {
        let prepared = (run.kind.build)(&run.case.parameters)
            .map_err(anyhow::Error::from)
            .and_then(|workload| self.prepare(run, workload.as_ref(), targets).map(|()| workload));
        match prepared {
            Ok(workload) => {
                self.load(run, workload.as_ref(), targets).unwrap_or_else(|error| run.failed(LOAD, &error))
            }
            Err(error) => run.failed("prepare", &error),
        }
    }

    /// Says of a case that failed what else is known of why.
    fn explain(&self, report: &mut LoadReport) {
        let why = self.groups.ended_for_memory();
        if let Some((failure, why)) = report.failure.as_mut().zip(why) {
            failure.message.push_str(&format!("; {why}"));
        }
    }

    fn prepare(&self, run: &CaseRun<'_>, workload: &dyn Workload, targets: &mut Targets<'_>) -> Result<()> {
        let prepared = match &run.case.target {
            None => None,
            Some(name) => Some(targets.open(name, self)?),
        };
        let mut pace = Pace::default();
        let mut progress = |done, of, unit: &'static str| {
            let t = self.seconds();
            let Some(per_second) = pace.told(t, done, done == of) else { return };
            self.emitter.offer(FromWorker::Event(Event::Progress {
                t,
                case: run.case.name.clone(),
                stage: Stage::Prepare,
                done,
                of,
                unit: unit.to_owned(),
                per_second,
            }));
            self.tell_written();
        };
        workload.prepare(prepared, &self.stop, &mut progress)
    }

    /// Runs warm-up and measured part in a process of their own.
    fn load(
        &self,
        run: &mut CaseRun<'_>,
        workload: &dyn Workload,
        targets: &Targets<'_>,
    ) -> Result<LoadReport> {
        let plan = workload.plan();
        let request = LoadRequest {
            workload: run.case.workload.clone(),
            parameters: run.case.parameters.clone(),
            way: run.case.target.as_deref().and_then(|name| targets.way(name)),
            limits: self.request.limits.clone(),
        };
        run.enter(if plan.warm_up.is_zero() { Stage::Measure } else { Stage::WarmUp });
        let planned = if plan.warm_up.is_zero() { plan.time } else { plan.warm_up };
        self.tell(run, Some(planned.seconds()))?;
        let known = Known { state: &self.request.state_directory, run: self.request.id };
        let most = self.request.limits.memory_max;
        let memory = Memory { groups: self.groups, most, filled: workload.memory() };
        load_process::run(request, known, &memory, &self.stop, &mut |observed| {
            if !observed.warm_up && run.stage == Stage::WarmUp {
                run.enter(Stage::Measure);
                self.tell(run, Some(plan.time.seconds()))?;
            }
            self.emitter.offer(FromWorker::Event(Event::Interval {
                t: self.seconds(),
                case: run.case.name.clone(),
                warm_up: observed.warm_up,
                clients: observed.clients,
                cpu_seconds: observed.cpu_seconds,
                interval: Box::new(observed.interval),
            }));
            self.tell_written();
            Ok(())
        })
        .map(|report| report.at(run.stage))
    }

    fn record(&self, run: CaseRun<'_>, mut report: LoadReport, targets: &Targets<'_>) -> CaseRecord {
        if let Some(result) = &mut report.result {
            analysis::judge(result, run.kind.needs == Needs::Server);
        }
        let target = run.case.target.clone();
        report.limits.extend(limits::weights(&self.request.limits, self.groups));
        report.limits.extend(target.as_deref().map(|name| targets.limits(name)).unwrap_or_default());
        let (outcome, failure) = match report.failure {
            None => (Outcome::Finished, None),
            Some(failure) if failure.reason == NO_SPACE => (Outcome::Aborted, Some(failure)),
            Some(failure) => (Outcome::Failed, Some(failure)),
        };
        CaseRecord {
            schema: SCHEMA,
            run: self.request.id,
            index: run.index,
            suite: self.request.suite.clone(),
            case: run.case.name.clone(),
            workload: run.case.workload.clone(),
            revision: run.kind.revision,
            parameters: run.case.parameters.clone(),
            operation: run.kind.operation.to_owned(),
            start: run.start,
            end: Timestamp::now(),
            outcome,
            failure,
            stage_seconds: run.stage_seconds(report.result.as_ref()),
            result: report.result,
            target_facts: target.as_deref().map(|name| targets.facts(name)).unwrap_or_default(),
            limits: report.limits,
            notes: Vec::new(),
            target,
        }
    }
}

impl Teller for Worker<'_> {
    fn note(&self, text: String) {
        self.emitter.offer(FromWorker::Event(Event::Note { t: self.seconds(), text }));
    }

    fn left_over(&self, kind: LeftOver) {
        self.emitter.offer(FromWorker::LeftOver(kind));
    }
}

impl CaseRun<'_> {
    fn enter(&mut self, stage: Stage) {
        let entered = std::mem::replace(&mut self.entered, Instant::now());
        let seconds = self.entered.duration_since(entered).as_secs_f64();
        *self.seconds.entry(self.stage).or_default() += seconds;
        self.stage = stage;
    }

    fn failed(&self, reason: &str, error: &anyhow::Error) -> LoadReport {
        let failure = Failure { stage: self.stage, reason: reason.to_owned(), message: format!("{error:#}") };
        LoadReport { result: None, failure: Some(failure), limits: Stamp::new() }
    }

    /// The load process knows best where the warm-up ended; its own start belongs to the warm-up.
    fn stage_seconds(&self, result: Option<&crate::record::CaseResult>) -> BTreeMap<Stage, f64> {
        let mut seconds = self.seconds.clone();
        if let Some(result) = result {
            let load: f64 =
                [Stage::WarmUp, Stage::Measure].iter().filter_map(|stage| seconds.remove(stage)).sum();
            seconds.insert(Stage::WarmUp, (load - result.seconds).max(0.0));
            seconds.insert(Stage::Measure, result.seconds);
        }
        seconds
    }
}
