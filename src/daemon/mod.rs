//! Joins the parts into one process: starts them in order, reloads, and ends them in order.

mod configuration;
mod manager;
mod parts;
mod run_now;
mod scheduler;
mod series;
mod settings;
mod signals;
mod watchdog;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use jiff::Timestamp;
use sd_notify::NotifyState;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::config::{Config, Loaded, LogTo};
use crate::exit::Exit;
use crate::export::Build;
use crate::http::{NextRuns, ReloadRequest, Server, Services, SocketOptions};
use crate::inventory::{self, Filesystems, Hardware, HostFacts};
use crate::journal::{self, Sink};
use crate::observe::{Observer, Owner};
use crate::run::Runner;
use crate::sample::Sampler;
use crate::store::Store;
use crate::text::counted;

use configuration::Configuration;
use scheduler::Scheduler;

pub(crate) use configuration::cpus;
pub use configuration::load;
pub(crate) use parts::{open_store, runner, start_sampler};
use parts::{owner, start_observer};
pub use scheduler::check_schedules;
pub use series::series;
pub(crate) use settings::state_directory;
pub use signals::{EndSignal, end_signal};

/// The active run may take so long to clean up after the daemon was asked to end.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);
/// Requests under way may take so long at the end.
const HTTP_LIMIT: Duration = Duration::from_secs(3);
/// Results that the store could not write yet may take so long at the end.
const FLUSH_LIMIT: Duration = Duration::from_secs(10);
/// Taking leave of the servers that are observed may take so long at the end.
const LEAVE_LIMIT: Duration = Duration::from_millis(500);
/// Reload requests that may wait.
const WAITING_RELOADS: usize = 8;
/// From one reading of the facts of disks and network cards to the next.
const HARDWARE_INTERVAL: Duration = Duration::from_secs(300);

/// What `serve` was asked beside its configuration.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// The configuration's file, for reloads.
    pub file: Option<PathBuf>,
    /// A suite to run once as soon as everything is ready.
    pub run_now: Option<String>,
}

/// Everything that lives as long as the daemon.
struct Daemon {
    began: Instant,
    configuration: Configuration,
    store: Store,
    sampler: Arc<Sampler>,
    filesystems: Arc<Mutex<Filesystems>>,
    observer: Arc<Observer>,
    owner: Owner,
    runner: Runner,
    server: Server,
    next_runs: NextRuns,
    reloads: mpsc::Receiver<ReloadRequest>,
    ready: watch::Sender<Result<(), String>>,
    /// Asks the scheduler whether it is alive.
    pulse: watchdog::Pulse,
    working: JoinHandle<()>,
}

/// Runs the daemon until it is asked to end.
///
/// # Errors
/// What keeps it from starting: each says what and how to mend it. Once it is ready it lives on where it can.
pub fn serve(loaded: Loaded, options: ServeOptions) -> Result<Exit> {
    let began = Instant::now();
    let sink = match loaded.config.server.log_to {
        LogTo::Auto => Sink::Auto,
        LogTo::Journal => Sink::Journal,
        LogTo::Stderr => Sink::Stderr,
    };
    journal::start(sink, configuration::level(&loaded.config))?;
    for note in &loaded.notes {
        log::warn!("{note}");
    }
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("start the event loop")?;
    let ended = runtime.block_on(async {
        let daemon = Daemon::start(began, loaded.config, &options).await?;
        daemon.work(options.run_now).await
    });
    // What the kernel holds is not waited for.
    runtime.shutdown_background();
    ended
}

impl Daemon {
    async fn start(began: Instant, config: Config, options: &ServeOptions) -> Result<Daemon> {
        let store = open_store(&config.store.path, &config)?;
        tell_of_recovered(&store);
        let sampler = start_sampler(&config)?;
        let facts = HostFacts::read();
        let owner = owner(&config.store.path, &store, &facts);
        let observer = start_observer(&config, owner.clone())?;
        let runner =
            runner(&config.store.path, store.clone(), Arc::clone(&sampler), Arc::clone(&observer), &facts);
        let last_seen = last_seen(&store)?;
        let (ready, is_ready) = watch::channel(Err("starting".to_owned()));
        let (reload, reloads) = mpsc::channel(WAITING_RELOADS);
        let configuration = Configuration::new(options.file.clone(), config.clone());
        let next_runs = NextRuns::default();
        let filesystems = Arc::new(Mutex::new(start_filesystems(&config)?));
        let services = Services {
            build: build(),
            host: facts.name(),
            started: Timestamp::now(),
            config: configuration.subscribe(),
            reload,
            reloaded: configuration.reloaded(),
            ready: is_ready,
            runner: runner.clone(),
            store: store.clone(),
            sampler: Arc::clone(&sampler),
            observer: Arc::clone(&observer),
            filesystems: Arc::clone(&filesystems),
            hardware: watch_hardware(),
            next_runs: Arc::clone(&next_runs),
            facts: Arc::new(facts.to_map()),
        };
        let mut server = Server::start(services).await?;
        server.listen(&config.server.listen, socket_options(&config).as_ref()).await?;
        manager::patiently(runner.recover(&config.targets)).await;
        let machine = inventory::machine_id();
        let planned = Arc::clone(&next_runs);
        let (scheduler, pulse) =
            Scheduler::start(runner.clone(), configuration.subscribe(), machine, planned, &last_seen).await?;
        tokio::spawn(scheduler.work());
        let working = tokio::spawn(runner.clone().work());
        Ok(Daemon {
            began,
            configuration,
            store,
            sampler,
            filesystems,
            observer,
            owner,
            runner,
            server,
            next_runs,
            reloads,
            ready,
            pulse,
            working,
        })
    }

    /// Answers signals and reload requests until the daemon is asked to end.
    async fn work(mut self, run_now: Option<String>) -> Result<Exit> {
        let mut end = end_signal()?;
        let mut hangup = signals::reload_signal()?;
        self.announce();
        if let Some(suite) = run_now {
            let config = self.configuration.in_force();
            run_now::start(&self.runner, &config, &suite, &self.server.addresses()).await?;
        }
        loop {
            tokio::select! {
                () = end.wait() => break,
                _ = hangup.recv() => {
                    // What is wrong with it is in the journal and in a metric.
                    let _ = self.reload().await;
                }
                request = self.reloads.recv() => if let Some(answer) = request {
                    let reloaded = self.reload().await;
                    // Who asked may have gone away.
                    let _ = answer.send(reloaded);
                },
            }
        }
        self.end(end).await
    }

    fn announce(&self) {
        self.ready.send_modify(|ready| *ready = Ok(()));
        manager::tell(&[NotifyState::Ready]);
        tokio::spawn(manager::show(self.runner.clone(), Arc::clone(&self.next_runs)));
        tokio::spawn(watchdog::feed(self.vital_parts()));
        let config = self.configuration.in_force();
        let next = manager::next_run(&self.next_runs);
        let places: Vec<String> = self.server.addresses().iter().map(ToString::to_string).collect();
        let socket = config.server.socket.as_ref().map(|socket| format!(", {}", socket.display()));
        log::info!(
            "benchd {} ready in {} ms: {}{}; {}, {next}",
            crate::VERSION,
            self.began.elapsed().as_millis(),
            places.join(", "),
            socket.unwrap_or_default(),
            counted(config.suites.len() as u64, "suite"),
        );
    }

    /// What must answer for the daemon to be alive.
    fn vital_parts(&self) -> watchdog::Parts {
        watchdog::Parts {
            sampler: Arc::clone(&self.sampler),
            store: self.store.clone(),
            http: self.server.probe(),
            scheduler: self.pulse.clone(),
            runner: self.working.abort_handle(),
        }
    }

    /// Reads the configuration again and has it take effect; the service manager is told when that is over, either
    /// way.
    async fn reload(&mut self) -> Result<(), Vec<crate::config::Problem>> {
        manager::reloading();
        let reloaded = self.take_over().await;
        manager::tell(&[NotifyState::Ready]);
        reloaded
    }

    async fn take_over(&mut self) -> Result<(), Vec<crate::config::Problem>> {
        let before = self.configuration.in_force();
        self.configuration.reload(&self.sampler)?;
        let after = self.configuration.in_force();
        self.server.read_web_again().await;
        let (old, new) = (&before.server, &after.server);
        if (&old.listen, &old.socket, &old.socket_group) != (&new.listen, &new.socket, &new.socket_group)
            && let Err(error) = self.server.listen(&new.listen, socket_options(&after).as_ref()).await
        {
            log::error!("listening where it did before: {error:#}");
        }
        let observed = settings::observer_settings(&after, self.owner.clone());
        if let Err(error) = self.observer.configure(&observed) {
            log::error!("not every server is observed: {error:#}");
        }
        let mut filesystems = self.filesystems.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) =
            filesystems.configure(&settings::filesystems(&after), after.sample.filesystem_interval)
        {
            log::error!("filesystems watched as before: {error:#}");
        }
        Ok(())
    }

    /// Ends what runs, answers what was asked, writes what was found out. A second signal ends the waiting.
    async fn end(self, again: EndSignal) -> Result<Exit> {
        let status = if self.runner.active().is_some() { "ending the active run" } else { "ending" };
        manager::tell(&[NotifyState::Stopping, NotifyState::Status(status)]);
        log::info!("{status}");
        manager::patiently(self.finish(again)).await
    }

    async fn finish(self, mut again: EndSignal) -> Result<Exit> {
        self.ready.send_modify(|ready| *ready = Err("the daemon is ending".to_owned()));
        self.runner.drain();
        tokio::select! {
            ended = tokio::time::timeout(DRAIN_LIMIT, self.working) => if ended.is_err() {
                log::error!("the active run did not end within {} s; it is left to end by itself", DRAIN_LIMIT.as_secs());
            },
            () = again.wait() => log::warn!("asked to end again: not waiting for the active run"),
        }
        if !self.server.stop(HTTP_LIMIT).await {
            log::warn!("some requests did not end within {} s", HTTP_LIMIT.as_secs());
        }
        let (store, observer) = (self.store.clone(), self.observer);
        // A server that hangs is not waited for.
        let _ = tokio::task::spawn_blocking(move || observer.stop(LEAVE_LIMIT)).await;
        let written = tokio::task::spawn_blocking(move || store.flush(FLUSH_LIMIT)).await.unwrap_or(false);
        if !written {
            log::error!(
                "results could not be written within {} s and are lost: {:?}",
                FLUSH_LIMIT.as_secs(),
                self.store.status().alarm
            );
            return Ok(Exit::Failed);
        }
        log::info!("ended");
        Ok(Exit::Done)
    }
}

/// Says what an earlier process left without an end.
fn tell_of_recovered(store: &Store) {
    match store.recovered() {
        0 => {}
        runs => {
            let runs = counted(runs as u64, "run");
            log::warn!("{runs} of an earlier process without an end: marked aborted");
        }
    }
}

fn build() -> Build {
    Build {
        version: crate::VERSION.to_owned(),
        revision: env!("BENCHD_REVISION").to_owned(),
        rustc: env!("BENCHD_RUSTC").to_owned(),
    }
}

/// When each suite's last run began: starts since then were missed while the daemon was down.
fn last_seen(store: &Store) -> Result<BTreeMap<String, Timestamp>> {
    let runs = store.reader()?.last_runs()?;
    Ok(runs.into_iter().map(|run| (run.suite, run.start)).collect())
}

fn start_filesystems(config: &Config) -> Result<Filesystems> {
    Filesystems::start(&settings::filesystems(config), config.sample.filesystem_interval)
}

/// Reads the facts of devices again and again, away from the thread that serves; the first time at once.
fn watch_hardware() -> watch::Receiver<Arc<Hardware>> {
    let (known, hardware) = watch::channel(Arc::default());
    tokio::spawn(async move {
        while !known.is_closed() {
            if let Ok(read) = tokio::task::spawn_blocking(Hardware::read).await {
                known.send_replace(Arc::new(read));
            }
            tokio::time::sleep(HARDWARE_INTERVAL).await;
        }
    });
    hardware
}

/// As a service the socket is for a group; in the foreground it is its user's alone.
fn socket_options(config: &Config) -> Option<SocketOptions> {
    let path = config.server.socket.clone()?;
    let as_service = std::env::var_os("NOTIFY_SOCKET").is_some();
    let group = config.server.socket_group.clone().filter(|_| as_service);
    let mode = if group.is_some() { 0o660 } else { 0o600 };
    Some(SocketOptions { path, mode, group })
}
