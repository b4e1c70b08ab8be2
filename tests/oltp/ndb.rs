//! A real NDB Cluster on loopback: a manager, two data nodes and an SQL node, all ended when the test is over. It takes
//! about 10 s to start, and 2 GB of memory.
//!
//! No package of a distribution has its programs. `BENCHD_NDB_DIR` names a folder with `bin/ndb_mgmd`, `bin/ndbmtd`,
//! `bin/ndb_mgm`, `bin/mysqld`, their libraries in `lib` and the server's files in `share`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use tempfile::TempDir;

use super::common::{self, unprivileged};
use benchd::target::Access;

/// The nodes of the configuration below.
const DATA_NODES: [&str; 2] = ["1", "2"];
const SQL_NODE: &str = "50";

pub(super) struct Cluster {
    /// Ended in this order.
    nodes: Vec<Child>,
    directory: TempDir,
}

impl Cluster {
    /// `None`, said aloud, when its programs are not there.
    pub(super) fn start() -> Option<Cluster> {
        let home = std::env::var_os("BENCHD_NDB_DIR").map(PathBuf::from);
        let Some(home) = home.filter(|home| home.join("bin/ndbmtd").exists()) else {
            common::skip("ndb");
            return None;
        };
        let directory = common::directory();
        let ports = [common::free_port(), common::free_port(), common::free_port()];
        configure(directory.path(), ports);
        let programs = Programs { home, directory: directory.path().to_owned(), manager: ports[0] };
        let mut nodes = vec![programs.manager()];
        nodes.extend(DATA_NODES.map(|node| programs.data_node(node)));
        let mut cluster = Cluster { nodes, directory };
        programs.initialise();
        programs.until_started();
        let (child, said) = programs.sql_node();
        cluster.nodes.insert(0, child);
        said.unwrap_or_else(|said| panic!("the SQL node did not start:\n{said}"));
        Some(cluster)
    }

    /// Access of the all-powerful account of the SQL node.
    pub(super) fn root(&self) -> Access {
        Access::by_socket(socket(self.directory.path()), "root")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            // It holds nothing anyone needs.
            let _ = node.kill();
            let _ = node.wait();
        }
    }
}

fn socket(directory: &Path) -> PathBuf {
    directory.join("tmp/my.sock")
}

/// With redo logs so small that loading meets their end, and deadlocks, which only a timeout ends here, short.
fn configure(directory: &Path, [manager, first, second]: [u16; 3]) {
    common::server_folders(directory);
    for folder in ["manager", "1", "2"] {
        fs::create_dir(directory.join(folder)).unwrap();
    }
    let at = directory.display();
    let text = format!(
        "[ndbd default]\nNoOfReplicas = 2\nDataMemory = 120M\nSharedGlobalMemory = 64M\nMaxNoOfExecutionThreads = 2\n\
         NoOfFragmentLogFiles = 6\nFragmentLogFileSize = 4M\nRedoBuffer = 8M\nTransactionDeadlockDetectionTimeout = 100\n\
         [ndb_mgmd]\nNodeId = 49\nHostName = 127.0.0.1\nPortNumber = {manager}\nDataDir = {at}/manager\n\
         [ndbd]\nNodeId = 1\nHostName = 127.0.0.1\nDataDir = {at}/1\nServerPort = {first}\n\
         [ndbd]\nNodeId = 2\nHostName = 127.0.0.1\nDataDir = {at}/2\nServerPort = {second}\n\
         [mysqld]\nNodeId = {SQL_NODE}\nHostName = 127.0.0.1\n"
    );
    fs::write(directory.join("cluster.ini"), text).unwrap();
}

struct Programs {
    home: PathBuf,
    directory: PathBuf,
    /// The manager's port.
    manager: u16,
}

impl Programs {
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.home.join("bin").join(program));
        command
            .arg("--no-defaults")
            .env("LD_LIBRARY_PATH", self.home.join("lib"))
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn place(&self) -> String {
        format!("127.0.0.1:{}", self.manager)
    }

    fn manager(&self) -> Child {
        let mut command = self.command("ndb_mgmd");
        command.args(["--initial", "--nodaemon", "--bind-address=127.0.0.1"]);
        command.arg(format!("--config-file={}", self.directory.join("cluster.ini").display()));
        command.arg(format!("--configdir={}", self.directory.join("manager").display()));
        command.spawn().unwrap()
    }

    fn data_node(&self, node: &str) -> Child {
        let mut command = self.command("ndbmtd");
        command.args(["--initial", "--foreground", "--connect-retries=600", "--connect-retry-delay=1"]);
        command.arg(format!("--ndb-connectstring={}", self.place()));
        command.arg(format!("--ndb-nodeid={node}"));
        command.spawn().unwrap()
    }

    fn server(&self) -> Command {
        let mut command = self.command("mysqld");
        unprivileged(&mut command);
        command.arg("--secure-file-priv=NULL");
        let own = [("basedir", ""), ("lc-messages-dir", "share"), ("character-sets-dir", "share/charsets")];
        command.args(own.map(|(option, path)| format!("--{option}={}", self.home.join(path).display())));
        command.arg(format!("--datadir={}", self.directory.join("data").display()));
        command.arg(format!("--tmpdir={}", self.directory.join("tmp").display()));
        command
    }

    fn initialise(&self) {
        let output = self.server().arg("--initialize-insecure").stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Asks the manager until both data nodes have started.
    fn until_started(&self) {
        let started = || {
            let mut command = self.command("ndb_mgm");
            command.args(["--connect-string", &self.place(), "-e", "ALL STATUS"]).stdout(Stdio::piped());
            let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
            said.matches(": started").count() == DATA_NODES.len()
        };
        while !started() {}
    }

    fn sql_node(&self) -> (Child, Result<(), String>) {
        let mut command = self.server();
        command.args(["--ndbcluster", "--skip-networking", "--mysqlx=OFF", "--skip-log-bin"]);
        command.args(["--max-connections=200", "--performance-schema=OFF"]);
        command.arg(format!("--ndb-connectstring={}", self.place()));
        command.arg(format!("--ndb-nodeid={SQL_NODE}"));
        command.arg(format!("--socket={}", socket(&self.directory).display()));
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut log = io::BufReader::new(child.stderr.take().unwrap());
        let said = common::until_ready(&mut log);
        thread::spawn(move || io::copy(&mut log, &mut io::sink()));
        (child, said)
    }
}
