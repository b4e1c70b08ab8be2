//! Real servers for tests: each test starts its own, on a socket and a port of its own in a temporary directory,
//! as an unprivileged account when the tests run as root, and ends it by its process id.
//!
//! A server that this machine does not have is skipped loudly: one line to standard error and one to
//! `target/tmp/skipped`. `BENCHD_REQUIRE=mariadb,mysql` (the default when `CI=true`, with all else that is looked for)
//! makes that a failure.
//! MariaDB is the one installed; MySQL, and a newer MariaDB with all of its login plugins, are what `tests/get-server`
//! put into `BENCHD_MYSQL_DIR` and `BENCHD_MARIADB_DIR`. An NDB Cluster is what `BENCHD_NDB_DIR` names; no package has it.
#![allow(dead_code, reason = "every test binary uses a part of it")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a helper of tests fails as a test does, and a skip must be seen"
)]

pub(crate) mod certificates;
pub(crate) mod fuse;
pub(crate) mod manager;
pub(crate) mod program;
pub(crate) mod suites;

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use benchd::target::{Access, Client, Secret};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, User};
use tempfile::TempDir;

/// The two families of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// The installed MariaDB.
    MariaDb,
    /// The MySQL in `BENCHD_MYSQL_DIR`.
    MySql,
}

impl Flavour {
    const fn name(self) -> &'static str {
        match self {
            Flavour::MariaDb => "mariadb",
            Flavour::MySql => "mysql",
        }
    }

    /// The server program; its absence is a loud skip or, where it is required, a failure.
    pub(crate) fn program(self) -> Option<PathBuf> {
        let found = match self {
            Flavour::MariaDb => ["/usr/sbin", "/usr/libexec", "/usr/bin"]
                .map(|folder| Path::new(folder).join("mariadbd"))
                .into_iter()
                .find(|path| path.exists()),
            Flavour::MySql => env::var_os("BENCHD_MYSQL_DIR")
                .map(|folder| Path::new(&folder).join("mysqld"))
                .filter(|path| path.exists()),
        };
        if found.is_none() {
            skip(self.name());
        }
        found
    }

    /// The flavours this machine has.
    pub(crate) fn present() -> Vec<Flavour> {
        [Flavour::MariaDb, Flavour::MySql].into_iter().filter(|flavour| flavour.program().is_some()).collect()
    }
}

/// Says that a test does without something, or fails where that something is required.
pub(crate) fn skip(what: &str) {
    let required = env::var("BENCHD_REQUIRE").unwrap_or_else(|_| match env::var("CI").as_deref() {
        Ok("true") => {
            "mariadb,mysql,mariadb with plugins,sysbench,promtool,prometheus,openssl,jemalloc,machine,node,grafana-schema,\
             rpmbuild,rpmlint"
                .to_owned()
        }
        _ => String::new(),
    });
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    assert!(
        !required.split(',').any(|name| name == what),
        "{test} needs {what}, which BENCHD_REQUIRE or CI demands"
    );
    eprintln!("SKIPPED without {what}: {test}");
    let list = Path::new(env!("CARGO_TARGET_TMPDIR")).join("skipped");
    let mut list = OpenOptions::new().append(true).create(true).open(list).unwrap();
    writeln!(list, "{what}: {test}").unwrap();
}

/// Where a program is, in `PATH` or among those the tests fetched; its absence is a loud skip or, where it is
/// required, a failure.
pub(crate) fn tool(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let fetched = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(".tools/prometheus/usr/bin");
    let found =
        env::split_paths(&path).chain([fetched]).map(|folder| folder.join(name)).find(|file| file.exists());
    if found.is_none() {
        skip(name);
    }
    found
}

/// A temporary directory that the account of a server can enter.
pub(crate) fn directory() -> TempDir {
    let directory = tempfile::Builder::new().prefix("benchd-test-").tempdir_in("/tmp").unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    directory
}

/// Writes a script that can be started.
pub(crate) fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Makes a command run as an account without privileges when the tests run as root.
pub(crate) fn unprivileged(command: &mut Command) -> &mut Command {
    if Uid::effective().is_root() {
        let nobody = User::from_name("nobody").unwrap().expect("account nobody");
        command.uid(nobody.uid.as_raw()).gid(nobody.gid.as_raw());
    }
    command
}

/// A server that is someone's: what a `server` target meets.
pub(crate) struct Server {
    child: Child,
    flavour: Flavour,
    program: PathBuf,
    directory: TempDir,
    /// Its TCP port on 127.0.0.1.
    pub(crate) port: u16,
}

impl Server {
    /// Starts an empty server; `root` has no password.
    pub(crate) fn start(flavour: Flavour, arguments: &[&str]) -> Server {
        let directory = directory();
        copy(&template(flavour), directory.path());
        let program = flavour.program().expect("a flavour that is present");
        Server::start_in(flavour, &program, directory, arguments)
    }

    /// Starts an empty MariaDB that has every login plugin and RocksDB; its absence is a loud skip or a failure.
    pub(crate) fn with_plugins(arguments: &[&str]) -> Option<Server> {
        let home = env::var_os("BENCHD_MARIADB_DIR").map(PathBuf::from);
        let is_whole = |home: &PathBuf| {
            ["mariadbd", "root/usr/lib/mysql/plugin/ha_rocksdb.so"]
                .iter()
                .all(|file| home.join(file).exists())
        };
        let Some(home) = home.filter(is_whole) else {
            skip("mariadb with plugins");
            return None;
        };
        let (program, directory) = (home.join("mariadbd"), directory());
        server_folders(directory.path());
        let mut command = command(&program, directory.path());
        let script = File::open(home.join("bootstrap.sql")).unwrap();
        let output = command.arg("--bootstrap").stdin(script).stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(Server::start_in(Flavour::MariaDb, &program, directory, arguments))
    }

    fn start_in(flavour: Flavour, program: &Path, directory: TempDir, arguments: &[&str]) -> Server {
        for _ in 0..5 {
            let port = free_port();
            match launch(flavour, program, directory.path(), port, arguments) {
                Ok(child) => {
                    let program = program.to_owned();
                    return Server { child, flavour, program, directory, port };
                }
                Err(said) if said.contains("Address already in use") => {}
                Err(said) => panic!("the server did not start:\n{said}"),
            }
        }
        panic!("no port was free")
    }

    /// Starts it again where it was, once it has ended.
    pub(crate) fn start_again(&mut self, arguments: &[&str]) {
        let started = launch(self.flavour, &self.program, self.directory.path(), self.port, arguments);
        self.child = started.unwrap_or_else(|said| panic!("the server did not start:\n{said}"));
    }

    /// Starts another server on a copy of this one's data, as a restored backup would be: this one is stopped
    /// first, and a server's own number (`auto.cnf`) is not copied.
    pub(crate) fn start_copy(mut self) -> Server {
        self.signal(Signal::SIGTERM);
        self.child.wait().unwrap();
        let directory = directory();
        let copied =
            Command::new("cp").arg("-a").arg(self.directory.path().join(".")).arg(directory.path()).status();
        assert!(copied.unwrap().success());
        // MariaDB has no such file.
        let _ = fs::remove_file(directory.path().join("data/auto.cnf"));
        let program = self.program.clone();
        Server::start_in(self.flavour, &program, directory, &[])
    }

    /// Its data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Its socket.
    pub(crate) fn socket(&self) -> PathBuf {
        socket(self.directory.path())
    }

    /// Access of the all-powerful account by the socket.
    pub(crate) fn root(&self) -> Access {
        Access::by_socket(self.socket(), "root")
    }

    /// Access of an account by TCP.
    pub(crate) fn tcp(&self, user: &str, password: &str) -> Access {
        Access {
            port: self.port,
            user: user.to_owned(),
            password: Secret::new(password),
            ..Access::default()
        }
    }

    /// Executes statements as the all-powerful account.
    pub(crate) fn setup(&self, statements: &[&str]) {
        let mut client = Client::connect(&self.root()).unwrap();
        for statement in statements {
            client.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
    }

    /// Stops the server's process in its tracks, until [`Server::thaw`]; returns when all its threads stand still.
    pub(crate) fn freeze(&self) {
        self.signal(Signal::SIGSTOP);
        let stands = |stat: String| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'));
        let all_stand = || {
            fs::read_dir(format!("/proc/{}/task", self.child.id()))
                .unwrap()
                .flatten()
                .all(|task| fs::read_to_string(task.path().join("stat")).is_ok_and(stands))
        };
        while !all_stand() {}
    }

    /// Lets the server's process go on.
    pub(crate) fn thaw(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// Ends it the hard way and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It holds nothing anyone needs.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server and waits until it is ready; if it ends before, what it said is the error.
fn launch(
    flavour: Flavour,
    program: &Path,
    directory: &Path,
    port: u16,
    arguments: &[&str],
) -> Result<Child, String> {
    let mut command = command(program, directory);
    command.arg(format!("--port={port}")).args(["--bind-address=127.0.0.1", "--loose-mysqlx=OFF"]);
    match flavour {
        Flavour::MySql => command.args(["--secure-file-priv=NULL", "--innodb-redo-log-capacity=8M"]),
        Flavour::MariaDb => command.arg("--innodb-log-file-size=8M"),
    };
    let mut child = command.args(arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    match until_ready(&mut log) {
        Ok(()) => {
            // A server whose words nobody takes stands still with its threads once a pipe is full of them.
            thread::spawn(move || io::copy(&mut log, &mut io::sink()));
            Ok(child)
        }
        Err(said) => {
            drop(child.wait());
            Err(said)
        }
    }
}

fn command(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    unprivileged(&mut command)
        .arg("--no-defaults")
        .arg(format!("--datadir={}", directory.join("data").display()))
        .arg(format!("--tmpdir={}", directory.join("tmp").display()))
        .arg(format!("--socket={}", socket(directory).display()))
        .arg(format!("--pid-file={}", directory.join("data/server.pid").display()))
        .env("TMPDIR", directory.join("tmp"))
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

fn socket(directory: &Path) -> PathBuf {
    directory.join("tmp/my.sock")
}

/// A directory with the data of a server that was never started, made once for each version of a server.
fn template(flavour: Flavour) -> PathBuf {
    let program = flavour.program().expect("a flavour that is present");
    let version = Command::new(program).args(["--no-defaults", "--version"]).output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    let version = version.split_once("Ver ").unwrap().1.split_whitespace().next().unwrap();
    let name = format!("{}-{version}-{}", flavour.name(), Uid::effective());
    let template = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if !template.exists() {
        let made = directory();
        server_folders(made.path());
        initialise(flavour, made.path());
        let near = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        copy(made.path(), near.path());
        // Another test may have been faster.
        let _ = fs::rename(near.path(), &template);
    }
    template
}

/// The folders of a server, which its account may use.
pub(crate) fn server_folders(directory: &Path) {
    for folder in ["data", "tmp"] {
        let path = directory.join(folder);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    }
}

/// Copies a server's directories as they are, but for what makes it one server and not another (`auto.cnf`): as a
/// backup tool does.
fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").args(["-a", "--sparse=always"]).arg(from.join(".")).arg(to).status();
    assert!(copied.unwrap().success());
    // MariaDB has no such file.
    let _ = fs::remove_file(to.join("data/auto.cnf"));
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).unwrap();
}

fn initialise(flavour: Flavour, directory: &Path) {
    let program = flavour.program().expect("a flavour that is present");
    let mut command = match flavour {
        Flavour::MySql => {
            let mut command = command(&program, directory);
            command.args([
                "--initialize-insecure",
                "--secure-file-priv=NULL",
                "--innodb-redo-log-capacity=8M",
            ]);
            command
        }
        Flavour::MariaDb => {
            let mut command = Command::new("mariadb-install-db");
            unprivileged(&mut command)
                .arg("--no-defaults")
                .arg(format!("--datadir={}", directory.join("data").display()))
                .arg(format!("--tmpdir={}", directory.join("tmp").display()))
                .args([
                    "--auth-root-authentication-method=normal",
                    "--skip-test-db",
                    "--innodb-log-file-size=8M",
                ])
                .env("TMPDIR", directory.join("tmp"));
            command
        }
    };
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A port of 127.0.0.1 that nobody uses at this moment.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Reads what a server says until it is ready; if it ends before, that is the error.
pub(crate) fn until_ready(log: &mut impl BufRead) -> Result<(), String> {
    let mut said = String::new();
    loop {
        let from = said.len();
        if log.read_line(&mut said).unwrap() == 0 {
            return Err(said);
        }
        if said[from..].contains("ready for connections") {
            return Ok(());
        }
    }
}
