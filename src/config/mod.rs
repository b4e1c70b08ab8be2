//! The configuration: `benchd.toml` and `conf.d/*.toml` as types.
//!
//! The `Default` of a table's type is the only source of its defaults; `built_in.toml` holds the targets and the
//! suites that exist without any file, `presets/` the benchmarks that a suite can have by name. Reading notes every
//! problem, each with its place and what to write instead, and gives a [`Config`] only when there is none. This
//! module knows workloads by [`Catalogue`] alone.

mod ad_hoc;
mod benchmark;
mod catalogue;
mod directory;
mod limits;
mod load;
mod matrix;
mod preset;
mod problem;
mod read;
mod scale;
mod sections;
mod server_target;
mod source;
mod suite;
mod target;
mod tree;
mod web;

use std::collections::BTreeMap;

use serde::Serialize;

pub use ad_hoc::ad_hoc;
pub use benchmark::Case;
pub use catalogue::{Catalogue, Needs, ParameterError};
pub use directory::DirectoryTarget;
pub use limits::{Cpus, IoPriority, Limits, Profiles};
pub use load::{Loaded, MAIN_FILE, built_in, load};
pub use preset::presets;
pub use problem::Problem;
pub use sections::{Filter, Listen, LogLevel, LogTo, PeakDisks, Sample, Server, Store, UserRole};
pub use server_target::{Binlog, Endpoint, Role, ServerTarget};
pub use source::Sources;
pub use suite::{AD_HOC, Missed, OnFailure, Overlap, Schedule, Suite};
pub use target::{ScratchTarget, Target, TargetKind};
pub use web::{
    CipherSuite, ClientAuth, Curve, LoadedWeb, Pem, RateLimit, TlsVersion, UserPlaces, WEB_FILE, WebConfig,
    WebTls, files_of, load_web, places_of_users,
};

/// A configuration without a problem, every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Config {
    /// `[server]`.
    pub server: Server,
    /// `[store]`.
    pub store: Store,
    /// `[sample]`.
    pub sample: Sample,
    /// `[profile.NAME]`.
    pub profiles: Profiles,
    /// `[target.NAME]`, the built-in ones among them.
    pub targets: BTreeMap<String, Target>,
    /// `[suite.NAME]` of all suites that are enabled, the built-in ones among them.
    pub suites: BTreeMap<String, Suite>,
}

#[cfg(test)]
mod fake_catalogue;
#[cfg(test)]
mod tests;
