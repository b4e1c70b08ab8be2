//! benchd as a service of a real systemd, from the first start to what is left when it is gone.
#![allow(clippy::print_stderr, reason = "a start says how long it took")]

use std::fs;
use std::time::Instant;

use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use serde_json::Value;

use super::common::program::words;
use super::machine::{Machine, series};
use super::package::{Kind, MARK, NEWER, Package};

/// Loads of every kind that leave the daemon's sandbox: memory, files and a server in directories that are not its own.
const SUITE: &str = r#"
[target.elsewhere]
kind = "scratch"
directory = "/srv/ssd/benchd"

[target.files]
kind = "directory"
path = "/srv/files"

[suite.s]
profile = "lab"
[[suite.s.benchmark]]
workload = "cpu"
threads = 1
warm_up = "0s"
time = "300ms"
[[suite.s.benchmark]]
workload = "memory"
threads = 1
warm_up = "0s"
time = "300ms"
[[suite.s.benchmark]]
workload = "fileio"
target = "files"
files = 2
total = "4MiB"
warm_up = "0s"
time = "300ms"
[[suite.s.benchmark]]
name = "uring"
workload = "fileio"
mode = "native"
io = "uring"
depth = 4
target = "files"
files = 1
total = "4MiB"
warm_up = "0s"
time = "300ms"
[[suite.s.benchmark]]
workload = "oltp_read_write"
target = "elsewhere"
threads = 2
tables = 1
table_size = 1000
warm_up = "0s"
time = "500ms"

[suite.long]
profile = "lab"
[[suite.long.benchmark]]
workload = "oltp_point_select"
target = "elsewhere"
tables = 1
table_size = 1000
warm_up = "0s"
time = "1h"
"#;

/// The file that the package brings, and one that an administrator wrote.
pub(super) const MAIN: &str = "/etc/benchd/benchd.toml";
pub(super) const CONFIGURATION: &str = "/etc/benchd/conf.d/test.toml";

fn configured() -> Option<Machine> {
    let machine = Machine::start()?;
    configure(&machine);
    machine.start_service();
    Some(machine)
}

pub(super) fn configure(machine: &Machine) {
    machine.make_directory("/srv/ssd");
    machine.make_directory("/srv/files");
    machine.write(CONFIGURATION, SUITE);
}

/// Starts the suite that goes on and on, and waits until its load is measured.
pub(super) fn long_run(machine: &Machine) -> String {
    let id = machine.json(&["run", "long", "--detach"])["id"].as_str().unwrap().to_owned();
    machine.wait_until("the load is measured", || machine.json(&["status"])["active"]["stage"] == "measure");
    id
}

pub(super) fn record(machine: &Machine, id: &str) -> Value {
    machine.json(&["show", id])
}

/// No worker, no server, and nothing of them in the directory that is not the daemon's.
pub(super) fn nothing_is_left(machine: &Machine) {
    machine.wait_until("the units of workers are gone", || {
        machine.must(&["systemctl", "list-units", "--all", "--no-legend", "benchd-worker@*"]).is_empty()
    });
    let home = fs::read_dir(machine.outside("/srv/ssd/benchd/elsewhere")).unwrap().flatten();
    let mut names: Vec<String> = home.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, [".benchd", "data"]);
}

#[test]
fn with_nothing_configured_it_starts_and_exports_what_it_exports_outside_of_its_sandbox() {
    let Some(machine) = Machine::start() else { return };
    machine.must(&["rm", "-r", "/etc/benchd"]);
    for path in ["/var/lib/benchd", "/run/benchd"] {
        assert!(!machine.outside(path).exists(), "{path}");
    }
    let began = Instant::now();
    machine.start_service();
    eprintln!("systemctl start took {:.0} ms", began.elapsed().as_secs_f64() * 1e3);
    machine.wait_for("benchd", "StatusText", "nothing is scheduled");
    for (unit, most) in [("benchd.service", 1.5), ("benchd-worker@1.service", 1.8)] {
        let verified = machine.run(&["systemd-analyze", "verify", "--man=no", unit]);
        let said = words(&verified);
        assert!(verified.status.success() && !said.contains("benchd"), "{said}");
        let said = machine.must(&["systemd-analyze", "security", "--no-pager", unit]);
        let line = said.lines().find(|line| line.contains("Overall exposure level")).unwrap();
        let level: f64 = line.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
        assert!(level <= most, "{line}");
    }
    machine.start_outside("");
    let missing = || -> Vec<String> {
        let (outside, inside) = (series(&machine.metrics(10105)), series(&machine.metrics(10104)));
        assert!(outside.len() > 100, "{outside:?}");
        outside.difference(&inside).cloned().collect()
    };
    // Some come with the second sample, others with the first look at the hardware.
    machine.wait_until("both have all", || {
        let missing = missing();
        if !missing.is_empty() {
            eprintln!("not seen inside the sandbox: {missing:?}");
        }
        missing.is_empty()
    });
}

#[test]
fn a_member_of_its_group_runs_every_kind_of_load_and_an_outsider_none() {
    let Some(machine) = configured() else { return };
    let refused = machine.run_as("mallory", &["/usr/bin/benchd", "run", "s"]);
    assert!(
        !refused.status.success() && words(&refused).contains("/run/benchd/benchd.sock"),
        "{}",
        words(&refused)
    );
    assert!(
        machine.run_as("mallory", &["/usr/bin/test", "-w", "/run/benchd-worker.sock"]).status.code()
            == Some(1)
    );
    assert!(
        machine.run_as("alice", &["/usr/bin/test", "-w", "/run/benchd-worker.sock"]).status.code() == Some(1)
    );
    // Whoever plans need not be who may write.
    let plan = machine.run_as("alice", &["/usr/bin/benchd", "plan", "s"]);
    assert!(plan.status.success(), "{}", words(&plan));
    let run = machine.run_as("alice", &["/usr/bin/benchd", "run", "s"]);
    assert!(run.status.success(), "{}\n{}", words(&run), machine.journal());
    let record = record(&machine, "s");
    let cases = record["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 5, "{record}");
    assert!(cases.iter().all(|case| case["outcome"] == "finished"), "{record}");
    assert_eq!(cases[0]["limits"]["oom_score_adj"], "1000", "{record}");
    the_load_had_a_group_of_its_own(&machine, cases);
    // The kernel does not tell the sandbox who else has an account.
    assert_eq!(record["by"], "socket", "{record}");
    nothing_is_left(&machine);
    let long = long_run(&machine);
    let unit = machine.must(&["systemctl", "list-units", "--no-legend", "--plain", "benchd-worker@*"]);
    let unit = unit.split(' ').next().unwrap();
    assert_eq!(machine.property(unit, "Slice"), "benchd.slice");
    let groups = machine.must(&[
        "sh",
        "-c",
        &format!("cd /sys/fs/cgroup/benchd.slice/{unit} && grep -c . cgroup.procs */cgroup.procs || :"),
    ]);
    assert_eq!(groups, "cgroup.procs:0\nload/cgroup.procs:1\nserver/cgroup.procs:1\nworker/cgroup.procs:1");
    let scores = machine.must(&[
        "sh", "-c",
        "for pid in $(cd /proc && find [0-9]* -maxdepth 0 -user benchd); do echo $(cat /proc/$pid/comm) $(cat /proc/$pid/oom_score_adj); done | sort -u",
    ]);
    assert_eq!(scores, "benchd 1000\nbenchd 950\nexe 1000\nmariadbd 1000");
    machine.must(&["systemctl", "kill", "--signal=KILL", "--kill-who=main", unit]);
    machine.wait_until("the run has an end", || machine.json(&["status"])["active"].is_null());
    assert_eq!(self::record(&machine, &long)["outcome"], "failed");
    nothing_is_left(&machine);
}

/// What the kernel of this machine can give to a group is held to, and what it cannot is said.
fn the_load_had_a_group_of_its_own(machine: &Machine, cases: &[Value]) {
    let given = machine.must(&["cat", "/sys/fs/cgroup/cgroup.controllers"]);
    let has = |controller: &str| given.split(' ').any(|name| name == controller);
    let memory = |value: &str| match has("memory") {
        true => value.to_owned(),
        false => format!("not applied ({value}): memory is not accounted for /benchd.slice/benchd-worker@"),
    };
    for (case, limit, value) in [
        (0, "memory_max", "4GiB"),
        (1, "memory_max", "4GiB and 1KiB it fills"),
        (4, "server_memory_max", "1152MiB"),
    ] {
        let stamp = cases[case]["limits"][limit].as_str().unwrap();
        assert!(stamp.starts_with(&memory(value)), "{stamp}");
    }
    let weight = if has("cpu") { "100" } else { "not applied (100): benchd.slice has no cpu.weight" };
    assert_eq!(cases[0]["limits"]["cpu_weight"], weight);
}

#[test]
fn it_reloads_survives_its_death_and_is_started_anew_when_a_part_stands_still() {
    let Some(machine) = configured() else { return };
    machine.write(CONFIGURATION, &SUITE.replace("[suite.long]", "[suite.long]\nschedule = \"0 3 1 1 *\""));
    machine.must(&["systemctl", "reload", "benchd"]);
    machine.wait_until("the next run is known", || {
        machine.property("benchd", "StatusText").starts_with("next run long ")
    });
    machine.write(CONFIGURATION, "[suite.long]\nschedul = \"0 3 1 1 *\"");
    machine.must(&["systemctl", "reload", "benchd"]);
    machine.wait_until("the refusal is known", || machine.journal().contains("configuration not changed"));
    machine.wait_for("benchd", "ActiveState", "active");
    machine.write(CONFIGURATION, SUITE);
    machine.must(&["systemctl", "reload", "benchd"]);
    let id = long_run(&machine);
    machine.wait_until("the manager is told what runs", || {
        machine.property("benchd", "StatusText") == "running long: case 1 of 1, oltp_point_select"
    });
    machine.must(&["systemctl", "kill", "--signal=KILL", "benchd"]);
    machine.wait_for("benchd", "NRestarts", "1");
    machine.wait_for("benchd", "ActiveState", "active");
    let record = record(&machine, &id);
    assert_eq!(
        (&record["outcome"], &record["failure"]["reason"]),
        (&"aborted".into(), &"crash".into()),
        "{record}"
    );
    nothing_is_left(&machine);

    machine.write("/etc/systemd/system/benchd.service.d/test.conf", "[Service]\nWatchdogSec=3s\n");
    machine.must(&["systemctl", "daemon-reload"]);
    machine.must(&["systemctl", "restart", "benchd"]);
    let daemon = machine.daemon();
    let tasks = fs::read_dir(format!("/proc/{daemon}/task")).unwrap().flatten();
    let is_sampler = |task: &fs::DirEntry| {
        fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.trim() == "sampler")
    };
    let sampler = tasks.into_iter().find(is_sampler).unwrap().file_name();
    let sampler = Pid::from_raw(sampler.to_str().unwrap().parse().unwrap());
    ptrace::attach(sampler).unwrap();
    waitpid(sampler, Some(WaitPidFlag::__WALL)).unwrap();
    machine.wait_until("the watchdog bites", || machine.journal().contains("Watchdog timeout"));
    // Who holds a thread has to let it go when it is ended, or its process stays.
    waitpid(sampler, Some(WaitPidFlag::__WALL)).unwrap();
    machine.wait_until("it is there again", || {
        machine.property("benchd", "ActiveState") == "active"
            && machine.property("benchd", "MainPID").parse::<u32>().is_ok_and(|pid| pid != 0)
            && machine.daemon() != daemon
    });
    assert!(machine.journal().contains("no answer within 0.5 s from: sampler"), "{}", machine.journal());
}

#[test]
fn the_health_of_disks_is_what_the_timer_leaves_of_each_and_nobody_asks_without_it() {
    let Some(machine) = Machine::start() else { return };
    machine
        .write("/usr/sbin/smartctl", "#!/bin/sh\necho '{\"smart_status\": {\"passed\": true}}'\nexit 64\n");
    machine.must(&["chmod", "755", "/usr/sbin/smartctl"]);
    assert_eq!(machine.property("benchd-smart.timer", "UnitFileState"), "disabled");
    machine.must(&["test", "!", "-e", "/run/benchd-smart"]);
    machine.must(&["systemctl", "enable", "--now", "benchd-smart.timer"]);
    machine.must(&["systemctl", "start", "benchd-smart.service"]);
    let disks =
        machine.must(&["sh", "-c", "cd /sys/block; for one in */device; do echo ${one%/device}; done"]);
    let answers =
        machine.must(&["sh", "-c", "cd /run/benchd-smart; for one in *; do echo ${one%.json}; done"]);
    assert_eq!(answers, disks);
    machine.start_service();
    let healthy = |disk: &str| format!("benchd_host_disk_healthy{{device=\"{disk}\"}} 1\n");
    machine.wait_until("all disks are healthy", || {
        let metrics = machine.metrics(10104);
        disks.lines().all(|disk| metrics.contains(&healthy(disk)))
    });
    machine.must(&["rpm", "-e", "benchd"]);
    assert_eq!(machine.property("benchd-smart.timer", "ActiveState"), "inactive");
    assert!(!machine.outside("/etc/systemd/system/timers.target.wants/benchd-smart.timer").is_symlink());
    machine.must(&["test", "!", "-e", "/run/benchd-smart"]);
}

#[test]
fn an_upgrade_with_a_run_under_way_keeps_what_there_was_and_a_removal_leaves_configuration_and_state() {
    let Some(machine) = configured() else { return };
    // Configuration, schedule and history of a host that is used.
    machine.write(CONFIGURATION, &SUITE.replace("[suite.long]", "[suite.long]\nschedule = \"0 3 1 1 *\""));
    let mine = fs::read_to_string(machine.outside(MAIN)).unwrap() + "# Mine.\n";
    machine.write(MAIN, &mine);
    machine.must(&["systemctl", "enable", "benchd"]);
    machine.must(&["systemctl", "reload", "benchd"]);
    let next = || machine.property("benchd", "StatusText");
    machine.wait_until("the next run is known", || next().starts_with("next run long "));
    let scheduled = next();
    machine.json(&["run", "s", "--detach"]);
    machine.wait_until("the first run has ended", || machine.json(&["status"])["active"].is_null());
    let first = record(&machine, "s");
    let id = long_run(&machine);

    machine.install(&Package::newer(Kind::Rpm));
    assert_eq!(machine.property("benchd", "ActiveState"), "active");
    assert_eq!(machine.property("benchd", "NeedDaemonReload"), "no");
    assert!(machine.must(&["systemctl", "cat", "benchd"]).contains(MARK), "the unit is not the newer one");
    assert_eq!(machine.must(&["rpm", "-q", "--qf", "%{VERSION}", "benchd"]), NEWER);
    // The link of a process whose file is gone says that.
    let program = format!("/proc/{}/exe", machine.property("benchd", "MainPID"));
    assert_eq!(machine.must(&["readlink", &program]), "/usr/bin/benchd");
    assert_eq!(fs::read_to_string(machine.outside(MAIN)).unwrap(), mine);
    assert!(fs::read_to_string(machine.outside(&format!("{MAIN}.rpmnew"))).unwrap().starts_with(MARK));
    machine.wait_until("the next run is known again", || next() == scheduled);
    assert_eq!(machine.property("benchd", "UnitFileState"), "enabled");
    let ended = record(&machine, &id);
    assert_eq!(
        (&ended["outcome"], &ended["failure"]["reason"]),
        (&"aborted".into(), &"stopped".into()),
        "{ended}"
    );
    nothing_is_left(&machine);
    assert_eq!(record(&machine, first["id"].as_str().unwrap()), first);
    assert_eq!(machine.json(&["list"])["runs"].as_array().unwrap().len(), 2);
    let run = machine.run_as("alice", &["/usr/bin/benchd", "run", "s"]);
    assert!(run.status.success(), "{}\n{}", words(&run), machine.journal());

    long_run(&machine);
    machine.must(&["rpm", "-e", "benchd"]);
    nothing_is_left(&machine);
    only_configuration_and_state_are_left(&machine);
    assert_eq!(fs::read_to_string(machine.outside(&format!("{MAIN}.rpmsave"))).unwrap(), mine);
}

/// What is there when the package is not any more.
pub(super) fn only_configuration_and_state_are_left(machine: &Machine) {
    assert!(!machine.has_processes());
    assert_eq!(machine.must(&["systemctl", "list-units", "--all", "--no-legend", "benchd*"]), "");
    for path in ["/run/benchd", "/run/benchd-worker.sock"] {
        assert!(!machine.outside(path).exists(), "{path}");
    }
    let ours = machine.paths().into_iter().filter_map(|path| path.into_os_string().into_string().ok());
    let ours: Vec<String> = ours.filter(|path| path.contains("benchd")).collect();
    assert!(ours.iter().any(|path| path == CONFIGURATION), "{ours:?}");
    let left: Vec<&String> = ours.iter().filter(|path| !is_kept(path)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(machine.outside("/var/lib/benchd/benchd.db").exists());
}

/// Whether a path is configuration or state, which outlive the package.
fn is_kept(path: &str) -> bool {
    let state = path.strip_prefix("/var/lib/benchd/").unwrap_or_default();
    ["/etc/benchd", "/etc/benchd/conf.d", CONFIGURATION, "/var/lib/benchd"].contains(&path)
        || path.strip_prefix(MAIN).is_some_and(|end| [".rpmnew", ".rpmsave"].contains(&end))
        || state.starts_with("benchd.db")
        || ["benchd.lock", "scratch.json"].contains(&state)
        // The directory of a target of the suite, which is the administrator's.
        || path.starts_with("/srv/")
}
