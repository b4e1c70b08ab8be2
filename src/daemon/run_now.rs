//! `serve --run-now`: one run as soon as everything is ready, shown in the terminal.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use anyhow::{Context, Result};

use crate::config::Config;
use crate::exit::{Ended, Exit};
use crate::record::{Event, Trigger};
use crate::run::guards::WINDOW;
use crate::run::{self, Follow, Runner, Start};

/// Starts the suite and shows its events as log lines.
pub(super) async fn start(
    runner: &Runner,
    config: &Config,
    suite: &str,
    addresses: &[SocketAddr],
) -> Result<()> {
    let Some(suite) = config.suites.get(suite) else {
        let suites: Vec<&str> = config.suites.keys().map(String::as_str).collect();
        return Err(Ended::because(
            Exit::Wrong,
            format!("no suite `{suite}` to run now; suites are: {}", suites.join(", ")),
        ));
    };
    for address in addresses {
        log::info!("status page http://{address}/  metrics http://{address}/metrics");
    }
    let start = Start {
        suite: suite.clone(),
        targets: config.targets.clone(),
        trigger: Trigger::Request,
        by: "--run-now".to_owned(),
        note: None,
        cases: Vec::new(),
        queue: true,
        overrides: BTreeSet::from([WINDOW.to_owned()]),
    };
    let asked = runner.clone();
    // The guards look at disks, which may hang.
    let accepted = tokio::task::spawn_blocking(move || asked.start(start)).await.context("ask the guards")?;
    match accepted.map(|accepted| runner.follow(accepted.id)) {
        Ok(Some(follow)) => drop(tokio::spawn(show(follow))),
        Ok(None) => {}
        Err(refused) => log::error!("{} not started: {refused:?}", suite.name),
    }
    Ok(())
}

async fn show(follow: Follow) {
    follow.past.into_iter().for_each(|(_, event)| line(&event));
    let Some(mut coming) = follow.coming else { return };
    loop {
        match coming.recv().await {
            Ok((_, event)) => line(&event),
            Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {}
            Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
        }
    }
}

/// Cases and notes; the beginning and the end of the run are in the journal anyway.
fn line(event: &Event) {
    match event {
        Event::Note { text, .. } => log::info!("{text}"),
        Event::Result { .. } => log::info!("{}", run::line(event).unwrap_or_default()),
        _ => {}
    }
}
