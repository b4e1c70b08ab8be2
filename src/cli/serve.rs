//! `benchd serve`: the daemon.

use anyhow::Result;

use super::Common;
use crate::daemon::{self, ServeOptions};
use crate::exit::Exit;

/// The daemon: samples, serves metrics and the API, runs suites when they are due or asked for
#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// Run this suite once as soon as everything is ready, and show it
    #[arg(long, value_name = "SUITE")]
    run_now: Option<String>,
    /// Check the configuration as `benchd check` does, and end
    #[arg(long)]
    check: bool,
}

impl Serve {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        if self.check {
            return super::check::Check::default().execute(common);
        }
        let loaded = common.load()?;
        daemon::serve(loaded, ServeOptions { file: common.config.clone(), run_now: self.run_now.clone() })
    }
}
