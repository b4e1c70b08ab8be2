//! TLS for the client library. What the library can verify by itself is not what the modes promise (it has no
//! encryption that is merely preferred, and its check of an authority without the host's name depends on the text
//! of an error), so TLS is spoken here: the library is given a socket that only this process can use, and what it
//! sends there travels encrypted.
//!
//! The library takes that socket for a secure place, as it must: a password may be sent as it is. So nothing is
//! ever carried without encryption.

use std::io;
use std::sync::Arc;

use mysql_async::{Error, IoError, ServerError};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy, split};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, CertificateError, ClientConfig};

use super::access::Access;
use super::error::{ErrorClass, SqlError};
use crate::record::TlsMode;

/// Bit of the capabilities by which a server offers TLS and a client asks for it.
const CAPABILITY_TLS: u16 = 1 << 11;
/// What a client says of itself before it asks for TLS: the first bytes of its login.
const REQUEST_BYTES: usize = 32;
/// No packet of a login is larger.
const MOST_BYTES: usize = 1 << 20;
/// How a server asks for another kind of login, and for one whose password travels encrypted by TLS alone. The
/// library knows that exchange by another name only.
const ASKS_SHA256: &[u8] = b"\xfesha256_password\0";
const ASKS_CLEAR: &[u8] = b"\xfemysql_clear_password\0";

/// An encrypted connection on its way between the library and a server. It moves while its runtime is driven.
#[derive(Debug)]
pub(super) struct Relay {
    socket: String,
    failure: oneshot::Receiver<SqlError>,
    task: JoinHandle<()>,
}

impl Relay {
    /// Connects to the server; `None` when it offers no TLS and the mode is content without. It is asked anew then:
    /// a connection on which the library must not send a password as it is cannot be carried.
    pub(super) async fn open(access: &Access, config: Arc<ClientConfig>) -> Result<Option<Relay>, SqlError> {
        let name = server_name(access)?;
        let (server, greeting) = greeted(access).await.map_err(|error| of_system(access, error))?;
        if greeting.first() == Some(&0xff) {
            return Err(SqlError::connecting(access, &Error::Server(server_error(&greeting))));
        }
        if !offers_tls(&greeting) {
            return match access.tls.mode {
                TlsMode::Preferred => Ok(None),
                _ => Err(no_tls(access)),
            };
        }
        // A name that is no file: the socket is gone with its last descriptor.
        let socket = format!("\0benchd-{}", uuid::Uuid::new_v4());
        let listener = UnixListener::bind(&socket).map_err(|error| of_system(access, error))?;
        let (sender, failure) = oneshot::channel();
        let access = access.clone();
        let task = tokio::spawn(async move {
            if let Err(error) = carry(&listener, server, greeting, config, name).await {
                // Nobody listens any more once the login is over.
                let _ = sender.send(explain(&access, error));
            }
        });
        Ok(Some(Relay { socket, failure, task }))
    }

    /// The socket for the library.
    pub(super) fn socket(&self) -> &str {
        &self.socket
    }

    /// Why the library's login failed, when it was for TLS.
    pub(super) fn failure(&mut self) -> Option<SqlError> {
        self.failure.try_recv().ok()
    }

    /// Waits until all that the library sent is sent, once the library has left.
    pub(super) async fn end(self) {
        // It says nothing that matters any more.
        let _ = self.task.await;
    }
}

/// The host's name as a certificate can have it.
pub(super) fn server_name(access: &Access) -> Result<ServerName<'static>, SqlError> {
    ServerName::try_from(access.host.clone()).map_err(|_| {
        let advice = "correct `host`, or set tls = \"disabled\"";
        refuse(access, "`host` is no name that a certificate can have", advice)
    })
}

/// The server offers no TLS, and the mode is not content without.
pub(super) fn no_tls(access: &Access) -> SqlError {
    let advice = "set up TLS on the server, or set tls = \"preferred\" or \"disabled\"";
    refuse(access, &format!("the server offers no TLS, tls = \"{}\"", access.tls.mode), advice)
}

/// Connects by TCP and reads the server's first packet.
async fn greeted(access: &Access) -> io::Result<(TcpStream, Vec<u8>)> {
    let mut server = TcpStream::connect((access.host.as_str(), access.port)).await?;
    server.set_nodelay(true)?;
    let (_, greeting) = read_packet(&mut server).await?;
    Ok((server, greeting))
}

/// Whether a greeting (protocol 10: version, its end, connection's number, salt, filler, capabilities) offers TLS.
fn offers_tls(greeting: &[u8]) -> bool {
    let Some((10, rest)) = greeting.split_first() else { return false };
    let Some(end) = rest.iter().position(|byte| *byte == 0) else { return false };
    match rest.get(end + 14..end + 16) {
        Some(&[low, high]) => u16::from_le_bytes([low, high]) & CAPABILITY_TLS != 0,
        _ => false,
    }
}

/// The error a server greets with instead, as when it has no connection to spare.
fn server_error(packet: &[u8]) -> ServerError {
    let code = packet.get(1..3).map_or(0, |code| u16::from_le_bytes([code[0], code[1]]));
    let message = String::from_utf8_lossy(packet.get(3..).unwrap_or_default()).into_owned();
    ServerError { code, message, state: String::new() }
}

/// Logs the library in by TLS and then carries everything between it and the server, until one of them leaves.
async fn carry(
    listener: &UnixListener,
    mut server: TcpStream,
    greeting: Vec<u8>,
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
) -> io::Result<()> {
    let mut library = accept_own(listener).await?;
    library.write_all(&packet(0, &greeting)).await?;
    let (_, mut login) = read_packet(&mut library).await?;
    let request = login.get_mut(..REQUEST_BYTES).ok_or_else(|| io::Error::other("the login is too short"))?;
    let [low, high] = CAPABILITY_TLS.to_le_bytes();
    request[0] |= low;
    request[1] |= high;
    server.write_all(&packet(1, request)).await?;
    let mut encrypted = TlsConnector::from(config).connect(name, server).await?;
    encrypted.write_all(&packet(2, &login)).await?;
    encrypted.flush().await?;
    exchange(library, encrypted).await
}

/// Takes the connection of this process and of no other that may have guessed the socket's name.
async fn accept_own(listener: &UnixListener) -> io::Result<UnixStream> {
    loop {
        let (stream, _) = listener.accept().await?;
        let peer = stream.peer_cred()?.pid().and_then(|pid| u32::try_from(pid).ok());
        if peer == Some(std::process::id()) {
            return Ok(stream);
        }
    }
}

async fn exchange(library: UnixStream, encrypted: TlsStream<TcpStream>) -> io::Result<()> {
    let (from_library, to_library) = library.into_split();
    let (from_server, to_server) = split(encrypted);
    tokio::select! {
        ended = to_the_server(from_library, to_server) => ended,
        ended = to_the_library(from_server, to_library) => ended,
    }
}

/// The server has seen one packet more, the request for TLS, so packets are renumbered until the login is over.
/// The numbers of a command begin at 0.
async fn to_the_server(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    loop {
        let (number, payload) = match read_header(&mut from).await {
            Ok(header) if header[3] == 0 => {
                to.write_all(&header).await?;
                return copy(&mut from, &mut to).await.map(drop);
            }
            Ok(header) => (header[3], read_payload(&mut from, header).await?),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        };
        to.write_all(&packet(number.wrapping_add(1), &payload)).await?;
        to.flush().await?;
    }
}

/// Renumbers the server's packets until it has said whether the login succeeded.
async fn to_the_library(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    loop {
        let (number, payload) = read_packet(&mut from).await?;
        let payload = match payload.strip_prefix(ASKS_SHA256) {
            Some(rest) => [ASKS_CLEAR, rest].concat(),
            None => payload,
        };
        to.write_all(&packet(number.wrapping_sub(1), &payload)).await?;
        if matches!(payload.first(), Some(0x00 | 0xff)) {
            // What ends a connection after that is no failure of TLS; the library sees for itself that it ended.
            let _ = copy(&mut from, &mut to).await;
            return Ok(());
        }
    }
}

async fn read_packet(from: &mut (impl AsyncRead + Unpin)) -> io::Result<(u8, Vec<u8>)> {
    let header = read_header(from).await?;
    Ok((header[3], read_payload(from, header).await?))
}

/// Length in three bytes, the lowest first, and the packet's number.
async fn read_header(from: &mut (impl AsyncRead + Unpin)) -> io::Result<[u8; 4]> {
    let mut header = [0; 4];
    from.read_exact(&mut header).await?;
    Ok(header)
}

async fn read_payload(from: &mut (impl AsyncRead + Unpin), header: [u8; 4]) -> io::Result<Vec<u8>> {
    let [low, middle, high, _] = header;
    let length = usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16;
    if length > MOST_BYTES {
        return Err(io::Error::other("what answers is no MySQL or MariaDB server"));
    }
    let mut payload = vec![0; length];
    from.read_exact(&mut payload).await?;
    Ok(payload)
}

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    // The lengths come from packets that were read, so three bytes hold them.
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes();
    [&[length[0], length[1], length[2], number], payload].concat()
}

fn refuse(access: &Access, found: &str, advice: &str) -> SqlError {
    SqlError::not_connected(access, ErrorClass::Connection, found, advice)
}

fn of_system(access: &Access, error: io::Error) -> SqlError {
    SqlError::connecting(access, &Error::Io(IoError::Io(error)))
}

/// What an error met while TLS began says about the server's certificate, and what to do.
pub(super) fn explain(access: &Access, error: io::Error) -> SqlError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(tls) = inner else { return of_system(access, error) };
    match tls {
        // A bad signature is that of another authority with the same name.
        rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => refuse(
            access,
            "the server's certificate was not signed by an authority in tls_ca",
            "correct `tls_ca`, or see who answers there",
        ),
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => refuse(
            access,
            &format!("the server's certificate is for other hosts than `{}` ({tls})", access.host),
            "give the server a certificate with this name, correct `host`, or set tls = \"verify_ca\"",
        ),
        rustls::Error::InvalidCertificate(_) => {
            refuse(access, &format!("the server's certificate does not hold ({tls})"), "renew it")
        }
        rustls::Error::AlertReceived(_) => refuse(
            access,
            &format!("the server refused TLS ({tls})"),
            "correct `tls_cert` and `tls_key`, or the server's authority for clients",
        ),
        _ => refuse(access, &format!("TLS failed ({tls})"), "see the server's TLS options and its error log"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(capabilities: u16) -> Vec<u8> {
        let [low, high] = capabilities.to_le_bytes();
        let mut greeting = b"\x0a5.5.5-10.11\0".to_vec();
        greeting.extend([0; 13]);
        greeting.extend([low, high, 33, 2, 0]);
        greeting
    }

    #[test]
    fn an_offer_of_tls_is_one_bit_of_the_greeting() {
        assert!(offers_tls(&greeting(CAPABILITY_TLS)) && offers_tls(&greeting(u16::MAX)));
        assert!(!offers_tls(&greeting(!CAPABILITY_TLS)));
        for length in 0..greeting(CAPABILITY_TLS).len() - 3 {
            assert!(!offers_tls(&greeting(CAPABILITY_TLS)[..length]), "{length}");
        }
    }

    #[tokio::test]
    async fn a_packet_reads_as_it_was_written() {
        for payload in [vec![], vec![7; 300], vec![9; 70_000]] {
            let written = packet(3, &payload);
            assert_eq!(read_packet(&mut written.as_slice()).await.unwrap(), (3, payload));
        }
        assert!(read_packet(&mut [255, 255, 255, 0].as_slice()).await.is_err());
    }
}
