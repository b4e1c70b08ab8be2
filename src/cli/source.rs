//! Where stored runs are read from: the daemon when one answers, else the store file itself.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use super::client::Daemon;
use super::{Common, local};
use crate::analysis::{self, Question};
use crate::exit::{Ended, Exit};
use crate::record::{CaseRecord, Comparison, RunRecord, RunView, TwoRuns};
use crate::store::{Reader, RunFilter};

/// A place that knows stored runs.
pub(crate) enum Source {
    Daemon(Daemon),
    Store(Box<Reader>),
}

impl Source {
    /// The daemon behind the configured socket, else the store this user would write.
    pub(crate) async fn find(common: &Common) -> Result<Source> {
        if let Some(daemon) = Daemon::find(common).await? {
            return Ok(Source::Daemon(daemon));
        }
        let path = local::store_path(&common.load()?.config)?;
        if !path.exists() {
            return Err(nothing_there(&path));
        }
        Ok(Source::Store(Box::new(Reader::open(&path)?)))
    }

    /// Runs, newest first.
    pub(crate) async fn runs(&self, filter: &RunFilter) -> Result<Vec<RunRecord>> {
        match self {
            Source::Store(reader) => reader.runs(filter),
            Source::Daemon(daemon) => {
                let mut answer = daemon.get(&format!("/api/v1/runs?{}", query(filter))).await?.accepted()?;
                Ok(serde_json::from_value(answer["runs"].take())?)
            }
        }
    }

    /// One run by any of its names, with its cases.
    pub(crate) async fn run(&self, name: &str) -> Result<RunView> {
        match self {
            Source::Store(reader) => {
                let (run, cases) = stored(reader, name)?;
                Ok(RunView::new(run, cases))
            }
            Source::Daemon(daemon) => {
                let answer: Value = daemon.get(&format!("/api/v1/runs/{name}")).await?.accepted()?;
                Ok(serde_json::from_value(answer)?)
            }
        }
    }
}

impl Source {
    /// The cases of one run as a table.
    pub(crate) async fn table(&self, name: &str, question: &Question) -> Result<Comparison> {
        match self {
            Source::Store(reader) => {
                let cases = stored(reader, name)?.1;
                analysis::table(&cases, question).map_err(|why| Ended::because(Exit::Wrong, why))
            }
            Source::Daemon(daemon) => {
                let path = format!("/api/v1/compare?run={}&{}", escape(name), asked(question));
                let mut answer: Value = daemon.get(&path).await?.accepted()?;
                Ok(serde_json::from_value(answer["comparison"].take())?)
            }
        }
    }

    /// Two runs, or those of two ranges of days, case by case.
    pub(crate) async fn two_runs(&self, a: &str, b: &str, question: &Question) -> Result<TwoRuns> {
        match self {
            Source::Store(reader) => {
                let (a, b) = (all_stored(reader, a)?, all_stored(reader, b)?);
                analysis::two_runs(&a, &b, question).map_err(|why| Ended::because(Exit::Wrong, why))
            }
            Source::Daemon(daemon) => {
                let path = format!("/api/v1/compare?a={}&b={}&{}", escape(a), escape(b), asked(question));
                let mut answer: Value = daemon.get(&path).await?.accepted()?;
                Ok(serde_json::from_value(answer["comparison"].take())?)
            }
        }
    }
}

fn stored(reader: &Reader, name: &str) -> Result<(RunRecord, Vec<CaseRecord>)> {
    let run = reader.find(name).map_err(|error| Ended::because(Exit::Wrong, error.to_string()))?;
    let cases = reader.cases(run.id)?;
    Ok((run, cases))
}

/// The cases of all runs of a name.
fn all_stored(reader: &Reader, name: &str) -> Result<Vec<CaseRecord>> {
    let runs = reader.find_all(name).map_err(|error| Ended::because(Exit::Wrong, error.to_string()))?;
    let mut cases = Vec::new();
    for run in runs {
        cases.extend(reader.cases(run.id)?);
    }
    Ok(cases)
}

/// A question as the API reads it.
fn asked(question: &Question) -> String {
    let mut parts = Vec::new();
    let mut add = |key: &str, value: String| parts.push(format!("{key}={}", escape(&value)));
    add("rows", question.rows.join(","));
    add("columns", question.columns.join(","));
    if let Some(measure) = question.measure {
        add("measure", measure.to_string());
    }
    if let Some(margin) = question.margin {
        add("margin", format!("{}%", margin * 100.0));
    }
    if question.anyway {
        add("anyway", "true".to_owned());
    }
    parts.join("&")
}

pub(super) fn nothing_there(path: &Path) -> anyhow::Error {
    Ended::because(
        Exit::Unreachable,
        format!(
            "no daemon answers, and there is no store at {}: start one with `benchd serve`, or run something with `benchd run`",
            path.display()
        ),
    )
}

/// A filter as the API reads it; every value it may hold is a plain word.
fn query(filter: &RunFilter) -> String {
    let mut parts = Vec::new();
    let mut add = |key: &str, value: Option<String>| {
        parts.extend(value.map(|value| format!("{key}={}", escape(&value))))
    };
    add("limit", filter.limit.map(|limit| limit.to_string()));
    add("suite", filter.suite.clone());
    add("outcome", filter.outcome.map(|outcome| outcome.to_string()));
    parts.join("&")
}

/// Percent-encodes what is not a plain character of a query.
pub(crate) fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/@:".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
