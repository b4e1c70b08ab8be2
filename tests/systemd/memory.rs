//! Whom the kernel ends when a machine has no memory left.

use serde_json::Value;

use super::common::program::words;
use super::machine::Machine;

const MIB: u64 = 1 << 20;
/// What a machine has left beside its database, and what the load and others then ask for.
const LEFT: u64 = 192 * MIB;
const SUITE: &str = r#"
[suite.s]
profile = "lab"
[[suite.s.benchmark]]
workload = "memory"
mode = "native"
size = "512MiB"
threads = 1
warm_up = "0s"
time = "300ms"
[[suite.s.benchmark]]
workload = "cpu"
threads = 1
warm_up = "0s"
time = "300ms"
"#;
/// Has the database keep so many bytes in its memory.
fn fill(machine: &Machine, bytes: u64) {
    let rows = bytes / 256;
    machine.sql(&format!(
        "CREATE TABLE mysql.held (text CHAR(255) CHARACTER SET latin1) ENGINE=MEMORY AS SELECT REPEAT('x', 255) text \
         FROM mysql.seq_1_to_{rows}"
    ));
}

fn outcome(record: &Value, case: usize) -> &Value {
    &record["cases"][case]["outcome"]
}

#[test]
fn the_load_goes_first_then_the_daemon_and_never_a_database_that_holds_most() {
    let Some(machine) = Machine::start() else { return };
    machine.write("/etc/benchd/conf.d/test.toml", SUITE);
    machine.start_service();
    machine.start_database();
    fill(&machine, machine.memory() + 2 * LEFT);
    machine.limit_memory(machine.memory() + LEFT);
    let server = machine.property("database", "MainPID");
    let daemon = machine.property("benchd", "MainPID");

    let run = machine.run_as("alice", &["/usr/bin/benchd", "run", "s"]);
    assert_eq!(run.status.code(), Some(1), "{}\n{}", words(&run), machine.journal());
    let record = machine.json(&["show", "s"]);
    assert_eq!(
        (outcome(&record, 0), outcome(&record, 1)),
        (&"failed".into(), &"finished".into()),
        "{record}"
    );
    assert_eq!(machine.property("benchd", "MainPID"), daemon, "the daemon went with its load");
    assert_eq!(machine.property("database", "MainPID"), server, "the database went with a load");

    // What cannot be ended takes the rest, and gives it back as soon as the kernel has ended anything, again and again
    // until the one or the other is gone: who is ended needs a CPU to be gone, and if the rest were taken until then
    // the next one's turn would come.
    let greedy = format!(
        "holds() {{ read -r pages rest </proc/$1/statm && [ \"$pages\" != 0 ]; }}
         both() {{ holds {daemon} && holds {server}; }}
         ended() {{ while read -r name count; do [ $name != oom_kill ] || echo $count; done </proc/vmstat; }}
         take() {{ while both && [ $(ended) = $1 ]; do head -c 256K /dev/zero; done | tail; }}
         while both; do take $(ended); done"
    );
    machine.must(&[
        "systemd-run",
        "--quiet",
        "--unit=greedy",
        "--property=OOMScoreAdjust=-1000",
        "--property=StandardOutput=null",
        "bash",
        "-c",
        &greedy,
    ]);
    machine.wait_for("greedy", "ActiveState", "inactive");
    machine.wait_until("the daemon is there again", || {
        let now = machine.property("benchd", "MainPID");
        machine.property("benchd", "ActiveState") == "active" && now != "0" && now != daemon
    });
    assert_eq!(machine.property("database", "MainPID"), server, "{}", machine.journal());
    assert_eq!(machine.property("database", "ActiveState"), "active");
}
