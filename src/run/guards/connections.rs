//! `connections`: a live server keeps room for its users.

use super::{Found, Guard, Situation};
use crate::config::Target;
use crate::record::{Parameters, Profile};
use crate::text::counted;

pub(super) const GUARD: Guard = Guard {
    name: "connections",
    about: "a case opens at most 64 connections to a server that exists, and at most a tenth of those it has free",
    check,
};

/// Most connections of a case, however many the server has free.
pub(crate) const MOST: u64 = 64;
/// A case takes at most one of so many free connections.
const SHARE_OF_FREE: u64 = 10;

/// Connections a case opens: one for each client.
pub(crate) fn connections_of(parameters: &Parameters) -> u64 {
    parameters.get("threads").and_then(serde_json::Value::as_u64).unwrap_or(1)
}

/// Most connections a case may open where so many are free.
pub(crate) fn most_of(free: u64) -> u64 {
    (free / SHARE_OF_FREE).min(MOST)
}

/// What can be said without asking the server; its free connections are looked at when the run connects.
fn check(situation: &Situation<'_>) -> Found {
    let on_server = |name: &str| matches!(situation.targets.get(name), Some(Target::Server(_)));
    let cases = situation.plan.cases.iter().map(|plan| &plan.case);
    let concerned = cases.filter(|case| case.target.as_deref().is_some_and(on_server));
    let Some(most) = concerned.map(|case| connections_of(&case.parameters)).max() else {
        return Found::NotConcerned;
    };
    let (measured, limit) = (counted(most, "connection"), format!("{MOST}, and a tenth of those free"));
    if most <= MOST || situation.plan.profile == Profile::Lab {
        return Found::Holds { measured, limit };
    }
    let advice = "use fewer threads, or profile lab on a host without users".to_owned();
    Found::Violated { measured, limit, advice }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_what_is_free_and_never_more_than_64() {
        assert_eq!([0, 9, 10, 151, 639, 10_000].map(most_of), [0, 0, 1, 15, 63, 64]);
    }
}
