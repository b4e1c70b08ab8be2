//! Who may do what, as long as no users are configured: where a request comes from decides.

use std::net::IpAddr;

use super::problem::{Kind, Problem};

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

    /// The most that may be done from there.
    const fn most(self) -> Access {
        match self {
            Origin::Socket(_) => Access::Admin,
            Origin::Loopback => Access::Read,
            Origin::Elsewhere => Access::Scrape,
        }
    }

    /// Refuses what may not be done from there.
    pub(super) fn allow(self, needed: Access) -> Result<(), Problem> {
        if needed <= self.most() {
            return Ok(());
        }
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
        Err(Problem::new(Kind::Role, title, detail)
            .advice("use the unix socket of the daemon: its file mode decides who may open it"))
    }

    /// Who asks, for the record. May look the user up, so it is not for the thread that serves.
    pub(super) fn person(self) -> String {
        let Origin::Socket(Some(uid)) = self else { return "http".to_owned() };
        if is_hidden(uid) {
            return "socket".to_owned();
        }
        match nix::unistd::User::from_uid(uid.into()) {
            Ok(Some(user)) => user.name,
            _ => format!("uid {uid}"),
        }
    }
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
}
