//! `path`: files of a load are made only in a plain directory on a disk of this host that is no server's.

use super::{Found, Guard, Situation, Writer};
use crate::config::Target;
use crate::run::in_time::{in_time, silent};
use crate::target::{Barrier, look_at};

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
        let mut measured = directory.path.display().to_string();
        match looked {
            Ok(()) => {}
            // The worker looks again, from where it may write.
            Err(unfit) if is_open_to(situation.writer, unfit.barrier) => {
                measured.push_str(", if benchd may write there");
            }
            Err(unfit) => {
                let advice = format!("[target.{name}] path: {}", unfit.advice);
                return Found::Violated { measured: unfit.found, limit: LIMIT.to_owned(), advice };
            }
        }
        found = Found::Holds { measured, limit: LIMIT.to_owned() };
    }
    found
}

/// Whether what is in the way of this process may not be in the way of who will write.
fn is_open_to(writer: Writer, barrier: Option<Barrier>) -> bool {
    match writer {
        Writer::Same => false,
        Writer::Apart => barrier == Some(Barrier::Mount),
        Writer::Other => barrier.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_this_process_out_may_not_keep_out_who_will_write() {
        for (writer, mount, mode) in
            [(Writer::Same, false, false), (Writer::Apart, true, false), (Writer::Other, true, true)]
        {
            assert_eq!(is_open_to(writer, Some(Barrier::Mount)), mount, "{writer:?}");
            assert_eq!(is_open_to(writer, Some(Barrier::Mode)), mode, "{writer:?}");
            assert!(!is_open_to(writer, None), "{writer:?}");
        }
    }
}
