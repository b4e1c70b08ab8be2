//! The configuration: `benchd.toml` and `conf.d/*.toml` as types.
//!
//! The `Default` of a table's type is the only source of its defaults; `built_in.toml` holds the targets and the
//! suites that exist without any file. Reading notes every problem, each with its place and what to write
//! instead, and gives a [`Config`] only when there is none. This module knows workloads by [`Catalogue`] alone.

mod ad_hoc;
mod benchmark;
mod catalogue;
mod directory;
mod load;
mod matrix;
mod problem;
mod read;
mod sections;
mod source;
mod suite;
mod target;
mod tree;

use std::collections::BTreeMap;

use serde::Serialize;

pub use ad_hoc::ad_hoc;
pub use benchmark::Case;
pub use catalogue::{Catalogue, Needs, ParameterError};
pub use directory::DirectoryTarget;
pub use load::{Loaded, MAIN_FILE, built_in, load};
pub use problem::Problem;
pub use sections::{Filter, Listen, LogLevel, LogTo, Sample, Server, Store};
pub use source::Sources;
pub use suite::{AD_HOC, Missed, OnFailure, Overlap, Schedule, Suite};
pub use target::{Binlog, Endpoint, Role, ScratchTarget, ServerTarget, Target, TargetKind};

/// A configuration without a problem, every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Config {
    /// `[server]`.
    pub server: Server,
    /// `[store]`.
    pub store: Store,
    /// `[sample]`.
    pub sample: Sample,
    /// `[target.NAME]`, the built-in ones among them.
    pub targets: BTreeMap<String, Target>,
    /// `[suite.NAME]` of all suites that are enabled, the built-in ones among them.
    pub suites: BTreeMap<String, Suite>,
}

#[cfg(test)]
mod fake_catalogue;
#[cfg(test)]
mod tests;
