//! What the parts are told by a configuration that was checked.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::config::{Config, Filter, Target};
use crate::observe::{self, Owner};
use crate::run::server_access;
use crate::sample::{DeviceFilter, Root, Settings};
use crate::store::Limits;

/// What the sampler is told.
pub(super) fn sampler_settings(config: &Config) -> Result<Settings> {
    let sample = &config.sample;
    let filter =
        |filter: &Filter| DeviceFilter::new(&filter.include, &filter.exclude).map_err(anyhow::Error::msg);
    Ok(Settings {
        interval: sample.interval,
        ring: sample.ring,
        deadline: sample.deadline,
        peak_windows: sample.peak_windows.clone(),
        disks: filter(&sample.disks)?,
        network: filter(&sample.network)?,
        link_speed: sample.link_speed.clone(),
    })
}

/// What of the servers is asked, and how.
pub(super) fn observer_settings(config: &Config, owner: Owner) -> observe::Settings {
    let servers = config.targets.iter().filter_map(|(name, target)| match target {
        Target::Server(server) => Some((name.clone(), server.clone())),
        Target::Scratch(_) | Target::Directory(_) => None,
    });
    observe::Settings {
        targets: servers.collect(),
        access: server_access,
        owner,
        sys: Root::default().sys,
        interval: config.sample.database_interval,
        peak_windows: config.sample.peak_windows.clone(),
    }
}

/// What the store is told.
pub(super) fn store_limits(config: &Config) -> Limits {
    let store = &config.store;
    Limits {
        keep_records: store.keep_records,
        keep_series: store.keep_series,
        max_size: store.max_size,
        min_free: store.min_free,
    }
}

/// Benchd's own files beside the store.
pub(crate) fn state_directory(store: &Path) -> PathBuf {
    store.parent().map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// The filesystems to watch: `/`, the store's, those of scratch servers and directories, and those the configuration names.
pub(super) fn filesystems(config: &Config) -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::from("/"), state_directory(&config.store.path)];
    let directories = config.targets.values().filter_map(|target| match target {
        Target::Scratch(scratch) => Some(scratch.directory.clone()),
        Target::Directory(directory) => Some(directory.path.clone()),
        Target::Server(_) => None,
    });
    paths.extend(directories);
    paths.extend(config.sample.filesystems.iter().cloned());
    paths
}
