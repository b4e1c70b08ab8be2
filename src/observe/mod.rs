//! Servers that exist, asked all the time: their counters become samples, and two samples become rates.
//!
//! Each `server` target has a thread of its own with one connection, so a server that hangs delays nobody: whoever
//! wants to know is told what was last answered, and that nothing is being answered now. Nothing is locked, written or
//! scanned: the statements are those of [`interview`].

mod about;
mod columns;
mod holdings;
mod interview;
mod rates;
mod recent;
mod sample;
mod status;
mod unit;
mod watch;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

pub use about::About;
pub use columns::columns;
pub use holdings::{Holdings, Owner};
pub use rates::ServerRates;
#[cfg(test)]
pub(crate) use sample::sample_of;
pub use sample::{Channel, ServerSample};
pub use status::Status;
pub use unit::UnitUse;

use crate::config::ServerTarget;
use crate::target::Access;
use crate::units::Span;
use watch::{Command, Watch};

/// What is observed, and how.
#[derive(Clone)]
pub struct Settings {
    /// The servers by the names of their targets.
    pub targets: BTreeMap<String, ServerTarget>,
    /// How such a server is reached. It may read files, and is called for every connection.
    pub access: fn(&str, &ServerTarget) -> anyhow::Result<Access>,
    /// Who asks.
    pub owner: Owner,
    /// Where the kernel's `sys` file system is; another place in tests.
    pub sys: PathBuf,
    /// Time between two questions while no run uses the server.
    pub interval: Span,
    /// The trailing windows of the peaks.
    pub peak_windows: Vec<Span>,
}

/// What is known of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The target's name.
    pub target: String,
    /// What it last answered; `None` when it did not answer the last question, or was not asked yet.
    pub sample: Option<Arc<ServerSample>>,
    /// The most threads that ran for others in each trailing window, at the instants it was asked.
    pub most_running: Vec<(Span, u64)>,
    /// When it last answered, be it long ago.
    pub answered: Option<Timestamp>,
    /// How long the last question took, answered or not.
    pub took: Duration,
}

/// Watches servers, each in a thread of its own. One that watches nothing has no thread.
#[derive(Default)]
pub struct Observer {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    watches: BTreeMap<String, Watch>,
    windows: Vec<Span>,
    /// Every thread holds a sender; when the last is gone, all have ended.
    ended: Option<(Sender<()>, Receiver<()>)>,
}

impl Observer {
    /// Begins to watch.
    ///
    /// # Errors
    /// When the system cannot start another thread.
    pub fn start(settings: &Settings) -> anyhow::Result<Observer> {
        let observer = Observer::default();
        observer.configure(settings)?;
        Ok(observer)
    }

    /// Changes what is watched. Servers whose configuration stays keep their connections.
    ///
    /// # Errors
    /// When the system cannot start another thread.
    pub fn configure(&self, settings: &Settings) -> anyhow::Result<()> {
        let mut inner = self.lock();
        inner.windows.clone_from(&settings.peak_windows);
        inner.watches.retain(|name, watch| settings.targets.get(name) == Some(&watch.target));
        for (name, target) in &settings.targets {
            if let Some(watch) = inner.watches.get(name) {
                watch.send(Command::Interval(settings.interval.duration()));
                continue;
            }
            let (ended, _) = inner.ended.get_or_insert_with(mpsc::channel);
            let watch = Watch::start(name, target, settings, ended.clone())?;
            inner.watches.insert(name.clone(), watch);
        }
        Ok(())
    }

    /// What is known of each server, in the order of their names. Never waits for one.
    pub fn latest(&self) -> Vec<Observed> {
        let (inner, now) = (self.lock(), Instant::now());
        inner.watches.iter().map(|(name, watch)| watch.observed(name, &inner.windows, now)).collect()
    }

    /// What a server last answered; `None` when it did not answer the last question, or is not watched.
    pub fn sample(&self, target: &str) -> Option<Arc<ServerSample>> {
        self.lock().watches.get(target)?.sample(Instant::now())
    }

    /// The samples of a server whose wall-clock time lies between two instants, both included, oldest first. Goes two
    /// minutes back, or as far as the longest window.
    pub fn between(&self, target: &str, from: Timestamp, to: Timestamp) -> Vec<Arc<ServerSample>> {
        self.lock().watches.get(target).map(|watch| watch.between(from, to)).unwrap_or_default()
    }

    /// Has servers asked every second until the answer is dropped.
    pub fn closely<'a>(&self, targets: impl IntoIterator<Item = &'a str>) -> Closely {
        let inner = self.lock();
        let watches = targets.into_iter().filter_map(|target| inner.watches.get(target));
        let commands: Vec<Sender<Command>> = watches.map(Watch::commands).collect();
        for command in &commands {
            // A watch that has ended is of no use to anybody.
            let _ = command.send(Command::Closely(true));
        }
        Closely(commands)
    }

    /// Ends all watches and takes leave of the servers, for at most so long: one that hangs is not waited for.
    pub fn stop(&self, within: Duration) {
        let mut inner = self.lock();
        inner.watches.clear();
        if let Some((own, all)) = inner.ended.take() {
            drop(own);
            // Either every thread has ended, or the time is over.
            let _ = all.recv_timeout(within);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has servers asked every second while it lives.
#[must_use]
pub struct Closely(Vec<Sender<Command>>);

impl Drop for Closely {
    fn drop(&mut self) {
        for command in &self.0 {
            // As above.
            let _ = command.send(Command::Closely(false));
        }
    }
}
