//! What an earlier run left is ended and removed: processes known by id and start time, scratch servers proved to be
//! benchd's own, files cut short. Doing it twice does nothing more.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::in_time::in_time;
use super::launch::Launcher;
use super::ledger::{self, Part};
use super::protocol::ClearRequest;
use super::stuck::{Doing, in_thread};
use super::supervise;
use super::targets::LEDGER;
use crate::config::Target;
use crate::process::Waited;
use crate::record::words;
use crate::target;
use crate::units::Span;

words! {
    /// A kind of thing that a crash leaves behind.
    LeftOver {
        /// A worker or load process.
        Worker = "worker",
        /// A scratch server.
        Server = "server",
        /// A half-loaded table, or a connection, in benchd's schema on a server.
        Schema = "schema",
        /// A file or directory.
        File = "file",
        /// A run without an end.
        Run = "run",
    }
}

/// Bytes that scratch servers of this daemon hold in their directories, by target; of those that hold any.
pub fn scratch_bytes(targets: &BTreeMap<String, Target>, daemon: Uuid) -> BTreeMap<String, u64> {
    let homes = |target: &Target| {
        in_time(&target.scratch()?.directory, move |directory| target::scratch_homes(directory, daemon))?.ok()
    };
    let mut found = BTreeMap::new();
    for (name, target) in targets {
        let own = homes(target).into_iter().flatten().filter(|home| home.target == *name && home.bytes > 0);
        found.extend(own.map(|home| (home.target, home.bytes)));
    }
    found
}

/// How often a process that does not end is looked at.
const LOOK: Span = Span::from_secs(1);

/// What recovery works on.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    state: PathBuf,
    servers: ClearRequest,
}

impl Ground {
    pub(super) fn new(state: &Path, identity: Uuid, targets: &BTreeMap<String, Target>) -> Ground {
        let scratch = || targets.iter().filter_map(|(name, target)| Some((name, target.scratch()?)));
        let servers = ClearRequest {
            identity,
            directories: scratch().map(|(_, scratch)| scratch.directory.clone()).collect(),
            not_kept: scratch()
                .filter(|(_, scratch)| !scratch.keep_data)
                .map(|(name, _)| name.clone())
                .collect(),
        };
        Ground { state: state.to_owned(), servers }
    }

    /// Ends and removes everything. Only while no worker is at work.
    pub(super) async fn clear(mut self, launcher: &dyn Launcher, doing: Doing) -> Vec<LeftOver> {
        let (ground, now) = (self.clone(), doing.clone());
        let ended = in_thread(move || ground.end_processes(&now)).await;
        let (mut found, directories) = ended.unwrap_or_default();
        self.servers.directories.extend(directories);
        let servers = self.servers.clone();
        let listed: Vec<String> = servers.directories.iter().map(|path| path.display().to_string()).collect();
        doing.set(format!("end scratch servers left in {}", listed.join(", ")));
        found.extend(if launcher.apart() {
            by_worker(launcher, servers).await
        } else {
            in_thread(move || servers.clear_all()).await.unwrap_or_default()
        });
        doing.set(format!("remove files cut short in {}", self.state.display()));
        found.extend(in_thread(move || self.clear_files()).await.unwrap_or_default());
        found
    }

    fn end_processes(&self, doing: &Doing) -> (Vec<LeftOver>, BTreeSet<PathBuf>) {
        let mut found = Vec::new();
        let directories = Part::ALL.into_iter().flat_map(|part| self.end_process(part, doing, &mut found));
        let directories = directories.collect();
        (found, directories)
    }

    /// Ends the load process of a run that is over, if it did not end by itself.
    pub(super) fn clear_load(&self, doing: &Doing) -> Vec<LeftOver> {
        let mut found = Vec::new();
        self.end_process(Part::Load, doing, &mut found);
        doing.set(format!("remove what is remembered of the run in {}", self.state.display()));
        if let Err(error) = ledger::forget(&self.state, Part::Worker) {
            log::error!("{error:#}");
        }
        found
    }

    /// Kills a remembered process and waits for as long as it takes: a process stuck in the kernel ends when the
    /// kernel lets it. Gives the directories where it may have started servers.
    fn end_process(&self, part: Part, doing: &Doing, found: &mut Vec<LeftOver>) -> BTreeSet<PathBuf> {
        doing.set(format!("read what is remembered in {}", self.state.display()));
        let Some(entry) = ledger::read(&self.state, part) else { return BTreeSet::new() };
        let (pid, run) = (entry.process.pid(), entry.run.short());
        if entry.process.is_there() {
            doing.set(format!(
                "process {pid} of run {run} was killed and is still there, stuck in the kernel"
            ));
            match part {
                Part::Worker => entry.process.kill_group(),
                Part::Load => entry.process.kill(),
            }
            while entry.process.wait_until_gone(LOOK) == Waited::Late {}
            log::warn!("process {pid} of run {run} outlived the one that started it; it was ended");
            found.push(LeftOver::Worker);
        }
        if part == Part::Worker {
            entry.process.kill_own_in_group();
        }
        if let Err(error) = ledger::forget(&self.state, part) {
            log::error!("{error:#}");
        }
        entry.directories
    }

    fn clear_files(&self) -> Vec<LeftOver> {
        let removed = ledger::tidy(&self.state)
            .and_then(|processes| Ok(processes | ledger::remove_cut_short(&self.state, LEDGER)?));
        match removed {
            Ok(true) => vec![LeftOver::File],
            Ok(false) => Vec::new(),
            Err(error) => {
                log::error!("files left over: {error:#}");
                Vec::new()
            }
        }
    }
}

impl ClearRequest {
    /// Ends and removes what is left, and tells each thing that was found.
    pub(super) fn clear(&self, told: &mut dyn FnMut(LeftOver)) {
        for directory in &self.directories {
            match target::recover(directory, self.identity, &|name| self.keeps(name)) {
                Ok(left) => {
                    for name in &left.servers {
                        log::warn!(
                            "a scratch server of target {name} still ran without its worker; it was ended"
                        );
                        told(LeftOver::Server);
                    }
                    left.files.iter().for_each(|_| told(LeftOver::File));
                }
                Err(error) => log::error!("left-over scratch servers: {error:#}"),
            }
        }
    }

    fn clear_all(&self) -> Vec<LeftOver> {
        let mut found = Vec::new();
        self.clear(&mut |kind| found.push(kind));
        found
    }

    fn is_needed(&self) -> bool {
        let untidy = |directory: &PathBuf| {
            // What cannot be read here is left to a worker to say.
            target::is_untidy(directory, self.identity, &|name| self.keeps(name)).unwrap_or(true)
        };
        self.directories.iter().any(untidy)
    }

    fn keeps(&self, target: &str) -> bool {
        !self.not_kept.contains(target)
    }
}

/// Has a worker clear what this process may not write to, if there is anything.
async fn by_worker(launcher: &dyn Launcher, request: ClearRequest) -> Vec<LeftOver> {
    let asked = request.clone();
    if !in_thread(move || asked.is_needed()).await.unwrap_or(true) {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let Err(error) = supervise::clear(launcher, request, &mut found).await {
        log::error!("what earlier runs left is not cleared: {error:#}");
    }
    found
}
