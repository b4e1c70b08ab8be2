//! `disk_space`: what a scratch server or a load on files will write fits, with room to spare.

use std::path::Path;

use super::{Found, Guard, Situation};
use crate::config::{DirectoryTarget, Target};
use crate::run::in_time::{in_time, silent};
use crate::target::free_bytes;
use crate::units::Bytes;

pub(super) const GUARD: Guard = Guard {
    name: "disk_space",
    about: "the planned bytes times 1.5 and 1 GiB more are free where a scratch server or a load on files writes",
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
        if !concerned {
            continue;
        }
        let planned = situation.plan.bytes(name);
        found = match target {
            Target::Server(_) => continue,
            Target::Scratch(scratch) => {
                check_directory(name, planned + EMPTY_SERVER.get(), &scratch.directory, "directory")
            }
            Target::Directory(directory) if planned > directory.max_size.get() => {
                too_large(name, planned, directory)
            }
            Target::Directory(directory) => check_directory(name, planned, &directory.path, "path"),
        };
        if matches!(found, Found::Violated { .. }) {
            return found;
        }
    }
    found
}

fn too_large(name: &str, planned: u64, directory: &DirectoryTarget) -> Found {
    Found::Violated {
        measured: format!("{} planned in {}", in_mib(planned), directory.path.display()),
        limit: format!("max_size {}", directory.max_size),
        advice: format!("give a smaller `total`, or set [target.{name}] max_size"),
    }
}

fn check_directory(name: &str, planned: u64, directory: &Path, key: &str) -> Found {
    let needed = (planned as f64 * RESERVE) as u64 + MARGIN.get();
    let limit = format!("{} free", in_mib(needed));
    match in_time(directory, free_bytes) {
        Some(Ok(free)) if free >= needed => {
            Found::Holds { measured: format!("{} free on {}", in_mib(free), directory.display()), limit }
        }
        Some(Ok(free)) => Found::Violated {
            measured: format!("{} free on {}", in_mib(free), directory.display()),
            limit,
            advice: format!(
                "make room, set [target.{name}] {key} to a larger disk, or use smaller tables or files"
            ),
        },
        Some(Err(error)) => Found::Violated {
            measured: format!("{} cannot be asked: {error}", directory.display()),
            limit,
            advice: format!("check that the directory of target {name} exists and may be read"),
        },
        None => {
            let (measured, advice) = silent(directory);
            Found::Violated { measured, limit, advice }
        }
    }
}

fn in_mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}
