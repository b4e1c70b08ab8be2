//! `/api/v1/suites`: what is configured.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::answer::{self, Answer};
use super::call::Call;
use super::problem::{Kind, Problem};
use super::status;
use crate::config::{Config, Schedule, Suite};
use crate::record::SCHEMA;
use crate::run::guards::window_of;

pub(super) async fn list(call: Call) -> Result<Answer, Problem> {
    let suites = definitions(&call).await?;
    let suites: Vec<Value> = suites.into_iter().map(|(_, suite)| suite).collect();
    answer::json(StatusCode::OK, &json!({ "schema": SCHEMA, "suites": suites }))
}

pub(super) async fn get(call: Call) -> Result<Answer, Problem> {
    let found = definitions(&call).await?.into_iter().find(|(name, _)| name == call.part(0));
    match found {
        Some((_, mut suite)) => {
            suite["schema"] = SCHEMA.into();
            answer::json(StatusCode::OK, &suite)
        }
        None => Err(unknown(call.part(0), &call.shared.services.config()).status(StatusCode::NOT_FOUND)),
    }
}

/// No suite has this name.
pub(super) fn unknown(name: &str, config: &Config) -> Problem {
    let names: Vec<&str> = config.suites.keys().map(String::as_str).collect();
    let detail = format!("suites are: {}", names.join(", "));
    Problem::new(Kind::UnknownSuite, format!("no suite `{name}`"), detail.clone())
        .member("errors", json!([{ "pointer": "#/suite", "detail": detail }]))
}

async fn definitions(call: &Call) -> Result<Vec<(String, Value)>, Problem> {
    let (runner, config) = (call.shared.services.runner.clone(), call.shared.services.config());
    let asked = config.clone();
    let blocking = call.blocking("asking the guards", move || Ok(status::blocking(&runner, &asked))).await?;
    let with_state = |(name, blocking): (String, Vec<String>)| {
        let suite = config.suites.get(&name)?;
        let mut value = definition(suite);
        if let (Value::Object(value), Value::Object(state)) =
            (&mut value, status::suite_now(&call.shared, &name, &blocking))
        {
            value.extend(state.into_iter().filter(|(key, _)| key != "cases"));
        }
        Some((name, value))
    };
    Ok(blocking.into_iter().filter_map(with_state).collect())
}

fn definition(suite: &Suite) -> Value {
    let (cron, every) = match &suite.schedule {
        Some(Schedule::Cron(cron)) => (Some(cron), None),
        Some(Schedule::Every(every)) => (None, Some(every.seconds())),
        None => (None, None),
    };
    let cases: Vec<Value> = suite
        .cases
        .iter()
        .map(|case| {
            json!({ "case": case.name, "workload": case.workload, "target": case.target, "parameters": case.parameters })
        })
        .collect();
    json!({
        "description": suite.description,
        "profile": suite.profile,
        "schedule": cron,
        "every_seconds": every,
        "timezone": suite.timezone,
        "window": window_of(suite),
        "jitter_seconds": suite.jitter.seconds(),
        "missed": suite.missed,
        "overlap": suite.overlap,
        "on_failure": suite.on_failure,
        "rounds": suite.rounds,
        "scale": suite.scale,
        "max_duration_seconds": suite.max_duration.map(|limit| limit.seconds()),
        "cases": cases,
    })
}
