//! Asks the interface what a client asks, from outside: whether it still answers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use super::server::Shared;

const REQUEST: &[u8] = b"GET /-/healthy HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// Asks the server it was made from for as long as that listens.
pub struct Probe(pub(super) Arc<Shared>);

/// What came of a connection to one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Anything at all: a refusal is an answer.
    Given,
    /// Nobody could be asked: the address or the file is gone.
    NotAsked,
    /// The connection was made, and nothing came.
    Silence,
}

impl Probe {
    /// Whether somewhere it answers, and nowhere it keeps silent for so long.
    pub async fn answers(&self, within: Duration) -> bool {
        let mut given = false;
        for place in self.0.listening() {
            let answer = tokio::time::timeout(within, ask(&place)).await.unwrap_or(Answer::Silence);
            if answer == Answer::Silence {
                return false;
            }
            given |= answer == Answer::Given;
        }
        given
    }
}

async fn ask(place: &str) -> Answer {
    match place.parse() {
        Ok(address) => match TcpStream::connect(reachable(address)).await {
            Ok(stream) => exchange(stream).await,
            Err(_) => Answer::NotAsked,
        },
        Err(_) => match UnixStream::connect(place).await {
            Ok(stream) => exchange(stream).await,
            Err(_) => Answer::NotAsked,
        },
    }
}

/// A connection that is closed was taken by somebody, which is what is asked.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> Answer {
    // A peer that closed at once is met by the read.
    let _ = stream.write_all(REQUEST).await;
    let _ = stream.read(&mut [0; 1]).await;
    Answer::Given
}

/// Every address of the host means one of its own here.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    const WITHIN: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn silence_is_told_from_an_answer_and_from_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap().to_string();
        assert!(
            tokio::time::timeout(WITHIN, ask(&place)).await.is_err(),
            "the kernel connects, nobody accepts"
        );
        let (answer, _) = tokio::join!(ask(&place), async {
            // The one before, which gave up, and this one.
            drop(listener.accept().await.unwrap());
            drop(listener.accept().await.unwrap());
        });
        assert_eq!(answer, Answer::Given);
        drop(listener);
        assert_eq!(ask(&place).await, Answer::NotAsked);
        assert_eq!(ask("/nowhere/benchd.sock").await, Answer::NotAsked);
    }

    #[test]
    fn every_address_is_asked_at_one_of_this_host() {
        for (all, one) in
            [("0.0.0.0:1", "127.0.0.1:1"), ("[::]:1", "[::1]:1"), ("192.0.2.1:1", "192.0.2.1:1")]
        {
            assert_eq!(reachable(all.parse().unwrap()), one.parse().unwrap());
        }
    }
}
