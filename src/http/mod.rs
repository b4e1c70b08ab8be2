//! The HTTP interface: listeners, access, one table of routes, metrics, API, event stream and the status page.
//!
//! [`Server`] opens listeners and serves connections. A request passes the limits of [`server`], is looked up in
//! [`ROUTES`], must pass the [`gate`]: be allowed to its user, or from where it comes ([`access`]), and only then
//! reaches its handler. TLS, users and their logins are those of the web configuration ([`web`]). Handlers read
//! what they need from [`Services`]; nothing that may block runs on the thread that serves `/metrics`.

mod access;
mod answer;
mod basic;
mod body;
mod call;
mod certificate;
mod compare;
mod connection;
mod crowd;
mod document;
mod events;
mod gate;
mod history;
mod idempotency;
mod login;
mod metrics;
mod negotiation;
mod order;
mod page;
mod probe;
mod problem;
mod ready;
mod routes;
mod runs;
mod seen;
mod server;
mod services;
mod socket;
mod start;
mod status;
mod suites;
mod tls;
mod web;

pub use access::Access;
pub use basic::basic_header;
pub use document::document;
pub use probe::Probe;
pub use routes::{ROUTES, Route};
pub use server::Server;
pub use services::{NextRun, NextRuns, ReloadRequest, Services};
pub use socket::SocketOptions;
pub use web::{WebSummary, check_web};
