//! What benchd tells a service manager, the units it is installed with, and all of it in a real systemd.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod common;
#[path = "systemd/machine.rs"]
mod machine;
#[path = "systemd/manager.rs"]
mod manager;
#[path = "systemd/rpm.rs"]
mod rpm;
#[path = "systemd/service.rs"]
mod service;
#[path = "systemd/units.rs"]
mod units;
