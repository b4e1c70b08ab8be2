//! `benchd watch`: follow the active run, or the named one.

use anyhow::Result;

use super::Common;
use super::client::Daemon;
use super::follow::{Progress, follow};
use crate::exit::{Ended, Exit};

/// Follow the active run, or the named one
#[derive(Debug, clap::Args)]
pub(crate) struct Watch {
    /// The run's id, whole or its last 8 digits
    run: Option<String>,
    /// How progress is shown
    #[arg(long, value_enum, default_value_t = Progress::Auto)]
    progress: Progress,
}

impl Watch {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        super::runtime()?.block_on(async {
            let daemon = Daemon::need(common).await?;
            let id = match &self.run {
                Some(run) => run.clone(),
                None => active_run(&daemon).await?,
            };
            follow(daemon.events(&id).await?, common.output, self.progress).await
        })
    }
}

/// The id of the run that is active now.
pub(super) async fn active_run(daemon: &Daemon) -> Result<String> {
    let status = daemon.get("/api/v1/status").await?.accepted()?;
    match status.pointer("/active/id").and_then(serde_json::Value::as_str) {
        Some(id) => Ok(id.to_owned()),
        None => Err(Ended::because(Exit::Wrong, "no run is active: benchd list shows the finished ones")),
    }
}
