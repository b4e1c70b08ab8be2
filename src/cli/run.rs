//! `benchd run`: a suite, or one workload ad hoc, through the daemon or in this process.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::client::Daemon;
use super::follow::{Progress, follow, from_this_process};
use super::source::Source;
use super::{Common, Output, compare, in_words, local, text};
use crate::config::{self, Config, Suite};
use crate::daemon;
use crate::exit::{Ended, Exit};
use crate::record::Trigger;
use crate::run::guards::{self, OVERRIDABLE};
use crate::run::{Accepted, Refused, Runner, Start};
use crate::text::counted;
use crate::workloads::Workloads;

/// Run a suite, or one workload ad hoc, and follow it
///
/// Through the daemon when one serves this host, else in this process with a store of this user.
#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// The suite's name
    #[arg(required_unless_present = "workload")]
    suite: Option<String>,
    /// Run this workload instead of a suite; keys follow as key=value, lists make a matrix
    #[arg(short, long)]
    workload: Option<String>,
    /// Keys of the workload: target=scratch threads=1,8 time=30s
    #[arg(value_name = "KEY=VALUE", requires = "workload")]
    keys: Vec<String>,
    /// Only cases whose name matches (* and ?)
    #[arg(long, value_name = "GLOB")]
    case: Vec<String>,
    /// Multiply rows, operations, file sizes and times by this [default: the suite's scale]
    #[arg(long, value_name = "NUMBER")]
    scale: Option<f64>,
    /// Run all cases so often, in an order that alternates [default: the suite's rounds]
    #[arg(long, value_name = "NUMBER")]
    rounds: Option<u32>,
    /// What to remember about this run
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Wait for the active run, or for the suite's window
    #[arg(long)]
    wait: bool,
    /// Run although these guards do not hold: window
    #[arg(long = "override", value_name = "GUARD", value_delimiter = ',')]
    overrides: Vec<String>,
    /// Start it, print its id, and return
    #[arg(long)]
    detach: bool,
    /// Run in this process even when a daemon answers
    #[arg(long, conflicts_with = "detach")]
    local: bool,
    /// How progress is shown
    #[arg(long, value_enum, default_value_t = Progress::Auto)]
    progress: Progress,
}

impl Run {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        self.refuse_overrides()?;
        super::runtime()?.block_on(async {
            let daemon = if self.local { None } else { Daemon::find(common).await? };
            match daemon {
                Some(daemon) => self.by_daemon(&daemon, common).await,
                None if self.detach => Daemon::need(common).await.map(|_| Exit::Done),
                None => self.here(common).await,
            }
        })
    }

    fn refuse_overrides(&self) -> Result<()> {
        match self.overrides.iter().find(|guard| !OVERRIDABLE.contains(&guard.as_str())) {
            None => Ok(()),
            Some(guard) => Err(Ended::because(
                Exit::Wrong,
                format!("guard `{guard}` cannot be overridden; these can: {}", OVERRIDABLE.join(", ")),
            )),
        }
    }

    /// `key=value` arguments, taken apart.
    fn pairs(&self) -> Result<Vec<(String, String)>> {
        self.suite
            .iter()
            .filter(|_| self.workload.is_some())
            .chain(&self.keys)
            .map(|pair| pair_of(pair))
            .collect()
    }

    async fn by_daemon(&self, daemon: &Daemon, common: &Common) -> Result<Exit> {
        let answer = daemon.post("/api/v1/runs", &self.body()?).await?.accepted()?;
        let id = answer["id"].as_str().context("the daemon named no run")?.to_owned();
        if self.detach {
            return match common.output {
                Output::Text => text::print(&format!("{id}\n")),
                _ => text::print_json(&answer),
            };
        }
        self.announce(&id, answer["cases"].as_u64(), answer["planned_seconds"].as_f64(), common)?;
        let cancel = cancel_on_interrupt(daemon.clone(), id.clone());
        let exit = follow(daemon.events(&id).await?, common.output, self.progress).await?;
        cancel.abort();
        conclude(&Source::Daemon(daemon.clone()), &id, common, exit).await
    }

    fn body(&self) -> Result<Value> {
        let mut body = json!({ "queue": self.wait, "case": self.case });
        if let Some(note) = &self.note {
            body["note"] = note.as_str().into();
        }
        if let Some(scale) = self.scale {
            body["scale"] = json!(scale);
        }
        if let Some(rounds) = self.rounds {
            body["rounds"] = rounds.into();
        }
        if !self.overrides.is_empty() {
            body["override"] = json!(self.overrides);
        }
        match &self.workload {
            None => body["suite"] = json!(self.suite),
            Some(workload) => body["benchmark"] = json!({ "workload": workload, "keys": self.pairs()? }),
        }
        Ok(body)
    }

    async fn here(&self, common: &Common) -> Result<Exit> {
        let config = common.load()?.config;
        let suite = self.suite_of(&config)?;
        crate::journal::start(crate::journal::Sink::Stderr, log::LevelFilter::Error)?;
        let runner = local::runner(&config)?;
        runner.recover(&config.targets).await;
        let name = suite.name.clone();
        let accepted =
            runner.start(self.start(suite, &config)).map_err(|refused| refusal(&name, &refused))?;
        let id = accepted.id.to_string();
        self.announce(&id, Some(accepted.cases as u64), Some(accepted.planned.seconds()), common)?;
        let working = tokio::spawn(runner.clone().work());
        let events = runner.follow(accepted.id).context("the run was just started")?;
        tokio::spawn(cancel_here(runner.clone(), accepted));
        let exit = follow(from_this_process(events), common.output, self.progress).await?;
        runner.drain();
        working.await.context("the task that runs suites panicked")?;
        drop(runner);
        conclude(&Source::find(common).await?, &id, common, exit).await
    }

    fn start(&self, suite: Suite, config: &Config) -> Start {
        Start {
            suite,
            targets: config.targets.clone(),
            trigger: Trigger::Request,
            by: user_name(),
            note: self.note.clone(),
            cases: self.case.clone(),
            queue: self.wait,
            overrides: self.overrides.iter().cloned().collect::<BTreeSet<String>>(),
        }
    }

    fn suite_of(&self, config: &Config) -> Result<Suite> {
        resized(&self.configured(config)?, self.scale, self.rounds)
    }

    fn configured(&self, config: &Config) -> Result<Suite> {
        match (&self.workload, &self.suite) {
            (Some(workload), _) => {
                config::ad_hoc(config, workload, &self.pairs()?, &Workloads, daemon::cpus())
                    .map_err(|problems| Ended::because(Exit::Wrong, in_words(&problems)))
            }
            (None, suite) => named(config, suite.as_deref().unwrap_or_default()).cloned(),
        }
    }

    fn announce(&self, id: &str, cases: Option<u64>, planned: Option<f64>, common: &Common) -> Result<()> {
        if common.output != Output::Text {
            return Ok(());
        }
        let what = self.workload.as_ref().or(self.suite.as_ref()).map_or("run", String::as_str);
        let (cases, planned) = (counted(cases.unwrap_or(0), "case"), text::or_dash(planned, text::took));
        let short = &id[id.len().saturating_sub(8)..];
        text::print(&format!("{what} {short}: {cases}, about {planned}; Ctrl-C cancels\n")).map(drop)
    }
}

fn pair_of(pair: &str) -> Result<(String, String)> {
    let (key, value) = pair.split_once('=').ok_or_else(|| {
        Ended::because(Exit::Wrong, format!("`{pair}` is not key=value: write for example threads=1,8"))
    })?;
    Ok((key.to_owned(), value.to_owned()))
}

/// A suite with another scale or another number of rounds.
pub(super) fn resized(suite: &Suite, scale: Option<f64>, rounds: Option<u32>) -> Result<Suite> {
    suite.resized(scale, rounds, &Workloads).map_err(|error| {
        Ended::because(Exit::Wrong, format!("{}: {}; {}", error.key, error.problem, error.hint))
    })
}

/// A suite of the configuration.
pub(super) fn named<'a>(config: &'a Config, name: &str) -> Result<&'a Suite> {
    config.suites.get(name).ok_or_else(|| {
        let suites: Vec<&str> = config.suites.keys().map(String::as_str).collect();
        Ended::because(Exit::Wrong, format!("no suite `{name}`; suites are: {}", suites.join(", ")))
    })
}

/// The name of the user who typed the command.
fn user_name() -> String {
    let uid = nix::unistd::getuid();
    match nix::unistd::User::from_uid(uid) {
        Ok(Some(user)) => user.name,
        _ => format!("uid {uid}"),
    }
}

/// Ctrl-C cancels the run of the daemon; the command goes on until it has ended.
fn cancel_on_interrupt(daemon: Daemon, id: String) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            if let Err(error) = daemon.delete(&format!("/api/v1/runs/{id}")).await {
                log::warn!("cancel {id}: {error:#}");
            }
        }
    })
}

/// Any signal that asks this process to end cancels its run.
async fn cancel_here(runner: Runner, accepted: Accepted) {
    daemon_signal().await;
    if runner.cancel(accepted.id, &user_name()).is_err() {
        log::warn!("run {} had ended already", accepted.id.short());
    }
}

async fn daemon_signal() {
    match crate::daemon::end_signal() {
        Ok(mut signal) => signal.wait().await,
        Err(error) => {
            log::warn!("{error:#}");
            std::future::pending().await
        }
    }
}

/// The last words: the whole record as JSON, or the next command.
async fn conclude(source: &Source, id: &str, common: &Common, exit: Exit) -> Result<Exit> {
    match common.output {
        Output::Json => text::print_json(&source.run(id).await?)?,
        Output::Jsonl => Exit::Done,
        Output::Text => {
            if let Some(table) = source.run(id).await?.run.comparison {
                text::print(&format!("\n{}\n", compare::table_in_words(&table)))?;
            }
            text::print(&format!("next      benchd show {}\n", &id[id.len().saturating_sub(8)..]))?
        }
    };
    Ok(exit)
}

fn refusal(suite: &str, refused: &Refused) -> anyhow::Error {
    match refused {
        Refused::Draining => Ended::because(Exit::Failed, "this process is stopping"),
        Refused::NoCase => {
            Ended::because(Exit::Wrong, "no case matches: benchd list cases shows their names")
        }
        Refused::Active(active) => {
            Ended::because(Exit::Busy, format!("{} {} is active", active.suite, active.id.short()))
        }
        Refused::Blocked(_, checks) => Ended::because(Exit::Blocked, guards::sentence(suite, checks)),
    }
}
