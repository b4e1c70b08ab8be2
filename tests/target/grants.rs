//! What `benchd grants` prints, on real servers: enough to load and to observe, and nothing beyond.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use benchd::target::Client;
use nix::sys::signal::Signal;
use nix::unistd::{Uid, User};

use crate::common::program::{Place, words};
use crate::common::{Flavour, Server, skip, unprivileged};

const PASSWORD: &str = "it's # a \\ horse";

fn configure(place: &Place, server: &Server, rows: u32) {
    let (port, file) = (server.port, place.path("password").display().to_string());
    place.configure(&format!(
        r#"
[target.main]
kind = "server"
host = "127.0.0.1"
port = {port}
password_file = "{file}"
role = "standalone"
writes = true

[suite.db]
profile = "lab"
[[suite.db.benchmark]]
workload = "oltp_read_write"
target = "main"
table_size = {rows}
warm_up = "0s"
time = "200ms"
"#
    ));
}

/// A server with a binary log, and a place whose daemon has been started once, so that its number is known.
fn begin(flavour: Flavour) -> (Server, Place) {
    let server = Server::start(flavour, &["--log-bin=binlog", "--server-id=1"]);
    let place = Place::new("");
    fs::write(place.path("password"), format!("{PASSWORD}\n")).unwrap();
    fs::set_permissions(place.path("password"), Permissions::from_mode(0o600)).unwrap();
    configure(&place, &server, 100);
    assert!(place.serve().end(Signal::SIGTERM).0.success());
    (server, place)
}

/// What is printed for the server, made fit for one that lacks a plugin for the login.
fn printed(place: &Place, server: &Server, arguments: &[&str]) -> Vec<String> {
    let answer = place.json(&[&["grants", "main", "--output", "json"], arguments].concat());
    let statements =
        answer["statements"].as_array().unwrap().iter().map(|sql| sql.as_str().unwrap().to_owned());
    let mut client = Client::connect(&server.root()).unwrap();
    let known =
        client.rows("SELECT 1 FROM information_schema.plugins WHERE plugin_name = 'ed25519'").unwrap();
    let by_ed25519 = "VIA ed25519 USING PASSWORD('it''s # a \\\\ horse')";
    statements
        .map(|sql| if known.is_empty() { sql.replace(by_ed25519, "BY 'it''s # a \\\\ horse'") } else { sql })
        .collect()
}

fn execute(server: &Server, statements: &[String]) {
    server.setup(&statements.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn the_printed_grants_are_enough_to_load_and_each_is_needed() {
    for flavour in Flavour::present() {
        let (server, place) = begin(flavour);
        let grants = printed(&place, &server, &[]);
        execute(&server, &grants);
        let checked = place.run(&["grants", "main", "--check"]);
        assert!(checked.status.success(), "{flavour:?}: {}", words(&checked));
        let loaded = place.run(&["run", "db"]);
        assert!(loaded.status.success(), "{flavour:?}: {}", words(&loaded));

        // What is needed for the schema is in the last statement, what keeps the load out of the log before it.
        let mut needed = Vec::new();
        for grant in &grants[grants.len() - 2..] {
            let (names, rest) = grant.strip_prefix("GRANT ").unwrap().split_once(" ON ").unwrap();
            let (on, account) = rest.split_once(" TO ").unwrap();
            needed.extend(names.split(", ").map(|name| (name.to_owned(), on.to_owned(), account.to_owned())));
        }
        assert_eq!(needed.len(), 8, "{grants:?}");
        // While the tables of the load before are still there.
        needed.sort_by_key(|(name, ..)| name != "DROP");
        for (place_of, (name, on, account)) in (101..).zip(&needed) {
            server.setup(&[&format!("REVOKE {name} ON {on} FROM {account}")]);
            configure(&place, &server, place_of);
            let refused = place.run(&["run", "db"]);
            assert!(!refused.status.success(), "{flavour:?} without {name}: {}", words(&refused));
            let checked = place.run(&["grants", "main", "--check"]);
            let said = words(&checked);
            assert_eq!(checked.status.code(), Some(1), "{said}");
            assert!(said.contains(&format!("GRANT {name} ON ")), "{said}");
            server.setup(&[&format!("GRANT {name} ON {on} TO {account}")]);
        }
        let loaded = place.run(&["run", "db"]);
        assert!(loaded.status.success(), "{flavour:?}: {}", words(&loaded));
    }
}

#[test]
fn the_printed_grants_are_enough_to_observe_and_open_nothing_else() {
    for flavour in Flavour::present() {
        let (server, place) = begin(flavour);
        server.setup(&["CREATE DATABASE app", "CREATE TABLE app.t (a INT)"]);
        execute(&server, &printed(&place, &server, &[]));
        let mut client = Client::connect(&server.tcp("benchd", PASSWORD)).unwrap();
        let (replica, log) = match flavour {
            Flavour::MySql => ("SHOW REPLICA STATUS", "SHOW BINARY LOG STATUS"),
            Flavour::MariaDb => ("SHOW ALL SLAVES STATUS", "SHOW MASTER STATUS"),
        };
        let _other = Client::connect(&server.root()).unwrap();
        let others = "SELECT id FROM information_schema.processlist WHERE user = 'root'";
        assert!(!client.rows(others).unwrap().is_empty(), "threads of others");
        assert!(!client.rows(log).unwrap().is_empty(), "the position in the binary log");
        for sql in [replica, "SHOW ENGINE INNODB STATUS", "SELECT * FROM performance_schema.threads"] {
            client.rows(sql).unwrap_or_else(|error| panic!("{flavour:?} {sql}: {error}"));
        }
        for sql in [
            "CREATE DATABASE other",
            "SELECT * FROM app.t",
            "DROP DATABASE app",
            "SELECT * FROM mysql.user",
            "CREATE DATABASE benchdXscratchX00000000",
            "SET GLOBAL max_connections = 1",
            "CREATE USER other",
        ] {
            assert!(client.query(sql).is_err(), "{flavour:?} {sql}");
        }
    }
}

#[test]
fn what_is_too_much_is_named_and_the_way_back_is_printed() {
    for flavour in Flavour::present() {
        let (server, place) = begin(flavour);
        execute(&server, &printed(&place, &server, &[]));
        server.setup(&["GRANT CREATE USER ON *.* TO 'benchd'@'127.0.0.1'"]);
        let checked = place.run(&["grants", "main", "--check"]);
        let said = words(&checked);
        assert_eq!(checked.status.code(), Some(1), "{said}");
        let revoke = said.lines().find(|line| line.trim().starts_with("REVOKE")).unwrap().trim();
        assert_eq!(revoke, "REVOKE CREATE USER ON *.* FROM 'benchd'@'127.0.0.1';");
        server.setup(&[revoke.trim_end_matches(';')]);
        assert!(place.run(&["grants", "main", "--check"]).status.success());
        execute(&server, &printed(&place, &server, &["--revoke"]));
        let gone = words(&place.run(&["grants", "main", "--check"]));
        assert!(gone.contains("Access denied"), "{gone}");
    }
}

#[test]
fn an_account_by_the_socket_is_the_user_of_the_system() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        let mut client = Client::connect(&server.root()).unwrap();
        if flavour == Flavour::MySql
            && client.query("INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'").is_err()
        {
            skip("auth_socket");
            continue;
        }
        let uid = Uid::effective();
        let user =
            if uid.is_root() { "nobody".to_owned() } else { User::from_uid(uid).unwrap().unwrap().name };
        let place = Place::new("");
        place.configure(&format!(
            "[target.main]\nkind = \"server\"\nsocket = \"{}\"\nuser = \"{user}\"\n",
            server.socket().display()
        ));
        let text = words(&place.run(&["grants", "main"]));
        assert!(text.contains("benchd only observes") && !text.contains("benchd\\_scratch"), "{text}");
        assert!(text.contains("no password"), "{text}");
        execute(&server, &printed(&place, &server, &[]));
        let program = copied_for(&place);
        let mut command = std::process::Command::new(program);
        command.arg("--config").arg(place.path("benchd.toml")).args(["grants", "main", "--check"]);
        let checked = unprivileged(&mut command).output().unwrap();
        assert!(checked.status.success(), "{flavour:?}: {}", words(&checked));
    }
}

/// The program where any account can start it.
fn copied_for(place: &Place) -> std::path::PathBuf {
    let program = place.path("benchd");
    let copied =
        std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_benchd")).arg(&program).status().unwrap();
    assert!(copied.success() && fs::metadata(&program).unwrap().mode() & 0o001 != 0);
    program
}

#[test]
fn a_socket_alone_is_enough_and_a_wrong_name_says_what_there_is() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        let place = Place::new("");
        let text = words(&place.run(&["grants", server.socket().to_str().unwrap(), "--password"]));
        assert!(
            text.contains("'benchd'@'localhost' IDENTIFIED") && text.contains("/etc/benchd/main-password"),
            "{text}"
        );
        assert!(text.contains("`benchd\\_scratch\\_%`.*"), "no daemon was started here: {text}");
        assert!(!Path::new("/etc/benchd/main-password").exists());
    }
    let place = Place::new("");
    let unknown = place.run(&["grants", "main"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        words(&unknown).contains("`main` is no target of kind server (none is configured)"),
        "{}",
        words(&unknown)
    );
    let absent = words(&place.run(&["grants", "/nonexistent/my.sock"]));
    assert!(absent.contains("there is no such socket; start the server"), "{absent}");
}
