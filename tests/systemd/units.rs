//! The units as text: what systemd makes of them without starting them.

use std::fs;
use std::path::Path;
use std::process::Command;

/// `systemd-analyze` on a unit whose program this machine has.
fn analyze(arguments: &[&str], unit: &str) -> (bool, String) {
    let place = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd")).unwrap().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap();
        let text = text.replace("/usr/bin/benchd", env!("CARGO_BIN_EXE_benchd"));
        fs::write(place.path().join(entry.file_name()), text).unwrap();
    }
    let output =
        Command::new("systemd-analyze").args(arguments).arg(place.path().join(unit)).output().unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stderr),
        if output.status.success() {
            String::new()
        } else {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
    );
    (output.status.success(), said)
}

const UNITS: [&str; 6] = [
    "benchd.service",
    "benchd-worker.socket",
    "benchd-worker@.service",
    "benchd.slice",
    "benchd-smart.service",
    "benchd-smart.timer",
];

#[test]
fn units_hold_nothing_that_systemd_does_not_know() {
    for unit in UNITS {
        // It succeeds on keys it does not know, and says so.
        assert_eq!(analyze(&["verify", "--man=no"], unit), (true, String::new()), "{unit}");
    }
}

#[test]
fn what_the_units_may_do_is_little() {
    for (unit, most) in [("benchd.service", "15"), ("benchd-worker@.service", "18")] {
        let threshold = format!("--threshold={most}");
        let (held, said) = analyze(&["security", "--offline=true", "--no-pager", &threshold], unit);
        assert!(held, "{unit}: exposure beyond {most} tenths\n{said}");
    }
}
