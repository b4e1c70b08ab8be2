//! When each user was last let in, and from where: for `benchd user list`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use hyper::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::answer::{self, Answer};
use super::call::Call;
use super::problem::Problem;
use crate::config::UserRole;
use crate::record::SCHEMA;

/// Names of certificates that are remembered beside the users of the file; an authority may sign any number.
const MOST: usize = 1000;

/// The last visit of each user since the daemon started.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<BTreeMap<String, (Timestamp, IpAddr)>>);

impl Seen {
    pub(super) fn note(&self, user: &str, address: IpAddr) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let visit = (Timestamp::now(), address);
        if let Some(last) = seen.get_mut(user) {
            *last = visit;
        } else if seen.len() < MOST {
            seen.insert(user.to_owned(), visit);
        }
    }

    fn of(&self, user: &str) -> Option<(Timestamp, IpAddr)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(user).copied()
    }
}

/// `GET /api/v1/users`: who can log in, with roles and the last visit since the daemon started.
pub(super) async fn users(call: Call) -> Result<Answer, Problem> {
    let shared = &call.shared;
    let config = shared.services.config();
    let web = std::sync::Arc::clone(&shared.web.borrow().web);
    let certificates = config.server.roles.keys().filter(|name| name.starts_with("san:"));
    let users: Vec<Value> = web
        .users
        .keys()
        .chain(certificates)
        .map(|name| {
            let role = config.server.roles.get(name).copied().unwrap_or(UserRole::Scrape);
            let seen = shared.gate.seen.of(name);
            json!({
                "user": name, "role": role,
                "last_seen": seen.map(|(at, _)| at), "address": seen.map(|(_, address)| address),
            })
        })
        .collect();
    answer::json(StatusCode::OK, &json!({ "schema": SCHEMA, "users": users }))
}
