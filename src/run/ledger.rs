//! Which processes a run has, in files of the state directory that outlive a crash: each is written before its
//! process is given anything to do, and taken away when the process is known to be gone.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::process::ProcessId;
use crate::record::RunId;
use crate::target::{replace_file, unfinished};

/// The processes of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// One a run.
    Worker,
    /// One a case.
    Load,
}

impl Part {
    pub(super) const ALL: [Part; 2] = [Part::Load, Part::Worker];

    /// Its file in the state directory.
    fn file(self) -> &'static str {
        match self {
            Part::Worker => "worker.json",
            Part::Load => "load.json",
        }
    }
}

/// What is remembered of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) process: ProcessId,
    pub(super) run: RunId,
    /// Where it may start scratch servers: a target may be gone from the configuration when it is needed.
    #[serde(default)]
    pub(super) directories: BTreeSet<PathBuf>,
}

/// Remembers a process that was started and waits for its orders; false when it has ended already.
pub(super) fn remember(
    state: &Path,
    part: Part,
    pid: u32,
    run: RunId,
    directories: BTreeSet<PathBuf>,
) -> Result<bool> {
    let Some(process) = ProcessId::of(pid) else { return Ok(false) };
    let entry = Entry { process, run, directories };
    replace_file(&state.join(part.file()), &serde_json::to_string(&entry)?)?;
    Ok(true)
}

/// What is remembered; a file that cannot be understood is none of ours.
pub(super) fn read(state: &Path, part: Part) -> Option<Entry> {
    let text = fs::read_to_string(state.join(part.file())).ok()?;
    serde_json::from_str(&text).ok()
}

/// Forgets a process that is gone.
pub(super) fn forget(state: &Path, part: Part) -> Result<()> {
    remove(&state.join(part.file())).map(drop)
}

/// Removes what a crash cut short of a file in the state directory; says whether there was something.
pub(super) fn remove_cut_short(state: &Path, name: &str) -> Result<bool> {
    remove(&unfinished(&state.join(name)))
}

/// Removes the same of the files of processes.
pub(super) fn tidy(state: &Path) -> Result<bool> {
    Part::ALL.iter().try_fold(false, |found, part| Ok(remove_cut_short(state, part.file())? || found))
}

fn remove(path: &Path) -> Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("{} was not removed", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_remembered_until_it_is_forgotten() {
        let state = tempfile::tempdir().unwrap();
        let (path, run) = (state.path(), RunId::new());
        assert_eq!(read(path, Part::Load), None);
        assert!(remember(path, Part::Load, std::process::id(), run, BTreeSet::new()).unwrap());
        let entry = read(path, Part::Load).unwrap();
        assert!(entry.process.is_there() && entry.run == run);
        assert_eq!(read(path, Part::Worker), None);
        forget(path, Part::Load).unwrap();
        forget(path, Part::Load).unwrap();
        assert_eq!(read(path, Part::Load), None);
    }

    #[test]
    fn what_a_crash_left_of_a_file_is_no_entry_and_is_removed() {
        let state = tempfile::tempdir().unwrap();
        fs::write(state.path().join("load.json"), "{\"proc").unwrap();
        fs::write(state.path().join("load.json.new"), "{").unwrap();
        assert_eq!(read(state.path(), Part::Load), None);
        assert!(tidy(state.path()).unwrap());
        assert!(!tidy(state.path()).unwrap());
    }
}
