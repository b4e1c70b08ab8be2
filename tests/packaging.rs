//! What is installed: manual pages, completions, and the packages themselves.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod common;

#[path = "packaging/packages.rs"]
mod packages;
#[path = "packaging/pages.rs"]
mod pages;
#[path = "packaging/roff.rs"]
mod roff;
