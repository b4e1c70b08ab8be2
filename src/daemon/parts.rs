//! Makes the parts that the daemon and a run without a daemon have in common.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;

use super::settings::{observer_settings, sampler_settings, state_directory, store_limits};
use crate::config::Config;
use crate::exit::{Ended, Exit};
use crate::inventory::{self, HostFacts};
use crate::observe::Observer;
use crate::run::{ChildLauncher, Runner, RunnerParts};
use crate::sample::{Root, Sampler};
use crate::store::{OpenError, Store};

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
pub(crate) fn start_observer(config: &Config, store: &Store) -> Result<Arc<Observer>> {
    Observer::start(&observer_settings(config, store.identity())).map(Arc::new)
}

/// A runner that starts workers as child processes.
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
        launcher: Box::new(ChildLauncher::own_program()),
        sampler,
        observer,
        host: facts.name(),
        host_facts: inventory::facts,
        state_directory: state_directory(path),
        identity,
    })
}
