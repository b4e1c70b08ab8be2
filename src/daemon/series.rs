//! How many series this host has with a configuration, without a daemon.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::parts::start_sampler;
use super::settings::filesystems;
use crate::config::{Config, PeakDisks, Target};
use crate::export::{Shape, estimate};
use crate::inventory::Filesystems;
use crate::run::guards;

/// Filesystems that do not answer by then are counted by their paths.
const FILESYSTEMS_LIMIT: Duration = Duration::from_millis(500);
/// From one look at what they answered to the next.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
/// Collectors of cached values that every host has: filesystem, inventory.
const CACHED: usize = 2;

/// About how many series a scrape has once every case has run.
///
/// # Errors
/// When the host cannot be sampled.
pub fn series(config: &Config) -> Result<usize> {
    let sampler = start_sampler(config)?;
    let sample = sampler.latest();
    let disks = sample.disks.as_ref().map(|disks| disks.values.as_slice()).unwrap_or_default();
    let networks = sample.networks.as_ref().map(|cards| cards.values.as_slice()).unwrap_or_default();
    let (watched, used) = watched(config)?;
    let with_peaks = match config.sample.peaks {
        PeakDisks::All => disks.len(),
        PeakDisks::Used => {
            disks.iter().filter(|disk| used.iter().any(|used| used == disk.device.as_str())).count()
        }
    };
    let cpus = super::cpus();
    let servers = config.targets.values().filter(|target| matches!(target, Target::Server(_))).count();
    let cached = CACHED + usize::from(servers > 0);
    Ok(estimate(&Shape {
        collectors: sampler.collectors().len() + cached,
        cached_collectors: cached,
        guards: guards::ALL.len() + 1,
        cpus: if cpus > config.sample.per_cpu_limit { 1 } else { cpus as usize },
        disks: disks.len(),
        disks_with_peaks: with_peaks,
        networks: networks.len(),
        networks_with_speed: networks.iter().filter(|card| card.speed.is_some()).count(),
        filesystems: watched,
        servers,
        scratch: config.targets.values().filter(|target| matches!(target, Target::Scratch(_))).count(),
        measured: config.targets.values().filter(|target| matches!(target, Target::Directory(_))).count(),
        suites: config.suites.len(),
        cases: config.suites.values().map(|suite| suite.cases.len()).sum(),
    }))
}

/// How many filesystems are watched, and the disks under them.
fn watched(config: &Config) -> Result<(usize, Vec<String>)> {
    let paths = filesystems(config);
    let asked = Filesystems::start(&paths, config.sample.filesystem_interval)?;
    let began = Instant::now();
    // One that hangs is not waited for.
    while asked.is_waiting() && began.elapsed() < FILESYSTEMS_LIMIT {
        std::thread::sleep(LOOK_INTERVAL);
    }
    let known = asked.latest().len();
    let silent = usize::from(asked.is_waiting());
    Ok(((known + silent).max(1), asked.disks().into_iter().collect()))
}
