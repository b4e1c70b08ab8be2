//! Matrices on real servers: engines, allocators, directories and server versions side by side, in rounds, with what is
//! said of them; and loads that are cut short by a kill or are large.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod common;

use std::fs;
use std::path::Path;

use nix::sys::signal::Signal;
use serde_json::Value;

use common::program::{Daemon, Place, children, words};
use common::{Flavour, skip};

/// A suite of short cases on a scratch server.
fn suite(lines: &str) -> String {
    format!(
        "[suite.m]\nprofile = \"lab\"\n[[suite.m.benchmark]]\nname = \"b\"\n\
         workload = \"oltp_read_write\"\ntable_size = 500\nwarm_up = \"0s\"\ntime = \"1s\"\n{lines}\n"
    )
}

fn scratch(name: &str, place: &str, lines: &str) -> String {
    format!("[target.{name}]\nkind = \"scratch\"\ndirectory = \"{place}\"\n{lines}\n")
}

/// Runs the suite in the command itself; gives the run's record.
fn run(place: &Place, arguments: &[&str]) -> Value {
    place.json(&[&["run", "m", "--local", "--output", "json"], arguments].concat())
}

/// The facts of the first case on a target.
fn facts<'a>(run: &'a Value, target: &str) -> &'a Value {
    let cases = run["cases"].as_array().unwrap();
    &cases.iter().find(|case| case["target"] == target).unwrap()["target_facts"]
}

fn names(run: &Value) -> Vec<&str> {
    run["cases"].as_array().unwrap().iter().map(|case| case["case"].as_str().unwrap()).collect()
}

fn text(place: &Place, arguments: &[&str]) -> String {
    let output = place.run(arguments);
    assert!(output.status.success(), "{}", words(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn engines_and_threads_run_in_alternating_rounds_and_come_out_as_a_table() {
    let Some(_) = Flavour::MariaDb.program() else { return };
    let place = Place::new("");
    let lines = suite("target = \"own\"\nengine = [\"innodb\", \"myisam\"]\nthreads = [1, 2]");
    place.configure(&(scratch("own", &place.path("scratch").display().to_string(), "") + &lines));

    let run = run(&place, &["--rounds", "2"]);

    assert_eq!(run["outcome"], "finished", "{run}");
    let order = ["innodb/threads=1", "innodb/threads=2", "myisam/threads=1", "myisam/threads=2"];
    let order: Vec<String> = order.iter().map(|case| format!("b/engine={case}")).collect();
    let both: Vec<&String> = order.iter().chain(order.iter().rev()).collect();
    assert_eq!(names(&run), both);
    let table = &run["comparison"];
    assert_eq!(
        (&table["rows"][0], &table["columns"][0], &table["rounds"]),
        (&"engine".into(), &"threads".into(), &2.into())
    );
    for cell in table["cells"].as_array().unwrap() {
        assert!(cell["value"].as_f64().unwrap() > 0.0 && cell["interval95"].is_number(), "{cell}");
        if cell["row"][0] == "myisam" {
            assert_eq!(cell["against"]["verdict"], "not_comparable", "{cell}");
        }
    }
    let shown = text(&place, &["compare", "m", "--rows", "engine", "--columns", "threads"]);
    assert!(shown.contains("2 alternating rounds, transactions/s, median ± 95 %"), "{shown}");
    assert!(shown.contains("threads=1") && shown.contains("engine differs (myisam, innodb)"), "{shown}");
    let turned =
        place.json(&["compare", "m", "--rows", "threads", "--columns", "engine", "--output", "json"]);
    assert_eq!(turned["cells"][1]["against"]["first"], "b/engine=innodb/threads=1");
    let wrong = place.run(&["compare", "m", "--rows", "engine"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", words(&wrong));
}

#[test]
fn the_table_is_printed_at_the_end_of_a_run_stored_and_served() {
    let Some(_) = Flavour::MariaDb.program() else { return };
    let place = Place::new("");
    let own = scratch("own", &place.path("scratch").display().to_string(), "");
    place.configure(&(own + &suite("target = \"own\"\nthreads = [1, 2]")));
    let daemon = place.serve();

    let printed = text(&place, &["run", "m", "--rounds", "2", "--progress", "none"]);

    assert!(printed.contains("2 alternating rounds, transactions/s"), "{printed}");
    let record = daemon.get("/api/v1/runs/latest?suite=m").json();
    assert_eq!((&record["comparison"]["rows"][0], &record["scale"]), (&"threads".into(), &1.0.into()));
    let served = daemon.get("/api/v1/compare?run=m&rows=threads&measure=p95&margin=5%25").json();
    assert_eq!(
        (&served["comparison"]["measure"], &served["comparison"]["margin"]),
        (&"p95".into(), &0.05.into())
    );
    assert_eq!(served["comparison"]["cells"].as_array().unwrap().len(), 2);
    for (query, status) in [
        ("run=m&rows=colour", 422),
        ("run=none", 404),
        ("a=m", 422),
        ("run=m&margin=5", 422),
        ("run=m&x=1", 422),
    ] {
        assert_eq!(daemon.get(&format!("/api/v1/compare?{query}")).status, status, "{query}");
    }
    text(&place, &["run", "m", "--progress", "none"]);
    let two = text(&place, &["compare", "m~1", "m"]);
    assert!(two.contains("BEFORE") && two.contains("one round a side says nothing"), "{two}");
    let all = text(&place, &["compare", "m@..", "m"]);
    assert!(all.starts_with("m@.. (2 runs) → m "), "{all}");
    let of_no_day = place.run(&["compare", "m@..2000-01-01", "m"]);
    assert_eq!(of_no_day.status.code(), Some(2), "{}", words(&of_no_day));
    text(&place, &["run", "m", "--progress", "none", "--scale", "0.5"]);
    let unlike = place.run(&["compare", "m~1", "m"]);
    assert!(
        unlike.status.code() == Some(2) && words(&unlike).contains("table_size differs"),
        "{}",
        words(&unlike)
    );
    let anyway = place.json(&["compare", "m~1", "m", "--anyway", "--output", "json"]);
    let against = &anyway["cases"][0];
    assert!(against["verdict"] == "not_comparable" && against["ratio"].is_number(), "{anyway}");
    let asked = ["a=m~1&b=m", "a=m~1&b=m&anyway=true", "a=m@..&b=m~1&anyway=true"];
    let statuses = asked.map(|query| daemon.get(&format!("/api/v1/compare?{query}")).status);
    assert_eq!(statuses, [422, 200, 200]);
    let answer = daemon.get("/api/v1/compare?a=m~2&b=m~1").json();
    assert_eq!(answer["comparison"]["cases"].as_array().unwrap().len(), 2);
    assert!(daemon.end(Signal::SIGTERM).0.success());
}

#[test]
fn targets_of_a_comparison_differ_in_what_was_asked_for_and_are_read_back() {
    let Some(_) = Flavour::MariaDb.program() else { return };
    let place = Place::new("");
    let [ssd, sata] = ["ssd", "sata"].map(|name| place.path(name).display().to_string());
    let options = "scaled = [\"innodb_buffer_pool_size\"]\noptions = { innodb_buffer_pool_size = \"64M\" }";
    let targets = scratch("ssd", &ssd, options)
        + &format!("[target.sata]\nlike = \"ssd\"\ndirectory = \"{sata}\"\n")
        + &format!(
            "[target.small]\nlike = \"ssd\"\ndirectory = \"{sata}\"\noptions = {{ innodb_flush_log_at_trx_commit = 2 }}\n"
        );
    place.configure(&(targets + &suite("target = [\"ssd\", \"sata\", \"small\"]")));

    let run = run(&place, &["--scale", "0.5"]);

    assert_eq!((&run["outcome"], &run["scale"]), (&"finished".into(), &0.5.into()), "{run}");
    assert_eq!(facts(&run, "ssd")["innodb_buffer_pool_size"], (32 << 20).to_string());
    assert_eq!(run["cases"][0]["parameters"]["table_size"], 250);
    for (target, folder) in [("ssd", &ssd), ("sata", &sata)] {
        assert!(facts(&run, target)["datadir"].as_str().unwrap().starts_with(folder.as_str()), "{target}");
    }
    let cells = run["comparison"]["cells"].as_array().unwrap();
    assert_eq!(cells[1]["against"]["verdict"], "unclear", "one round says nothing: {cells:?}");
    let why = &cells[2]["against"]["not_comparable"][0];
    assert_eq!(why, "innodb_flush_log_at_trx_commit differs (2, 1)");
    assert_eq!(run["comparison"]["differs"], serde_json::json!(["innodb_flush_log_at_trx_commit"]));
}

#[test]
fn scratch_servers_that_are_to_stay_start_once_a_run() {
    let Some(_) = Flavour::MariaDb.program() else { return };
    let place = Place::new("");
    let here = place.path("scratch").display().to_string();
    let targets = scratch("one", &here, "keep_running = true") + "[target.two]\nlike = \"one\"\n";
    let going = scratch("three", &here, "") + "[target.four]\nlike = \"three\"\n";
    let stops = |targets: &str, names: &str| {
        place.configure(&(targets.to_owned() + &suite(names)));
        let daemon = place.serve();
        let events = daemon.follow(&daemon.trigger(r#"{"suite":"m","rounds":3}"#));
        assert_eq!(events.last().unwrap()["outcome"], "finished", "{events:?}");
        assert!(daemon.end(Signal::SIGTERM).0.success());
        let stopped = |event: &&Value| event["text"].as_str().is_some_and(|text| text.ends_with(" stopped"));
        events.iter().filter(stopped).count()
    };
    assert_eq!(stops(&targets, "target = [\"one\", \"two\"]"), 2);
    // A B, B A, A B: each change of the target but the first ends a server, and the end of the run the last one.
    assert_eq!(stops(&going, "target = [\"three\", \"four\"]"), 4);
}

#[test]
fn two_server_versions_run_side_by_side() {
    let (Some(_), Some(mysql)) = (Flavour::MariaDb.program(), Flavour::MySql.program()) else { return };
    let place = Place::new("");
    let here = place.path("scratch").display().to_string();
    let targets = scratch("mariadb", &here, "options = { loose_skip_log_bin = \"1\" }")
        + &scratch("mysql", &here, &format!("server = \"{}\"\nstart_timeout = \"2m\"", mysql.display()));
    place.configure(&(targets + &suite("target = [\"mariadb\", \"mysql\"]\nprotocol = \"text\"")));

    let run = run(&place, &[]);

    assert_eq!(run["outcome"], "finished", "{run}");
    assert_eq!(facts(&run, "mariadb")["flavour"], "MariaDB");
    assert_eq!(facts(&run, "mysql")["flavour"], "MySQL");
    let differs = run["comparison"]["differs"].as_array().unwrap();
    assert!(
        differs.iter().any(|name| name == "flavour" || name.as_str().unwrap().ends_with("more")),
        "{differs:?}"
    );
}

/// The first of these libraries that this machine has.
fn library(names: &[&str]) -> Option<String> {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let found = folders.iter().flat_map(|folder| names.iter().map(move |name| Path::new(folder).join(name)));
    found.into_iter().find(|path| path.exists()).map(|path| path.display().to_string())
}

#[test]
fn allocators_are_loaded_into_the_server_and_named_as_what_differs() {
    let Some(_) = Flavour::MariaDb.program() else { return };
    let Some(library) = library(&["libjemalloc.so.2", "libtcmalloc_minimal.so.4"]) else {
        return skip("jemalloc");
    };
    let place = Place::new("");
    let here = place.path("scratch").display().to_string();
    let targets = scratch("glibc", &here, "")
        + &format!(
            "[target.other]\nlike = \"glibc\"\npreload = \"{library}\"\n[target.none]\nlike = \"glibc\"\npreload = \"libnone.so.1\"\n"
        );
    place.configure(&(targets + &suite("target = [\"glibc\", \"other\", \"none\"]\nthreads = 2")));

    let output = place.run(&["run", "m", "--local", "--output", "json"]);

    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    let file = Path::new(&library).file_name().unwrap().to_str().unwrap().split(".so").next().unwrap();
    assert!(facts(&run, "other")["preload"].as_str().unwrap().contains(file), "{run}");
    assert_eq!(facts(&run, "glibc")["preload"], Value::Null);
    let failed = &run["cases"][2];
    assert_eq!(failed["outcome"], "failed");
    assert!(
        failed["failure"]["message"].as_str().unwrap().contains("was not loaded into the server"),
        "{failed}"
    );
    let differs = run["comparison"]["differs"].as_array().unwrap();
    assert!(differs.iter().any(|name| name == "preload"), "{differs:?}");
}

/// The example, with its two directories in this place.
#[test]
fn the_example_of_two_disks_runs_scaled_down() {
    let Some(_) = Flavour::MariaDb.program() else { return };
    let place = Place::new("");
    let example =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/examples/s3.toml")).unwrap();
    let [ssd, sata] = ["ssd", "sata"].map(|name| place.path(name).display().to_string());
    place.configure(&example.replace("/ssd/benchd", &ssd).replace("/sata/benchd", &sata));

    let run =
        place.json(&["run", "s3", "--local", "--scale", "0.00004", "--rounds", "2", "--output", "json"]);

    assert_eq!((&run["outcome"], run["cases"].as_array().unwrap().len()), (&"finished".into(), 4), "{run}");
    assert_eq!(run["cases"][0]["parameters"]["table_size"], 1_000);
    let table = &run["comparison"];
    assert_eq!((table["differs"].as_array().unwrap().len(), &table["rounds"]), (0, &2.into()), "{table}");
    let verdict = table["cells"][1]["against"]["verdict"].as_str().unwrap();
    assert!(["better", "worse", "same", "unclear"].contains(&verdict), "{table}");
}

/// Follows a run until so many rows are loaded.
fn until_loaded(daemon: &Daemon, id: &str, rows: u64) {
    daemon.each_event(id, |event| event["done"].as_u64().is_none_or(|done| done < rows));
}

#[test]
fn a_load_that_was_killed_goes_on_in_the_next_run() {
    let Some(_) = Flavour::MariaDb.program() else { return };
    let place = Place::new("");
    let own = scratch("own", &place.path("scratch").display().to_string(), "start_timeout = \"2m\"");
    let lines = suite("target = \"own\"\nthreads = 1").replace("table_size = 500", "table_size = 400_000");
    place.configure(&(own + &lines));
    let daemon = place.serve();
    let id = daemon.trigger(r#"{"suite":"m"}"#);
    until_loaded(&daemon, &id, 100_000);
    let worker = children(daemon.pid());
    daemon.signal(Signal::SIGKILL);
    for pid in worker {
        // It may have ended by itself: its daemon is gone.
        let _ =
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGKILL);
    }
    drop(daemon);

    let daemon = place.serve();
    let events = daemon.follow(&daemon.trigger(r#"{"suite":"m"}"#));

    let first = events.iter().find(|event| event["event"] == "progress").unwrap();
    let done = first["done"].as_u64().unwrap();
    assert!((1..400_000).contains(&done), "{first}");
    assert_eq!(events.last().unwrap()["outcome"], "finished", "{events:?}");
    assert!(daemon.end(Signal::SIGTERM).0.success());
}

/// The most memory that a process has had so far, in bytes.
fn peak_memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

#[test]
fn the_memory_of_a_load_does_not_grow_with_its_rows() {
    let Some(_) = Flavour::MariaDb.program() else { return };
    let place = Place::new("");
    let own = scratch(
        "own",
        &place.path("scratch").display().to_string(),
        "start_timeout = \"2m\"\nkeep_data = false",
    );
    let mut peaks = Vec::new();
    for rows in [100_000, 1_000_000] {
        let lines = suite("target = \"own\"\nthreads = 2\nengine = \"myisam\"\ntables = 2")
            .replace("table_size = 500", &format!("table_size = {}", rows / 2));
        place.configure(&(own.clone() + &lines));
        let daemon = place.serve();
        let id = daemon.trigger(r#"{"suite":"m"}"#);
        let mut peak = 0;
        let mut rates = 0;
        daemon.each_event(&id, |event| {
            let found = children(daemon.pid()).into_iter().filter_map(peak_memory).max();
            peak = peak.max(found.unwrap_or(0));
            rates += u32::from(event["per_second"].is_number());
            event["event"] != "interval"
        });
        peaks.push(peak);
        assert!(rates > 0, "progress says how fast");
        assert!(daemon.end(Signal::SIGTERM).0.success());
    }
    assert!(peaks[0] > 0 && peaks[1] < 64 << 20, "{peaks:?}");
    assert!(peaks[1] < peaks[0] + (8 << 20), "{peaks:?}");
}

#[test]
fn progress_is_a_line_with_how_much_how_fast_and_how_long() {
    let Some(_) = Flavour::MariaDb.program() else { return };
    let place = Place::new("");
    let own = scratch("own", &place.path("scratch").display().to_string(), "");
    place.configure(&(own + &suite("target = \"own\"").replace("table_size = 500", "table_size = 20_000")));
    let printed = text(&place, &["run", "m", "--local", "--progress", "lines"]);
    assert!(printed.contains("b prepare 20.0 of 20.0 k rows, "), "{printed}");
    assert!(printed.contains(" rows/s\n"), "{printed}");
}
