//! A load process as the worker sees it: started, listened to, and ended within two seconds when it must end.

use std::io::{BufReader, Write as _};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::launch::OWN_PROGRAM;
use super::protocol::{FromLoad, Hello, LoadEnd, LoadRequest, ToLoad, read_line};
use crate::driver::{Observed, Stop};
use crate::record::{CaseResult, Failure, Stage};

/// After a stop the load may answer so long; then it is killed. No new request is sent within two seconds.
const STOP_LIMIT: Duration = Duration::from_millis(1500);
/// How often the stop is looked for while the load is silent.
const LOOK: Duration = Duration::from_millis(50);

/// What came of a load process.
pub(super) struct LoadReport {
    pub(super) result: Option<CaseResult>,
    pub(super) failure: Option<Failure>,
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

/// Starts a load process, tells what it observes, and waits for its end.
pub(super) fn run(
    request: LoadRequest,
    stop: &Stop,
    observe: &mut dyn FnMut(Observed) -> Result<()>,
) -> Result<LoadReport> {
    let mut load = Load::start(request)?;
    match load.follow(stop, observe) {
        Ok(Some(end)) => load.end().map(|_| report(end)),
        Ok(None) => bail!("the load process ended without a result: {}", load.end()?),
        Err(error) => {
            load.kill()?;
            Err(error)
        }
    }
}

fn report(end: LoadEnd) -> LoadReport {
    let failure = end.failure.map(|failure| Failure {
        stage: Stage::Measure,
        reason: failure.reason,
        message: failure.message,
    });
    LoadReport { result: end.result, failure }
}

struct Load {
    process: Child,
    input: Option<ChildStdin>,
    messages: mpsc::Receiver<Result<FromLoad>>,
}

impl Load {
    fn start(request: LoadRequest) -> Result<Load> {
        let mut process = Command::new(OWN_PROGRAM)
            .arg0("benchd")
            .args(["worker", "--load"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start a load process")?;
        let mut input = process.stdin.take().context("the load process has no input")?;
        let output = process.stdout.take().context("the load process has no output")?;
        let messages = listen(output)?;
        for message in [ToLoad::Hello(Hello::here()), ToLoad::Case(Box::new(request))] {
            super::protocol::write_line(&mut input, &message)?;
        }
        input.flush().context("write to the load process")?;
        Ok(Load { process, input: Some(input), messages })
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
    fn end(&mut self) -> Result<String> {
        self.input = None;
        let since = Instant::now();
        while since.elapsed() < STOP_LIMIT {
            if let Some(status) = self.process.try_wait().context("wait for the load process")? {
                return Ok(status.to_string());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.kill()
    }

    fn kill(&mut self) -> Result<String> {
        self.process.kill().context("kill the load process")?;
        self.process.wait().map(|status| status.to_string()).context("wait for the load process")
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
