//! `/api/v1/compare`: the cases of a run side by side, or two runs, or the runs of two ranges of days.

use hyper::StatusCode;
use serde_json::json;

use super::answer::{self, Answer};
use super::call::{Call, Query};
use super::problem::{Kind, Mistake, Problem};
use super::runs;
use crate::analysis::{self, Question};
use crate::record::SCHEMA;
use crate::units::Share;

/// Parameters it knows.
const PARAMETERS: [&str; 8] = ["run", "rows", "columns", "a", "b", "measure", "margin", "anyway"];

/// What is set side by side, by the names of runs.
enum Sides {
    Within(String),
    Between(String, String),
}

pub(super) async fn get(call: Call) -> Result<Answer, Problem> {
    let (sides, question) = asked(&call.query)?;
    let body = match sides {
        Sides::Within(run) => {
            let (run, cases) =
                call.read_store("reading a run", move |reader| runs::with_cases(reader, &run)).await??;
            let table = analysis::table(&cases, &question).map_err(no_table)?;
            json!({ "schema": SCHEMA, "run": run.id, "suite": run.suite, "comparison": table })
        }
        Sides::Between(a, b) => {
            let read = move |reader: &crate::store::Reader| {
                Ok((runs::all_with_cases(reader, &a)?, runs::all_with_cases(reader, &b)?))
            };
            let (a, b) = call.read_store("reading two runs", read).await?;
            let ((a, of_a), (b, of_b)) = (a?, b?);
            let runs = analysis::two_runs(&of_a, &of_b, &question).map_err(no_table)?;
            json!({ "schema": SCHEMA, "a": a, "b": b, "comparison": runs })
        }
    };
    answer::json(StatusCode::OK, &body)
}

fn no_table(why: String) -> Problem {
    Problem::new(Kind::Parameters, "these cannot be compared so", why)
}

fn asked(query: &Query) -> Result<(Sides, Question), Problem> {
    let mut mistakes: Vec<Mistake> = query
        .names()
        .filter(|name| !PARAMETERS.contains(name))
        .map(|name| {
            Mistake::new(format!("?{name}"), format!("unknown; parameters are: {}", PARAMETERS.join(", ")))
        })
        .collect();
    let question = Question {
        rows: words(query.get("rows")),
        columns: words(query.get("columns")),
        measure: runs::parsed(query, "measure", &mut mistakes),
        margin: runs::parsed::<Share>(query, "margin", &mut mistakes).map(Share::ratio),
        anyway: runs::parsed(query, "anyway", &mut mistakes).unwrap_or(false),
    };
    let sides = match (query.get("run"), query.get("a"), query.get("b")) {
        (Some(run), None, None) => Some(Sides::Within(run.to_owned())),
        (None, Some(a), Some(b)) => Some(Sides::Between(a.to_owned(), b.to_owned())),
        _ => {
            mistakes.push(Mistake::new("?run", "name one run by `run`, or two by `a` and `b`"));
            None
        }
    };
    match sides.filter(|_| mistakes.is_empty()) {
        Some(sides) => Ok((sides, question)),
        None => Err(Problem::mistakes(Kind::Parameters, "the query cannot be understood", &mistakes)),
    }
}

/// Words with commas between them.
fn words(text: Option<&str>) -> Vec<String> {
    text.unwrap_or_default().split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
