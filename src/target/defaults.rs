//! Files of options as the clients of MySQL and MariaDB read them (my.cnf): who logs in where.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::access::{Secret, refuse_open_modes};
use crate::record::TlsMode;

/// No such file is larger.
const MOST_BYTES: u64 = 1 << 20;
/// The groups that are read: the one of all clients, and benchd's own. What stands later wins.
const GROUPS: [&str; 2] = ["client", "benchd"];

/// What a file of options says; `None` where it is silent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Defaults {
    /// The account.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<Secret>,
    /// Host name or address.
    pub host: Option<String>,
    /// TCP port.
    pub port: Option<u16>,
    /// The unix socket.
    pub socket: Option<PathBuf>,
    /// Whether connections are encrypted and what is verified.
    pub tls: Option<TlsMode>,
    /// Authorities that are trusted.
    pub tls_ca: Option<PathBuf>,
    /// The client's certificate.
    pub tls_cert: Option<PathBuf>,
    /// Its key.
    pub tls_key: Option<PathBuf>,
}

/// Reads a file of options. Of its groups `[client]` and `[benchd]` count, and in them the options that a
/// [`Defaults`] holds; all others are for other programs.
///
/// # Errors
/// When the file cannot be read, lets others than its owner and root read it, includes other files, or has a value
/// that an option cannot have. No value is part of the message: it could be a password.
pub fn read_defaults(path: &Path) -> Result<Defaults> {
    let name = path.display();
    let file = File::open(path).with_context(|| {
        format!(
            "defaults file {name} cannot be opened; it must exist and be readable by the user benchd runs as"
        )
    })?;
    refuse_open_modes(&file, "defaults file", path)?;
    let mut text = String::new();
    file.take(MOST_BYTES + 1)
        .read_to_string(&mut text)
        .with_context(|| format!("defaults file {name} cannot be read as text"))?;
    ensure!(text.len() as u64 <= MOST_BYTES, "defaults file {name} is larger than {MOST_BYTES} bytes");
    parse(&text).with_context(|| format!("defaults file {name} cannot be used"))
}

fn parse(text: &str) -> Result<Defaults> {
    let mut defaults = Defaults::default();
    let mut counts = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let place = || format!("line {}", index + 1);
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('!') {
            bail!("{}: !include and !includedir are not followed; write the options into this file", place());
        }
        if let Some(group) = line.strip_prefix('[') {
            let (group, _) =
                group.split_once(']').with_context(|| format!("{}: the [group] has no ]", place()))?;
            counts = GROUPS.contains(&group.trim());
        } else if counts {
            let (name, value) = option(without_comment(line));
            defaults.set(&name, value).with_context(place)?;
        }
    }
    // As MySQL's clients do: whoever names an authority wants it to count.
    if defaults.tls.is_none() && defaults.tls_ca.is_some() {
        defaults.tls = Some(TlsMode::VerifyCa);
    }
    Ok(defaults)
}

impl Defaults {
    fn set(&mut self, name: &str, value: Option<String>) -> Result<()> {
        let path = |value: Option<String>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
        match name {
            "user" => self.user = value,
            "password" => self.password = value.map(Secret::new),
            "host" => self.host = value.filter(|host| !host.is_empty()),
            "port" => self.port = Some(port(value.as_deref())?),
            "socket" => self.socket = path(value),
            "ssl-ca" => self.tls_ca = path(value),
            "ssl-cert" => self.tls_cert = path(value),
            "ssl-key" => self.tls_key = path(value),
            "ssl-mode" => self.tls = Some(mode(value.as_deref())?),
            "skip-ssl" => self.tls = Some(TlsMode::Disabled),
            "ssl" if is_off(value.as_deref()) => self.tls = Some(TlsMode::Disabled),
            // MariaDB's two switches, in whatever order: neither makes the other weaker.
            "ssl" => {
                self.tls = self.tls.filter(|mode| *mode != TlsMode::Disabled).or(Some(TlsMode::Required))
            }
            "ssl-verify-server-cert" if !is_off(value.as_deref()) => self.tls = Some(TlsMode::VerifyIdentity),
            _ => (),
        }
        Ok(())
    }
}

fn port(value: Option<&str>) -> Result<u16> {
    value
        .and_then(|value| value.parse().ok())
        .filter(|port| *port > 0)
        .context("port takes a number from 1 to 65535")
}

fn mode(value: Option<&str>) -> Result<TlsMode> {
    value
        .and_then(|value| value.to_ascii_lowercase().parse().ok())
        .context("ssl-mode takes DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY")
}

fn is_off(value: Option<&str>) -> bool {
    value.is_some_and(|value| ["0", "off", "false"].contains(&value.to_ascii_lowercase().as_str()))
}

/// The line up to a # that stands outside of quotes.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut escaped) = (None, false);
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '#') => return &line[..at],
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if letter == open && !escaped => quote = None,
            _ => (),
        }
        escaped = quote.is_some() && letter == '\\' && !escaped;
    }
    line
}

/// Name and value of an option; `_` in a name is as good as `-`, and `loose-` before it changes nothing here.
fn option(line: &str) -> (String, Option<String>) {
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name, Some(unescaped(unquoted(value.trim())))),
        None => (line, None),
    };
    let name = name.trim().replace('_', "-");
    (name.strip_prefix("loose-").unwrap_or(&name).to_owned(), value)
}

fn unquoted(value: &str) -> &str {
    let within = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(value)
}

/// The sequences that the servers' clients know; others stand for themselves, backslash and all.
fn unescaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('b') => text.push('\u{8}'),
            Some('t') => text.push('\t'),
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('s') => text.push(' '),
            Some(plain @ ('\\' | '"' | '\'')) => text.push(plain),
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(line: &str) -> Option<String> {
        let parsed = parse(&format!("[client]\npassword{line}\n")).unwrap();
        parsed.password.map(|secret| secret.reveal().to_owned())
    }

    #[test]
    fn the_groups_of_clients_count_and_what_stands_later_wins() {
        let text = "user = nobody\n[mysqld]\nuser = mysql\nport = none\n[client]\nuser = first\nport=3307\n\
                    # a comment\n; another\n  [benchd]  \n  user = second\nunknown-option\nsocket=/run/my.sock\n";
        let expected = Defaults {
            user: Some("second".to_owned()),
            port: Some(3307),
            socket: Some("/run/my.sock".into()),
            ..Defaults::default()
        };
        assert_eq!(parse(text).unwrap(), expected);
    }

    #[test]
    fn quotes_comments_and_escapes_read_as_the_clients_read_them() {
        for (line, expected) in [
            ("=plain", "plain"),
            (" =  spaces around  ", "spaces around"),
            ("=before#after", "before"),
            ("=\"before#after\" # comment", "before#after"),
            ("='it\\'s # one'", "it's # one"),
            ("='quoted\"'", "quoted\""),
            ("=\"\"", ""),
            ("=a=b", "a=b"),
            (r"=\s\t\\\x", " \t\\\\x"),
            ("=\"", "\""),
        ] {
            assert_eq!(password(line).as_deref(), Some(expected), "{line}");
        }
        assert_eq!(password(""), None);
    }

    #[test]
    fn the_words_of_both_families_become_modes() {
        for (options, mode) in [
            ("ssl-mode = verify_identity", Some(TlsMode::VerifyIdentity)),
            ("ssl_mode=PREFERRED", Some(TlsMode::Preferred)),
            ("ssl", Some(TlsMode::Required)),
            ("ssl=0", Some(TlsMode::Disabled)),
            ("skip-ssl", Some(TlsMode::Disabled)),
            ("ssl\nssl-verify-server-cert", Some(TlsMode::VerifyIdentity)),
            ("ssl-verify-server-cert=1\nssl=1", Some(TlsMode::VerifyIdentity)),
            ("ssl-verify-server-cert=OFF", None),
            ("ssl-ca=/ca.pem", Some(TlsMode::VerifyCa)),
            ("ssl-ca=/ca.pem\nloose-ssl-mode=REQUIRED", Some(TlsMode::Required)),
            ("ssl-ca=", None),
        ] {
            assert_eq!(parse(&format!("[client]\n{options}")).unwrap().tls, mode, "{options}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_line_and_without_its_value() {
        for (text, problem) in [
            ("[client]\n!includedir /etc/my.cnf.d", "line 2: !include and !includedir are not followed"),
            ("[client\nuser=x", "line 1: the [group] has no ]"),
            ("[client]\n\nport = hunter2", "line 3: port takes a number"),
            ("[client]\nssl-mode = hunter2", "line 2: ssl-mode takes DISABLED"),
        ] {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.starts_with(problem) && !error.contains("hunter2"), "{error}");
        }
    }
}
