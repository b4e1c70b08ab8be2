//! Checks that must hold before a run touches anything. One file and one row of [`ALL`] each.

mod connections;
mod database_writes;
mod disk_space;
mod exclusive;
mod memory;
mod path;
mod window;

use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

use super::plan::RunPlan;
use crate::config::{Suite, Target};
use crate::record::GuardCheck;

/// A named check.
pub struct Guard {
    /// Its name in configuration, metrics and messages.
    pub name: &'static str,
    /// What it protects.
    pub about: &'static str,
    /// Looks at the situation.
    check: fn(&Situation<'_>) -> Found,
}

/// Every guard, in the order people read them.
pub const ALL: &[&Guard] = &[
    &database_writes::GUARD,
    &window::GUARD,
    &path::GUARD,
    &disk_space::GUARD,
    &memory::GUARD,
    &connections::GUARD,
    &exclusive::GUARD,
];

/// The guard that ends a run which is not over in time; it stands beside the table because it watches, not checks.
pub const DEADLINE: &str = "deadline";

/// The guard of the time of day, for which a run can wait.
pub const WINDOW: &str = window::GUARD.name;

/// The guards that a person with the right to may override.
pub const OVERRIDABLE: &[&str] = &[WINDOW];

pub(crate) use connections::{MOST as MOST_CONNECTIONS, connections_of, most_of};
pub use window::{window_is_open, window_of};

/// What a guard looks at.
pub struct Situation<'a> {
    /// The suite that wants to run.
    pub suite: &'a Suite,
    /// Where its load may go.
    pub targets: &'a BTreeMap<String, Target>,
    /// What it would do.
    pub plan: &'a RunPlan,
    /// Now.
    pub now: Timestamp,
    /// What of earlier runs does not end.
    pub stuck: &'a [String],
    /// Who will write to directories.
    pub writer: Writer,
}

/// Who will write to directories: whoever looks learns from its own rights what another may do only in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// Somebody with the rights of this process.
    Same,
    /// A worker for which the disks are mounted otherwise.
    Apart,
    /// Another user.
    Other,
}

/// What a guard found.
enum Found {
    /// The run does not do what the guard protects against.
    NotConcerned,
    Holds {
        measured: String,
        limit: String,
    },
    Violated {
        measured: String,
        limit: String,
        advice: String,
    },
}

/// Asks every guard.
pub fn check(situation: &Situation<'_>) -> Vec<GuardCheck> {
    ALL.iter().map(|guard| found(guard.name, (guard.check)(situation))).collect()
}

fn found(name: &str, found: Found) -> GuardCheck {
    let (holds, measured, limit, advice) = match found {
        Found::NotConcerned => (None, String::new(), String::new(), String::new()),
        Found::Holds { measured, limit } => (Some(true), measured, limit, String::new()),
        Found::Violated { measured, limit, advice } => (Some(false), measured, limit, advice),
    };
    GuardCheck { guard: name.to_owned(), holds, measured, limit, advice }
}

/// A check that came to no end: what guards cannot see does not hold.
pub(super) fn unanswered() -> GuardCheck {
    let found = Found::Violated {
        measured: "the guards came to no end".to_owned(),
        limit: "all of them hold".to_owned(),
        advice: "see the journal".to_owned(),
    };
    self::found(exclusive::GUARD.name, found)
}

/// Those that do not hold and are not among the ignored ones.
pub fn blocking(checks: &[GuardCheck], ignored: &BTreeSet<String>) -> Vec<GuardCheck> {
    checks
        .iter()
        .filter(|check| check.holds == Some(false) && !ignored.contains(&check.guard))
        .cloned()
        .collect()
}

/// One sentence: what does not start, why, and what to do.
pub fn sentence(suite: &str, blocking: &[GuardCheck]) -> String {
    let reasons: Vec<String> = blocking
        .iter()
        .map(|check| format!("{} {} (limit {}): {}", check.guard, check.measured, check.limit, check.advice))
        .collect();
    format!("{suite} not started: {}", reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(guard: &str, holds: Option<bool>) -> GuardCheck {
        GuardCheck {
            guard: guard.to_owned(),
            holds,
            measured: "13:22".to_owned(),
            limit: "02:00-05:00".to_owned(),
            advice: "wait".to_owned(),
        }
    }

    #[test]
    fn names_are_unique_and_label_safe() {
        let mut names: Vec<&str> = ALL.iter().map(|guard| guard.name).chain([DEADLINE]).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len() + 1);
        assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_')));
    }

    #[test]
    fn a_guard_that_does_not_apply_does_not_block_and_an_ignored_one_neither() {
        let checks = [check("disk_space", None), check("window", Some(false))];
        let none = BTreeSet::new();
        assert_eq!(blocking(&checks, &none).len(), 1);
        assert!(blocking(&checks, &BTreeSet::from([WINDOW.to_owned()])).is_empty());
        assert_eq!(
            sentence("db", &blocking(&checks, &none)),
            "db not started: window 13:22 (limit 02:00-05:00): wait"
        );
    }
}
