//! Many clients on few rows, so that most transactions lose against others. What is committed of them is seen by triggers,
//! which write down each change in the transaction that makes it.

use std::process::Command;

use serde_json::{Value, json};

use super::common::{self, Flavour};
use super::{Host, execute, measure, prepare, value, workload};

/// Clients, and rows of the one table.
const CLIENTS: u32 = 64;
const ROWS: u32 = 100;
const SECONDS: u32 = 6;

/// How many changes of each kind were committed. A transaction makes them in this order, one of each, and an attempt that
/// is cut off makes the first ones: so the numbers are equal when none was committed in part, and fall when some were.
#[derive(Debug, PartialEq, Eq)]
struct Committed {
    index_updates: u64,
    updates: u64,
    deletes: u64,
    inserts: u64,
}

/// Has the server write down what is committed from now on.
fn watch(host: &Host) {
    let schema = host.schema().name();
    let trigger = |name: &str, when: &str, what: &str| {
        format!(
            "CREATE TRIGGER {schema}.{name} AFTER {when} ON {schema}.sbtest1 FOR EACH ROW \
             INSERT INTO audit.changes (what) VALUES ({what})"
        )
    };
    let table =
        "CREATE TABLE audit.changes (id BIGINT AUTO_INCREMENT PRIMARY KEY, what CHAR(1)) ENGINE = InnoDB";
    let made = [
        "CREATE DATABASE audit".to_owned(),
        table.to_owned(),
        trigger("updated", "UPDATE", "IF(NEW.k <> OLD.k, 'k', 'c')"),
        trigger("deleted", "DELETE", "'d'"),
        trigger("inserted", "INSERT", "'i'"),
    ];
    execute(&host.server.root(), &made.each_ref().map(String::as_str));
}

fn committed(host: &Host) -> Committed {
    let count = |what: &str| {
        let question = format!("SELECT COUNT(*) FROM audit.changes WHERE what = '{what}'");
        value(&host.server.root(), &question).parse().unwrap()
    };
    Committed { index_updates: count("k"), updates: count("c"), deletes: count("d"), inserts: count("i") }
}

/// Removes what was written down, and the triggers, so that the table can be made anew.
fn end_watch(host: &Host) {
    let schema = host.schema().name();
    let drop = |name: &str| format!("DROP TRIGGER {schema}.{name}");
    let ended = ["DROP DATABASE audit".to_owned(), drop("updated"), drop("deleted"), drop("inserted")];
    execute(&host.server.root(), &ended.each_ref().map(String::as_str));
}

/// Runs benchd in a storm: no transaction may be committed in part, and every one that is counted must be there.
fn ours(host: &mut Host, changes: &Value, code: &str) {
    let mut keys = json!({
        "threads": CLIENTS, "table_size": ROWS, "operations": 0, "time": format!("{SECONDS}s"), "reuse": false,
    });
    keys.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let case = workload("oltp_write_only", keys);
    prepare(case.as_ref(), &mut host.at);
    watch(host);
    let result = measure(case.as_ref(), host.access());
    let changed = committed(host);
    eprintln!("benchd: {} operations, errors {:?}, committed {changed:?}", result.operations, result.errors);
    assert!(result.operations > 0);
    let met = result.errors.by_code.get(code).copied().unwrap_or_default();
    assert!(met > u64::from(CLIENTS), "no storm: {:?}", result.errors);
    assert_eq!(result.errors.by_code.values().sum::<u64>(), result.errors.retried + result.errors.failed);
    let each = result.operations;
    assert_eq!(changed, Committed { index_updates: each, updates: each, deletes: each, inserts: each });
    let whole = "SELECT COUNT(DISTINCT id) FROM sbtest1 WHERE id BETWEEN 1 AND 100";
    assert_eq!(value(host.access(), whole), ROWS.to_string());
    end_watch(host);
}

/// Runs sysbench in the same storm, and says what it committed; `None` when it is not installed.
fn theirs(host: &mut Host, options: &[&str]) -> Option<Committed> {
    let keys = json!({"table_size": ROWS, "operations": 1, "reuse": false});
    prepare(workload("oltp_write_only", keys).as_ref(), &mut host.at);
    watch(host);
    let done = Command::new("sysbench")
        .args(["oltp_write_only", "--mysql-user=root", "--tables=1"])
        .arg(format!("--mysql-socket={}", host.server.socket().display()))
        .arg(format!("--mysql-db={}", host.schema().name()))
        .args([format!("--table-size={ROWS}"), format!("--threads={CLIENTS}"), format!("--time={SECONDS}")])
        .args(options)
        .arg("run")
        .output();
    let Ok(done) = done else {
        common::skip("sysbench");
        return None;
    };
    let changed = committed(host);
    let printed = String::from_utf8_lossy(&done.stdout);
    let lines: Vec<&str> = printed
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("trans") || line.starts_with("ignored"))
        .collect();
    eprintln!("sysbench: {lines:?}, {}, committed {changed:?}", done.status);
    end_watch(host);
    Some(changed)
}

#[test]
fn a_storm_of_deadlocks_ends_with_errors_by_code_and_commits_no_transaction_in_part() {
    for flavour in Flavour::present() {
        let mut host = Host::start(flavour).unwrap();
        ours(&mut host, &json!({}), "1213");
    }
}

/// Without the search for deadlocks each of them lasts until a lock was waited for too long, and after that error the
/// server keeps the transaction open: who begins the next one commits the first half of the last.
#[test]
fn a_storm_of_lock_waits_commits_no_transaction_in_part_and_sysbench_commits_many() {
    for flavour in Flavour::present() {
        let mut host = Host::start(flavour).unwrap();
        let waits = ["SET GLOBAL innodb_deadlock_detect = OFF", "SET GLOBAL innodb_lock_wait_timeout = 1"];
        execute(&host.server.root(), &waits);
        ours(&mut host, &json!({"rand_type": "uniform", "max_errors": "100%"}), "1205");
        let Some(theirs) = theirs(&mut host, &["--rand-type=uniform"]) else { return };
        assert!(
            theirs.index_updates > theirs.inserts,
            "sysbench committed no transaction in part: {theirs:?}"
        );
    }
}
