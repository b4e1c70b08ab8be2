//! The `benchd` program: parse, call, print one error, exit code.

use std::io::Write as _;
use std::process::ExitCode;

use benchd::cli::{Arguments, execute};
use benchd::exit::{Exit, exit_of};
use clap::Parser;

fn main() -> ExitCode {
    let exit = execute(Arguments::parse()).unwrap_or_else(|error| complain(&error));
    ExitCode::from(exit as u8)
}

/// When even stderr is closed, the exit code has to do.
fn complain(error: &anyhow::Error) -> Exit {
    let _ = writeln!(std::io::stderr().lock(), "benchd: {error:#}");
    exit_of(error)
}
