//! `exclusive`: nothing of an earlier run is at work beside a new one.

use super::{Found, Guard, Situation};

pub(super) const GUARD: Guard =
    Guard { name: "exclusive", about: "every process and server of earlier runs has ended", check };

const LIMIT: &str = "nothing of earlier runs is left";

fn check(situation: &Situation<'_>) -> Found {
    if situation.stuck.is_empty() {
        return Found::Holds { measured: "nothing is left".to_owned(), limit: LIMIT.to_owned() };
    }
    Found::Violated {
        measured: situation.stuck.join("; "),
        limit: LIMIT.to_owned(),
        advice: "it is ended as soon as the kernel lets it; see the disk it waits for, and the kernel's log"
            .to_owned(),
    }
}
