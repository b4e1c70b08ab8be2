//! Every workload on engines beside InnoDB.

use serde_json::json;
use tempfile::TempDir;

use super::common::{self, Flavour, Server};
use super::ndb::Cluster;
use super::{measure, prepare, server, value, workload};
use benchd::driver::Stop;
use benchd::target::{Access, Client, DaemonIdentity, Prepared, PreparedTarget};
use uuid::Uuid;

/// Every workload with the keys in which its statements differ.
const EVERY: [(&str, &str); 22] = [
    ("oltp_point_select", "{}"),
    ("oltp_read_only", "{}"),
    ("oltp_write_only", "{}"),
    ("oltp_read_write", "{}"),
    ("oltp_read_write", r#"{"protocol": "text", "skip_trx": true, "auto_inc": false}"#),
    ("oltp_read_write", r#"{"secondary": true, "create_secondary": false, "auto_inc": false}"#),
    ("oltp_update_index", "{}"),
    ("oltp_update_non_index", "{}"),
    ("oltp_insert", "{}"),
    ("oltp_insert", r#"{"auto_inc": false}"#),
    ("oltp_delete", "{}"),
    ("select_random_points", "{}"),
    ("select_random_ranges", "{}"),
    ("bulk_insert", "{}"),
    ("oltp05", "{}"),
    ("oltp04", "{}"),
    ("oltp04", r#"{"mode": "simple", "reconnect": "query", "connect_delay": "0ms"}"#),
    ("oltp04", r#"{"mode": "nontrx"}"#),
    ("oltp04", r#"{"mode": "nontrx", "nontrx": "update_key"}"#),
    ("oltp04", r#"{"mode": "nontrx", "nontrx": "update_nokey"}"#),
    ("oltp04", r#"{"mode": "nontrx", "nontrx": "insert"}"#),
    ("oltp04", r#"{"mode": "nontrx", "nontrx": "delete"}"#),
];

/// A schema of benchd's on a server.
struct Owned {
    at: Prepared,
    /// Holds the local side of the proof that the schema is benchd's.
    _directory: TempDir,
}

impl Owned {
    fn on(root: &Access) -> Owned {
        let directory = common::directory();
        let daemon = DaemonIdentity { uuid: Uuid::new_v4(), host: "host".to_owned() };
        let mut client = Client::connect(root).unwrap();
        let at = PreparedTarget::claim(&mut client, "test", &daemon, &directory.path().join("owned.json"));
        client.close();
        Owned { at: Prepared::Server(Box::new(at.unwrap())), _directory: directory }
    }

    fn access(&self) -> &Access {
        &server(&self.at).access
    }

    /// Runs every workload on an engine; its tables must be of that engine.
    fn run_every(&mut self, engine: &str) {
        for (name, keys) in EVERY {
            let mut keys: serde_json::Value = serde_json::from_str(keys).unwrap();
            keys["engine"] = json!(engine);
            let case = workload(name, keys.clone());
            prepare(case.as_ref(), &mut self.at);
            let result = measure(case.as_ref(), self.access());
            assert_eq!(
                (result.operations, result.errors.failed),
                (20, 0),
                "{name} {keys}: {:?}",
                result.errors
            );
            let others = format!(
                "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() \
                 AND TABLE_NAME LIKE 'sbtest%' AND ENGINE <> '{engine}'"
            );
            assert_eq!(value(self.access(), &others), "0", "{name} {keys}");
        }
    }

    /// Clients in each other's way: whatever they meet, no row is lost and none is there twice.
    fn run_in_a_crowd(&mut self, engine: &str) {
        let keys = json!({"engine": engine, "threads": 8, "table_size": 50, "operations": 200, "max_errors": "100%"});
        let case = workload("oltp_write_only", keys);
        prepare(case.as_ref(), &mut self.at);
        let result = measure(case.as_ref(), self.access());
        assert!(result.operations > 0, "{engine}: {:?}", result.errors);
        for rows in ["SELECT COUNT(*) FROM sbtest1", "SELECT COUNT(DISTINCT id) FROM sbtest1"] {
            assert_eq!(value(self.access(), rows), "50", "{engine}: {:?}", result.errors);
        }
    }

    /// A load that is cut short goes on where its rows end, and ends with the rows of InnoDB.
    fn load_in_two_parts(&mut self, engine: &str) {
        let case = |engine: &str| workload("oltp_read_only", json!({"table_size": 60_000, "engine": engine}));
        prepare(case("innodb").as_ref(), &mut self.at);
        let sum = rows_sum(self.access());
        let stop = Stop::new();
        let mut progress = |done: u64, _, _| {
            // After the first rows that are kept, and before the last.
            if (22_000..60_000).contains(&done) {
                stop.request();
            }
        };
        case(engine).prepare(Some(&mut self.at), &stop, &mut progress).unwrap_err();
        let mut first = None;
        let mut progress = |done: u64, _, _| first = first.or(Some(done));
        case(engine).prepare(Some(&mut self.at), &Stop::new(), &mut progress).unwrap();
        assert!(first.is_some_and(|first| first > 0), "{engine}: {first:?}");
        assert_eq!(rows_sum(self.access()), sum, "{engine}");
    }
}

fn rows_sum(access: &Access) -> String {
    value(access, "SELECT SUM(CRC32(CONCAT_WS('#', id, k, c, pad))) FROM sbtest1")
}

#[test]
fn every_workload_runs_on_engines_without_transactions() {
    let Some(_) = Flavour::MariaDb.program() else { return };
    let server = Server::start(Flavour::MariaDb, &[]);
    ["myisam", "aria", "memory"].iter().for_each(|engine| Owned::on(&server.root()).run_every(engine));
}

#[test]
fn every_workload_runs_on_rocksdb() {
    // Without it each deadlock lasts until a lock was waited for too long.
    let options = ["--plugin-load-add=ha_rocksdb", "--rocksdb-deadlock-detect=ON"];
    let Some(server) = Server::with_plugins(&options) else { return };
    let mut owned = Owned::on(&server.root());
    owned.run_every("rocksdb");
    owned.run_in_a_crowd("rocksdb");
    owned.load_in_two_parts("rocksdb");
}

#[test]
fn every_workload_runs_on_an_ndb_cluster() {
    let Some(cluster) = Cluster::start() else { return };
    let mut owned = Owned::on(&cluster.root());
    let without_key = workload("oltp_read_only", json!({"engine": "ndbcluster", "secondary": true}));
    let error = without_key.prepare(Some(&mut owned.at), &Stop::new(), &mut |_, _, _| ()).unwrap_err();
    assert!(format!("{error:#}").contains("without primary key"), "the engine says why: {error:#}");
    owned.load_in_two_parts("ndbcluster");
    owned.run_in_a_crowd("ndbcluster");
    owned.run_every("ndbcluster");
}
