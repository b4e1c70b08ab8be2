//! The HTTP interface: listeners, access, one table of routes, metrics, API, event stream and the status page.
//!
//! [`Server`] opens listeners and serves connections. A request passes the limits of [`server`], is looked up in
//! [`ROUTES`], must be allowed from where it comes ([`access`]), and only then reaches its handler. Handlers read
//! what they need from [`Services`]; nothing that may block runs on the thread that serves `/metrics`.

mod access;
mod answer;
mod body;
mod call;
mod compare;
mod connection;
mod crowd;
mod document;
mod events;
mod history;
mod idempotency;
mod metrics;
mod negotiation;
mod order;
mod page;
mod probe;
mod problem;
mod routes;
mod runs;
mod server;
mod services;
mod socket;
mod start;
mod status;
mod suites;

pub use access::Access;
pub use document::document;
pub use probe::Probe;
pub use routes::{ROUTES, Route};
pub use server::Server;
pub use services::{NextRun, NextRuns, ReloadRequest, Services};
pub use socket::SocketOptions;
