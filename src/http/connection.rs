//! One connection: its time limits, its requests one after another, and its end.

use std::convert::Infallible;
use std::io::Write;
use std::sync::Arc;

use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::rustls::Error;
use tokio_rustls::server::TlsStream;

use super::access::Access;
use super::answer::Answer;
use super::body::{self, Body};
use super::call::{Call, Query};
use super::crowd::Connection;
use super::gate::{self, Peer};
use super::problem::{Kind, Problem};
use super::routes;
use super::server::{Phase, Reason, Shared, reached};
use super::tls::{Tls, client_names};
use super::web::State;

/// Most bytes of a request's line and headers.
const HEAD_LIMIT: usize = 64 << 10;
/// The first byte of a connection that speaks TLS.
const TLS_HANDSHAKE: u8 = 0x16;

/// Serves a connection by TCP: with TLS when that is configured and spoken, else without.
pub(super) async fn serve_tcp(shared: Arc<Shared>, stream: TcpStream, peer: Peer, place: Connection) {
    let Some(tls) = shared.web.borrow().web.tls.clone() else {
        return serve(shared, stream, peer, place).await;
    };
    let limit = shared.services.config().server.header_timeout.duration();
    let mut phase = shared.phase.subscribe();
    let greeted = tokio::select! {
        greeted = timeout(limit, greet(&tls, stream)) => greeted,
        () = place.gives_way() => {
            shared.rejected.count(Reason::Limit);
            return;
        }
        () = reached(&mut phase, Phase::Finishing) => return,
    };
    // Whoever is too slow, or speaks neither, is told nothing: there is no language to say it in.
    match greeted {
        Ok(Ok(Greeted::Secure(stream))) => {
            let names = if tls.verifies { client_names(&stream).into() } else { Arc::default() };
            serve(shared, *stream, Peer { is_secure: true, names, ..peer }, place).await;
        }
        Ok(Ok(Greeted::Plain(stream))) => serve(shared, stream, peer, place).await,
        Ok(Err(error)) if is_about_the_client(&error) => shared.rejected.count(Reason::Authentication),
        Ok(Err(_)) => {}
        Err(_) => shared.rejected.count(Reason::Timeout),
    }
}

enum Greeted {
    Secure(Box<TlsStream<TcpStream>>),
    Plain(TcpStream),
}

/// The first byte tells whether TLS is spoken.
async fn greet(tls: &Tls, stream: TcpStream) -> std::io::Result<Greeted> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first[0] != TLS_HANDSHAKE {
        return Ok(Greeted::Plain(stream));
    }
    Ok(Greeted::Secure(Box::new(tls.acceptor.accept(stream).await?)))
}

/// Whether a handshake failed because of the client's certificate, or for want of one.
fn is_about_the_client(error: &std::io::Error) -> bool {
    let error = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
    matches!(error, Some(Error::NoCertificatesPresented | Error::InvalidCertificate(_)))
}

/// Serves a connection until either side ends it, until it gives way to a new one before anybody was let in on it, or
/// until another TLS configuration is in force.
pub(super) async fn serve<I>(shared: Arc<Shared>, stream: I, peer: Peer, place: Connection)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request| {
        let (shared, peer, place) = (Arc::clone(&shared), &peer, &place);
        async move { Ok::<_, Infallible>(respond(shared, peer, place, request).await) }
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(shared.services.config().server.header_timeout.duration())
        .max_header_size(HEAD_LIMIT)
        .serve_connection(TokioIo::new(stream), service);
    let mut phase = shared.phase.subscribe();
    let ended = tokio::select! {
        biased;
        ended = &mut connection => ended,
        () = place.gives_way() => {
            shared.rejected.count(Reason::Limit);
            return;
        }
        () = leaving(&shared, &peer) => {
            std::pin::Pin::new(&mut connection).graceful_shutdown();
            tokio::select! {
                ended = &mut connection => ended,
                () = reached(&mut phase, Phase::Over) => return,
            }
        }
    };
    let Err(error) = ended else { return };
    if error.is_parse_too_large() {
        shared.rejected.count(Reason::Size);
    } else if error.is_timeout() {
        let parts = connection.into_parts();
        // A connection on which nothing was asked is only closed.
        if !parts.read_buf.is_empty() {
            shared.rejected.count(Reason::Timeout);
            let mut stream = parts.io.into_inner();
            let problem = Problem::new(
                Kind::Timeout,
                "headers too slow",
                "the headers did not arrive in time (server.header_timeout)",
            );
            // Whoever is that slow may be gone.
            let _ = stream.write_all(raw(&problem, StatusCode::REQUEST_TIMEOUT).as_bytes()).await;
        }
    }
}

/// Waits until a connection should end after its present request: the server stops, or TLS is set up anew.
async fn leaving(shared: &Shared, peer: &Peer) {
    let mut phase = shared.phase.subscribe();
    let mut web = shared.web.subscribe();
    let tls = |web: &State| web.web.tls.as_ref().map(|tls| Arc::as_ptr(tls.acceptor.config()) as usize);
    let then = tls(&web.borrow());
    let outdated = async {
        match peer.address {
            // The sender lives in what is shared, so waiting cannot fail.
            Some(_) => drop(web.wait_for(|web| tls(web) != then).await),
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = reached(&mut phase, Phase::Finishing) => {}
        () = outdated => {}
    }
}

/// Tells a connection beyond the limit so, without waiting, and closes it.
pub(super) fn refuse(shared: &Shared, stream: std::io::Result<impl Write>) {
    shared.rejected.count(Reason::Limit);
    let problem = Problem::new(
        Kind::Limit,
        "too many connections",
        "all connections are in use (server.max_connections)",
    )
    .advice("close idle connections, or try again in a second");
    if let Ok(mut stream) = stream {
        // A new connection has room for this; if not, closing it says enough.
        let _ = stream.write(raw(&problem, StatusCode::SERVICE_UNAVAILABLE).as_bytes());
    }
}

/// A problem as bytes, for connections that no request came through on.
fn raw(problem: &Problem, status: StatusCode) -> String {
    let body = problem.body();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\nretry-after: 1\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    )
}

async fn respond(shared: Arc<Shared>, peer: &Peer, place: &Connection, request: Request<Incoming>) -> Answer {
    let head = request.method() == Method::HEAD;
    let mut answer = handle(&shared, peer, place, request).await.unwrap_or_else(Problem::answer);
    if peer.address.is_some() {
        for (name, value) in &shared.web.borrow().web.headers {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    if head { without_body(answer) } else { answer }
}

/// What HEAD gets: the headers GET would have had.
fn without_body(answer: Answer) -> Answer {
    let (mut parts, body) = answer.into_parts();
    if let Some(length) = body.size_hint().exact() {
        parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    Response::from_parts(parts, Body::whole(Bytes::new()))
}

async fn handle(
    shared: &Arc<Shared>,
    peer: &Peer,
    place: &Connection,
    request: Request<Incoming>,
) -> Result<Answer, Problem> {
    let config = shared.services.config();
    let server = &config.server;
    let (head, incoming) = request.into_parts();
    let query = Query::parse(head.uri.query().unwrap_or_default());
    let found = routes::find(head.method.as_str(), head.uri.path(), &query);
    let needed = found.as_ref().map_or(Access::Read, |(route, _)| route.access);
    // Before it counts as a request in work: whoever is not let in takes no place of those who are.
    let caller = gate::admit(shared, peer, &head.headers, needed).await?;
    if needed > Access::Open || !shared.web.borrow().web.has_logins() {
        place.asked();
    }
    let Some(_slot) = shared.requests.take(server.max_requests) else {
        shared.rejected.count(Reason::Limit);
        let detail = "as many requests as may be (server.max_requests) are under way";
        return Err(Problem::new(Kind::Limit, "too many requests at once", detail).retry_after(1));
    };
    let deadline = Instant::now() + server.request_timeout.duration();
    let (route, captured) = found?;
    let body = match timeout_at(deadline, body::read(incoming, server.body_limit.get())).await {
        Ok(read) => read.inspect_err(|_| shared.rejected.count(Reason::Size)).map_err(closing)?,
        Err(_) => {
            shared.rejected.count(Reason::Timeout);
            let detail = "the body did not arrive in time (server.request_timeout)";
            return Err(closing(Problem::new(Kind::Timeout, "body too slow", detail)));
        }
    };
    let call = Call { shared: Arc::clone(shared), caller, headers: head.headers, query, captured, body };
    match timeout_at(deadline, (route.handle)(call)).await {
        Ok(answer) => answer,
        Err(_) => Err(Problem::new(
            Kind::Timeout,
            "not done in time",
            "the request took longer than server.request_timeout",
        )
        .status(StatusCode::SERVICE_UNAVAILABLE)
        .retry_after(1)),
    }
}

/// The rest of the body is not read, so nothing more can be asked on this connection.
fn closing(problem: Problem) -> Problem {
    problem.header(header::CONNECTION, "close")
}
