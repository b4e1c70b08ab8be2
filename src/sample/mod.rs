//! The host, sampled all the time: `/proc` and `/sys` become samples, and two samples become rates.
//!
//! A [`Sample`] holds raw counters as the kernel gives them. [`Rates::between`] is a pure function of two of
//! them. The [`Sampler`] is the thread that takes one at every interval and keeps the last minutes and the peaks.

mod collectors;
mod columns;
mod file;
mod filter;
mod peaks;
mod process;
mod rates;
mod raw;
mod ring;
mod sampler;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use collectors::{CollectorOutcome, CollectorState};
pub use columns::columns;
pub use filter::DeviceFilter;
pub use peaks::{Measure, Peak};
pub use process::{SelfProcess, self_process};
pub use rates::{
    CpuRates, CpuShares, DirectionRates, DiskRates, MemoryRates, NetworkRates, PressureRates, Rates, TcpRates,
};
pub use raw::{
    Cpu, CpuTimes, DeviceName, Disk, Load, Memory, Moment, Network, Pressure, Reading, Sample,
    TICKS_PER_SECOND, Tcp, Traffic, Vmstat,
};
pub use sampler::{Counts, LONGEST_INTERVAL, SHORTEST_INTERVAL, Sampler};

use crate::units::{LinkSpeed, Span};

/// Where the kernel's files are; another place in tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The `proc` file system, `/proc`.
    pub proc: PathBuf,
    /// The `sys` file system, `/sys`.
    pub sys: PathBuf,
}

impl Default for Root {
    fn default() -> Root {
        Root { proc: PathBuf::from("/proc"), sys: PathBuf::from("/sys") }
    }
}

/// What the sampler is asked to do: the `[sample]` part of the configuration that concerns it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Time between two samples, held between [`SHORTEST_INTERVAL`] and [`LONGEST_INTERVAL`].
    pub interval: Span,
    /// How far back samples are kept in memory.
    pub ring: Span,
    /// A collector slower than this counts as failed and serves its last values.
    pub deadline: Span,
    /// The trailing windows of which the peaks are known.
    pub peak_windows: Vec<Span>,
    /// The disks to sample, by device name.
    pub disks: DeviceFilter,
    /// The network cards to sample, by device name.
    pub network: DeviceFilter,
    /// What a card really gives, by device name; wins over what the kernel says.
    pub link_speed: BTreeMap<String, LinkSpeed>,
}
