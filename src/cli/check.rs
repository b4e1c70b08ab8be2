//! `benchd check`: all problems of the configuration at once.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use super::{Common, Output, in_words, text};
use crate::config::{Loaded, Problem};
use crate::daemon;
use crate::exit::Exit;
use crate::text::counted;

/// More series than this are worth a note.
const MANY: usize = 5000;

/// All problems of the configuration at once
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Check {
    /// The file to check instead of the configured one
    file: Option<PathBuf>,
    /// Notes count as problems
    #[arg(long)]
    strict: bool,
}

impl Check {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        let checked = daemon::load(self.file.as_deref().or(common.config.as_deref()));
        // What cannot be counted is left out: the configuration may be meant for another host.
        let series = checked.as_ref().ok().and_then(|loaded| daemon::series(&loaded.config).ok());
        let (problems, notes) = match &checked {
            Ok(loaded) => (&[][..], loaded.notes.iter().cloned().chain(many(loaded, series)).collect()),
            Err(problems) => (problems.as_slice(), Vec::new()),
        };
        let exit = match problems.is_empty() && (notes.is_empty() || !self.strict) {
            true => Exit::Done,
            false => Exit::Wrong,
        };
        if common.output == Output::Text {
            text::print(&describe(&checked, &notes, series))?;
        } else {
            text::print_json(&json!({
                "schema": 1, "cmd": "check", "ok": problems.is_empty(), "problems": problems, "notes": notes,
                "series": series,
            }))?;
        }
        Ok(exit)
    }
}

/// More series than a Prometheus should be asked to keep of one host without a word.
fn many(loaded: &Loaded, series: Option<usize>) -> Option<Problem> {
    let series = series.filter(|series| *series > MANY)?;
    let problem = format!("about {} series, more than {}", rounded(series), thousands(MANY));
    Some(loaded.sources.problem(
        "suite",
        problem,
        "fewer cases: shorter lists, or enabled = false for a suite; docs/metrics.md has what adds how many",
    ))
}

/// To tens: it is an estimate.
fn rounded(series: usize) -> String {
    thousands(series.div_ceil(10) * 10)
}

fn thousands(number: usize) -> String {
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{thousands},{:03}", number % 1000),
    }
}

fn describe(checked: &Result<Loaded, Vec<Problem>>, notes: &[Problem], series: Option<usize>) -> String {
    let loaded = match checked {
        Err(problems) => return in_words(problems),
        Ok(loaded) => loaded,
    };
    let files: Vec<String> = loaded.files.iter().map(|file| file.display().to_string()).collect();
    let files = if files.is_empty() { "built-in defaults".to_owned() } else { files.join(", ") };
    let suites = loaded.config.suites.values();
    let cases: usize = suites.clone().map(|suite| suite.cases.len()).sum();
    let notes: String = notes.iter().map(|note| format!("\nnote {note}")).collect();
    let series = series.map_or_else(String::new, |series| format!(", about {} series", rounded(series)));
    let (suites, cases) = (counted(suites.count() as u64, "suite"), counted(cases as u64, "case"));
    format!("ok: {files}: {suites}, {cases}{series}{notes}\n")
}
