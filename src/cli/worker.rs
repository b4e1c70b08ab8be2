//! `benchd worker`: the processes that do a run's work; started by benchd itself.

use std::io::BufReader;

use anyhow::Result;

use crate::exit::Exit;
use crate::run::{serve_load, serve_worker};

/// One run on standard input and output; with `--load`, one case.
#[derive(Debug, clap::Args)]
pub(crate) struct Worker {
    /// Be the load process of one case
    #[arg(long)]
    load: bool,
}

impl Worker {
    pub(crate) fn execute(&self) -> Result<Exit> {
        crate::journal::start(crate::journal::Sink::Stderr, log::LevelFilter::Info)?;
        let input = BufReader::new(std::io::stdin());
        if self.load {
            serve_load(input, std::io::stdout())?;
        } else {
            serve_worker(input, std::io::stdout())?;
        }
        Ok(Exit::Done)
    }
}
