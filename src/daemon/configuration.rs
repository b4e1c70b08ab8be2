//! The configuration in force, and how it is replaced by a newer one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use jiff::Timestamp;
use tokio::sync::watch;

use super::scheduler::check_schedules;
use super::settings::sampler_settings;
use crate::config::{self, Config, Filter, Loaded, LogLevel, MAIN_FILE, Problem};
use crate::export::Reload;
use crate::http::{WebSummary, check_web};
use crate::journal;
use crate::sample::{DeviceFilter, Sampler};
use crate::workloads::Workloads;

/// Small files of one's own, read after the main one.
const FOLDER: &str = "/etc/benchd/conf.d";

/// Reads a configuration, the default one when no file is named, and checks all of it.
///
/// # Errors
/// Every problem at once.
pub fn load(file: Option<&Path>) -> Result<Loaded, Vec<Problem>> {
    let folder = file.is_none().then_some(Path::new(FOLDER));
    let mut loaded = config::load(file.unwrap_or(Path::new(MAIN_FILE)), folder, &Workloads, cpus())?;
    let mut problems = check_schedules(&loaded);
    problems.extend(check_filters(&loaded));
    match check_web(&loaded.config) {
        Ok(web) => {
            let notes = notes_on_access(&loaded, &web);
            loaded.notes.extend(web.notes.into_iter().chain(notes));
        }
        Err(more) => problems.extend(more),
    }
    if problems.is_empty() { Ok(loaded) } else { Err(problems) }
}

/// What configuration and web configuration together mean for other hosts, and names in the one that the other does
/// not know.
fn notes_on_access(loaded: &Loaded, web: &WebSummary) -> Vec<Problem> {
    let server = &loaded.config.server;
    let is_open = server.listen.iter().any(|listen| !listen.is_loopback());
    let mut notes = Vec::new();
    let mut note = |key: &str, problem: String, hint: &str| {
        notes.push(loaded.sources.problem(key, problem, hint));
    };
    if is_open && !web.has_logins() {
        let problem =
            "no users are configured: other hosts get /metrics, /-/healthy and /-/ready, nothing else";
        note("server.listen", problem.to_owned(), "for the API too: benchd user add");
    }
    if is_open && web.has_logins() && !web.tls {
        let problem =
            "users are configured and TLS is not: other hosts get /-/healthy and /-/ready, nothing else";
        note("server.listen", problem.to_owned(), "give it a certificate: benchd user tls --self-signed");
    }
    for name in server.roles.keys() {
        let key = format!("server.roles.{name}");
        if name.starts_with("san:") && !web.verifies {
            let problem = format!("`{name}` is in vain: no certificates of clients are verified");
            note(&key, problem, "set client_auth_type and client_ca_file in the web configuration");
        } else if !name.starts_with("san:") && !web.users.contains(name) {
            let problem = format!("there is no user `{name}` in the web configuration");
            note(&key, problem, "remove the line, or add the user: benchd user add");
        }
    }
    notes
}

/// CPUs this process may use.
pub(crate) fn cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX))
}

fn check_filters(loaded: &Loaded) -> Vec<Problem> {
    let sample = &loaded.config.sample;
    let filters = [("disks", &sample.disks), ("network", &sample.network)];
    let problem = |(key, filter): (&str, &Filter)| {
        let wrong = DeviceFilter::new(&filter.include, &filter.exclude).err()?;
        Some(loaded.sources.problem(
            &format!("sample.{key}"),
            wrong,
            "write a regular expression for device names",
        ))
    };
    filters.into_iter().filter_map(problem).collect()
}

/// The level of the journal.
pub(super) fn level(config: &Config) -> log::LevelFilter {
    match config.server.log_level {
        LogLevel::Error => log::LevelFilter::Error,
        LogLevel::Warning => log::LevelFilter::Warn,
        LogLevel::Info => log::LevelFilter::Info,
        LogLevel::Debug => log::LevelFilter::Debug,
    }
}

/// The configuration in force.
pub(super) struct Configuration {
    file: Option<PathBuf>,
    in_force: watch::Sender<Arc<Config>>,
    reloaded: watch::Sender<Reload>,
}

impl Configuration {
    pub(super) fn new(file: Option<PathBuf>, config: Config) -> Configuration {
        let (in_force, _) = watch::channel(Arc::new(config));
        let (reloaded, _) = watch::channel(Reload { successful: true, accepted: Timestamp::now() });
        Configuration { file, in_force, reloaded }
    }

    /// The configuration in force.
    pub(super) fn in_force(&self) -> Arc<Config> {
        Arc::clone(&self.in_force.borrow())
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Arc<Config>> {
        self.in_force.subscribe()
    }

    /// Whether the last reload was accepted, and since when the one in force is.
    pub(super) fn reloaded(&self) -> watch::Receiver<Reload> {
        self.reloaded.subscribe()
    }

    /// Reads the files again. A configuration with problems changes nothing.
    ///
    /// # Errors
    /// Every problem at once.
    pub(super) fn reload(&self, sampler: &Sampler) -> Result<(), Vec<Problem>> {
        match load(self.file.as_deref()) {
            Ok(loaded) => {
                self.accept(loaded, sampler);
                Ok(())
            }
            Err(problems) => {
                self.refuse(&problems);
                Err(problems)
            }
        }
    }

    fn refuse(&self, problems: &[Problem]) {
        self.reloaded.send_modify(|reload| reload.successful = false);
        let since = self.reloaded.borrow().accepted;
        let each: Vec<String> = problems.iter().map(ToString::to_string).collect();
        log::error!(
            "configuration not changed: {} problems (benchd check); running since {since} with the one before\n{}",
            problems.len(),
            each.join("\n")
        );
    }

    fn accept(&self, loaded: Loaded, sampler: &Sampler) {
        for note in &loaded.notes {
            log::warn!("{note}");
        }
        for key in needs_restart(&self.in_force.borrow(), &loaded.config) {
            log::warn!("{key} takes effect with the next start of the daemon");
        }
        journal::set_level(level(&loaded.config));
        match sampler_settings(&loaded.config) {
            Ok(settings) => sampler.configure(settings),
            Err(error) => log::error!("sampler not changed: {error:#}"),
        }
        self.reloaded.send_replace(Reload { successful: true, accepted: Timestamp::now() });
        self.in_force.send_replace(Arc::new(loaded.config));
        log::info!("configuration read again and in force");
    }
}

/// Keys whose new value a running process cannot take over.
fn needs_restart(old: &Config, new: &Config) -> Vec<&'static str> {
    let changed =
        [("server.log_to", old.server.log_to != new.server.log_to), ("store", old.store != new.store)];
    changed.into_iter().filter(|(_, changed)| *changed).map(|(key, _)| key).collect()
}
