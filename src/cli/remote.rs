//! The daemon of another host: HTTPS, with a user whose password is never on the command line.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use hyper::Uri;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::{Common, password};
use crate::exit::{Ended, Exit};
use crate::http::basic_header;

/// A host that does not answer by then is not there.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// The port where none is named.
const PORT: u16 = 10104;
/// Where distributions keep the authorities they trust.
const AUTHORITIES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];

/// A connection, with TLS or without.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// How the daemon of another host is reached.
pub(super) struct Remote {
    host: String,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    authorization: Option<String>,
}

/// The login is not shown.
impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

impl Remote {
    /// What `--url` names; may ask for a password.
    pub(super) fn of(common: &Common) -> Result<Option<Remote>> {
        let Some(url) = &common.url else {
            return match (&common.login, &common.ca) {
                (None, None) => Ok(None),
                _ => Err(wrong("--user and --ca belong to --url https://HOST:10104")),
            };
        };
        let (host, port, is_secure) = parse(url)?;
        if !is_secure && !is_loopback(&host) {
            return Err(wrong(format!(
                "{url} is not asked: without TLS everybody on the way could read and change it. Write https://"
            )));
        }
        let tls = is_secure.then(|| connector(&host, common.ca.as_deref())).transpose()?;
        let login = password::login(common.login.as_deref(), &host)?;
        let authorization = login.map(|(user, password)| basic_header(&user, &password));
        Ok(Some(Remote { host, port, tls, authorization }))
    }

    /// `host:port`, as a request names it.
    pub(super) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    /// The header that says who asks.
    pub(super) fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// Connects; each request has a connection of its own.
    pub(super) async fn connect(&self) -> Result<Box<dyn Stream>> {
        let place = self.authority();
        let unreachable = |error: std::io::Error| {
            Ended::because(Exit::Unreachable, format!("the daemon does not answer on {place}: {error}"))
        };
        let connected = tokio::time::timeout(CONNECT_LIMIT, async {
            let stream = TcpStream::connect((self.host.as_str(), self.port)).await.map_err(unreachable)?;
            let Some((connector, name)) = &self.tls else { return Ok(Box::new(stream) as Box<dyn Stream>) };
            let secure = connector.connect(name.clone(), stream).await;
            let secure = secure.map_err(|error| {
                let advice = "give the authority that signed its certificate with --ca FILE";
                Ended::because(
                    Exit::Unreachable,
                    format!("{place} and this program do not agree on TLS: {error}. {advice}"),
                )
            })?;
            Ok(Box::new(secure) as Box<dyn Stream>)
        });
        connected.await.unwrap_or_else(|_| {
            let limit = CONNECT_LIMIT.as_secs();
            Err(Ended::because(Exit::Unreachable, format!("{place} did not answer within {limit} s")))
        })
    }
}

fn wrong(message: impl Into<String>) -> anyhow::Error {
    Ended::because(Exit::Wrong, message)
}

/// Host, port, and whether TLS is spoken.
fn parse(url: &str) -> Result<(String, u16, bool)> {
    let refuse = || wrong(format!("`{url}` is not where a daemon can be: write https://HOST:{PORT}"));
    let uri: Uri = url.parse().map_err(|_| refuse())?;
    let is_secure = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(refuse()),
    };
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(refuse)?;
    let authority = uri.authority().map_or("", hyper::http::uri::Authority::as_str);
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() || authority.contains('@') {
        return Err(refuse());
    }
    Ok((host.trim_matches(['[', ']']).to_owned(), uri.port_u16().unwrap_or(PORT), is_secure))
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn connector(host: &str, ca: Option<&Path>) -> Result<(TlsConnector, ServerName<'static>)> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| wrong(format!("`{host}` is not the name of a host")))?;
    let path = match ca {
        Some(path) => path.to_owned(),
        None => authorities()
            .ok_or_else(|| wrong("this host has no list of authorities to trust: name one with --ca FILE"))?,
    };
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("TLS 1.2 and 1.3 cannot be set up")?
        .with_root_certificates(roots(&path)?)
        .with_no_client_auth();
    Ok((TlsConnector::from(Arc::new(config)), name))
}

fn authorities() -> Option<PathBuf> {
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    named.into_iter().chain(AUTHORITIES.map(PathBuf::from)).find(|path| path.exists())
}

fn roots(path: &Path) -> Result<RootCertStore> {
    let unusable = |why: String| wrong(format!("{} holds no certificates to trust: {why}", path.display()));
    let found = CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
    let certificates: Vec<_> =
        found.collect::<Result<_, _>>().map_err(|error| unusable(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    // A list of a system may hold some that no library takes any more.
    let (taken, _) = roots.add_parsable_certificates(certificates);
    if taken == 0 { Err(unusable("it must be a PEM file with at least one".to_owned())) } else { Ok(roots) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_host_port_and_tls() {
        let read = |url| parse(url).ok();
        assert_eq!(read("https://db1:10104"), Some(("db1".to_owned(), 10104, true)));
        assert_eq!(read("https://db1.example.com/"), Some(("db1.example.com".to_owned(), PORT, true)));
        assert_eq!(read("http://[::1]:1"), Some(("::1".to_owned(), 1, false)));
        for refused in [
            "",
            "db1:10104",
            "ftp://db1",
            "https://db1/metrics",
            "https://alice:x@db1",
            "https://",
            "https://db1?x",
        ] {
            assert_eq!(read(refused), None, "{refused}");
        }
    }

    #[test]
    fn only_this_host_is_asked_without_tls() {
        for (host, is) in
            [("localhost", true), ("127.0.0.1", true), ("::1", true), ("db1", false), ("192.0.2.1", false)]
        {
            assert_eq!(is_loopback(host), is, "{host}");
        }
    }
}
