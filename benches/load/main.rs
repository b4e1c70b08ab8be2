//! One script over several ways to a server, in one process with one thread for each connection: what each way
//! costs. Run it by `benches/peers/sql --ways …`, which starts the server and sets it beside sysbench.
//!
//! usage: load WAY ADDRESS SCHEMA CONNECTIONS SECONDS TABLE_SIZE SCRIPT
//!
//! ADDRESS is a port of this host, or the path of a socket. SCRIPT is `oltp_point_select` or `oltp_read_write`. Ways: `bare`
//! (the reference: no client at all), `counted` (the same with a seeded id and a recorded time for each transaction),
//! `benchd` (the workload in its driver, as in profile `lab`), and for point selects alone `connection`
//! (`LoadConnection` alone) and `client` (mysql_async, a runtime for each connection).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a program for measuring ends at the first thing that is not as it must be"
)]

mod bare;
mod transaction;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use benchd::driver::random::{Distribution, Random};
use benchd::driver::{Buckets, Layout, Stop};
use benchd::record::new_histogram;
use benchd::target::{Access, Bind, Client, LoadConnection, Way};
use benchd::workloads::find;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde_json::json;

use bare::{Bare, Value};
use transaction::Transaction;

/// What is measured.
struct Load {
    address: String,
    schema: String,
    connections: usize,
    seconds: u64,
    rows: u64,
    script: String,
}

/// A point select.
const SELECT: &str = "SELECT c FROM sbtest1 WHERE id=?";
const READ_WRITE: &str = "oltp_read_write";

/// User and system CPU time of this process so far, in seconds.
fn cpu() -> (f64, f64) {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    let seconds = |time: nix::sys::time::TimeVal| time.num_microseconds() as f64 / 1e6;
    (seconds(usage.user_time()), seconds(usage.system_time()))
}

fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

/// A cheap generator, so that the ways differ in nothing but the way.
fn next_id(state: &mut u64, rows: u64) -> i64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (1 + (*state >> 33) % rows) as i64
}

/// What so many queries cost in user and system CPU time, and how many were answered a second.
struct Cost {
    queries: u64,
    queries_per_second: f64,
    cpu: (f64, f64),
}

/// Prints the cost of a query, and the 99th percentile of its time where each was taken.
fn report(way: &str, cost: &Cost, p99_seconds: Option<f64>) {
    let each = |seconds: f64| seconds / cost.queries as f64 * 1e6;
    let line = json!({
        "way": way,
        "queries_per_second": cost.queries_per_second,
        "user_us_per_query": each(cost.cpu.0),
        "system_us_per_query": each(cost.cpu.1),
        "p99_seconds": p99_seconds,
        "peak_bytes": peak_bytes(),
    });
    println!("{line}");
}

/// Runs one closure a thread until the time is over; each makes its query once a call.
fn threads<Q: FnMut(i64)>(load: &Load, make: impl Fn() -> Q + Sync) -> Cost {
    let (together, stop) = (Barrier::new(load.connections + 1), AtomicBool::new(false));
    let client = |seed: usize| {
        let mut query = make();
        let (mut state, mut queries) = (seed as u64 + 1, 0_u64);
        together.wait();
        while !stop.load(Ordering::Relaxed) {
            query(next_id(&mut state, load.rows));
            queries += 1;
        }
        // The connection is closed when all have ended and the CPU time was read.
        together.wait();
        queries
    };
    thread::scope(|scope| {
        let client = &client;
        let clients: Vec<_> = (0..load.connections).map(|seed| scope.spawn(move || client(seed))).collect();
        together.wait();
        let (before, begun) = (cpu(), Instant::now());
        thread::sleep(Duration::from_secs(load.seconds));
        stop.store(true, Ordering::Relaxed);
        together.wait();
        let (after, elapsed) = (cpu(), begun.elapsed().as_secs_f64());
        let queries: u64 = clients.into_iter().map(|client| client.join().unwrap()).sum();
        let cpu = (after.0 - before.0, after.1 - before.1);
        Cost { queries, queries_per_second: queries as f64 / elapsed, cpu }
    })
}

/// What the bare loop does with a number.
fn bare(load: &Load) -> Box<dyn FnMut(i64)> {
    if load.script == READ_WRITE {
        let mut transaction = Transaction::connect(&load.address, &load.schema, load.rows);
        return Box::new(move |number| transaction.run(number));
    }
    let mut connection = Bare::connect(&load.address, &load.schema);
    let mut statement = connection.prepare(SELECT);
    Box::new(move |id| assert!(connection.execute(&mut statement, &[Value::Whole(id)]), "the server refused"))
}

/// The bare loop with a seeded id and a recorded time for each transaction.
fn counted(load: &Load) {
    let all = Mutex::new(Vec::new());
    let cost = threads(load, || {
        let mut run = bare(load);
        let ids = Distribution::Uniform.over(1, load.rows);
        let times = Arc::new(Buckets::new(Layout::fine(&new_histogram().unwrap())));
        all.lock().unwrap().push(Arc::clone(&times));
        let begun = Instant::now();
        move |number| {
            let id = ids.pick(&mut Random::for_operation(1, number as u64));
            let sent = begun.elapsed();
            run(id as i64);
            times.record((begun.elapsed() - sent).as_nanos() as u64);
        }
    });
    let (all, mut histogram) = (all.into_inner().unwrap(), new_histogram().unwrap());
    Buckets::merge(&all.iter().map(|times| &**times).collect::<Vec<_>>(), &mut histogram);
    report("counted", &cost, Some(histogram.value_at_quantile(0.99) as f64 / 1e9));
}

/// As in profile `lab`: the server limits no statement.
fn access(load: &Load) -> Access {
    let place = match load.address.parse() {
        Ok(port) => Access { port, user: "root".to_owned(), ..Access::default() },
        Err(_) => Access::by_socket(&load.address, "root"),
    };
    Access { schema: Some(load.schema.clone()), limit_on_server: false, ..place }
}

/// The workload itself. What it says of its own cost is that of the measured part, as with the other ways.
fn benchd(load: &Load) {
    let kind = find(&load.script).unwrap();
    let mut parameters = (kind.defaults)();
    let changes = json!({
        "threads": load.connections, "warm_up": "0s", "time": format!("{}s", load.seconds), "tables": 1,
        "table_size": load.rows, "rand_type": "uniform",
    });
    parameters.extend(changes.as_object().unwrap().clone());
    let workload = (kind.build)(&parameters).unwrap();
    let to = Way::Server(Box::new(access(load)));
    let result = workload.measure(Some(&to), &Stop::new(), &mut |_| ()).unwrap();
    let cpu = (result.generator.user_cpu_seconds, result.generator.system_cpu_seconds);
    let cost = Cost { queries: result.operations, queries_per_second: result.per_second, cpu };
    report("benchd", &cost, result.response.p99);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|one| one != "--bench").collect();
    let [way, address, schema, connections, seconds, rows, script] = arguments.as_slice() else {
        panic!("usage: load WAY ADDRESS SCHEMA CONNECTIONS SECONDS TABLE_SIZE SCRIPT");
    };
    let load = Load {
        address: address.clone(),
        schema: schema.clone(),
        connections: connections.parse().unwrap(),
        seconds: seconds.parse().unwrap(),
        rows: rows.parse().unwrap(),
        script: script.clone(),
    };
    let cost = match way.as_str() {
        "bare" => threads(&load, || bare(&load)),
        "connection" => threads(&load, || {
            let mut connection = LoadConnection::connect(&access(&load)).unwrap();
            let mut statement = connection.prepare(SELECT).unwrap();
            move |id| {
                connection.execute(&mut statement, &[Bind::Integer(id)]).unwrap();
            }
        }),
        "client" => threads(&load, || {
            let mut client = Client::connect(&access(&load)).unwrap();
            let statement = client.prepare(SELECT).unwrap();
            move |id| {
                client.execute(&statement, &[Bind::Integer(id)]).unwrap();
            }
        }),
        "counted" => return counted(&load),
        "benchd" => return benchd(&load),
        other => panic!("no such way: {other}"),
    };
    report(way, &cost, None);
}
