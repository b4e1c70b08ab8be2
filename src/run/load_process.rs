//! A load process as the worker sees it: started, listened to, and ended within two seconds when it must end.

use std::collections::BTreeSet;
use std::io::{BufReader, Write as _};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::groups::{Groups, LOAD, Started};
use super::launch::OWN_PROGRAM;
use super::ledger::{self, Part};
use super::limits::{self, Stamp};
use super::protocol::{FromLoad, Hello, LoadEnd, LoadRequest, ToLoad, read_line};
use crate::driver::{Observed, Stop};
use crate::record::{CaseResult, Failure, RunId, Stage};
use crate::units::Bytes;

/// After a stop the load may answer so long; then it is killed. No new request is sent within two seconds.
const STOP_LIMIT: Duration = Duration::from_millis(1500);
/// A process that was killed is gone within this time, unless the kernel holds it.
const KILL_LIMIT: Duration = Duration::from_secs(1);
/// Reason of the failure of a case whose load process the kernel does not let end; nothing runs after it.
pub(super) const STUCK: &str = "stuck";
/// How often the stop is looked for while the load is silent.
const LOOK: Duration = Duration::from_millis(50);

/// What came of a load process.
pub(super) struct LoadReport {
    pub(super) result: Option<CaseResult>,
    pub(super) failure: Option<Failure>,
    /// What of the limits held for it.
    pub(super) limits: Stamp,
}

impl LoadReport {
    /// The same, with a failure of the load placed in the stage it had reached.
    pub(super) fn at(mut self, stage: Stage) -> LoadReport {
        if let Some(failure) = &mut self.failure {
            failure.stage = stage;
        }
        self
    }
}

/// Where a load process is remembered, and for which run. It is forgotten by whoever asked for the run: the disk may
/// stand still, and the end of a run does not wait for it here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) state: &'a Path,
    pub(super) run: RunId,
}

/// The memory of a load: where it is held to it, and how much it may have beside what it was asked to fill.
pub(super) struct Memory<'a> {
    pub(super) groups: &'a Groups,
    pub(super) most: Bytes,
    pub(super) filled: Bytes,
}

impl Memory<'_> {
    /// Starts a load that is held to it, and notes whether it is.
    fn start<T>(&self, start: impl FnOnce() -> T) -> (T, Stamp) {
        let all = Bytes::new(self.most.get().saturating_add(self.filled.get()));
        let Started { started, limited } = self.groups.start(LOAD, all, start);
        let value = match self.filled.get() {
            0 => self.most.to_string(),
            _ => format!("{} and {} it fills", self.most, self.filled),
        };
        let mut stamp = Stamp::new();
        limits::enter(&mut stamp, "memory_max", &value, limited);
        (started, stamp)
    }
}

/// Starts a load process, tells what it observes, and waits for its end.
pub(super) fn run(
    request: LoadRequest,
    known: Known<'_>,
    memory: &Memory<'_>,
    stop: &Stop,
    observe: &mut dyn FnMut(Observed) -> Result<()>,
) -> Result<LoadReport> {
    let mut load = Load::start(request, known, memory)?;
    let followed = load.follow(stop, observe);
    let ended = if followed.is_ok() { load.end()? } else { load.kill()? };
    let Some(how) = ended else { return Ok(load.stuck()) };
    match followed? {
        Some(end) => Ok(load.report(end)),
        None => bail!("the load process ended without a result: {how}"),
    }
}

struct Load {
    process: Child,
    input: Option<ChildStdin>,
    messages: mpsc::Receiver<Result<FromLoad>>,
    /// What holds for it beside what it takes on itself.
    limits: Stamp,
}

impl Load {
    fn start(request: LoadRequest, known: Known<'_>, memory: &Memory<'_>) -> Result<Load> {
        let mut command = Command::new(OWN_PROGRAM);
        command.arg0("benchd").args(["worker", "--load"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let (started, limits) = memory.start(|| command.spawn());
        let mut process = started.context("start a load process")?;
        let mut input = process.stdin.take().context("the load process has no input")?;
        let output = process.stdout.take().context("the load process has no output")?;
        let messages = listen(output)?;
        ledger::remember(known.state, Part::Load, process.id(), known.run, BTreeSet::new())?;
        for message in [ToLoad::Hello(Hello::here()), ToLoad::Case(Box::new(request))] {
            super::protocol::write_line(&mut input, &message)?;
        }
        input.flush().context("write to the load process")?;
        Ok(Load { process, input: Some(input), messages, limits })
    }

    fn report(mut self, end: LoadEnd) -> LoadReport {
        let failure = end.failure.map(|failure| Failure {
            stage: Stage::Measure,
            reason: failure.reason,
            message: failure.message,
        });
        self.limits.extend(end.limits);
        LoadReport { result: end.result, failure, limits: self.limits }
    }

    /// Takes messages until the last one; `None` when the process went away before it.
    fn follow(
        &mut self,
        stop: &Stop,
        observe: &mut dyn FnMut(Observed) -> Result<()>,
    ) -> Result<Option<LoadEnd>> {
        let mut stopping: Option<Instant> = None;
        loop {
            match self.messages.recv_timeout(LOOK) {
                Ok(message) => match message? {
                    FromLoad::Hello(hello) => hello.check()?,
                    FromLoad::Observed(observed) => observe(*observed)?,
                    FromLoad::Ended(end) => return Ok(Some(*end)),
                },
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if stop.requested() && stopping.is_none() {
                self.input = None;
                stopping = Some(Instant::now());
            }
            if stopping.is_some_and(|since| since.elapsed() > STOP_LIMIT) {
                bail!("stopped; the load did not answer within {} ms and was killed", STOP_LIMIT.as_millis());
            }
        }
    }

    /// Closes the input, which ends the load, and reaps it; one that does not end is killed.
    fn end(&mut self) -> Result<Option<String>> {
        self.input = None;
        match self.wait(STOP_LIMIT)? {
            Some(how) => Ok(Some(how)),
            None => self.kill(),
        }
    }

    /// Kills the load and reaps it; `None` when the kernel does not let it end.
    fn kill(&mut self) -> Result<Option<String>> {
        self.process.kill().context("kill the load process")?;
        self.wait(KILL_LIMIT)
    }

    fn wait(&mut self, limit: Duration) -> Result<Option<String>> {
        let since = Instant::now();
        loop {
            let status = self.process.try_wait().context("wait for the load process")?;
            if status.is_some() || since.elapsed() > limit {
                return Ok(status.map(|status| status.to_string()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What there is to say of a load that was killed and is still there. It stays remembered.
    fn stuck(&self) -> LoadReport {
        let message = format!(
            "load process {} was killed and is still there, stuck in the kernel: no request is sent any more, and no \
             run starts before it is gone",
            self.process.id()
        );
        let failure = Failure { stage: Stage::Measure, reason: STUCK.to_owned(), message };
        LoadReport { result: None, failure: Some(failure), limits: Stamp::new() }
    }
}

/// A thread that reads the load's lines, so that waiting for them can have a limit.
fn listen(output: std::process::ChildStdout) -> Result<mpsc::Receiver<Result<FromLoad>>> {
    let (sender, messages) = mpsc::channel();
    let mut output = BufReader::new(output);
    let read = move || {
        while let Some(message) = read_line(&mut output).transpose() {
            let broken = message.is_err();
            if sender.send(message).is_err() || broken {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("load output".to_owned())
        .spawn(read)
        .context("start the thread that listens to the load")?;
    Ok(messages)
}
