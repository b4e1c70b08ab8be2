//! What a person types: one file a command, and how each command ends.

mod cancel;
mod check;
mod client;
mod compare;
mod follow;
mod grants;
mod list;
mod local;
mod password;
mod plan;
mod remote;
mod run;
mod scrape_config;
mod scratch;
mod serve;
mod show;
mod source;
mod status;
mod store;
mod text;
mod unit;
mod user;
mod watch;
mod worker;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::{self, Loaded, Problem};
use crate::daemon;
use crate::exit::{Ended, Exit};

/// Benchmarks a MySQL or MariaDB host on a schedule, samples it all the time, keeps every result and exports
/// everything to Prometheus.
#[derive(Debug, Parser)]
#[command(name = "benchd", version, max_term_width = 100, disable_help_subcommand = true, after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes:
  0  done, and what was asked for is true
  1  the work failed: a case failed, the store is damaged
  2  the command line or the configuration is wrong; nothing was done
  3  blocked by a guard; nothing was loaded
  4  stopped on the way: aborted, cancelled or past its deadline; cleaned up
  5  another run is active
  6  worse, and --fail-on worse was asked for
  7  the daemon cannot be reached
  8  not permitted: role, group, file mode";

/// Options that every command understands.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Configuration file [default: /etc/benchd/benchd.toml and conf.d/*.toml beside it]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Socket of the daemon [default: the configuration's]
    #[arg(long, global = true, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Ask the daemon of another host: https://HOST:10104
    #[arg(long, global = true, value_name = "URL", conflicts_with = "socket")]
    url: Option<String>,
    /// User of that daemon; the password comes from the file $BENCHD_PASSWORD_FILE names, from netrc, or is asked for
    #[arg(long = "user", global = true, value_name = "NAME")]
    login: Option<String>,
    /// PEM file of the authorities, or the one certificate, to trust for --url [default: those the system trusts]
    #[arg(long, global = true, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// How answers are written
    #[arg(long, global = true, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// How answers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people; may change
    Text,
    /// One JSON object; may only grow
    Json,
    /// One JSON object a line as things happen
    Jsonl,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The daemon: samples, serves metrics and the API, runs suites when they are due or asked for
    Serve(serve::Serve),
    /// What the daemon does, its suites, and what would stop them now
    Status(status::Status),
    /// All problems of the configuration at once
    Check(check::Check),
    /// What a run of a suite would do, and the guards as they are now
    Plan(plan::Plan),
    /// Run a suite, or one workload ad hoc, and follow it
    Run(run::Run),
    /// Follow the active run, or the named one
    Watch(watch::Watch),
    /// End the active run, or the named one
    Cancel(cancel::Cancel),
    /// Runs, newest first; or the suites, the targets, the guards, the workloads
    List(list::List),
    /// A finished run, or one of its cases in full
    Show(show::Show),
    /// The cases of a run as a table, or two runs case by case
    Compare(compare::Compare),
    /// What benchd owns where, with sizes; and its removal
    Scratch(scratch::Scratch),
    /// The statements that let benchd into a server, for its administrator to run
    Grants(grants::Grants),
    /// The systemd drop-in this configuration needs, or that it needs none
    Unit(unit::Unit),
    /// The result store: its size, a copy of it, a look through all of it
    Store(store::Store),
    /// Users, roles and the certificate of the HTTP interface
    User(user::User),
    /// What a Prometheus needs to scrape this host
    ScrapeConfig(scrape_config::ScrapeConfig),
    /// Internal: one run, on standard input and output
    #[command(hide = true)]
    Worker(worker::Worker),
}

/// Executes what was typed.
///
/// # Errors
/// What did not happen, where, and what to do; [`exit_of`] tells the exit code.
pub fn execute(arguments: Arguments) -> Result<Exit> {
    let common = arguments.common;
    match arguments.command {
        Command::Serve(serve) => serve.execute(&common),
        Command::Status(status) => status.execute(&common),
        Command::Check(check) => check.execute(&common),
        Command::Plan(plan) => plan.execute(&common),
        Command::Run(run) => run.execute(&common),
        Command::Watch(watch) => watch.execute(&common),
        Command::Cancel(cancel) => cancel.execute(&common),
        Command::List(list) => list.execute(&common),
        Command::Show(show) => show.execute(&common),
        Command::Compare(compare) => compare.execute(&common),
        Command::Scratch(scratch) => scratch.execute(&common),
        Command::Grants(grants) => grants.execute(&common),
        Command::Unit(unit) => unit.execute(&common),
        Command::Store(store) => store.execute(&common),
        Command::User(user) => user.execute(&common),
        Command::ScrapeConfig(scrape_config) => scrape_config.execute(&common),
        Command::Worker(worker) => worker.execute(),
    }
}

impl Common {
    /// Reads the configuration.
    pub(crate) fn load(&self) -> Result<Loaded> {
        self.try_load().map_err(|problems| Ended::because(Exit::Wrong, in_words(&problems)))
    }

    fn try_load(&self) -> Result<Loaded, Vec<Problem>> {
        daemon::load(self.config.as_deref())
    }

    /// The daemon's socket: the one given, else the configuration's. A configuration with problems does not keep
    /// a person from asking the daemon that runs with an older one.
    fn socket(&self) -> Option<PathBuf> {
        self.socket.clone().or_else(|| match self.try_load() {
            Ok(loaded) => loaded.config.server.socket,
            Err(_) => config::Server::default().socket,
        })
    }
}

/// Problems as a person reads them.
pub(crate) fn in_words(problems: &[Problem]) -> String {
    let each: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let plural = if problems.len() == 1 { "problem" } else { "problems" };
    format!("{} {plural} in the configuration\n\n{}", problems.len(), each.join("\n"))
}

/// A runtime for a command that speaks to the daemon.
fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("start the event loop")
}
