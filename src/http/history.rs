//! What the store says about past runs, kept in memory: read at the start and again after each run, so that no
//! scrape waits for the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use tokio::sync::watch;

use super::server::Shared;
use super::services::Services;
use super::start;
use crate::analysis::{TargetCeilings, ceilings};
use crate::config::Config;
use crate::export::LastResult;
use crate::record::{Outcome, Profile, RunId, RunRecord};
use crate::run::{RunPlan, Runner, scratch_bytes};
use crate::store::{Reader, Store};

/// A run that just ended should be on the disk within this time; if it is not, it is read after the next one.
const FLUSH_LIMIT: Duration = Duration::from_secs(5);

/// Results older than this say little about what a device can do now.
const CEILINGS: Duration = Duration::from_secs(30 * 86_400);

/// The past, as metrics and lists show it.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The last run of each suite that began and ended.
    pub(super) last_runs: BTreeMap<String, RunRecord>,
    /// The first case of that run that did not finish.
    pub(super) failed_cases: BTreeMap<String, String>,
    /// When each suite last finished wholly.
    pub(super) last_successes: BTreeMap<String, Timestamp>,
    /// The last result of each case.
    pub(super) results: Vec<LastResult>,
    /// Bytes that scratch servers hold.
    pub(super) scratch: BTreeMap<String, u64>,
    /// What the devices under targets gave at most.
    pub(super) ceilings: Vec<TargetCeilings>,
    /// Guards that have something to do with a configured suite.
    pub(super) guards: BTreeSet<String>,
}

/// Reads the past; when that fails, the journal says why.
pub(super) async fn read(services: &Services) -> Option<History> {
    let (store, runner, config) = (services.store.clone(), services.runner.clone(), services.config());
    let read = tokio::task::spawn_blocking(move || read_now(&store, &runner, &config)).await;
    let read = read.map_err(anyhow::Error::from).flatten();
    read.inspect_err(|error| log::error!("read past runs for the metrics: {error:#}")).ok()
}

/// Reads the past again whenever a run ended or the configuration changed.
pub(super) async fn keep(
    shared: Arc<Shared>,
    mut ended: watch::Receiver<u64>,
    history: watch::Sender<Arc<History>>,
) {
    let services = &shared.services;
    let mut config = services.config.clone();
    loop {
        let changed = tokio::select! {
            changed = ended.changed() => changed,
            changed = config.changed() => changed,
        };
        if changed.is_err() {
            return;
        }
        if let Some(read) = read(services).await {
            history.send_replace(Arc::new(read));
        }
    }
}

fn read_now(store: &Store, runner: &Runner, config: &Config) -> Result<History> {
    if !store.flush(FLUSH_LIMIT) {
        log::warn!("the last run is not on the disk yet; metrics show the one before");
    }
    let reader = store.reader()?;
    let last_runs = by_suite(reader.last_runs()?);
    let successes = reader.last_successes()?;
    Ok(History {
        failed_cases: failed_cases(&reader, &last_runs)?,
        last_runs,
        last_successes: successes.into_iter().filter_map(|run| Some((run.suite, run.end?))).collect(),
        results: results(&reader)?,
        scratch: scratch_bytes(&config.targets, store.identity()),
        ceilings: ceilings(&reader.results_of("fileio", Timestamp::now() - CEILINGS)?),
        guards: guards(runner, config),
    })
}

fn by_suite(runs: Vec<RunRecord>) -> BTreeMap<String, RunRecord> {
    runs.into_iter().map(|run| (run.suite.clone(), run)).collect()
}

fn failed_cases(
    reader: &Reader,
    last_runs: &BTreeMap<String, RunRecord>,
) -> Result<BTreeMap<String, String>> {
    let mut failed = BTreeMap::new();
    for run in last_runs.values().filter(|run| run.outcome != Some(Outcome::Finished)) {
        let first = reader.cases(run.id)?.into_iter().find(|case| case.outcome != Outcome::Finished);
        failed.extend(first.map(|case| (run.suite.clone(), case.case)));
    }
    Ok(failed)
}

/// The profile stands in the run, which several results share.
fn results(reader: &Reader) -> Result<Vec<LastResult>> {
    let mut profiles: BTreeMap<RunId, Profile> = BTreeMap::new();
    let mut results = Vec::new();
    for record in reader.last_results()? {
        let profile = match profiles.get(&record.run) {
            Some(profile) => *profile,
            None => {
                // Retention may have taken run and record since.
                let Some(run) = reader.run(record.run)? else { continue };
                *profiles.entry(record.run).or_insert(run.profile)
            }
        };
        results.push(LastResult { profile, record });
    }
    Ok(results)
}

fn guards(runner: &Runner, config: &Config) -> BTreeSet<String> {
    let checks = config.suites.values().flat_map(|suite| {
        let start = start::of_suite(suite, config);
        runner.check(&start, &RunPlan::new(&start.suite, &start.cases))
    });
    checks.filter(|check| check.holds.is_some()).map(|check| check.guard).collect()
}
