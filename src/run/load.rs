//! The load process: one case, its warm-up and its measured part, and nothing else.

use std::io::{BufRead, Write};

use anyhow::{Context, Result};

use super::emit::Emitter;
use super::limits::{self, Stamp};
use super::protocol::{FromLoad, Hello, LoadEnd, LoadFailure, LoadRequest, ToLoad, read_line};
use crate::driver::{DriveError, Stop};
use crate::record::CaseResult;
use crate::target::SqlError;
use crate::workloads;

/// Serves one case on a pair of streams: reads the request, runs the load, tells intervals and the end.
///
/// # Errors
/// When the other side does not speak this protocol or is gone.
pub fn serve_load(
    mut input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<()> {
    let emitter = Emitter::start(output)?;
    emitter.send(FromLoad::Hello(Hello::here()))?;
    let request = receive(&mut input)?;
    let limits = limits::apply(&request.limits);
    let stop = Stop::new();
    stop_at_end_of(input, stop.clone())?;
    let end = LoadEnd { limits, ..execute(&request, &stop, &emitter) };
    emitter.send(FromLoad::Ended(Box::new(end)))?;
    emitter.finish()
}

fn receive(input: &mut impl BufRead) -> Result<LoadRequest> {
    match read_line(input)?.context("the worker said nothing")? {
        ToLoad::Hello(hello) => hello.check()?,
        ToLoad::Case(_) => anyhow::bail!("the worker did not greet"),
    }
    match read_line(input)?.context("the worker named no case")? {
        ToLoad::Case(request) => Ok(*request),
        ToLoad::Hello(_) => anyhow::bail!("the worker greeted twice"),
    }
}

/// Requests the stop when the input ends: the worker closed it, or is gone.
pub(super) fn stop_at_end_of(mut input: impl BufRead + Send + 'static, stop: Stop) -> Result<()> {
    let watch = move || {
        let mut ignored = Vec::new();
        while matches!(input.read_until(b'\n', &mut ignored), Ok(1..)) {
            ignored.clear();
        }
        stop.request();
    };
    std::thread::Builder::new()
        .name("input".to_owned())
        .spawn(watch)
        .context("start the thread that watches the input")?;
    Ok(())
}

fn execute(request: &LoadRequest, stop: &Stop, emitter: &Emitter<FromLoad>) -> LoadEnd {
    let built = workloads::find(&request.workload)
        .with_context(|| format!("there is no workload `{}`", request.workload))
        .and_then(|kind| (kind.build)(&request.parameters).map_err(anyhow::Error::from));
    let workload = match built {
        Ok(workload) => workload,
        Err(error) => return failed("parameters", &error),
    };
    let outcome = workload.measure(request.way.as_ref(), stop, &mut |observed| {
        emitter.offer(FromLoad::Observed(Box::new(observed)));
    });
    match outcome {
        Ok(result) => LoadEnd { result: Some(result), failure: None, limits: Stamp::new() },
        Err(error) => ended_by(error),
    }
}

fn failed(reason: &str, error: &anyhow::Error) -> LoadEnd {
    ended(reason, format!("{error:#}"), None)
}

fn ended(reason: &str, message: String, result: Option<CaseResult>) -> LoadEnd {
    let failure = LoadFailure { stopped: reason == "stopped", reason: reason.to_owned(), message };
    LoadEnd { result, failure: Some(failure), limits: Stamp::new() }
}

/// Why no operation was sent: a server did not let the clients in, or the host did not let the load start.
fn reason_of(cause: &anyhow::Error) -> &'static str {
    if cause.chain().any(|error| error.is::<SqlError>()) { "connect" } else { "start" }
}

/// The result of the part before the end is kept.
fn ended_by(error: DriveError) -> LoadEnd {
    let message = error.to_string();
    match error {
        DriveError::Make(cause) => ended(reason_of(&cause), format!("{cause:#}"), None),
        DriveError::Fatal { partial, .. } => ended("server", message, partial.map(|boxed| *boxed)),
        DriveError::TooManyErrors { partial, .. } => ended("errors", message, partial.map(|boxed| *boxed)),
        DriveError::Aborted { reason, partial, .. } => ended(reason, message, partial.map(|boxed| *boxed)),
        DriveError::Stopped { partial } => ended("stopped", message, partial.map(|boxed| *boxed)),
    }
}
