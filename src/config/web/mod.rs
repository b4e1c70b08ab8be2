//! The web configuration file that exporters of Prometheus share: TLS, users, response headers, a limit of requests.
//!
//! Its keys and their meaning are those of that format; a key or a value that benchd cannot honour is refused. Which
//! user may do what stands in `[server.roles]`, because the format has no place for it.

mod tls;
mod yaml;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::problem::Problem;
use super::read::{Read, Section};
use super::source::{Files, Findings, Source, Sources, whole_file};
use super::tree::{Node, Value};
use crate::units::Span;

pub use tls::{CipherSuite, ClientAuth, Curve, Pem, TlsVersion, WebTls};

/// The file where none is named; the only one that may be missing.
pub const WEB_FILE: &str = "/etc/benchd/web-config.yml";
/// No such file is larger; certificates may stand in it.
const MOST_BYTES: u64 = 1 << 20;
/// Headers that answers can be given, with the values they can have; none: any value.
const HEADERS: [(&str, &[&str]); 5] = [
    ("Content-Security-Policy", &[]),
    ("X-Frame-Options", &["deny", "sameorigin"]),
    ("X-Content-Type-Options", &["nosniff"]),
    ("X-XSS-Protection", &[]),
    ("Strict-Transport-Security", &[]),
];
/// Keys whose values hold no secret: their lines are shown with problems.
const SHOWN: [&str; 18] = [
    "cert_file",
    "key_file",
    "client_auth_type",
    "client_ca_file",
    "client_allowed_sans",
    "min_version",
    "max_version",
    "cipher_suites",
    "prefer_server_cipher_suites",
    "curve_preferences",
    "http2",
    "interval",
    "burst",
    "Content-Security-Policy",
    "X-Frame-Options",
    "X-Content-Type-Options",
    "X-XSS-Protection",
    "Strict-Transport-Security",
];

/// A web configuration without a problem.
#[derive(Clone, Default, PartialEq)]
pub struct WebConfig {
    /// How TLS is spoken; `None`: it is not.
    pub tls: Option<WebTls>,
    /// The bcrypt hash of each user's password.
    pub users: BTreeMap<String, String>,
    /// Headers of every answer.
    pub headers: Vec<(String, String)>,
    /// How many requests there may be.
    pub rate_limit: Option<RateLimit>,
}

/// `rate_limit`: a bucket that holds `burst` requests and gets one more each `interval`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// Time between two requests in the long run.
    pub interval: Span,
    /// Requests that may come at once.
    pub burst: u32,
}

/// A web configuration, and what it was read from.
#[derive(Clone)]
pub struct LoadedWeb {
    /// The configuration.
    pub config: WebConfig,
    /// What is worth knowing and no problem.
    pub notes: Vec<Problem>,
    /// Where each key stands.
    pub sources: Sources,
}

/// Reads a web configuration. A missing [`WEB_FILE`] is an empty one.
///
/// # Errors
/// Every problem at once. The lines shown with them hold no secrets.
pub fn load_web(path: &Path) -> Result<LoadedWeb, Vec<Problem>> {
    let file = path.display().to_string();
    let text = read_text(path)?;
    let files = Files(vec![Source { path: file, text, shown: without_secrets }]);
    let mut found = Findings::default();
    let table = yaml::parse(&files.0[0].text, &mut found).unwrap_or_default();
    let root = Node::root(table);
    let config = read(&root, path.parent().unwrap_or(Path::new("/")), &mut found);
    if !found.mistakes.is_empty() {
        return Err(files.problems(found.mistakes));
    }
    let notes = files.problems(found.notes);
    let mut places = BTreeMap::new();
    root.places(&mut places);
    Ok(LoadedWeb { config, notes, sources: Sources { files, places, main: path.to_owned() } })
}

fn read_text(path: &Path) -> Result<String, Vec<Problem>> {
    let wrong = |problem: String, hint: &str| {
        vec![whole_file(path.display().to_string(), String::new(), problem, hint.to_owned())]
    };
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && path == Path::new(WEB_FILE) => {
            return Ok(String::new());
        }
        Ok(facts) if facts.len() > MOST_BYTES => {
            return Err(wrong(format!("is larger than {MOST_BYTES} bytes"), "keep certificates in files"));
        }
        _ => {}
    }
    let hint = "let the user that benchd runs as read it, or set server.web_config";
    let bytes = fs::read(path).map_err(|error| wrong(format!("cannot be read: {error}"), hint))?;
    String::from_utf8(bytes).map_err(|_| wrong("is not UTF-8 text".to_owned(), "save it as UTF-8"))
}

fn read(root: &Node, folder: &Path, found: &mut Findings) -> WebConfig {
    let mut config = WebConfig::default();
    let Some(mut section) = Section::of(root, found) else { return config };
    if let Some(node) = given(&mut section, "tls_server_config") {
        config.tls = tls::read(node, folder, section.found);
    }
    if let Some(node) = given(&mut section, "http_server_config") {
        config.headers = http(node, section.found);
    }
    if let Some(node) = given(&mut section, "basic_auth_users") {
        config.users = users(node, section.found);
    }
    if let Some(node) = given(&mut section, "rate_limit") {
        config.rate_limit = rate_limit(node, section.found);
    }
    section.end();
    config
}

/// The value of a key, when it has one.
fn given<'a>(section: &mut Section<'a, '_>, key: &'static str) -> Option<&'a Node> {
    section.get(key).filter(|node| !yaml::is_nothing(node))
}

/// `true` or `false`; every value of the file is a text.
struct Flag(bool);

impl Read for Flag {
    fn read(node: &Node, found: &mut Findings) -> Option<Flag> {
        match node.text().map(str::to_ascii_lowercase).as_deref() {
            Some("true" | "yes" | "on") => Some(Flag(true)),
            Some("false" | "no" | "off") => Some(Flag(false)),
            _ => {
                let problem = format!("`{}` takes true or false", node.name());
                found.mistakes.push(node.mistake(problem, "write true or false"));
                None
            }
        }
    }
}

fn http(node: &Node, found: &mut Findings) -> Vec<(String, String)> {
    let Some(mut section) = Section::of(node, found) else { return Vec::new() };
    let mut http2 = Flag(false);
    tls::set(&mut section, "http2", &mut http2);
    if http2.0
        && let Some(node) = section.get("http2")
    {
        let hint = "it makes no difference to Prometheus; write false, or leave it out";
        section.found.notes.push(node.mistake("benchd speaks HTTP/1.1 only: HTTP/2 is not offered", hint));
    }
    let headers = given(&mut section, "headers");
    section.end();
    headers.map_or_else(Vec::new, |node| read_headers(node, found))
}

fn read_headers(node: &Node, found: &mut Findings) -> Vec<(String, String)> {
    let Some(mut section) = Section::of(node, found) else { return Vec::new() };
    let mut headers = Vec::new();
    for (name, values) in HEADERS {
        let Some(node) = given(&mut section, name) else { continue };
        let Some(value) = String::read(node, section.found).filter(|value| !value.is_empty()) else {
            continue;
        };
        if !values.is_empty() && !values.contains(&value.as_str()) {
            let problem = format!("`{value}` is no value of {name}");
            section.found.mistakes.push(node.mistake(problem, format!("write {}", values.join(" or "))));
        } else if value.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            section.found.mistakes.push(node.mistake("a header is one line", "write it on one line"));
        }
        headers.push((name.to_owned(), value));
    }
    section.end();
    headers
}

fn users(node: &Node, found: &mut Findings) -> BTreeMap<String, String> {
    let Some(table) = node.table() else {
        let problem = "`basic_auth_users` takes a table";
        found.mistakes.push(node.mistake(problem, "write NAME: HASH below it, one user a line"));
        return BTreeMap::new();
    };
    let mut users = BTreeMap::new();
    for (name, node) in table {
        if name.is_empty() || name.contains(':') || name.chars().any(char::is_control) {
            let hint = "a name is what stands before the colon when a browser sends it: choose another";
            found.mistakes.push(node.key_mistake(format!("`{name}` cannot be a user's name"), hint));
        }
        match node.text().filter(|hash| is_bcrypt(hash)) {
            Some(hash) => drop(users.insert(name.clone(), hash.to_owned())),
            None => found.mistakes.push(node.mistake(
                format!("what stands for the password of `{name}` is not a bcrypt hash"),
                format!(
                    "write what `htpasswd -nBC 10 {name}` prints after the colon, or: benchd user add {name}"
                ),
            )),
        }
    }
    users
}

/// `$2y$10$` and 53 characters of salt and hash.
fn is_bcrypt(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'/';
    let parts: Vec<&str> = text.split('$').collect();
    let ["", "2a" | "2b" | "2y", cost, hash] = parts.as_slice() else { return false };
    let cost = Some(cost).filter(|cost| cost.len() == 2).and_then(|cost| cost.parse().ok());
    cost.is_some_and(|cost: u32| (4..=31).contains(&cost)) && hash.len() == 53 && hash.bytes().all(plain)
}

fn rate_limit(node: &Node, found: &mut Findings) -> Option<RateLimit> {
    let mut section = Section::of(node, found)?;
    let interval = given(&mut section, "interval");
    let interval = interval.and_then(|node| match node.text() {
        Some("0") => Some(Span::ZERO),
        _ => Span::read(node, section.found),
    });
    let burst = given(&mut section, "burst").and_then(|node| {
        let number = node.text().and_then(|text| text.parse::<u32>().ok());
        if number.is_none() {
            let problem = "`burst` takes a whole number";
            section.found.mistakes.push(node.mistake(problem, "write burst: 20"));
        }
        number
    });
    let limit = interval.filter(|interval| !interval.is_zero());
    if limit.is_some() && burst.unwrap_or(0) == 0 {
        let problem = "no request would ever be answered: `burst` is 0";
        section.mistake("burst", problem, "write burst: 20, or interval: 0 for no limit");
    }
    section.end();
    Some(RateLimit { interval: limit?, burst: burst? })
}

/// A line of the file as it may be shown: hashes, and what may be a password or a key, are left out.
fn without_secrets(line: &str) -> String {
    let trimmed = line.trim_start();
    let (key, rest) = trimmed.split_once(':').unwrap_or((trimmed, ""));
    if SHOWN.contains(&key.trim()) || (trimmed.contains(':') && rest.trim().is_empty()) {
        return line.to_owned();
    }
    let indent = &line[..line.len() - trimmed.len()];
    if trimmed.contains(':') && !key.contains(['{', '"', '\'']) {
        format!("{indent}{key}: …")
    } else {
        format!("{indent}…")
    }
}

/// The files that a web configuration was made of, itself first: when one changes it is read again.
pub fn files_of(path: &Path, config: &WebConfig) -> Vec<PathBuf> {
    let pems = config.tls.iter().flat_map(|tls| [Some(&tls.cert), Some(&tls.key), tls.client_ca.as_ref()]);
    let files = pems.flatten().filter_map(|pem| match pem {
        Pem::File(path) => Some(path.clone()),
        Pem::Text(_) => None,
    });
    std::iter::once(path.to_owned()).chain(files).collect()
}

/// The place of each user's hash, and where another user could be written: for the command that edits the file.
pub fn places_of_users(text: &str) -> Result<UserPlaces, String> {
    let mut found = Findings::default();
    let table = yaml::parse(text, &mut found);
    if let Some(mistake) = found.mistakes.first() {
        return Err(mistake.problem.clone());
    }
    let Some(users) = table.as_ref().and_then(|table| table.get("basic_auth_users")) else {
        return Ok(UserPlaces::default());
    };
    let Value::Table(entries) = &users.value else {
        return Ok(UserPlaces { header: Some(users.key.end), ..UserPlaces::default() });
    };
    let places = entries.iter().map(|(name, node)| (name.clone(), (node.key.start, node.at.end)));
    Ok(UserPlaces { header: Some(users.key.end), users: places.collect() })
}

/// Where `basic_auth_users` and each user stand in a text, in bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct UserPlaces {
    /// The end of the section's key.
    pub header: Option<usize>,
    /// From the beginning of the name to the end of the hash.
    pub users: BTreeMap<String, (usize, usize)>,
}

#[cfg(test)]
mod tests;
