//! A target that is a server which exists: how it is reached, who logs in, what may be done there.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::read::{Section, Wrong, between, read_word, wrong};
use super::tree::Node;
use crate::record::{TlsMode, words};
use crate::units::Span;

/// The port of MySQL and MariaDB.
const PORT: u16 = 3306;
words! {
    /// What the operator says a server is; load is refused where it is found to be something else.
    Role {
        /// Alone.
        Standalone = "standalone",
        /// Others replicate from it.
        Source = "source",
        /// It replicates from another.
        Replica = "replica",
        /// A node of a Galera cluster.
        Galera = "galera",
        /// A member of Group Replication.
        Group = "group",
        /// An SQL node of an NDB Cluster.
        Ndb = "ndb",
    }
}

words! {
    /// What happens to the binary log of a server while it is loaded.
    Binlog {
        /// Nothing is written to it (`sql_log_bin = 0`, read back).
        Suppress = "suppress",
        /// Everything is written to it; only for suites of profile `lab`.
        Log = "log",
    }
}

read_word!(Role: "a role", Binlog: "a way to treat the binary log", TlsMode: "a way to use TLS");

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Endpoint {
    /// By its unix socket.
    Socket {
        /// The socket's path.
        socket: PathBuf,
    },
    /// By TCP.
    Tcp {
        /// Host name or address.
        host: String,
        /// TCP port.
        port: u16,
    },
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Socket { socket } => socket.display().fmt(f),
            Endpoint::Tcp { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

/// A server that exists and is someone's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerTarget {
    /// How it is reached; `None` leaves it to the defaults file.
    #[serde(flatten)]
    pub endpoint: Option<Endpoint>,
    /// The account; `None` leaves it to the defaults file.
    pub user: Option<String>,
    /// A my.cnf-style file with what is not set here.
    pub defaults_file: Option<PathBuf>,
    /// A file that holds the account's password and nothing else.
    pub password_file: Option<PathBuf>,
    /// Whether connections by TCP are encrypted, and what is verified; `None` leaves it to the defaults file.
    pub tls: Option<TlsMode>,
    /// The certificates of the authorities that are trusted.
    pub tls_ca: Option<PathBuf>,
    /// The client's certificate.
    pub tls_cert: Option<PathBuf>,
    /// The private key of the client's certificate.
    pub tls_key: Option<PathBuf>,
    /// What the operator says it is.
    pub role: Option<Role>,
    /// Whether suites may create and write benchd's own schema on it; only with a role.
    pub writes: bool,
    /// What happens to its binary log.
    pub binlog: Binlog,
    /// Load it although the account may do far more than benchd needs.
    pub accept_excess_privileges: bool,
    /// Time to connect, and to read or write one packet.
    pub connect_timeout: Span,
    /// A statement of the load that takes longer is stopped and counted.
    pub statement_timeout: Span,
    /// Longest wait for a lock; whole seconds, as the server has it.
    pub lock_wait_timeout: Span,
}

impl ServerTarget {
    /// A server with the default of every other key.
    pub fn new(endpoint: Endpoint) -> ServerTarget {
        ServerTarget {
            endpoint: Some(endpoint),
            user: Some("benchd".to_owned()),
            defaults_file: None,
            password_file: None,
            tls: Some(TlsMode::Preferred),
            tls_ca: None,
            tls_cert: None,
            tls_key: None,
            role: None,
            writes: false,
            binlog: Binlog::Suppress,
            accept_excess_privileges: false,
            connect_timeout: Span::from_secs(10),
            statement_timeout: Span::from_secs(5),
            lock_wait_timeout: Span::from_secs(1),
        }
    }

    /// Where it is, for people.
    pub fn place(&self) -> String {
        match (&self.endpoint, &self.defaults_file) {
            (Some(endpoint), _) => endpoint.to_string(),
            (None, file) => format!("as {} says", file.as_deref().unwrap_or(Path::new("")).display()),
        }
    }

    pub(super) fn read(mut section: Section<'_, '_>) -> Option<ServerTarget> {
        let mut defaults_file = None;
        section.set("defaults_file", &mut defaults_file);
        let elsewhere = defaults_file.is_some();
        let endpoint = endpoint(&mut section, elsewhere);
        let placeholder = Endpoint::Tcp { host: String::new(), port: PORT };
        let mut server = ServerTarget { defaults_file, ..ServerTarget::new(placeholder) };
        server.endpoint.clone_from(&endpoint);
        if elsewhere {
            (server.user, server.tls) = (None, None);
        }
        server.read_login(&mut section);
        section.set("role", &mut server.role);
        section.set("writes", &mut server.writes);
        section.set("binlog", &mut server.binlog);
        section.set("accept_excess_privileges", &mut server.accept_excess_privileges);
        let hour = Span::from_secs(3600);
        section.check("connect_timeout", &mut server.connect_timeout, between(Span::from_millis(100), hour));
        section.check(
            "statement_timeout",
            &mut server.statement_timeout,
            between(Span::from_millis(1), hour),
        );
        section.check("lock_wait_timeout", &mut server.lock_wait_timeout, |span| {
            if span.duration().subsec_nanos() > 0 || span.is_zero() {
                return Err(wrong("takes whole seconds, at least one", "write \"1s\" or \"5s\""));
            }
            between(Span::from_secs(1), hour)(span)
        });
        if server.writes && server.role.is_none() {
            let hint =
                "say what the server is: role = \"standalone\", \"source\", \"galera\", \"group\" or \"ndb\"";
            section.mistake("writes", "`writes = true` needs `role`", hint);
        }
        section.end();
        (endpoint.is_some() || elsewhere).then_some(server)
    }

    /// Who logs in, and what of it is encrypted.
    fn read_login(&mut self, section: &mut Section<'_, '_>) {
        section.check("user", &mut self.user, |user| not_empty(user.as_deref().unwrap_or_default()));
        section.set("password_file", &mut self.password_file);
        section.set("tls", &mut self.tls);
        section.set("tls_ca", &mut self.tls_ca);
        section.set("tls_cert", &mut self.tls_cert);
        section.set("tls_key", &mut self.tls_key);
        self.check_tls(section);
    }

    fn check_tls(&self, section: &mut Section<'_, '_>) {
        let mut written = |key| section.get(key).is_some_and(|node| node.text() != Some(""));
        let (ca, cert, key) = (written("tls_ca"), written("tls_cert"), written("tls_key"));
        let verifies = matches!(self.tls, Some(TlsMode::VerifyCa | TlsMode::VerifyIdentity));
        if verifies && !ca && self.defaults_file.is_none() {
            let hint = "name the PEM file with the authorities to trust, such as the host's own list of them";
            section.mistake("tls", "a server is verified by `tls_ca` alone", hint);
        }
        for (one, other, lacks) in
            [("tls_cert", "tls_key", cert && !key), ("tls_key", "tls_cert", key && !cert)]
        {
            if lacks {
                section.mistake(one, format!("`{one}` needs `{other}`"), "give both, or neither");
            }
        }
        let insists = verifies || self.tls == Some(TlsMode::Required);
        if let (true, Some(Endpoint::Socket { .. })) = (insists, &self.endpoint)
            && let Some(node) = section.get("tls")
        {
            section.found.notes.push(node.mistake(
                "over a socket nothing is encrypted",
                "it does not leave the host; for TLS reach the server by `host`",
            ));
        }
    }
}

fn not_empty(text: &str) -> Result<(), Wrong> {
    if text.is_empty() { Err(wrong("is empty", "write a name, or leave the key out")) } else { Ok(()) }
}

/// The one way by which a server is reached, unless a defaults file may say it elsewhere.
fn endpoint(section: &mut Section<'_, '_>, elsewhere: bool) -> Option<Endpoint> {
    let (mut socket, mut host, mut port) = (None::<PathBuf>, None::<String>, PORT);
    let empty = |node: Option<&Node>| node.is_none_or(|node| node.text() == Some(""));
    let none_given = empty(section.get("socket")) && empty(section.get("host"));
    section.set("socket", &mut socket);
    section.set("host", &mut host);
    section.check("port", &mut port, between(1, u16::MAX));
    match (socket, host) {
        (Some(socket), None) => Some(Endpoint::Socket { socket }),
        (None, Some(host)) => Some(Endpoint::Tcp { host, port }),
        (Some(_), Some(_)) => {
            let hint = "keep the one by which load should reach it: they measure differently";
            section.mistake("host", "`socket` and `host` are both set", hint);
            None
        }
        (None, None) if none_given && elsewhere => {
            if section.get("port").is_some() {
                let hint = "add `host`, or leave both to the defaults file";
                section.mistake("port", "`port` needs `host`", hint);
            }
            None
        }
        (None, None) if none_given => {
            let hint = "add socket = \"/var/lib/mysql/mysql.sock\", or host and port, or defaults_file";
            section.mistake("socket", "a server target needs `socket` or `host`", hint);
            None
        }
        (None, None) => None,
    }
}
