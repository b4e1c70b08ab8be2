//! `POST /api/v1/runs`: start a run, or say what it would do.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use hyper::StatusCode;
use hyper::header::{self, HeaderName};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::access::Access;
use super::answer::{self, Answer};
use super::call::Call;
use super::idempotency::{Key, Known};
use super::order::{Order, What};
use super::problem::{Kind, Mistake, Problem};
use super::services::cpus;
use super::suites;
use crate::config::{self, Config, Suite};
use crate::record::{GuardCheck, RunId, SCHEMA, Trigger};
use crate::run::guards::{self, OVERRIDABLE, WINDOW, window_of};
use crate::run::{Accepted, ActiveRun, Refused, RunPlan, Start};
use crate::schedule::Window;
use crate::workloads::Workloads;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Longest key that is remembered, in bytes.
const KEY_LIMIT: usize = 200;
/// What to try again after when a guard does not tell, in seconds.
const RETRY_BLOCKED: u64 = 60;

/// What a run of a suite as it is configured needs.
pub(super) fn of_suite(suite: &Suite, config: &Config) -> Start {
    Start {
        suite: suite.clone(),
        targets: config.targets.clone(),
        trigger: Trigger::Request,
        by: String::new(),
        note: None,
        cases: Vec::new(),
        queue: false,
        overrides: BTreeSet::new(),
    }
}

/// A start goes on when whoever asked hangs up: a retry with the same key must find its answer.
pub(super) async fn post(call: Call) -> Result<Answer, Problem> {
    let begun = tokio::spawn(begin(call)).await;
    begun.unwrap_or_else(|error| Err(Problem::internal("starting a run", &error.into())))
}

async fn begin(call: Call) -> Result<Answer, Problem> {
    let (body, caller) = (call.json()?, call.caller.clone());
    let order = Order::read(&body)?;
    if order.is_for_administrators() {
        call.allow(Access::Admin)?;
    }
    let person = call.blocking("looking up the user", move || Ok(caller.person())).await?;
    let key = key(&call, &person)?;
    // One start at a time: a retry waits here for the answer to the first.
    let shared = Arc::clone(&call.shared);
    let mut remembered = shared.starts.lock().await;
    if let Some(key) = &key {
        match remembered.look(key, &body, Instant::now()) {
            Known::New => {}
            Known::Same(answered) => return replayed(&answered),
            Known::Other => return Err(mismatch()),
        }
    }
    let answered = start(&call, order, person).await?;
    if let Some(key) = key {
        remembered.remember(key, body, answered.clone(), Instant::now());
    }
    accepted(&answered)
}

fn key(call: &Call, person: &str) -> Result<Option<Key>, Problem> {
    if !call.headers.contains_key(&IDEMPOTENCY_KEY) {
        return Ok(None);
    }
    match call.header(&IDEMPOTENCY_KEY).filter(|key| !key.is_empty() && key.len() <= KEY_LIMIT) {
        Some(key) => Ok(Some(Key { person: person.to_owned(), key: key.to_owned() })),
        None => {
            let detail = format!("the Idempotency-Key must be 1 to {KEY_LIMIT} printable ASCII characters");
            Err(Problem::new(Kind::Parameters, "unusable key", detail))
        }
    }
}

fn mismatch() -> Problem {
    let detail = "another request was made with this Idempotency-Key in the last 24 h";
    Problem::new(Kind::IdempotencyMismatch, "key used for another request", detail)
        .advice("use a new key for a new request")
}

fn accepted(answered: &Value) -> Result<Answer, Problem> {
    let mut answer = answer::json(StatusCode::ACCEPTED, answered)?;
    let id = answered["id"].as_str().unwrap_or_default();
    answer::set(&mut answer, header::LOCATION, &format!("/api/v1/runs/{id}"));
    Ok(answer)
}

fn replayed(answered: &Value) -> Result<Answer, Problem> {
    let mut answer = accepted(answered)?;
    answer::set(&mut answer, IDEMPOTENCY_REPLAYED, "true");
    Ok(answer)
}

async fn start(call: &Call, order: Order, person: String) -> Result<Value, Problem> {
    let start = resolve(call, order, person).await?;
    let runner = call.shared.services.runner.clone();
    let asked = start.clone();
    match call.blocking("starting a run", move || Ok(runner.start(asked))).await? {
        Ok(accepted) => Ok(describe(&start.suite.name, &accepted)),
        Err(refused) => Err(refusal(&start, &refused)),
    }
}

fn describe(suite: &str, accepted: &Accepted) -> Value {
    json!({
        "schema": SCHEMA,
        "id": accepted.id,
        "suite": suite,
        "state": if accepted.position == 0 { "starting" } else { "queued" },
        "position": accepted.position,
        "cases": accepted.cases,
        "planned_seconds": accepted.planned.seconds(),
        "events": format!("/api/v1/runs/{}/events", accepted.id.short()),
    })
}

/// Looks up what the order names.
async fn resolve(call: &Call, order: Order, by: String) -> Result<Start, Problem> {
    let config = call.shared.services.config();
    let suite = match order.what {
        What::Suite(name) => {
            config.suites.get(&name).cloned().ok_or_else(|| suites::unknown(&name, &config))?
        }
        What::Benchmark { workload, keys } => ad_hoc(&config, &workload, &keys)?,
    };
    let suite = suite.resized(order.scale, order.rounds, &Workloads).map_err(|error| {
        let mistake = Mistake::new(format!("#/{}", error.key), format!("{}: {}", error.problem, error.hint));
        Problem::mistakes(Kind::Parameters, "the suite cannot be run so", &[mistake])
    })?;
    let start = of_suite(&suite, &config);
    Ok(Start {
        by,
        note: order.note,
        cases: order.cases,
        queue: order.queue,
        overrides: order.overrides,
        ..start
    })
}

fn ad_hoc(config: &Config, workload: &str, keys: &[(String, String)]) -> Result<Suite, Problem> {
    config::ad_hoc(config, workload, keys, &Workloads, cpus().unwrap_or(1)).map_err(|problems| {
        let mistakes: Vec<Mistake> = problems
            .iter()
            .map(|problem| {
                Mistake::new(
                    format!("#/benchmark/{}", problem.key),
                    format!("{}: {}", problem.problem, problem.hint),
                )
            })
            .collect();
        Problem::mistakes(Kind::Parameters, "the benchmark cannot be run", &mistakes)
    })
}

fn refusal(start: &Start, refused: &Refused) -> Problem {
    match refused {
        Refused::Draining => {
            let detail = "benchd is stopping and starts nothing more";
            Problem::new(Kind::Draining, "benchd is stopping", detail).retry_after(RETRY_BLOCKED)
        }
        Refused::NoCase => no_case(&start.suite),
        Refused::Active(active) => in_the_way(active),
        Refused::Blocked(id, checks) => blocked(start, *id, checks),
    }
}

fn no_case(suite: &Suite) -> Problem {
    let names: Vec<&str> = suite.cases.iter().map(|case| case.name.as_str()).collect();
    let detail = format!("no case of {} matches; they are: {}", suite.name, names.join(", "));
    Problem::mistakes(Kind::Parameters, "no case matches", &[Mistake::new("#/case", detail)])
}

fn in_the_way(active: &ActiveRun) -> Problem {
    let passed = Timestamp::now().duration_since(active.start).as_secs_f64();
    let left = (active.planned.seconds() - passed).max(0.0);
    let id = active.id.short();
    let detail = format!("{} {id} goes first, for about {left:.0} s more", active.suite);
    let href = format!("/api/v1/runs/{id}");
    Problem::new(Kind::RunActive, "another run is active", detail)
        .member("active", json!({ "id": active.id, "suite": active.suite, "href": href }))
        .advice("retry, or send \"queue\": true")
}

fn blocked(start: &Start, id: RunId, checks: &[GuardCheck]) -> Problem {
    let plural = if checks.len() == 1 { "guard" } else { "guards" };
    let guards: Vec<Value> = checks.iter().map(guard).collect();
    Problem::new(
        Kind::Blocked,
        format!("blocked by {} {plural}", checks.len()),
        guards::sentence(&start.suite.name, checks),
    )
    .member("instance", format!("/api/v1/runs/{}", id.short()).into())
    .member("guards", guards.into())
    .retry_after(retry(&start.suite, checks))
}

fn guard(check: &GuardCheck) -> Value {
    json!({
        "guard": check.guard, "holds": check.holds, "measured": check.measured, "limit": check.limit,
        "overridable": OVERRIDABLE.contains(&check.guard.as_str()), "do": check.advice,
    })
}

/// Seconds until it makes sense to try again: until the window opens, when that is what blocks.
fn retry(suite: &Suite, checks: &[GuardCheck]) -> u64 {
    let now = Timestamp::now();
    let window = checks.iter().any(|check| check.guard == WINDOW);
    let opens = window
        .then(|| {
            Window::parse(window_of(suite), suite.timezone.as_deref().unwrap_or_default()).ok()?.opens(now)
        })
        .flatten();
    opens.map_or(RETRY_BLOCKED, |at| u64::try_from(at.duration_since(now).as_secs()).unwrap_or(0) + 1)
}

/// `POST /api/v1/runs?plan=true`.
pub(super) async fn plan(call: Call) -> Result<Answer, Problem> {
    let start = resolve(&call, Order::read(&call.json()?)?, String::new()).await?;
    let plan = RunPlan::new(&start.suite, &start.cases);
    if plan.cases.is_empty() {
        return Err(no_case(&start.suite));
    }
    let (runner, asked, planned) = (call.shared.services.runner.clone(), start.clone(), plan.clone());
    let checks = call.blocking("asking the guards", move || Ok(runner.check(&asked, &planned))).await?;
    let blocking = guards::blocking(&checks, &start.overrides);
    answer::json(
        StatusCode::OK,
        &json!({
            "schema": SCHEMA,
            "suite": plan.suite,
            "scale": plan.scale,
            "rounds": start.suite.rounds,
            "would_run": blocking.is_empty(),
            "planned_seconds": plan.planned.seconds(),
            "deadline_seconds": plan.deadline.seconds(),
            "cases": plan.cases.iter().map(|one| json!({
                "case": one.case.name, "workload": one.case.workload, "target": one.case.target,
                "parameters": one.case.parameters, "seconds": one.load.map(|load| load.seconds()), "rows": one.rows,
            })).collect::<Vec<_>>(),
            "guards": checks.iter().map(guard).collect::<Vec<_>>(),
        }),
    )
}
