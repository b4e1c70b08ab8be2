//! What benchd tells a service manager, the units it is installed with, and all of it in a real systemd.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod common;
#[path = "systemd/deb.rs"]
mod deb;
#[path = "systemd/machine.rs"]
mod machine;
#[path = "systemd/manager.rs"]
mod manager;
#[path = "systemd/memory.rs"]
mod memory;
#[path = "systemd/package.rs"]
mod package;
#[path = "systemd/server.rs"]
mod server;
#[path = "systemd/service.rs"]
mod service;
#[path = "systemd/units.rs"]
mod units;
