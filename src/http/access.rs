//! Who may do what. As long as nobody can log in, where a request comes from decides; then, by TCP, the role does.

use std::net::IpAddr;

use super::problem::{Kind, Problem};
use crate::config::UserRole;

/// What a request does, from harmless to powerful; whoever may do one may do those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Says whether the daemon lives.
    Open,
    /// Reads metrics.
    Scrape,
    /// Reads everything else.
    Read,
    /// Starts and cancels runs.
    Change,
    /// Reloads, overrides guards, runs what is not configured.
    Admin,
}

impl Access {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Access::Open => "open",
            Access::Scrape => "scrape",
            Access::Read => "read",
            Access::Change => "change",
            Access::Admin => "admin",
        }
    }

    /// The most that a role allows.
    const fn of(role: UserRole) -> Access {
        match role {
            UserRole::Scrape => Access::Scrape,
            UserRole::Read => Access::Read,
            UserRole::Trigger => Access::Change,
            UserRole::Admin => Access::Admin,
        }
    }

    /// The least role that allows it.
    const fn role(self) -> UserRole {
        match self {
            Access::Open | Access::Scrape => UserRole::Scrape,
            Access::Read => UserRole::Read,
            Access::Change => UserRole::Trigger,
            Access::Admin => UserRole::Admin,
        }
    }

    /// What is done with it, in words.
    const fn deed(self) -> &'static str {
        match self {
            Access::Open | Access::Scrape => "read metrics",
            Access::Read => "read this",
            Access::Change => "start or cancel runs",
            Access::Admin => "administer",
        }
    }
}

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The unix socket, whose file mode decided already; the user's id when the kernel told it.
    Socket(Option<u32>),
    /// This host, by TCP: any user of it.
    Loopback,
    /// Another host.
    Elsewhere,
}

impl Origin {
    pub(super) fn of_address(address: IpAddr) -> Origin {
        if address.to_canonical().is_loopback() { Origin::Loopback } else { Origin::Elsewhere }
    }

    /// The most that may be done from there, as long as nobody can log in.
    const fn most(self) -> Access {
        match self {
            Origin::Socket(_) => Access::Admin,
            Origin::Loopback => Access::Read,
            Origin::Elsewhere => Access::Scrape,
        }
    }

    fn refusal(self, needed: Access) -> Problem {
        let (from, may) = match self {
            Origin::Socket(_) => ("the unix socket", "do everything"),
            Origin::Loopback => ("this host by TCP", "read"),
            Origin::Elsewhere => ("another host", "read /metrics, /-/healthy and /-/ready"),
        };
        let title = format!("{from} may not do this");
        let detail = format!(
            "no users are configured: requests from {from} may {may}; this needs {}",
            needed.as_str()
        );
        Problem::new(Kind::Role, title, detail)
            .advice("use the unix socket of the daemon: its file mode decides who may open it; or configure users: benchd user add")
    }
}

/// Who makes a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Caller {
    /// Whoever asks from there.
    From(Origin),
    /// A user who logged in, by password or certificate.
    User {
        /// The user's name; of a certificate `san:` and a name that stands in it.
        name: String,
        /// What this user may do.
        role: UserRole,
    },
}

impl Caller {
    /// Refuses what this caller may not do.
    pub(super) fn allow(&self, needed: Access) -> Result<(), Problem> {
        match self {
            Caller::From(origin) if needed <= origin.most() => Ok(()),
            Caller::From(origin) => Err(origin.refusal(needed)),
            Caller::User { role, .. } if needed <= Access::of(*role) => Ok(()),
            Caller::User { name, role } => Err(beyond(name, *role, needed)),
        }
    }

    /// Who asks, for the record. May look the user up, so it is not for the thread that serves.
    pub(super) fn person(&self) -> String {
        let uid = match self {
            Caller::User { name, .. } => return name.clone(),
            Caller::From(Origin::Socket(Some(uid))) => *uid,
            Caller::From(_) => return "http".to_owned(),
        };
        if is_hidden(uid) {
            return "socket".to_owned();
        }
        match nix::unistd::User::from_uid(uid.into()) {
            Ok(Some(user)) => user.name,
            _ => format!("uid {uid}"),
        }
    }
}

fn beyond(name: &str, role: UserRole, needed: Access) -> Problem {
    let wanted = needed.role();
    let title = format!("role {role} may not {}", needed.deed());
    let detail = format!("user {name} has role {role}; this needs {wanted}");
    let key = if name.contains(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_') {
        format!("\"{name}\"")
    } else {
        name.to_owned()
    };
    Problem::new(Kind::Role, title, detail)
        .advice(format!("[server.roles] {key} = \"{wanted}\", or use another user"))
}

/// Whether this is what the kernel says of every user that the user namespace of this process does not have: the
/// sandbox of the service has root and the daemon's own account alone.
fn is_hidden(uid: u32) -> bool {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    // One line that maps all there are is the namespace that every process begins in (user_namespaces(7)).
    let everybody = read("/proc/self/uid_map").split_whitespace().eq(["0", "0", "4294967295"]);
    !everybody && read("/proc/sys/kernel/overflowuid").trim().parse() == Ok(uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(address: &str) -> Access {
        Origin::of_address(address.parse().unwrap()).most()
    }

    #[test]
    fn only_this_host_reads_more_than_metrics() {
        for address in ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(most(address), Access::Read, "{address}");
        }
        for address in ["192.0.2.1", "::ffff:192.0.2.1", "fe80::1", "0.0.0.0"] {
            assert_eq!(most(address), Access::Scrape, "{address}");
        }
        assert_eq!(Origin::Socket(None).most(), Access::Admin);
    }

    #[test]
    fn a_role_allows_what_it_is_the_least_for_and_nothing_more() {
        for role in UserRole::ALL {
            assert_eq!(Access::of(*role).role(), *role);
            let caller = Caller::User { name: "x".to_owned(), role: *role };
            for needed in [Access::Open, Access::Scrape, Access::Read, Access::Change, Access::Admin] {
                assert_eq!(caller.allow(needed).is_ok(), needed.role() <= *role, "{role} {needed:?}");
            }
        }
    }
}
