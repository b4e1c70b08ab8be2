//! What goes wrong: each gives one clear message that says what and how to mend it, the right exit code or status,
//! a failed record where a run was under way, and a daemon that lives on.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod common;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use common::fuse::Fuse;
use common::program::{Daemon, PATIENCE, Place, children, is_alive, words};
use common::suites::{benchmark, main_by};
use common::{Flavour, Server};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use serde_json::Value;

/// A suite that loads the server target `main`.
fn on_server(server: &str, time: &str) -> String {
    let load = benchmark("db", "oltp_point_select", time, "target = \"main\"\ntable_size = 100");
    format!("{}[suite.db]\nprofile = \"lab\"\n{load}", main_by(server))
}

/// A suite that loads a scratch server.
fn on_scratch(target: &str, warm_up: &str, time: &str) -> String {
    format!(
        r#"
[target.scratch]
{target}

[suite.db]
profile = "lab"
[[suite.db.benchmark]]
workload = "oltp_point_select"
target = "scratch"
table_size = 100
warm_up = "{warm_up}"
time = "{time}"
"#
    )
}

/// Runs the suite `db` to its end and gives its record.
fn run_db(daemon: &Daemon) -> Value {
    let id = daemon.trigger(r#"{"suite":"db"}"#);
    daemon.follow(&id);
    daemon.record(&id)
}

/// The failure of a run: stage, reason, message.
fn failure(record: &Value) -> (String, String, String) {
    let field = |name: &str| record["failure"][name].as_str().unwrap_or_default().to_owned();
    (field("stage"), field("reason"), field("message"))
}

/// The daemon answers, and nothing that it started is left.
fn lives_on(daemon: &Daemon) {
    assert_eq!(daemon.get("/-/healthy").status, 200);
    assert_eq!(children(daemon.pid()), Vec::<u32>::new());
}

#[test]
fn a_wrong_password_fails_the_run_and_says_so() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let server = Server::start(Flavour::MariaDb, &[]);
    server.setup(&["CREATE USER 'bench'@'127.0.0.1' IDENTIFIED BY 'right'"]);
    let place = Place::new("");
    fs::write(place.path("password"), "wrong\n").unwrap();
    fs::set_permissions(place.path("password"), fs::Permissions::from_mode(0o600)).unwrap();
    let target = format!(
        "host = \"127.0.0.1\"\nport = {}\npassword_file = \"{}\"",
        server.port,
        place.path("password").display()
    );
    place.configure(&on_server(&target, "1s").replace("user = \"root\"", "user = \"bench\""));
    let daemon = place.serve();
    let record = run_db(&daemon);
    let (stage, _, message) = failure(&record);
    assert_eq!((record["outcome"].as_str(), stage.as_str()), (Some("failed"), "prepare"), "{message}");
    assert!(message.contains("bench") && message.contains("password"), "{message}");
    assert!(!record.to_string().contains("wrong\""), "the password is in the record");
    lives_on(&daemon);
    let command = place.run(&["run", "db"]);
    assert_eq!(command.status.code(), Some(1), "{}", words(&command));
}

#[test]
fn a_server_that_is_down_fails_the_run_and_says_where_it_was_looked_for() {
    let place = Place::new(&on_server("socket = \"/nonexistent/mysql.sock\"", "1s"));
    let daemon = place.serve();
    let record = run_db(&daemon);
    let (stage, _, message) = failure(&record);
    assert_eq!((record["outcome"].as_str(), stage.as_str()), (Some("failed"), "prepare"));
    assert!(message.contains("/nonexistent/mysql.sock"), "{message}");
    lives_on(&daemon);
}

#[test]
fn a_load_that_the_host_does_not_let_start_is_told_from_one_that_a_server_does_not_let_in() {
    let cpu = "[suite.db]\nprofile = \"lab\"\n[[suite.db.benchmark]]\nworkload = \"cpu\"\nmode = \"native\"\npin = \"core\"\n\
               threads = 5000\ntime = \"1s\"\n";
    let place = Place::new(cpu);
    let daemon = place.serve();
    let (_, reason, message) = failure(&run_db(&daemon));
    assert_eq!(reason, "start", "{message}");
    assert!(message.contains("cannot have a CPU each"), "{message}");
    lives_on(&daemon);
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    // Tables are made by few connections, the load has one for each thread.
    let server = Server::start(Flavour::MariaDb, &["--max-connections=10"]);
    let text = on_server(&format!("socket = \"{}\"", server.socket().display()), "1s");
    place.configure(&(text + "threads = 20\n"));
    assert_eq!(daemon.ask("POST", "/-/reload", "").status, 204);
    let (_, reason, message) = failure(&run_db(&daemon));
    assert_eq!(reason, "connect", "{message}");
    lives_on(&daemon);
}

#[test]
fn a_server_killed_in_the_middle_of_a_run_fails_it_with_what_was_measured() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let mut server = Server::start(Flavour::MariaDb, &[]);
    let place = Place::new(&on_server(&format!("socket = \"{}\"", server.socket().display()), "1h"));
    let daemon = place.serve();
    let id = daemon.trigger(r#"{"suite":"db"}"#);
    daemon.each_event(&id, |event| event["event"] != "interval");
    server.kill();
    daemon.follow(&id);
    let record = daemon.record(&id);
    assert_eq!((record["outcome"].as_str(), failure(&record).0.as_str()), (Some("failed"), "measure"));
    assert!(record["cases"][0]["throughput"]["operations"].as_u64().unwrap() > 0);
    lives_on(&daemon);
}

#[test]
fn a_server_is_written_to_only_where_its_operator_said_so() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let server = Server::start(Flavour::MariaDb, &[]);
    let target = format!("socket = \"{}\"", server.socket().display());
    let refused = on_server(&target, "1s").replace("writes = true\n", "");
    let place = Place::new(&refused);
    let daemon = place.serve();
    let answer = daemon.ask("POST", "/api/v1/runs", r#"{"suite":"db"}"#);
    assert_eq!(answer.status, 423, "{}", answer.body);
    assert_eq!(answer.json()["guards"][0]["guard"], "database_writes");
    let command = place.run(&["run", "db"]);
    assert_eq!(command.status.code(), Some(3), "{}", words(&command));
    assert_eq!(daemon.metric("benchd_runs_blocked_total{guard=\"database_writes\"}"), Some(2.0));
    let id = answer.json()["instance"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let blocked = daemon.record_to_come(&id);
    assert_eq!((&blocked["outcome"], &blocked["failure"]["stage"]), (&"blocked".into(), &"guard".into()));
    place.configure(&on_server(&target, "300ms"));
    assert_eq!(daemon.ask("POST", "/-/reload", "").status, 204);
    assert_eq!(run_db(&daemon)["outcome"], "finished");
}

#[test]
fn an_account_that_may_do_everything_is_refused_unless_that_is_accepted() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let server = Server::start(Flavour::MariaDb, &[]);
    let target = format!("socket = \"{}\"", server.socket().display());
    let place = Place::new(&on_server(&target, "300ms").replace("accept_excess_privileges = true\n", ""));
    let daemon = place.serve();
    let (stage, _, message) = failure(&run_db(&daemon));
    assert_eq!(stage, "prepare");
    assert!(message.contains("accept_excess_privileges"), "{message}");
    lives_on(&daemon);
}

#[test]
fn a_scratch_server_that_dies_in_prepare_says_what_its_log_says() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let place = Place::new(&on_scratch("options = { no_such_option = 1 }", "0s", "300ms"));
    let daemon = place.serve();
    let record = run_db(&daemon);
    let (stage, _, message) = failure(&record);
    assert_eq!((record["outcome"].as_str(), stage.as_str()), (Some("failed"), "prepare"));
    assert!(message.contains("no_such_option") || message.contains("no-such-option"), "{message}");
    lives_on(&daemon);
    place.configure(&on_scratch("", "0s", "300ms"));
    assert_eq!(daemon.ask("POST", "/-/reload", "").status, 204);
    assert_eq!(run_db(&daemon)["outcome"], "finished");
    lives_on(&daemon);
}

/// The scratch server of a run that is under way: a child of its worker that is no load process.
fn scratch_server(daemon: &Daemon) -> Pid {
    let servers = children(daemon.pid()).into_iter().flat_map(children).filter(|pid| {
        fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("datadir"))
    });
    let pids: Vec<u32> = servers.collect();
    assert_eq!(pids.len(), 1, "one scratch server");
    Pid::from_raw(i32::try_from(pids[0]).unwrap())
}

/// Kills the scratch server of a run that sends load, and sees the case fail in that stage.
fn server_dies(warm_up: &str, time: &str, stage: &str) {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let place = Place::new(&on_scratch("", warm_up, time));
    let daemon = place.serve();
    let id = daemon.trigger(r#"{"suite":"db"}"#);
    daemon.each_event(&id, |event| event["event"] != "interval");
    kill(scratch_server(&daemon), Signal::SIGKILL).unwrap();
    daemon.follow(&id);
    let record = daemon.record(&id);
    assert_eq!((record["outcome"].as_str(), failure(&record).0.as_str()), (Some("failed"), stage));
    lives_on(&daemon);
}

#[test]
fn a_server_that_dies_in_the_warm_up_fails_the_case_there() {
    server_dies("1h", "1s", "warm_up");
}

#[test]
fn a_server_that_dies_while_measured_fails_the_case_there() {
    server_dies("0s", "1h", "measure");
}

#[test]
fn a_suite_runs_on_every_server_there_is() {
    for flavour in Flavour::present() {
        let program = flavour.program().unwrap();
        let place = Place::new(&on_scratch(&format!("server = \"{}\"", program.display()), "100ms", "500ms"));
        let daemon = place.serve();
        let record = run_db(&daemon);
        assert_eq!(record["outcome"], "finished", "{}", record["failure"]);
        let facts = &record["cases"][0]["target_facts"];
        let expected = if flavour == Flavour::MySql { "MySQL" } else { "MariaDB" };
        assert_eq!(facts["flavour"], expected);
        lives_on(&daemon);
    }
}

#[test]
fn a_worker_that_is_killed_fails_the_run_and_leaves_nothing_running() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let place = Place::new(&on_scratch("", "0s", "1h"));
    let daemon = place.serve();
    let id = daemon.trigger(r#"{"suite":"db"}"#);
    daemon.each_event(&id, |event| event["event"] != "interval");
    let (worker, server) = (children(daemon.pid())[0], scratch_server(&daemon));
    kill(Pid::from_raw(i32::try_from(worker).unwrap()), Signal::SIGKILL).unwrap();
    daemon.follow(&id);
    assert_eq!(failure(&daemon.record(&id)).1, "worker");
    assert!(!is_alive(u32::try_from(server.as_raw()).unwrap()), "the scratch server still runs");
    lives_on(&daemon);
    place.configure(&on_scratch("", "0s", "300ms"));
    assert_eq!(daemon.ask("POST", "/-/reload", "").status, 204);
    assert_eq!(run_db(&daemon)["outcome"], "finished");
}

#[test]
fn a_file_of_somebody_else_in_the_scratch_directory_fails_the_clean_up_and_stays() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let place = Place::new(&on_scratch("keep_data = false", "0s", "3s"));
    let daemon = place.serve();
    let id = daemon.trigger(r#"{"suite":"db"}"#);
    daemon.each_event(&id, |event| event["event"] != "interval");
    let foreign = place.path("scratch/scratch/not-benchds");
    fs::write(&foreign, "precious").unwrap();
    daemon.follow(&id);
    let record = daemon.record(&id);
    assert_eq!(record["cases"][0]["outcome"], "finished");
    assert_eq!(
        (record["outcome"].as_str(), failure(&record).0.as_str()),
        (Some("failed"), "clean_up"),
        "{record}"
    );
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "precious");
    lives_on(&daemon);
}

#[test]
fn a_full_disk_keeps_the_finished_case_in_memory_until_there_is_room() {
    if !Uid::effective().is_root() {
        common::skip("root, to mount a small tmpfs");
        return;
    }
    let place = Place::new("");
    let small = place.path("small");
    fs::create_dir(&small).unwrap();
    mount(&["-t", "tmpfs", "-o", "size=2m", "tmpfs", small.to_str().unwrap()]);
    let _unmount = Unmount(small.to_str().unwrap().to_owned());
    let text = fs::read_to_string(place.path("benchd.toml")).unwrap();
    let text = text.replace("benchd.db", "small/benchd.db");
    let suite = "[store]\nmin_free = \"0B\"\n[suite.full]\nprofile = \"lab\"\n[[suite.full.benchmark]]\nworkload = \"cpu\"\nwarm_up = \"0s\"\ntime = \"2s\"\n";
    fs::write(
        place.path("benchd.toml"),
        text.replace("store.path", "[store]\npath") + "\n" + &suite.replace("[store]\n", ""),
    )
    .unwrap();
    let daemon = place.serve();
    let id = daemon.trigger(r#"{"suite":"full"}"#);
    daemon.each_event(&id, |event| event["event"] != "interval");
    let filler = small.join("filler");
    let _ = fs::write(&filler, vec![0_u8; 4 << 20]);
    daemon.follow(&id);
    assert!(daemon.metric("benchd_store_write_failures_total").unwrap() > 0.0);
    assert_eq!(daemon.get("/-/healthy").status, 200);
    fs::remove_file(&filler).unwrap();
    let (status, said) = daemon.end(Signal::SIGTERM);
    assert!(status.success(), "{said}");
    let daemon = place.serve();
    assert_eq!(daemon.record(&id)["cases"][0]["outcome"], "finished");
}

fn mount(arguments: &[&str]) {
    assert!(Command::new("mount").args(arguments).status().unwrap().success());
}

/// Unmounts when the test is over, however it ends.
struct Unmount(String);

impl Drop for Unmount {
    fn drop(&mut self) {
        // Lazily: a daemon that the test did not end may still hold it.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn unknown_workloads_and_parameters_are_refused_before_anything_is_done() {
    let place = Place::new("");
    let output = place.run(&["run", "-w", "cpuu"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains("did you mean `cpu`"), "{}", words(&output));
    let output = place.run(&["run", "-w", "cpu", "thread=2"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains("did you mean `threads`"), "{}", words(&output));
    let daemon = place.serve();
    let unknown = daemon.ask("POST", "/api/v1/runs", r#"{"suite":"nightly"}"#);
    assert_eq!(
        (unknown.status, unknown.json()["type"].as_str()),
        (422, Some("urn:benchd:problem:unknown-suite"))
    );
    let member = daemon.ask("POST", "/api/v1/runs", r#"{"suite":"quick","colour":"red"}"#);
    assert_eq!(member.status, 422, "{}", member.body);
    assert_eq!(place.run(&["run", "nightly"]).status.code(), Some(2));
    assert_eq!(daemon.metric("benchd_queue_length"), Some(0.0));
}

#[test]
fn a_configuration_that_cannot_be_read_or_is_wrong_ends_with_two_and_all_problems() {
    let place = Place::new("[suite.x]\nshedule = \"0 3 * * *\"\nprofile = 3\n");
    for command in ["check", "serve"] {
        let output = place.run(&[command]);
        assert_eq!(output.status.code(), Some(2), "{}", words(&output));
        assert!(
            words(&output).contains("shedule") && words(&output).contains("profile"),
            "{}",
            words(&output)
        );
    }
    fs::remove_file(place.path("benchd.toml")).unwrap();
    let missing = place.run(&["serve"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(words(&missing).contains("benchd.toml"), "{}", words(&missing));
    fs::create_dir(place.path("benchd.toml")).unwrap();
    assert_eq!(place.run(&["check"]).status.code(), Some(2));
}

#[test]
fn a_port_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let place = Place::new("");
    let text = fs::read_to_string(place.path("benchd.toml")).unwrap();
    fs::write(place.path("benchd.toml"), text.replace("127.0.0.1:0", &format!("127.0.0.1:{port}"))).unwrap();
    let output = place.run(&["serve"]);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(words(&output).contains(&port.to_string()), "{}", words(&output));
}

/// A server target that the daemon asks every second.
fn observed(server: &Server, user: &str) -> String {
    let socket = server.socket();
    format!(
        "sample.database_interval = \"1s\"\n[target.main]\nkind = \"server\"\nuser = \"{user}\"\nsocket = \"{}\"\n",
        socket.display()
    )
}

#[test]
fn a_frozen_server_takes_its_metrics_along_and_delays_no_scrape() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        let place = Place::new(&observed(&server, "root"));
        let mut daemon = place.serve();
        daemon.metric_to_come("benchd_mysql_uptime_seconds{target=\"main\"}");
        server.freeze();
        let (began, mut slowest) = (Instant::now(), Duration::ZERO);
        while daemon.metric("benchd_mysql_up{target=\"main\"}") != Some(0.0) {
            let asked = Instant::now();
            assert_eq!((daemon.get("/metrics").status, daemon.get("/-/healthy").status), (200, 200));
            slowest = slowest.max(asked.elapsed());
            assert!(began.elapsed() < PATIENCE, "still up");
        }
        assert!(slowest < Duration::from_secs(2), "{flavour:?}: a scrape took {slowest:?}");
        let metrics = daemon.metrics();
        let about: Vec<&str> = metrics.lines().filter(|line| line.starts_with("benchd_mysql_")).collect();
        assert_eq!(about, ["benchd_mysql_up{target=\"main\"} 0"]);
        assert_eq!(daemon.metric("benchd_collector_success{collector=\"database\"}"), Some(0.0));
        daemon.wait_for("target main is not observed: ").unwrap();
        server.thaw();
        daemon.wait_for("target main: the server answers again").unwrap();
        daemon.metric_to_come("benchd_mysql_uptime_seconds{target=\"main\"}");
        // Frozen again, it does not hold up the end.
        server.freeze();
        let (status, said) = daemon.end(Signal::SIGTERM);
        assert!(status.success(), "{said}");
        server.thaw();
    }
}

fn yes(value: f64) -> bool {
    value > 0.5
}

fn no(value: f64) -> bool {
    value < 0.5
}

/// Waits until a series has a value that will do; every scrape meanwhile is answered within two seconds.
fn comes_to(daemon: &Daemon, series: &str, wanted: impl Fn(f64) -> bool) {
    let began = Instant::now();
    loop {
        let asked = Instant::now();
        let found = daemon.metric(series);
        let took = asked.elapsed();
        assert!(took < Duration::from_secs(2), "a scrape took {took:?}");
        if found.is_some_and(&wanted) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{series} is {found:?}");
    }
}

#[test]
fn a_mount_that_hangs_delays_no_scrape_and_no_run_starts_on_it() {
    let Some(fuse) = Fuse::start() else { return };
    let place = Place::new("");
    let far = place.path("far");
    fs::create_dir(&far).unwrap();
    let targets = format!(
        "sample.filesystem_interval = \"1s\"\n[target.far]\nkind = \"directory\"\npath = \"{0}\"\nallow_network = true\n\
         [target.scratch]\nkind = \"scratch\"\ndirectory = \"{0}/scratch\"\n",
        far.display()
    );
    let suite = "profile = \"lab\"\n[[suite.far.benchmark]]\nworkload = \"fileio\"\ntarget = \"far\"\ntotal = \"4MiB\"\n";
    place.configure(&format!("{targets}[suite.far]\n{suite}"));
    let serve = || place.try_serve_by(fuse.mounted(&far, &place.command(&["serve"])));
    let daemon = serve().unwrap_or_else(|said| panic!("{said}"));
    let collector = "benchd_collector_success{collector=\"filesystem\"}";
    let (ready, blocked) = ("benchd_suite_ready{suite=\"far\"}", "benchd_runs_blocked_total{guard=\"path\"}");
    let here = far.display();
    daemon.metric_to_come(&format!(
        "benchd_host_filesystem_avail_bytes{{device=\"hangs\",fstype=\"fuse\",mountpoint=\"{here}\"}}"
    ));
    comes_to(&daemon, ready, yes);

    let hung = fuse.hang();
    comes_to(&daemon, collector, no);
    let refused = daemon.ask("POST", "/api/v1/runs", r#"{"suite":"far"}"#);
    assert_eq!(refused.status, 423, "{}", refused.body);
    assert!(
        refused.body.contains(&format!("the filesystem of {here} has not answered for 5 s")),
        "{}",
        refused.body
    );
    // A schedule asks the guards too, and a reload asks what runs would meet.
    let before = daemon.metric(blocked).unwrap();
    place.configure(&format!("{targets}[suite.far]\nevery = \"1s\"\n{suite}"));
    daemon.signal(Signal::SIGHUP);
    comes_to(&daemon, ready, no);
    comes_to(&daemon, blocked, |count| count > before);

    drop(hung);
    place.configure(&format!("{targets}[suite.far]\n{suite}"));
    daemon.signal(Signal::SIGHUP);
    comes_to(&daemon, collector, yes);
    comes_to(&daemon, ready, yes);
    let (status, said) = daemon.end(Signal::SIGTERM);
    assert!(status.success(), "{said}");
}

#[test]
fn a_daemon_that_starts_while_a_mount_hangs_is_scraped() {
    let Some(fuse) = Fuse::start() else { return };
    let place = Place::new("");
    let far = place.path("far");
    fs::create_dir(&far).unwrap();
    place.configure(&format!(
        "[target.scratch]\nkind = \"scratch\"\ndirectory = \"{0}/scratch\"\n[target.far]\nkind = \"directory\"\npath = \"{0}\"\n",
        far.display()
    ));
    let hung = fuse.hang();
    let daemon = place.try_serve_by(fuse.mounted(&far, &place.command(&["serve"])));
    let daemon = daemon.unwrap_or_else(|said| panic!("{said}"));
    // Of what is dropped first, the daemon does not have to be waited for.
    let hung = hung;
    comes_to(&daemon, "benchd_collector_success{collector=\"filesystem\"}", no);
    drop(hung);
    comes_to(&daemon, "benchd_collector_success{collector=\"filesystem\"}", yes);
}

#[test]
fn what_an_account_may_not_see_is_said_once_and_absent() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        server.setup(&["CREATE USER 'benchd'@'localhost'"]);
        let place = Place::new(&observed(&server, "benchd"));
        let mut daemon = place.serve();
        let said = daemon.said_or_to_come("the state of replication cannot be seen").unwrap();
        assert!(said.contains("target main: ") && said.contains("grant REPLICATION CLIENT"), "{said}");
        // Several questions later.
        let asked = "benchd_mysql_questions_total{target=\"main\"}";
        let first = daemon.metric_to_come(asked);
        let began = Instant::now();
        while daemon.metric(asked).is_none_or(|questions| questions < first + 8.0) {
            assert!(began.elapsed() < PATIENCE, "not asked again");
        }
        assert_eq!(daemon.metric("benchd_mysql_up{target=\"main\"}"), Some(1.0));
        assert_eq!(daemon.metric("benchd_mysql_replicas{target=\"main\"}"), None);
        let (_, said) = daemon.end(Signal::SIGTERM);
        assert_eq!(said.matches("cannot be seen").count(), 2, "{flavour:?}: {said}");
    }
}

#[test]
fn a_corrupt_store_is_named_and_left_as_it_is() {
    let place = Place::new("");
    let rubbish: Vec<u8> =
        (0..20_000_u32).map(|n| u8::try_from(n.wrapping_mul(2_654_435_761) >> 24).unwrap()).collect();
    fs::write(place.path("benchd.db"), &rubbish).unwrap();
    let output = place.run(&["serve"]);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(words(&output).contains("benchd.db"), "{}", words(&output));
    assert_eq!(fs::read(place.path("benchd.db")).unwrap(), rubbish);
}

#[test]
fn a_second_daemon_on_the_same_store_names_the_first() {
    let place = Place::new("");
    let daemon = place.serve();
    let output = place.run(&["serve"]);
    assert_eq!(output.status.code(), Some(5), "{}", words(&output));
    assert!(words(&output).contains(&daemon.pid().to_string()), "{}", words(&output));
    let local = place.run(&["run", "-w", "cpu", "--local", "time=100ms"]);
    assert_eq!(local.status.code(), Some(5), "{}", words(&local));
    lives_on(&daemon);
}

#[test]
fn without_a_daemon_commands_that_need_one_say_how_to_start_it() {
    let place = Place::new("");
    for command in ["status", "watch", "cancel"] {
        let output = place.run(&[command]);
        assert_eq!(output.status.code(), Some(7), "{}", words(&output));
        assert!(words(&output).contains("benchd serve"), "{}", words(&output));
    }
}
