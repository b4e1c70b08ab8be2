//! What an earlier run left is ended and removed: processes known by id and start time, scratch servers proved to be
//! benchd's own, files cut short. Doing it twice does nothing more.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use uuid::Uuid;

use super::ledger::{self, Part};
use super::stuck::Doing;
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

/// How often a process that does not end is looked at.
const LOOK: Span = Span::from_secs(1);

/// What recovery works on.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    state: PathBuf,
    identity: Uuid,
    /// Directories of scratch servers.
    directories: BTreeSet<PathBuf>,
    /// Targets whose data does not stay.
    not_kept: BTreeSet<String>,
}

impl Ground {
    pub(super) fn new(state: &Path, identity: Uuid, targets: &BTreeMap<String, Target>) -> Ground {
        let scratch = || targets.iter().filter_map(|(name, target)| Some((name, target.scratch()?)));
        Ground {
            state: state.to_owned(),
            identity,
            directories: scratch().map(|(_, scratch)| scratch.directory.clone()).collect(),
            not_kept: scratch()
                .filter(|(_, scratch)| !scratch.keep_data)
                .map(|(name, _)| name.clone())
                .collect(),
        }
    }

    /// Ends and removes everything. Only while no worker is at work.
    pub(super) fn clear(&self, doing: &Doing) -> Vec<LeftOver> {
        let mut found = Vec::new();
        let mut directories = self.directories.clone();
        for part in Part::ALL {
            directories.extend(self.end_process(part, doing, &mut found));
        }
        for directory in directories {
            self.clear_servers(&directory, doing, &mut found);
        }
        doing.set(format!("remove files cut short in {}", self.state.display()));
        if let Err(error) = self.clear_files(&mut found) {
            log::error!("files left over: {error:#}");
        }
        found
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
        if let Err(error) = ledger::forget(&self.state, part) {
            log::error!("{error:#}");
        }
        entry.directories
    }

    fn clear_servers(&self, directory: &Path, doing: &Doing, found: &mut Vec<LeftOver>) {
        doing.set(format!("end scratch servers left in {}", directory.display()));
        match target::recover(directory, self.identity, &|name| !self.not_kept.contains(name)) {
            Ok(left) => {
                for name in &left.servers {
                    log::warn!(
                        "a scratch server of target {name} still ran without its worker; it was ended"
                    );
                }
                found.extend(left.servers.iter().map(|_| LeftOver::Server));
                found.extend(left.files.iter().map(|_| LeftOver::File));
            }
            Err(error) => log::error!("left-over scratch servers: {error:#}"),
        }
    }

    fn clear_files(&self, found: &mut Vec<LeftOver>) -> Result<()> {
        let of_processes = ledger::tidy(&self.state)?;
        let of_schemas = ledger::remove_cut_short(&self.state, LEDGER)?;
        found.extend((of_processes || of_schemas).then_some(LeftOver::File));
        Ok(())
    }
}
