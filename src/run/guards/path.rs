//! `path`: files of a load are made only in a plain directory on a disk of this host that is no server's.

use super::{Found, Guard, Situation};
use crate::config::Target;
use crate::run::in_time::{in_time, silent};
use crate::target::look_at;

pub(super) const GUARD: Guard = Guard {
    name: "path",
    about: "a directory target is a directory: no device, link, network filesystem or data directory of a server",
    check,
};

const LIMIT: &str = "a directory of its own on a disk of this host";

fn check(situation: &Situation<'_>) -> Found {
    let mut found = Found::NotConcerned;
    for (name, target) in situation.targets {
        let concerned = situation.plan.cases.iter().any(|plan| plan.case.target.as_ref() == Some(name));
        let Target::Directory(directory) = target else { continue };
        if !concerned {
            continue;
        }
        let allow_network = directory.allow_network;
        let Some(looked) = in_time(&directory.path, move |path| look_at(path, allow_network)) else {
            let (measured, advice) = silent(&directory.path);
            return Found::Violated { measured, limit: LIMIT.to_owned(), advice };
        };
        // A worker apart from this process looks again, from where it may write.
        if let Some(unfit) = looked.err().filter(|unfit| !(unfit.read_only && situation.apart)) {
            let advice = format!("[target.{name}] path: {}", unfit.advice);
            return Found::Violated { measured: unfit.found, limit: LIMIT.to_owned(), advice };
        }
        found = Found::Holds { measured: directory.path.display().to_string(), limit: LIMIT.to_owned() };
    }
    found
}
