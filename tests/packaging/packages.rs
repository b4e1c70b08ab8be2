//! The packages, made of the program that the tests use: what is in them, whose it is, what they run when they are
//! installed, upgraded and removed, and that two builds are the same bytes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use super::common::program::words;
use super::common::{directory, script, skip};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Whether this machine has a program; its absence is a loud skip or a failure.
fn have(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        skip(program);
    }
    found
}

/// Builds the packages of one kind from the program under test, quickly.
fn build(kind: &str) -> TempDir {
    let out = directory();
    let output = Command::new(Path::new(ROOT).join("packaging/build"))
        .arg(kind)
        .arg(out.path())
        .arg(env!("CARGO_BIN_EXE_benchd"))
        .env("BENCHD_PAYLOAD", "w0.ufdio")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", words(&output));
    out
}

/// The package that is there under that name, of its version.
fn package(folder: &TempDir, name: &str) -> PathBuf {
    let mut all = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let is = |path: &Path| {
        let rest = path.file_name().unwrap().to_str().unwrap().strip_prefix(name).map(str::to_owned);
        rest.is_some_and(|rest| {
            rest.starts_with(['-', '_']) && rest[1..].starts_with(|c: char| c.is_ascii_digit())
        })
    };
    all.find(|path| is(path)).unwrap_or_else(|| panic!("no package {name}"))
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", words(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn query(rpm: &Path, format: &str) -> String {
    run("rpm", &["-qp", "--nosignature", "--qf", format, rpm.to_str().unwrap()])
}

/// What the RPM carries beside documentation: mode, owner, group, flags and path.
const INSTALLED: &[&str] = &[
    "drwxr-xr-x root root - /etc/benchd",
    "-rw-r--r-- root root cn /etc/benchd/benchd.toml",
    "drwxr-xr-x root root - /etc/benchd/conf.d",
    "-rwxr-xr-x root root - /usr/bin/benchd",
    "-rw-r--r-- root root - /usr/lib/firewalld/services/benchd.xml",
    "-rw-r--r-- root root - /usr/lib/systemd/system/benchd-smart.service",
    "-rw-r--r-- root root - /usr/lib/systemd/system/benchd-smart.timer",
    "-rw-r--r-- root root - /usr/lib/systemd/system/benchd-worker.socket",
    "-rw-r--r-- root root - /usr/lib/systemd/system/benchd-worker@.service",
    "-rw-r--r-- root root - /usr/lib/systemd/system/benchd.service",
    "-rw-r--r-- root root - /usr/lib/systemd/system/benchd.slice",
    "-rw-r--r-- root root - /usr/lib/sysusers.d/benchd.conf",
    "-rw-r--r-- root root - /usr/share/bash-completion/completions/benchd",
    "-rw-r--r-- root root - /usr/share/fish/vendor_completions.d/benchd.fish",
    "-rw-r--r-- root root - /usr/share/zsh/site-functions/_benchd",
    "drwxr-x--- benchd benchd g /var/lib/benchd",
];

#[test]
fn the_rpm_carries_these_files_for_these_owners() {
    if !have("rpmbuild") {
        return;
    }
    let out = build("rpm");
    let rpm = package(&out, "benchd");
    let listed = query(
        &rpm,
        "[%{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME} -%{FILEFLAGS:fflags} %{FILENAMES}\\n]",
    );
    let listed: BTreeSet<String> = listed
        .lines()
        .map(|line| line.replace(" -c", " c").replace(" -g", " g").replace(" -d", " d").replace(" -l", " l"))
        .collect();
    for line in INSTALLED {
        assert!(listed.contains(*line), "{line} is not in\n{listed:#?}");
    }
    let others = listed.iter().filter(|line| !INSTALLED.contains(&line.as_str()));
    for line in others {
        let [mode, user, group, _, path] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        assert_eq!((user, group), ("root", "root"), "{line}");
        assert!(["drwxr-xr-x", "-rw-r--r--"].contains(&mode), "{line}");
        let known = ["/usr/share/doc/benchd", "/usr/share/man/man", "/usr/share/licenses/benchd"];
        let folder =
            mode.starts_with('d') && INSTALLED.iter().any(|known| known.contains(&format!(" {path}/")));
        assert!(folder || known.iter().any(|known| path.starts_with(known)), "{line}");
    }
    for page in ["man5/benchd.toml.5.gz", "man7/benchd-api.7.gz", "man8/benchd.8.gz"] {
        assert!(listed.iter().any(|line| line.ends_with(page)), "{page} is not in\n{listed:#?}");
    }
    needs_only_the_system(&rpm);
    tells_nothing_of_the_machine(&rpm);
}

/// Nothing but glibc, the compiler's library, the names of time zones and what the scriptlets call is required.
fn needs_only_the_system(rpm: &Path) {
    let known = [
        "/bin/sh",
        "config",
        "ld-linux",
        "libc.so.6",
        "libm.so.6",
        "libgcc_s.so.1",
        "libpthread.so.0",
        "libdl.so.2",
        "rpmlib",
        "rtld",
        "shadow-utils",
        "systemd",
        "tzdata",
    ];
    let requires = run("rpm", &["-qp", "--nosignature", "--requires", rpm.to_str().unwrap()]);
    for line in requires.lines() {
        assert!(known.iter().any(|known| line.starts_with(known)), "the package needs {line}");
    }
    assert!(requires.contains("libc.so.6"), "{requires}");
    let recommends = run("rpm", &["-qp", "--nosignature", "--recommends", rpm.to_str().unwrap()]);
    assert_eq!(recommends, "openssl\n");
}

/// Beside the program, which was built for tests, no file and no tag names the machine or the time of the build.
fn tells_nothing_of_the_machine(rpm: &Path) {
    let tags = run("rpm", &["-qp", "--nosignature", "--xml", rpm.to_str().unwrap()]);
    let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert!(
        !tags.contains(ROOT) && !tags.contains(&format!(">{}<", machine.trim())),
        "{ROOT} or {machine} in {tags}"
    );
    let commit = run("git", &["-C", ROOT, "log", "-1", "--format=%ct"]);
    assert_eq!(
        query(rpm, "%{BUILDTIME}\\n[%{FILEMTIMES}\\n]").lines().max(),
        Some(commit.trim()),
        "newest time"
    );
    let place = directory();
    let unpack = format!("rpm2cpio {} | cpio -id --quiet", rpm.display());
    let output = Command::new("sh").args(["-c", &unpack]).current_dir(place.path()).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    fs::remove_file(place.path().join("usr/bin/benchd")).unwrap();
    let named = Command::new("grep").args(["-rlF", ROOT, "."]).current_dir(place.path()).output().unwrap();
    assert_eq!(String::from_utf8(named.stdout).unwrap(), "");
}

#[test]
fn two_builds_of_a_commit_are_the_same_packages() {
    for kind in ["rpm", "deb"] {
        if !have(if kind == "rpm" { "rpmbuild" } else { "dpkg-deb" }) {
            continue;
        }
        let (one, other) = (build(kind), build(kind));
        let sums = |folder: &TempDir| {
            let sums = "sha256sum * | sort";
            let output = Command::new("sh").args(["-c", sums]).current_dir(folder.path()).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert!(sums(&one).contains("benchd"), "{kind}");
        assert_eq!(sums(&one), sums(&other), "{kind}");
    }
}

#[test]
fn a_program_for_tests_may_not_be_shipped() {
    if !have("objdump") {
        return;
    }
    let output = Command::new(Path::new(ROOT).join("packaging/check"))
        .arg(env!("CARGO_BIN_EXE_benchd"))
        .output()
        .unwrap();
    let said = words(&output);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("carries debug information") && said.contains(" of this machine"), "{said}");
}

#[test]
fn rpmlint_has_nothing_to_say() {
    if !have("rpmbuild") || !have("rpmlint") {
        return;
    }
    let out = build("rpm");
    let rules = directory();
    // The program under test is not stripped; the one that is shipped is.
    let of_tests = fs::read_to_string(Path::new(ROOT).join("packaging/rpmlint.toml"))
        .unwrap()
        .replace("Filters = [", "Filters = [\n    \"unstripped-binary-or-object\",");
    fs::write(rules.path().join("rpmlint.toml"), of_tests).unwrap();
    let output = Command::new("rpmlint")
        .arg("-c")
        .arg(rules.path().join("rpmlint.toml"))
        .arg(Path::new(ROOT).join("packaging/benchd.spec"))
        .args(fs::read_dir(out.path()).unwrap().map(|entry| entry.unwrap().path()))
        .output()
        .unwrap();
    let said = words(&output);
    assert!(output.status.success() && said.contains("0 errors, 0 warnings"), "{said}");
}

/// Runs a scriptlet with programs that only write down how they are called.
fn scriptlet(text: &str, argument: &str, known_user: bool) -> String {
    let place = directory();
    fs::create_dir(place.path().join("bin")).unwrap();
    fs::create_dir(place.path().join("system")).unwrap();
    let log = place.path().join("called");
    for program in ["systemctl", "groupadd", "useradd"] {
        let text = format!("#!/bin/sh\necho {program} \"$@\" >> {}\n", log.display());
        script(&place.path().join("bin").join(program), &text);
    }
    script(
        &place.path().join("bin/getent"),
        &format!("#!/bin/sh\nexit {}\n", if known_user { 0 } else { 2 }),
    );
    let text = text.replace("/run/systemd/system", place.path().join("system").to_str().unwrap());
    assert!(!text.is_empty() && text != "(none)");
    let path = format!("{}:/usr/bin:/bin", place.path().join("bin").display());
    let output: Output =
        Command::new("sh").args(["-ec", &text, "sh", argument]).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    fs::read_to_string(log).unwrap_or_default()
}

#[test]
fn an_upgrade_restarts_what_runs_once_and_only_the_last_removal_stops_and_disables_it() {
    if !have("rpmbuild") {
        return;
    }
    let out = build("rpm");
    let rpm = package(&out, "benchd");
    let tag = |tag: &str| query(&rpm, &format!("%{{{tag}}}"));
    let (before, after) = (tag("PREIN"), tag("POSTIN"));
    assert!(scriptlet(&before, "1", false).contains("useradd -r -g benchd -d /var/lib/benchd"));
    assert_eq!(scriptlet(&before, "2", true), "", "an account that is there is left as it is");
    assert_eq!(scriptlet(&after, "1", true), "systemctl --no-reload preset benchd.service\n");
    assert_eq!(scriptlet(&after, "2", true), "", "an upgrade enables and disables nothing");
    let last = scriptlet(&tag("POSTTRANS"), "1", true);
    assert_eq!(last, "systemctl daemon-reload\nsystemctl try-restart benchd-worker.socket benchd.service\n");
    assert_eq!(scriptlet(&tag("PREUN"), "1", true), "", "an upgrade stops nothing");
    assert_eq!(scriptlet(&tag("POSTUN"), "1", true), "");
    let removed = scriptlet(&tag("PREUN"), "0", true);
    assert!(
        removed.starts_with("systemctl --no-reload disable --now benchd.service benchd-smart.timer\n"),
        "{removed}"
    );
    assert_eq!(scriptlet(&tag("POSTUN"), "0", true), "systemctl daemon-reload\n");
}

#[test]
fn the_deb_carries_the_same_files() {
    if !have("rpmbuild") || !have("dpkg-deb") {
        return;
    }
    let (rpms, debs) = (build("rpm"), build("deb"));
    for name in ["benchd", "benchd-grafana", "benchd-prometheus"] {
        let of_rpm = query(&package(&rpms, name), "[%{FILEMODES:perms} %{FILENAMES}\\n]");
        let of_deb = run("dpkg-deb", &["-c", package(&debs, name).to_str().unwrap()]);
        let of_deb: BTreeSet<String> = of_deb
            .lines()
            .filter(|line| line.starts_with('-'))
            .map(|line| {
                assert!(line.contains(" root/root "), "{line}");
                line.split(" ./").nth(1).map(|path| format!("{} /{path}", &line[..10])).unwrap()
            })
            .map(|line| line.replace("vendor-completions", "site-functions"))
            .map(|line| line.replace("doc/benchd/third-party", "licenses/benchd/third-party"))
            .filter(|line| !line.ends_with("/copyright") && !line.ends_with("/changelog.gz"))
            .collect();
        let of_rpm: BTreeSet<String> = of_rpm
            .lines()
            .filter(|line| line.starts_with('-') && !line.ends_with("/LICENSE"))
            .map(str::to_owned)
            .collect();
        assert!(!of_rpm.is_empty());
        assert_eq!(of_deb, of_rpm, "{name}");
    }
    let deb = package(&debs, "benchd");
    let control = run("dpkg-deb", &["-f", deb.to_str().unwrap()]);
    assert!(
        control.contains("Depends: libc6 (>= 2.28), adduser, tzdata\nRecommends: openssl\n"),
        "{control}"
    );
    let files = run("dpkg-deb", &["--info", deb.to_str().unwrap(), "conffiles"]);
    assert_eq!(files, "/etc/benchd/benchd.toml\n");
}

/// A list of every crate that is linked, and the texts of their licences.
#[test]
fn the_licences_of_what_is_linked_are_carried() {
    let licences = Path::new(ROOT).join("packaging/licences");
    let text = run(licences.to_str().unwrap(), &[]);
    let (list, texts) = text.split_once("\nTheir texts, each once:\n").unwrap();
    let crates: BTreeSet<&str> = list.lines().skip(2).filter_map(|line| line.split(' ').next()).collect();
    for linked in ["serde_json", "ring", "mysql_common", "libsqlite3-sys"] {
        assert!(crates.contains(linked), "{linked} is not in {crates:?}");
    }
    for other in ["benchd", "criterion", "proptest", "cc", "serde_derive"] {
        assert!(!crates.contains(other), "{other} is not linked");
    }
    let titled: BTreeSet<&str> = texts
        .split(&format!("\n{}\n", "-".repeat(80)))
        .filter_map(|part| part.split_once(":\n"))
        .flat_map(|(names, _)| names.split(", "))
        .filter_map(|name| name.split(' ').next())
        .collect();
    let without: Vec<&&str> =
        crates.iter().filter(|name| **name != "SQLite" && !titled.contains(*name)).collect();
    assert!(without.is_empty(), "no text of {without:?}");
    assert!(!text.contains(ROOT) && !text.contains("/registry/"), "paths of this machine");
}

#[test]
fn the_packages_have_the_version_of_the_program() {
    let spec = fs::read_to_string(Path::new(ROOT).join("packaging/benchd.spec")).unwrap();
    let version = spec.lines().find_map(|line| line.strip_prefix("Version:")).unwrap().trim();
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    let entry = spec.split("%changelog\n").nth(1).unwrap().lines().next().unwrap();
    assert!(entry.ends_with(&format!(" - {version}-1")), "{entry}");
}
