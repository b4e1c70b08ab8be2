//! The bytes to and from a server: a blocking socket, perhaps with TLS on it.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::sockopt::SendTimeout;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, setsockopt, socket};
use nix::sys::time::TimeVal;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::watch::LimitedSocket;
use crate::target::Access;

/// A connected socket.
#[derive(Debug)]
pub(super) struct Socket {
    limited: Arc<LimitedSocket>,
    is_unix: bool,
}

/// A connection as bytes. Which kind it is is known when it is made, and each call is a branch, not a pointer.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(Socket),
    Tls(Box<Tls>),
}

/// TLS on a socket.
type Tls = StreamOwned<ClientConnection, Socket>;

/// How TLS is spoken, and whose certificate is expected.
#[derive(Debug)]
pub(super) struct Encryption {
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
}

impl Stream {
    /// Connects within the limit; zero is no limit.
    pub(super) fn connect(access: &Access, limit: Duration, begun: Instant) -> io::Result<Stream> {
        let socket = match &access.socket {
            Some(path) => Socket::from(connect_socket(path, limit)?),
            None => Socket::from(connect_tcp(access, limit, begun)?),
        };
        Ok(Stream::Plain(socket))
    }

    /// Puts TLS on a plain connection. The handshake takes place with what is next sent.
    pub(super) fn encrypt(self, Encryption { config, name }: Encryption) -> io::Result<Stream> {
        let Stream::Plain(socket) = self else { return Ok(self) };
        let session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        Ok(Stream::Tls(Box::new(StreamOwned::new(session, socket))))
    }

    /// Whether a password may travel as it is: nobody on the way can read it.
    pub(super) fn is_private(&self) -> bool {
        self.is_encrypted() || self.socket().is_unix
    }

    /// Whether TLS is on it.
    pub(super) fn is_encrypted(&self) -> bool {
        matches!(self, Stream::Tls(_))
    }

    /// Waits on a unix socket until there is something to read. Unlike a read it does not wake before, when the peer takes
    /// what it was sent. Where a read waits by itself as well, it does nothing.
    #[inline(always)]
    pub(super) fn wait(&self) -> io::Result<()> {
        match self {
            Stream::Plain(socket) if socket.is_unix => {
                poll(&mut [PollFd::new(&*socket.limited, PollFlags::IN)], None)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Ends both directions.
    pub(super) fn shut_down(&self) -> io::Result<()> {
        Ok(shutdown(&**self.limited(), Shutdown::Both)?)
    }

    /// The socket's limits.
    #[inline]
    pub(super) fn limited(&self) -> &Arc<LimitedSocket> {
        &self.socket().limited
    }

    #[inline]
    fn socket(&self) -> &Socket {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(tls) => &tls.sock,
        }
    }
}

impl From<UnixStream> for Socket {
    fn from(socket: UnixStream) -> Socket {
        Socket { limited: LimitedSocket::new(socket.into()), is_unix: true }
    }
}

impl From<TcpStream> for Socket {
    fn from(socket: TcpStream) -> Socket {
        Socket { limited: LimitedSocket::new(socket.into()), is_unix: false }
    }
}

/// The kernel is asked without the C library, which makes each of its calls a point where a thread can be cancelled:
/// a fourteenth of the loop's user time.
impl Read for Socket {
    #[inline(always)]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (read, _) = recv(&*self.limited, buffer, RecvFlags::empty())?;
        Ok(read)
    }
}

impl Write for Socket {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(&*self.limited, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Stream {
    #[inline(always)]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            Stream::Tls(tls) => read_encrypted(tls, buffer),
        }
    }
}

impl Write for Stream {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            Stream::Tls(tls) => write_encrypted(tls, bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(_) => Ok(()),
            Stream::Tls(tls) => tls.flush(),
        }
    }
}

#[inline(never)]
fn read_encrypted(tls: &mut Tls, buffer: &mut [u8]) -> io::Result<usize> {
    tls.read(buffer)
}

#[inline(never)]
fn write_encrypted(tls: &mut Tls, bytes: &[u8]) -> io::Result<usize> {
    tls.write(bytes)
}

/// Connects to a unix socket. The standard library has no limit for that, and a server that stands still does not
/// empty its queue; the kernel takes the limit of sending for it.
fn connect_socket(path: &Path, limit: Duration) -> io::Result<UnixStream> {
    let socket = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    let seconds = i64::from(i32::try_from(limit.as_secs()).unwrap_or(i32::MAX));
    setsockopt(&socket, SendTimeout, &TimeVal::new(seconds, i64::from(limit.subsec_micros())))?;
    connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    setsockopt(&socket, SendTimeout, &TimeVal::new(0, 0))?;
    Ok(UnixStream::from(socket))
}

/// Connects to the first of the host's addresses that answers.
fn connect_tcp(access: &Access, limit: Duration, begun: Instant) -> io::Result<TcpStream> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in addresses(access, limit)? {
        let connected = match limit.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
            _ if limit.is_zero() => TcpStream::connect(address),
            Some(left) => TcpStream::connect_timeout(&address, left),
            None => return Err(io::ErrorKind::TimedOut.into()),
        };
        match connected {
            Ok(stream) => return stream.set_nodelay(true).map(|()| stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// The addresses of a host. A name is looked up in a thread of its own, because a look-up knows no limit; when it
/// hangs, the thread is left behind until it ends.
fn addresses(access: &Access, limit: Duration) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = access.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, access.port)]);
    }
    let place = (access.host.clone(), access.port);
    let (found, look_up) = channel();
    let look = move || found.send(place.to_socket_addrs().map(Vec::from_iter));
    thread::Builder::new().name("look-up".to_owned()).spawn(look)?;
    let most = if limit.is_zero() { Duration::MAX } else { limit };
    look_up.recv_timeout(most).unwrap_or_else(|error| match error {
        RecvTimeoutError::Timeout => Err(io::ErrorKind::TimedOut.into()),
        RecvTimeoutError::Disconnected => Err(io::Error::other("the look-up of the host's name ended early")),
    })
}
