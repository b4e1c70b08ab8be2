//! The watchdog of the service manager: fed only while every part answers, so that a daemon that only seems to live
//! is started anew.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::manager;
use crate::http::Probe;
use crate::sample::Sampler;
use crate::store::Store;

/// So often within the manager's limit every part is asked.
const BEATS: u32 = 3;
/// A part that has not answered within half the time between two questions is taken for dead.
const SHARE: u32 = 2 * BEATS;

/// Asks a task whether it still takes its turns.
pub(super) type Pulse = mpsc::Sender<oneshot::Sender<()>>;

/// What must answer.
pub(super) struct Parts {
    pub(super) sampler: Arc<Sampler>,
    pub(super) store: Store,
    pub(super) http: Probe,
    pub(super) scheduler: Pulse,
    /// The task that executes runs; what it does may take long, but it does not end.
    pub(super) runner: AbortHandle,
}

/// Feeds the watchdog for as long as everything is alive; nothing is to be fed when the manager has none.
pub(super) async fn feed(parts: Parts) {
    let Some(limit) = sd_notify::watchdog_enabled() else { return };
    let patience = limit / SHARE;
    let mut told = String::new();
    loop {
        let dead = parts.dead(patience).await.join(", ");
        if dead.is_empty() {
            manager::tell(&[NotifyState::Watchdog]);
        } else if dead != told {
            log::error!(
                "no answer within {} s from: {dead}; unless it comes the service manager starts benchd anew",
                patience.as_secs_f64()
            );
        }
        told = dead;
        tokio::time::sleep(limit / BEATS).await;
    }
}

impl Parts {
    /// The parts that do not answer within this time.
    async fn dead(&self, patience: Duration) -> Vec<&'static str> {
        let store = self.store.clone();
        let store = tokio::task::spawn_blocking(move || store.is_alive(patience));
        let (sampler, store, http, scheduler) = tokio::join!(
            tokio::time::timeout(patience, self.sampler.request()),
            store,
            self.http.answers(patience),
            tokio::time::timeout(patience, self.scheduler()),
        );
        let alive = [
            ("sampler", matches!(sampler, Ok(Ok(_)))),
            ("store", store.unwrap_or(false)),
            ("http", http),
            ("scheduler", scheduler.unwrap_or(false) && !self.runner.is_finished()),
        ];
        alive.into_iter().filter(|(_, alive)| !alive).map(|(part, _)| part).collect()
    }

    async fn scheduler(&self) -> bool {
        let (answer, answered) = oneshot::channel();
        self.scheduler.send(answer).await.is_ok() && answered.await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;
    use std::time::Instant;

    use super::super::{Daemon, Scheduler, ServeOptions, load};
    use super::*;

    /// What answers at all does so within this time, however busy the machine is.
    const PATIENCE: Duration = Duration::from_secs(30);
    const SHORT: Duration = Duration::from_millis(500);
    const NONE: [&str; 0] = [];

    async fn daemon(place: &Path) -> Daemon {
        let file = place.join("benchd.toml");
        let text = format!(
            "server.listen = \"127.0.0.1:0\"\nserver.socket = \"{0}/benchd.sock\"\nstore.path = \"{0}/benchd.db\"\n",
            place.display()
        );
        fs::write(&file, text).unwrap();
        let config = load(Some(&file)).unwrap().config;
        Daemon::start(Instant::now(), config, &ServeOptions::default()).await.unwrap()
    }

    #[tokio::test]
    async fn a_scheduler_or_runner_that_takes_no_turn_is_found_among_those_that_do() {
        let place = tempfile::tempdir().unwrap();
        let daemon = daemon(place.path()).await;
        let mut parts = daemon.vital_parts();
        assert_eq!(parts.dead(PATIENCE).await, NONE);

        // Another one of the same daemon, which stands still, works, and is gone.
        let (scheduler, pulse) = Scheduler::start(
            daemon.runner.clone(),
            daemon.configuration.subscribe(),
            "machine".to_owned(),
            Arc::default(),
            &BTreeMap::new(),
        )
        .await
        .unwrap();
        parts.scheduler = pulse;
        assert!(parts.dead(SHORT).await.contains(&"scheduler"), "it takes no turns");
        let working = tokio::spawn(scheduler.work());
        assert_eq!(parts.dead(PATIENCE).await, NONE);
        working.abort();
        assert_eq!(parts.dead(PATIENCE).await, ["scheduler"], "it has ended");

        parts.scheduler = daemon.pulse.clone();
        assert_eq!(parts.dead(PATIENCE).await, NONE);
        parts.runner.abort();
        assert!(daemon.working.await.unwrap_err().is_cancelled());
        assert_eq!(parts.dead(PATIENCE).await, ["scheduler"], "nothing executes runs");
    }
}
