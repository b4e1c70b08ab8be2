//! The packages benchd is built from: their licences, their versions, their number.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::process::Command;
use std::vec::IntoIter;

use serde::Deserialize;

/// Licences that a binary under Apache-2.0 may carry without any further duty than to name them.
const LICENCES: [&str; 10] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Packages that may be there in several versions, and why.
const SEVERAL_VERSIONS: [(&str, &str); 5] = [
    ("cpufeatures", "0.2 for the digests and curve25519 of mysql_common, 0.3 for chacha20 of rand 0.10"),
    ("getrandom", "0.2 and 0.3 for the random numbers of mysql_common, 0.4 for uuid and tempfile"),
    ("rand", "0.9 for mysql_common, 0.10 for mysql_async of the same release"),
    ("rand_core", "0.6 for ed25519-dalek, 0.9 and 0.10 for the two versions of rand"),
    ("syn", "in macros at build time only: 2 for most, 3 for serde_derive and others that went ahead"),
];

/// Direct dependencies of the program stay at or below this (DESIGN, dependencies).
const MOST_DIRECT: usize = 37;

/// One package as cargo describes it.
#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev` or `build`; none for what the program itself is made of.
    kind: Option<String>,
}

/// Every package that a build for this machine's Linux takes, tests included.
fn packages() -> anyhow::Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", &platform])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice::<Metadata>(&output.stdout)?.packages)
}

/// Whether an SPDX expression can be met with the licences of the list. AND binds closer than OR; `/` is the OR
/// of older packages; `A WITH B` is a licence of its own.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<String> = spaced.split_whitespace().map(str::to_owned).collect();
    let mut words = words.into_iter().peekable();
    any_of(&mut words) && words.next().is_none()
}

type Words = Peekable<IntoIter<String>>;

fn any_of(words: &mut Words) -> bool {
    let mut allowed = all_of(words);
    while words.next_if(|word| word == "OR").is_some() {
        allowed |= all_of(words);
    }
    allowed
}

fn all_of(words: &mut Words) -> bool {
    let mut allowed = one(words);
    while words.next_if(|word| word == "AND").is_some() {
        allowed &= one(words);
    }
    allowed
}

fn one(words: &mut Words) -> bool {
    match words.next() {
        Some(word) if word == "(" => any_of(words) & (words.next().as_deref() == Some(")")),
        Some(licence) if words.next_if(|word| word == "WITH").is_some() => {
            let exception = words.next().unwrap_or_default();
            LICENCES.contains(&format!("{licence} WITH {exception}").as_str())
        }
        Some(licence) => LICENCES.contains(&licence.as_str()),
        None => false,
    }
}

#[test]
fn expressions_of_licences_are_understood() {
    for allowed in [
        "MIT",
        "GPL-3.0 OR MIT",
        "MIT/GPL-3.0",
        "(MIT OR GPL-3.0) AND Unicode-3.0",
        "GPL-3.0 AND MIT OR ISC",
        "Apache-2.0 WITH LLVM-exception OR MIT",
    ] {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for refused in
        ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-3.0", "Apache-2.0 WITH X", "MIT MIT", "(MIT"]
    {
        assert!(!is_allowed(refused), "{refused}");
    }
}

#[test]
fn every_package_has_a_licence_of_the_list() {
    let refused: Vec<String> = packages()
        .unwrap()
        .into_iter()
        .map(|package| (package.license.unwrap_or_else(|| "none stated".to_owned()), package.name))
        .filter(|(licence, _)| !is_allowed(licence))
        .map(|(licence, name)| format!("{name}: {licence}"))
        .collect();
    assert!(refused.is_empty(), "licences outside the list: {refused:#?}");
}

#[test]
fn a_package_is_there_in_one_version_or_has_a_reason() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages().unwrap() {
        versions.entry(package.name).or_default().insert(package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let reasons = BTreeMap::from(SEVERAL_VERSIONS);
    let without_reason: Vec<_> =
        versions.iter().filter(|(name, _)| !reasons.contains_key(name.as_str())).collect();
    assert!(
        without_reason.is_empty(),
        "in several versions without a reason in the list: {without_reason:#?}"
    );
    let stale: Vec<_> = reasons.keys().filter(|name| !versions.contains_key(**name)).collect();
    assert!(stale.is_empty(), "in one version only, to be taken from the list: {stale:?}");
}

#[test]
fn the_number_of_direct_dependencies_stays_small() {
    let packages = packages().unwrap();
    let benchd = packages.iter().find(|package| package.name == "benchd").unwrap();
    let shipped = benchd.dependencies.iter().filter(|one| one.kind.is_none());
    let direct: BTreeSet<&str> = shipped.map(|one| one.name.as_str()).collect();
    assert!(direct.contains("serde_json"), "the list was read");
    assert!(direct.len() <= MOST_DIRECT, "{} direct dependencies: {direct:?}", direct.len());
}
