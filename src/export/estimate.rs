//! How many series there will be, from what a host and a configuration have.

use super::document::GROWTH;

/// What adds series.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shape {
    /// Collectors.
    pub collectors: usize,
    /// Those of them whose values are cached.
    pub cached_collectors: usize,
    /// Guards, the deadline among them.
    pub guards: usize,
    /// CPUs with series of their own.
    pub cpus: usize,
    /// Disks that are sampled.
    pub disks: usize,
    /// Those of them that have peaks.
    pub disks_with_peaks: usize,
    /// Network cards.
    pub networks: usize,
    /// Those of them whose speed is known.
    pub networks_with_speed: usize,
    /// Filesystems that are watched.
    pub filesystems: usize,
    /// Targets that are servers.
    pub servers: usize,
    /// Targets that are scratch servers.
    pub scratch: usize,
    /// Targets that cases of fileio measure.
    pub measured: usize,
    /// Suites.
    pub suites: usize,
    /// Cases of all suites.
    pub cases: usize,
}

/// The most series that there can be, once every case has run, with one window of peaks.
pub fn estimate(shape: &Shape) -> usize {
    GROWTH.iter().map(|growth| growth.series * (growth.number)(shape)).sum()
}
