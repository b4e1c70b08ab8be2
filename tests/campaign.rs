//! Whatever dies at whatever moment of a run: after a restart nothing is left, nothing foreign has changed, and no
//! finished record is lost. A seeded sample by default; with `BENCHD_CAMPAIGN=full` every point and 268 random moments.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![allow(clippy::print_stderr, reason = "a campaign says how long it took")]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use benchd::target::Client;
use common::program::{Daemon, PATIENCE, Place, children, is_alive, words};
use common::{Flavour, Server};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Draws of a campaign begin here.
const SEED: u64 = 0x6265_6e63_6864;
/// A run is met after so many of its events, from none to more than it has.
const POINTS: usize = 15;
/// Random moments of each kind of run when nothing is left out; there are four kinds.
const MOMENTS: usize = 67;
/// The latest of the random moments.
const LATEST: u64 = 4_000;
/// What is tried of each kind of run by default: points and random moments.
const SAMPLE: (usize, usize) = (7, 3);

/// Who is ended at once, together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Daemon,
    Worker,
    Load,
    DaemonAndWorker,
    WorkerAndLoad,
    All,
    /// The server is killed: the scratch server, or that of others, which is started again afterwards.
    Server,
    /// The server is stopped in its tracks, and the daemon and the worker are killed.
    Frozen,
    /// The server is stopped in its tracks, and the run is cancelled.
    FrozenAndCancelled,
}

const VICTIMS: [Victim; 9] = [
    Victim::Daemon,
    Victim::Worker,
    Victim::Load,
    Victim::DaemonAndWorker,
    Victim::WorkerAndLoad,
    Victim::All,
    Victim::Server,
    Victim::Frozen,
    Victim::FrozenAndCancelled,
];

/// When it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    AfterEvents(usize),
    AfterMilliseconds(u64),
}

/// Splitmix64: the same draws everywhere.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).unwrap()).unwrap()
    }
}

/// The attempts of a campaign, in an order that the seed gives.
fn attempts(seed: u64) -> Vec<(Moment, Victim)> {
    let mut draws = Draws(seed);
    let mut points: Vec<(Moment, Victim)> =
        (0..POINTS).flat_map(|point| VICTIMS.map(|victim| (Moment::AfterEvents(point), victim))).collect();
    for place in (1..points.len()).rev() {
        points.swap(place, draws.below(place + 1));
    }
    let moments = (0..MOMENTS).map(|_| {
        let after = Moment::AfterMilliseconds(draws.next() % LATEST);
        (after, VICTIMS[draws.below(VICTIMS.len())])
    });
    let moments: Vec<(Moment, Victim)> = moments.collect();
    if std::env::var("BENCHD_CAMPAIGN").as_deref() == Ok("full") {
        return points.into_iter().chain(moments).collect();
    }
    points.into_iter().take(SAMPLE.0).chain(moments.into_iter().take(SAMPLE.1)).collect()
}

fn send(pid: u32, signal: Signal) {
    // It may have ended by itself.
    let _ = kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal);
}

fn command_line(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// The worker of a place, whoever started it.
fn worker_of(place: &Place) -> Option<u32> {
    processes_of(place).into_iter().find(|pid| command_line(*pid) == "benchd\0worker\0")
}

fn load_of(place: &Place) -> Option<u32> {
    worker_of(place).into_iter().flat_map(children).find(|pid| command_line(*pid).contains("--load"))
}

fn scratch_of(place: &Place) -> Option<u32> {
    worker_of(place).into_iter().flat_map(children).find(|pid| command_line(*pid).contains("--datadir"))
}

/// All processes that were started for a place: its directory stands in their environment.
fn processes_of(place: &Place) -> BTreeSet<u32> {
    let mark = format!("XDG_STATE_HOME={}", place.path("").display());
    let mark = mark.trim_end_matches('/');
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == mark.as_bytes()) && is_alive(*pid)
    })
    .collect()
}

/// One kind of run, and what is known of it meanwhile.
struct Campaign {
    place: Place,
    server: Option<Server>,
    daemon: Option<Daemon>,
    foreign: Vec<Vec<Option<String>>>,
}

impl Campaign {
    fn new(place: Place, server: Option<Server>) -> Campaign {
        let daemon = Some(place.serve());
        let mut campaign = Campaign { place, server, daemon, foreign: Vec::new() };
        campaign.foreign = campaign.foreign_now();
        campaign
    }

    fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().unwrap()
    }

    /// Everything on the server that benchd did not make: definitions and checksums.
    fn foreign_now(&self) -> Vec<Vec<Option<String>>> {
        let Some(server) = &self.server else { return Vec::new() };
        let mut client = Client::connect(&server.root()).unwrap();
        let mut state = Vec::new();
        let tables = "SELECT CONCAT('`', table_schema, '`.`', table_name, '`') FROM information_schema.tables \
                      WHERE table_schema IN ('shop', 'benchd_scratch_77aa01bc') ORDER BY 1";
        for table in client.rows(tables).unwrap().into_iter().flatten().flatten() {
            state.extend(client.rows(&format!("SHOW CREATE TABLE {table}")).unwrap());
            state.extend(client.rows(&format!("CHECKSUM TABLE {table} EXTENDED")).unwrap());
        }
        state.extend(client.rows("SELECT user, host FROM mysql.user ORDER BY 1, 2").unwrap());
        let variables = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('sql_log_bin', 'innodb_lock_wait_timeout', \
                         'max_connections', 'innodb_buffer_pool_size')";
        state.extend(client.rows(variables).unwrap());
        state
    }

    /// What the server says of its connections and their transactions.
    fn connections(&self) -> Vec<Vec<Option<String>>> {
        let Some(server) = &self.server else { return Vec::new() };
        let mut client = Client::connect(&server.root()).unwrap();
        let mut found = client.rows("SHOW FULL PROCESSLIST").unwrap();
        let open = "SELECT trx_mysql_thread_id, trx_state, trx_started, trx_query FROM information_schema.innodb_trx";
        found.extend(client.rows(open).unwrap());
        found
    }

    /// Starts a run, lets it come as far as it should, strikes, and looks at what is left.
    fn attempt(&mut self, moment: Moment, victim: Victim) {
        let id = self.daemon().trigger(r#"{"suite":"s"}"#);
        let finished = self.until(&id, moment);
        self.strike(victim);
        let restarts = self.daemon.as_mut().is_none_or(|daemon| !is_alive(daemon.pid()));
        if restarts {
            drop(self.daemon.take());
            self.daemon = Some(self.place.serve());
        } else {
            if victim == Victim::FrozenAndCancelled {
                // The run may be over.
                let status = self.daemon().ask("DELETE", &format!("/api/v1/runs/{id}"), "").status;
                assert!([202, 409].contains(&status), "{status}");
            }
            self.daemon().follow(&id);
        }
        match (victim, &mut self.server) {
            (Victim::Server, Some(server)) => server.start_again(SERVER),
            (Victim::Frozen | Victim::FrozenAndCancelled, Some(server)) => server.thaw(),
            _ => {}
        }
        let what = format!("{victim:?} at {moment:?}");
        let left = self.others_of_place();
        let lines: Vec<String> = left.iter().map(|pid| command_line(*pid)).collect();
        assert!(left.is_empty(), "{what}: still there: {lines:?}");
        self.check_record(&id, &finished, &what);
        if restarts {
            self.check_files(&what);
        }
        assert_eq!(self.foreign_now(), self.foreign, "{what}: something foreign changed");
    }

    /// Processes of the place beside the daemon. One that was told to end gets time for it, and until then no run
    /// starts: a server that is told while it starts looks for itself for a while first.
    fn others_of_place(&self) -> Vec<u32> {
        let began = Instant::now();
        loop {
            let others = processes_of(&self.place).into_iter().filter(|pid| *pid != self.daemon().pid());
            let others: Vec<u32> = others.collect();
            let over = others.is_empty() && self.daemon().get("/api/v1/status").json()["alarm"].is_null();
            if over || began.elapsed() > PATIENCE {
                return others;
            }
        }
    }

    /// Follows a run to the moment; gives the cases that were said to be finished.
    fn until(&self, id: &str, moment: Moment) -> BTreeSet<u64> {
        let mut finished = BTreeSet::new();
        match moment {
            Moment::AfterEvents(0) => {}
            Moment::AfterEvents(count) => {
                let mut left = count;
                self.daemon().each_event(id, |event| {
                    left -= 1;
                    if event["event"] == "result" && event["outcome"] == "finished" {
                        finished.insert(event["index"].as_u64().unwrap() - 1);
                    }
                    left > 0
                });
            }
            // Not a wait for a state: the moment itself is what is drawn.
            Moment::AfterMilliseconds(after) => std::thread::sleep(Duration::from_millis(after)),
        }
        finished
    }

    fn strike(&mut self, victim: Victim) {
        let (worker, load, scratch) = (worker_of(&self.place), load_of(&self.place), scratch_of(&self.place));
        let daemon = Some(self.daemon().pid());
        let victims = match victim {
            Victim::Daemon => vec![daemon],
            Victim::Worker => vec![worker],
            Victim::Load => vec![load],
            Victim::DaemonAndWorker => vec![daemon, worker],
            Victim::WorkerAndLoad => vec![worker, load],
            Victim::All => vec![daemon, worker, load],
            Victim::Server => {
                self.server.iter_mut().for_each(Server::kill);
                vec![scratch]
            }
            Victim::Frozen | Victim::FrozenAndCancelled => {
                scratch.into_iter().for_each(|pid| send(pid, Signal::SIGSTOP));
                self.server.iter().for_each(Server::freeze);
                if victim == Victim::Frozen { vec![daemon, worker] } else { Vec::new() }
            }
        };
        victims.iter().flatten().for_each(|pid| send(*pid, Signal::SIGKILL));
        if victims.contains(&daemon) {
            // Collects it, so that it is gone when the next one starts.
            drop(self.daemon.take());
        }
    }

    /// The run has an end, and what was said to be finished is there.
    fn check_record(&self, id: &str, finished: &BTreeSet<u64>, what: &str) {
        let answer = self.daemon().get(&format!("/api/v1/runs/{id}"));
        if answer.status == 404 {
            // Accepted, and killed before anything was begun.
            assert!(finished.is_empty(), "{what}: the run is lost");
            return;
        }
        let record = answer.json();
        assert!(record["outcome"].is_string(), "{what}: the run has no end: {record}");
        let cases = record["cases"].as_array().unwrap().iter();
        let kept: BTreeSet<u64> = cases
            .filter(|case| case["outcome"] == "finished")
            .map(|case| case["index"].as_u64().unwrap())
            .collect();
        assert!(finished.is_subset(&kept), "{what}: {finished:?} had finished, {kept:?} are kept");
    }

    fn check_files(&self, what: &str) {
        let allowed = [
            "benchd.toml",
            "benchd.db",
            "benchd.db-wal",
            "benchd.db-shm",
            "benchd.sock",
            "worker.sock",
            "scratch",
        ];
        let others = |name: &String| !allowed.contains(&name.as_str()) && name != "scratch.json";
        let left: Vec<String> = names(&self.place.path(""))
            .into_iter()
            .filter(others)
            .filter(|name| !name.ends_with("lock"))
            .collect();
        assert!(left.is_empty(), "{what}: {left:?} are left");
        let home = names(&self.place.path("scratch/scratch"));
        assert!(
            home.iter().all(|name| name == ".benchd" || name == "data"),
            "{what}: {home:?} are left of the scratch server"
        );
    }

    /// After all of it a run finishes, another start finds nothing, and all that was made can be removed.
    fn conclude(mut self) {
        let id = self.daemon().trigger(r#"{"suite":"s"}"#);
        self.daemon().follow(&id);
        let record = self.daemon().record(&id);
        assert_eq!(record["outcome"], "finished", "{:?}\n{record}", self.connections());
        for _ in 0..2 {
            drop(self.daemon.take());
            self.daemon = Some(self.place.serve());
        }
        for kind in ["worker", "server", "schema", "file", "run"] {
            let series = format!("benchd_recovered_leftovers_total{{kind=\"{kind}\"}}");
            assert_eq!(self.daemon().metric(&series), Some(0.0), "{kind} is found again");
        }
        drop(self.daemon.take());
        let removed = self.place.run(&["scratch", "--remove"]);
        assert!(removed.status.success(), "{}", words(&removed));
        assert_eq!(names(&self.place.path("scratch")), Vec::<String>::new());
        if let Some(server) = &self.server {
            let mut client = Client::connect(&server.root()).unwrap();
            let ours = "SELECT table_name FROM information_schema.tables WHERE table_schema LIKE 'benchd\\_scratch\\_%' \
                        AND table_schema <> 'benchd_scratch_77aa01bc'";
            assert_eq!(client.rows(ours).unwrap(), [[Some("_owner".to_owned())]]);
            client.close();
        }
        assert_eq!(self.foreign_now(), self.foreign);
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

fn campaign(place: Place, server: Option<Server>, seed: u64) {
    let mut campaign = Campaign::new(place, server);
    let attempts = attempts(seed);
    let (began, count) = (Instant::now(), attempts.len());
    for (moment, victim) in attempts {
        campaign.attempt(moment, victim);
    }
    campaign.conclude();
    eprintln!("campaign: {count} attempts in {:.0} s", began.elapsed().as_secs_f64());
}

/// A suite of two cases; the second makes its tables anew.
fn suite(workload: &str, target: &str, keys: &str) -> String {
    format!(
        r#"
[suite.s]
profile = "lab"
{target}
[[suite.s.benchmark]]
name = "one"
workload = "{workload}"
warm_up = "300ms"
time = "1s"
{keys}
[[suite.s.benchmark]]
name = "two"
workload = "{workload}"
warm_up = "300ms"
time = "1s"
{keys}
{}
"#,
        if keys.is_empty() { "" } else { "reuse = false" }
    )
}

const TABLES: &str = "threads = 2\ntables = 2\ntable_size = 3000";

fn main_target(server: &Server) -> String {
    format!(
        "[target.main]\nkind = \"server\"\nuser = \"root\"\nrole = \"standalone\"\nwrites = true\n\
         accept_excess_privileges = true\nsocket = \"{}\"\n",
        server.socket().display()
    )
}

/// Options of the server of others.
const SERVER: &[&str] = &["--performance-schema=ON"];

/// A server with what is someone's, and a schema that only looks like benchd's.
fn server() -> Server {
    let server = Server::start(Flavour::MariaDb, SERVER);
    server.setup(&[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, total INT) ENGINE=InnoDB",
        "INSERT INTO shop.orders SELECT seq, seq * 7 FROM shop.seq_1_to_1000",
        "CREATE TABLE shop.sbtest1 (id INT PRIMARY KEY) ENGINE=Aria",
        "INSERT INTO shop.sbtest1 VALUES (1), (2)",
        "CREATE DATABASE benchd_scratch_77aa01bc",
        "CREATE TABLE benchd_scratch_77aa01bc.sbtest1 (id INT PRIMARY KEY)",
        "INSERT INTO benchd_scratch_77aa01bc.sbtest1 VALUES (42)",
    ]);
    server
}

#[test]
fn whatever_dies_of_a_run_on_the_host_nothing_is_left_or_lost() {
    campaign(Place::new(&suite("cpu", "", "")), None, SEED);
}

#[test]
fn whatever_dies_of_a_run_on_a_scratch_server_nothing_is_left_or_lost() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let text = suite("oltp_read_write", "target = \"scratch\"", TABLES);
    campaign(Place::new(&text), None, SEED + 1);
}

#[test]
fn whatever_dies_of_a_run_whose_worker_is_no_child_of_the_daemon_nothing_is_left_or_lost() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let text = suite("oltp_read_write", "target = \"scratch\"", TABLES);
    campaign(Place::with_manager(&text), None, SEED + 3);
}

#[test]
fn whatever_dies_of_a_run_on_a_server_nothing_is_left_or_lost_and_nothing_foreign_changes() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let server = server();
    let text = main_target(&server) + &suite("oltp_read_write", "target = \"main\"", TABLES);
    campaign(Place::new(&text), Some(server), SEED + 2);
}
