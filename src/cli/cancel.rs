//! `benchd cancel`: end the active run, or the named one.

use std::time::Instant;

use anyhow::Result;

use super::client::Daemon;
use super::{Common, Output, text, watch};
use crate::exit::Exit;
use crate::record::Event;

/// End the active run, or the named one; returns when its load is silent
#[derive(Debug, clap::Args)]
pub(crate) struct Cancel {
    /// The run's id, whole or its last 8 digits
    run: Option<String>,
}

impl Cancel {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        super::runtime()?.block_on(async {
            let daemon = Daemon::need(common).await?;
            let id = match &self.run {
                Some(run) => run.clone(),
                None => watch::active_run(&daemon).await?,
            };
            cancel(&daemon, &id, common.output).await
        })
    }
}

async fn cancel(daemon: &Daemon, id: &str, output: Output) -> Result<Exit> {
    let events = daemon.events(id).await;
    let asked = Instant::now();
    let answer = daemon.delete(&format!("/api/v1/runs/{id}")).await?.accepted()?;
    let mut kept = 0;
    let mut cancelled = String::new();
    if let Ok(mut events) = events {
        while let Some(event) = events.recv().await {
            if let Event::End { finished, message, .. } = event {
                (kept, cancelled) = (finished, message.unwrap_or_default());
                break;
            }
        }
    }
    if output != Output::Text {
        return text::print_json(&answer);
    }
    let seconds = asked.elapsed().as_secs_f64();
    text::print(&format!("{id} ended after {seconds:.1} s: {cancelled}; {kept} finished cases kept\n"))
}
