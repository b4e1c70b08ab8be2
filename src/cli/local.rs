//! A run in this process, when no daemon serves this host: the same queue, worker and store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};

use crate::config::Config;
use crate::daemon;
use crate::inventory::HostFacts;
use crate::run::Runner;

/// The store a command without a daemon uses: the configured one where this user may write it, else one in the
/// user's own state directory.
pub(crate) fn store_path(config: &Config) -> Result<PathBuf> {
    let configured = &config.store.path;
    if writable(configured) {
        return Ok(configured.clone());
    }
    user_store().context("there is no home directory for a store: set [store] path in a configuration file")
}

/// Whether a file could be written or made by this user.
fn writable(path: &Path) -> bool {
    let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/"));
    nix::unistd::access(existing, nix::unistd::AccessFlags::W_OK).is_ok()
}

/// A runner of this process.
pub(crate) fn runner(config: &Config) -> Result<Runner> {
    let path = store_path(config)?;
    let store = daemon::open_store(&path, config)?;
    // Whoever runs one workload did not ask for connections to every server of the configuration.
    let observer = Arc::default();
    Ok(daemon::runner(&path, store, daemon::start_sampler(config)?, observer, &HostFacts::read()))
}

/// Path of a store that a user without a daemon writes.
fn user_store() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    state.or(home).map(|directory| directory.join("benchd/benchd.db"))
}
