//! Who may import whom, how long a file may be, and that the tables of workloads and guards are documented.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use benchd::run::guards;
use benchd::workloads;

/// Production lines a file may have.
const LONGEST_FILE: usize = 400;

/// Each module with those it may import: all of them stand above it, so there is no circle.
const LAYERS: &[(&str, &str)] = &[
    ("exit", ""),
    ("system", ""),
    ("journal", ""),
    ("text", ""),
    ("units", ""),
    ("process", "units"),
    ("record", "units"),
    ("config", "record units"),
    ("sample", "units"),
    ("inventory", "text units"),
    ("store", "record text units"),
    ("schedule", "units"),
    ("analysis", "record text"),
    ("driver", "record units system"),
    ("target", "process record system units"),
    ("observe", "config sample target text units"),
    ("workloads", "config driver record system target units"),
    (
        "run",
        "analysis config driver journal observe process record sample schedule store system target text units workloads",
    ),
    ("export", "analysis inventory observe record run sample store text units"),
    (
        "http",
        "analysis config export inventory journal observe record run sample schedule store text units workloads",
    ),
    (
        "daemon",
        "config exit export http inventory journal observe record run sample schedule store target text units workloads",
    ),
    (
        "cli",
        "analysis config daemon exit http inventory journal record run store target text units workloads",
    ),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// Every source file with its top-level module and its text without tests.
fn production() -> Vec<(PathBuf, String, String)> {
    let source = root().join("src");
    let mut files = Vec::new();
    sources(&source, &mut files);
    files
        .into_iter()
        .map(|path| {
            let relative = path.strip_prefix(&source).unwrap();
            let module = relative.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap();
            let production = text.split("#[cfg(test)]\nmod ").next().unwrap().to_owned();
            (path, module.trim_end_matches(".rs").to_owned(), production)
        })
        .collect()
}

/// The top-level modules a text names by `crate::`.
fn imports(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| line.split("crate::").skip(1))
        .map(|rest| rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect::<String>())
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn modules_import_only_those_below_them() {
    let allowed: BTreeMap<&str, &str> = LAYERS.iter().copied().collect();
    for (path, module, text) in production() {
        if module == "lib" || module == "main" {
            continue;
        }
        let may = allowed.get(module.as_str()).unwrap_or_else(|| panic!("{module} has no row in LAYERS"));
        for import in imports(&text).into_iter().filter(|import| *import != module) {
            assert!(may.split(' ').any(|name| name == import), "{} imports {import}", path.display());
        }
    }
}

#[test]
fn no_module_imports_one_that_stands_below_it_in_the_table() {
    for (place, (module, imports)) in LAYERS.iter().enumerate() {
        for import in imports.split_whitespace() {
            let above = LAYERS.iter().position(|(name, _)| *name == import).unwrap();
            assert!(above < place, "{module} may not import {import}");
        }
    }
}

#[test]
fn files_are_short_enough_to_be_read_at_once() {
    for (path, _, text) in production() {
        let lines = text.lines().count();
        assert!(lines <= LONGEST_FILE, "{} has {lines} production lines", path.display());
    }
}

#[test]
fn only_one_module_holds_unsafe_code_and_only_main_ends_the_process() {
    for (path, module, text) in production() {
        let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let is_unsafe = ["unsafe {", "unsafe fn", "unsafe impl"].iter().any(|word| code.contains(word));
        assert!(!is_unsafe || module == "system", "{} holds unsafe code", path.display());
        assert!(!code.contains("process::exit") && !code.contains("process::abort"), "{}", path.display());
    }
}

#[test]
fn every_workload_is_described_where_people_look_for_it() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let pages: String = fs::read_dir(root().join("docs/workloads"))
        .unwrap()
        .map(|page| fs::read_to_string(page.unwrap().path()).unwrap())
        .collect();
    for kind in workloads::ALL {
        assert!(readme.contains(&format!("| `{}` |", kind.name)), "README has no row for {}", kind.name);
        let heading = |line: &&str| line.starts_with("# ") && line.contains(kind.name);
        assert!(pages.lines().any(|line| heading(&line)), "docs/workloads has no page for {}", kind.name);
        for key in kind.keys.iter().copied().flatten() {
            assert!(
                pages.contains(&format!("`{}`", key.name)),
                "{} is not explained for {}",
                key.name,
                kind.name
            );
        }
    }
}

#[test]
fn every_guard_is_described_in_the_readme() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for guard in guards::ALL {
        assert!(readme.contains(&format!("| `{}` |", guard.name)), "README has no row for {}", guard.name);
    }
}
