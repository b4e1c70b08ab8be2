//! `/api/v1/status`: what the daemon does now.

use std::sync::Arc;

use hyper::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::answer::{self, Answer};
use super::call::Call;
use super::problem::Problem;
use super::server::Shared;
use super::start;
use crate::config::Config;
use crate::record::SCHEMA;
use crate::run::{ActiveRun, QueuedRun, RunPlan, Runner};
use crate::sample::{Rates, Sampler};

/// The host "now" is its last two samples, which are not further back than this.
const RECENT: SignedDuration = SignedDuration::from_secs(30);

pub(super) async fn get(call: Call) -> Result<Answer, Problem> {
    let shared = Arc::clone(&call.shared);
    let (runner, config) = (shared.services.runner.clone(), shared.services.config());
    let suites = call.blocking("asking the guards", move || Ok(blocking(&runner, &config))).await?;
    let services = &shared.services;
    let now = Timestamp::now();
    let body = json!({
        "schema": SCHEMA,
        "version": services.build.version,
        "host": services.host,
        "identity": services.store.identity(),
        "up_seconds": now.duration_since(services.started).as_secs_f64(),
        "listening": shared.listening(),
        "ready": services.ready.borrow().is_ok(),
        "alarm": alarm(&shared),
        "now": host_now(&services.sampler).map(|rates| host(&rates)),
        "active": services.runner.active().as_ref().map(active),
        "queue": services.runner.queue_length(),
        "waiting": services.runner.queue().iter().map(waiting).collect::<Vec<_>>(),
        "suites": suites.iter().map(|(suite, blocking)| suite_now(&shared, suite, blocking)).collect::<Vec<_>>(),
    });
    answer::json(StatusCode::OK, &body)
}

/// What is wrong with the daemon as a whole.
pub(super) fn alarm(shared: &Shared) -> Option<String> {
    let services = &shared.services;
    let ready = services.ready.borrow().clone().err();
    let current = services.reloaded.borrow().successful && shared.web.borrow().is_current;
    let reload = (!current).then(|| {
        "the last reload was refused; the configuration before it is in force: benchd check".to_owned()
    });
    let stuck = services.runner.stuck().into_iter().next().map(|what| format!("no run starts: {what}"));
    ready.or_else(|| services.store.status().alarm).or(stuck).or(reload)
}

/// The guards of each suite that do not hold now.
pub(super) fn blocking(runner: &Runner, config: &Config) -> Vec<(String, Vec<String>)> {
    let of_suite = |suite: &crate::config::Suite| {
        let start = start::of_suite(suite, config);
        let checks = runner.check(&start, &RunPlan::new(&start.suite, &start.cases));
        let broken = checks.into_iter().filter(|check| check.holds == Some(false));
        (suite.name.clone(), broken.map(|check| check.guard).collect())
    };
    config.suites.values().map(of_suite).collect()
}

/// The run that is active.
pub(super) fn active(active: &ActiveRun) -> Value {
    json!({
        "id": active.id, "suite": active.suite, "start": active.start, "planned_seconds": active.planned.seconds(),
        "case": active.case, "stage": active.stage, "done": active.done, "of": active.of,
        "state": if active.cancelling { "cancelling" } else { "running" },
    })
}

/// A run that waits.
pub(super) fn waiting(queued: &QueuedRun) -> Value {
    json!({
        "id": queued.id, "suite": queued.suite, "state": "queued", "cases": queued.cases,
        "planned_seconds": queued.planned.seconds(), "by": queued.by,
    })
}

/// A suite with its last and next run and what would stop it now.
pub(super) fn suite_now(shared: &Shared, name: &str, blocking: &[String]) -> Value {
    let history = Arc::clone(&shared.history.borrow());
    let last = history.last_runs.get(name);
    let config = shared.services.config();
    json!({
        "suite": name,
        "cases": config.suites.get(name).map(|suite| suite.cases.len()),
        "last": last.map(|run| run.id),
        "last_start": last.map(|run| run.start),
        "last_end": last.and_then(|run| run.end),
        "last_outcome": last.and_then(|run| run.outcome),
        "next": shared.services.next_runs().get(name).map(|next| next.at),
        "ready": blocking.is_empty(),
        "blocking": blocking,
    })
}

/// The rates of the host between its last two samples.
pub(super) fn host_now(sampler: &Sampler) -> Option<Rates> {
    let now = Timestamp::now();
    let samples = sampler.between(now - RECENT, now);
    let [.., before, last] = samples.as_slice() else { return None };
    Some(Rates::between(before, last))
}

fn host(rates: &Rates) -> Value {
    let disks: serde_json::Map<String, Value> = rates
        .disks
        .iter()
        .map(|disk| {
            let numbers =
                json!({ "busy": disk.busy, "await_seconds": disk.await_seconds, "queue": disk.queue_depth });
            (disk.device.as_str().to_owned(), numbers)
        })
        .collect();
    let network: serde_json::Map<String, Value> = rates
        .networks
        .iter()
        .map(|card| {
            let numbers =
                json!({ "receive_bytes": card.receive.bytes, "transmit_bytes": card.transmit.bytes });
            (card.device.as_str().to_owned(), numbers)
        })
        .collect();
    json!({
        "cpu": rates.cpu.as_ref().map(|cpu| cpu.utilization),
        "cpu_busiest": rates.cpu.as_ref().map(|cpu| cpu.busiest),
        "steal": rates.cpu.as_ref().map(|cpu| cpu.shares.steal),
        "memory_available_bytes": rates.memory.available,
        "disks": disks,
        "network": network,
    })
}
