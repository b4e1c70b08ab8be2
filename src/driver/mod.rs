//! Drives a load: client threads that do one operation after another, flat out or by a schedule fixed in
//! advance, and an honest account of what came of it. Knows neither SQL nor configuration.
//!
//! A client is a thread with a [`Worker`]. All are made before the first operation, so connecting is never
//! measured.

mod buckets;
mod client;
mod clock;
mod codes;
mod part;
mod pin;
mod process;
pub mod random;
mod reading;
mod report;
mod schedule;
mod tally;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::record::{CaseResult, Interval, new_histogram};
use crate::units::{Rate, Share, Span};

use client::{Control, EndOnDrop, Message, live};
use part::Part;
use report::Reporter;

pub use buckets::{Buckets, Layout};
pub use tally::{Deferred, Tally};

/// The load to drive.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Client threads, at least 1.
    pub clients: u32,
    /// Time before measuring, in the same connections and with no gap; what it did is thrown away.
    pub warm_up: Span,
    /// Measured time; `Span::ZERO` is no limit by time.
    pub time: Span,
    /// Measured operations over all clients; 0 is no limit by number.
    pub operations: u64,
    /// Measured operations of each client; 0 is no limit by number.
    pub operations_each: u64,
    /// When operations start.
    pub pace: Pace,
    /// On which CPUs the clients run.
    pub pin: Pin,
    /// Seed of the schedule, and of the workers' random choices.
    pub seed: u64,
    /// Time between two observations.
    pub interval: Span,
    /// More failed operations than this share end the load as failed.
    pub max_errors: Share,
    /// What operations are told apart by.
    pub kinds: Kinds,
}

/// Kinds of operations that are told apart in a result, named by their place in the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Their names in records.
    pub names: &'static [&'static str],
    /// Whether each has its own distribution of times; otherwise they are only counted.
    pub timed: bool,
}

/// When operations start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Closed loop: each client sends its next operation when the last one is answered.
    FlatOut,
    /// Open loop: operations have intended starts, however slow the answers are.
    Open {
        /// Operations a second over all clients.
        rate: Rate,
        /// How intended starts are spaced.
        arrivals: Arrivals,
    },
}

/// How intended starts are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Independent of one another, as requests of many users are: exponential gaps.
    Poisson,
    /// One every 1/rate seconds.
    Even,
}

/// On which CPUs client threads run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pin {
    /// Where the kernel puts them.
    None,
    /// Each on a CPU of its own.
    Core,
}

/// What one client does.
pub trait Worker {
    /// Does one operation. Its number, where operations are [numbered](Worker::is_numbered), is unique in the case and
    /// does not depend on which client does it or when: it seeds the operation's randomness
    /// ([`random::Random::for_operation`]). Operations of the warm-up have numbers of their own.
    ///
    /// # Errors
    /// The operation failed for good; it counts as an error and not as a response time.
    fn step(&mut self, operation: u64, tally: &mut Tally) -> Result<(), Failed>;

    /// Whether its operations need numbers. They come from one counter of all clients, whose line of the cache moves
    /// between CPUs with each use: too much for operations of some hundred nanoseconds that do not look at theirs.
    /// Where nothing depends on their order, clients take several at once, so a load that ends by time leaves some out.
    fn is_numbered(&self) -> bool {
        true
    }

    /// Done after every operation that did not fail: work that belongs to the load and not to a response time.
    #[inline(always)]
    fn between(&mut self) {}

    /// Ends what is still under way when a part of the load is over: the warm-up, or as the `last` the measured
    /// part, to whose time and counts it belongs.
    ///
    /// # Errors
    /// It failed, which ends the whole case.
    fn settle(&mut self, _last: bool, _tally: &mut Tally) -> Result<(), Failed> {
        Ok(())
    }
}

/// An operation that failed for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The kind of failure, counted by it.
    pub code: ErrorCode,
    /// Ends the whole case with this sentence.
    pub fatal: Option<String>,
}

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorCode {
    /// The server's error number.
    Server(u16),
    /// The connection was lost or could not be made.
    Connection,
    /// No answer in time.
    Timeout,
    /// Anything else.
    Other,
}

impl ErrorCode {
    /// The word that stands for it in records and metrics: `1213`, `connection`, `timeout`, `other`.
    pub fn as_text(self) -> String {
        match self {
            ErrorCode::Server(number) => number.to_string(),
            ErrorCode::Connection => "connection".to_owned(),
            ErrorCode::Timeout => "timeout".to_owned(),
            ErrorCode::Other => "other".to_owned(),
        }
    }
}

/// Asks a load to end: seen before every operation is sent and in every wait. Clones share one flag.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A flag that nobody has raised.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Asks the load to end; it cannot be taken back.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the load was asked to end.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What happened in one interval, as it is told while the load runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// True in the warm-up: shown, never counted.
    pub warm_up: bool,
    /// Clients that have not ended.
    pub clients: u32,
    /// CPU time of this process so far, in seconds.
    pub cpu_seconds: f64,
    /// What was measured in it.
    pub interval: Interval,
}

/// Why a load did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// A client could not be made; no operation was sent.
    #[error("{0:#}")]
    Make(anyhow::Error),
    /// A client met something that makes going on senseless.
    #[error("{message}")]
    Fatal {
        /// What it met.
        message: String,
        /// What was measured before.
        partial: Option<Box<CaseResult>>,
    },
    /// More operations failed than the plan allows.
    #[error(
        "{failed} of {ended} operations failed, more than the {allowed} that `max_errors` allows; most of them: {most}"
    )]
    TooManyErrors {
        /// Operations that failed.
        failed: u64,
        /// Operations that ended, failed ones included.
        ended: u64,
        /// The share that the plan allows.
        allowed: Share,
        /// The code met most often.
        most: String,
        /// What was measured before.
        partial: Option<Box<CaseResult>>,
    },
    /// The workload itself saw that going on would do harm or make no sense.
    #[error("{message}")]
    Aborted {
        /// The word for it in records.
        reason: &'static str,
        /// What it saw.
        message: String,
        /// What was measured before.
        partial: Option<Box<CaseResult>>,
    },
    /// The load was asked to end.
    #[error("the load was stopped before its end")]
    Stopped {
        /// What was measured before.
        partial: Option<Box<CaseResult>>,
    },
}

/// Drives the load of the plan with one worker a client, which `make` makes on the client's own thread, and tells
/// `observe` of every interval, on the calling thread.
///
/// * Limits and `stop` are met between operations; the overrun of the last ones belongs to the measured time. So
///   `make` and an operation must end by themselves, by time limits of their own.
/// * In open loop an operation counts from its intended start. What is due and cannot be sent before the end is
///   counted as never sent, with its age; sending less than 99 % of what was due is an overload, which is a result.
/// * An operation intended (in closed loop: sent) in the warm-up is never counted; overdue arrivals are dropped at
///   its end. The live observations of the warm-up start their time at 0, and so do those of the measured part.
/// * Failed operations are counted by code and have no response time; how long they took is a distribution of its own. Whether too many failed is judged at the end
///   of each measured interval, once 100 operations ended, and at the end of all.
///
/// # Errors
/// See [`DriveError`].
pub fn drive<W: Worker>(
    plan: &Plan,
    stop: &Stop,
    make: impl Fn(u32) -> anyhow::Result<W> + Sync,
    observe: &mut dyn FnMut(Observed),
) -> Result<CaseResult, DriveError> {
    let histogram = new_histogram().map_err(|error| DriveError::Make(error.into()))?;
    let parts = Part::all(plan, &histogram);
    let control = Control::new(stop);
    let cpus = pin::cpus(plan.pin, plan.clients).map_err(DriveError::Make)?;
    let (sender, messages) = mpsc::channel();
    thread::scope(|scope| {
        let _end = EndOnDrop(&control);
        for client in 0..plan.clients {
            let (make, parts, control, sender) = (&make, &parts, &control, sender.clone());
            let cpu = cpus.get(client as usize).copied();
            let make = move || pin::this_thread(cpu).and_then(|()| make(client));
            thread::Builder::new()
                .name(format!("client-{client}"))
                .spawn_scoped(scope, move || live(client as usize, make, parts, control, &sender))
                .with_context(|| format!("start client thread {client} of {}", plan.clients))
                .map_err(DriveError::Make)?;
        }
        drop(sender);
        wait_until_made(&messages, plan.clients, stop)?;
        let start = clock::now() + LEAD;
        control.open(start);
        let (control, messages, clients) = (&control, &messages, plan.clients);
        Reporter { plan, control, messages, observe, clients, ended: start, cut: None, histogram }
            .report(&parts, start)
    })
}

/// Between the decision to start and the start, in nanoseconds: so long the clients have to wake.
const LEAD: u64 = 5_000_000;

fn wait_until_made(messages: &Receiver<Message>, clients: u32, stop: &Stop) -> Result<(), DriveError> {
    let mut made = 0;
    while made < clients {
        match messages.recv_timeout(Duration::from_millis(100)) {
            Ok(Message::NotMade(error)) => return Err(DriveError::Make(error)),
            Ok(Message::Ready | Message::Ended { .. }) => made += 1,
            Err(_) if stop.requested() => return Err(DriveError::Stopped { partial: None }),
            Err(_) => {}
        }
    }
    Ok(())
}
