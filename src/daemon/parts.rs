//! Makes the parts that the daemon and a run without a daemon have in common.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;

use super::settings::{observer_settings, sampler_settings, state_directory, store_limits};
use crate::config::Config;
use crate::exit::{Ended, Exit};
use crate::inventory::{self, HostFacts};
use crate::observe::{Observer, Owner};
use crate::run::{ChildLauncher, Launcher, Runner, RunnerParts, SCHEMAS, SocketLauncher};
use crate::sample::{Root, Sampler};
use crate::store::{OpenError, Store};
use crate::target::DaemonIdentity;

/// Opens the store for this process alone.
///
/// # Errors
/// Says what is wrong with it; a store in use by another benchd is told apart by its exit code.
pub(crate) fn open_store(path: &Path, config: &Config) -> Result<Store> {
    Store::open(path, store_limits(config)).map_err(|error| {
        let exit = match &error {
            OpenError::Locked { .. } => Exit::Busy,
            _ => Exit::Failed,
        };
        Ended::because(exit, error.to_string())
    })
}

/// Starts sampling this host.
///
/// # Errors
/// When the settings or the system do not allow it.
pub(crate) fn start_sampler(config: &Config) -> Result<Arc<Sampler>> {
    Sampler::start(sampler_settings(config)?, Root::default()).map(Arc::new)
}

/// Starts asking the servers that are targets.
///
/// # Errors
/// When the system does not allow it.
pub(super) fn start_observer(config: &Config, owner: Owner) -> Result<Arc<Observer>> {
    Observer::start(&observer_settings(config, owner)).map(Arc::new)
}

/// Who this benchd is on servers, and where the proof of what it made on them is.
pub(super) fn owner(path: &Path, store: &Store, facts: &HostFacts) -> Owner {
    let daemon = DaemonIdentity { uuid: store.identity(), host: facts.name() };
    Owner { daemon, ledger: state_directory(path).join(SCHEMAS) }
}

/// The variable by which the unit of the daemon names the socket of the unit of its workers.
const WORKER_SOCKET: &str = "BENCHD_WORKER_SOCKET";

/// Workers are units of their own where the service manager says so, else child processes. A socket that is named and
/// does not answer fails the run: as a child inside the daemon's sandbox a load would not be the same.
fn launcher() -> Box<dyn Launcher> {
    match std::env::var_os(WORKER_SOCKET).filter(|socket| !socket.is_empty()) {
        Some(socket) => Box::new(SocketLauncher::new(socket)),
        None => Box::new(ChildLauncher::own_program()),
    }
}

/// A runner with its workers.
pub(crate) fn runner(
    path: &Path,
    store: Store,
    sampler: Arc<Sampler>,
    observer: Arc<Observer>,
    facts: &HostFacts,
) -> Runner {
    let identity = store.identity();
    Runner::new(RunnerParts {
        store,
        launcher: launcher(),
        sampler,
        observer,
        host: facts.name(),
        host_facts: inventory::facts,
        state_directory: state_directory(path),
        identity,
    })
}
