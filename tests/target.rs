//! Servers, scratch servers and ownership, on real servers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod common;

#[path = "target/client.rs"]
mod client;
#[path = "target/grants.rs"]
mod grants;
#[path = "target/load_connection.rs"]
mod load_connection;
#[path = "target/login.rs"]
mod login;
#[path = "target/observe.rs"]
mod observe;
#[path = "target/owned.rs"]
mod owned;
#[path = "target/scratch.rs"]
mod scratch;
#[path = "target/tls.rs"]
mod tls;
