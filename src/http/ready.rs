//! Whether a run of each suite would begin now: the guards are asked each minute, so that no scrape asks them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::server::Shared;
use super::status::blocking;

/// From one check to the next.
const INTERVAL: Duration = Duration::from_secs(60);

/// Which suites are ready, by name.
pub(super) type SuitesReady = Arc<BTreeMap<String, bool>>;

/// Asks the guards of every suite each minute, and again whenever a run ended or the configuration changed.
pub(super) async fn keep(
    shared: Arc<Shared>,
    mut ended: watch::Receiver<u64>,
    known: watch::Sender<SuitesReady>,
) {
    let services = &shared.services;
    let mut config = services.config.clone();
    loop {
        let (runner, in_force) = (services.runner.clone(), Arc::clone(&config.borrow_and_update()));
        match tokio::task::spawn_blocking(move || blocking(&runner, &in_force)).await {
            Ok(suites) => {
                let ready = suites.into_iter().map(|(suite, blocking)| (suite, blocking.is_empty()));
                known.send_replace(Arc::new(ready.collect()));
            }
            Err(error) => log::error!("ask the guards for the metrics: {error}"),
        }
        let changed = tokio::select! {
            () = tokio::time::sleep(INTERVAL) => Ok(()),
            changed = ended.changed() => changed,
            changed = config.changed() => changed,
        };
        if changed.is_err() {
            return;
        }
    }
}
