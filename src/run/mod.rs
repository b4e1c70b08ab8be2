//! The life of a run: guards, then a worker process that prepares, loads and cleans up, then the record.
//!
//! ```text
//!  Runner (daemon or `benchd run`)     one run at a time from a queue; guards, deadline, store
//!     │ lines of JSON, both ways
//!  worker   (a process, one a run)     scratch servers and data sets: prepare … clean_up
//!     │ lines of JSON, both ways
//!  load     (a process, one a case)    warm_up and measure: the only hot loops
//! ```
//! End of input means stop, at every level: whoever dies, the ones below stop by themselves.

mod emit;
mod groups;
pub mod guards;
mod in_time;
mod launch;
mod ledger;
mod life;
mod limits;
mod live;
mod load;
mod load_process;
mod pace;
mod plan;
mod protocol;
mod queue;
mod reach;
mod recover;
mod request;
mod runner;
mod series;
mod stuck;
mod supervise;
mod targets;
mod words;
mod worker;

pub use launch::{ChildLauncher, Launcher, SocketLauncher, WorkerLink, WorkerProcess};
#[cfg(test)]
pub(crate) use live::Begun;
pub use live::{Live, LiveCase};
pub use load::serve_load;
pub use plan::{CasePlan, RunPlan, select_cases};
pub use protocol::{CaseRequest, ClearRequest, FromWorker, LINE_LIMIT, RunRequest, TargetRequest, ToWorker};
pub use queue::{
    Accepted, ActiveRun, CancelError, Counters, Follow, QueuedRun, Refused, Start, SuiteCounters,
};
pub(crate) use reach::server_access;
pub use recover::{LeftOver, scratch_bytes};
pub use runner::{Runner, RunnerParts};
pub(crate) use targets::LEDGER as SCHEMAS;
pub use words::{line, progress};
pub use worker::serve_worker;
