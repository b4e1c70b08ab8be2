//! `benchd list`: runs, newest first; or what there is to run.

use anyhow::Result;
use clap::ValueEnum;
use serde_json::json;

use super::source::Source;
use super::{Common, Output, text};
use crate::config::Target;
use crate::exit::Exit;
use crate::record::{Outcome, RunRecord};
use crate::run::guards;
use crate::store::RunFilter;
use crate::text::{local_time, or_dash, table, took};
use crate::workloads;

/// Runs, newest first; or the suites, cases, targets, guards, workloads
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// What to list
    #[arg(value_enum, default_value_t = What::Runs)]
    what: What,
    /// Only runs of this suite
    #[arg(long)]
    suite: Option<String>,
    /// Only runs that ended so: finished, failed, blocked, aborted, cancelled
    #[arg(long)]
    outcome: Option<Outcome>,
    /// At most so many runs
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    Runs,
    Suites,
    Cases,
    Targets,
    Guards,
    Workloads,
}

impl List {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        match self.what {
            What::Runs => self.runs(common),
            What::Guards => rows(
                common,
                "guards",
                &["GUARD", "PROTECTS"],
                guards::ALL.iter().map(|guard| vec![guard.name.to_owned(), guard.about.to_owned()]),
            ),
            What::Workloads => rows(
                common,
                "workloads",
                &["WORKLOAD", "MEASURES"],
                workloads::ALL.iter().map(|kind| vec![kind.name.to_owned(), kind.about.to_owned()]),
            ),
            What::Suites | What::Cases | What::Targets => self.configured(common),
        }
    }

    fn runs(&self, common: &Common) -> Result<Exit> {
        let filter = RunFilter {
            suite: self.suite.clone(),
            outcome: self.outcome,
            limit: Some(self.limit),
            ..RunFilter::default()
        };
        let runs = super::runtime()?.block_on(async { Source::find(common).await?.runs(&filter).await })?;
        if common.output != Output::Text {
            return text::print_json(&json!({ "schema": 1, "runs": runs }));
        }
        let head = ["RUN", "SUITE", "START", "TOOK", "BY", "OUTCOME"].map(str::to_owned).to_vec();
        let all: Vec<Vec<String>> = std::iter::once(head).chain(runs.iter().map(run_row)).collect();
        text::print(&table(&all))
    }

    fn configured(&self, common: &Common) -> Result<Exit> {
        let config = common.load()?.config;
        let suites = config.suites.values();
        let suites = suites.filter(|suite| self.suite.as_ref().is_none_or(|name| *name == suite.name));
        match self.what {
            What::Suites => rows(
                common,
                "suites",
                &["SUITE", "CASES", "PROFILE", "MEASURES"],
                suites.map(|suite| {
                    let cases = suite.cases.len().to_string();
                    vec![suite.name.clone(), cases, suite.profile.to_string(), suite.description.clone()]
                }),
            ),
            What::Targets => rows(
                common,
                "targets",
                &["TARGET", "KIND", "WHERE"],
                config.targets.iter().map(|(name, target)| {
                    let (kind, place) = target_row(target);
                    vec![name.clone(), kind.to_owned(), place]
                }),
            ),
            _ => rows(
                common,
                "cases",
                &["SUITE", "CASE", "WORKLOAD", "TARGET"],
                suites.flat_map(|suite| {
                    suite.cases.iter().map(|case| {
                        vec![
                            suite.name.clone(),
                            case.name.clone(),
                            case.workload.clone(),
                            or_dash(case.target.clone(), |name| name),
                        ]
                    })
                }),
            ),
        }
    }
}

fn target_row(target: &Target) -> (&'static str, String) {
    match target {
        Target::Scratch(scratch) => ("scratch", scratch.directory.display().to_string()),
        Target::Directory(directory) => ("directory", directory.path.display().to_string()),
        Target::Server(server) => ("server", server.place()),
    }
}

/// A table for people, objects with the head's words as keys for programs.
fn rows(common: &Common, name: &str, head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Result<Exit> {
    if common.output == Output::Text {
        let head = head.iter().map(|word| (*word).to_owned()).collect();
        return text::print(&table(&std::iter::once(head).chain(rows).collect::<Vec<_>>()));
    }
    let objects: Vec<_> = rows
        .map(|row| {
            let keys = head.iter().map(|word| word.to_ascii_lowercase());
            keys.zip(row).map(|(key, value)| (key, value.into())).collect::<serde_json::Map<_, _>>()
        })
        .collect();
    text::print_json(&json!({ "schema": 1, name: objects }))
}

fn run_row(run: &RunRecord) -> Vec<String> {
    let seconds =
        run.end.map(|end| end.duration_since(run.start).as_secs_f64()).filter(|seconds| *seconds > 0.0);
    let outcome = match (run.outcome, &run.failure) {
        (None, _) => "under way".to_owned(),
        (Some(Outcome::Finished), _) => format!("finished {}/{}", run.finished_cases, run.planned_cases),
        (Some(outcome), Some(failure)) => format!("{outcome}: {}", failure.message),
        (Some(outcome), None) => outcome.to_string(),
    };
    vec![
        run.id.short(),
        run.suite.clone(),
        local_time(run.start),
        or_dash(seconds, took),
        run.by.clone(),
        outcome,
    ]
}
