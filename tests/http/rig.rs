//! The HTTP interface in this process: a real store, sampler and runner, listeners on port 0 and a socket in a
//! temporary directory, and workers that are fakes: their lines are written by the test.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Result;
use benchd::config::{self, Config, Suite};
use benchd::export::{Build, Reload};
use benchd::http::{NextRun, NextRuns, ReloadRequest, Server, Services, SocketOptions};
use benchd::inventory::Filesystems;
use benchd::record::{CaseRecord, CaseResult, Outcome, Profile};
use benchd::run::{Launcher, Runner, RunnerParts, WorkerLink, WorkerProcess};
use benchd::sample::{DeviceFilter, Root, Sampler, Settings};
use benchd::store::{Limits, Store};
use benchd::units::{self, Span};
use benchd::workloads::Workloads;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{mpsc, watch};

/// Nothing here takes nearly as long; it ends a test that waits in vain.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A fake of workers: each hands its ends of the streams to the test.
struct FakeLauncher(mpsc::UnboundedSender<FakeWorker>);

/// A worker whose part the test plays.
pub(crate) struct FakeWorker {
    said: Lines<BufReader<DuplexStream>>,
    output: DuplexStream,
}

struct FakeProcess;

impl Launcher for FakeLauncher {
    fn launch(&self) -> Pin<Box<dyn Future<Output = Result<WorkerLink>> + Send + '_>> {
        let (input, said) = tokio::io::duplex(1 << 20);
        let (output, read) = tokio::io::duplex(1 << 20);
        self.0.send(FakeWorker { said: BufReader::new(said).lines(), output }).unwrap();
        Box::pin(async move {
            Ok(WorkerLink { input: Box::new(input), output: Box::new(read), process: Box::new(FakeProcess) })
        })
    }
}

impl WorkerProcess for FakeProcess {
    fn kill(&mut self) {}

    fn wait(&mut self) -> Pin<Box<dyn Future<Output = Option<String>> + Send + '_>> {
        Box::pin(std::future::ready(None))
    }
}

impl FakeWorker {
    /// Says one line.
    pub(crate) async fn say(&mut self, line: Value) {
        self.output.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Greets, takes the request, and tells that the case is measured.
    pub(crate) async fn begin(&mut self) -> Value {
        let hello: Value = serde_json::from_str(&self.said.next_line().await.unwrap().unwrap()).unwrap();
        self.say(hello).await;
        let request: Value = serde_json::from_str(&self.said.next_line().await.unwrap().unwrap()).unwrap();
        for stage in ["prepare", "measure"] {
            let event =
                json!({ "event": "stage", "t": 0.1, "case": "cpu", "index": 1, "of": 1, "stage": stage });
            self.say(json!({ "event": event })).await;
        }
        request["run"].clone()
    }

    pub(crate) async fn note(&mut self, text: &str) {
        self.say(json!({ "event": { "event": "note", "t": 0.2, "text": text } })).await;
    }

    /// Delivers the case and ends the run.
    pub(crate) async fn finish(&mut self, request: &Value) {
        self.say(json!({ "case": case(request) })).await;
        self.say(json!({ "ended": null })).await;
    }

    /// Waits until it is told to stop, and obeys.
    pub(crate) async fn stop_when_told(&mut self) {
        assert_eq!(self.said.next_line().await.unwrap(), None, "the end of input means stop");
        self.say(json!({ "ended": null })).await;
    }
}

fn case(request: &Value) -> CaseRecord {
    let percentiles = json!({ "count": 2000, "p50": 0.001, "p95": 0.002, "p99": 0.003, "max": 0.02 });
    let result: CaseResult = serde_json::from_value(json!({
        "load": { "model": "closed", "clients": 1, "never_sent": 0, "overloaded": false },
        "seconds": 5.0, "warm_up_seconds": 1.0, "operations": 4310, "per_second": 862.0,
        "statements": { "read": 0, "write": 0, "other": 0 },
        "response": percentiles, "service": percentiles, "lag": { "count": 0 },
        "errors": { "failed": 0, "retried": 0, "by_code": {} },
        "generator": { "cpu_seconds": 4.9, "cpu_seconds_per_operation": 0.0011, "peak_memory_bytes": 1 << 20 },
        "intervals": [],
    }))
    .unwrap();
    let now = Timestamp::now();
    CaseRecord {
        schema: 1,
        run: serde_json::from_value(request["id"].clone()).unwrap(),
        index: 0,
        suite: request["suite"].as_str().unwrap().to_owned(),
        case: "cpu".to_owned(),
        workload: "cpu".to_owned(),
        revision: 1,
        target: None,
        parameters: serde_json::from_value(request["cases"][0]["parameters"].clone()).unwrap(),
        operation: "event".to_owned(),
        start: now,
        end: now,
        outcome: Outcome::Finished,
        failure: None,
        stage_seconds: BTreeMap::new(),
        result: Some(result),
        target_facts: BTreeMap::new(),
        limits: BTreeMap::new(),
        notes: vec!["<b>bold</b>".to_owned()],
    }
}

/// The interface with all it stands on.
pub(crate) struct Rig {
    pub(crate) server: Server,
    pub(crate) runner: Runner,
    pub(crate) workers: mpsc::UnboundedReceiver<FakeWorker>,
    pub(crate) reloads: mpsc::Receiver<ReloadRequest>,
    pub(crate) reloaded: watch::Sender<Reload>,
    pub(crate) ready: watch::Sender<Result<(), String>>,
    pub(crate) next_runs: NextRuns,
    pub(crate) directory: TempDir,
    _config: watch::Sender<Arc<Config>>,
}

/// The built-in configuration with the suite `fake`, which anybody may run, and `shut`, whose window is closed.
fn configuration(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = config::built_in(&Workloads, 2).unwrap().config;
    let mut fake: Suite = config.suites["quick"].clone();
    fake.name = "fake".to_owned();
    fake.profile = Profile::Lab;
    fake.cases.truncate(1);
    let hour = Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).hour();
    let shut = Suite {
        name: "shut".to_owned(),
        timezone: Some("UTC".to_owned()),
        window: Some(format!("{:02}:00-{:02}:00", (hour + 11) % 24, (hour + 13) % 24)),
        ..fake.clone()
    };
    for suite in [fake, shut] {
        config.suites.insert(suite.name.clone(), suite);
    }
    change(&mut config);
    config
}

fn settings() -> Settings {
    let every = DeviceFilter::new("", "").unwrap();
    Settings {
        interval: Span::from_millis(100),
        ring: Span::from_secs(60),
        deadline: Span::from_secs(5),
        peak_windows: vec![Span::from_secs(60)],
        disks: every.clone(),
        network: every,
        link_speed: BTreeMap::new(),
    }
}

fn open_store(path: &Path) -> Store {
    let limits = Limits {
        keep_records: Span::ZERO,
        keep_series: Span::ZERO,
        max_size: units::Bytes::new(0),
        min_free: units::Bytes::new(0),
    };
    Store::open(path, limits).unwrap()
}

impl Rig {
    pub(crate) async fn start() -> Rig {
        Rig::with(|_| ()).await
    }

    /// Starts with a changed configuration.
    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Rig {
        Rig::in_directory(tempfile::tempdir().unwrap(), change).await
    }

    /// Starts on a store that may be there already.
    pub(crate) async fn in_directory(directory: TempDir, change: impl FnOnce(&mut Config)) -> Rig {
        let watched = directory.path().to_owned();
        Rig::of(directory, &[&watched], change).await
    }

    /// Starts with other filesystems to watch than that of the temporary directory.
    pub(crate) async fn with_filesystems(paths: &[&Path], change: impl FnOnce(&mut Config)) -> Rig {
        Rig::of(tempfile::tempdir().unwrap(), paths, change).await
    }

    async fn of(directory: TempDir, watched: &[&Path], change: impl FnOnce(&mut Config)) -> Rig {
        let store = open_store(&directory.path().join("benchd.db"));
        let sampler = Arc::new(Sampler::start(settings(), Root::default()).unwrap());
        let (launcher, workers) = mpsc::unbounded_channel();
        let runner = Runner::new(RunnerParts {
            store: store.clone(),
            launcher: Box::new(FakeLauncher(launcher)),
            sampler: Arc::clone(&sampler),
            observer: Arc::default(),
            host: "db1".to_owned(),
            host_facts: || BTreeMap::from([("kernel".to_owned(), "6.1".to_owned())]),
            state_directory: directory.path().to_owned(),
            identity: store.identity(),
        });
        tokio::spawn(runner.clone().work());
        let watched: Vec<PathBuf> = watched.iter().map(|path| path.to_path_buf()).collect();
        let filesystems = Filesystems::start(&watched, Span::from_secs(30)).unwrap();
        let config = Arc::new(configuration(change));
        let (config_sender, config) = watch::channel(config);
        let (reload, reloads) = mpsc::channel(4);
        let (reloaded_sender, reloaded) =
            watch::channel(Reload { successful: true, accepted: Timestamp::now() });
        let (ready_sender, ready) = watch::channel(Ok(()));
        let next_runs = NextRuns::default();
        let services = Services {
            build: Build { version: benchd::VERSION.to_owned(), ..Build::default() },
            host: "db1".to_owned(),
            started: Timestamp::now(),
            config,
            reload,
            reloaded,
            ready,
            runner: runner.clone(),
            store,
            sampler,
            hardware: watch::channel(Arc::default()).1,
            filesystems: Arc::new(Mutex::new(filesystems)),
            observer: Arc::default(),
            next_runs: Arc::clone(&next_runs),
            facts: Arc::new(BTreeMap::from([("kernel".to_owned(), "6.1 <script>".to_owned())])),
        };
        let mut server = Server::start(services).await.unwrap();
        let socket = SocketOptions { path: directory.path().join("benchd.sock"), mode: 0o600, group: None };
        server.listen(&["127.0.0.1:0".parse().unwrap()], Some(&socket)).await.unwrap();
        Rig {
            server,
            runner,
            workers,
            reloads,
            reloaded: reloaded_sender,
            ready: ready_sender,
            next_runs,
            directory,
            _config: config_sender,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.addresses()[0]
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("benchd.sock")
    }

    pub(crate) async fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.address()).await.unwrap()
    }

    pub(crate) async fn unix(&self) -> UnixStream {
        UnixStream::connect(self.socket()).await.unwrap()
    }

    /// Asks over the unix socket.
    pub(crate) async fn ask(&self, method: &str, path: &str) -> Answer {
        send(self.unix().await, request(method, path)).await
    }

    /// Asks over TCP from this host.
    pub(crate) async fn ask_tcp(&self, method: &str, path: &str) -> Answer {
        send(self.tcp().await, request(method, path)).await
    }

    /// Posts JSON over the unix socket.
    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        send(self.unix().await, post(path, &body)).await
    }

    /// The next worker that is started.
    pub(crate) async fn worker(&mut self) -> FakeWorker {
        self.workers.recv().await.unwrap()
    }

    /// The next worker, which measures until it is dropped.
    pub(crate) async fn working(&mut self) -> FakeWorker {
        let mut worker = self.worker().await;
        worker.begin().await;
        worker
    }

    /// Runs the suite `fake` to its end; gives the run's id.
    pub(crate) async fn run_fake(&mut self) -> String {
        let mut ended = self.runner.ended();
        let before = *ended.borrow_and_update();
        let answer = self.post("/api/v1/runs", json!({ "suite": "fake" })).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED, "{answer:?}");
        let mut worker = self.worker().await;
        let request = worker.begin().await;
        worker.finish(&request).await;
        ended.wait_for(|ended| *ended > before).await.unwrap();
        answer.json["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn plan(&self, suite: &str, at: Timestamp) {
        let next = NextRun { at, interval: Some(Span::from_secs(86_400)) };
        self.next_runs.lock().unwrap().insert(suite.to_owned(), next);
    }
}

/// An answer, read whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// Null when the body is not JSON.
    pub(crate) json: Value,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Status and last word of the type of a problem; everything a problem must have is there.
    pub(crate) fn problem(&self) -> (u16, &str) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        assert_eq!(self.json["status"], self.status.as_u16(), "{self:?}");
        for member in ["title", "detail"] {
            assert!(self.json[member].as_str().is_some_and(|text| !text.is_empty()), "{member} of {self:?}");
        }
        let kind = self.json["type"].as_str().unwrap();
        (self.status.as_u16(), kind.strip_prefix("urn:benchd:problem:").unwrap_or(kind))
    }
}

pub(crate) fn request(method: &str, path: &str) -> Request<Full<Bytes>> {
    Request::builder().method(method).uri(path).header("host", "localhost").body(Full::default()).unwrap()
}

pub(crate) fn post(path: &str, body: &Value) -> Request<Full<Bytes>> {
    let request = Request::builder().method("POST").uri(path).header("host", "localhost");
    request.header("content-type", "application/json").body(Full::from(body.to_string())).unwrap()
}

/// Sends one request and gives the answer with its body still to come.
pub(crate) async fn open<S>(stream: S, request: Request<Full<Bytes>>) -> Response<Incoming>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    tokio::time::timeout(PATIENCE, sender.send_request(request)).await.expect("an answer").unwrap()
}

/// Sends one request and reads the whole answer.
pub(crate) async fn send<S>(stream: S, request: Request<Full<Bytes>>) -> Answer
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (parts, body) = open(stream, request).await.into_parts();
    let bytes =
        tokio::time::timeout(PATIENCE, body.collect()).await.expect("a whole answer").unwrap().to_bytes();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let json = serde_json::from_str(&text).unwrap_or(Value::Null);
    Answer { status: parts.status, headers: parts.headers, text, json }
}

/// An event stream, read event by event.
pub(crate) struct Events {
    body: Incoming,
    text: String,
}

impl Events {
    pub(crate) async fn follow(rig: &Rig, run: &str, last: Option<u64>) -> Events {
        let mut request = request("GET", &format!("/api/v1/runs/{run}/events"));
        if let Some(last) = last {
            request.headers_mut().insert("last-event-id", last.into());
        }
        let response = open(rig.unix().await, request).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events { body: response.into_body(), text: String::new() }
    }

    /// The next event: its number, its name, its data. Comments are passed over. `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<(u64, String, Value)> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                if !event.starts_with(':') {
                    return Some(parse(&event));
                }
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await.expect("an event")?.unwrap();
            self.text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    }

    /// All names up to the end of the stream.
    pub(crate) async fn names(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        while let Some((_, name, _)) = self.next().await {
            names.push(name);
        }
        names
    }
}

fn parse(event: &str) -> (u64, String, Value) {
    let field = |name: &str| {
        event.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{event}"))
    };
    let data: Value = serde_json::from_str(field("data: ")).unwrap();
    assert_eq!(data["event"], field("event: "));
    (field("id: ").parse().unwrap(), field("event: ").to_owned(), data)
}
