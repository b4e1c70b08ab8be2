//! The oltp workloads on a real server: what they send, what they load, how they count, and how they end.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests end a test as its own code does"
)]

mod common;
#[path = "oltp/engines.rs"]
mod engines;
#[path = "oltp/habits.rs"]
mod habits;
#[path = "oltp/loading.rs"]
mod loading;
#[path = "oltp/ndb.rs"]
mod ndb;
#[path = "oltp/relay.rs"]
mod relay;
#[path = "oltp/sameness.rs"]
mod sameness;
#[path = "oltp/storm.rs"]
mod storm;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use benchd::driver::{DriveError, Observed, Stop};
use benchd::record::CaseResult;
use benchd::target::{Access, Client, DaemonIdentity, OwnedSchema, Prepared, PreparedTarget, Way};
use benchd::units::Span;
use benchd::workloads::{Workload, find};
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

use common::{Flavour, Server};

/// A server with the schema that benchd made on it.
struct Host {
    server: Server,
    at: Prepared,
    /// Holds the local side of the proof that the schema is benchd's.
    _directory: TempDir,
}

impl Host {
    /// `None` when this machine has no such server.
    fn start(flavour: Flavour) -> Option<Host> {
        flavour.program()?;
        let server = Server::start(flavour, &[]);
        let directory = common::directory();
        let daemon = DaemonIdentity { uuid: Uuid::new_v4(), host: "host".to_owned() };
        let mut client = Client::connect(&server.root()).unwrap();
        let at = PreparedTarget::claim(&mut client, "test", &daemon, &directory.path().join("owned.json"));
        client.close();
        Some(Host { server, at: Prepared::Server(Box::new(at.unwrap())), _directory: directory })
    }

    fn access(&self) -> &Access {
        &server(&self.at).access
    }

    fn schema(&self) -> &OwnedSchema {
        &server(&self.at).schema
    }
}

fn server(at: &Prepared) -> &PreparedTarget {
    match at {
        Prepared::Server(server) => server,
        Prepared::Directory(_) => panic!("not a server"),
    }
}

/// One statement as the server logged it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Logged {
    command: String,
    text: String,
}

/// A workload with these keys changed: one client, no warm-up, ended by a number of operations.
fn workload(name: &str, changes: Value) -> Box<dyn Workload> {
    let kind = find(name).unwrap();
    let mut parameters = (kind.defaults)();
    let base = json!({"threads": 1, "warm_up": "0s", "time": "0s", "operations": 20, "table_size": 1_000});
    let known: Vec<String> = parameters.keys().cloned().collect();
    let base = base.as_object().unwrap().clone().into_iter().filter(|(key, _)| known.contains(key));
    parameters.extend(base);
    parameters.extend(changes.as_object().unwrap().clone());
    (kind.build)(&parameters).unwrap()
}

fn way(access: &Access) -> Way {
    Way::Server(Box::new(access.clone()))
}

fn prepare(workload: &dyn Workload, at: &mut Prepared) {
    workload.prepare(Some(at), &Stop::new(), &mut |_, _, _| ()).unwrap();
}

fn measure(workload: &dyn Workload, access: &Access) -> CaseResult {
    workload.measure(Some(&way(access)), &Stop::new(), &mut |_| ()).unwrap()
}

/// The only value of a query's only row.
fn value(access: &Access, query: &str) -> String {
    let mut client = Client::connect(access).unwrap();
    let rows = client.rows(query).unwrap();
    client.close();
    rows[0][0].clone().unwrap_or_default()
}

fn execute(access: &Access, statements: &[&str]) {
    let mut client = Client::connect(access).unwrap();
    for statement in statements {
        client.query(statement).unwrap();
    }
    client.close();
}

/// What the server was sent while `work` ran, in order, without what the tests themselves send.
fn logged(access: &Access, work: impl FnOnce()) -> Vec<Logged> {
    let start =
        ["SET GLOBAL log_output = 'TABLE'", "TRUNCATE mysql.general_log", "SET GLOBAL general_log = ON"];
    execute(access, &start);
    work();
    execute(access, &["SET GLOBAL general_log = OFF"]);
    let mut client = Client::connect(access).unwrap();
    let rows = client.rows("SELECT command_type, argument FROM mysql.general_log").unwrap();
    client.close();
    let logged = rows.into_iter().map(|row| match row.as_slice() {
        [Some(command), Some(text)] => Logged { command: command.clone(), text: text.clone() },
        other => panic!("{other:?}"),
    });
    logged.filter(|entry| !entry.text.contains("general_log")).collect()
}

/// The texts of the statements that were run, of those that a load sends.
fn statements(log: &[Logged]) -> Vec<String> {
    let run = log.iter().filter(|entry| matches!(entry.command.as_str(), "Execute" | "Query"));
    let load = run.filter(|entry| {
        entry.text.contains("sbtest") || matches!(entry.text.as_str(), "BEGIN" | "COMMIT" | "ROLLBACK")
    });
    load.map(|entry| entry.text.clone()).collect()
}

fn is_groups(text: &str, groups: usize) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == groups
        && parts.iter().all(|part| part.len() == 11 && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a text is so many numbers as sysbench 0.4 joins them.
fn is_numbers(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    matches!(parts.len(), 5 | 10)
        && parts.iter().all(|part| part.parse::<u32>().is_ok_and(|number| number < 1 << 30))
}

/// A statement with `N` for each number, `#` for the number of its table, one blank for all that is blank, and for texts
/// `<c>`, `<pad>` or `<numbers>` by their shape.
fn shape(statement: &str) -> String {
    let mut shape = String::new();
    for (place, part) in statement.split('\'').enumerate() {
        match part {
            text if place % 2 == 1 && is_groups(text, 10) => shape.push_str("<c>"),
            text if place % 2 == 1 && is_groups(text, 5) => shape.push_str("<pad>"),
            text if place % 2 == 1 && is_numbers(text) => shape.push_str("<numbers>"),
            text if place % 2 == 1 => shape.push_str(&format!("'{text}'")),
            text => shape.push_str(&numbers(text)),
        }
    }
    shape
}

fn numbers(text: &str) -> String {
    let mut shape = String::new();
    for character in text.chars() {
        let after = shape.chars().last();
        match character {
            _ if character.is_whitespace() && after == Some(' ') => {}
            _ if character.is_whitespace() => shape.push(' '),
            _ if !character.is_ascii_digit() => shape.push(character),
            _ if matches!(after, Some('N' | '#')) => {}
            _ if shape.ends_with("sbtest") => shape.push('#'),
            _ => shape.push('N'),
        }
    }
    shape.replace("-N", "N")
}

fn shapes(statements: &[String]) -> Vec<String> {
    statements.iter().map(|statement| shape(statement)).collect()
}

/// The numbers of a statement, its table first.
fn ids(statement: &str) -> Vec<i64> {
    let unquoted: String = statement.split('\'').step_by(2).collect();
    unquoted
        .split(|character: char| !character.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .map(|digits| digits.parse().unwrap())
        .collect()
}

/// A checksum of all rows.
fn checksum(access: &Access, table: &str) -> String {
    let mut client = Client::connect(access).unwrap();
    let rows = client.rows(&format!("CHECKSUM TABLE {table}")).unwrap();
    client.close();
    rows[0][1].clone().unwrap()
}

#[test]
fn rows_have_the_shape_and_k_the_distribution_of_sysbench() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let misshapen = "SELECT COUNT(*) FROM sbtest1 WHERE c NOT REGEXP '^([0-9]{11}-){9}[0-9]{11}$' \
                     OR pad NOT REGEXP '^([0-9]{11}-){4}[0-9]{11}$'";
    // Special: 75 % of picks in the upper part of the middle 1 %, the rest in a bell around it.
    // Uniform: 76 of 10,000 ids, so about 76 rows, standard deviation 8.7.
    for (rand_type, hot) in [("special", 7_300..7_900), ("uniform", 30..130)] {
        let case = workload("oltp_read_only", json!({"table_size": 10_000, "rand_type": rand_type}));
        prepare(case.as_ref(), &mut host.at);
        assert_eq!(value(host.access(), misshapen), "0");
        assert_eq!(value(host.access(), "SELECT COUNT(*) FROM sbtest1 WHERE k NOT BETWEEN 1 AND 10000"), "0");
        let found = value(host.access(), "SELECT COUNT(*) FROM sbtest1 WHERE k BETWEEN 4975 AND 5050");
        assert!(hot.contains(&found.parse().unwrap()), "{rand_type}: {found}");
        let distinct = value(host.access(), "SELECT COUNT(DISTINCT c) FROM sbtest1");
        assert_eq!(distinct, "10000");
    }
}

#[test]
fn two_loads_of_one_seed_hold_the_same_rows_and_another_seed_others() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let mut sums = |seed: u64, threads: u32| {
        let keys = json!({"tables": 3, "seed": seed, "threads": threads, "reuse": false});
        prepare(workload("oltp_read_write", keys).as_ref(), &mut host.at);
        [1, 2, 3].map(|table| checksum(host.access(), &format!("sbtest{table}")))
    };
    let first = sums(1, 1);
    assert_eq!(sums(1, 4), first);
    let other = sums(2, 4);
    assert!((0..3).all(|table| other[table] != first[table]));
    assert!(first[0] != first[1] && first[1] != first[2]);
}

/// How many rows were sent and tables dropped while a case was prepared.
fn loading(case: &dyn Workload, at: &mut Prepared) -> BTreeMap<&'static str, usize> {
    let access = server(at).access.clone();
    let log = logged(&access, || prepare(case, at));
    let count = |word: &str| log.iter().filter(|entry| entry.text.starts_with(word)).count();
    BTreeMap::from([("create", count("CREATE TABLE")), ("insert", count("INSERT INTO sbtest"))])
}

#[test]
fn rows_are_used_again_while_they_are_what_the_case_wants() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let loaded = BTreeMap::from([("create", 2), ("insert", 2)]);
    let reused = BTreeMap::from([("create", 0), ("insert", 0)]);
    let case = |name: &str, changes: Value| {
        let mut keys = json!({"tables": 2});
        keys.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        workload(name, keys)
    };
    let writes = case("oltp_write_only", json!({}));
    assert_eq!(loading(writes.as_ref(), &mut host.at), loaded);
    measure(writes.as_ref(), host.access());
    assert_eq!(loading(writes.as_ref(), &mut host.at), reused);
    let reads = case("oltp_read_only", json!({"threads": 4, "protocol": "text"}));
    assert_eq!(loading(reads.as_ref(), &mut host.at), reused, "all four workloads share their tables");
    assert_eq!(loading(case("oltp_read_only", json!({"reuse": false})).as_ref(), &mut host.at), loaded);
    assert_eq!(loading(case("oltp_read_only", json!({"seed": 2})).as_ref(), &mut host.at), loaded);
    assert_eq!(loading(case("oltp_read_only", json!({"engine": "myisam"})).as_ref(), &mut host.at), loaded);
    assert_eq!(loading(reads.as_ref(), &mut host.at), loaded);
    execute(host.access(), &["DELETE FROM sbtest2 WHERE id = 7"]);
    let one = BTreeMap::from([("create", 1), ("insert", 1)]);
    assert_eq!(loading(reads.as_ref(), &mut host.at), one, "a row of one table is missing");
    assert_eq!(loading(reads.as_ref(), &mut host.at), reused);
}

#[test]
fn a_case_with_more_tables_loads_only_those_that_are_missing() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let case = |keys: Value| workload("oltp_read_only", keys);
    let made = |at: &mut Prepared, keys: Value| loading(case(keys).as_ref(), at)["create"];
    assert_eq!(made(&mut host.at, json!({"tables": 1})), 1);
    assert_eq!(made(&mut host.at, json!({"tables": 3})), 2);
    assert_eq!(made(&mut host.at, json!({"tables": 2})), 0);
    assert_eq!(made(&mut host.at, json!({"tables": 1, "seed": 2})), 1);
    let held: Vec<&str> = host.schema().tables().collect();
    assert_eq!(held, ["sbtest1"], "tables of other data are dropped, though this case does not use them");
}

#[test]
fn progress_counts_rows_to_the_last() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let case = workload("oltp_read_only", json!({"tables": 3, "table_size": 5_000, "threads": 2}));
    let mut told = Vec::new();
    let mut progress = |done, of, unit: &'static str| told.push((done, of, unit));
    case.prepare(Some(&mut host.at), &Stop::new(), &mut progress).unwrap();
    assert_eq!(told.last(), Some(&(15_000, 15_000, "rows")));
    assert!(told.len() >= 6 && told.windows(2).all(|pair| pair[0].0 < pair[1].0), "{told:?}");
}

#[test]
fn a_substituted_engine_is_an_error_that_names_it() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let case = workload("oltp_read_only", json!({"engine": "tokudb"}));
    let error = |at: &mut Prepared| {
        let prepared = case.prepare(Some(at), &Stop::new(), &mut |_, _, _| ());
        format!("{:#}", prepared.unwrap_err())
    };
    assert!(error(&mut host.at).contains("table sbtest1 not loaded"));
    host.server.setup(&["SET GLOBAL sql_mode = ''"]);
    let substituted = error(&mut host.at);
    assert!(substituted.contains("engine InnoDB instead of tokudb"), "{substituted}");
}

#[test]
fn clients_in_each_others_way_finish_and_lose_no_row() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let crowd = json!({"threads": 16, "table_size": 100, "operations": 0, "time": "3s"});
    let case = workload("oltp_write_only", crowd);
    prepare(case.as_ref(), &mut host.at);
    let result = measure(case.as_ref(), host.access());
    assert!(result.operations > 0);
    assert!(result.errors.by_code.get("1213").is_some_and(|count| *count > 0), "{:?}", result.errors);
    assert!(result.errors.retried > 0);
    assert_eq!(value(host.access(), "SELECT COUNT(DISTINCT id) FROM sbtest1"), "100");
    assert_eq!(value(host.access(), "SELECT COUNT(*) FROM sbtest1"), "100");
}

#[test]
fn an_engine_without_transactions_meets_duplicate_keys_and_loses_no_row() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let crowd = json!({
        "threads": 8, "table_size": 10, "operations": 0, "time": "2s", "engine": "myisam",
        "index_updates": 0, "non_index_updates": 0,
    });
    let case = workload("oltp_write_only", crowd);
    prepare(case.as_ref(), &mut host.at);
    let result = measure(case.as_ref(), host.access());
    assert!(result.errors.by_code.get("1062").is_some_and(|count| *count > 0), "{:?}", result.errors);
    assert_eq!(value(host.access(), "SELECT COUNT(*) FROM sbtest1"), "10");
}

#[test]
fn one_stray_lock_wait_is_rolled_back_and_tried_again() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let case = workload("oltp_write_only", json!({"table_size": 1, "operations": 1}));
    prepare(case.as_ref(), &mut host.at);
    let mut blocker = Client::connect(host.access()).unwrap();
    blocker.query("BEGIN").unwrap();
    blocker.query("UPDATE sbtest1 SET pad = 'held' WHERE id = 1").unwrap();
    let access = host.access().clone();
    let stop = Stop::new();
    // The lock is let go once the load was refused it for the first time, or has ended.
    let let_go = || {
        let refused = "SELECT COUNT(*) FROM mysql.general_log WHERE argument = 'ROLLBACK'";
        let mut watcher = Client::connect(&access).unwrap();
        while watcher.rows(refused).unwrap()[0][0].as_deref() == Some("0") && !stop.requested() {}
        watcher.close();
        blocker.query("ROLLBACK").unwrap();
    };
    let mut result = None;
    let log = logged(host.access(), || {
        thread::scope(|scope| {
            scope.spawn(let_go);
            result = Some(case.measure(Some(&way(&access)), &Stop::new(), &mut |_| ()));
            stop.request();
        });
    });
    let result = result.unwrap().unwrap();
    assert_eq!(result.errors.by_code.get("1205").copied(), Some(result.errors.retried));
    assert_eq!((result.operations, result.errors.failed), (1, 0));
    let sent = shapes(&statements(&log));
    let first = &sent[..3];
    assert_eq!(first, ["BEGIN", "UPDATE sbtest# SET k=k+N WHERE id=N", "ROLLBACK"]);
    assert_eq!(sent.iter().filter(|text| *text == "COMMIT").count(), 1);
}

/// What comes of one operation that changes a row which somebody else holds all the time.
fn on_a_held_row(changes: Value, access: impl FnOnce(&Access) -> Access) -> Option<(CaseResult, Host)> {
    let mut host = Host::start(Flavour::MariaDb)?;
    let base = json!({"table_size": 1, "operations": 1, "max_errors": "100%"});
    let mut parameters = base.as_object().unwrap().clone();
    parameters.extend(changes.as_object().unwrap().clone());
    let case = workload("oltp_write_only", Value::Object(parameters));
    prepare(case.as_ref(), &mut host.at);
    let mut holder = Client::connect(host.access()).unwrap();
    holder.query("BEGIN").unwrap();
    holder.query("UPDATE sbtest1 SET pad = 'held' WHERE id = 1").unwrap();
    let result = measure(case.as_ref(), &access(host.access()));
    let waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'UPDATE%'";
    assert_eq!(value(host.access(), waiting), "0", "no statement of the load is left on the server");
    holder.close();
    Some((result, host))
}

#[test]
fn an_operation_is_tried_again_as_often_as_allowed_and_then_fails_with_its_whole_time() {
    let Some((result, _host)) = on_a_held_row(json!({"retries": 2}), Access::clone) else { return };
    assert_eq!((result.operations, result.errors.failed, result.errors.retried), (0, 1, 2));
    assert_eq!(result.errors.by_code, [("1205".to_owned(), 3)].into());
    assert_eq!((result.failed.count, result.response.count), (1, 0));
    assert!(
        result.failed.max.unwrap() > 2.5,
        "three waits for a lock, of a second each: {:?}",
        result.failed
    );
}

#[test]
fn a_statement_without_an_answer_in_time_is_killed_and_its_time_is_that_of_a_failure() {
    let impatient = |access: &Access| Access {
        statement_timeout: Span::from_secs(1),
        lock_wait_timeout: Span::ZERO,
        ..access.clone()
    };
    let Some((result, _host)) = on_a_held_row(json!({}), impatient) else { return };
    assert_eq!((result.operations, result.errors.failed, result.errors.retried), (0, 1, 0));
    assert_eq!(result.errors.by_code, [("timeout".to_owned(), 1)].into());
    assert!((0.99..4.0).contains(&result.failed.max.unwrap()), "{:?}", result.failed);
    assert_eq!(result.histograms["error"].decode().unwrap().len(), 1);
}

#[test]
fn a_server_that_dies_ends_the_case_within_seconds() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let case = workload("oltp_read_write", json!({"threads": 4, "operations": 0, "time": "60s"}));
    prepare(case.as_ref(), &mut host.at);
    let mut killed = None;
    let ended = case.measure(Some(&way(host.access())), &Stop::new(), &mut |_: Observed| {
        killed.get_or_insert_with(|| {
            host.server.kill();
            Instant::now()
        });
    });
    let took = killed.unwrap().elapsed();
    let Err(DriveError::Fatal { message, .. }) = ended else { panic!("{ended:?}") };
    assert!(message.contains("connection was lost"), "{message}");
    assert!(took < Duration::from_secs(15), "{took:?}");
}

#[test]
fn a_server_that_stands_still_ends_the_case_within_seconds() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let case = workload("oltp_read_write", json!({"threads": 4, "operations": 0, "time": "60s"}));
    prepare(case.as_ref(), &mut host.at);
    let access = Access { statement_timeout: Span::from_secs(1), ..host.access().clone() };
    let mut frozen = None;
    let ended = case.measure(Some(&way(&access)), &Stop::new(), &mut |_: Observed| {
        frozen.get_or_insert_with(|| {
            host.server.freeze();
            Instant::now()
        });
    });
    let took = frozen.unwrap().elapsed();
    let Err(DriveError::Fatal { message, .. }) = ended else { panic!("{ended:?}") };
    assert!(message.contains("could not be had again"), "{message}");
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn every_client_prepares_its_statements_before_any_is_measured() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let case = workload("oltp_read_write", json!({"tables": 2, "threads": 3}));
    prepare(case.as_ref(), &mut host.at);
    let log = logged(host.access(), || drop(measure(case.as_ref(), host.access())));
    let first = log.iter().position(|entry| entry.command == "Execute").unwrap();
    let prepared = log[..first].iter().filter(|entry| entry.command == "Prepare").count();
    // BEGIN, COMMIT, and nine on each table.
    assert_eq!(prepared, 3 * (2 + 2 * 9), "{log:?}");
}

#[test]
fn a_server_that_prepares_no_more_statements_ends_the_case_with_what_to_do() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let case = workload("oltp_read_write", json!({"tables": 2}));
    prepare(case.as_ref(), &mut host.at);
    host.server.setup(&["SET GLOBAL max_prepared_stmt_count = 5"]);
    let ended = case.measure(Some(&way(host.access())), &Stop::new(), &mut |_| ());
    let Err(DriveError::Fatal { message, .. }) = ended else { panic!("{ended:?}") };
    assert!(message.contains("raise max_prepared_stmt_count"), "{message}");
    let text = workload("oltp_read_write", json!({"tables": 2, "protocol": "text"}));
    assert_eq!(measure(text.as_ref(), host.access()).operations, 20);
}

#[test]
fn a_second_run_on_the_rows_of_the_first_changes_as_many() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let case = workload("oltp_write_only", json!({"rand_type": "uniform", "delete_inserts": 0}));
    prepare(case.as_ref(), &mut host.at);
    let writes = [(); 2].map(|()| measure(case.as_ref(), host.access()).statements.write);
    assert_eq!(writes, [40, 40]);
}

#[test]
fn a_connection_that_is_killed_is_had_again_and_counted() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let case = workload("oltp_read_write", json!({"operations": 0, "time": "3s"}));
    prepare(case.as_ref(), &mut host.at);
    let access = host.access().clone();
    let mut killed = false;
    let result = case.measure(Some(&way(host.access())), &Stop::new(), &mut |_: Observed| {
        if !std::mem::replace(&mut killed, true) {
            let others = "SELECT ID FROM information_schema.PROCESSLIST \
                          WHERE DB = DATABASE() AND ID <> CONNECTION_ID()";
            let load = value(&access, others);
            execute(&access, &[&format!("KILL {load}")]);
        }
    });
    let result = result.unwrap();
    assert_eq!((result.errors.retried, result.errors.failed), (1, 0), "{:?}", result.errors);
}

#[test]
fn a_stop_ends_the_load_within_two_seconds() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let crowd = json!({"threads": 8, "table_size": 20, "operations": 0, "time": "60s"});
    let case = workload("oltp_write_only", crowd);
    prepare(case.as_ref(), &mut host.at);
    let stop = Stop::new();
    let mut asked = None;
    let ended = case.measure(Some(&way(host.access())), &stop, &mut |_: Observed| {
        stop.request();
        asked.get_or_insert_with(Instant::now);
    });
    let took = asked.unwrap().elapsed();
    assert!(matches!(ended, Err(DriveError::Stopped { partial: Some(_) })), "{ended:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(value(host.access(), "SELECT COUNT(*) FROM sbtest1"), "20");
}

#[test]
fn a_stop_ends_loading_within_two_seconds_and_what_is_half_done_is_not_used() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let case = workload("oltp_read_only", json!({"tables": 4, "threads": 4, "table_size": 5_000_000}));
    let stop = Stop::new();
    let mut asked = None;
    let mut progress = |_, _, _| {
        stop.request();
        asked.get_or_insert_with(Instant::now);
    };
    let error = case.prepare(Some(&mut host.at), &stop, &mut progress).unwrap_err();
    let took = asked.unwrap().elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert!(format!("{error:#}").contains("stopped"), "{error:#}");
    let small = workload("oltp_read_only", json!({"tables": 4}));
    assert_eq!(loading(small.as_ref(), &mut host.at)["create"], 4);
}
