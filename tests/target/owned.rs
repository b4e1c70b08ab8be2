use std::fs;
use std::path::{Path, PathBuf};

use benchd::target::{Client, DaemonIdentity, ErrorClass, OwnedSchema, OwnershipError, PreparedTarget};
use tempfile::TempDir;
use uuid::Uuid;

use crate::common::{Flavour, Server};

/// A server of someone's, a daemon, and the local side of its proofs.
struct Host {
    server: Server,
    daemon: DaemonIdentity,
    directory: TempDir,
}

impl Host {
    fn all() -> impl Iterator<Item = Host> {
        Flavour::present().into_iter().map(|flavour| Host::on(Server::start(flavour, &[])))
    }

    fn on(server: Server) -> Host {
        let daemon = DaemonIdentity { uuid: Uuid::new_v4(), host: "db1".to_owned() };
        Host { server, daemon, directory: tempfile::tempdir().unwrap() }
    }

    fn local(&self) -> PathBuf {
        self.directory.path().join("owned.json")
    }

    fn client(&self) -> Client {
        Client::connect(&self.server.root()).unwrap()
    }

    fn schema(&self) -> String {
        format!("benchd_scratch_{}", &self.daemon.uuid.simple().to_string()[..8])
    }

    fn try_claim(&self) -> Result<OwnedSchema, OwnershipError> {
        OwnedSchema::claim(&mut self.client(), "main", &self.daemon, &self.local())
    }

    fn claim(&self) -> OwnedSchema {
        self.try_claim().unwrap_or_else(|error| panic!("{error}"))
    }

    /// A claimed schema with two tables, one of which holds a data set.
    fn with_tables(&self) -> OwnedSchema {
        let mut schema = self.claim();
        let mut client = self.client();
        schema.create_table(&mut client, "sbtest1", "(id INT PRIMARY KEY)").unwrap();
        schema.create_table(&mut client, "sbtest2", "(id INT PRIMARY KEY) ENGINE=InnoDB").unwrap();
        schema.set_dataset(&mut client, "sbtest1", Some("1000 rows, seed 1")).unwrap();
        client.query(&format!("INSERT INTO `{}`.sbtest1 VALUES (1), (2)", self.schema())).unwrap();
        schema
    }

    /// Everything in the schema: of each table its definition and checksum, and the other objects by name.
    fn state(&self) -> Vec<Vec<Option<String>>> {
        let schema = self.schema();
        let mut client = self.client();
        let mut state = Vec::new();
        let sql = format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}' AND table_type = \
             'BASE TABLE' ORDER BY 1"
        );
        for table in client.rows(&sql).unwrap().into_iter().flatten().flatten() {
            state.extend(client.rows(&format!("SHOW CREATE TABLE `{schema}`.`{table}`")).unwrap());
            state.extend(client.rows(&format!("CHECKSUM TABLE `{schema}`.`{table}`")).unwrap());
        }
        for (table, column) in
            [("views", "table"), ("routines", "routine"), ("triggers", "trigger"), ("events", "event")]
        {
            let sql = format!(
                "SELECT {column}_name FROM information_schema.{table} WHERE {column}_schema = '{schema}' ORDER BY 1"
            );
            state.extend(client.rows(&sql).unwrap());
        }
        state
    }

    /// A claim that is refused and changes nothing; returns why.
    fn refused(&self) -> OwnershipError {
        let (remote, local) = (self.state(), fs::read_to_string(self.local()).ok());
        let error = self.try_claim().map(drop).unwrap_err();
        assert_eq!(self.state(), remote, "something in the schema changed");
        assert_eq!(fs::read_to_string(self.local()).ok(), local, "the local side changed");
        error
    }

    fn refused_because(&self, why: &str) {
        let error = self.refused();
        let start = format!("nothing done in schema {} on main: ", self.schema());
        assert!(matches!(error, OwnershipError::Refused(_)), "{error}");
        assert!(error.to_string().starts_with(&start) && error.to_string().contains(why), "{error}");
    }
}

#[test]
fn a_schema_is_made_once_and_its_data_known_the_next_time() {
    for host in Host::all() {
        let schema = host.with_tables();
        assert_eq!(schema.name(), host.schema());
        drop(schema);
        let mut client = host.client();
        let prepared = PreparedTarget::claim(&mut client, "main", &host.daemon, &host.local()).unwrap();
        assert_eq!(prepared.access.schema, Some(host.schema()));
        let mut schema = prepared.schema;
        assert_eq!(schema.tables().collect::<Vec<_>>(), ["sbtest1", "sbtest2"]);
        assert_eq!(schema.dataset("sbtest1"), Some("1000 rows, seed 1"));
        assert_eq!(schema.dataset("sbtest2"), None);
        schema.set_dataset(&mut client, "sbtest1", None).unwrap();
        for table in ["sbtest1", "sbtest2"] {
            schema.drop_table(&mut client, table).unwrap();
        }
        let left = client.rows(&format!("SHOW TABLES FROM `{}`", host.schema())).unwrap();
        assert_eq!(left, [[Some("_owner".to_owned())]], "the schema stays, with its marker");
        assert_eq!(host.claim().tables().count(), 0);
    }
}

#[test]
fn a_schema_of_the_same_name_is_someones() {
    for host in Host::all() {
        let schema = host.schema();
        host.server.setup(&[&format!("CREATE DATABASE `{schema}`")]);
        host.refused_because("it has no marker of benchd's: someone else made it");
        host.server.setup(&[
            &format!("CREATE TABLE `{schema}`.orders (id INT PRIMARY KEY, c TEXT)"),
            &format!("INSERT INTO `{schema}`.orders VALUES (1, 'precious')"),
        ]);
        host.refused_because("it has no marker of benchd's");
        host.server.setup(&[&format!("CREATE TABLE `{schema}`._owner (name TEXT)")]);
        host.refused_because("it has no marker of benchd's");
    }
}

#[test]
fn nothing_is_done_beside_an_object_that_benchd_did_not_create() {
    for host in Host::all() {
        let mut schema = host.with_tables();
        let name = host.schema();
        for (create, drop, object) in [
            ("CREATE TABLE sbtest9 (id INT)", "DROP TABLE sbtest9", "table sbtest9"),
            ("CREATE VIEW v AS SELECT 1", "DROP VIEW v", "view v"),
            ("CREATE PROCEDURE p() SELECT 1", "DROP PROCEDURE p", "routine p"),
            (
                "CREATE TRIGGER t BEFORE INSERT ON sbtest1 FOR EACH ROW SET NEW.id = 1",
                "DROP TRIGGER t",
                "trigger t",
            ),
            ("CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1", "DROP EVENT e", "event e"),
        ] {
            let within = |statement: &str| host.server.setup(&[&format!("USE `{name}`; {statement}")]);
            within(create);
            host.refused_because(&format!(
                "it holds {object} that benchd did not create; move or drop it yourself, benchd never will"
            ));
            let before = host.state();
            let error = schema.drop_table(&mut host.client(), "sbtest1").unwrap_err();
            assert!(error.to_string().contains(object), "{error}");
            assert_eq!(host.state(), before);
            within(drop);
        }
        assert_eq!(host.claim().dataset("sbtest1"), Some("1000 rows, seed 1"));
    }
}

#[test]
fn a_schema_that_came_from_another_server_is_foreign() {
    for host in Host::all() {
        host.with_tables();
        let marker = format!("UPDATE `{}`._owner SET server_uuid = 'another'", host.schema());
        host.server.setup(&[&marker]);
        let error = host.refused();
        assert!(matches!(error, OwnershipError::Foreign(_)), "{error}");
        let why =
            "it carries the marker of another server (another): this one was cloned from it. Left alone";
        assert!(error.to_string().ends_with(why), "{error}");
    }
}

#[test]
fn a_copied_server_is_another_one() {
    for flavour in Flavour::present() {
        let host = Host::on(Server::start(flavour, &[]));
        host.with_tables();
        let clone = Host { server: host.server.start_copy(), daemon: host.daemon, directory: host.directory };
        let error = clone.refused();
        assert!(matches!(error, OwnershipError::Foreign(_)), "{error}");
    }
}

#[test]
fn both_sides_must_agree_on_who_made_it() {
    for host in Host::all() {
        host.with_tables();
        let kept = fs::read_to_string(host.local()).unwrap();
        fs::remove_file(host.local()).unwrap();
        host.refused_because("its marker and ");
        fs::write(host.local(), &kept).unwrap();
        for change in
            ["daemon_uuid = UUID()", "nonce = UUID()", "host = 'x'", "created_at = '2020-01-01T00:00:00Z'"]
        {
            let marker = format!("`{}`._owner", host.schema());
            host.server.setup(&[
                &format!("CREATE TABLE `{}`._kept AS SELECT * FROM {marker}", host.schema()),
                &format!("UPDATE {marker} SET {change}"),
            ]);
            host.refused_because("do not agree on who made it");
            host.server.setup(&[
                &format!("DELETE FROM {marker}"),
                &format!("INSERT INTO {marker} SELECT * FROM `{}`._kept", host.schema()),
                &format!("DROP TABLE `{}`._kept", host.schema()),
            ]);
        }
        host.server.setup(&[&format!("DELETE FROM `{}`._owner", host.schema())]);
        host.refused_because("it has no marker of benchd's");
    }
}

#[test]
fn a_damaged_local_side_proves_nothing() {
    for host in Host::all() {
        host.with_tables();
        fs::write(host.local(), "{").unwrap();
        let error = host.refused();
        assert!(error.to_string().contains("is damaged: nothing is done without it"), "{error}");
    }
}

#[test]
fn a_making_that_a_crash_cut_short_is_taken_up_again() {
    for host in Host::all() {
        let name = host.schema();
        host.claim();
        let finished = fs::read_to_string(host.local()).unwrap();
        let begun = finished.replace("\"marked\": true", "\"marked\": false");
        assert_ne!(begun, finished);
        for crash in [
            vec![format!("DROP DATABASE `{name}`")],
            vec![format!("DROP DATABASE `{name}`"), format!("CREATE DATABASE `{name}`")],
            vec![format!("DELETE FROM `{name}`._owner")],
            vec![],
        ] {
            host.server.setup(&crash.iter().map(String::as_str).collect::<Vec<_>>());
            // An earlier round may have made it anew; then its own proof is the one that was begun.
            let now = fs::read_to_string(host.local()).unwrap();
            fs::write(host.local(), now.replace("\"marked\": true", "\"marked\": false")).unwrap();
            assert_eq!(host.claim().tables().count(), 0);
            assert!(fs::read_to_string(host.local()).unwrap().contains("\"marked\": true"));
        }
        // The same with something in it is not ours to finish.
        host.server.setup(&[
            &format!("DELETE FROM `{name}`._owner"),
            &format!("CREATE TABLE `{name}`.orders (id INT)"),
        ]);
        let now = fs::read_to_string(host.local()).unwrap();
        fs::write(host.local(), now.replace("\"marked\": true", "\"marked\": false")).unwrap();
        host.refused_because("it has no marker of benchd's");
    }
}

#[test]
fn only_tables_made_here_can_be_dropped() {
    for host in Host::all() {
        let mut schema = host.with_tables();
        let mut client = host.client();
        for table in ["sbtest3", "_owner", "mysql.user", "sbtest1`; DROP TABLE sbtest2"] {
            assert!(
                matches!(schema.drop_table(&mut client, table), Err(OwnershipError::Refused(_))),
                "{table}"
            );
            assert!(
                matches!(schema.set_dataset(&mut client, table, None), Err(OwnershipError::Refused(_))),
                "{table}"
            );
        }
        for table in ["", "_owner", "Sbtest", "a b", "x`y", "sbtest1"] {
            let made = schema.create_table(&mut client, table, "(id INT)");
            assert!(matches!(made, Err(OwnershipError::Refused(_))), "{table}");
        }
        let Err(OwnershipError::Sql(error)) = schema.create_table(&mut client, "broken", "(nonsense)") else {
            panic!("the server accepts nonsense");
        };
        assert_eq!(error.class, ErrorClass::Other);
        assert_eq!(schema.tables().collect::<Vec<_>>(), ["sbtest1", "sbtest2"]);
        client.query(&format!("DROP TABLE `{}`.sbtest2", host.schema())).unwrap();
        schema.drop_table(&mut client, "sbtest2").unwrap();
        assert_eq!(host.claim().tables().collect::<Vec<_>>(), ["sbtest1"]);
    }
}

#[test]
fn a_connection_to_another_server_drops_nothing() {
    for flavour in Flavour::present() {
        let one = Host::on(Server::start(flavour, &[]));
        let mut schema = one.with_tables();
        let other = Host { daemon: one.daemon.clone(), ..Host::on(Server::start(flavour, &[])) };
        other.with_tables();
        let before = other.state();
        let error = schema.drop_table(&mut other.client(), "sbtest1").unwrap_err();
        assert!(error.to_string().contains("the connection leads to another server than before"), "{error}");
        assert_eq!(other.state(), before);
    }
}

#[test]
fn one_local_side_serves_several_servers() {
    let Some(flavour) = Flavour::present().into_iter().next() else { return };
    let one = Host::on(Server::start(flavour, &[]));
    one.with_tables();
    let two = Server::start(flavour, &[]);
    let mut client = Client::connect(&two.root()).unwrap();
    OwnedSchema::claim(&mut client, "other", &one.daemon, &one.local()).unwrap();
    assert_eq!(one.claim().tables().count(), 2);
    assert!(Path::new(&one.local()).exists());
}

#[test]
fn what_is_done_without_the_binary_log_says_so_in_its_marker() {
    for host in Host::all() {
        for (suppress_binlog, log_bin) in [(true, "0"), (false, "1")] {
            let access = benchd::target::Access { suppress_binlog, ..host.server.root() };
            let mut client = Client::connect(&access).unwrap();
            OwnedSchema::claim(&mut client, "main", &host.daemon, &host.local()).unwrap();
            let sql = format!("SELECT log_bin FROM `{}`._owner", host.schema());
            assert_eq!(client.rows(&sql).unwrap(), [[Some(log_bin.to_owned())]]);
            client.query(&format!("DROP DATABASE `{}`", host.schema())).unwrap();
        }
    }
}
