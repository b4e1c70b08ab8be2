//! What the HTTP interface works with. The daemon fills it in.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot, watch};

use crate::config::{Config, Problem};
use crate::export::{Build, Reload};
use crate::inventory::{Filesystems, Hardware};
use crate::observe::Observer;
use crate::run::Runner;
use crate::sample::Sampler;
use crate::store::Store;
use crate::units::Span;

/// Handles to everything that HTTP shows or asks for.
pub struct Services {
    /// The running program.
    pub build: Build,
    /// Name of the host.
    pub host: String,
    /// When the daemon started.
    pub started: Timestamp,
    /// The configuration in force.
    pub config: watch::Receiver<Arc<Config>>,
    /// Takes requests to read the configuration anew.
    pub reload: mpsc::Sender<ReloadRequest>,
    /// What became of the last one.
    pub reloaded: watch::Receiver<Reload>,
    /// Whether the daemon is ready, or why it is not.
    pub ready: watch::Receiver<Result<(), String>>,
    /// Runs suites.
    pub runner: Runner,
    /// Keeps results.
    pub store: Store,
    /// Samples the host.
    pub sampler: Arc<Sampler>,
    /// Asks the servers that are targets.
    pub observer: Arc<Observer>,
    /// Space on the filesystems that matter.
    pub filesystems: Arc<Mutex<Filesystems>>,
    /// Facts of disks and network cards, as they were last read.
    pub hardware: watch::Receiver<Arc<Hardware>>,
    /// When scheduled suites start next.
    pub next_runs: NextRuns,
    /// Facts of the host that explain its numbers.
    pub facts: Arc<BTreeMap<String, String>>,
}

/// A request to read the configuration anew: the answer says whether it is in force now, or what is wrong with it.
pub type ReloadRequest = oneshot::Sender<Result<(), Vec<Problem>>>;

/// When each scheduled suite starts next.
pub type NextRuns = Arc<Mutex<BTreeMap<String, NextRun>>>;

/// The next start of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextRun {
    /// Jitter included.
    pub at: Timestamp,
    /// Longest gap between two starts in the coming days.
    pub interval: Option<Span>,
}

/// CPUs this process may use, when the system tells.
pub(super) fn cpus() -> Option<u32> {
    std::thread::available_parallelism().ok().and_then(|cpus| u32::try_from(cpus.get()).ok())
}

impl Services {
    /// The configuration in force.
    pub(super) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config.borrow())
    }

    /// When scheduled suites start next, as known now.
    pub(super) fn next_runs(&self) -> BTreeMap<String, NextRun> {
        self.next_runs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
