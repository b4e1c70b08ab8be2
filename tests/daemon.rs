//! The daemon as a process: it starts, answers, runs what is asked for or due, reloads, and ends in order.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod common;

use std::fs;
use std::time::{Duration, Instant};

use benchd::store::Reader;
use common::program::{PATIENCE, Place, children, is_alive, words};
use common::suites::{SHORT, benchmark, target_main};
use common::{Flavour, Server};
use nix::sys::signal::Signal;

/// A suite of two cases, the second of which lasts until somebody ends it.
const LONG: &str = r#"
[suite.long]
profile = "lab"
[[suite.long.benchmark]]
name = "first"
workload = "cpu"
warm_up = "0s"
time = "300ms"
[[suite.long.benchmark]]
name = "second"
workload = "cpu"
warm_up = "0s"
time = "1h"
"#;

#[test]
fn without_a_daemon_a_workload_runs_in_the_command_and_is_kept() {
    let place = Place::new("");
    let run =
        place.json(&["run", "-w", "cpu", "time=300ms", "warm_up=100ms", "threads=1,2", "--output", "json"]);
    assert_eq!(run["outcome"], "finished");
    let case = &run["cases"][1];
    assert_eq!((&case["case"], &case["outcome"]), (&"cpu/threads=2".into(), &"finished".into()));
    assert!(case["throughput"]["per_second"].as_f64().unwrap() > 0.0);
    assert!(case["response_seconds"]["p50"].as_f64().unwrap() > 0.0);
    assert!(case["generator"]["cpu_seconds"].as_f64().unwrap() > 0.0);
    assert!(case["generator"]["peak_memory_bytes"].as_u64().unwrap() > 0);
    let listed = place.json(&["list", "--output", "json"]);
    assert_eq!(listed["runs"][0]["id"], run["id"]);
    let shown = place.run(&["show", &format!("{}:cpu/threads=2", run["id"].as_str().unwrap())]);
    assert!(words(&shown).contains("events/s, p95"), "{}", words(&shown));
}

#[test]
fn workloads_of_the_host_run_and_tell_the_bytes_they_moved() {
    let place = Place::new("");
    let short = ["time=200ms", "warm_up=50ms"];
    let cases: [(&str, &[&str], &str); 6] = [
        ("cpu", &["mode=native", "pin=core"], ""),
        ("memory", &["operation=read", "block_size=64KiB", "scope=local", "threads=2"], "bytes_read"),
        ("memory", &["access=rnd", "total=0"], "bytes_written"),
        ("memory", &["mode=native", "size=32MiB"], "bytes_written"),
        ("memory", &["mode=latency", "size=16KiB"], ""),
        ("threads", &["threads=2", "yields=10"], ""),
    ];
    for (workload, keys, counted) in cases {
        let arguments = [&["run", "-w", workload], keys, &short, &["--output", "json"]].concat();
        let run = place.json(&arguments);
        let throughput = &run["cases"][0]["throughput"];
        assert!(throughput["operations"].as_u64().unwrap() > 0, "{workload} {keys:?}: {throughput}");
        for bytes in ["bytes_read", "bytes_written"] {
            assert_eq!(
                throughput[bytes].as_u64().unwrap() > 0,
                bytes == counted,
                "{workload} {keys:?} {bytes}"
            );
        }
    }
    let run = place.run(&["run", "-w", "mutex", "threads=3", "locks=100", "loops=10"]);
    assert!(run.status.success(), "{}", words(&run));
    let run = place.run(&["run", "-w", "memory", "mode=native", "size=32MiB", short[0], short[1]]);
    assert!(words(&run).contains("iB/s"), "{}", words(&run));
    let shown = place.run(&["show", "ad-hoc:memory"]);
    assert!(words(&shown).contains("iB/s written"), "{}", words(&shown));
}

#[test]
fn what_runs_write_is_counted_that_of_scratch_servers_included() {
    let place = Place::new(
        r#"
[suite.files]
profile = "lab"
[[suite.files.benchmark]]
workload = "fileio"
target = "files"
pattern = "seqwr"
files = 1
total = "8MiB"
operations = 512
time = "0s"
warm_up = "0s"
[suite.server]
profile = "lab"
[[suite.server.benchmark]]
workload = "oltp_point_select"
target = "scratch"
tables = 1
table_size = 100
time = "100ms"
warm_up = "0s"
"#,
    );
    if benchd::target::refuses_direct(&place.path("")).is_some() {
        return common::skip("a disk under /tmp");
    }
    let daemon = place.serve();
    let written = || daemon.metric("benchd_load_written_bytes_total").unwrap();
    assert!(written() < 1.0);
    daemon.follow(&daemon.trigger(r#"{"suite":"files"}"#));
    let by_files = written();
    // A few of the 512 requests of 16 KiB are fsyncs.
    assert!((f64::from(7 << 20)..f64::from(10 << 20)).contains(&by_files), "{by_files}");
    if Flavour::present().is_empty() {
        return;
    }
    daemon.follow(&daemon.trigger(r#"{"suite":"server"}"#));
    let by_server = written() - by_files;
    assert!(by_server >= f64::from(1 << 20), "{by_server}");
}

#[test]
fn memory_that_others_need_and_pages_that_are_not_there_are_not_taken() {
    let place = Place::new("");
    let huge = place.run(&["run", "-w", "memory", "mode=latency", "size=1TiB", "time=1s"]);
    assert_eq!(huge.status.code(), Some(3), "{}", words(&huge));
    assert!(words(&huge).contains("memory 1048576 MiB taken (limit "), "{}", words(&huge));
    let refused = place.run(&["run", "-w", "memory", "total=1KiB", "threads=2"]);
    assert_eq!(refused.status.code(), Some(2), "{}", words(&refused));
    assert!(words(&refused).contains("nothing would be done"), "{}", words(&refused));
}

#[test]
fn every_preset_passes_the_check() {
    let suite = |name| format!("[suite.a-{name}]\nprofile = \"lab\"\npreset = \"{name}\"\n");
    let place = Place::new(&benchd::config::presets().map(suite).collect::<String>());
    assert_eq!(place.json(&["check", "--output", "json"])["ok"], true);
    let readme = include_str!("../README.md");
    for name in benchd::config::presets() {
        assert!(readme.contains(&format!("| `{name}` |")), "README has no row for {name}");
    }
}

#[test]
fn every_example_passes_the_check() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/examples");
    let place = Place::new("");
    for example in std::fs::read_dir(examples).unwrap() {
        let path = example.unwrap().path();
        let checked = place.json(&["check", &path.display().to_string(), "--output", "json"]);
        assert_eq!(checked["ok"], true, "{}", path.display());
    }
}

#[test]
fn a_run_can_be_asked_for_and_everything_shows_it() {
    let place = Place::new(SHORT);
    let daemon = place.serve();
    assert_eq!(daemon.get("/-/ready").status, 200);
    assert_eq!(daemon.metric("benchd_runs_total{suite=\"short\",trigger=\"request\"}"), Some(0.0));
    let id = daemon.trigger(r#"{"suite":"short","note":"first"}"#);
    let events = daemon.follow(&id);
    assert_eq!(events.last().unwrap()["outcome"], "finished");
    let stages: Vec<&str> = events.iter().filter_map(|event| event["stage"].as_str()).collect();
    assert_eq!(stages, ["prepare", "measure", "record"]);
    let record = daemon.record(&id);
    assert_eq!((&record["outcome"], &record["note"]), (&"finished".into(), &"first".into()));
    assert_eq!(daemon.metric("benchd_runs_total{suite=\"short\",trigger=\"request\"}"), Some(1.0));
    assert!(daemon.metric_to_come("benchd_last_run_success{suite=\"short\"}") > 0.0);
    let throughput = "benchd_last_operations_per_second{suite=\"short\",case=\"cpu\",workload=\"cpu\"}";
    assert!(daemon.metric_to_come(throughput) > 0.0);
    let (status, said) = daemon.end(Signal::SIGTERM);
    assert!(status.success(), "{said}");
    assert!(said.contains("ended"), "{said}");
}

#[test]
fn the_folder_of_the_socket_is_made_when_it_is_missing() {
    let place = Place::new("");
    let text = std::fs::read_to_string(place.path("benchd.toml")).unwrap();
    let socket = place.path("run/benchd.sock");
    std::fs::write(place.path("benchd.toml"), text.replace("/benchd.sock", "/run/benchd.sock")).unwrap();
    let mut daemon = place.try_serve(&["serve"]).unwrap();
    assert!(socket.exists());
    daemon.signal(Signal::SIGTERM);
    daemon.wait_for("ended").unwrap();
    assert!(!socket.exists());
}

#[test]
fn the_last_results_survive_a_restart() {
    let place = Place::new(SHORT);
    let series = "benchd_last_operations_per_second{suite=\"short\",case=\"cpu\",workload=\"cpu\"}";
    let daemon = place.serve();
    daemon.follow(&daemon.trigger(r#"{"suite":"short"}"#));
    let before = daemon.metric_to_come(series);
    daemon.end(Signal::SIGINT);
    let daemon = place.serve();
    assert_eq!(daemon.metric(series), Some(before));
    assert_eq!(daemon.metric("benchd_last_run_success{suite=\"short\"}"), Some(1.0));
}

#[test]
fn commands_speak_to_the_daemon() {
    let place = Place::new(SHORT);
    let daemon = place.serve();
    let run = place.run(&["run", "short"]);
    assert!(run.status.success() && words(&run).contains("finished in"), "{}", words(&run));
    let detached = place.run(&["run", "short", "--detach"]);
    let id = String::from_utf8(detached.stdout).unwrap();
    daemon.follow(id.trim());
    let adhoc = place.json(&["run", "-w", "cpu", "time=200ms", "warm_up=0s", "--output", "json"]);
    assert_eq!((&adhoc["suite"], &adhoc["outcome"]), (&"ad-hoc".into(), &"finished".into()));
    assert_eq!(place.json(&["list", "--output", "json"])["runs"].as_array().unwrap().len(), 3);
    assert_eq!(place.json(&["show", "short~1", "--output", "json"])["suite"], "short");
    let status = words(&place.run(&["status"]));
    assert!(status.contains("benchd") && status.contains("short"), "{status}");
    let idle = place.run(&["watch"]);
    assert_eq!(idle.status.code(), Some(2), "{}", words(&idle));
}

#[test]
fn a_cancelled_run_is_silent_within_two_seconds_and_keeps_its_finished_cases() {
    let place = Place::new(LONG);
    let daemon = place.serve();
    let id = daemon.trigger(r#"{"suite":"long"}"#);
    daemon.each_event(&id, |event| event["event"] != "interval" || event["case"] != "second");
    let load = grandchildren(daemon.pid());
    assert_eq!(load.len(), 1, "one load process");
    let asked = Instant::now();
    assert_eq!(daemon.ask("DELETE", &format!("/api/v1/runs/{id}"), "").status, 202);
    while is_alive(load[0]) {
        assert!(asked.elapsed() < Duration::from_secs(2), "the load still runs");
        std::thread::yield_now();
    }
    let events = daemon.follow(&id);
    assert_eq!(events.last().unwrap()["outcome"], "cancelled");
    let record = daemon.record(&id);
    assert_eq!(record["cases"][0]["outcome"], "finished");
    assert_eq!(record["cases"][1]["outcome"], "cancelled");
    assert_eq!(daemon.metric("benchd_runs_cancelled_total{suite=\"long\"}"), Some(1.0));
    assert_eq!(daemon.ask("DELETE", &format!("/api/v1/runs/{id}"), "").status, 409);
}

#[test]
fn while_a_run_is_active_others_are_refused_or_wait() {
    let place = Place::new(&format!("{LONG}{SHORT}"));
    let daemon = place.serve();
    let long = daemon.trigger(r#"{"suite":"long"}"#);
    let refused = daemon.ask("POST", "/api/v1/runs", r#"{"suite":"short"}"#);
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert_eq!(refused.json()["active"]["id"], long.as_str());
    let busy = place.run(&["run", "short"]);
    assert_eq!(busy.status.code(), Some(5), "{}", words(&busy));
    let waiting = daemon.trigger(r#"{"suite":"short","queue":true}"#);
    assert_eq!(daemon.metric("benchd_queue_length"), Some(1.0));
    let cancelled = place.run(&["cancel"]);
    assert!(cancelled.status.success(), "{}", words(&cancelled));
    assert_eq!(daemon.follow(&waiting).last().unwrap()["outcome"], "finished");
}

#[test]
fn a_suite_that_is_due_runs_by_itself_and_overlap_is_counted() {
    let place = Place::new(
        r#"
[suite.often]
profile = "lab"
every = "1s"
jitter = "0s"
[[suite.often.benchmark]]
workload = "cpu"
warm_up = "0s"
time = "2500ms"
"#,
    );
    let mut daemon = place.serve();
    assert!(daemon.metric("benchd_schedule_next_run_timestamp_seconds{suite=\"often\"}").is_some());
    daemon.wait_for("often started by schedule").unwrap();
    daemon.wait_for("often: scheduled start missed: overlap").unwrap();
    daemon.wait_for("often started by schedule").unwrap();
    assert!(daemon.metric("benchd_schedule_missed_runs_total{suite=\"often\"}").unwrap() >= 1.0);
    assert!(daemon.metric("benchd_runs_total{suite=\"often\",trigger=\"schedule\"}").unwrap() >= 2.0);
    let (status, said) = daemon.end(Signal::SIGTERM);
    assert!(status.success(), "{said}");
    let stopped = place.json(&["list", "--outcome", "aborted", "--output", "json"]);
    assert_eq!(stopped["runs"][0]["failure"]["reason"], "stopped");
}

#[test]
fn a_reload_takes_a_good_file_and_a_bad_one_changes_nothing() {
    let place = Place::new(SHORT);
    let mut daemon = place.serve();
    place.configure(&format!("{SHORT}\n[suite.more]\nshedule = \"0 3 * * *\"\n"));
    let refused = daemon.ask("POST", "/-/reload", "");
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert!(refused.body.contains("did you mean `schedule`"), "{}", refused.body);
    assert_eq!(daemon.metric("benchd_config_last_reload_successful"), Some(0.0));
    assert_eq!(daemon.get("/api/v1/suites/more").status, 404);
    place.configure(&SHORT.replace("suite.short", "suite.renamed"));
    daemon.signal(Signal::SIGHUP);
    daemon.wait_for("configuration read again and in force").unwrap();
    assert_eq!(daemon.metric("benchd_config_last_reload_successful"), Some(1.0));
    assert_eq!(daemon.get("/api/v1/suites/renamed").status, 200);
    assert_eq!(daemon.get("/api/v1/suites/short").status, 404);
    place.configure(SHORT);
    assert_eq!(daemon.ask("POST", "/-/reload", "").status, 204);
    assert_eq!(daemon.get("/api/v1/suites/short").status, 200);
}

#[test]
fn by_tcp_without_users_everybody_may_read_and_nobody_may_change() {
    let place = Place::new(SHORT);
    let daemon = place.serve();
    assert_eq!(daemon.ask_by_tcp("GET", "/metrics", "").status, 200);
    assert_eq!(daemon.ask_by_tcp("GET", "/api/v1/suites", "").status, 200);
    assert_eq!(daemon.ask_by_tcp("POST", "/api/v1/runs", r#"{"suite":"short"}"#).status, 403);
    assert_eq!(daemon.ask_by_tcp("POST", "/-/reload", "").status, 403);
}

#[test]
fn kill_nine_loses_no_finished_case_and_leaves_no_load() {
    let place = Place::new(LONG);
    let mut daemon = place.serve();
    let id = daemon.trigger(r#"{"suite":"long"}"#);
    daemon.each_event(&id, |event| event["event"] != "interval" || event["case"] != "second");
    let (worker, load) = (children(daemon.pid()), grandchildren(daemon.pid()));
    assert_eq!((worker.len(), load.len()), (1, 1));
    daemon.signal(Signal::SIGKILL);
    assert!(daemon.wait_for("no such line").is_none());
    let began = Instant::now();
    while is_alive(worker[0]) || is_alive(load[0]) {
        assert!(began.elapsed() < common::program::PATIENCE, "worker and load outlive the daemon");
        std::thread::yield_now();
    }
    drop(daemon);
    let daemon = place.serve();
    let record = daemon.record(&id);
    assert_eq!((&record["outcome"], &record["failure"]["reason"]), (&"aborted".into(), &"crash".into()));
    assert_eq!(record["cases"][0]["outcome"], "finished");
    assert!(
        daemon
            .metric("benchd_last_operations_per_second{suite=\"long\",case=\"first\",workload=\"cpu\"}")
            .is_some()
    );
}

#[test]
fn run_now_shows_the_results_in_the_foreground() {
    let place = Place::new(SHORT);
    let mut daemon = place.try_serve(&["serve", "--run-now", "short"]).unwrap();
    assert!(daemon.wait_for("http://127.0.0.1:").unwrap().contains("/metrics"));
    assert!(daemon.wait_for("events/s").unwrap().contains("cpu"));
    daemon.wait_for("1 of 1 case").unwrap();
}

/// Ids of the load processes of a daemon: children of its workers.
fn grandchildren(pid: u32) -> Vec<u32> {
    children(pid).into_iter().flat_map(children).collect()
}

#[test]
fn a_run_on_a_server_keeps_what_the_server_did_meanwhile() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let server = Server::start(Flavour::MariaDb, &[]);
    let load = benchmark("db", "oltp_point_select", "3s", "target = \"main\"\ntable_size = 100");
    let place = Place::new(&format!("{}[suite.db]\nprofile = \"lab\"\n{load}", target_main(&server)));
    let daemon = place.serve();
    let id = daemon.trigger(r#"{"suite":"db"}"#);
    daemon.follow(&id);
    let record = daemon.record_to_come(&id);
    assert_eq!(record["outcome"], "finished", "{record}");
    let reader = Reader::open(&place.path("benchd.db")).unwrap();
    let series = reader.series(id.parse().unwrap(), 0, &["database.questions", "cpu"]).unwrap();
    let of = |name: &str| &series.iter().find(|column| column.name == name).unwrap().values;
    // Asked each second although the interval is ten of them.
    assert!(of("database.questions").len() >= 2, "{series:?}");
    let most = of("database.questions").iter().copied().fold(0.0, f64::max);
    let measured = record["cases"][0]["throughput"]["per_second"].as_f64().unwrap();
    assert!(most > measured / 2.0, "{most} questions/s, {measured} measured");
    assert!(!of("cpu").is_empty());
}

#[test]
fn a_copy_can_take_the_stores_place_and_a_file_that_is_there_is_left_alone() {
    let place = Place::new("");
    assert!(place.run(&["run", "-w", "cpu", "time=50ms", "warm_up=0s"]).status.success());
    let daemon = place.serve();
    let copy = place.path("copy.db");
    let made = place.json(&["store", "backup", copy.to_str().unwrap(), "--output", "json"]);
    assert_eq!(made["bytes"], fs::metadata(&copy).unwrap().len());
    let again = place.run(&["store", "backup", copy.to_str().unwrap()]);
    let said = words(&again);
    assert!(
        !again.status.success() && said.contains("no copy was made") && said.contains("File exists"),
        "{said}"
    );
    let (info, runs) =
        (place.json(&["store", "info", "--output", "json"]), place.json(&["list", "--output", "json"]));
    assert_eq!((&info["runs"], &info["records"]), (&serde_json::json!(1), &serde_json::json!(1)));
    assert!(place.run(&["store", "verify"]).status.success());
    assert!(daemon.end(Signal::SIGTERM).0.success());
    fs::rename(&copy, place.path("benchd.db")).unwrap();
    let daemon = place.serve();
    assert_eq!(place.json(&["list", "--output", "json"]), runs);
    drop(daemon);
}

#[test]
fn a_damaged_store_is_named() {
    let place = Place::new("");
    assert!(place.run(&["run", "-w", "cpu", "time=50ms", "warm_up=0s"]).status.success());
    let path = place.path("benchd.db");
    let mut bytes = fs::read(&path).unwrap();
    let from = bytes.len() - 4096;
    bytes[from..].fill(0x5a);
    fs::write(&path, bytes).unwrap();
    let said = place.run(&["store", "verify"]);
    assert_eq!(said.status.code(), Some(1), "{}", words(&said));
}

#[test]
fn check_tells_about_how_many_series_a_scrape_has() {
    let place = Place::new("");
    let said = words(&place.run(&["check"]));
    assert!(said.contains(" cases, about ") && said.trim_end().ends_with(" series"), "{said}");
    let told =
        usize::try_from(place.json(&["--output", "json", "check"])["series"].as_u64().unwrap()).unwrap();
    let daemon = place.serve();
    daemon.follow(&daemon.trigger(r#"{"suite":"quick","case":"cpu"}"#));
    daemon.metric_to_come("benchd_last_run_success{suite=\"quick\"}");
    let metrics = daemon.metrics();
    let count = |name: &str| metrics.lines().filter(|line| line.starts_with(name)).count();
    let series = metrics.lines().filter(|line| !line.starts_with('#')).count();
    assert!(series <= told && told < series * 2, "{series} series, {told} told");
    let (cpus, disks) = (count("benchd_host_cpu_seconds_total") / 8, count("benchd_host_disk_io_now{"));
    let networks = count("benchd_host_network_receive_bytes_total{");
    if (cpus, disks) == (2, 1) && networks <= 3 {
        assert!(told <= 800, "{told} with the configuration as shipped");
    }
}

#[test]
fn check_notes_a_configuration_with_very_many_series() {
    let primes: Vec<String> = (0..400).map(|more| (10_000 + more).to_string()).collect();
    let place = Place::new(&format!(
        "[suite.wide]\nprofile = \"lab\"\n[[suite.wide.benchmark]]\nworkload = \"cpu\"\nwarm_up = \"0s\"\ntime = \"1s\"\nmax_prime = [{}]",
        primes.join(", ")
    ));
    let output = place.run(&["check"]);
    let said = words(&output);
    assert!(output.status.success() && said.contains("series, more than 5,000"), "{said}");
    assert_eq!(place.run(&["check", "--strict"]).status.code(), Some(2));
}

#[test]
fn a_server_that_stands_still_delays_no_scrape() {
    let Some(flavour) = Flavour::present().first().copied() else { return };
    let server = Server::start(flavour, &[]);
    let place = Place::new(&format!(
        "[target.main]\nkind = \"server\"\nsocket = \"{}\"\nuser = \"root\"\n[sample]\ndatabase_interval = \"1s\"\n",
        server.socket().display()
    ));
    let daemon = place.serve();
    let up = "benchd_mysql_up{target=\"main\"}";
    let began = Instant::now();
    while daemon.metric(up) != Some(1.0) {
        assert!(began.elapsed() < PATIENCE, "{}", daemon.metrics());
    }
    server.freeze();
    // Every scrape of these is answered while the server answers nothing: none waits for it.
    let (began, mut answered) = (Instant::now(), 0);
    while daemon.metric(up) != Some(0.0) {
        answered += 1;
        assert!(began.elapsed() < PATIENCE, "{}", daemon.metrics());
    }
    assert!(answered > 1, "the first scrape waited until the server was given up");
    assert!(daemon.metric("benchd_collector_success{collector=\"database\"}") == Some(0.0));
    assert!(daemon.metric("benchd_host_cpus").is_some());
    server.thaw();
    let began = Instant::now();
    while daemon.metric(up) != Some(1.0) {
        assert!(began.elapsed() < PATIENCE, "{}", daemon.metrics());
    }
}
