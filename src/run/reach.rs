//! How a server of the configuration is reached: the target's keys, its defaults file and its credential joined.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::config::{Binlog, Endpoint, ServerTarget};
use crate::target::{Access, Defaults, Tls, read_defaults, read_password};

/// The account where neither the configuration nor a defaults file names one.
const USER: &str = "benchd";

/// Where systemd lies the credentials of this service, when it has any.
fn credentials() -> Option<PathBuf> {
    std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from)
}

/// How to reach the server of a target. Keys of the configuration win over its defaults file.
pub(crate) fn server_access(name: &str, server: &ServerTarget) -> Result<Access> {
    access_with(name, server, credentials().as_deref()).with_context(|| format!("target {name}"))
}

fn access_with(name: &str, server: &ServerTarget, credentials: Option<&Path>) -> Result<Access> {
    let defaults = match &server.defaults_file {
        Some(file) => read_defaults(file)?,
        None => Defaults::default(),
    };
    let password = match password_file(name, server, credentials) {
        Some(file) => read_password(&file)?,
        None => defaults.password.clone().unwrap_or_default(),
    };
    let (socket, host, port) = place(server, &defaults)?;
    Ok(Access {
        socket,
        host,
        port,
        user: server.user.clone().or_else(|| defaults.user.clone()).unwrap_or_else(|| USER.to_owned()),
        password,
        tls: tls(server, defaults),
        connect_timeout: server.connect_timeout,
        statement_timeout: server.statement_timeout,
        lock_wait_timeout: server.lock_wait_timeout,
        suppress_binlog: server.binlog == Binlog::Suppress,
        ..Access::default()
    })
}

/// The file that holds the password alone: the one of the configuration, or the credential `NAME-password`.
fn password_file(name: &str, server: &ServerTarget, credentials: Option<&Path>) -> Option<PathBuf> {
    let credential = || credentials.map(|directory| directory.join(format!("{name}-password")));
    server.password_file.clone().or_else(|| credential().filter(|file| file.exists()))
}

/// Socket, host and port. Of a defaults file a socket counts for this host alone, as the clients have it.
fn place(server: &ServerTarget, defaults: &Defaults) -> Result<(Option<PathBuf>, String, u16)> {
    let port = defaults.port.unwrap_or(Access::default().port);
    match (&server.endpoint, &defaults.socket, &defaults.host) {
        (Some(Endpoint::Socket { socket }), ..) => Ok((Some(socket.clone()), String::new(), 0)),
        (Some(Endpoint::Tcp { host, port }), ..) => Ok((None, host.clone(), *port)),
        (None, _, Some(host)) if host != "localhost" => Ok((None, host.clone(), port)),
        (None, Some(socket), _) => Ok((Some(socket.clone()), String::new(), 0)),
        (None, None, Some(host)) => Ok((None, host.clone(), port)),
        (None, None, None) => {
            let file = server.defaults_file.as_deref().unwrap_or(Path::new(""));
            let problem =
                "names neither socket nor host; write one of them into it or into the configuration";
            Err(anyhow::anyhow!("defaults file {} {problem}", file.display()))
        }
    }
}

fn tls(server: &ServerTarget, defaults: Defaults) -> Tls {
    // A certificate and its key belong together.
    let own = server.tls_cert.is_some() || server.tls_key.is_some();
    let (cert, key) = if own {
        (server.tls_cert.clone(), server.tls_key.clone())
    } else {
        (defaults.tls_cert, defaults.tls_key)
    };
    Tls {
        mode: server.tls.or(defaults.tls).unwrap_or(Tls::default().mode),
        ca: server.tls_ca.clone().or(defaults.tls_ca),
        cert,
        key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TlsMode;
    use crate::target::Secret;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    /// A directory with files that only their owner can read.
    fn files(files: &[(&str, &str)]) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        }
        directory
    }

    /// A target of which everything that can be left to a defaults file is left to it.
    fn silent(directory: &TempDir) -> ServerTarget {
        let tcp = Endpoint::Tcp { host: "db".to_owned(), port: 3306 };
        let defaults_file = Some(directory.path().join("my.cnf"));
        ServerTarget { endpoint: None, user: None, tls: None, defaults_file, ..ServerTarget::new(tcp) }
    }

    const WHOLE: &str = "[client]\nuser=u\npassword=p\nhost=h\nport=3307\nsocket=/s\nssl-mode=REQUIRED\nssl-ca=/ca\n\
                         ssl-cert=/cert\nssl-key=/key\n";

    #[test]
    fn what_the_configuration_leaves_open_is_the_defaults_files() {
        let directory = files(&[("my.cnf", WHOLE)]);
        let access = access_with("main", &silent(&directory), None).unwrap();
        let tls = Tls {
            mode: TlsMode::Required,
            ca: Some("/ca".into()),
            cert: Some("/cert".into()),
            key: Some("/key".into()),
        };
        assert_eq!((access.address(), access.user.as_str(), access.tls), ("h:3307".to_owned(), "u", tls));
        assert_eq!(access.password, Secret::new("p"));
    }

    #[test]
    fn keys_of_the_configuration_win_over_the_defaults_file() {
        let directory = files(&[("my.cnf", WHOLE), ("password", "own\n")]);
        let server = ServerTarget {
            endpoint: Some(Endpoint::Tcp { host: "own".to_owned(), port: 3306 }),
            user: Some("own".to_owned()),
            password_file: Some(directory.path().join("password")),
            tls: Some(TlsMode::Disabled),
            tls_ca: Some("/own".into()),
            ..silent(&directory)
        };
        let access = access_with("main", &server, None).unwrap();
        assert_eq!((access.address().as_str(), access.user.as_str()), ("own:3306", "own"));
        assert_eq!((access.password, access.tls.mode), (Secret::new("own"), TlsMode::Disabled));
        assert_eq!(access.tls.ca, Some("/own".into()));
    }

    #[test]
    fn a_socket_of_a_defaults_file_counts_for_this_host() {
        for (text, address) in [
            ("socket=/s", "/s"),
            ("socket=/s\nhost=localhost", "/s"),
            ("socket=/s\nhost=127.0.0.1", "127.0.0.1:3306"),
            ("host=localhost\nport=1", "localhost:1"),
        ] {
            let directory = files(&[("my.cnf", &format!("[client]\n{text}"))]);
            assert_eq!(access_with("main", &silent(&directory), None).unwrap().address(), address, "{text}");
        }
        let directory = files(&[("my.cnf", "[client]\nuser=u")]);
        let error = access_with("main", &silent(&directory), None).unwrap_err().to_string();
        assert!(error.contains("my.cnf names neither socket nor host; write one of them"), "{error}");
    }

    #[test]
    fn a_credential_of_the_targets_name_is_its_password() {
        let directory = files(&[("main-password", "secret\n"), ("my.cnf", WHOLE), ("password", "own\n")]);
        let (silent, credentials) = (silent(&directory), Some(directory.path()));
        let password =
            |name: &str, server: &ServerTarget| access_with(name, server, credentials).unwrap().password;
        assert_eq!(password("main", &silent), Secret::new("secret"));
        assert_eq!(password("other", &silent), Secret::new("p"));
        let file = ServerTarget { password_file: Some(directory.path().join("password")), ..silent };
        assert_eq!(password("main", &file), Secret::new("own"));
    }

    #[test]
    fn a_target_with_nothing_but_its_place_has_no_password_and_prefers_tls() {
        let server = ServerTarget::new(Endpoint::Tcp { host: "db".to_owned(), port: 3306 });
        let access = access_with("main", &server, None).unwrap();
        assert_eq!((access.user.as_str(), access.password), (USER, Secret::default()));
        assert_eq!(access.tls, Tls::default());
    }
}
