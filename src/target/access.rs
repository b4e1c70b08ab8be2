//! How a server is reached, and who asks.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;
use uuid::Uuid;

use crate::record::TlsMode;
use crate::units::Span;

/// A password. It is never shown; it is written out only where it has to travel, in the request to the load
/// process.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text secret.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text itself, for the one place that has to send it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Whether and how connections by TCP are encrypted. Over a unix socket they never are, whatever stands here: what
/// is sent does not leave the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// Whether a connection is encrypted, and what is verified.
    pub mode: TlsMode,
    /// The certificates of the authorities that are trusted, in PEM; needed by the modes that verify.
    pub ca: Option<PathBuf>,
    /// The client's certificate and those between it and its authority, in PEM.
    pub cert: Option<PathBuf>,
    /// The private key of the client's certificate, in PEM.
    pub key: Option<PathBuf>,
}

impl Default for Tls {
    fn default() -> Tls {
        Tls { mode: TlsMode::Preferred, ca: None, cert: None, key: None }
    }
}

/// Tells whether nobody waits any more for the work of a connection. It then ends soon, also when its server stands
/// still and its statements have no limit.
#[derive(Clone, Default)]
pub struct Abandoned(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Abandoned {
    /// So long after it was abandoned a connection may still wait for an answer.
    const LIMIT: Duration = Duration::from_secs(3);
    /// How often it looks whether it was.
    const LOOK: Duration = Duration::from_millis(100);

    /// What is asked while a connection waits.
    pub fn when(abandoned: impl Fn() -> bool + Send + Sync + 'static) -> Abandoned {
        Abandoned(Some(Arc::new(abandoned)))
    }

    /// Whether it is so now.
    pub(super) fn now(&self) -> bool {
        self.0.as_ref().is_some_and(|abandoned| abandoned())
    }

    /// Waits until a connection has to end.
    pub(super) async fn at_an_end(&self) {
        if self.0.is_none() {
            std::future::pending::<()>().await;
        }
        while !self.now() {
            sleep(Abandoned::LOOK).await;
        }
        sleep(Abandoned::LIMIT).await;
    }
}

impl fmt::Debug for Abandoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Abandoned")
    }
}

/// It says nothing of where and as whom a server is reached.
impl PartialEq for Abandoned {
    fn eq(&self, _: &Abandoned) -> bool {
        true
    }
}

/// Everything a connection needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Access {
    /// The server's unix socket; when it is given, host and port do not count.
    pub socket: Option<PathBuf>,
    /// Host name or address. `127.0.0.1` means TCP: it never becomes a socket silently.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// The account.
    pub user: String,
    /// The account's password; empty for a login by the socket's peer.
    pub password: Secret,
    /// Encryption of a connection by TCP.
    pub tls: Tls,
    /// The schema statements work in.
    pub schema: Option<String>,
    /// The longest wait for a connection to be ready; zero means no limit.
    pub connect_timeout: Span,
    /// The longest a statement may take; zero means no limit. The connection of a slower one is killed.
    pub statement_timeout: Span,
    /// Whether the server, too, ends such a statement, a second later: then it ends when this process is gone as well.
    pub limit_on_server: bool,
    /// The longest wait for a row or metadata lock, rounded up to whole seconds; zero leaves it to the server.
    pub lock_wait_timeout: Span,
    /// Whether nothing the connection does may reach the binary log.
    pub suppress_binlog: bool,
    /// The daemon the connection belongs to, sent as the connection attribute `benchd_daemon`.
    pub daemon: Option<Uuid>,
    /// The run the connection works for, sent as the connection attribute `benchd_run`; empty when there is none.
    pub run: String,
    /// Whether anybody waits for it; does not travel to another process.
    #[serde(skip)]
    pub abandoned: Abandoned,
}

impl Default for Access {
    fn default() -> Access {
        Access {
            socket: None,
            host: "127.0.0.1".to_owned(),
            port: 3306,
            user: "benchd".to_owned(),
            password: Secret::default(),
            tls: Tls::default(),
            schema: None,
            connect_timeout: Span::from_secs(10),
            statement_timeout: Span::from_secs(5),
            limit_on_server: true,
            lock_wait_timeout: Span::from_secs(1),
            suppress_binlog: false,
            daemon: None,
            run: String::new(),
            abandoned: Abandoned::default(),
        }
    }
}

impl Access {
    /// Access as a user through a unix socket, everything else as by default.
    pub fn by_socket(socket: impl Into<PathBuf>, user: impl Into<String>) -> Access {
        Access { socket: Some(socket.into()), user: user.into(), ..Access::default() }
    }

    /// Whether the server is one of this host.
    pub fn is_local(&self) -> bool {
        let is_loopback = |host: &str| host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        self.socket.is_some() || self.host == "localhost" || is_loopback(&self.host)
    }

    /// Where the server is: its socket, or `host:port`.
    pub fn address(&self) -> String {
        match &self.socket {
            Some(socket) => socket.display().to_string(),
            None if self.host.contains(':') => format!("[{}]:{}", self.host, self.port),
            None => format!("{}:{}", self.host, self.port),
        }
    }
}

/// Reads a file that holds a password alone; the line's end is not part of it.
///
/// # Errors
/// When the file cannot be read, is empty, is larger than a password, or lets others than its owner and
/// root read it.
pub fn read_password(path: &Path) -> anyhow::Result<Secret> {
    const MOST_BYTES: u64 = 4096;
    let name = path.display();
    let file = File::open(path).with_context(|| {
        format!(
            "password file {name} cannot be opened; it must exist and be readable by the user benchd runs as"
        )
    })?;
    refuse_open_modes(&file, "password file", path)?;
    let mut text = String::new();
    file.take(MOST_BYTES + 1)
        .read_to_string(&mut text)
        .with_context(|| format!("password file {name} cannot be read as text"))?;
    ensure!(
        text.len() as u64 <= MOST_BYTES,
        "password file {name} is larger than {MOST_BYTES} bytes; it must hold the password alone"
    );
    let password = text.strip_suffix('\n').map_or(&*text, |line| line.strip_suffix('\r').unwrap_or(line));
    ensure!(
        !password.is_empty(),
        "password file {name} is empty; write the password into it, or leave out `password_file`"
    );
    ensure!(
        !password.contains('\n'),
        "password file {name} has several lines; it must hold the password alone"
    );
    Ok(Secret::new(password))
}

/// What other accounts can read is no secret. Group access is accepted on root's files, because that is how an
/// administrator lets a service read one (`root:benchd 0640`).
pub(super) fn refuse_open_modes(file: &File, what: &str, path: &Path) -> anyhow::Result<()> {
    let name = path.display();
    let facts = file.metadata().with_context(|| format!("{what} {name} cannot be examined"))?;
    ensure!(facts.is_file(), "{what} {name} is not a regular file");
    let refused = if facts.uid() == 0 { 0o007 } else { 0o077 };
    if facts.mode() & refused != 0 {
        bail!("{what} {name} may be used by others (mode {:04o}); chmod 600 it", facts.mode() & 0o7777);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn password_file(text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        (directory, path)
    }

    #[test]
    fn a_secret_never_shows() {
        let access = Access { password: Secret::new("hunter2"), ..Access::default() };
        assert!(!format!("{access:?} {access:#?}").contains("hunter2"));
    }

    #[test]
    fn access_travels_whole() {
        let access =
            Access { password: Secret::new("hunter2"), schema: Some("s".into()), ..Access::default() };
        let text = serde_json::to_string(&access).unwrap();
        assert_eq!(serde_json::from_str::<Access>(&text).unwrap(), access);
    }

    #[test]
    fn an_address_is_the_socket_or_host_and_port() {
        assert_eq!(Access::by_socket("/run/my.sock", "u").address(), "/run/my.sock");
        assert_eq!(Access::default().address(), "127.0.0.1:3306");
        assert_eq!(Access { host: "::1".into(), ..Access::default() }.address(), "[::1]:3306");
    }

    #[test]
    fn a_server_of_this_host_is_reached_by_a_socket_or_the_loopback() {
        assert!(Access::by_socket("/run/my.sock", "u").is_local() && Access::default().is_local());
        for (host, is_local) in [("localhost", true), ("::1", true), ("127.0.0.2", true), ("db2", false)] {
            assert_eq!(Access { host: host.to_owned(), ..Access::default() }.is_local(), is_local, "{host}");
        }
    }

    #[test]
    fn the_end_of_the_line_is_not_part_of_the_password() {
        for (text, password) in
            [("pass\n", "pass"), ("pass\r\n", "pass"), ("pass", "pass"), (" pa ss \n", " pa ss ")]
        {
            let (_directory, path) = password_file(text, 0o600);
            assert_eq!(read_password(&path).unwrap(), Secret::new(password));
        }
    }

    #[test]
    fn a_password_file_must_hold_one_password_that_others_cannot_read() {
        for (text, mode, problem) in [
            ("", 0o600, "is empty"),
            ("\n", 0o600, "is empty"),
            ("a\nb\n", 0o600, "several lines"),
            ("pass\n", 0o604, "may be used by others (mode 0604)"),
            (&"x".repeat(5000), 0o600, "larger than 4096 bytes"),
        ] {
            let (_directory, path) = password_file(text, mode);
            let error = read_password(&path).unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("password"), "{error}");
        }
    }

    #[test]
    fn a_group_may_read_roots_file_only() {
        let (_directory, path) = password_file("pass\n", 0o640);
        let roots = std::fs::metadata(&path).unwrap().uid() == 0;
        assert_eq!(read_password(&path).is_ok(), roots);
    }

    #[test]
    fn a_missing_password_file_is_named() {
        let error = format!("{:#}", read_password(Path::new("/nonexistent/password")).unwrap_err());
        assert!(error.contains("/nonexistent/password cannot be opened"), "{error}");
        assert!(error.contains("No such file"), "{error}");
    }
}
