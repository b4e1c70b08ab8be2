//! The result store at its boundary: what goes in comes out, through restarts, kills, full disks and damage.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test")]

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use benchd::analysis::ceilings;
use benchd::record::{
    CaseRecord, CaseResult, Ceiling, EncodedHistogram, Errors, Failure, Generator, Interval, Load, LoadModel,
    Outcome, Percentiles, Profile, RunId, RunRecord, SCHEMA, Stage, Statements, Steady, Trigger,
    new_histogram,
};
use benchd::store::{Column, FindError, Limits, OpenError, RunFilter, Store};
use benchd::units::{Bytes, Span};
use hdrhistogram::Histogram;
use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;

/// Nothing is ever removed.
const KEEP_ALL: Limits = Limits {
    keep_records: Span::ZERO,
    keep_series: Span::ZERO,
    max_size: Bytes::new(0),
    min_free: Bytes::new(0),
};
/// Long enough for a slow disk of a busy machine; no test waits for it to pass.
const LONG: Duration = Duration::from_secs(60);
const DAY: i64 = 86_400;

/// Steele, Lea and Flood's SplitMix64: the same numbers for the same seed everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A number between 0 and 1 with all of its digits in use.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn some_day() -> Timestamp {
    "2026-12-22T03:41:12.004123456Z".parse().unwrap()
}

fn days_ago(days: i64) -> Timestamp {
    Timestamp::now() - SignedDuration::from_secs(days * DAY)
}

fn begun(suite: &str, start: Timestamp) -> RunRecord {
    RunRecord {
        schema: SCHEMA,
        id: RunId::new(),
        suite: suite.to_owned(),
        host: "db1".to_owned(),
        trigger: Trigger::Schedule,
        by: "schedule".to_owned(),
        profile: Profile::Canary,
        start,
        end: None,
        outcome: None,
        failure: None,
        note: Some("after deploy 4711, \"größer\"".to_owned()),
        planned_cases: 4,
        finished_cases: 0,
        stage_seconds: BTreeMap::from([(Stage::Guard, 0.1 + 0.2)]),
        guards: Vec::new(),
        version: "1.0.0".to_owned(),
        host_facts: BTreeMap::from([("cpu.model".to_owned(), "i5-4460".to_owned())]),
        scale: 1.0,
        comparison: None,
    }
}

fn ended(run: RunRecord, outcome: Outcome) -> RunRecord {
    RunRecord { end: Some(run.start + SignedDuration::from_secs(324)), outcome: Some(outcome), ..run }
}

/// Stores a run that began and ended.
fn store_run(store: &Store, suite: &str, start: Timestamp, outcome: Outcome) -> RunRecord {
    let run = begun(suite, start);
    store.begin_run(&run);
    let run = ended(run, outcome);
    store.end_run(&run);
    run
}

/// A finished case with everything a case can have; the same arguments make the same case.
fn case_of(run: RunId, suite: &str, index: u32, start: Timestamp) -> CaseRecord {
    let mut random = Random(u64::from(index) + 1);
    let threads = 1 << (index % 7);
    CaseRecord {
        schema: SCHEMA,
        run,
        index,
        suite: suite.to_owned(),
        case: format!("oltp/threads={threads}"),
        workload: "oltp_read_write".to_owned(),
        revision: 1,
        target: Some("main".to_owned()),
        parameters: serde_json::json!({"threads": threads, "engine": "innodb", "rate": 200.1})
            .as_object()
            .unwrap()
            .clone(),
        operation: "transaction".to_owned(),
        start,
        end: start + SignedDuration::new(71, 123_456_789),
        outcome: Outcome::Finished,
        failure: None,
        stage_seconds: BTreeMap::from([(Stage::WarmUp, 10.000_000_1), (Stage::Measure, 60.3)]),
        result: Some(result(&mut random)),
        target_facts: BTreeMap::from([("version".to_owned(), "8.4.6".to_owned())]),
        limits: BTreeMap::new(),
        notes: vec!["swap 0".to_owned()],
    }
}

fn result(random: &mut Random) -> CaseResult {
    let mut histogram: Histogram<u64> = new_histogram().unwrap();
    (0..2_000).for_each(|_| histogram.saturating_record(100_000 + random.below(5_000_000)));
    let response = Percentiles::of(&histogram);
    let encoded = EncodedHistogram::encode(&histogram).unwrap();
    CaseResult {
        load: Load {
            model: LoadModel::Open,
            clients: 4,
            asked_per_second: Some(200.0),
            never_sent: 3,
            never_sent_oldest_seconds: Some(0.0031),
            never_sent_youngest_seconds: Some(0.0009),
            overloaded: false,
        },
        seconds: 60.0 + random.fraction(),
        warm_up_seconds: 10.0,
        operations: u64::MAX,
        per_second: 200.0 * random.fraction(),
        statements: Statements { read: 1, write: 48_050, other: 24_024 },
        bytes_read: u64::MAX,
        bytes_written: 4096,
        fsyncs: 7,
        response,
        service: response,
        lag: Percentiles::default(),
        by_operation: BTreeMap::new(),
        ceilings: BTreeMap::new(),
        failed: Percentiles::default(),
        overflow: 0,
        steady: Some(Steady { steady: true, cut_seconds: 0.0, per_second: 200.0, drift: 0.006, why: None }),
        error: Some(0.008),
        limited: false,
        limited_by: None,
        errors: Errors { failed: 1, retried: 2, by_code: BTreeMap::from([("1213".to_owned(), 2)]) },
        generator: Generator {
            cpu_seconds: 0.49,
            user_cpu_seconds: 0.19,
            system_cpu_seconds: 0.30,
            cpu_seconds_per_operation: random.fraction() / 3e4,
            peak_memory_bytes: 10_276_044,
            cpus: 2.0,
            busiest_thread: 0.02,
            late_p99: Some(0.000_08),
        },
        intervals: (0..60).map(|at| interval(random, at, response)).collect(),
        histograms: BTreeMap::from([
            ("response".to_owned(), encoded.clone()),
            ("service".to_owned(), encoded),
        ]),
    }
}

fn interval(random: &mut Random, at: u32, response: Percentiles) -> Interval {
    Interval {
        at: f64::from(at) + random.fraction(),
        seconds: random.fraction(),
        operations: random.below(400),
        statements: Statements { read: 10, write: 4, other: 2 },
        response,
        errors: BTreeMap::from([("timeout".to_owned(), random.below(3))]),
        retried: 1,
        overdue: random.below(9),
        buckets: Vec::new(),
        response_sum: random.fraction(),
    }
}

/// Three series beside a case, of so many values each.
fn series_of(case: &CaseRecord, values: usize) -> Vec<Column> {
    let mut random = Random(u64::from(case.index));
    ["cpu.busy", "disk.sda.await", "net.eth0.rx"]
        .map(|name| Column {
            name: name.to_owned(),
            start: case.start,
            step: Span::from_millis(1000),
            values: (0..values).map(|_| random.fraction()).collect(),
        })
        .into()
}

fn without_details(mut case: CaseRecord) -> CaseRecord {
    if let Some(result) = &mut case.result {
        result.intervals.clear();
        result.histograms.clear();
    }
    case
}

fn summaries(cases: &[CaseRecord]) -> Vec<CaseRecord> {
    cases.iter().cloned().map(without_details).collect()
}

/// A path in a directory that does not exist yet.
struct Place {
    path: PathBuf,
    _directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        Place { path: directory.path().join("var/benchd.db"), _directory: directory }
    }

    fn open(&self) -> Store {
        Store::open(&self.path, KEEP_ALL).unwrap()
    }

    fn open_with(&self, limits: Limits) -> Store {
        Store::open(&self.path, limits).unwrap()
    }

    /// Opens it, expects that to be refused, and the file to be untouched.
    fn refusal(&self) -> OpenError {
        let before = fs::read(&self.path).unwrap();
        let error = Store::open(&self.path, KEEP_ALL).unwrap_err();
        assert!(fs::read(&self.path).unwrap() == before, "the refused file was changed");
        error
    }

    /// A closed store with one run and its cases.
    fn filled(cases: u32) -> (Place, RunId) {
        let place = Place::new();
        let store = place.open();
        let run = begun("db", some_day());
        store.begin_run(&run);
        for case in (0..cases).map(|index| case_of(run.id, "db", index, some_day())) {
            store.save_case(&case, &series_of(&case, 60));
        }
        let id = run.id;
        store.end_run(&ended(run, Outcome::Finished));
        assert!(store.flush(LONG));
        (place, id)
    }

    fn overwrite(&self, from: u64, bytes: &[u8]) {
        let mut file = OpenOptions::new().write(true).open(&self.path).unwrap();
        file.seek(SeekFrom::Start(from)).unwrap();
        file.write_all(bytes).unwrap();
    }
}

#[test]
fn the_ceilings_of_a_target_are_the_most_of_its_results_since_an_instant() {
    let place = Place::new();
    let store = place.open();
    let run = store_run(&store, "host", days_ago(60), Outcome::Finished);
    let ceiling =
        |operations_per_second, bytes_per_second| Ceiling { operations_per_second, bytes_per_second };
    for (index, (days, target, workload, read)) in [
        (50, "ssd", "fileio", ceiling(900.0, Some(9.0))),
        (20, "ssd", "fileio", ceiling(500.0, Some(2.0))),
        (10, "ssd", "fileio", ceiling(400.0, Some(3.0))),
        (10, "ssd", "other", ceiling(800.0, Some(8.0))),
        (10, "hdd", "fileio", ceiling(100.0, None)),
    ]
    .into_iter()
    .enumerate()
    {
        let mut case = case_of(run.id, "host", u32::try_from(index).unwrap(), days_ago(days));
        (case.target, case.workload) = (Some(target.to_owned()), workload.to_owned());
        case.result.as_mut().unwrap().ceilings = BTreeMap::from([("read".to_owned(), read)]);
        store.save_case(&case, &[]);
    }
    assert!(store.flush(LONG));
    let results = store.reader().unwrap().results_of("fileio", days_ago(30)).unwrap();
    let found = ceilings(&results);
    let of = |target: &str| found.iter().find(|one| one.target == target).unwrap();
    assert_eq!(of("ssd").by_operation["read"], ceiling(500.0, Some(3.0)), "each its own most");
    assert_eq!(of("hdd").by_operation["read"], ceiling(100.0, None));
    assert_eq!(of("ssd").measured, results[1].end);
    assert_eq!(found.len(), 2);
}

#[test]
fn everything_comes_back_as_it_was_stored_also_after_a_restart() {
    let place = Place::new();
    let store = place.open();
    let identity = store.identity();
    let run = begun("db", some_day());
    store.begin_run(&run);
    let finished = case_of(run.id, "db", 0, some_day());
    let failed = CaseRecord {
        outcome: Outcome::Failed,
        failure: Some(Failure { stage: Stage::Prepare, reason: "connect".into(), message: "no".into() }),
        result: None,
        target: None,
        ..case_of(run.id, "db", 1, some_day())
    };
    let mut series = series_of(&finished, 60);
    series[1].values[7] = f64::NEG_INFINITY;
    store.save_case(&finished, &series);
    store.save_case(&failed, &[]);
    let run = ended(run, Outcome::Failed);
    store.end_run(&run);
    assert!(store.flush(LONG));

    let check = |store: &Store| {
        let reader = store.reader().unwrap();
        assert_eq!(store.identity(), identity);
        assert_eq!(store.recovered(), 0);
        assert_eq!(reader.run(run.id).unwrap().as_ref(), Some(&run));
        assert_eq!(reader.cases(run.id).unwrap(), [without_details(finished.clone()), failed.clone()]);
        assert_eq!(reader.case_full(run.id, 0).unwrap().as_ref(), Some(&finished));
        assert_eq!(reader.case_full(run.id, 1).unwrap().as_ref(), Some(&failed));
        assert_eq!(reader.case_full(run.id, 2).unwrap(), None);
        let histogram = reader.histogram(run.id, 0, "response").unwrap();
        assert_eq!(histogram.as_ref(), finished.result.as_ref().unwrap().histograms.get("response"));
        assert_eq!(reader.histogram(run.id, 0, "lag").unwrap(), None);
        assert_eq!(reader.series(run.id, 0, &[]).unwrap(), series);
        assert_eq!(reader.series(run.id, 0, &["disk.sda.await", "none"]).unwrap(), series[1..2]);
        let status = store.status();
        assert_eq!((status.records, status.oldest), (2, Some(some_day())));
        assert_eq!((status.pending, status.write_failures, status.alarm), (0, 0, None));
        assert!(status.size_bytes > 0);
    };
    check(&store);
    drop(store);
    check(&place.open());
}

#[test]
fn an_unknown_value_of_a_series_stays_unknown() {
    let place = Place::new();
    let store = place.open();
    let run = store_run(&store, "db", some_day(), Outcome::Finished);
    let case = case_of(run.id, "db", 0, some_day());
    let mut series = series_of(&case, 3);
    series[0].values[1] = f64::NAN;
    store.save_case(&case, &series);
    assert!(store.flush(LONG));
    let values = &store.reader().unwrap().series(run.id, 0, &["cpu.busy"]).unwrap()[0].values;
    assert_eq!(values.iter().map(|value| value.is_nan()).collect::<Vec<_>>(), [false, true, false]);
}

#[test]
fn a_case_saved_again_replaces_the_first() {
    let place = Place::new();
    let store = place.open();
    let run = store_run(&store, "db", some_day(), Outcome::Finished);
    let first = case_of(run.id, "db", 0, some_day());
    let again = CaseRecord { notes: vec!["again".into()], ..first.clone() };
    store.save_case(&first, &series_of(&first, 60));
    store.save_case(&again, &series_of(&again, 5));
    assert!(store.flush(LONG));
    let reader = store.reader().unwrap();
    assert_eq!(reader.case_full(run.id, 0).unwrap(), Some(again));
    assert_eq!(reader.series(run.id, 0, &["cpu.busy"]).unwrap()[0].values.len(), 5);
    assert_eq!(store.status().records, 1);
}

#[test]
fn a_case_without_its_run_is_refused_and_holds_nothing_up() {
    let place = Place::new();
    let store = place.open();
    store.save_case(&case_of(RunId::new(), "db", 0, some_day()), &[]);
    let run = store_run(&store, "db", some_day(), Outcome::Finished);
    assert!(store.flush(LONG));
    assert!(store.reader().unwrap().run(run.id).unwrap().is_some());
    assert_eq!((store.status().write_failures, store.status().records), (1, 0));
}

#[test]
fn files_are_for_the_user_and_group_alone() {
    let place = Place::new();
    let store = place.open();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(place.path.parent().unwrap()) & !0o750, 0);
    let beside =
        ["", "-wal", "-shm"].map(|suffix| PathBuf::from(format!("{}{suffix}", place.path.display())));
    for file in beside.into_iter().chain([place.path.with_file_name("benchd.lock")]) {
        assert_eq!(mode(&file) & !0o640, 0, "{}", file.display());
    }
    drop(store);
}

#[test]
fn a_second_open_names_the_process_that_has_the_store() {
    let place = Place::new();
    let store = place.open();
    let error = place.refusal();
    assert!(
        matches!(error, OpenError::Locked { pid: Some(pid), .. } if pid == std::process::id()),
        "{error}"
    );
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    assert!(error.to_string().contains("stop that one"), "{error}");
    let link = place.path.with_file_name("link.db");
    std::os::unix::fs::symlink(&place.path, &link).unwrap();
    assert!(matches!(Store::open(&link, KEEP_ALL).unwrap_err(), OpenError::Locked { .. }));
    // Workers and schemas are remembered by directory.
    let other = place.path.with_file_name("other.db");
    assert!(matches!(Store::open(&other, KEEP_ALL).unwrap_err(), OpenError::Locked { .. }));
    let clone = store.clone();
    drop(store);
    assert!(matches!(place.refusal(), OpenError::Locked { .. }), "a clone still has it");
    drop(clone);
    place.open();
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_as_it_is() {
    let mut random = Random(7);
    for length in [1_usize, 99, 100, 5_000] {
        let place = Place::new();
        fs::create_dir(place.path.parent().unwrap()).unwrap();
        let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        fs::write(&place.path, bytes).unwrap();
        let error = place.refusal();
        assert!(matches!(error, OpenError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains("Move it away"), "{error}");
        let beside = fs::read_dir(place.path.parent().unwrap()).unwrap().count();
        assert_eq!(beside, 1, "something was written beside it");
    }
}

#[test]
fn a_store_that_was_cut_off_or_overwritten_is_refused_and_left_as_it_is() {
    let (whole, _) = Place::filled(20);
    let bytes = fs::read(&whole.path).unwrap();
    for cut in [5_000, bytes.len() / 2, bytes.len() - 4096] {
        fs::write(&whole.path, &bytes[..cut]).unwrap();
        let error = whole.refusal();
        assert!(matches!(error, OpenError::Corrupt { .. }), "cut to {cut}: {error}");
    }
    for page in [1, 2, 5, 9] {
        fs::write(&whole.path, &bytes).unwrap();
        whole.overwrite(page * 4096, &[0xaa; 4096]);
        let error = whole.refusal();
        assert!(matches!(error, OpenError::Corrupt { .. }), "page {page}: {error}");
    }
    fs::write(&whole.path, &bytes).unwrap();
    assert_eq!(whole.open().status().records, 20);
}

#[test]
fn the_database_of_another_program_is_refused_and_left_as_it_is() {
    let place = Place::new();
    fs::create_dir(place.path.parent().unwrap()).unwrap();
    let foreign = Connection::open(&place.path).unwrap();
    foreign
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE run (id TEXT); INSERT INTO run VALUES ('x')")
        .unwrap();
    // The other program is still running: most of its data stands in its write-ahead log.
    let log = PathBuf::from(format!("{}-wal", place.path.display()));
    let logged = fs::read(&log).unwrap();
    let error = place.refusal();
    assert!(matches!(error, OpenError::NotOurs { .. }), "{error}");
    assert!(error.to_string().contains("another file (store.path)"), "{error}");
    assert!(!logged.is_empty() && fs::read(&log).unwrap() == logged);
}

#[test]
fn a_newer_store_is_refused_and_left_as_it_is() {
    let (place, _) = Place::filled(1);
    Connection::open(&place.path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = place.refusal();
    assert!(matches!(error, OpenError::TooNew { found: 99, known: 1, .. }), "{error}");
    // The same, where only the write-ahead log knows: its owner was killed before it moved it into the file.
    let (place, _) = Place::filled(1);
    let newer = Connection::open(&place.path).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    let error = place.refusal();
    assert!(matches!(error, OpenError::TooNew { found: 99, known: 1, .. }), "{error}");
}

#[test]
fn what_stands_in_the_way_of_a_store_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    for (path, named) in
        [(directory.path().to_owned(), directory.path()), (file.join("a/benchd.db"), file.as_path())]
    {
        let error = Store::open(&path, KEEP_ALL).unwrap_err();
        assert!(matches!(error, OpenError::Io { .. }), "{error}");
        assert!(error.to_string().contains(&named.display().to_string()), "{error}");
    }
}

#[test]
fn a_run_without_an_end_becomes_aborted_and_keeps_its_cases() {
    let place = Place::new();
    let store = place.open();
    let run = begun("db", some_day());
    let empty = begun("host", some_day());
    store.begin_run(&run);
    let case = case_of(run.id, "db", 0, some_day());
    store.save_case(&case, &[]);
    store.begin_run(&empty);
    let whole = store_run(&store, "db", some_day(), Outcome::Finished);
    assert!(store.flush(LONG));
    drop(store);

    let store = place.open();
    assert_eq!(store.recovered(), 2);
    let reader = store.reader().unwrap();
    let recovered = reader.run(run.id).unwrap().unwrap();
    let failure = recovered.failure.clone().unwrap();
    assert_eq!((recovered.outcome, recovered.end), (Some(Outcome::Aborted), Some(case.end)));
    assert_eq!((recovered.finished_cases, failure.reason.as_str()), (1, "crash"));
    assert!(failure.message.contains("1 of 4 cases had finished and are kept"), "{}", failure.message);
    assert_eq!(reader.case_full(run.id, 0).unwrap(), Some(case));
    assert_eq!(reader.run(empty.id).unwrap().unwrap().end, Some(empty.start));
    assert_eq!(reader.run(whole.id).unwrap(), Some(whole));
    drop((reader, store));
    assert_eq!(place.open().recovered(), 0);
}

#[test]
fn runs_are_listed_newest_first_by_what_was_asked() {
    let place = Place::new();
    let store = place.open();
    let at = |day: i64| some_day() + SignedDuration::from_secs(day * DAY);
    let mut runs: Vec<RunRecord> = (0..6)
        .map(|day| {
            let outcome = if day == 4 { Outcome::Blocked } else { Outcome::Finished };
            store_run(&store, if day % 2 == 0 { "db" } else { "host" }, at(day), outcome)
        })
        .collect();
    let asked = ended(RunRecord { trigger: Trigger::Request, ..begun("db", at(6)) }, Outcome::Failed);
    store.end_run(&asked);
    runs.push(asked);
    store.save_case(&case_of(runs[2].id, "db", 3, at(2)), &[]);
    assert!(store.flush(LONG));

    let reader = store.reader().unwrap();
    let days = |filter: RunFilter| -> Vec<usize> {
        let listed = reader.runs(&filter).unwrap();
        listed.iter().map(|run| runs.iter().position(|known| known == run).unwrap()).collect()
    };
    let all = RunFilter::default;
    assert_eq!(days(all()), [6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(days(RunFilter { suite: Some("host".into()), ..all() }), [5, 3, 1]);
    assert_eq!(days(RunFilter { case: Some("oltp/threads=8".into()), ..all() }), [2]);
    assert_eq!(days(RunFilter { case: Some("oltp*".into()), ..all() }), [2]);
    assert_eq!(days(RunFilter { case: Some("oltp".into()), ..all() }), [0; 0]);
    assert_eq!(days(RunFilter { outcome: Some(Outcome::Blocked), ..all() }), [4]);
    assert_eq!(days(RunFilter { trigger: Some(Trigger::Request), ..all() }), [6]);
    assert_eq!(days(RunFilter { since: Some(at(2)), until: Some(at(4)), ..all() }), [3, 2]);
    let page = RunFilter { before: Some(runs[5].id), limit: Some(2), ..all() };
    assert_eq!(days(page), [4, 3]);
    assert_eq!(days(RunFilter { limit: Some(0), ..all() }), [0; 0]);
    let counts: Vec<(String, u64)> = reader
        .counts()
        .unwrap()
        .iter()
        .map(|count| (format!("{} {} {}", count.suite, count.trigger, count.outcome.unwrap()), count.runs))
        .collect();
    let expected = [
        ("db request failed", 1),
        ("db schedule blocked", 1),
        ("db schedule finished", 2),
        ("host schedule finished", 3),
    ];
    assert_eq!(counts, expected.map(|(kind, runs)| (kind.to_owned(), runs)));
}

#[test]
fn a_run_is_found_by_the_names_people_use() {
    let place = Place::new();
    let store = place.open();
    let runs: Vec<RunRecord> =
        (0..3).map(|day| store_run(&store, "db", days_ago(9 - day), Outcome::Finished)).collect();
    store_run(&store, "db", days_ago(1), Outcome::Blocked);
    store.begin_run(&begun("db", days_ago(0)));
    let twins = ["01a29b9f-d144-7c20-8f3a-77d15e1f6e02", "01a29ba0-0000-7c20-8f3a-00005e1f6e02"].map(|id| {
        ended(RunRecord { id: id.parse().unwrap(), ..begun("twin", some_day()) }, Outcome::Finished)
    });
    twins.iter().for_each(|twin| store.end_run(twin));
    let look_alike = store_run(&store, "deadbeef", some_day(), Outcome::Finished);
    assert!(store.flush(LONG));

    let reader = store.reader().unwrap();
    for (name, run) in [
        (runs[1].id.to_string(), &runs[1]),
        (runs[1].id.short(), &runs[1]),
        (runs[1].id.short().to_uppercase(), &runs[1]),
        ("3a-77d15e1f6e02".to_owned(), &twins[0]),
        ("db".to_owned(), &runs[2]),
        ("db~0".to_owned(), &runs[2]),
        ("db~2".to_owned(), &runs[0]),
        ("deadbeef".to_owned(), &look_alike),
    ] {
        assert_eq!(&reader.find(&name).unwrap(), run, "{name}");
    }
    let day = |run: usize| runs[run].start.to_zoned(jiff::tz::TimeZone::system()).date();
    assert_eq!(reader.find(&format!("db@{}", day(1))).unwrap(), runs[1]);
    let named = |name: String| reader.find_all(&name).unwrap();
    assert_eq!(named(format!("db@{}..{}", day(0), day(1))), runs[..2]);
    assert_eq!(
        named(format!("db@{}..", day(1))),
        runs[1..],
        "one that was blocked and one under way do not count"
    );
    assert_eq!(named(format!("db@..{}", day(0))), runs[..1]);
    assert_eq!(named("db@..".to_owned()), runs);
    assert_eq!(named("db~1".to_owned()), runs[1..2]);
    let several = reader.find("db@..").unwrap_err();
    assert!(matches!(several, FindError::Several { .. }), "{several}");
    for name in ["db@2026-13-01", "db@x..", "db@1999-01-01..1999-02-01", "none@.."] {
        assert!(matches!(reader.find_all(name).unwrap_err(), FindError::Unknown { .. }), "{name}");
    }
    let error = reader.find("5e1f6e02").unwrap_err();
    assert!(matches!(&error, FindError::Ambiguous { candidates, .. } if candidates.len() == 2), "{error}");
    assert!(twins.iter().all(|twin| error.to_string().contains(&twin.id.to_string())), "{error}");
    for name in ["db~3", "db~x", "nightly", "1f6e02", "%", "00000000", &RunId::new().to_string()] {
        assert!(matches!(reader.find(name).unwrap_err(), FindError::Unknown { .. }), "{name}");
    }
    let error = reader.find("nightly").unwrap_err().to_string();
    assert!(error.contains("suites with runs are db, deadbeef, twin"), "{error}");
}

#[test]
fn the_last_of_each_is_known_after_a_restart() {
    let place = Place::new();
    let store = place.open();
    let success = store_run(&store, "db", days_ago(3), Outcome::Finished);
    let old = case_of(success.id, "db", 0, days_ago(3));
    let only_failed_since = case_of(success.id, "db", 1, days_ago(3));
    let last = store_run(&store, "db", days_ago(2), Outcome::Failed);
    let new = case_of(last.id, "db", 0, days_ago(2));
    let failed =
        CaseRecord { outcome: Outcome::Failed, result: None, ..case_of(last.id, "db", 1, days_ago(2)) };
    [&old, &only_failed_since, &new, &failed].iter().for_each(|case| store.save_case(case, &[]));
    store_run(&store, "db", days_ago(1), Outcome::Blocked);
    let why = Failure { stage: Stage::Guard, reason: "cancelled".into(), message: "while it waited".into() };
    let waited = ended(begun("db", days_ago(0)), Outcome::Cancelled);
    store.end_run(&RunRecord { failure: Some(why), ..waited });
    let host = store_run(&store, "host", days_ago(5), Outcome::Finished);
    let same_name = case_of(host.id, "host", 0, days_ago(5));
    store.save_case(&same_name, &[]);
    drop(store);

    let store = place.open();
    let reader = store.reader().unwrap();
    assert_eq!(reader.last_runs().unwrap(), [last, host.clone()]);
    assert_eq!(reader.last_successes().unwrap(), [success, host]);
    let results = [new, only_failed_since, same_name].map(without_details);
    assert_eq!(reader.last_results().unwrap(), results);
}

/// One run of each age with one case that has series; keeps all but what `limits` say.
fn aged(ages: &[i64], limits: Limits, values: usize) -> (Place, Store, Vec<CaseRecord>) {
    let place = Place::new();
    let store = place.open();
    let mut cases = Vec::new();
    for &age in ages {
        let run = store_run(&store, "db", days_ago(age), Outcome::Finished);
        let case = case_of(run.id, "db", 0, days_ago(age));
        store.save_case(&case, &series_of(&case, values));
        cases.push(case);
    }
    drop(store);
    let store = place.open_with(limits);
    // The limits are applied before the first change.
    store_run(&store, "other", days_ago(0), Outcome::Finished);
    assert!(store.flush(LONG));
    (place, store, cases)
}

#[test]
fn series_go_by_age_before_records_do() {
    let limits =
        Limits { keep_records: "20d".parse().unwrap(), keep_series: "10d".parse().unwrap(), ..KEEP_ALL };
    let ages: Vec<i64> = (0..30).rev().collect();
    let (_place, store, cases) = aged(&ages, limits, 60);
    let reader = store.reader().unwrap();
    for (age, case) in ages.iter().zip(&cases) {
        let stored = reader.case_full(case.run, 0).unwrap();
        let series = reader.series(case.run, 0, &[]).unwrap();
        match age {
            20.. => assert_eq!((reader.run(case.run).unwrap(), stored), (None, None)),
            10.. => {
                assert_eq!(series, []);
                let result = stored.as_ref().unwrap().result.as_ref().unwrap();
                assert_eq!((result.intervals.len(), result.histograms.len()), (0, 2));
                assert_eq!(without_details(stored.clone().unwrap()), without_details(case.clone()));
            }
            _ => assert_eq!((stored.as_ref(), series), (Some(case), series_of(case, 60))),
        }
    }
    assert_eq!(store.status().records, 20);
    assert_eq!(store.status().oldest, Some(cases[10].start));
}

#[test]
fn a_run_under_way_never_goes_by_age() {
    let place = Place::new();
    let store = place.open_with(Limits { keep_records: "1d".parse().unwrap(), ..KEEP_ALL });
    let old = begun("db", days_ago(3));
    store.begin_run(&old);
    assert!(store.flush(LONG));
    assert_eq!(store.reader().unwrap().run(old.id).unwrap(), Some(old));
}

#[test]
fn the_oldest_series_go_by_size_and_records_never_do() {
    let max_size = Bytes::from_mib(3);
    let ages: Vec<i64> = (1..=60).rev().collect();
    let (place, store, cases) = aged(&ages, Limits { max_size, ..KEEP_ALL }, 4_000);
    let reader = store.reader().unwrap();
    let has_series = |case: &CaseRecord| !reader.series(case.run, 0, &[]).unwrap().is_empty();
    let kept = cases.iter().filter(|case| has_series(case)).count();
    assert!((1..60).contains(&kept), "{kept} of 60 cases have series");
    assert!(cases[60 - kept..].iter().all(has_series), "not the oldest were removed");
    assert_eq!(store.status().records, 60);
    let check_size = || {
        let bytes = fs::metadata(&place.path).unwrap().len();
        assert!(bytes <= max_size.get(), "the file has {bytes} bytes");
    };
    check_size();

    // It stays within its size while new results come, and these are the ones that stay.
    let run = store_run(&store, "db", days_ago(0), Outcome::Finished);
    for index in 0..40 {
        let case = case_of(run.id, "db", index, days_ago(0));
        store.save_case(&case, &series_of(&case, 4_000));
    }
    assert!(store.flush(LONG));
    assert_eq!(store.status().records, 100);
    assert!(!reader.series(run.id, 39, &[]).unwrap().is_empty());
    assert!(!has_series(&cases[59]));
    drop(store);
    check_size();
}

#[test]
fn with_little_free_space_records_are_stored_and_series_are_not() {
    let place = Place::new();
    let store = place.open_with(Limits { min_free: Bytes::new(u64::MAX), ..KEEP_ALL });
    let run = store_run(&store, "db", some_day(), Outcome::Finished);
    let case = case_of(run.id, "db", 0, some_day());
    store.save_case(&case, &series_of(&case, 60));
    assert!(store.flush(LONG));
    let reader = store.reader().unwrap();
    let result = reader.case_full(run.id, 0).unwrap().unwrap().result.unwrap();
    assert_eq!((result.intervals.len(), result.histograms.len()), (0, 2));
    assert_eq!(reader.series(run.id, 0, &[]).unwrap(), []);
    let alarm = store.status().alarm.unwrap();
    assert!(alarm.contains("store.min_free"), "{alarm}");
    assert_eq!(store.status().write_failures, 0);
}

/// Flushes until the condition holds; each flush waits for the writer, none for time to pass.
fn flush_until(store: &Store, holds: impl Fn(&Store) -> bool) {
    let start = Instant::now();
    while !holds(store) {
        assert!(start.elapsed() < LONG, "{:?}", store.status());
        store.flush(Duration::from_millis(5));
    }
}

fn failing(store: &Store) -> bool {
    store.status().write_failures > 0
}

#[test]
fn while_another_program_locks_the_file_results_wait_in_order() {
    let place = Place::new();
    let store = place.open();
    let run = store_run(&store, "db", some_day(), Outcome::Finished);
    assert!(store.flush(LONG));
    let other = Connection::open(&place.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let cases: Vec<CaseRecord> = (0..5).map(|index| case_of(run.id, "db", index, some_day())).collect();
    cases.iter().for_each(|case| store.save_case(case, &[]));
    flush_until(&store, failing);
    let status = store.status();
    assert_eq!(status.pending, 5);
    assert!(status.alarm.as_ref().unwrap().contains("End the other program"), "{status:?}");
    assert!(!store.flush(Duration::ZERO));
    other.execute_batch("ROLLBACK").unwrap();
    assert!(store.flush(LONG));
    assert_eq!(store.status().alarm, None);
    assert_eq!(store.reader().unwrap().cases(run.id).unwrap(), summaries(&cases));
}

#[test]
fn a_file_moved_away_is_noticed_before_results_go_into_it() {
    let place = Place::new();
    let store = place.open();
    let run = store_run(&store, "db", some_day(), Outcome::Finished);
    assert!(store.flush(LONG));
    let moved = place.path.with_extension("moved");
    fs::rename(&place.path, &moved).unwrap();
    let case = case_of(run.id, "db", 0, some_day());
    store.save_case(&case, &[]);
    flush_until(&store, failing);
    assert!(store.status().alarm.unwrap().contains("moved, replaced or removed"));
    fs::rename(&moved, &place.path).unwrap();
    assert!(store.flush(LONG));
    assert_eq!(store.reader().unwrap().case_full(run.id, 0).unwrap(), Some(case));
}

#[test]
fn damage_under_a_running_store_is_an_alarm_and_not_the_end() {
    let (place, run) = Place::filled(200);
    let store = place.open();
    let length = fs::metadata(&place.path).unwrap().len();
    place.overwrite(4096, &vec![0xaa; usize::try_from(length).unwrap() - 4096]);
    assert!(store.reader().and_then(|reader| reader.cases(run)).is_err());
    // Every page of the old cases is damaged; replacing them cannot go on without reading one.
    (0..200).for_each(|index| store.save_case(&case_of(run, "db", index, some_day()), &[]));
    flush_until(&store, failing);
    let status = store.status();
    assert!(status.alarm.as_ref().unwrap().contains("move the file"), "{status:?}");
    assert!(status.pending > 0);
}

/// A small filesystem of its own, for as long as this lives.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<SmallDisk> {
        let directory = tempfile::tempdir().unwrap();
        let options = format!("size={size}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "benchd-test"]).arg(directory.path());
        let mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        mounted.then(|| SmallDisk(directory))
    }

    /// Takes all the space that is left.
    fn fill(&self) -> PathBuf {
        let path = self.0.path().join("filler");
        let mut file = fs::File::create(&path).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.0.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

#[test]
fn on_a_full_disk_results_wait_and_are_written_when_there_is_space() {
    let Some(disk) = SmallDisk::mount("4m") else {
        println!("SKIPPED: a full disk needs the right to mount a tmpfs (root)");
        return;
    };
    let path = disk.0.path().join("benchd.db");
    let store = Store::open(&path, KEEP_ALL).unwrap();
    let run = begun("db", some_day());
    store.begin_run(&run);
    assert!(store.flush(LONG));
    let filler = disk.fill();
    let error = Store::open(&disk.0.path().join("second/benchd.db"), KEEP_ALL).unwrap_err();
    assert!(error.to_string().contains("Free space"), "{error}");
    let cases: Vec<CaseRecord> = (0..30).map(|index| case_of(run.id, "db", index, some_day())).collect();
    cases.iter().for_each(|case| store.save_case(case, &[]));
    store.end_run(&ended(run.clone(), Outcome::Finished));
    flush_until(&store, failing);
    let status = store.status();
    assert!(status.pending > 1, "{status:?}");
    let alarm = status.alarm.unwrap();
    assert!(alarm.contains("full") && alarm.contains("Free space"), "{alarm}");
    let stored = store.reader().unwrap().cases(run.id).unwrap();
    assert_eq!(stored, summaries(&cases[..stored.len()]), "order was not kept");

    fs::remove_file(filler).unwrap();
    assert!(store.flush(LONG), "{:?}", store.status());
    let reader = store.reader().unwrap();
    for case in &cases {
        assert_eq!(reader.case_full(run.id, case.index).unwrap().as_ref(), Some(case));
    }
    assert_eq!(reader.run(run.id).unwrap().unwrap().outcome, Some(Outcome::Finished));
    assert_eq!((store.status().alarm, store.status().pending), (None, 0));
    drop((reader, store));
}

/// The store a child process of the kill test writes.
const CHILD_STORE: &str = "BENCHD_TEST_STORE";

/// Saves cases for ever and prints which are acknowledged: `RUN CASES`, all below that number.
#[test]
#[ignore = "the process that the kill test starts and kills"]
fn child_that_saves_cases() {
    let Some(path) = std::env::var_os(CHILD_STORE) else { return };
    let store = Store::open(Path::new(&path), KEEP_ALL).unwrap();
    let mut random = Random(u64::from(std::process::id()));
    loop {
        let run = begun("db", some_day());
        store.begin_run(&run);
        let mut saved = 0;
        while saved < 12 {
            let batch = 1 + random.below(3) as u32;
            for index in saved..saved + batch {
                let case = case_of(run.id, "db", index, some_day());
                store.save_case(&case, &series_of(&case, 300));
            }
            saved += batch;
            assert!(store.flush(LONG));
            println!("acknowledged {} {saved}", run.id);
        }
        store.end_run(&ended(run, Outcome::Finished));
    }
}

/// A process that saves cases, and the lines it prints.
struct Saver {
    child: Child,
    lines: mpsc::Receiver<String>,
    acknowledged: BTreeMap<RunId, u32>,
}

impl Saver {
    fn start(path: &Path) -> Saver {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_saves_cases", "--ignored", "--nocapture", "--test-threads=1"])
            .env(CHILD_STORE, path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Saver { child, lines, acknowledged: BTreeMap::new() }
    }

    fn note(&mut self, line: &str) {
        if let Some((_, rest)) = line.split_once("acknowledged ") {
            let (run, cases) = rest.split_once(' ').unwrap();
            self.acknowledged.insert(run.parse().unwrap(), cases.parse().unwrap());
        }
    }

    /// Kills it at a moment within `at_most` after it printed so many lines; answers with what it acknowledged.
    fn kill(mut self, lines: u64, at_most: Duration, random: &mut Random) -> BTreeMap<RunId, u32> {
        for _ in 0..lines {
            let line = self.lines.recv_timeout(LONG).unwrap();
            self.note(&line);
        }
        let moment = Instant::now() + at_most.mul_f64(random.fraction());
        while let Ok(line) = self.lines.recv_timeout(moment.saturating_duration_since(Instant::now())) {
            self.note(&line);
        }
        self.child.kill().unwrap();
        assert_eq!(self.child.wait().unwrap().signal(), Some(9));
        while let Ok(line) = self.lines.recv() {
            self.note(&line);
        }
        self.acknowledged
    }
}

fn pragma<T: rusqlite::types::FromSql>(path: &Path, name: &str) -> T {
    Connection::open(path).unwrap().pragma_query_value(None, name, |row| row.get(0)).unwrap()
}

#[test]
fn kill_9_while_a_store_is_made_leaves_one_that_opens() {
    let mut random = Random(4_711);
    for kill in 0..25 {
        let place = Place::new();
        // Its first two lines come before it opens the store.
        Saver::start(&place.path).kill(2, Duration::from_millis(10), &mut random);
        let store = place.open();
        let run = store_run(&store, "db", some_day(), Outcome::Finished);
        assert!(store.flush(LONG));
        let identity = store.identity();
        drop(store);
        let store = place.open();
        assert_eq!(store.identity(), identity, "kill {kill}");
        assert!(store.reader().unwrap().run(run.id).unwrap().is_some(), "kill {kill}");
        assert_eq!(pragma::<i64>(&place.path, "auto_vacuum"), 2, "kill {kill}");
    }
}

#[test]
fn kill_9_at_any_moment_loses_no_acknowledged_case() {
    let place = Place::new();
    fs::create_dir(place.path.parent().unwrap()).unwrap();
    let mut random = Random(20_260_722);
    let mut acknowledged: BTreeMap<RunId, u32> = BTreeMap::new();
    for kill in 0..12 {
        let lines = 1 + random.below(14);
        let saver = Saver::start(&place.path);
        acknowledged.append(&mut saver.kill(lines, Duration::from_millis(30), &mut random));
        let store = place.open();
        assert!(store.recovered() <= 1);
        let reader = store.reader().unwrap();
        for (&run, &cases) in &acknowledged {
            let stored = reader.cases(run).unwrap().len() as u32;
            assert!(stored >= cases, "kill {kill}: {stored} of {cases} cases of {run}");
            for index in 0..stored {
                let case = case_of(run, "db", index, some_day());
                assert_eq!(reader.series(run, index, &[]).unwrap(), series_of(&case, 300));
                assert_eq!(reader.case_full(run, index).unwrap(), Some(case));
            }
        }
        let runs = reader.runs(&RunFilter::default()).unwrap();
        assert!(runs.iter().all(|run| run.outcome.is_some()), "kill {kill}: a run has no end");
        let integrity: String = pragma(&place.path, "integrity_check");
        assert_eq!(integrity, "ok", "kill {kill}");
    }
    assert!(acknowledged.values().sum::<u32>() > 0);
}
