//! The units as text: what systemd makes of them without starting them.

use std::collections::BTreeSet;
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

/// The directives in a text, `Type=` of `Type=notify`.
fn directives(text: &str) -> BTreeSet<&str> {
    let words = text.split('`').filter_map(|word| word.split_once('='));
    words.map(|(name, _)| name).collect()
}

#[test]
fn the_manual_says_since_when_each_directive_is_known_and_which_are_ignored_before() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manual = fs::read_to_string(root.join("docs/systemd.md")).unwrap();
    let versions = manual.split("\nEach directive is known since:\n").nth(1).unwrap();
    let (table, after) = versions.split_once("\nsystemd 239 ").unwrap();
    let ignored = directives(after.split(". Two things follow").next().unwrap());
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let mut known = BTreeSet::new();
    for row in rows {
        let directives = directives(row);
        let since: u32 = row.trim_start_matches("| before ").trim_start_matches("| ")[..3].parse().unwrap();
        for directive in &directives {
            assert_eq!(ignored.contains(directive), since > 239, "{directive}= is known since {since}");
        }
        known.extend(directives);
    }
    for unit in UNITS {
        let text = fs::read_to_string(root.join("systemd").join(unit)).unwrap();
        let lines = text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()));
        for (directive, _) in lines.filter_map(|line| line.split_once('=')) {
            assert!(known.contains(directive), "{unit}: {directive}= is not in the table of docs/systemd.md");
        }
    }
}
