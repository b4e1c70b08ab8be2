//! Benchmarks a database host on a schedule, samples it all the time, keeps every result and exports everything.

pub mod config;
pub mod driver;
pub mod exit;
pub mod export;
pub mod http;
pub mod inventory;
pub mod journal;
pub mod record;
pub mod run;
pub mod sample;
pub mod schedule;
pub mod store;
pub mod target;
pub mod text;
pub mod units;
pub mod workloads;
mod system;

/// Version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
