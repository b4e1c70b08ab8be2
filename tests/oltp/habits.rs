//! What clients do beside their statements, and what becomes of tables that scripts change.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::common::Flavour;
use super::{Host, Logged, ids, logged, measure, prepare, server, statements, value, workload};
use benchd::driver::Stop;
use benchd::record::CaseResult;

/// Prepares and runs a case; what came of it, and what the server was sent meanwhile.
fn run(host: &mut Host, name: &str, keys: Value) -> (CaseResult, Vec<Logged>) {
    let case = workload(name, keys);
    prepare(case.as_ref(), &mut host.at);
    let mut result = None;
    let log = logged(host.access(), || result = Some(measure(case.as_ref(), host.access())));
    (result.unwrap(), log)
}

/// How often a client connected, without the tests' own connections around it.
fn connections(log: &[Logged]) -> usize {
    log.iter().filter(|entry| entry.command == "Connect").count() - 1
}

#[test]
fn a_client_connects_anew_as_often_as_asked_and_goes_on() {
    for flavour in Flavour::present() {
        let mut host = Host::start(flavour).unwrap();
        let (_, log) = run(&mut host, "oltp_read_write", json!({}));
        let once = connections(&log);
        for (name, keys, times, others) in [
            ("oltp_read_write", json!({"reconnect_every": 5}), 4, 40),
            ("oltp04", json!({"mode": "simple", "reconnect": "query", "connect_delay": "1ms"}), 20, 20),
            ("oltp04", json!({"reconnect": "transaction", "connect_delay": "1ms"}), 20, 60),
            ("oltp04", json!({"mode": "simple", "handler": true, "reconnect": "query"}), 20, 20),
        ] {
            let (result, log) = run(&mut host, name, keys.clone());
            assert_eq!(connections(&log), once + times, "{name} {keys}");
            assert_eq!((result.operations, result.errors.failed, result.errors.retried), (20, 0, 0));
            assert_eq!(result.statements.other, others, "{name} {keys}");
        }
    }
}

#[test]
fn lots_decide_when_a_client_of_0_4_connects_anew() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let keys = json!({"mode": "simple", "reconnect": "random", "operations": 100, "connect_delay": "0ms"});
    let (result, _) = run(&mut host, "oltp04", keys);
    assert!((25..75).contains(&result.statements.other), "{:?}", result.statements);
}

#[test]
fn waits_belong_to_the_response_time() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    for (keys, shortest) in [
        (json!({"mode": "simple", "user_delay": ["20ms", "30ms"]}), 0.02),
        // Six waits: nothing comes between a row that is deleted and its insertion.
        (json!({"point_selects": 1, "range_selects": false, "user_delay": ["5ms", "6ms"]}), 0.03),
        (json!({"mode": "simple", "reconnect": "query", "connect_delay": "20ms"}), 0.02),
    ] {
        let (result, _) = run(&mut host, "oltp04", keys.clone());
        let mean = result.response.mean.unwrap();
        assert!(mean >= shortest, "{keys}: {mean}");
    }
}

#[test]
fn a_stop_ends_long_waits_at_once() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let keys = json!({"mode": "simple", "user_delay": ["1h", "1h"], "operations": 0, "time": "60s"});
    let case = workload("oltp04", keys);
    prepare(case.as_ref(), &mut host.at);
    let (stop, mut asked) = (Stop::new(), None);
    let ended = case.measure(Some(&super::way(host.access())), &stop, &mut |_| {
        stop.request();
        asked.get_or_insert_with(Instant::now);
    });
    assert!(ended.is_err());
    assert!(asked.unwrap().elapsed() < Duration::from_secs(2));
}

#[test]
fn every_table_is_read_before_the_warm_up_where_asked() {
    for flavour in Flavour::present() {
        let mut host = Host::start(flavour).unwrap();
        let case = workload("oltp_read_only", json!({"tables": 2, "prewarm": true}));
        let access = host.access().clone();
        let mut told = Vec::new();
        let log = logged(&access, || {
            let mut progress = |done, of, unit: &'static str| told.push((done, of, unit));
            case.prepare(Some(&mut host.at), &Stop::new(), &mut progress).unwrap();
        });
        for table in [1, 2] {
            for part in ["ANALYZE TABLE ", "FORCE KEY (PRIMARY)", "k LIKE '%0%'"] {
                let read = |entry: &&Logged| {
                    entry.text.contains(part) && entry.text.contains(&format!("sbtest{table}"))
                };
                assert_eq!(log.iter().filter(read).count(), 1, "{part} {table}");
            }
        }
        assert_eq!(told.last(), Some(&(2, 2, "tables")));
        prepare(
            workload("oltp_read_only", json!({"secondary": true, "prewarm": true})).as_ref(),
            &mut host.at,
        );
    }
}

#[test]
fn tables_that_a_script_changes_are_made_anew_for_the_next_case() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let count = "SELECT COUNT(*) FROM sbtest1";
    for _ in 0..2 {
        run(&mut host, "oltp_insert", json!({}));
        assert_eq!(value(host.access(), count), "1020");
        let (result, _) = run(&mut host, "oltp_delete", json!({"rand_type": "uniform", "operations": 200}));
        assert_eq!(result.statements.write + result.statements.other, 200);
        assert!(result.statements.write > 150);
        assert_eq!(value(host.access(), count), (1_000 - result.statements.write).to_string());
        run(&mut host, "oltp_insert", json!({"auto_inc": false, "threads": 4, "operations": 100}));
        assert_eq!(value(host.access(), count), "100");
    }
}

#[test]
fn each_client_looks_into_its_own_part_of_the_values() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    for (name, more) in [("select_random_points", 0), ("select_random_ranges", 5)] {
        let keys = json!({"threads": 2, "rand_type": "uniform", "protocol": "text", "operations": 100});
        let (_, log) = run(&mut host, name, keys);
        let sent = statements(&log);
        assert_eq!(sent.len(), 100);
        let mut parts = [0, 0];
        for text in sent {
            // The first number is the table's.
            let values = &ids(&text)[1..];
            let inside = |low: i64, high: i64| values.iter().all(|value| (low..=high + more).contains(value));
            let part = usize::from(!inside(0, 500));
            assert!(part == 0 || inside(500, 1_000), "{text}");
            parts[part] += 1;
        }
        assert!(parts.iter().all(|times| *times > 0), "{parts:?}");
    }
}

#[test]
fn rows_in_bulk_are_all_there_when_the_time_is_over() {
    for flavour in Flavour::present() {
        let mut host = Host::start(flavour).unwrap();
        for _ in 0..2 {
            let (result, log) = run(&mut host, "bulk_insert", json!({"threads": 2, "operations": 120_000}));
            let inserts: Vec<String> = statements(&log);
            assert_eq!((result.operations, result.statements.write), (120_000, inserts.len() as u64));
            assert!(inserts.len() >= 4 && inserts.iter().all(|text| text.len() <= 512 << 10));
            let rows = "SELECT (SELECT COUNT(*) FROM sbtest1) + (SELECT COUNT(*) FROM sbtest2)";
            assert_eq!(value(&server(&host.at).access, rows), "120000");
            assert_eq!(value(&server(&host.at).access, "SELECT COUNT(*) FROM sbtest1 WHERE id <> k"), "0");
        }
    }
}
