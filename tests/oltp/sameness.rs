//! What each script sends and makes, beside what sysbench itself sends and makes on the same server: by the server's
//! general log, and by the packets on the way. Of 0.4 and 0.5 there is no package: what they are described to send is
//! written down in files.

use serde_json::{Value, json};

use super::common::{self, Flavour};
use super::relay::{Relay, Types};
use super::{Host, Logged, execute, logged, measure, prepare, shape, statements, value, way, workload};
use benchd::driver::Stop;
use benchd::record::CaseResult;
use benchd::workloads::Workload;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A script of sysbench 1.0 with some of its options, and the keys that mean the same.
struct Script {
    name: &'static str,
    keys: Value,
    options: &'static [&'static str],
}

fn script(name: &'static str, keys: Value, options: &'static [&'static str]) -> Script {
    Script { name, keys, options }
}

/// Every script with its defaults, and with every option that changes what it sends.
fn scripts() -> Vec<Script> {
    vec![
        script("oltp_point_select", json!({"tables": 2}), &["--tables=2"]),
        script("oltp_read_only", json!({"tables": 2}), &["--tables=2"]),
        script("oltp_write_only", json!({"tables": 2}), &["--tables=2"]),
        script("oltp_read_write", json!({"tables": 2}), &["--tables=2"]),
        script(
            "oltp_read_write",
            json!({"skip_trx": true, "point_selects": 3, "simple_ranges": 2, "sum_ranges": 0, "order_ranges": 3,
                "distinct_ranges": 2, "index_updates": 2, "non_index_updates": 0, "delete_inserts": 2}),
            &[
                "--skip-trx=on",
                "--point-selects=3",
                "--simple-ranges=2",
                "--sum-ranges=0",
                "--order-ranges=3",
                "--distinct-ranges=2",
                "--index-updates=2",
                "--non-index-updates=0",
                "--delete-inserts=2",
            ],
        ),
        script("oltp_read_only", json!({"range_selects": false}), &["--range-selects=off"]),
        script("oltp_update_index", json!({"tables": 2}), &["--tables=2"]),
        script("oltp_update_index", json!({"index_updates": 3}), &["--index-updates=3"]),
        script("oltp_update_non_index", json!({"non_index_updates": 2}), &["--non-index-updates=2"]),
        script("oltp_insert", json!({"tables": 2}), &["--tables=2"]),
        script("oltp_insert", json!({"auto_inc": false}), &["--auto-inc=off"]),
        script("oltp_delete", json!({"rand_type": "uniform"}), &["--rand-type=uniform"]),
        script("select_random_points", json!({}), &[]),
        script("select_random_points", json!({"random_points": 3}), &["--random-points=3"]),
        script("select_random_ranges", json!({}), &[]),
        script(
            "select_random_ranges",
            json!({"number_of_ranges": 2, "delta": 9}),
            &["--number-of-ranges=2", "--delta=9"],
        ),
        script("bulk_insert", json!({}), &[]),
    ]
}

/// How many operations each side does: as many as a case of these tests.
const OPERATIONS: u64 = 20;
/// The seed of sysbench's next run.
static SEED: AtomicU32 = AtomicU32::new(1);

impl Script {
    /// The case of these keys and more, of those that the workload has.
    fn case(&self, more: &Value) -> Box<dyn Workload> {
        let defaults = (benchd::workloads::find(self.name).unwrap().defaults)();
        let mut keys = self.keys.as_object().unwrap().clone();
        let more = more.as_object().unwrap().iter().filter(|(key, _)| defaults.contains_key(*key));
        keys.extend(more.map(|(key, value)| (key.clone(), value.clone())));
        workload(self.name, Value::Object(keys))
    }

    /// Runs sysbench on the tables that were made for the case; what it printed, or `None` when it is not installed.
    fn peer(&self, host: &Host, socket: &Path, more: &[&str]) -> Option<String> {
        let schema = host.access().schema.clone().unwrap();
        let events = format!("--events={OPERATIONS}");
        // What starts in the same second draws the same values otherwise, and an UPDATE to what is there changes nothing.
        let seed = format!("--rand-seed={}", SEED.fetch_add(1, Ordering::Relaxed));
        sysbench(socket, &schema, &[&[self.name, &events, &seed], self.options, more, &["run"]].concat())
    }
}

/// Runs sysbench; what it printed, or `None` when it is not installed.
fn sysbench(socket: &Path, schema: &str, arguments: &[&str]) -> Option<String> {
    let done = Command::new("sysbench")
        .args(arguments)
        .arg(format!("--mysql-socket={}", socket.display()))
        .args(["--mysql-user=root", &format!("--mysql-db={schema}"), "--threads=1", "--table-size=1000"])
        .output();
    let Ok(output) = done else {
        common::skip("sysbench");
        return None;
    };
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{arguments:?}: {printed}");
    Some(printed)
}

/// What was sent as statements of a load, each with how it was sent.
fn sent(log: &[Logged]) -> Vec<(String, String)> {
    let load = |entry: &&Logged| !statements(std::slice::from_ref(*entry)).is_empty();
    log.iter().filter(load).map(|entry| (entry.command.clone(), shape(&entry.text))).collect()
}

/// The texts that were prepared, each once.
fn prepared(log: &[Logged]) -> Vec<String> {
    let texts = log.iter().filter(|entry| entry.command == "Prepare" && entry.text.contains("sbtest"));
    let mut texts: Vec<String> =
        texts.map(|entry| entry.text.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    texts.sort();
    let all = texts.len();
    texts.dedup();
    assert_eq!(texts.len(), all, "a text was prepared twice: {log:?}");
    texts
}

/// The statements that sysbench counted: read, write, other.
fn counted(printed: &str) -> [u64; 3] {
    ["read:", "write:", "other:"].map(|name| {
        let line = printed.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    })
}

#[test]
fn every_script_sends_what_sysbench_sends_in_its_order_and_way_and_counts_it_alike() {
    for flavour in Flavour::present() {
        let mut host = Host::start(flavour).unwrap();
        for script in scripts() {
            for (protocol, mode) in [("prepared", "--db-ps-mode=auto"), ("text", "--db-ps-mode=disable")] {
                let label = format!("{flavour:?} {} {} {protocol}", script.name, script.keys);
                if compare(&mut host, &script, protocol, mode, &label).is_none() {
                    return;
                }
            }
        }
    }
}

fn compare(host: &mut Host, script: &Script, protocol: &str, mode: &str, label: &str) -> Option<()> {
    let case = script.case(&json!({"protocol": protocol}));
    prepare(case.as_ref(), &mut host.at);
    let mut result = None;
    let ours = logged(host.access(), || result = Some(measure(case.as_ref(), host.access())));
    // What this run changed is made anew.
    prepare(case.as_ref(), &mut host.at);
    let mut printed = None;
    let theirs = logged(host.access(), || printed = script.peer(host, &host.server.socket(), &[mode]));
    let (printed, result) = (printed?, result.unwrap());
    assert!(!sent(&ours).is_empty());
    assert_eq!(sent(&ours), sent(&theirs), "{label}");
    // sysbench prepares what it never sends, too.
    let (ours, theirs) = (prepared(&ours), prepared(&theirs));
    assert!(ours.iter().all(|text| theirs.contains(text)), "{label}: {ours:?} {theirs:?}");
    let statements = &result.statements;
    let ours = [statements.read, statements.write, statements.other];
    assert_eq!(result.operations, OPERATIONS, "{label}");
    if script.name == "oltp_delete" {
        // How many ids were met twice is chance.
        assert_eq!(ours.iter().sum::<u64>(), counted(&printed).iter().sum::<u64>(), "{label}");
    } else {
        assert_eq!(ours, counted(&printed), "{label}");
    }
    Some(())
}

#[test]
fn values_travel_in_the_types_in_which_sysbench_sends_them() {
    for flavour in Flavour::present() {
        let mut host = Host::start(flavour).unwrap();
        for script in scripts() {
            let case = script.case(&json!({}));
            prepare(case.as_ref(), &mut host.at);
            let ours = types(&host, |socket| {
                let access = benchd::target::Access {
                    schema: host.access().schema.clone(),
                    ..benchd::target::Access::by_socket(socket, "root")
                };
                case.measure(Some(&way(&access)), &Stop::new(), &mut |_| ()).unwrap();
            });
            prepare(case.as_ref(), &mut host.at);
            let mut printed = None;
            let theirs = types(&host, |socket| printed = script.peer(&host, socket, &[]));
            if printed.is_none() {
                return;
            }
            assert_eq!(ours, theirs, "{flavour:?} {} {}", script.name, script.keys);
            assert_eq!(ours.is_empty(), matches!(script.name, "oltp_insert" | "bulk_insert"));
        }
    }
}

/// The types of the values of each text that `work` executes over a socket.
fn types(host: &Host, work: impl FnOnce(&Path)) -> Types {
    let relay = Relay::to(&host.server.socket());
    work(relay.socket());
    let mut types = relay.types();
    types.retain(|text, _| text.contains("sbtest"));
    types
}

/// What makes and fills the tables, in order for each table: without whitespace, quotes of names and the schema, and of
/// the rows the first alone, for how many are sent at once is free.
fn making(log: &[Logged], schema: &str) -> Vec<String> {
    let texts = log.iter().filter(|entry| entry.command == "Query").map(|entry| entry.text.as_str());
    let making = texts.filter(|text| text.starts_with("CREATE") || text.starts_with("INSERT INTO sbtest"));
    let mut bare: Vec<String> = making
        .map(|text| text.split_once("),(").map_or(text.to_owned(), |(first, _)| format!("{first})")))
        .map(|text| if text.starts_with("INSERT") { shape(&text) } else { text })
        .map(|text| text.chars().filter(|c| !c.is_whitespace() && *c != '`').collect())
        .map(|text: String| text.replace(&format!("{schema}."), ""))
        // For bulk_insert sysbench leaves the engine to the server, and does not mind a table that is there.
        .map(|text| text.replace("TABLEIFNOTEXISTS", "TABLE"))
        .map(
            |text| if text.ends_with("PRIMARYKEY(id))") { format!("{text}/*!ENGINE=innodb*/") } else { text },
        )
        .collect();
    bare.sort();
    bare.dedup();
    bare
}

#[test]
fn the_tables_are_those_that_sysbench_makes_and_fills() {
    let engine = json!({"secondary": true, "engine": "myisam"});
    for flavour in Flavour::present() {
        let mut host = Host::start(flavour).unwrap();
        for script in [
            script("oltp_read_write", json!({"tables": 2}), &["--tables=2"]),
            script(
                "oltp_read_write",
                json!({"auto_inc": false, "create_secondary": false}),
                &["--auto-inc=off", "--create-secondary=off"],
            ),
            script("oltp_read_write", engine.clone(), &["--secondary=on", "--mysql-storage-engine=myisam"]),
            script("oltp_insert", json!({"auto_inc": false}), &["--auto-inc=off"]),
            script("bulk_insert", json!({}), &[]),
        ] {
            execute(&host.server.root(), &["DROP DATABASE IF EXISTS peer", "CREATE DATABASE peer"]);
            let case = script.case(&json!({}));
            let own = logged(&host.server.root(), || prepare(case.as_ref(), &mut host.at));
            let arguments = [&[script.name], script.options, &["prepare"]].concat();
            let mut made = None;
            let socket = host.server.socket();
            let peer = logged(&host.server.root(), || made = sysbench(&socket, "peer", &arguments));
            if made.is_none() {
                return;
            }
            assert_eq!(making(&own, host.schema().name()), making(&peer, "peer"), "{}", script.name);
        }
    }
}

/// One operation of an earlier generation: the keys, and what is sent, with how often one after the other.
struct Described {
    keys: Value,
    statements: Vec<String>,
}

/// Reads what a generation is described to send, and what makes its tables.
fn described(file: &str) -> (Vec<Described>, Vec<String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let mut parts = text.split("\n[").skip(1);
    let tables =
        parts.next().unwrap().strip_prefix("tables]\n").unwrap().lines().map(str::to_owned).collect();
    let operation = |part: &str| {
        let (keys, lines) = part.split_once("]\n").unwrap();
        let repeated = lines.lines().flat_map(|line| {
            let (times, statement) = line.split_once(' ').unwrap();
            std::iter::repeat_n(statement.to_owned(), times.parse().unwrap())
        });
        Described { keys: serde_json::from_str(keys).unwrap(), statements: repeated.collect() }
    };
    (parts.map(operation).collect(), tables)
}

#[test]
fn oltp04_sends_what_sysbench_0_4_is_described_to_send_for_it_has_no_package() {
    check_described("oltp04", "sysbench-0.4.txt", &["prepared", "text"]);
}

#[test]
fn oltp05_sends_what_sysbench_0_5_is_described_to_send_for_it_has_no_package() {
    check_described("oltp05", "sysbench-0.5.txt", &[]);
}

fn check_described(name: &str, file: &str, protocols: &[&str]) {
    let (operations, tables) = described(file);
    for flavour in Flavour::present() {
        let mut host = Host::start(flavour).unwrap();
        execute(
            &host.server.root(),
            &["CREATE DATABASE shop", "CREATE PROCEDURE shop.visit(client INT, clients INT) SELECT client"],
        );
        let first = workload(name, json!({"engine": "myisam"}));
        let made = logged(&host.server.root(), || prepare(first.as_ref(), &mut host.at));
        assert_eq!(making(&made, host.schema().name()), tables, "{flavour:?}");
        for described in &operations {
            let protocols =
                if protocols.is_empty() { vec![None] } else { protocols.iter().map(Some).collect() };
            for protocol in protocols {
                let mut keys = described.keys.clone();
                keys["operations"] = json!(5);
                protocol.into_iter().for_each(|protocol| keys["protocol"] = json!(protocol));
                let case = workload(name, keys);
                prepare(case.as_ref(), &mut host.at);
                let mut result = None;
                let log = logged(host.access(), || result = Some(measure(case.as_ref(), host.access())));
                check_sent(&log, described, &result.unwrap(), protocol.copied().unwrap_or("text"));
            }
        }
    }
}

fn check_sent(log: &[Logged], described: &Described, result: &CaseResult, protocol: &str) {
    let sent: Vec<(String, String)> = log
        .iter()
        .filter(|entry| matches!(entry.command.as_str(), "Query" | "Execute"))
        .filter(|entry| !entry.text.starts_with("SET ") && !entry.text.contains("OPEN"))
        .map(|entry| (entry.command.clone(), shape(&entry.text)))
        .collect();
    let texts: Vec<&str> = sent.iter().map(|(_, text)| text.as_str()).collect();
    let five: Vec<&str> = (0..5).flat_map(|_| described.statements.iter().map(String::as_str)).collect();
    assert_eq!(texts, five, "{} {protocol}", described.keys);
    assert_eq!((result.operations, result.errors.failed, result.errors.retried), (5, 0, 0));
    // Only what a server cannot prepare goes as text beside the others.
    let data = sent.iter().filter(|(_, text)| text.contains("where") || text.contains("WHERE"));
    let data = data.filter(|(_, text)| !text.starts_with("HANDLER"));
    let way = if protocol == "text" { "Query" } else { "Execute" };
    data.for_each(|(command, text)| assert_eq!(command, way, "{text}"));
}

#[test]
fn rows_of_0_4_are_alike_and_their_range_ends_inside_the_table() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let case = workload("oltp04", json!({"operations": 50, "rand_type": "uniform"}));
    prepare(case.as_ref(), &mut host.at);
    let kinds = "SELECT COUNT(DISTINCT k, c, pad), COUNT(*) FROM sbtest";
    assert_eq!(value(host.access(), kinds), "1");
    assert_eq!(value(host.access(), "SELECT COUNT(*) FROM sbtest"), "1000");
    assert_eq!(value(host.access(), "SELECT pad FROM sbtest WHERE id = 7").len(), 50);
    let log = logged(host.access(), || drop(measure(case.as_ref(), host.access())));
    let ends = statements(&log).into_iter().filter(|text| text.contains("between"));
    let ends: Vec<i64> = ends.map(|text| *super::ids(&text).last().unwrap()).collect();
    assert!(ends.len() == 200 && ends.iter().all(|end| *end <= 1_000), "{ends:?}");
}
