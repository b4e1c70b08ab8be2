//! The tables `[server]`, `[store]` and `[sample]`: their keys, their defaults, and what their values can be.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::str::FromStr;

use regex::Regex;
use serde::{Deserialize, Serialize, Serializer};

use super::read::{Read, Section, Wrong, between, not_zero, read_word, wrong};
use super::source::Findings;
use super::tree::Node;
use super::web::WEB_FILE;
use crate::record::words;
use crate::units::{Bytes, LinkSpeed, Span, UnitError};

words! {
    /// How much is logged: each word includes those above it.
    LogLevel {
        /// What failed.
        Error = "error",
        /// What may need attention.
        Warning = "warning",
        /// What benchd does: runs, reloads.
        Info = "info",
        /// Why it does so.
        Debug = "debug",
    }
}

words! {
    /// Where the log goes.
    LogTo {
        /// The journal when standard error is connected to it, else standard error.
        Auto = "auto",
        /// The journal.
        Journal = "journal",
        /// Standard error.
        Stderr = "stderr",
    }
}

words! {
    /// Which disks have peaks and distributions in the metrics.
    PeakDisks {
        /// Those under a target, the store, `/` and the filesystems that are named.
        Used = "used",
        /// All that are sampled.
        All = "all",
    }
}

words! {
    /// What a user of the HTTP interface may do; each includes those above it.
    UserRole {
        /// Read metrics.
        Scrape = "scrape",
        /// Read everything.
        Read = "read",
        /// Start and cancel runs.
        Trigger = "trigger",
        /// Reload, override guards, run what is not configured.
        Admin = "admin",
    }
}

read_word!(UserRole: "a role", LogLevel: "a log level", LogTo: "a place for the log", PeakDisks: "a choice of disks");

/// An address to listen on, written `127.0.0.1:10104`, `[::1]:10104`, or `:10104` for every address of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen {
    /// The address; `None` is every address of the host.
    pub address: Option<IpAddr>,
    /// The TCP port; 0 lets the system choose one.
    pub port: u16,
}

impl Listen {
    /// Whether only this host can connect.
    pub fn is_loopback(&self) -> bool {
        self.address.is_some_and(|address| address.is_loopback())
    }
}

impl FromStr for Listen {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Listen, UnitError> {
        let wrong = || UnitError {
            problem: format!("\"{text}\" is not an address to listen on"),
            hint: "write \"127.0.0.1:10104\", \"[::1]:10104\", or \":10104\" for every address".to_owned(),
        };
        if let Some(port) = text.strip_prefix(':') {
            return Ok(Listen { address: None, port: port.parse().map_err(|_| wrong())? });
        }
        let address: std::net::SocketAddr = text.parse().map_err(|_| wrong())?;
        Ok(Listen { address: Some(address.ip()), port: address.port() })
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            None => write!(f, ":{}", self.port),
            Some(address) => std::net::SocketAddr::new(address, self.port).fmt(f),
        }
    }
}

impl Serialize for Listen {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Read for Listen {
    fn read(node: &Node, found: &mut Findings) -> Option<Listen> {
        match String::read(node, found)?.parse::<Listen>() {
            Ok(listen) => Some(listen),
            Err(error) => {
                found.mistakes.push(node.mistake(error.problem, error.hint));
                None
            }
        }
    }
}

/// The table `[server]`: where the daemon listens, its limits, its log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Server {
    /// TCP addresses; may be none.
    pub listen: Vec<Listen>,
    /// The unix socket with the whole API.
    pub socket: Option<PathBuf>,
    /// The group whose members may use the socket.
    pub socket_group: Option<String>,
    /// TLS and users; only the default path may be missing.
    pub web_config: Option<PathBuf>,
    /// Open connections of each kind. For one more the oldest gives way on which nothing was asked yet, or it is
    /// refused.
    pub max_connections: u32,
    /// Requests in work; more are answered with 503.
    pub max_requests: u32,
    /// Time for the headers of a request.
    pub header_timeout: Span,
    /// Time for a request, event streams excepted.
    pub request_timeout: Span,
    /// The largest body of a request.
    pub body_limit: Bytes,
    /// How much is logged.
    pub log_level: LogLevel,
    /// Where the log goes.
    pub log_to: LogTo,
    /// What users may do, by their names in the web configuration, and holders of client certificates, by `san:` and
    /// a name of the certificate. Who is not named may scrape.
    pub roles: BTreeMap<String, UserRole>,
}

impl Default for Server {
    fn default() -> Server {
        Server {
            listen: vec![Listen { address: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), port: 10104 }],
            socket: Some(PathBuf::from("/run/benchd/benchd.sock")),
            socket_group: Some("benchd".to_owned()),
            web_config: Some(PathBuf::from(WEB_FILE)),
            max_connections: 256,
            max_requests: 40,
            header_timeout: Span::from_secs(10),
            request_timeout: Span::from_secs(30),
            body_limit: Bytes::new(64 << 10),
            log_level: LogLevel::Info,
            log_to: LogTo::Auto,
            roles: BTreeMap::new(),
        }
    }
}

impl Server {
    pub(super) fn read(node: &Node, found: &mut Findings) -> Server {
        let mut server = Server::default();
        let Some(mut section) = Section::of(node, found) else { return server };
        section.check("listen", &mut server.listen, |list| each_once(list));
        section.set("socket", &mut server.socket);
        section.set("socket_group", &mut server.socket_group);
        section.set("web_config", &mut server.web_config);
        section.check("max_connections", &mut server.max_connections, between(1, 100_000));
        section.check("max_requests", &mut server.max_requests, between(1, 10_000));
        let timeout = || between(Span::from_millis(100), Span::from_secs(3600));
        section.check("header_timeout", &mut server.header_timeout, timeout());
        section.check("request_timeout", &mut server.request_timeout, timeout());
        section.check(
            "body_limit",
            &mut server.body_limit,
            between(Bytes::new(1 << 10), Bytes::from_mib(64)),
        );
        section.set("log_level", &mut server.log_level);
        section.set("log_to", &mut server.log_to);
        section.set("roles", &mut server.roles);
        server.check(&mut section);
        section.end();
        server
    }

    fn check(&self, section: &mut Section<'_, '_>) {
        if self.listen.is_empty() && self.socket.is_none() {
            let hint = "give an address, or a `socket`";
            section.mistake("listen", "the daemon would listen nowhere", hint);
        }
    }
}

fn each_once<T: PartialEq + fmt::Display>(list: &[T]) -> Result<(), Wrong> {
    match list.iter().enumerate().find(|(index, value)| list[..*index].contains(value)) {
        Some((_, twice)) => Err(wrong(format!("holds {twice} twice"), "remove one of them")),
        None => Ok(()),
    }
}

/// The table `[store]`: where results are kept, how long and how much.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Store {
    /// The SQLite file.
    pub path: PathBuf,
    /// How long results, histograms and facts are kept.
    pub keep_records: Span,
    /// How long the series of runs are kept; not longer than the records.
    pub keep_series: Span,
    /// The file's size beyond which the oldest series go.
    pub max_size: Bytes,
    /// Free space on the file's filesystem below which series are not stored.
    pub min_free: Bytes,
}

impl Default for Store {
    fn default() -> Store {
        Store {
            path: PathBuf::from("/var/lib/benchd/benchd.db"),
            keep_records: Span::from_secs(1825 * 86_400),
            keep_series: Span::from_secs(90 * 86_400),
            max_size: Bytes::from_mib(2048),
            min_free: Bytes::from_mib(512),
        }
    }
}

impl Store {
    pub(super) fn read(node: &Node, found: &mut Findings) -> Store {
        let mut store = Store::default();
        let Some(mut section) = Section::of(node, found) else { return store };
        section.check("path", &mut store.path, |path| match path.file_name() {
            Some(_) => Ok(()),
            None => Err(wrong("names no file", "write \"/var/lib/benchd/benchd.db\"")),
        });
        section.check("keep_records", &mut store.keep_records, not_zero);
        section.check("keep_series", &mut store.keep_series, not_zero);
        section.check("max_size", &mut store.max_size, between(Bytes::from_mib(16), Bytes::new(1 << 50)));
        section.set("min_free", &mut store.min_free);
        if store.keep_series > store.keep_records {
            let problem = format!(
                "`keep_series` ({}) is longer than `keep_records` ({})",
                store.keep_series, store.keep_records
            );
            section.mistake(
                "keep_series",
                problem,
                "a series goes with its record: keep it as long or shorter",
            );
        }
        section.end();
        store
    }
}

/// Which devices are sampled, by regular expressions of their names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    /// Only names that match are sampled; wins over `exclude`. Empty: all but those excluded.
    pub include: String,
    /// Names that match are not sampled.
    pub exclude: String,
}

impl Filter {
    fn excluding(pattern: &str) -> Filter {
        Filter { include: String::new(), exclude: pattern.to_owned() }
    }

    /// Sets the fields from the table that a key holds.
    fn set(&mut self, key: &'static str, section: &mut Section<'_, '_>) {
        let Some(node) = section.get(key) else { return };
        let Some(mut filter) = Section::of(node, section.found) else { return };
        filter.check("include", &mut self.include, |pattern| is_pattern(pattern));
        filter.check("exclude", &mut self.exclude, |pattern| is_pattern(pattern));
        filter.end();
    }
}

fn is_pattern(pattern: &str) -> Result<(), Wrong> {
    let Err(error) = Regex::new(pattern) else { return Ok(()) };
    let reason = error.to_string();
    let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
    Err(wrong(
        format!("is not a regular expression: {reason}"),
        "write one such as '^(lo|veth)' in single quotes, which leave backslashes alone",
    ))
}

/// Each window is a series for every peak, and its samples stay in memory.
fn peak_windows(windows: &[Span]) -> Result<(), Wrong> {
    each_once(windows)?;
    let (shortest, longest) = (Span::from_secs(1), Span::from_secs(15 * 60));
    if windows.len() > 4 {
        let problem = format!("holds {} windows, of which there can be 4", windows.len());
        return Err(wrong(
            problem,
            "keep the scrape interval of each Prometheus, or what is a little longer",
        ));
    }
    windows.iter().try_for_each(|window| between(shortest, longest)(window))
}

/// The table `[sample]`: what of the host is sampled, how often, and how long it is kept in memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample {
    /// Time between two samples, 100 ms to 10 s.
    pub interval: Span,
    /// How long samples stay in memory.
    pub ring: Span,
    /// The trailing windows of the peaks in the metrics.
    pub peak_windows: Vec<Span>,
    /// Which disks have peaks and distributions in the metrics.
    pub peaks: PeakDisks,
    /// More CPUs than this have one set of series instead of one each.
    pub per_cpu_limit: u32,
    /// Which disks.
    pub disks: Filter,
    /// Which network interfaces.
    pub network: Filter,
    /// What interfaces can carry whose speed the kernel does not know, by name.
    pub link_speed: BTreeMap<String, LinkSpeed>,
    /// Mount points beside `/` and those of the store and the targets.
    pub filesystems: Vec<PathBuf>,
    /// Time between two looks at the filesystems.
    pub filesystem_interval: Span,
    /// Time between two questions to a target that is a server; every second while a run uses it.
    pub database_interval: Span,
    /// A collector that takes longer serves its last values and counts as failed.
    pub deadline: Span,
}

impl Default for Sample {
    fn default() -> Sample {
        Sample {
            interval: Span::from_secs(1),
            ring: Span::from_secs(15 * 60),
            peak_windows: vec![Span::from_secs(60)],
            peaks: PeakDisks::Used,
            per_cpu_limit: 8,
            disks: Filter::excluding(r"^(z?ram|loop|fd|sr|(h|s|v|xv)d[a-z]+|nvme\d+n\d+p)\d+$"),
            network: Filter::excluding("^(lo|veth|docker|br-|virbr|cni|flannel|cali|tap)"),
            link_speed: BTreeMap::new(),
            filesystems: Vec::new(),
            filesystem_interval: Span::from_secs(30),
            database_interval: Span::from_secs(10),
            deadline: Span::from_millis(500),
        }
    }
}

impl Sample {
    pub(super) fn read(node: &Node, found: &mut Findings) -> Sample {
        let mut sample = Sample::default();
        let Some(mut section) = Section::of(node, found) else { return sample };
        let (shortest, longest) = (Span::from_millis(100), Span::from_secs(10));
        section.check("interval", &mut sample.interval, between(shortest, longest));
        section.check("ring", &mut sample.ring, between(Span::from_secs(60), Span::from_secs(86_400)));
        section.check("peak_windows", &mut sample.peak_windows, |windows| peak_windows(windows));
        section.set("peaks", &mut sample.peaks);
        section.set("per_cpu_limit", &mut sample.per_cpu_limit);
        sample.disks.set("disks", &mut section);
        sample.network.set("network", &mut section);
        section.set("link_speed", &mut sample.link_speed);
        section.set("filesystems", &mut sample.filesystems);
        let minutes = || between(Span::from_secs(1), Span::from_secs(3600));
        section.check("filesystem_interval", &mut sample.filesystem_interval, minutes());
        section.check("database_interval", &mut sample.database_interval, minutes());
        section.check("deadline", &mut sample.deadline, between(Span::from_millis(10), longest));
        section.end();
        sample
    }
}
