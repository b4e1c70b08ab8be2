//! `benchd status`: what the daemon does, its suites, and what would stop them now.

use anyhow::Result;
use serde_json::Value;

use super::client::Daemon;
use super::{Common, Output, text};
use crate::exit::Exit;
use crate::text::{local_time, or_dash, table, took};

/// What the daemon does, its suites, and what would stop them now
#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// Only this suite
    suite: Option<String>,
}

impl Status {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        let status = super::runtime()?
            .block_on(async { Daemon::need(common).await?.get("/api/v1/status").await?.accepted() })?;
        if common.output == Output::Text {
            text::print(&self.describe(&status))
        } else {
            text::print_json(&status)
        }
    }

    fn describe(&self, status: &Value) -> String {
        let word = |pointer: &str| status.pointer(pointer).and_then(Value::as_str).unwrap_or("–").to_owned();
        let up = or_dash(status["up_seconds"].as_f64(), took);
        let mut lines =
            vec![format!("benchd {} on {}: up {up}, {}", word("/version"), word("/host"), health(status))];
        let listening: Vec<&str> =
            status["listening"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        lines.push(format!("listening   {}", listening.join(", ")));
        if let Some(cpu) = status.pointer("/now/cpu").and_then(Value::as_f64) {
            lines.push(format!("host        CPU {:.0} %{}", cpu * 100.0, busy_disks(status)));
        }
        if let Some(active) = status["active"].as_object() {
            let field = |key: &str| active.get(key).and_then(Value::as_str).unwrap_or("–").to_owned();
            lines.push(format!(
                "running     {} {}: {} {}",
                field("suite"),
                field("id"),
                field("case"),
                field("stage")
            ));
        }
        format!("{}\n\n{}", lines.join("\n"), self.suites(status))
    }

    fn suites(&self, status: &Value) -> String {
        let head = ["SUITE", "CASES", "LAST RUN", "NEXT RUN", "READY"].map(str::to_owned).to_vec();
        let suites = status["suites"].as_array().into_iter().flatten();
        let wanted = suites.filter(|suite| self.suite.as_deref().is_none_or(|name| suite["suite"] == name));
        table(&std::iter::once(head).chain(wanted.map(suite_row)).collect::<Vec<_>>())
    }
}

/// `, vda 12 % busy`, for each disk.
fn busy_disks(status: &Value) -> String {
    let disks = status.pointer("/now/disks").and_then(Value::as_object).into_iter().flatten();
    let busy = disks
        .filter_map(|(name, disk)| Some(format!(", {name} {:.0} % busy", disk["busy"].as_f64()? * 100.0)));
    busy.collect()
}

fn health(status: &Value) -> String {
    match status["alarm"].as_str() {
        Some(alarm) => alarm.to_owned(),
        None => "all is well".to_owned(),
    }
}

fn suite_row(suite: &Value) -> Vec<String> {
    let instant = |key: &str| suite[key].as_str().and_then(|text| text.parse().ok()).map(local_time);
    let last = match (instant("last_end"), suite["last_outcome"].as_str()) {
        (Some(at), Some(outcome)) => format!("{at} {outcome}"),
        _ => "never".to_owned(),
    };
    let blocking: Vec<&str> =
        suite["blocking"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let ready = if blocking.is_empty() { "yes".to_owned() } else { format!("no: {}", blocking.join(", ")) };
    vec![
        suite["suite"].as_str().unwrap_or("–").to_owned(),
        or_dash(suite["cases"].as_u64(), |cases| cases.to_string()),
        last,
        instant("next").unwrap_or_else(|| "on demand".to_owned()),
        ready,
    ]
}
