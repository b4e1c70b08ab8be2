//! `benchd plan`: what a run of a suite would do, and the guards as they are now.

use std::fs;
use std::os::unix::fs::MetadataExt;

use anyhow::Result;
use jiff::Timestamp;
use serde_json::json;

use super::{Common, Output, run, text};
use crate::config::{Config, Suite};
use crate::daemon::state_directory;
use crate::exit::Exit;
use crate::record::GuardCheck;
use crate::run::guards::{self, Situation, Writer};
use crate::run::{CasePlan, RunPlan};
use crate::text::{counted, or_dash, table, took};

/// What a run of a suite would do, and the guards as they are now; exit 3 when it is blocked
#[derive(Debug, clap::Args)]
pub(crate) struct Plan {
    /// The suite's name
    suite: String,
    /// Only cases whose name matches (* and ?)
    #[arg(long, value_name = "GLOB")]
    case: Vec<String>,
    /// Multiply rows, operations, file sizes and times by this [default: the suite's scale]
    #[arg(long, value_name = "NUMBER")]
    scale: Option<f64>,
}

impl Plan {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        let config = common.load()?.config;
        let suite = run::resized(run::named(&config, &self.suite)?, self.scale, None)?;
        let plan = RunPlan::new(&suite, &self.case);
        let checks = guards(&config, &suite, &plan);
        let blocked = checks.iter().any(|check| check.holds == Some(false));
        if common.output == Output::Text {
            text::print(&describe(&plan, &checks))?;
        } else {
            text::print_json(&as_json(&plan, &checks, blocked))?;
        }
        Ok(if blocked { Exit::Blocked } else { Exit::Done })
    }
}

fn guards(config: &Config, suite: &Suite, plan: &RunPlan) -> Vec<GuardCheck> {
    guards::check(&Situation {
        suite,
        targets: &config.targets,
        plan,
        now: Timestamp::now(),
        stuck: &[],
        writer: writer(config),
    })
}

/// The store belongs to the user that benchd runs as; before there is one, nobody else is known.
fn writer(config: &Config) -> Writer {
    let me = nix::unistd::geteuid();
    match fs::metadata(state_directory(&config.store.path)) {
        Ok(found) if found.uid() != me.as_raw() && !me.is_root() => Writer::Other,
        _ => Writer::Same,
    }
}

fn describe(plan: &RunPlan, checks: &[GuardCheck]) -> String {
    let broken = checks.iter().filter(|check| check.holds == Some(false)).count();
    let verdict = match broken {
        0 => format!("{} would run now", plan.suite),
        n => format!("{} would not run now: {n} of {} guards do not hold", plan.suite, checks.len()),
    };
    let head = ["CASE", "TARGET", "CLIENTS", "WARM UP + MEASURE"].map(str::to_owned).to_vec();
    let cases: Vec<Vec<String>> = std::iter::once(head).chain(plan.cases.iter().map(case_row)).collect();
    let guards: Vec<Vec<String>> = checks.iter().map(guard_row).collect();
    format!(
        "{verdict}. {}, about {}; ended after {} at the latest\n{}{}",
        counted(plan.cases.len() as u64, "case"),
        took(plan.planned.seconds()),
        took(plan.deadline.seconds()),
        table(&cases),
        table(&guards)
    )
}

fn case_row(plan: &CasePlan) -> Vec<String> {
    let clients = plan.case.parameters.get("threads").map(ToString::to_string);
    vec![
        plan.case.name.clone(),
        or_dash(plan.case.target.clone(), |name| name),
        or_dash(clients, |clients| clients),
        or_dash(plan.load, |span| took(span.seconds())),
    ]
}

fn guard_row(check: &GuardCheck) -> Vec<String> {
    match check.holds {
        Some(true) => {
            vec![format!("✔ {}", check.guard), check.measured.clone(), check.limit.clone(), String::new()]
        }
        Some(false) => vec![
            format!("✗ {}", check.guard),
            check.measured.clone(),
            check.limit.clone(),
            check.advice.clone(),
        ],
        None => vec![format!("– {}", check.guard), "does not apply".to_owned()],
    }
}

fn as_json(plan: &RunPlan, checks: &[GuardCheck], blocked: bool) -> serde_json::Value {
    let cases: Vec<_> = plan
        .cases
        .iter()
        .map(|plan| {
            json!({
                "case": plan.case.name, "target": plan.case.target, "parameters": plan.case.parameters,
                "seconds": plan.load.map(crate::units::Span::seconds),
            })
        })
        .collect();
    json!({
        "schema": 1, "cmd": "plan", "suite": plan.suite, "would_run": !blocked,
        "planned_seconds": plan.planned.seconds(), "deadline_seconds": plan.deadline.seconds(),
        "cases": cases, "guards": checks,
    })
}
