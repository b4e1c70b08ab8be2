//! The table against a snapshot in which everything is present, and against its own rules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::analysis::TargetCeilings;
use crate::inventory::{CardFacts, DiskFacts, Filesystem, Hardware, Health};
use crate::observe::{About, Channel, Holdings, Observed, ServerSample, Status, UnitUse, sample_of};
use crate::record::{
    CaseRecord, CaseResult, Ceiling, Errors, Event, Failure, Generator, Interval, LIVE_BUCKETS_SECONDS, Load,
    LoadModel, Outcome, Percentiles, Profile, RunId, RunRecord, Stage, Statements, Steady, Trigger,
};
use crate::run::{Begun, LeftOver, Live, SuiteCounters};
use crate::sample::{
    Cpu, CpuTimes, DeviceFilter, Disk, Load as LoadAverage, Measure, Memory, Moment, Network, Peak, Pressure,
    Reading, Root, Sample, Sampler, SelfProcess, Settings, Tcp, Traffic, Vmstat,
};
use crate::store;
use crate::units::{Bytes, Span};

/// A quotation mark, a backslash and a line break: what label values have to survive.
const AWKWARD: &str = "it's \"new\" \\ old\nand more";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn run_id() -> RunId {
    "01a29db3-8f60-7a14-9c02-5d7e3f09a1d4".parse().unwrap()
}

fn percentiles() -> Percentiles {
    Percentiles {
        count: 2000,
        mean: Some(0.002),
        p50: Some(0.0015),
        p90: Some(0.003),
        p95: Some(0.004),
        p99: Some(0.006),
        p99_9: None,
        max: Some(0.044),
        ..Percentiles::default()
    }
}

fn result(model: LoadModel) -> CaseResult {
    CaseResult {
        load: Load {
            model,
            clients: 4,
            asked_per_second: (model == LoadModel::Open).then_some(200.0),
            never_sent: 0,
            never_sent_oldest_seconds: None,
            never_sent_youngest_seconds: None,
            overloaded: false,
        },
        seconds: 10.0,
        warm_up_seconds: 2.0,
        operations: 2000,
        per_second: 200.0,
        statements: Statements { read: 28_000, write: 8_000, other: 4_000 },
        bytes_read: 12_000_000,
        bytes_written: 6_000_000,
        fsyncs: 600,
        response: percentiles(),
        service: percentiles(),
        lag: Percentiles::default(),
        by_operation: BTreeMap::new(),
        ceilings: BTreeMap::new(),
        failed: Percentiles::default(),
        overflow: 0,
        steady: Some(Steady { steady: true, cut_seconds: 0.0, per_second: 200.0, drift: 0.006, why: None }),
        error: Some(0.008),
        limited: false,
        limited_by: None,
        errors: Errors { failed: 2, retried: 3, by_code: BTreeMap::from([("1213".to_owned(), 3)]) },
        generator: Generator {
            cpu_seconds: 0.5,
            user_cpu_seconds: 0.25,
            system_cpu_seconds: 0.25,
            cpu_seconds_per_operation: 0.00025,
            peak_memory_bytes: 10 << 20,
            ..Generator::default()
        },
        intervals: Vec::new(),
        histograms: BTreeMap::new(),
    }
}

fn case(name: &str, target: Option<&str>, model: LoadModel) -> LastResult {
    let record = CaseRecord {
        schema: 1,
        run: run_id(),
        index: 0,
        suite: "db".to_owned(),
        case: name.to_owned(),
        workload: "oltp_read_write".to_owned(),
        revision: 1,
        target: target.map(str::to_owned),
        parameters: serde_json::from_value(json!({ "engine": "innodb", "mode": "complex", "threads": 4 }))
            .unwrap(),
        operation: "transaction".to_owned(),
        start: at(0),
        end: at(12),
        outcome: Outcome::Finished,
        failure: None,
        stage_seconds: BTreeMap::new(),
        result: Some(result(model)),
        target_facts: BTreeMap::new(),
        limits: BTreeMap::new(),
        notes: Vec::new(),
    };
    LastResult { profile: Profile::Canary, record }
}

fn run(outcome: Outcome) -> RunRecord {
    RunRecord {
        schema: 1,
        id: run_id(),
        suite: "db".to_owned(),
        host: "db1".to_owned(),
        trigger: Trigger::Schedule,
        by: "schedule".to_owned(),
        profile: Profile::Canary,
        start: at(0),
        end: Some(at(60)),
        outcome: Some(outcome),
        failure: Some(Failure {
            stage: Stage::Measure,
            reason: "connect".to_owned(),
            message: String::new(),
        }),
        note: None,
        planned_cases: 2,
        finished_cases: 1,
        stage_seconds: Stage::ALL.iter().map(|stage| (*stage, 1.5)).collect(),
        guards: Vec::new(),
        version: "1.0.0".to_owned(),
        host_facts: BTreeMap::new(),
        scale: 1.0,
        comparison: None,
    }
}

fn suite() -> SuiteStatus {
    SuiteStatus {
        name: "db".to_owned(),
        scheduled: true,
        next: Some(at(3600)),
        interval: Some(Span::from_secs(86_400)),
        active: true,
        ready: Some(true),
        counters: SuiteCounters {
            begun: BTreeMap::from([(Trigger::Schedule, 3)]),
            failed: 1,
            ..SuiteCounters::default()
        },
        last_run: Some(run(Outcome::Failed)),
        failed_case: Some("oltp/threads=4".to_owned()),
        last_success: Some(at(-86_400)),
    }
}

fn live() -> Vec<crate::run::LiveCase> {
    let (mut live, now) = (Live::default(), Instant::now());
    live.begin(&Begun {
        suite: "db",
        case: AWKWARD,
        workload: "oltp_read_write",
        target: Some("main"),
        open_loop: true,
        planned_seconds: 10.0,
    });
    live.take(
        &Event::Stage {
            t: 0.0,
            case: AWKWARD.to_owned(),
            index: 1,
            of: 1,
            stage: Stage::Measure,
            planned_seconds: None,
        },
        now,
    );
    let interval = Interval {
        at: 1.0,
        seconds: 1.0,
        operations: 200,
        statements: Statements { read: 10, write: 20, other: 30 },
        response: percentiles(),
        errors: BTreeMap::from([("1213".to_owned(), 2)]),
        retried: 2,
        overdue: 1,
        buckets: (0..LIVE_BUCKETS_SECONDS.len() as u64).map(|place| (place * 20).min(200)).collect(),
        response_sum: 0.4,
    };
    let event = Event::Interval {
        t: 1.0,
        case: AWKWARD.to_owned(),
        warm_up: false,
        clients: 4,
        cpu_seconds: 0.25,
        interval: Box::new(interval),
    };
    live.take(&event, now);
    live.cases(now).cloned().collect()
}

fn reading<T>(values: T) -> Option<Reading<T>> {
    Some(Reading { moment: Moment::from_nanos(1), values })
}

fn times(cpu: u32) -> CpuTimes {
    CpuTimes {
        cpu,
        user: 100,
        nice: 200,
        system: 300,
        idle: 400,
        iowait: 500,
        irq: 600,
        softirq: 700,
        steal: 800,
    }
}

fn disk() -> Disk {
    Disk {
        device: "sda".into(),
        reads: 1,
        reads_merged: 2,
        sectors_read: 3,
        read_ms: 4,
        writes: 5,
        writes_merged: 6,
        sectors_written: 7,
        write_ms: 8,
        in_flight: 9,
        io_ms: 10,
        weighted_io_ms: 11,
        discards: None,
        discards_merged: None,
        sectors_discarded: None,
        discard_ms: None,
        flushes: Some(16),
        flush_ms: Some(17),
    }
}

fn card() -> Network {
    let traffic = Traffic { bytes: 1 << 40, packets: 2, errors: 3, drops: 4 };
    Network {
        device: "eth0".into(),
        receive: traffic,
        transmit: traffic,
        speed: Some(125_000_000),
        up: Some(true),
    }
}

fn host() -> Sample {
    let (one, two) = (Some(1), Some(2));
    Sample {
        cpu: reading(Cpu {
            cpus: vec![times(0), times(1)],
            context_switches: one,
            interrupts: two,
            forks: one,
            procs_running: two,
            procs_blocked: one,
            boot_time: Some(1_799_000_000),
        }),
        load: reading(LoadAverage { one: 0.5, five: 0.25, fifteen: 0.125 }),
        disks: reading(vec![disk()]),
        networks: reading(vec![card()]),
        memory: reading(Memory {
            total: one,
            free: one,
            available: one,
            buffers: one,
            cached: one,
            dirty: one,
            writeback: one,
            anonymous: one,
            slab: one,
            committed: one,
            swap_total: one,
            swap_free: one,
            huge_pages_total: one,
            huge_pages_free: one,
        }),
        vmstat: reading(Vmstat { major_faults: one, swap_in: one, swap_out: one, oom_kills: one }),
        pressure: reading(Pressure {
            cpu_some: Some(1_500_000),
            cpu_full: None,
            io_some: one,
            io_full: one,
            memory_some: one,
            memory_full: one,
        }),
        tcp: reading(Tcp {
            sent_segments: one,
            retransmitted_segments: one,
            listen_overflows: one,
            listen_drops: one,
        }),
        ..Sample::empty(at(0), Moment::from_nanos(1))
    }
}

/// Ten samples of every measure, the largest of them in the last minute.
fn peaks() -> Vec<Peak> {
    let peak = |measure: &Measure| Peak {
        measure: *measure,
        device: match measure {
            disk if disk.is_of_disks() => Some("sda".into()),
            Measure::ReceiveUtilization | Measure::TransmitUtilization => Some("eth0".into()),
            _ => None,
        },
        up_to: [1, 2, 3, 5, 8, 9, 9],
        count: 10,
        sum: 6.5,
        maxima: vec![(Span::from_secs(60), measure.bounds()[6] * 2.0)],
    };
    Measure::ALL.iter().map(peak).collect()
}

fn process() -> SelfProcess {
    SelfProcess {
        cpu_seconds: 1.25,
        resident: Bytes::from_mib(12),
        virtual_memory: Bytes::from_mib(900),
        open_fds: 20,
        max_fds: Some(1024),
        start_time: 1_800_000_000.25,
        threads: 7,
    }
}

fn hardware() -> Hardware {
    let known = |text: &str| Some(text.to_owned());
    let disk = DiskFacts {
        model: known("ST4000NM0035"),
        serial: known("0a1b2c3d"),
        firmware: known("TN05"),
        rotational: known("1"),
        scheduler: known("mq-deadline"),
        write_cache: known("write back"),
        link_speed: Some(3e8),
        link_speed_maximum: Some(6e8),
    };
    let health = Health { passed: Some(true), wear: Some(4), celsius: Some(31), reallocated: Some(0) };
    let card = CardFacts { driver: known("ixgbe"), duplex: known("full") };
    Hardware {
        disks: BTreeMap::from([("sda".to_owned(), disk)]),
        health: BTreeMap::from([("sda".to_owned(), health)]),
        cards: BTreeMap::from([("eth0".to_owned(), card)]),
        ..Hardware::default()
    }
}

fn filesystem() -> Filesystem {
    Filesystem {
        device: "/dev/sda2".to_owned(),
        fstype: "xfs".to_owned(),
        mountpoint: PathBuf::from("/"),
        disks: BTreeSet::from(["sda".to_owned()]),
        size: Bytes::from_mib(1000),
        free: Bytes::from_mib(300),
        available: Bytes::from_mib(200),
        files: Some(1000),
        files_free: Some(900),
        read_at: at(0),
        took: Duration::from_micros(250),
    }
}

fn ceilings() -> TargetCeilings {
    let ceiling = |bytes_per_second| Ceiling { operations_per_second: 20_000.0, bytes_per_second };
    TargetCeilings {
        target: "ssd".to_owned(),
        by_operation: BTreeMap::from([
            ("read".to_owned(), ceiling(Some(3e8))),
            ("write".to_owned(), ceiling(Some(2e8))),
            ("fsync".to_owned(), ceiling(None)),
        ]),
        measured: at(12),
    }
}

/// A server that is a replica, a source too, and of every version.
fn server(name: &str) -> Observed {
    let about = About {
        flavour: "mysql".to_owned(),
        version: "8.4.6".to_owned(),
        config: "51d07ab2".to_owned(),
        max_connections: Some(151),
        redo_capacity: Some(100 << 20),
        ..About::default()
    };
    let sample = ServerSample {
        about: Arc::new(about),
        replicas: Some(2),
        channels: Some(vec![Channel { lag: Some(3), runs: true }]),
        role: Some("replica".parse().unwrap()),
        unit: Some(UnitUse {
            cpu_seconds: Some(2.5),
            memory: Some(1 << 30),
            read: Some(7),
            written: Some(8),
        }),
        holdings: Some(Holdings { own: Some(4096), foreign: 1 }),
        ..sample_of(0, Status::all(7))
    };
    Observed {
        target: name.to_owned(),
        sample: Some(Arc::new(sample)),
        most_running: vec![(Span::from_secs(60), 9)],
        answered: Some(at(0)),
        took: Duration::from_millis(3),
    }
}

/// A snapshot in which everything is present at once.
fn full() -> Snapshot {
    let facts = [
        "kernel",
        "distribution",
        "cpu_model",
        "sockets",
        "cores",
        "virtualization",
        "governor",
        "clocksource",
    ];
    Snapshot {
        left_over: BTreeMap::from([(LeftOver::Server, 1)]),
        build: Build {
            version: "1.0.0".to_owned(),
            revision: "0a1b2c3".to_owned(),
            rustc: "1.95.0".to_owned(),
        },
        reload: Some(Reload { successful: true, accepted: at(0) }),
        collectors: vec![CollectorStatus {
            name: "filesystem",
            success: true,
            duration: Duration::from_micros(250),
            cached: Some(at(0)),
        }],
        sampler: SamplerStatus { samples: 100, missed: 1, last: Some(at(0)) },
        store: store::Status {
            size_bytes: 1 << 20,
            records: 7,
            oldest: Some(at(-99)),
            ..store::Status::default()
        },
        rejected_requests: vec![("role", 0), ("limit", 1)],
        certificate_expiry: Some(at(86_400)),
        log_messages: vec![("warning", 2), ("error", 0)],
        process: Some(process()),
        suites: vec![suite(), SuiteStatus { name: "quick".to_owned(), ..SuiteStatus::default() }],
        blocked_runs: vec![("window".to_owned(), 1)],
        aborted_runs: vec![("deadline".to_owned(), 0)],
        queue_length: 1,
        results: vec![
            case("oltp/threads=4", Some("main"), LoadModel::Open),
            case("cpu", None, LoadModel::Closed),
        ],
        scratch: BTreeMap::from([("scratch".to_owned(), 1 << 20)]),
        ceilings: vec![ceilings()],
        live: live(),
        load_cpu_seconds: 12.5,
        load_written_bytes: Some(1 << 30),
        host: Some(Arc::new(host())),
        peaks: peaks(),
        servers: vec![server("main")],
        per_cpu_limit: 8,
        filesystems: vec![filesystem()],
        facts: Arc::new(facts.map(|name| (name.to_owned(), format!("the {name}"))).into_iter().collect()),
        hardware: Arc::new(hardware()),
        cpus: Some(2),
    }
}

fn text(snapshot: Snapshot) -> String {
    render(&snapshot, Format::Text).unwrap()
}

/// The lines that are samples, without their values.
fn series(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| Some(line.rsplit_once(' ')?.0))
        .collect()
}

/// A generated file is what it should be; with `BENCHD_UPDATE` set it is made so.
fn assert_same_file(path: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("BENCHD_UPDATE").is_some() {
        std::fs::write(&path, generated).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == generated,
        "{} is not what is generated: run the tests with BENCHD_UPDATE=1",
        path.display()
    );
}

#[test]
fn every_family_of_the_table_is_emitted_and_no_other() {
    let text = text(full());
    let emitted: BTreeSet<(&str, &str)> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    let exposed = |kind| if kind == Kind::Info { "gauge" } else { Kind::as_str(kind) };
    let table: BTreeSet<(&str, &str)> =
        families().map(|family| (family.name, exposed(family.kind))).collect();
    assert_eq!(emitted, table);
    assert_eq!(table.len(), families().count(), "a name stands twice in the table");
}

#[test]
fn a_full_snapshot_is_the_text_that_promtool_is_shown() {
    assert_same_file("tests/fixtures/metrics.txt", &text(full()));
}

#[test]
fn the_same_snapshot_in_openmetrics_is_the_text_that_is_parsed_strictly() {
    assert_same_file("tests/fixtures/metrics.openmetrics", &render(&full(), Format::OpenMetrics).unwrap());
}

#[test]
fn a_scrape_of_a_known_host_is_known() {
    for host in ["proc-virtio", "proc-nvme-el9"] {
        let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(host);
        let settings = Settings {
            interval: Span::from_secs(10),
            ring: Span::from_secs(60),
            deadline: Span::from_secs(10),
            peak_windows: Vec::new(),
            disks: DeviceFilter::new("", r"^(loop|sr|.*d[a-z]+|nvme\d+n\d+p)\d+$").unwrap(),
            network: DeviceFilter::new("", "^lo$").unwrap(),
            link_speed: BTreeMap::new(),
        };
        let sampler =
            Sampler::start(settings, Root { proc: tree.join("proc"), sys: tree.join("sys") }).unwrap();
        let now = Snapshot { host: Some(sampler.latest()), per_cpu_limit: 8, ..Snapshot::default() };
        assert_same_file(&format!("tests/fixtures/{host}.metrics"), &text(now));
    }
}

#[test]
fn the_documentation_is_the_table() {
    assert_same_file("docs/metrics.md", &document());
}

/// How many series are added by what `add` puts into a snapshot, which has some of it already.
fn added(before: &Snapshot, add: impl FnOnce(&mut Snapshot)) -> usize {
    let mut after = before.clone();
    add(&mut after);
    series(&text(after)).len() - series(&text(before.clone())).len()
}

/// Changes the host's sample.
fn change(now: &mut Snapshot, change: impl FnOnce(&mut Sample)) {
    let mut host = Sample::clone(now.host.as_ref().unwrap());
    change(&mut host);
    now.host = Some(Arc::new(host));
}

#[test]
fn the_documented_growth_is_that_of_the_table() {
    let mut bare = full();
    change(&mut bare, |host| {
        host.cpu.as_mut().unwrap().values.cpus.clear();
        host.disks = None;
        host.networks = None;
    });
    bare.peaks.retain(|peak| peak.device.is_none());
    bare.filesystems.clear();
    (bare.servers, bare.ceilings, bare.scratch) = (Vec::new(), Vec::new(), BTreeMap::new());
    bare.hardware = Arc::new(Hardware { health: BTreeMap::new(), ..hardware() });
    bare.rejected_requests =
        ["authentication", "role", "limit", "size", "timeout"].map(|reason| (reason, 0)).to_vec();
    (bare.collectors, bare.blocked_runs, bare.aborted_runs) = (Vec::new(), Vec::new(), Vec::new());
    (bare.suites, bare.results, bare.live) = (Vec::new(), Vec::new(), Vec::new());
    let of_device =
        |wanted: fn(Measure) -> bool| peaks().into_iter().filter(move |peak| wanted(peak.measure));
    let counted = [
        series(&text(bare.clone())).len(),
        added(&bare, |now| {
            now.collectors = vec![CollectorStatus { cached: None, ..full().collectors[0].clone() }];
        }),
        added(&bare, |now| now.collectors = full().collectors)
            - added(&bare, |now| {
                now.collectors = vec![CollectorStatus { cached: None, ..full().collectors[0].clone() }];
            }),
        added(&bare, |now| now.blocked_runs = full().blocked_runs),
        added(&bare, |now| change(now, |host| host.cpu.as_mut().unwrap().values.cpus.push(times(0)))),
        added(&bare, |now| change(now, |host| host.disks = reading(vec![disk()]))),
        added(&bare, |now| now.peaks.extend(of_device(Measure::is_of_disks))),
        added(&bare, |now| change(now, |to| to.networks = reading(vec![Network { speed: None, ..card() }]))),
        added(&bare, |now| {
            change(now, |to| to.networks = reading(vec![card()]));
            now.peaks.extend(of_device(Measure::is_of_networks));
        }) - added(&bare, |now| {
            change(now, |to| to.networks = reading(vec![Network { speed: None, ..card() }]))
        }),
        added(&bare, |now| now.filesystems.push(filesystem())),
        added(&bare, |now| now.servers.push(server("main"))),
        added(&bare, |now| now.suites.push(suite())),
        added(&bare, |now| now.results.push(case("oltp", Some("main"), LoadModel::Open))),
        added(&bare, |now| now.scratch = full().scratch),
        added(&bare, |now| now.ceilings.push(ceilings())),
        added(&bare, |now| now.hardware = Arc::new(hardware())),
        added(&bare, |now| now.live = live()),
    ];
    let documented: Vec<usize> = document::GROWTH.iter().map(|growth| growth.series).collect();
    assert_eq!(counted.as_slice(), documented);
}

#[test]
fn the_estimate_is_the_sum_of_the_documented_growth() {
    let none = estimate(&Shape::default());
    let one = |change: fn(&mut Shape)| {
        let mut shape = Shape::default();
        change(&mut shape);
        estimate(&shape) - none
    };
    assert_eq!((one(|shape| shape.disks = 2), one(|shape| shape.guards = 9)), (40, 9));
    assert_eq!((one(|shape| shape.cases = 1), one(|shape| shape.cases = 12)), (42, 12 * 15 + 2 * 27));
}

#[test]
fn no_series_is_emitted_twice() {
    let text = text(full());
    let all = series(&text);
    let once: BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(all.len(), once.len());
    assert!(all.len() > families().count());
}

#[test]
fn every_label_of_the_table_has_a_value_in_some_series_and_none_is_a_run() {
    let text = text(full());
    for family in families() {
        let own = |line: &&str| line.split_once('{').is_some_and(|(name, _)| name.starts_with(family.name));
        let lines: Vec<&str> = series(&text).into_iter().filter(own).collect();
        for label in family.labels {
            assert!(
                lines.iter().any(|line| line.contains(&format!("{label}=\""))),
                "{} {label}",
                family.name
            );
            assert!(!["run", "run_id", "id", "quantile", "type"].contains(label), "{} {label}", family.name);
        }
    }
}

#[test]
fn names_follow_the_rules() {
    for family in families() {
        let name = family.name;
        assert!(name.starts_with("benchd_") || name.starts_with("process_"), "{name}");
        assert!(
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'),
            "{name}"
        );
        assert_eq!(family.kind == Kind::Counter, name.ends_with("_total"), "{name}");
        assert_eq!(family.kind == Kind::Info, name.ends_with("_info"), "{name}");
        let without_total = name.trim_end_matches("_total");
        let unit = |unit: &str| family.unit == unit;
        assert_eq!(unit("s") || unit("Unix time, s"), without_total.ends_with("_seconds"), "{name}");
        assert_eq!(unit("Unix time, s"), name.ends_with("_timestamp_seconds"), "{name}");
        assert_eq!(unit("bytes"), without_total.ends_with("_bytes"), "{name}");
        assert_eq!(unit("0-1"), name.ends_with("_ratio"), "{name}");
        assert!(
            family.help.ends_with('.') && !family.source.is_empty() && !family.absent.is_empty(),
            "{name}"
        );
    }
}

#[test]
fn what_is_not_known_is_absent_and_what_is_never_absent_is_there() {
    let text = text(Snapshot::default());
    let emitted: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let counted = [
        "benchd_build_info",
        "benchd_host_info",
        "benchd_load_cpu_seconds_total",
        "benchd_queue_length",
        "benchd_recovered_leftovers_total",
        "benchd_sampler_missed_samples_total",
        "benchd_sampler_samples_total",
        "benchd_store_records",
        "benchd_store_size_bytes",
        "benchd_store_write_failures_total",
    ];
    assert_eq!(emitted, counted.into());
}

#[test]
fn a_suite_that_never_ran_has_its_counters_and_nothing_about_a_last_run() {
    let quick = SuiteStatus { name: "quick".to_owned(), ..SuiteStatus::default() };
    let text = text(Snapshot { suites: vec![quick], ..Snapshot::default() });
    let about: Vec<&str> = text.lines().filter(|line| line.contains("quick")).collect();
    assert_eq!(
        about,
        [
            "benchd_run_active{suite=\"quick\"} 0",
            "benchd_runs_cancelled_total{suite=\"quick\"} 0",
            "benchd_runs_failed_total{suite=\"quick\"} 0",
            "benchd_runs_total{suite=\"quick\",trigger=\"schedule\"} 0",
            "benchd_runs_total{suite=\"quick\",trigger=\"request\"} 0",
        ]
    );
}

#[test]
fn a_case_without_target_has_no_such_label_and_its_closed_loop_offers_nothing() {
    let text = text(full());
    let of_cpu: Vec<&str> = text.lines().filter(|line| line.contains("case=\"cpu\"")).collect();
    assert!(of_cpu.iter().any(|line| line.starts_with("benchd_last_operations_per_second")));
    assert!(of_cpu.iter().all(|line| !line.contains("target=") && !line.contains("_offered_")), "{of_cpu:?}");
}

#[test]
fn a_server_that_does_not_answer_is_down_and_nothing_else() {
    let down = Observed { sample: None, most_running: Vec::new(), ..server("main") };
    let text = text(Snapshot { servers: vec![down], ..Snapshot::default() });
    let about: Vec<&str> = text.lines().filter(|line| line.starts_with("benchd_mysql")).collect();
    assert_eq!(about, ["benchd_mysql_up{target=\"main\"} 0"]);
}

#[test]
fn many_cpus_are_one_set_of_series() {
    let text = text(Snapshot { per_cpu_limit: 1, ..full() });
    let cpu: Vec<&str> =
        text.lines().filter(|line| line.starts_with("benchd_host_cpu_seconds_total{")).collect();
    assert_eq!(cpu.len(), 8);
    assert!(cpu.contains(&"benchd_host_cpu_seconds_total{cpu=\"all\",mode=\"user\"} 2"), "{cpu:?}");
}

#[test]
fn a_histogram_ends_with_all_its_operations() {
    let text = text(full());
    let buckets: Vec<u64> = text
        .lines()
        .filter(|line| line.starts_with("benchd_live_response_seconds_bucket"))
        .map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap())
        .collect();
    assert_eq!(buckets.len(), LIVE_BUCKETS_SECONDS.len() + 1);
    assert!(buckets.is_sorted() && buckets.last() == Some(&200), "{buckets:?}");
}
