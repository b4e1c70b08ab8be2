//! Listeners: opened and closed as the configuration says, and the end of them all.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::connection;
use super::crowd::{Connections, Slots};
use super::gate::{Gate, Peer};
use super::history::{self, History};
use super::idempotency::Remembered;
use super::probe::Probe;
use super::ready::{self, SuitesReady};
use super::services::Services;
use super::socket::{self, ListeningSocket, SocketOptions};
use super::web::{self, State};
use crate::config::Listen;
use crate::sample::SelfProcess;

/// Pause after a connection could not be accepted: what is short (file descriptors) does not come back at once.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// The HTTP interface of the daemon.
pub struct Server {
    shared: Arc<Shared>,
    open: Vec<Listening>,
    keepers: [JoinHandle<()>; 2],
    watcher: JoinHandle<()>,
}

/// What all connections share.
pub(super) struct Shared {
    pub(super) services: Services,
    pub(super) history: watch::Receiver<Arc<History>>,
    /// Whether a run of each suite would begin now.
    pub(super) suites_ready: watch::Receiver<SuitesReady>,
    pub(super) rejected: Rejected,
    pub(super) starts: tokio::sync::Mutex<Remembered>,
    /// TLS, users and headers in force.
    pub(super) web: watch::Sender<State>,
    pub(super) gate: Gate,
    /// Connections by TCP; the unix socket has its own, so that a crowd on the network cannot lock its users out.
    tcp: Arc<Connections>,
    unix: Arc<Connections>,
    pub(super) requests: Arc<Slots>,
    pub(super) phase: watch::Sender<Phase>,
    listening: Mutex<Vec<String>>,
    /// This process as it was last read.
    pub(super) process: Mutex<Option<SelfProcess>>,
}

/// How far the server is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// It serves.
    Serving,
    /// What is under way may finish.
    Finishing,
    /// Nothing is waited for any more.
    Over,
}

/// Waits until the server has come to a phase.
pub(super) async fn reached(phase: &mut watch::Receiver<Phase>, wanted: Phase) {
    // A sender that is gone means that everything is over.
    let _ = phase.wait_for(|phase| *phase >= wanted).await;
}

impl Shared {
    /// Where the daemon listens, for people.
    pub(super) fn listening(&self) -> Vec<String> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Why requests were refused before a handler ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    Authentication,
    Role,
    Limit,
    Size,
    Timeout,
}

impl Reason {
    const ALL: [(Reason, &'static str); 5] = [
        (Reason::Authentication, "authentication"),
        (Reason::Role, "role"),
        (Reason::Limit, "limit"),
        (Reason::Size, "size"),
        (Reason::Timeout, "timeout"),
    ];
}

/// How many requests were refused, by reason.
#[derive(Debug, Default)]
pub(super) struct Rejected([AtomicU64; Reason::ALL.len()]);

impl Rejected {
    pub(super) fn count(&self, reason: Reason) {
        self.0[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> Vec<(&'static str, u64)> {
        Reason::ALL
            .iter()
            .map(|(reason, name)| (*name, self.0[*reason as usize].load(Ordering::Relaxed)))
            .collect()
    }
}

/// A place to listen on, and the task that does.
struct Listening {
    place: Place,
    shown: String,
    address: Option<SocketAddr>,
    task: JoinHandle<()>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Tcp(Listen),
    Unix(SocketOptions),
}

impl Server {
    /// The interface without a listener yet. Reads the store once, so that the first scrape has the last results.
    ///
    /// # Errors
    /// When the web configuration has problems.
    pub async fn start(services: Services) -> Result<Server> {
        let ended = || services.runner.ended();
        let (of_history, of_guards) = (ended(), ended());
        let state = web::first(&services.config())?;
        let first = history::read(&services).await.unwrap_or_default();
        let (history_sender, history) = watch::channel(Arc::new(first));
        let (ready_sender, suites_ready) = watch::channel(SuitesReady::default());
        let shared = Arc::new(Shared {
            services,
            history,
            suites_ready,
            rejected: Rejected::default(),
            starts: tokio::sync::Mutex::new(Remembered::default()),
            web: watch::channel(state).0,
            gate: Gate::new()?,
            tcp: Connections::new(),
            unix: Connections::new(),
            requests: Slots::new(),
            phase: watch::channel(Phase::Serving).0,
            listening: Mutex::default(),
            process: Mutex::default(),
        });
        let keepers = [
            tokio::spawn(history::keep(Arc::clone(&shared), of_history, history_sender)),
            tokio::spawn(ready::keep(Arc::clone(&shared), of_guards, ready_sender)),
        ];
        let watcher = tokio::spawn(web::watch(Arc::clone(&shared)));
        Ok(Server { shared, open: Vec::new(), keepers, watcher })
    }

    /// Reads the web configuration again, without waiting for the next look at its files.
    pub async fn read_web_again(&self) {
        web::read_again(&self.shared).await;
    }

    /// Listens on these addresses and this socket, and no longer on others; connections that are open stay.
    ///
    /// # Errors
    /// When one of them cannot be opened; then it listens where it did before.
    pub async fn listen(&mut self, addresses: &[Listen], socket: Option<&SocketOptions>) -> Result<()> {
        let tcp = addresses.iter().map(|listen| Place::Tcp(*listen));
        let wanted: Vec<Place> = tcp.chain(socket.map(|socket| Place::Unix(socket.clone()))).collect();
        let before: Vec<Place> = self.open.iter().map(|open| open.place.clone()).collect();
        let changed = self.change(&wanted).await;
        if changed.is_err()
            && let Err(error) = self.change(&before).await
        {
            log::error!("listen as before: {error:#}");
        }
        self.open.sort_by_key(|open| wanted.iter().position(|place| *place == open.place));
        let shown = self.open.iter().map(|open| open.shown.clone()).collect();
        *self.shared.listening.lock().unwrap_or_else(PoisonError::into_inner) = shown;
        changed
    }

    /// Closes first: another address of the same port may be among the new ones.
    async fn change(&mut self, wanted: &[Place]) -> Result<()> {
        let (kept, closed) =
            std::mem::take(&mut self.open).into_iter().partition(|open| wanted.contains(&open.place));
        self.open = kept;
        close(closed).await;
        for place in wanted {
            if !self.open.iter().any(|open| open.place == *place) {
                let listening = open(place.clone(), &self.shared).await?;
                self.open.push(listening);
            }
        }
        Ok(())
    }

    /// The TCP addresses it listens on, with the ports the system chose.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.open.iter().filter_map(|open| open.address).collect()
    }

    /// Something that asks this server whether it answers.
    pub fn probe(&self) -> Probe {
        Probe(Arc::clone(&self.shared))
    }

    /// Accepts nothing more, ends event streams, lets requests under way finish, and closes every connection.
    /// False when some were not done within that time; they are cut off.
    pub async fn stop(self, within: Duration) -> bool {
        close(self.open).await;
        self.shared.phase.send_replace(Phase::Finishing);
        self.keepers.iter().for_each(JoinHandle::abort);
        self.watcher.abort();
        let all = async { tokio::join!(self.shared.tcp.all_closed(), self.shared.unix.all_closed()) };
        let finished = tokio::time::timeout(within, all).await.is_ok();
        self.shared.phase.send_replace(Phase::Over);
        finished
    }
}

async fn close(listening: Vec<Listening>) {
    for one in listening {
        one.task.abort();
        // Cancelled, as just asked; what matters is that the listener is closed when this returns.
        let _ = one.task.await;
    }
}

async fn open(place: Place, shared: &Arc<Shared>) -> Result<Listening> {
    let shared = Arc::clone(shared);
    match &place {
        Place::Tcp(listen) => {
            let listener = bind(listen).await.with_context(|| {
                format!("listen on {listen}: another program may use the port; see `ss -ltnp`, or set server.listen")
            })?;
            let address = listener.local_addr().context("ask for the address listened on")?;
            let task = tokio::spawn(accept_tcp(listener, shared));
            Ok(Listening { place, shown: address.to_string(), address: Some(address), task })
        }
        Place::Unix(options) => {
            let socket = socket::open(options).await?;
            let shown = socket.path().display().to_string();
            let task = tokio::spawn(accept_unix(socket, shared));
            Ok(Listening { place, shown, address: None, task })
        }
    }
}

/// Every address of the host is one socket for both versions of IP, where there is version 6.
async fn bind(listen: &Listen) -> std::io::Result<TcpListener> {
    match listen.address {
        Some(address) => TcpListener::bind((address, listen.port)).await,
        None => match TcpListener::bind((IpAddr::from(Ipv6Addr::UNSPECIFIED), listen.port)).await {
            Err(error) if error.kind() != std::io::ErrorKind::AddrInUse => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, listen.port)).await
            }
            bound => bound,
        },
    }
}

async fn accept_tcp(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Answers are written whole; where it cannot be set they are only slower.
                let _ = stream.set_nodelay(true);
                match shared.tcp.take(shared.services.config().server.max_connections) {
                    Some(place) => {
                        let peer = Peer::of_address(peer.ip());
                        tokio::spawn(connection::serve_tcp(Arc::clone(&shared), stream, peer, place));
                    }
                    None => connection::refuse(&shared, stream.into_std()),
                }
            }
            Err(error) => pause(&error).await,
        }
    }
}

async fn accept_unix(socket: ListeningSocket, shared: Arc<Shared>) {
    loop {
        match socket.listener.accept().await {
            Ok((stream, _)) => match shared.unix.take(shared.services.config().server.max_connections) {
                Some(place) => {
                    let peer = Peer::of_socket(stream.peer_cred().ok().map(|peer| peer.uid()));
                    tokio::spawn(connection::serve(Arc::clone(&shared), stream, peer, place));
                }
                None => connection::refuse(&shared, stream.into_std()),
            },
            Err(error) => pause(&error).await,
        }
    }
}

async fn pause(error: &std::io::Error) {
    log::warn!("accept a connection: {error}; trying again in {} s", ACCEPT_PAUSE.as_secs());
    tokio::time::sleep(ACCEPT_PAUSE).await;
}
