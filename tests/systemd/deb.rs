//! The deb in a real systemd: what differs from the RPM is who calls the scriptlets, and how.

use std::fs;

use super::machine::Machine;
use super::package::{Kind, NEWER, Package};
use super::service::{
    CONFIGURATION, MAIN, configure, long_run, nothing_is_left, only_configuration_and_state_are_left, record,
};

#[test]
fn a_deb_starts_nothing_restarts_what_runs_and_leaves_what_is_the_administrators() {
    let Some(machine) = Machine::with(Kind::Deb) else { return };
    // Containers have one that keeps packages from starting and stopping anything.
    machine.must(&["rm", "-f", "/usr/sbin/policy-rc.d"]);
    assert_eq!(machine.property("benchd", "UnitFileState"), "disabled");
    assert_eq!(machine.property("benchd", "ActiveState"), "inactive");
    configure(&machine);
    let mine = fs::read_to_string(machine.outside(MAIN)).unwrap() + "# Mine.\n";
    machine.write(MAIN, &mine);
    machine.must(&["systemctl", "enable", "--now", "benchd"]);
    let id = long_run(&machine);

    machine.install(&Package::newer(Kind::Deb));
    assert_eq!(machine.property("benchd", "ActiveState"), "active");
    assert_eq!(machine.property("benchd", "UnitFileState"), "enabled");
    assert_eq!(machine.must(&["dpkg-query", "--show", "--showformat=${Version}", "benchd"]), NEWER);
    // The link of a process whose file is gone says that.
    let program = format!("/proc/{}/exe", machine.property("benchd", "MainPID"));
    assert_eq!(machine.must(&["readlink", &program]), "/usr/bin/benchd");
    assert_eq!(fs::read_to_string(machine.outside(MAIN)).unwrap(), mine);
    let ended = record(&machine, &id);
    assert_eq!(
        (&ended["outcome"], &ended["failure"]["reason"]),
        (&"aborted".into(), &"stopped".into()),
        "{ended}"
    );

    long_run(&machine);
    machine.must(&["dpkg", "--remove", "benchd"]);
    nothing_is_left(&machine);
    assert_eq!(fs::read_to_string(machine.outside(MAIN)).unwrap(), mine);
    machine.must(&["dpkg", "--purge", "benchd"]);
    assert!(!machine.outside(MAIN).exists());
    assert!(machine.outside(CONFIGURATION).exists());
    only_configuration_and_state_are_left(&machine);
}
