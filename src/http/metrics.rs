//! What Prometheus and service managers ask: metrics, health, readiness, reload.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use hyper::StatusCode;
use tokio::sync::oneshot;

use super::answer::{self, Answer};
use super::call::Call;
use super::history::History;
use super::negotiation;
use super::problem::{Kind, Problem};
use super::server::Shared;
use super::services::cpus;
use crate::config::{Config, PeakDisks};
use crate::export::{self, CollectorStatus, LastResult, Reload, SamplerStatus, Snapshot, SuiteStatus};
use crate::inventory::Filesystem;
use crate::journal;
use crate::observe::Observed;
use crate::record::Stage;
use crate::run::guards;
use crate::run::{Counters, Live, LiveCase, SuiteCounters};
use crate::sample::{Peak, SelfProcess, self_process};

/// A scrape waits so long for a fresh sample of the host, then takes the last one.
const SAMPLE_LIMIT: Duration = Duration::from_millis(20);

/// Likewise for a fresh reading of this process.
const PROCESS_LIMIT: Duration = Duration::from_millis(500);

pub(super) async fn healthy(_call: Call) -> Result<Answer, Problem> {
    Ok(answer::text("ok\n"))
}

pub(super) async fn ready(call: Call) -> Result<Answer, Problem> {
    let ready = call.shared.services.ready.borrow().clone();
    Ok(match ready {
        Ok(()) => answer::text("ready\n"),
        Err(why) => answer::whole(
            StatusCode::SERVICE_UNAVAILABLE,
            "text/plain; charset=utf-8",
            format!("not ready: {why}\n"),
        ),
    })
}

pub(super) async fn reload(call: Call) -> Result<Answer, Problem> {
    let (reply, answered) = oneshot::channel();
    let asked = call.shared.services.reload.send(reply).await.is_ok();
    match if asked { answered.await.ok() } else { None } {
        Some(Ok(())) => Ok(answer::empty(StatusCode::NO_CONTENT)),
        Some(Err(problems)) => {
            let plural = if problems.len() == 1 { "problem" } else { "problems" };
            let title = format!("configuration not changed: {} {plural}", problems.len());
            let each: Vec<String> = problems.iter().map(ToString::to_string).collect();
            let problems = serde_json::to_value(&problems).unwrap_or_default();
            Err(Problem::new(Kind::Configuration, title, each.join("\n"))
                .member("problems", problems)
                .advice("mend the files, see that `benchd check` is content, and reload again"))
        }
        None => {
            Err(Problem::new(Kind::Draining, "benchd is stopping", "the configuration is not read any more"))
        }
    }
}

pub(super) async fn get(call: Call) -> Result<Answer, Problem> {
    let patience = negotiation::patience(&call.headers).unwrap_or(Duration::MAX);
    let snapshot = snapshot(&call.shared, patience).await;
    let chosen = negotiation::format(&call.headers);
    let is_gzip = negotiation::takes_gzip(&call.headers);
    let written = export::render(&snapshot, chosen.format).and_then(|text| {
        Ok(if is_gzip {
            negotiation::gzip(&text).context("compress the metrics")?
        } else {
            text.into_bytes()
        })
    });
    let body = written.map_err(|error| Problem::internal("writing the metrics", &error))?;
    let mut answer = answer::whole(StatusCode::OK, chosen.content_type, body);
    negotiation::mark(&mut answer, is_gzip);
    Ok(answer)
}

/// This process as it is, or as it was at the last reading that was in time.
async fn process(shared: &Shared, patience: Duration) -> Option<SelfProcess> {
    let reading = tokio::task::spawn_blocking(|| self_process(Path::new("/proc")));
    let mut last = match tokio::time::timeout(patience.min(PROCESS_LIMIT), reading).await {
        Ok(read) => read.ok().and_then(Result::ok),
        Err(_) => None,
    };
    let mut known = shared.process.lock().unwrap_or_else(PoisonError::into_inner);
    if last.is_some() {
        known.clone_from(&last);
    } else {
        last.clone_from(&known);
    }
    last
}

/// Everything metrics show, as it is now. Nothing here waits for a disk or a server, nor for anything longer than the
/// scraper's patience.
async fn snapshot(shared: &Shared, patience: Duration) -> Snapshot {
    let services = &shared.services;
    let (config, history) = (services.config(), Arc::clone(&shared.history.borrow()));
    let host = services.sampler.fresh(patience.min(SAMPLE_LIMIT)).await;
    let process = process(shared, patience).await;
    let counts = services.sampler.counts();
    let live = services.runner.live();
    let counters = services.runner.counters();
    let filesystems = services.filesystems.lock().unwrap_or_else(PoisonError::into_inner).latest();
    let servers = services.observer.latest();
    let (warnings, errors) = journal::counts();
    Snapshot {
        build: services.build.clone(),
        reload: Some(reload_state(shared)),
        certificate_expiry: shared.web.borrow().web.tls.as_ref().and_then(|tls| tls.expires),
        collectors: collectors(shared, &filesystems, &servers),
        sampler: SamplerStatus {
            samples: counts.samples,
            missed: counts.missed,
            last: Some(services.sampler.latest().at),
        },
        store: services.store.status(),
        rejected_requests: shared.rejected.counts(),
        log_messages: vec![("warning", warnings), ("error", errors)],
        process,
        suites: suites(shared, &config, &history, &counters),
        blocked_runs: history
            .guards
            .iter()
            .map(|guard| (guard.clone(), sum(&counters, guard, |one| &one.blocked)))
            .collect(),
        aborted_runs: vec![(
            guards::DEADLINE.to_owned(),
            sum(&counters, guards::DEADLINE, |one| &one.aborted),
        )],
        left_over: services.runner.left_over(),
        queue_length: services.runner.queue_length(),
        results: results(&config, &history),
        scratch: history.scratch.clone(),
        ceilings: history
            .ceilings
            .iter()
            .filter(|one| config.targets.contains_key(&one.target))
            .cloned()
            .collect(),
        live: measured(&live),
        load_cpu_seconds: live.cpu_seconds(),
        load_written_bytes: Path::new("/proc/self/io").exists().then(|| live.written_bytes()),
        host: Some(host),
        peaks: peaks(shared, &config),
        servers,
        per_cpu_limit: config.sample.per_cpu_limit as usize,
        filesystems,
        facts: Arc::clone(&services.facts),
        hardware: Arc::clone(&services.hardware.borrow()),
        cpus: cpus(),
    }
}

/// What became of the last reload, the web configuration included.
fn reload_state(shared: &Shared) -> Reload {
    let reload = *shared.services.reloaded.borrow();
    Reload { successful: reload.successful && shared.web.borrow().is_current, ..reload }
}

fn sum(counters: &Counters, guard: &str, counted: fn(&SuiteCounters) -> &BTreeMap<String, u64>) -> u64 {
    counters.values().filter_map(|one| counted(one).get(guard)).sum()
}

/// Those of the sampler, read at each scrape, and the cached ones of filesystems, servers and the inventory.
fn collectors(shared: &Shared, filesystems: &[Filesystem], servers: &[Observed]) -> Vec<CollectorStatus> {
    let services = &shared.services;
    let sampled = services.sampler.collectors().into_iter().map(|state| CollectorStatus {
        name: state.name,
        success: state.succeeded(),
        duration: state.duration,
        cached: None,
    });
    let filesystem = CollectorStatus {
        name: "filesystem",
        success: services.filesystems.lock().unwrap_or_else(PoisonError::into_inner).errors().is_empty(),
        duration: filesystems.iter().map(|one| one.took).max().unwrap_or_default(),
        cached: filesystems.iter().map(|one| one.read_at).min(),
    };
    let hardware = Arc::clone(&services.hardware.borrow());
    let inventory = CollectorStatus {
        name: "inventory",
        success: true,
        duration: hardware.took,
        cached: hardware.read_at,
    };
    sampled.chain([filesystem, inventory]).chain(database(servers)).collect()
}

/// The questions to servers; switched off where no target is one.
fn database(servers: &[Observed]) -> Option<CollectorStatus> {
    Some(CollectorStatus {
        name: "database",
        success: servers.iter().all(|server| server.sample.is_some()),
        duration: servers.iter().map(|server| server.took).max()?,
        cached: servers.iter().filter_map(|server| server.answered).min(),
    })
}

/// The peaks of the host, and of the disks that are to have some.
fn peaks(shared: &Shared, config: &Config) -> Vec<Peak> {
    let services = &shared.services;
    let mut peaks = services.sampler.peaks();
    if config.sample.peaks == PeakDisks::Used {
        let used = services.filesystems.lock().unwrap_or_else(PoisonError::into_inner).disks();
        let wanted = |peak: &Peak| {
            !peak.measure.is_of_disks() || peak.device.iter().any(|disk| used.contains(disk.as_str()))
        };
        peaks.retain(wanted);
    }
    peaks
}

fn suites(shared: &Shared, config: &Config, history: &History, counters: &Counters) -> Vec<SuiteStatus> {
    let next_runs = shared.services.next_runs();
    let active = shared.services.runner.active();
    let ready = Arc::clone(&shared.suites_ready.borrow());
    config
        .suites
        .values()
        .map(|suite| {
            let next = next_runs.get(&suite.name);
            SuiteStatus {
                name: suite.name.clone(),
                scheduled: suite.schedule.is_some(),
                next: next.map(|next| next.at),
                interval: next.and_then(|next| next.interval),
                ready: ready.get(&suite.name).copied(),
                active: active.as_ref().is_some_and(|active| active.suite == suite.name),
                counters: counters.get(&suite.name).cloned().unwrap_or_default(),
                last_run: history.last_runs.get(&suite.name).cloned(),
                failed_case: history.failed_cases.get(&suite.name).cloned(),
                last_success: history.last_successes.get(&suite.name).copied(),
            }
        })
        .collect()
}

/// The cases whose measured part has begun; there is nothing to count before.
fn measured(live: &Live) -> Vec<LiveCase> {
    live.cases(Instant::now()).filter(|case| case.stage >= Stage::Measure).cloned().collect()
}

/// The last results of cases that are still configured.
fn results(config: &Config, history: &History) -> Vec<LastResult> {
    let configured = |result: &&LastResult| {
        let suite = config.suites.get(&result.record.suite);
        suite.is_some_and(|suite| suite.cases.iter().any(|case| case.name == result.record.case))
    };
    history.results.iter().filter(configured).cloned().collect()
}
