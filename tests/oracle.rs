//! What an open loop says of a server that freezes for a second: the numbers are known beforehand.
//!
//! 8 connections, 1 ms a statement, 1,000 operations a second for 10 s, frozen for 1 s. An arrival t into the freeze
//! waits for what is left of it and for the backlog before it, D - (1 - R/c) t with a capacity of c; so the quantile q
//! of the response time is D - (1 - R/c) (1 - q) T, as long as that is positive. Counted from when operations were
//! sent, as in closed loop, 8 operations of 10,000 would have met the freeze and no percentile would show it.
#![allow(clippy::unwrap_used, reason = "helpers of tests end a test as its own code does")]

mod common;
mod fake_server;

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use benchd::driver::Stop;
use benchd::record::{CaseResult, Percentiles};
use benchd::target::{Access, Client, Way};
use benchd::workloads::find;
use serde_json::{Value, json};

use common::{Flavour, Server};
use fake_server::FakeServer;

/// The tests of this file measure: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Length of the load in seconds.
const TIME: f64 = 10.0;
/// Arrivals a second.
const RATE: f64 = 1_000.0;

/// The real path of `oltp_point_select` over 8 connections, in open loop unless `changes` says otherwise.
fn load(access: &Access, changes: Value) -> CaseResult {
    let kind = find("oltp_point_select").unwrap();
    let mut parameters = (kind.defaults)();
    let base = json!({"threads": 8, "warm_up": "0s", "time": "10s", "rate": 1000, "pace": "even", "table_size": 100});
    for values in [base, changes] {
        parameters.extend(values.as_object().unwrap().clone());
    }
    let workload = (kind.build)(&parameters).unwrap();
    let way = Way::Server(Box::new(access.clone()));
    workload.measure(Some(&way), &Stop::new(), &mut |_| ()).unwrap()
}

/// The quantile of the response time with a freeze and a capacity.
fn expected(freeze: f64, capacity: f64, quantile: f64) -> f64 {
    freeze - (1.0 - RATE / capacity) * (1.0 - quantile) * TIME
}

fn near(measured: Option<f64>, expected: f64, name: &str) {
    let ratio = measured.unwrap() / expected;
    assert!((0.97..=1.03).contains(&ratio), "{name}: {measured:?} where {expected} is expected");
}

/// Nothing was skipped, and what it says of the sends alone hides the freeze.
fn check_accounting(result: &CaseResult) {
    assert_eq!(result.operations + result.load.never_sent, 10_000, "no arrival is skipped");
    assert_eq!((result.errors.failed, result.load.overloaded), (0, false));
    let service = &result.service;
    assert!(service.p95.unwrap() < 0.1 && service.p99.unwrap() < 0.1, "{service:?}");
    assert!(service.max.unwrap() > 0.9, "the freeze was met by the operations under way: {service:?}");
    assert!(result.lag.p95.unwrap() > 0.4, "what waits is late in being sent: {:?}", result.lag);
}

fn shown(p: &Percentiles) -> String {
    format!("p50 {:?} p95 {:?} p99 {:?} p99.9 {:?} max {:?}", p.p50, p.p95, p.p99, p.p99_9, p.max)
}

#[test]
fn a_fake_server_that_freezes_for_a_second_is_seen_by_those_who_had_to_wait() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let server = FakeServer::start(Duration::from_millis(1), Duration::from_secs(5), Duration::from_secs(1));
    let result = load(&server.access(), json!({}));
    check_accounting(&result);
    let said = shown(&result.response);
    near(result.response.p95, 0.563, &said);
    near(result.response.p99, 0.913, &said);
    near(result.response.p99_9, 0.992, &said);
}

#[test]
fn a_closed_loop_hides_the_freeze_of_a_fake_server() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let server = FakeServer::start(Duration::from_millis(1), Duration::from_secs(1), Duration::from_secs(1));
    let result = load(&server.access(), json!({"rate": 0, "time": "4s"}));
    assert!(result.response.p99_9.unwrap() < 0.5, "{}", shown(&result.response));
    assert!(result.response.max.unwrap() > 0.9);
}

/// Tables of which each row takes about a millisecond, so that 8 connections make about 8,000 of them a second.
fn slow_table(server: &Server) -> Access {
    server.setup(&[
        "CREATE DATABASE load_of_test",
        "USE load_of_test",
        "CREATE TABLE load_of_test.row_of_test (id INTEGER PRIMARY KEY, c CHAR(120))",
        "INSERT INTO load_of_test.row_of_test SELECT seq, 'c' FROM seq_1_to_100",
        "CREATE VIEW load_of_test.sbtest1 AS \
         SELECT id, IF(SLEEP(0.0007) = 0, c, c) AS c FROM load_of_test.row_of_test",
    ]);
    Access { schema: Some("load_of_test".to_owned()), ..server.root() }
}

#[test]
fn a_real_server_that_is_stopped_for_a_second_is_seen_by_those_who_had_to_wait() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start(Flavour::MariaDb, &[]);
    let access = slow_table(&server);
    let capacity = load(&access, json!({"rate": 0, "time": "2s"})).per_second;
    let (result, frozen) = thread::scope(|scope| {
        let load = scope.spawn(|| load(&access, json!({})));
        let frozen = freeze_in_the_middle(&server, &access);
        (load.join().unwrap(), frozen)
    });
    check_accounting(&result);
    let said = format!("{} with {capacity} a second, frozen for {frozen} s", shown(&result.response));
    for (measured, quantile) in
        [(result.response.p95, 0.95), (result.response.p99, 0.99), (result.response.p99_9, 0.999)]
    {
        near(measured, expected(frozen, capacity, quantile), &said);
    }
}

/// Stops the server for a second once the load has run for a while; returns for how long it stood still.
fn freeze_in_the_middle(server: &Server, access: &Access) -> f64 {
    let mut client = Client::connect(access).unwrap();
    let mut executed = || -> u64 {
        let rows = client.rows("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'").unwrap();
        rows[0][1].as_ref().unwrap().parse().unwrap()
    };
    let before = executed();
    while executed() < before + 4_000 {
        thread::sleep(Duration::from_millis(20));
    }
    client.close();
    server.freeze();
    let stands = Instant::now();
    thread::sleep(Duration::from_secs(1));
    server.thaw();
    stands.elapsed().as_secs_f64()
}
