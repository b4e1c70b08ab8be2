//! `disk_space`: what a scratch server will write fits, with room to spare.

use std::path::Path;

use super::{Found, Guard, Situation};
use crate::config::Target;
use crate::units::Bytes;

pub(super) const GUARD: Guard = Guard {
    name: "disk_space",
    about: "the planned bytes times 1.5 and 1 GiB more are free where a scratch server writes",
    check,
};

/// Planned bytes are multiplied by this: indexes split, redo and undo grow.
const RESERVE: f64 = 1.5;
/// What must stay free beside it.
const MARGIN: Bytes = Bytes::from_mib(1024);
/// Files of an empty server: system tablespace, redo log, system tables.
const EMPTY_SERVER: Bytes = Bytes::from_mib(256);

fn check(situation: &Situation<'_>) -> Found {
    let mut found = Found::NotConcerned;
    for (name, target) in situation.targets {
        let concerned = situation.plan.cases.iter().any(|plan| plan.case.target.as_ref() == Some(name));
        let Target::Scratch(scratch) = target else { continue };
        if concerned {
            found = check_directory(situation, name, &scratch.directory);
            if matches!(found, Found::Violated { .. }) {
                return found;
            }
        }
    }
    found
}

fn check_directory(situation: &Situation<'_>, name: &str, directory: &Path) -> Found {
    let planned = situation.plan.bytes(name) + EMPTY_SERVER.get();
    let needed = (planned as f64 * RESERVE) as u64 + MARGIN.get();
    let limit = format!("{} free", in_mib(needed));
    match free(directory) {
        Ok(free) if free >= needed => {
            Found::Holds { measured: format!("{} free on {}", in_mib(free), directory.display()), limit }
        }
        Ok(free) => Found::Violated {
            measured: format!("{} free on {}", in_mib(free), directory.display()),
            limit,
            advice: format!(
                "make room, set [target.{name}] directory to a larger disk, or use smaller tables"
            ),
        },
        Err(error) => Found::Violated {
            measured: format!("{} cannot be asked: {error}", directory.display()),
            limit,
            advice: format!("check that the directory of target {name} exists and may be read"),
        },
    }
}

fn in_mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// Free bytes for ordinary users on the filesystem that holds, or will hold, a directory.
fn free(directory: &Path) -> nix::Result<u64> {
    let existing = directory.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let facts = nix::sys::statvfs::statvfs(existing)?;
    Ok(facts.blocks_available() * facts.fragment_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_of_a_directory_that_is_not_made_yet_is_its_ancestors() {
        let directory = tempfile::tempdir().unwrap();
        let there = free(directory.path()).unwrap();
        let later = free(&directory.path().join("a/b")).unwrap();
        assert!(there.abs_diff(later) < 1 << 30);
        assert!(there > 0);
    }
}
