//! What is installed: manual pages and completions.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[path = "packaging/pages.rs"]
mod pages;
#[path = "packaging/roff.rs"]
mod roff;
