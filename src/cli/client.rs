//! Speaks to the daemon over its unix socket, or by HTTPS to that of another host: one connection a request, JSON both
//! ways.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use super::Common;
use super::remote::Remote;
use crate::exit::{Ended, Exit};
use crate::record::Event;

/// The daemon answers everything but events at once.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// Events that may wait for a slow terminal.
const WAITING_EVENTS: usize = 256;

/// The daemon, as a command sees it.
#[derive(Debug, Clone)]
pub(crate) struct Daemon {
    place: Place,
}

/// An answer of the daemon.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
}

/// What a problem of the API tells a person.
#[derive(Debug, Deserialize)]
struct Problem {
    #[serde(default)]
    detail: String,
    #[serde(default, rename = "do")]
    advice: String,
}

/// Where a daemon is reached.
#[derive(Debug, Clone)]
enum Place {
    Socket(PathBuf),
    Remote(Arc<Remote>),
}

impl Daemon {
    /// The daemon that the options name, when one answers there: `--url`, else the socket.
    ///
    /// # Errors
    /// When there is a daemon and this user may not open its socket; when none answers behind a URL.
    pub(crate) async fn find(common: &Common) -> Result<Option<Daemon>> {
        if let Some(remote) = Remote::of(common)? {
            remote.connect().await?;
            return Ok(Some(Daemon { place: Place::Remote(Arc::new(remote)) }));
        }
        let Some(socket) = common.socket() else { return Ok(None) };
        match UnixStream::connect(&socket).await {
            Ok(_) => Ok(Some(Daemon { place: Place::Socket(socket) })),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Err(Ended::because(
                Exit::Forbidden,
                format!(
                    "{} may not be opened by this user: its file mode decides who may ask; become a member of its group",
                    socket.display()
                ),
            )),
            Err(_) => Ok(None),
        }
    }

    /// The daemon that the options name.
    ///
    /// # Errors
    /// When none answers there.
    pub(crate) async fn need(common: &Common) -> Result<Daemon> {
        Daemon::find(common).await?.ok_or_else(|| {
            let place = common.socket().map_or_else(|| "no socket".to_owned(), |socket| socket.display().to_string());
            Ended::because(
                Exit::Unreachable,
                format!("the daemon does not answer on {place}: start it with `benchd serve` or `systemctl start benchd`, or name its socket with --socket"),
            )
        })
    }

    /// Asks for something.
    pub(crate) async fn get(&self, path: &str) -> Result<Answer> {
        self.ask(Method::GET, path, None).await
    }

    /// Asks for a change.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Answer> {
        self.ask(Method::POST, path, Some(body)).await
    }

    /// Asks for an end.
    pub(crate) async fn delete(&self, path: &str) -> Result<Answer> {
        self.ask(Method::DELETE, path, None).await
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer> {
        let exchange = async {
            let response = self.send(method, path, body).await?;
            let status = response.status();
            let bytes = response.into_body().collect().await.context("read the daemon's answer")?.to_bytes();
            let body = if bytes.is_empty() {
                Value::Null
            } else {
                serde_json::from_slice(&bytes).context("the daemon's answer is not JSON")?
            };
            Ok(Answer { status, body })
        };
        tokio::time::timeout(ANSWER_LIMIT, exchange)
            .await
            .map_err(|_| anyhow!("the daemon did not answer within {} s", ANSWER_LIMIT.as_secs()))?
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Response<Incoming>> {
        let mut sender = match &self.place {
            Place::Socket(path) => {
                let connected = UnixStream::connect(path).await;
                greet(connected.with_context(|| format!("connect to the daemon on {}", path.display()))?)
                    .await?
            }
            Place::Remote(remote) => greet(remote.connect().await?).await?,
        };
        let bytes = body.map(Value::to_string).unwrap_or_default();
        let mut request = Request::builder().method(method).uri(path);
        match &self.place {
            Place::Socket(_) => request = request.header("host", "localhost"),
            Place::Remote(remote) => {
                request = request.header("host", remote.authority());
                if let Some(login) = remote.authorization() {
                    request = request.header("authorization", login);
                }
            }
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let request = request.body(Full::new(Bytes::from(bytes))).context("build the request")?;
        sender.send_request(request).await.context("ask the daemon")
    }

    /// Follows the events of a run until its end.
    pub(crate) async fn events(&self, id: &str) -> Result<mpsc::Receiver<Event>> {
        let response = self.send(Method::GET, &format!("/api/v1/runs/{id}/events"), None).await?;
        if response.status() != StatusCode::OK {
            let status = response.status();
            let bytes = response.into_body().collect().await.context("read the daemon's answer")?.to_bytes();
            return Err(refusal(&Answer {
                status,
                body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
            }));
        }
        let (sender, events) = mpsc::channel(WAITING_EVENTS);
        tokio::spawn(forward(response.into_body(), sender));
        Ok(events)
    }
}

async fn greet<S>(stream: S) -> Result<http1::SendRequest<Full<Bytes>>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.context("greet the daemon")?;
    tokio::spawn(async move {
        // What goes wrong on the connection shows in the request that waits for it.
        let _ = connection.await;
    });
    Ok(sender)
}

/// Takes server-sent events apart and passes them on; the stream ends when either side goes away.
async fn forward(mut body: Incoming, sender: mpsc::Sender<Event>) {
    let mut text = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else { continue };
        text.extend_from_slice(data);
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            let Some(json) = line.strip_prefix(b"data:") else { continue };
            let Ok(event) = serde_json::from_slice(json) else { continue };
            if sender.send(event).await.is_err() {
                return;
            }
        }
    }
}

impl Answer {
    /// The body of an answer that says yes.
    ///
    /// # Errors
    /// What the daemon refused, with the exit code that stands for it.
    pub(crate) fn accepted(self) -> Result<Value> {
        if self.status.is_success() { Ok(self.body) } else { Err(refusal(&self)) }
    }
}

fn refusal(answer: &Answer) -> anyhow::Error {
    let problem: Problem = serde_json::from_value(answer.body.clone()).unwrap_or(Problem {
        detail: format!("the daemon answered {}", answer.status),
        advice: String::new(),
    });
    let exit = match answer.status.as_u16() {
        401 | 403 => Exit::Forbidden,
        409 => Exit::Busy,
        423 => Exit::Blocked,
        400..=499 => Exit::Wrong,
        _ => Exit::Failed,
    };
    let advice = if problem.advice.is_empty() { String::new() } else { format!(": {}", problem.advice) };
    Ended::because(exit, format!("{}{advice}", problem.detail))
}
