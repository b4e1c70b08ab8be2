//! The RPM or the deb of a program, and a newer one of the same program, made in seconds.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::common::directory;
use super::common::program::words;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// The version of the newer one, as long as the real one: it is put in its place in the program, which differs by it.
pub(crate) const NEWER: &str = "9.9.9";
/// What the newer one says in each file of which the test has to know where it is from.
pub(crate) const MARK: &str = "# Of the newer package.\n";

/// How a package is made and installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Rpm,
    Deb,
}

impl Kind {
    /// The end of its files' names.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Kind::Rpm => "rpm",
            Kind::Deb => "deb",
        }
    }

    /// What installs such a file or upgrades to it, as package managers have it done. The names of what an RPM needs are those of
    /// an Enterprise Linux, and the root filesystems of the tests have little; who changed a file of a deb keeps it.
    pub(crate) const fn installer(self) -> &'static [&'static str] {
        match self {
            Kind::Rpm => &["rpm", "-U", "--nodeps"],
            Kind::Deb => &["dpkg", "--force-depends", "--force-confold", "-i"],
        }
    }
}

/// A package, gone when it is dropped.
pub(crate) struct Package {
    pub(crate) kind: Kind,
    folder: TempDir,
    version: &'static str,
}

impl Package {
    /// The package of this tree with the program that a machine is to have.
    pub(crate) fn new(kind: Kind) -> Package {
        Package::build(kind, Path::new(ROOT), &program(), env!("CARGO_PKG_VERSION"))
    }

    /// One with a raised version, in the program too, and with another configuration file and another unit.
    pub(crate) fn newer(kind: Kind) -> Package {
        let old = env!("CARGO_PKG_VERSION");
        assert_eq!(old.len(), NEWER.len());
        let tree = directory();
        let carried = ["packaging", "systemd", "docs", "grafana", "README.md", "CHANGELOG.md", "LICENSE"];
        // Of which the list of licences is made.
        let built_from = ["Cargo.toml", "Cargo.lock", "src", "benches"];
        let copied = Command::new("cp")
            .arg("-r")
            .args(carried.iter().chain(&built_from).map(|part| Path::new(ROOT).join(part)))
            .arg(tree.path())
            .output()
            .unwrap();
        assert!(copied.status.success(), "{}", words(&copied));
        let change = |file: &str, change: &dyn Fn(String) -> String| {
            let path = tree.path().join(file);
            fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
        };
        change("packaging/benchd.spec", &|spec| spec.replacen(old, NEWER, 1));
        for file in ["packaging/benchd.toml", "systemd/benchd.service"] {
            change(file, &|text| MARK.to_owned() + &text);
        }
        let program = renamed(fs::read(program()).unwrap(), old.as_bytes(), NEWER.as_bytes());
        let path = tree.path().join("benchd");
        fs::write(&path, program).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Package::build(kind, tree.path(), &path, NEWER)
    }

    fn build(kind: Kind, tree: &Path, program: &Path, version: &'static str) -> Package {
        let folder = directory();
        let output = Command::new(tree.join("packaging/build"))
            .arg(kind.name())
            .arg(folder.path())
            .arg(program)
            .envs([("BENCHD_PAYLOAD", "w0.ufdio"), ("SOURCE_DATE_EPOCH", "1")])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", words(&output));
        Package { kind, folder, version }
    }

    /// The package itself, without those for Grafana and Prometheus.
    pub(crate) fn file(&self) -> PathBuf {
        let start = match self.kind {
            Kind::Rpm => format!("benchd-{}-", self.version),
            Kind::Deb => format!("benchd_{}_", self.version),
        };
        let all = fs::read_dir(self.folder.path()).unwrap().flatten();
        let is = |entry: &fs::DirEntry| entry.file_name().to_str().unwrap().starts_with(&start);
        all.into_iter().find(is).unwrap().path()
    }
}

/// The program under test, unless a machine is too old for what it is linked with.
fn program() -> PathBuf {
    std::env::var_os("BENCHD_MACHINE_PROGRAM")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_benchd")), PathBuf::from)
}

/// A file with every occurrence of some bytes replaced.
fn renamed(mut file: Vec<u8>, old: &[u8], new: &[u8]) -> Vec<u8> {
    let places: Vec<usize> =
        (0..file.len() - old.len()).filter(|place| file[*place..].starts_with(old)).collect();
    for place in places {
        file[place..place + new.len()].copy_from_slice(new);
    }
    file
}
