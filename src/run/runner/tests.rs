//! Runs with fake workers that say what they are told to, so that time can stand still and go wrong can be chosen.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::*;
use crate::config::{Case, Suite};
use crate::record::{Parameters, Profile};
use crate::run::launch::{WorkerLink, WorkerProcess};
use crate::run::protocol::{FromWorker, Hello};
use crate::sample::{DeviceFilter, Root, Sampler, Settings};
use crate::store::{Limits, Store};
use crate::units::{Bytes, Span};

/// What a fake worker does with the streams it is given.
type Script = fn(DuplexStream, DuplexStream) -> Pin<Box<dyn Future<Output = ()> + Send>>;

struct FakeLauncher {
    script: Script,
    killed: Arc<AtomicBool>,
}

struct FakeProcess(Arc<AtomicBool>);

impl WorkerProcess for FakeProcess {
    fn kill(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn wait(&mut self) -> Pin<Box<dyn Future<Output = Option<String>> + Send + '_>> {
        Box::pin(async { None })
    }
}

impl Launcher for FakeLauncher {
    fn launch(&self) -> Pin<Box<dyn Future<Output = anyhow::Result<WorkerLink>> + Send + '_>> {
        let (input, requests) = tokio::io::duplex(1 << 16);
        let (output, said) = tokio::io::duplex(1 << 16);
        tokio::spawn((self.script)(requests, output));
        let process = Box::new(FakeProcess(Arc::clone(&self.killed)));
        Box::pin(async move { Ok(WorkerLink { input: Box::new(input), output: Box::new(said), process }) })
    }
}

async fn say(output: &mut DuplexStream, message: &FromWorker) {
    let mut line = serde_json::to_vec(message).unwrap();
    line.push(b'\n');
    output.write_all(&line).await.unwrap();
}

async fn until_closed(mut input: DuplexStream) {
    let mut all = Vec::new();
    input.read_to_end(&mut all).await.unwrap();
}

fn suite() -> Suite {
    let parameters: Parameters = [("time", "10m"), ("warm_up", "0s")]
        .map(|(key, value)| (key.to_owned(), value.into()))
        .into_iter()
        .collect();
    let case = Case {
        name: "cpu".to_owned(),
        workload: "cpu".to_owned(),
        target: None,
        parameters,
        varied: Vec::new(),
    };
    Suite { name: "fake".to_owned(), profile: Profile::Lab, cases: vec![case], ..Suite::default() }
}

fn start(queue: bool) -> Start {
    Start {
        suite: suite(),
        targets: BTreeMap::new(),
        trigger: Trigger::Request,
        by: "test".to_owned(),
        note: None,
        cases: Vec::new(),
        queue,
        overrides: BTreeSet::new(),
    }
}

fn runner(directory: &std::path::Path, script: Script) -> (Runner, Arc<AtomicBool>) {
    let limits = Limits {
        keep_records: Span::ZERO,
        keep_series: Span::ZERO,
        max_size: Bytes::new(0),
        min_free: Bytes::new(0),
    };
    let store = Store::open(&directory.join("benchd.db"), limits).unwrap();
    let everything = || DeviceFilter::new("", "").unwrap();
    let settings = Settings {
        interval: Span::from_secs(1),
        ring: Span::from_secs(60),
        deadline: Span::from_secs(1),
        peak_windows: vec![Span::from_secs(60)],
        disks: everything(),
        network: everything(),
        link_speed: BTreeMap::new(),
    };
    let killed = Arc::new(AtomicBool::new(false));
    let identity = store.identity();
    let runner = Runner::new(RunnerParts {
        store,
        launcher: Box::new(FakeLauncher { script, killed: Arc::clone(&killed) }),
        sampler: Arc::new(Sampler::start(settings, Root::default()).unwrap()),
        observer: Arc::default(),
        host: "host".to_owned(),
        host_facts: BTreeMap::new,
        state_directory: directory.to_owned(),
        identity,
    });
    (runner, killed)
}

/// Runs one suite to its end and gives its record.
async fn run(runner: &Runner) -> crate::record::RunRecord {
    let id = runner.start(start(false)).unwrap().id;
    runner.drain_when_idle().await;
    runner.shared.parts.store.reader().unwrap().run(id).unwrap().unwrap()
}

impl Runner {
    /// Executes what waits, and no more.
    async fn drain_when_idle(&self) {
        while let Some(waiting) = self.next() {
            self.turn_of(waiting).await;
        }
    }
}

fn reason(record: &crate::record::RunRecord) -> (Option<Outcome>, &str) {
    (record.outcome, record.failure.as_ref().map_or("", |failure| failure.reason.as_str()))
}

#[tokio::test(start_paused = true)]
async fn a_fake_worker_that_never_ends_is_stopped_at_its_deadline() {
    let directory = tempfile::tempdir().unwrap();
    let (runner, killed) = runner(directory.path(), |input, mut output| {
        Box::pin(async move {
            say(&mut output, &FromWorker::Hello(Hello::here())).await;
            until_closed(input).await;
            say(&mut output, &FromWorker::Ended(None)).await;
        })
    });
    let began = tokio::time::Instant::now();
    let record = run(&runner).await;
    assert_eq!(reason(&record), (Some(Outcome::Aborted), "deadline"));
    assert!(!killed.load(Ordering::Relaxed), "it stopped when it was asked to");
    let waited = began.elapsed();
    assert!((900..910).contains(&waited.as_secs()), "1.5 times 10 minutes, not {waited:?}");
    assert_eq!(runner.counters()["fake"].aborted["deadline"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_fake_worker_that_does_not_stop_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let (runner, killed) = runner(directory.path(), |input, output| {
        Box::pin(async move {
            let (_input, _output) = (input, output);
            std::future::pending::<()>().await;
        })
    });
    let record = run(&runner).await;
    assert_eq!(reason(&record), (Some(Outcome::Aborted), "deadline"));
    assert!(killed.load(Ordering::Relaxed));
}

#[tokio::test]
async fn a_fake_worker_of_another_version_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (runner, killed) = runner(directory.path(), |input, mut output| {
        Box::pin(async move {
            output
                .write_all(b"{\"hello\":{\"protocol\":1,\"version\":\"0.0.0\",\"pid\":1}}\n")
                .await
                .unwrap();
            until_closed(input).await;
        })
    });
    let record = run(&runner).await;
    assert_eq!(reason(&record), (Some(Outcome::Failed), "worker"));
    assert!(record.failure.unwrap().message.contains("upgrade"));
    assert!(killed.load(Ordering::Relaxed));
}

#[tokio::test]
async fn a_fake_worker_that_speaks_nonsense_fails_the_run_and_the_next_one_begins() {
    let directory = tempfile::tempdir().unwrap();
    let (runner, _) = runner(directory.path(), |input, mut output| {
        Box::pin(async move {
            output.write_all(b"Segmentation fault\n").await.unwrap();
            until_closed(input).await;
        })
    });
    assert_eq!(reason(&run(&runner).await), (Some(Outcome::Failed), "worker"));
    assert_eq!(reason(&run(&runner).await), (Some(Outcome::Failed), "worker"));
    assert!(runner.active().is_none());
}

#[tokio::test]
async fn a_run_that_waits_can_be_cancelled_and_draining_forgets_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let (runner, _) = runner(directory.path(), |input, _output| Box::pin(until_closed(input)));
    let first = runner.start(start(false)).unwrap();
    let second = runner.start(start(true)).unwrap();
    assert_eq!((first.position, second.position), (0, 1));
    assert!(matches!(runner.start(start(false)), Err(Refused::Active(active)) if active.id == first.id));
    runner.cancel(second.id, "test").unwrap();
    assert_eq!(runner.cancel(second.id, "test"), Err(CancelError::Ended));
    assert_eq!(runner.cancel(RunId::new(), "test"), Err(CancelError::Unknown));
    runner.drain();
    assert_eq!(runner.queue_length(), 0);
    assert!(matches!(runner.start(start(false)), Err(Refused::Draining)));
    runner.shared.parts.store.flush(Duration::from_secs(30));
    let reader = runner.shared.parts.store.reader().unwrap();
    assert_eq!(reader.run(first.id).unwrap().unwrap().outcome, Some(Outcome::Aborted));
    assert_eq!(reader.run(second.id).unwrap().unwrap().outcome, Some(Outcome::Cancelled));
    assert_eq!(reader.last_runs().unwrap(), [], "neither has begun");
}
