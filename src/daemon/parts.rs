//! Makes the parts that the daemon and a run without a daemon have in common.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;

use super::settings::{sampler_settings, state_directory, store_limits};
use crate::config::Config;
use crate::exit::{Ended, Exit};
use crate::inventory::{self, HostFacts};
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

/// A runner that starts workers as child processes.
pub(crate) fn runner(path: &Path, store: Store, sampler: Arc<Sampler>, facts: &HostFacts) -> Runner {
    let identity = store.identity();
    Runner::new(RunnerParts {
        store,
        launcher: Box::new(ChildLauncher::own_program()),
        sampler,
        host: facts.name(),
        host_facts: inventory::facts,
        state_directory: state_directory(path),
        identity,
    })
}
