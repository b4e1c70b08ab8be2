//! A server that exists, let in and loaded under the units as installed, by the lines of docs/operations.md.

#![allow(clippy::print_stderr, reason = "what is not seen is said")]

use std::fs;
use std::path::Path;

use super::common::program::words;
use super::machine::{Machine, series};

/// The first block of a kind after a heading of the manual.
fn block(heading: &str, kind: &str) -> String {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations.md");
    let manual = fs::read_to_string(manual).unwrap();
    let section = manual.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let block = section.split(&format!("```{kind}\n")).nth(1).unwrap();
    block.split("```").next().unwrap().to_owned()
}

#[test]
fn a_server_is_let_in_observed_and_loaded_as_the_manual_says() {
    let Some(machine) = Machine::start() else { return };
    machine.start_database();
    machine.start_service();
    let pipe = |command: &str| machine.must(&["bash", "-ec", &format!("set -o pipefail; {command}")]);
    let socket = "/var/lib/mysql/mysql.sock";
    let client = format!("mariadb --no-defaults --socket={socket}");
    pipe(&format!("benchd grants {socket} | {client}"));

    let written = block("Let it into the database", "toml");
    let quick = written.replace("time = \"60s\"", "time = \"1s\"\nwarm_up = \"0s\"");
    assert_ne!(quick, written, "the suite of the manual is measured for a minute");
    machine.write("/etc/benchd/conf.d/main.toml", &quick);
    machine.must(&["benchd", "check"]);
    machine.must(&["systemctl", "reload", "benchd"]);
    // Outside of the suite's window it says that a guard does not hold.
    let planned = machine.run(&["benchd", "plan", "db"]);
    assert!(words(&planned).contains("database_writes  allowed on main"), "{}", words(&planned));
    machine.must(&[
        "setpriv",
        "--reuid=benchd",
        "--regid=benchd",
        "--init-groups",
        "benchd",
        "grants",
        "main",
        "--check",
    ]);
    let run = machine.run(&["benchd", "run", "db", "--override", "window"]);
    assert!(run.status.success(), "{}\n{}", words(&run), machine.journal());
    let record = machine.json(&["show", "db"]);
    assert_eq!(record["cases"][0]["outcome"], "finished", "{record}");

    // Outside of the sandbox another daemon, with the same target, sees the same of it.
    machine.start_outside(&quick);
    machine.wait_until("what is seen of the server is the same", || {
        let of_server = |port| -> Vec<String> {
            let all = series(&machine.metrics(port)).into_iter();
            all.filter(|one| one.contains("target=\"main\"") && !one.contains("suite=")).collect()
        };
        let (outside, inside) = (of_server(10105), of_server(10104));
        let missing: Vec<&String> = outside.iter().filter(|one| !inside.contains(one)).collect();
        eprintln!("{} seen outside of the sandbox, not seen inside: {missing:?}", outside.len());
        outside.len() > 40 && missing.is_empty()
    });

    pipe(&format!("benchd grants main --revoke | {client}"));
    assert_eq!(machine.sql("SELECT COUNT(*) FROM mysql.global_priv WHERE user = 'benchd'"), "0");
}
