//! Lets a request in: who it is from, and whether that may be done.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use hyper::{HeaderMap, StatusCode, header};

use super::access::{Access, Caller, Origin};
use super::basic;
use super::login::{Denied, Doorkeeper};
use super::problem::{Kind, Problem};
use super::seen::Seen;
use super::server::{Reason, Shared};
use super::web::Web;
use crate::config::{RateLimit, UserRole};

/// How a connection came in.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) origin: Origin,
    /// Its address, by TCP.
    pub(super) address: Option<IpAddr>,
    /// Whether it speaks TLS.
    pub(super) is_secure: bool,
    /// The names of its certificate, when that was proved to come from an authority.
    pub(super) names: Arc<[String]>,
}

impl Peer {
    /// One by the unix socket.
    pub(super) fn of_socket(user: Option<u32>) -> Peer {
        Peer { origin: Origin::Socket(user), address: None, is_secure: false, names: Arc::default() }
    }

    /// One by TCP.
    pub(super) fn of_address(address: IpAddr) -> Peer {
        let origin = Origin::of_address(address);
        Peer { origin, address: Some(address), is_secure: false, names: Arc::default() }
    }
}

/// What the gate remembers from one request to the next.
pub(super) struct Gate {
    doorkeeper: Doorkeeper,
    /// What `rate_limit` leaves.
    bucket: Mutex<Option<Bucket>>,
    /// When each user was last let in.
    pub(super) seen: Seen,
}

impl Gate {
    pub(super) fn new() -> anyhow::Result<Gate> {
        Ok(Gate { doorkeeper: Doorkeeper::new()?, bucket: Mutex::default(), seen: Seen::default() })
    }
}

/// Who makes a request, when it may be made.
pub(super) async fn admit(
    shared: &Shared,
    peer: &Peer,
    headers: &HeaderMap,
    needed: Access,
) -> Result<Caller, Problem> {
    let Some(address) = peer.address.filter(|_| needed != Access::Open) else {
        return Ok(Caller::From(peer.origin));
    };
    let web = Arc::clone(&shared.web.borrow().web);
    if !shared.gate.has_room(web.rate_limit) {
        shared.rejected.count(Reason::Limit);
        let problem = Problem::new(Kind::Limit, "too many requests", "more requests than rate_limit allows");
        return Err(problem.status(StatusCode::TOO_MANY_REQUESTS).retry_after(1));
    }
    let must_be_secure = web.tls.is_some() || (web.has_logins() && peer.origin == Origin::Elsewhere);
    if must_be_secure && !peer.is_secure {
        shared.rejected.count(Reason::Authentication);
        return Err(tls_required(&web));
    }
    let caller = if web.has_logins() {
        let user = identify(shared, &web, peer, address, headers).await;
        user.inspect_err(|_| shared.rejected.count(Reason::Authentication))?
    } else {
        Caller::From(peer.origin)
    };
    caller.allow(needed).inspect_err(|_| shared.rejected.count(Reason::Role))?;
    if let Caller::User { name, .. } = &caller {
        shared.gate.seen.note(name, address);
    }
    Ok(caller)
}

fn tls_required(web: &Web) -> Problem {
    let (detail, advice) = match web.tls {
        Some(_) => ("this port speaks TLS, and the request came without", "ask https:// in place of http://"),
        None => (
            "users are configured, and without TLS their passwords could be read on the way",
            "give the web configuration a certificate: benchd user tls --self-signed",
        ),
    };
    Problem::new(Kind::TlsRequired, "TLS is required", detail).advice(advice)
}

/// The user: by password, or by certificate.
async fn identify(
    shared: &Shared,
    web: &Web,
    peer: &Peer,
    address: IpAddr,
    headers: &HeaderMap,
) -> Result<Caller, Problem> {
    let config = shared.services.config();
    let roles = &config.server.roles;
    let given = headers.get(header::AUTHORIZATION).filter(|_| !web.users.is_empty());
    let Some(given) = given else {
        let named = peer.names.iter().filter_map(|name| {
            let name = format!("san:{name}");
            roles.get(&name).map(|role| (*role, name))
        });
        if let Some((role, name)) = named.max_by_key(|(role, _)| *role) {
            return Ok(Caller::User { name, role });
        }
        return match peer.names.first() {
            Some(name) if web.users.is_empty() => {
                Ok(Caller::User { name: format!("san:{name}"), role: UserRole::Scrape })
            }
            _ => Err(login_needed(web)),
        };
    };
    let credentials = given.to_str().ok().and_then(basic::parse).ok_or_else(|| login_needed(web))?;
    match shared.gate.doorkeeper.login(&web.users, &credentials, address).await {
        Ok(()) => {
            let role = roles.get(&credentials.user).copied().unwrap_or(UserRole::Scrape);
            Ok(Caller::User { name: credentials.user, role })
        }
        Err(Denied::Wrong) => Err(challenge("wrong user or password", "no user has this name and password")
            .advice("benchd user list shows the users; benchd user add gives one a new password")),
        Err(Denied::Later(seconds)) => {
            let detail = "too many logins with a wrong password came from this address, or are under way";
            Err(Problem::new(Kind::Limit, "too many logins", detail)
                .status(StatusCode::TOO_MANY_REQUESTS)
                .retry_after(seconds))
        }
    }
}

fn login_needed(web: &Web) -> Problem {
    let advice = match web.users.is_empty() {
        true => "show a certificate of an authority of client_ca_file",
        false => "send a user and a password by basic authentication",
    };
    challenge("login needed", "users are configured: this needs one of them").advice(advice)
}

fn challenge(title: &str, detail: &str) -> Problem {
    Problem::new(Kind::Authentication, title, detail)
        .header(header::WWW_AUTHENTICATE, "Basic realm=\"benchd\", charset=\"UTF-8\"")
}

/// A bucket of requests.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    limit: RateLimit,
    left: f64,
    at: Instant,
}

impl Gate {
    /// Takes one request out of the bucket, when there is a limit and one is left.
    fn has_room(&self, limit: Option<RateLimit>) -> bool {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(limit) = limit else {
            *bucket = None;
            return true;
        };
        let now = Instant::now();
        let before = bucket.filter(|bucket| bucket.limit == limit);
        let before = before.unwrap_or(Bucket { limit, left: f64::from(limit.burst), at: now });
        let come = now.saturating_duration_since(before.at).as_secs_f64() / limit.interval.seconds();
        let left = (before.left + come).min(f64::from(limit.burst));
        let has_room = left >= 1.0;
        *bucket = Some(Bucket { limit, left: if has_room { left - 1.0 } else { left }, at: now });
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    #[test]
    fn a_bucket_gives_its_burst_and_then_one_at_a_time() {
        let gate = Gate::new().unwrap();
        let limit = |hours: u64| Some(RateLimit { interval: Span::from_secs(3600 * hours), burst: 3 });
        let given = |limit| (0..10).filter(|_| gate.has_room(limit)).count();
        assert_eq!((given(limit(1)), given(limit(1)), given(limit(2))), (3, 0, 3), "a new limit begins anew");
        assert_eq!(given(None), 10);
        let quick = Some(RateLimit { interval: Span::from_millis(1), burst: 1 });
        let began = Instant::now();
        while !(gate.has_room(quick) && began.elapsed().as_millis() > 5) {}
    }
}
