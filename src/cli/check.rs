//! `benchd check`: all problems of the configuration at once.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use super::{Common, Output, in_words, text};
use crate::config::{Loaded, Problem};
use crate::daemon;
use crate::exit::Exit;

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
        let (problems, notes) = match &checked {
            Ok(loaded) => (&[][..], loaded.notes.as_slice()),
            Err(problems) => (problems.as_slice(), &[][..]),
        };
        let exit = match problems.is_empty() && (notes.is_empty() || !self.strict) {
            true => Exit::Done,
            false => Exit::Wrong,
        };
        if common.output == Output::Text {
            text::print(&describe(&checked, notes))?;
        } else {
            text::print_json(&json!({
                "schema": 1, "cmd": "check", "ok": problems.is_empty(), "problems": problems, "notes": notes,
            }))?;
        }
        Ok(exit)
    }
}

fn describe(checked: &Result<Loaded, Vec<Problem>>, notes: &[Problem]) -> String {
    let loaded = match checked {
        Err(problems) => return in_words(problems),
        Ok(loaded) => loaded,
    };
    let files: Vec<String> = loaded.files.iter().map(|file| file.display().to_string()).collect();
    let files = if files.is_empty() { "built-in defaults".to_owned() } else { files.join(", ") };
    let suites = loaded.config.suites.values();
    let cases: usize = suites.clone().map(|suite| suite.cases.len()).sum();
    let notes: String = notes.iter().map(|note| format!("\nnote {note}")).collect();
    format!("ok: {files}: {} suites, {cases} cases{notes}\n", suites.count())
}
