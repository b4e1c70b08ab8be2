//! A run can always be stopped, whatever stands still; it stays within its limits; and what it made can be shown and
//! removed, and nothing else.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod common;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use benchd::store::Reader;
use benchd::target::{Access, Client};
use common::program::{Daemon, PATIENCE, Place, children, is_alive, words};
use common::{Flavour, Server};
use nix::sys::signal::Signal;
use nix::unistd::Uid;
use serde_json::Value;

/// Within this the interface answers and no request is sent any more.
const STOP: Duration = Duration::from_secs(2);

/// Profile canary, at any time.
const CANARY: &str = "\"canary\"\nwindow = \"00:00-24:00\"";

fn main_target(server: &Server) -> String {
    format!(
        "[target.main]\nkind = \"server\"\nuser = \"root\"\nrole = \"standalone\"\nwrites = true\n\
         accept_excess_privileges = true\nsocket = \"{}\"\n",
        server.socket().display()
    )
}

/// A suite of one case that lasts until somebody ends it.
fn long(workload: &str, lines: &str) -> String {
    format!(
        "\n[suite.s]\nprofile = \"lab\"\n[[suite.s.benchmark]]\nworkload = \"{workload}\"\nwarm_up = \"0s\"\n\
         time = \"1h\"\n{lines}\n"
    )
}

/// Starts the suite and waits until it is measured; gives its id and the load process.
fn measured(daemon: &Daemon) -> (String, u32) {
    let id = daemon.trigger(r#"{"suite":"s"}"#);
    daemon.each_event(&id, |event| event["event"] != "interval");
    let worker = children(daemon.pid())[0];
    let is_load = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("--load"))
    };
    (id, children(worker).into_iter().find(is_load).unwrap())
}

/// Cancels a run: the interface answers, and the load is gone, within two seconds.
fn cancel_in_time(daemon: &Daemon, id: &str, load: u32) {
    let asked = Instant::now();
    assert_eq!(daemon.ask("DELETE", &format!("/api/v1/runs/{id}"), "").status, 202);
    assert_eq!(daemon.get("/-/healthy").status, 200);
    assert_eq!(daemon.get("/metrics").status, 200);
    while is_alive(load) {
        assert!(asked.elapsed() < PATIENCE, "the load goes on");
    }
    assert!(asked.elapsed() < STOP, "the load ended after {:?}", asked.elapsed());
}

/// Sessions of others than the one that asks.
fn sessions(server: &Server) -> Vec<Vec<Option<String>>> {
    let mut client = Client::connect(&server.root()).unwrap();
    let sql = "SELECT id, db, info FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = 'root'";
    client.rows(sql).unwrap()
}

#[test]
fn a_load_on_a_frozen_server_is_ended_within_two_seconds() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &["--performance-schema=ON"]);
        let text = main_target(&server) + &long("oltp_read_write", "target = \"main\"\nthreads = 4");
        let daemon = Place::new(&text);
        let daemon = daemon.serve();
        let (id, load) = measured(&daemon);
        server.freeze();
        cancel_in_time(&daemon, &id, load);
        daemon.follow(&id);
        server.thaw();
        let record = daemon.record(&id);
        assert_eq!(record["outcome"], "cancelled", "{record}");
        let began = Instant::now();
        while !sessions(&server).is_empty() {
            assert!(began.elapsed() < PATIENCE, "{:?}", sessions(&server));
        }
        assert!(children(daemon.pid()).is_empty());
    }
}

#[test]
fn connections_of_a_run_that_was_cut_short_are_ended_by_the_next_and_those_of_others_are_not() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &["--performance-schema=ON"]);
        let text = main_target(&server) + &long("oltp_point_select", "target = \"main\"\ntable_size = 100");
        let place = Place::new(&text.replace("1h", "300ms"));
        let daemon = place.serve();
        let identity = Reader::open(&place.path("benchd.db")).unwrap().identity().unwrap();
        let of = |daemon: Option<uuid::Uuid>, run: &str| {
            let access = Access { daemon, run: run.to_owned(), ..server.root() };
            Client::connect(&access).unwrap()
        };
        let mut left = of(Some(identity), "0192");
        let mut foreign = [of(None, ""), of(Some(uuid::Uuid::new_v4()), "0192")];
        let id = daemon.trigger(r#"{"suite":"s"}"#);
        let events = daemon.follow(&id);
        assert_eq!(daemon.record(&id)["outcome"], "finished");
        assert!(left.query("SELECT 1").is_err(), "the connection of the earlier run goes on");
        for client in &mut foreign {
            client.query("SELECT 1").unwrap();
        }
        let said =
            |text: &str| events.iter().any(|event| event["text"].as_str().is_some_and(|t| t.contains(text)));
        assert!(said("1 connection of a run that was cut short, on main: killed"), "{events:?}");
    }
}

#[test]
fn a_live_server_keeps_room_for_its_users() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let server = Server::start(Flavour::MariaDb, &["--max-connections=50"]);
    let case = |threads: u32, rate: &str| {
        let keys = format!("target = \"main\"\ntable_size = 100\nthreads = {threads}\n{rate}");
        main_target(&server) + &long("oltp_point_select", &keys).replace("1h", "300ms")
    };
    let place = Place::new(&case(6, "rate = 50").replace("\"lab\"", CANARY));
    let daemon = place.serve();
    let run = || {
        let id = daemon.trigger(r#"{"suite":"s"}"#);
        daemon.follow(&id);
        daemon.record(&id)
    };
    let record = run();
    let message = record["failure"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("opens 6 to main") && message.contains("of 50 are in use"), "{record}");
    place.configure(&case(65, "rate = 50").replace("\"lab\"", CANARY));
    assert_eq!(daemon.ask("POST", "/-/reload", "").status, 204);
    let refused = daemon.ask("POST", "/api/v1/runs", r#"{"suite":"s"}"#);
    assert_eq!((refused.status, &refused.json()["guards"][0]["guard"]), (423, &"connections".into()));
    place.configure(&case(6, ""));
    assert_eq!(daemon.ask("POST", "/-/reload", "").status, 204);
    assert_eq!(run()["outcome"], "finished");
}

#[test]
fn a_server_with_users_limits_the_loads_statements_too() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &["--log-output=TABLE", "--general-log=ON"]);
        let limited = "SELECT 1 FROM mysql.general_log WHERE argument LIKE 'SET SESSION max\\_%' AND thread_id IN \
                       (SELECT thread_id FROM mysql.general_log WHERE command_type = 'Execute' AND argument LIKE 'SELECT c FROM%')";
        let case = long("oltp_point_select", "target = \"main\"\ntable_size = 100\nrate = 50");
        let case = main_target(&server) + &case.replace("1h", "300ms");
        for (profile, by, sessions) in [("\"lab\"", "client", 0), (CANARY, "client and server", 1)] {
            let place = Place::new(&case.replace("\"lab\"", profile));
            let daemon = place.serve();
            let id = daemon.trigger(r#"{"suite":"s"}"#);
            daemon.follow(&id);
            let record = daemon.record(&id);
            assert_eq!(record["cases"][0]["limits"]["statement_timeout"], format!("5s by {by}"), "{record}");
            let mut client = Client::connect(&Access { limit_on_server: false, ..server.root() }).unwrap();
            assert_eq!(client.rows(limited).unwrap().len(), sessions, "{profile}");
        }
    }
}

#[test]
fn a_load_stands_back_as_its_profile_says_and_the_record_says_so() {
    let canary = long("cpu", "").replace("\"lab\"", CANARY) + "[profile.canary]\nnice = 7\ncpus = \"0\"\n";
    let place = Place::new(&canary);
    let daemon = place.serve();
    let (id, load) = measured(&daemon);
    let stat = fs::read_to_string(format!("/proc/{load}/stat")).unwrap();
    let nice = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(16).unwrap().to_owned();
    assert_eq!(nice, "7");
    assert_eq!(fs::read_to_string(format!("/proc/{load}/oom_score_adj")).unwrap().trim(), "1000");
    for task in fs::read_dir(format!("/proc/{load}/task")).unwrap().flatten() {
        let status = fs::read_to_string(task.path().join("status")).unwrap();
        let name = status.lines().next().unwrap().to_owned();
        // The thread that writes to the worker is there before the limits are known, and does no work.
        let all = status.contains("Cpus_allowed_list:\t0\n") || name.contains("emitter");
        assert!(all, "{name} may use other CPUs");
    }
    let own = fs::read_to_string(format!("/proc/{}/stat", daemon.pid())).unwrap();
    assert_ne!(own.rsplit_once(')').unwrap().1.split_whitespace().nth(16), Some("7"), "the daemon is slowed");
    cancel_in_time(&daemon, &id, load);
    daemon.follow(&id);
    let limits = daemon.record(&id)["cases"][0]["limits"].clone();
    assert_eq!((&limits["nice"], &limits["cpus"]), (&"7".into(), &"0".into()), "{limits}");
    assert_eq!(limits["io_priority"], "best-effort:7", "{limits}");
    assert!(limits["memory_max"].as_str().unwrap().starts_with("not applied (1GiB): "), "{limits}");
    let shown = place.run(&["show", &format!("{id}:cpu")]);
    assert!(words(&shown).contains("nice 7"), "{}", words(&shown));
}

#[test]
fn a_scratch_server_stands_back_with_the_load_it_was_started_for() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let lines = long("oltp_point_select", "target = \"scratch\"\ntable_size = 100")
        + "[profile.lab]\nnice = 3\nio_priority = \"idle\"\ncpus = \"0\"\n[target.scratch]\nmemory_max = \"2GiB\"\n";
    let place = Place::new(&lines);
    let daemon = place.serve();
    let (id, load) = measured(&daemon);
    let is_server = |pid: &u32| *pid != load;
    let server = children(children(daemon.pid())[0]).into_iter().find(is_server).unwrap();
    let read = |file: &str| fs::read_to_string(format!("/proc/{server}/{file}")).unwrap();
    let nice = read("stat").rsplit_once(')').unwrap().1.split_whitespace().nth(16).unwrap().to_owned();
    assert_eq!((nice.as_str(), read("oom_score_adj").trim()), ("3", "1000"));
    assert!(read("status").contains("Cpus_allowed_list:\t0\n"), "{}", read("status"));
    cancel_in_time(&daemon, &id, load);
    daemon.follow(&id);
    let limits = daemon.record(&id)["cases"][0]["limits"].clone();
    let memory = limits["server_memory_max"].as_str().unwrap();
    assert!(memory.starts_with("not applied (2GiB): no control group is delegated to benchd: "), "{limits}");
}

#[test]
fn what_benchd_made_is_shown_and_removed_and_nothing_else() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let server = Server::start(Flavour::MariaDb, &[]);
    server.setup(&[
        "CREATE DATABASE benchd_scratch_77aa01bc",
        "CREATE DATABASE shop",
        "CREATE TABLE shop.t (i INT)",
    ]);
    let text = main_target(&server)
        + &long("oltp_point_select", "target = [\"main\", \"scratch\"]\ntable_size = 100")
            .replace("1h", "300ms");
    let place = Place::new(&text);
    let nothing = place.run(&["scratch"]);
    assert_eq!(nothing.status.code(), Some(7), "{}", words(&nothing));
    let daemon = place.serve();
    let id = daemon.trigger(r#"{"suite":"s"}"#);
    daemon.follow(&id);
    assert_eq!(daemon.record(&id)["outcome"], "finished");
    let shown = place.json(&["scratch", "--output", "json"]);
    let kinds = |value: &Value| -> Vec<String> {
        value["owned"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(kinds(&shown), ["schema", "scratch"], "{shown}");
    assert_eq!(shown["owned"][0]["tables"], serde_json::json!(["sbtest1"]));
    assert!(shown["foreign"][0]["what"].as_str().unwrap().contains("benchd_scratch_77aa01bc"), "{shown}");
    let busy = place.run(&["scratch", "--remove"]);
    assert_eq!(busy.status.code(), Some(5), "{}", words(&busy));
    assert_eq!(place.json(&["scratch", "--output", "json"])["owned"].as_array().unwrap().len(), 2);
    // Something of somebody else in the scratch server's directory stays, and the rest of it goes.
    let foreign = place.path("scratch/scratch/precious");
    fs::write(&foreign, "data").unwrap();
    assert!(daemon.end(Signal::SIGTERM).0.success());
    let removed = place.run(&["scratch", "--remove"]);
    assert!(words(&removed).contains("removed schema benchd_scratch_"), "{}", words(&removed));
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "data");
    let mut client = Client::connect(&server.root()).unwrap();
    let left = "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables WHERE table_schema = 'shop' \
                OR table_schema LIKE 'benchd%' ORDER BY table_name";
    let left: Vec<String> = client.rows(left).unwrap().into_iter().flatten().flatten().collect();
    assert_eq!(left.len(), 2, "{left:?}");
    let stays = |name: &String| name == "shop.t" || name.ends_with("._owner");
    assert!(left.iter().all(stays), "{left:?}");
}

/// A filesystem on a loop device, which can be frozen; taken away when the test is over.
struct Disk {
    mounted: String,
}

impl Disk {
    /// `None`, said loudly, without the rights or a loop device.
    fn mount(place: &Place) -> Option<Disk> {
        let (image, mounted) = (place.path("image"), place.path("disk"));
        fs::File::create(&image).unwrap().set_len(4 << 30).unwrap();
        fs::create_dir(&mounted).unwrap();
        let (image, mounted) = (image.to_str().unwrap().to_owned(), mounted.to_str().unwrap().to_owned());
        let ready = Uid::effective().is_root()
            && succeeds("mkfs.ext4", &["-q", &image])
            && succeeds("mount", &["-o", "loop", &image, &mounted]);
        if !ready {
            common::skip("loop device");
            return None;
        }
        assert!(succeeds("chmod", &["755", &mounted]));
        Some(Disk { mounted })
    }

    fn freeze(&self) {
        assert!(succeeds("fsfreeze", &["-f", &self.mounted]));
    }

    fn thaw(&self) {
        assert!(succeeds("fsfreeze", &["-u", &self.mounted]));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // What a test that failed left frozen; lazily, as a daemon that the test did not end may still hold it.
        let _ = Command::new("fsfreeze").args(["-u", &self.mounted]).output();
        let _ = Command::new("umount").args(["-l", &self.mounted]).output();
    }
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_load_on_a_frozen_disk_is_ended_and_what_the_kernel_holds_blocks_runs_until_it_is_gone() {
    let place = Place::new("");
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let Some(disk) = Disk::mount(&place) else { return };
    let scratch = format!("[target.scratch]\ndirectory = \"{}/s\"\n", disk.mounted);
    place.configure(&(scratch + &long("oltp_write_only", "target = \"scratch\"\nthreads = 2")));
    let daemon = place.serve();
    let (id, load) = measured(&daemon);
    disk.freeze();
    cancel_in_time(&daemon, &id, load);
    if std::env::var("BENCHD_CAMPAIGN").as_deref() == Ok("full") {
        // Takes as long as a worker has to clean up.
        let began = Instant::now();
        while daemon.get("/api/v1/status").json()["active"].is_object() {
            assert!(began.elapsed() < PATIENCE * 3, "the run does not end");
        }
        let status = daemon.get("/api/v1/status").json();
        assert!(status["alarm"].as_str().unwrap_or_default().contains("no run starts"), "{status}");
        let refused = daemon.ask("POST", "/api/v1/runs", r#"{"suite":"s"}"#);
        assert_eq!((refused.status, &refused.json()["guards"][0]["guard"]), (423, &"exclusive".into()));
    }
    disk.thaw();
    let began = Instant::now();
    while daemon.get("/api/v1/status").json()["active"].is_object()
        || !daemon.get("/api/v1/status").json()["alarm"].is_null()
    {
        assert!(began.elapsed() < PATIENCE * 2, "{}", daemon.get("/api/v1/status").body);
    }
    assert_eq!(daemon.record(&id)["outcome"], "cancelled");
    assert!(children(daemon.pid()).is_empty());
    assert!(daemon.end(Signal::SIGTERM).0.success());
}

#[test]
fn a_run_is_ended_while_the_disk_of_the_store_is_frozen_and_its_record_kept_until_it_is_not() {
    let place = Place::new("");
    let Some(disk) = Disk::mount(&place) else { return };
    let text = fs::read_to_string(place.path("benchd.toml")).unwrap();
    let text = text.replace("benchd.db", "disk/benchd.db") + &long("cpu", "");
    fs::write(place.path("benchd.toml"), text).unwrap();
    let daemon = place.serve();
    let (id, load) = measured(&daemon);
    disk.freeze();
    cancel_in_time(&daemon, &id, load);
    let events = daemon.follow(&id);
    assert_eq!(events.last().unwrap()["event"], "end", "{events:?}");
    assert_eq!(daemon.get("/-/healthy").status, 200);
    disk.thaw();
    let began = Instant::now();
    while daemon.record(&id)["outcome"] != "cancelled" {
        assert!(began.elapsed() < PATIENCE, "{}", daemon.record(&id));
    }
    assert!(daemon.end(Signal::SIGTERM).0.success());
}
