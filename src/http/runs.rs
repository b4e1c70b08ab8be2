//! `/api/v1/runs`: past and present runs, and their end.

use std::str::FromStr;

use hyper::StatusCode;
use hyper::header;
use serde_json::{Value, json};

use super::answer::{self, Answer};
use super::call::{Call, Query};
use super::problem::{Kind, Mistake, Problem};
use super::status;
use crate::record::{RunId, RunRecord, RunView, SCHEMA};
use crate::run::CancelError;
use crate::store::{FindError, Reader, RunFilter};

/// Runs on a page when nothing else is asked for.
const LIMIT: u32 = 50;
/// Most runs on a page.
const MOST: u32 = 500;
/// Parameters of the list.
const PARAMETERS: [&str; 8] = ["suite", "case", "outcome", "trigger", "since", "until", "limit", "before"];

pub(super) async fn list(call: Call) -> Result<Answer, Problem> {
    let filter = filter(&call.query)?;
    let limit = filter.limit.unwrap_or(LIMIT);
    // One more than asked for tells whether there is a next page.
    let one_more = RunFilter { limit: Some(limit.saturating_add(1)), ..filter };
    let mut runs = call.read_store("listing runs", move |reader| reader.runs(&one_more)).await?;
    let more = runs.len() > limit as usize;
    runs.truncate(limit as usize);
    let next = runs
        .last()
        .filter(|_| more)
        .map(|last| format!("/api/v1/runs?{}", call.query.with("before", &last.id.to_string())));
    let runs = runs.into_iter().map(brief).collect::<Result<Vec<Value>, Problem>>()?;
    let mut body = json!({ "schema": SCHEMA, "runs": runs });
    if let Some(next) = &next {
        body["next"] = next.as_str().into();
    }
    let mut answer = answer::json(StatusCode::OK, &body)?;
    if let Some(next) = next {
        answer::set(&mut answer, header::LINK, &format!("<{next}>; rel=\"next\""));
    }
    Ok(answer)
}

/// A run in a list: without guards, facts of the host and its comparison, which the run itself shows.
fn brief(run: RunRecord) -> Result<Value, Problem> {
    let mut value = serde_json::to_value(run)
        .map_err(|error| Problem::internal("writing a run as JSON", &error.into()))?;
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, _| !["guards", "host_facts", "comparison"].contains(&name.as_str()));
    }
    Ok(value)
}

fn filter(query: &Query) -> Result<RunFilter, Problem> {
    let mut mistakes = Vec::new();
    for name in query.names().filter(|name| !PARAMETERS.contains(name)) {
        mistakes.push(Mistake::new(
            format!("?{name}"),
            format!("unknown; parameters are: {}", PARAMETERS.join(", ")),
        ));
    }
    let filter = RunFilter {
        suite: query.get("suite").map(str::to_owned),
        case: query.get("case").map(str::to_owned),
        outcome: parsed(query, "outcome", &mut mistakes),
        trigger: parsed(query, "trigger", &mut mistakes),
        since: parsed(query, "since", &mut mistakes),
        until: parsed(query, "until", &mut mistakes),
        before: parsed(query, "before", &mut mistakes),
        limit: parsed(query, "limit", &mut mistakes),
    };
    if filter.limit.is_some_and(|limit| !(1..=MOST).contains(&limit)) {
        mistakes.push(Mistake::new("?limit", format!("must be 1 to {MOST}")));
    }
    if mistakes.is_empty() {
        return Ok(filter);
    }
    Err(Problem::mistakes(Kind::Parameters, "the query cannot be understood", &mistakes))
}

pub(super) fn parsed<T: FromStr<Err: std::fmt::Display>>(
    query: &Query,
    name: &str,
    mistakes: &mut Vec<Mistake>,
) -> Option<T> {
    match query.get(name)?.parse() {
        Ok(value) => Some(value),
        Err(error) => {
            mistakes.push(Mistake::new(format!("?{name}"), error.to_string()));
            None
        }
    }
}

pub(super) async fn get(call: Call) -> Result<Answer, Problem> {
    if let Some(queued) = queued(&call, call.part(0)) {
        return answer::json(StatusCode::OK, &queued);
    }
    let name = name(&call)?;
    let (run, cases) = call.read_store("reading a run", move |reader| with_cases(reader, &name)).await??;
    // A run that ended does not change any more, but what is told of it may, with the version.
    let tag = run.end.map(|_| format!("\"{}-{}\"", run.id, crate::VERSION));
    if let Some(tag) = &tag
        && call
            .header(header::IF_NONE_MATCH)
            .is_some_and(|known| known.split(',').any(|known| known.trim() == tag))
    {
        let mut answer = answer::empty(StatusCode::NOT_MODIFIED);
        answer::set(&mut answer, header::ETAG, tag);
        return Ok(answer);
    }
    let mut answer = answer::json(StatusCode::OK, &RunView::new(run, cases))?;
    if let Some(tag) = tag {
        answer::set(&mut answer, header::ETAG, &tag);
        answer::set(&mut answer, header::CACHE_CONTROL, "no-cache");
    }
    Ok(answer)
}

/// A problem of whoever asks is an answer of its own; the outer error is one of the store.
pub(super) type Found<T> = anyhow::Result<Result<T, Problem>>;

pub(super) fn with_cases(reader: &Reader, name: &str) -> Found<(RunRecord, Vec<crate::record::CaseRecord>)> {
    match find(reader, name)? {
        Ok(run) => {
            let cases = reader.cases(run.id)?;
            Ok(Ok((run, cases)))
        }
        Err(problem) => Ok(Err(problem)),
    }
}

/// The last of the runs that a name stands for, and the cases of all.
pub(super) fn all_with_cases(
    reader: &Reader,
    name: &str,
) -> Found<(Option<RunId>, Vec<crate::record::CaseRecord>)> {
    let runs = match known(reader.find_all(name))? {
        Ok(runs) => runs,
        Err(problem) => return Ok(Err(problem)),
    };
    let mut cases = Vec::new();
    for run in &runs {
        cases.extend(reader.cases(run.id)?);
    }
    Ok(Ok((runs.last().map(|run| run.id), cases)))
}

/// The run that a name stands for.
pub(super) fn find(reader: &Reader, name: &str) -> Found<RunRecord> {
    known(reader.find(name))
}

fn known<T>(found: Result<T, FindError>) -> Found<T> {
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(FindError::Store(error)) => Err(error),
        Err(error) => Ok(Err(unknown(error.to_string()))),
    }
}

pub(super) fn unknown(detail: String) -> Problem {
    Problem::new(Kind::UnknownRun, "no such run", detail)
}

/// The name of the run that the path means; `latest` is the last run of a suite.
fn name(call: &Call) -> Result<String, Problem> {
    match (call.part(0), call.query.get("suite")) {
        ("latest", Some(suite)) => Ok(suite.to_owned()),
        ("latest", None) => {
            let mistake = Mistake::new("?suite", "missing: latest?suite=NAME is the last run of a suite");
            Err(Problem::mistakes(Kind::Parameters, "of which suite?", &[mistake]))
        }
        (name, _) => Ok(name.to_owned()),
    }
}

/// A run that waits, by its id or the last digits of it.
fn queued(call: &Call, name: &str) -> Option<Value> {
    let queue = call.shared.services.runner.queue();
    queue.iter().find(|queued| is_named(queued.id, name)).map(|queued| {
        let mut value = status::waiting(queued);
        value["schema"] = SCHEMA.into();
        value
    })
}

fn is_named(id: RunId, name: &str) -> bool {
    id.to_string() == name || id.short() == name
}

/// The id a name stands for, whether its run waits, runs or ended.
pub(super) async fn resolve(call: &Call) -> Result<RunId, Problem> {
    let name = name(call)?;
    let runner = &call.shared.services.runner;
    let waiting = runner.queue().into_iter().map(|queued| queued.id);
    let present = waiting.chain(runner.active().map(|active| active.id)).find(|id| is_named(*id, &name));
    match present {
        Some(id) => Ok(id),
        None => match name.parse() {
            // A run that just began or ended may not be on the disk yet.
            Ok(id) if runner.follow(id).is_some() => Ok(id),
            _ => call
                .read_store("looking for a run", move |reader| find(reader, &name))
                .await?
                .map(|run| run.id),
        },
    }
}

pub(super) async fn cancel(call: Call) -> Result<Answer, Problem> {
    let id = resolve(&call).await?;
    let (runner, caller) = (call.shared.services.runner.clone(), call.caller.clone());
    match call.blocking("cancelling a run", move || Ok(runner.cancel(id, &caller.person()))).await? {
        Ok(()) => {
            answer::json(StatusCode::ACCEPTED, &json!({ "schema": SCHEMA, "id": id, "state": "cancelling" }))
        }
        Err(CancelError::Ended | CancelError::Unknown) => {
            let detail = format!("run {} has ended; nothing is left to cancel", id.short());
            Err(Problem::new(Kind::RunFinished, "the run has ended", detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_filtered_by_what_it_knows_and_nothing_else() {
        let read = |text: &str| filter(&Query::parse(text));
        let ok =
            read("suite=db&outcome=aborted&trigger=schedule&since=2026-12-01T00:00:00Z&limit=2").unwrap();
        assert_eq!((ok.suite.as_deref(), ok.limit), (Some("db"), Some(2)));
        for wrong in
            ["limit=0", "limit=501", "limit=x", "outcome=good", "since=yesterday", "before=1", "colour=red"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
