//! Benchmarks a database host on a schedule, samples it all the time, keeps every result and exports everything.
//!
//! The modules in reading order, from the outside in:
//!
//! ```text
//!  cli, daemon            what a person types; the process that joins the parts
//!    http, export, schedule   who may ask; what Prometheus gets; when suites start
//!      run                    the life of a run, in three processes
//!        workloads            what one operation of each kind of load is
//!        observe              servers that exist, asked all the time
//!          driver, target     the hot loop; where SQL goes
//!  config  sample  inventory  store  analysis   leaves: they know nobody above them
//!  record  units  text  exit  journal   the vocabulary that all share
//! ```
//!
//! Data flows one way: `config` says what to run, `schedule` or `http` asks `run` for it, `run` has `workloads`
//! measured by `driver` while `sample` watches the host, and puts a `record` into the `store`; `export` and `cli`
//! read it from there.

pub mod analysis;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod driver;
pub mod exit;
pub mod export;
pub mod http;
pub mod inventory;
pub mod journal;
pub mod observe;
mod process;
pub mod record;
pub mod run;
pub mod sample;
pub mod schedule;
pub mod store;
mod system;
pub mod target;
pub mod text;
pub mod units;
pub mod workloads;

/// Version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
