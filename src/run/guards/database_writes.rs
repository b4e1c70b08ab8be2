//! `database_writes`: a server that exists is written to only where its operator said so, and said what it is.

use super::{Found, Guard, Situation};
use crate::config::{Role, Target};

pub(super) const GUARD: Guard = Guard {
    name: "database_writes",
    about: "load reaches a server only when its target says `writes = true` and states its role",
    check,
};

fn check(situation: &Situation<'_>) -> Found {
    let mut servers = Vec::new();
    for plan in &situation.plan.cases {
        let Some(name) = plan.case.target.as_deref() else { continue };
        let Some(Target::Server(server)) = situation.targets.get(name) else { continue };
        if !server.writes || server.role.is_none() {
            return Found::Violated {
                measured: format!(
                    "target {name} has writes = {}, role {}",
                    server.writes,
                    stated(server.role)
                ),
                limit: "writes = true and a stated role".to_owned(),
                advice: format!(
                    "in [target.{name}] set writes = true and role = \"source\" or \"standalone\""
                ),
            };
        }
        servers.push(name);
    }
    servers.dedup();
    if servers.is_empty() {
        return Found::NotConcerned;
    }
    Found::Holds {
        measured: format!("allowed on {}", servers.join(", ")),
        limit: "writes = true and a stated role".to_owned(),
    }
}

fn stated(role: Option<Role>) -> String {
    role.map_or_else(|| "not stated".to_owned(), |role| role.to_string())
}
