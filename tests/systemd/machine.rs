//! A machine of its own with systemd as its first process, and benchd installed in it; gone when it is dropped.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use nix::unistd::Uid;
use serde_json::Value;

use super::common::program::{PATIENCE, words};
use super::package::{Kind, Package};

/// Set by people whose machine cannot start another one; continuous integration does not listen to it.
const WITHOUT: &str = "BENCHD_WITHOUT_MACHINE";

/// Where the database is.
const SOCKET: &str = "--socket=/var/lib/mysql/mysql.sock";

/// A machine that runs.
pub(crate) struct Machine {
    name: String,
}

impl Machine {
    /// Starts one with the RPM of benchd installed, the users `alice`, a member of the group benchd, and `mallory`, who
    /// is not; `None` where a person said to do without.
    pub(crate) fn start() -> Option<Machine> {
        Machine::with(Kind::Rpm)
    }

    /// The same with a package of this kind.
    pub(crate) fn with(kind: Kind) -> Option<Machine> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let without = std::env::var_os(WITHOUT).is_some() && std::env::var_os("CI").is_none();
        if without {
            super::common::skip("machine");
            return None;
        }
        assert!(
            Uid::effective().is_root(),
            "a machine with systemd needs root: run the tests as root, or set {WITHOUT}=1 to do without"
        );
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let machine = Machine { name: format!("benchd-{}-{number}", std::process::id()) };
        let started = machine.tool("up", &[]);
        assert!(started.status.success(), "set {WITHOUT}=1 to do without: {}", words(&started));
        // The account is made by the package.
        machine.install(&Package::new(kind));
        machine.must(&["useradd", "--groups", "benchd", "alice"]);
        machine.must(&["useradd", "mallory"]);
        Some(machine)
    }

    /// Installs a package or upgrades to it.
    pub(crate) fn install(&self, package: &Package) {
        let file = format!("/srv/benchd.{}", package.kind.name());
        fs::copy(package.file(), self.outside(&file)).unwrap();
        self.must(&[package.kind.installer(), &[&file]].concat());
        fs::remove_file(self.outside(&file)).unwrap();
    }

    /// Every path that the machine has beside those of the root filesystem it was started over.
    pub(crate) fn paths(&self) -> BTreeSet<PathBuf> {
        let upper = PathBuf::from(format!("/tmp/benchd-machine/{}/upper", self.name));
        let found = Command::new("find").arg(&upper).args(["-not", "-type", "c"]).output().unwrap();
        let found = String::from_utf8(found.stdout).unwrap();
        found.lines().map(|path| Path::new("/").join(Path::new(path).strip_prefix(&upper).unwrap())).collect()
    }

    fn tool(&self, verb: &str, arguments: &[&str]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machine");
        Command::new(script).args([verb, &self.name]).args(arguments).output().unwrap()
    }

    /// Starts a server that is nothing of benchd's, at the socket that packages of servers have.
    pub(crate) fn start_database(&self) {
        self.must(&["install", "-d", "-m", "755", "/srv/database", "/var/lib/mysql"]);
        let data = ["--no-defaults", "--user=root", "--datadir=/srv/database"];
        let plain = ["--auth-root-authentication-method=normal", "--skip-test-db"];
        self.must(&[&["mariadb-install-db"], &data[..], &plain].concat());
        let unit = ["systemd-run", "--quiet", "--unit=database", "--service-type=notify", "mariadbd"];
        let server = [SOCKET, "--skip-networking", "--max-heap-table-size=8G"];
        self.must(&[&unit[..], &data, &server].concat());
    }

    /// Has that server's administrator execute statements.
    pub(crate) fn sql(&self, statements: &str) -> String {
        self.must(&["mariadb", "--no-defaults", "--batch", "--skip-column-names", SOCKET, "-e", statements])
    }

    /// The bytes that all of the machine uses, files among them that it wrote.
    pub(crate) fn memory(&self) -> u64 {
        let used = self.tool("memory", &[]);
        assert!(used.status.success(), "{}", words(&used));
        String::from_utf8(used.stdout).unwrap().trim().parse().unwrap()
    }

    /// From now on the machine may use so many bytes and no more.
    pub(crate) fn limit_memory(&self, most: u64) {
        let limited = self.tool("memory", &[&most.to_string()]);
        assert!(limited.status.success(), "{}", words(&limited));
    }

    /// A place in the machine as it is seen from outside.
    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/tmp/benchd-machine/{}/root{path}", self.name))
    }

    /// Writes a file and the directories above it.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.outside(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    }

    /// A directory that belongs to the user benchd.
    pub(crate) fn make_directory(&self, path: &str) {
        self.must(&["install", "-d", "-o", "benchd", "-g", "benchd", path]);
    }

    /// Runs a command as root.
    pub(crate) fn run(&self, command: &[&str]) -> Output {
        self.tool("in", command)
    }

    /// Runs a command that must succeed; gives what it printed.
    pub(crate) fn must(&self, command: &[&str]) -> String {
        let output = self.run(command);
        assert!(output.status.success(), "{command:?}: {}", words(&output));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Runs a command as a user with the user's groups.
    pub(crate) fn run_as(&self, user: &str, command: &[&str]) -> Output {
        let (uid, gid) = (format!("--reuid={user}"), format!("--regid={user}"));
        self.run(&[&["setpriv", &uid, &gid, "--init-groups", "env", "-i", "HOME=/"], command].concat())
    }

    /// Runs a command of benchd's as alice, which must succeed, and reads its JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run_as("alice", &[&["/usr/bin/benchd"], arguments, &["--output", "json"]].concat());
        assert!(output.status.success(), "{arguments:?}: {}\n{}", words(&output), self.journal());
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// A property of a unit.
    pub(crate) fn property(&self, unit: &str, property: &str) -> String {
        self.must(&["systemctl", "show", "--value", "--property", property, unit])
    }

    /// Waits until a property has this value.
    pub(crate) fn wait_for(&self, unit: &str, property: &str, value: &str) {
        self.wait_until(&format!("{property} of {unit} is {value}"), || {
            self.property(unit, property) == value
        });
    }

    /// Waits until something holds.
    pub(crate) fn wait_until(&self, what: &str, holds: impl Fn() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < PATIENCE, "not in time: {what}\n{}", self.journal());
        }
    }

    /// Starts the daemon, and fails with the journal when it does not start.
    pub(crate) fn start_service(&self) {
        let started = self.run(&["systemctl", "start", "benchd"]);
        assert!(started.status.success(), "{}\n{}", words(&started), self.journal());
    }

    /// Starts another daemon that no sandbox is around, at port 10105, with these lines of configuration.
    pub(crate) fn start_outside(&self, lines: &str) {
        self.make_directory("/srv/outside");
        let own = "server.listen = \"127.0.0.1:10105\"\nserver.socket = \"/srv/outside/benchd.sock\"\nstore.path = \
                   \"/srv/outside/benchd.db\"\n";
        self.write("/srv/outside.toml", &format!("{own}{lines}"));
        let unit = ["systemd-run", "--quiet", "--uid=benchd", "--unit=outside"];
        let daemon = ["/usr/bin/benchd", "--config", "/srv/outside.toml", "serve"];
        self.must(&[&unit[..], &daemon].concat());
        self.wait_until("the other one answers", || self.get(10105, "/-/ready").contains(" 200 "));
    }

    /// Everything the machine has said.
    pub(crate) fn journal(&self) -> String {
        self.must(&["journalctl", "--no-pager", "--output=short", "--lines=200"])
    }

    /// Metrics as a scraper gets them by TCP.
    pub(crate) fn metrics(&self, port: u16) -> String {
        self.get(port, "/metrics")
    }

    /// An answer of the HTTP interface by TCP, head and all; empty when nobody listens.
    pub(crate) fn get(&self, port: u16, path: &str) -> String {
        // Every machine has a bash; few have a client.
        let script = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port} && printf 'GET {path} HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3"
        );
        String::from_utf8(self.run(&["bash", "-c", &script]).stdout).unwrap()
    }

    /// Whether the machine has a process of the user benchd.
    pub(crate) fn has_processes(&self) -> bool {
        !self.must(&["find", "/proc", "-maxdepth", "1", "-user", "benchd"]).is_empty()
    }

    /// The process of the daemon as this machine's kernel numbers it.
    pub(crate) fn daemon(&self) -> u32 {
        let inside = self.property("benchd.service", "MainPID");
        let all = fs::read_dir("/proc").unwrap().flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let ours = |pid: &u32| {
            let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let numbers = read("status");
            let inner = numbers.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
            inner.split_whitespace().last() == Some(inside.as_str())
                && read("cgroup").contains(&format!("/{}/", self.name))
        };
        pids.into_iter().find(ours).unwrap()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let down = self.tool("down", &[]);
        assert!(down.status.success() || std::thread::panicking(), "{}", words(&down));
    }
}

/// The series of a scrape, without their values.
pub(crate) fn series(metrics: &str) -> BTreeSet<String> {
    let lines = metrics.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned())).collect()
}
