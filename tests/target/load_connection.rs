use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use benchd::record::TlsMode;
use benchd::target::{Access, Answer, Bind, Client, ErrorClass, LoadConnection, Secret, SqlError, Tls};
use benchd::units::Span;
use nix::unistd::{Uid, User};

use crate::common::certificates::Authority;
use crate::common::{Flavour, Server};

fn connected(access: &Access) -> LoadConnection {
    LoadConnection::connect(access).unwrap_or_else(|error| panic!("{access:?}: {error}"))
}

fn refused(access: &Access) -> SqlError {
    LoadConnection::connect(access).map(drop).unwrap_err()
}

/// Whether a condition holds, which is SQL.
fn holds(connection: &mut LoadConnection, condition: &str) -> bool {
    connection.query(&format!("SELECT 1 FROM DUAL WHERE {condition}")).unwrap() == Answer::Rows(1)
}

fn with_tls(access: &Access, mode: TlsMode, ca: Option<std::path::PathBuf>) -> Access {
    Access { tls: Tls { mode, ca, ..Tls::default() }, ..access.clone() }
}

/// The login plugins that ask for a password: the account's name, and how it is identified.
const PLUGINS_OF_MYSQL: [(&str, &str); 2] = [
    ("caching", "WITH caching_sha2_password BY 'correct horse'"),
    ("sha256", "WITH sha256_password BY 'correct horse'"),
];
const PLUGINS_OF_MARIADB: [(&str, &str); 3] = [
    ("native", "VIA mysql_native_password USING PASSWORD('correct horse')"),
    ("ed25519", "VIA ed25519 USING PASSWORD('correct horse')"),
    ("parsec", "VIA parsec USING PASSWORD('correct horse')"),
];

#[test]
fn every_plugin_of_mysql_logs_in_over_socket_and_tcp_and_tls() {
    if Flavour::MySql.program().is_none() {
        return;
    }
    every_plugin_logs_in(&Server::start(Flavour::MySql, &[]), &PLUGINS_OF_MYSQL);
}

#[test]
fn every_plugin_of_mariadb_logs_in_over_socket_and_tcp_and_tls() {
    let Some(server) = Server::with_plugins(&[]) else { return };
    server.setup(&["INSTALL SONAME 'auth_ed25519'", "INSTALL SONAME 'auth_parsec'"]);
    every_plugin_logs_in(&server, &PLUGINS_OF_MARIADB);
}

fn every_plugin_logs_in(server: &Server, plugins: &[(&str, &str)]) {
    for (user, identified) in plugins {
        server.setup(&[&format!("CREATE USER '{user}'@'%' IDENTIFIED {identified}")]);
        let tcp = with_tls(&server.tcp(user, "correct horse"), TlsMode::Disabled, None);
        let socket = Access { socket: Some(server.socket()), ..tcp.clone() };
        // It makes certificates for itself.
        let tls = with_tls(&tcp, TlsMode::Required, None);
        for access in [&tcp, &socket, &tls] {
            log_in_twice(server, access);
        }
        for password in ["wrong", ""] {
            let error = refused(&Access { password: Secret::new(password), ..tcp.clone() });
            assert_eq!((error.class, error.code), (ErrorClass::Denied, Some(1045)), "{user}: {error}");
            let start = format!("not connected to 127.0.0.1:{} as {user}: Access denied", server.port);
            assert!(error.message.starts_with(&start), "{error}");
        }
    }
}

/// caching_sha2_password needs the password itself at first, and not once it has seen it.
fn log_in_twice(server: &Server, access: &Access) {
    server.setup(&["FLUSH PRIVILEGES"]);
    for _ in 0..2 {
        let mut connection = connected(access);
        assert!(holds(&mut connection, &format!("USER() LIKE '{}@%'", access.user)), "{}", access.user);
        let number = connection.id();
        assert!(holds(&mut connection, &format!("CONNECTION_ID() = {number}")));
        connection.close();
    }
}

#[test]
fn accounts_without_a_password_log_in_by_name_or_by_the_socket() {
    let name = User::from_uid(Uid::effective()).unwrap().unwrap().name;
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        server.setup(&["CREATE USER 'open'@'%'"]);
        assert!(holds(&mut connected(&server.tcp("open", "")), "USER() LIKE 'open@%'"));
        match flavour {
            Flavour::MariaDb => server
                .setup(&[&format!("CREATE OR REPLACE USER '{name}'@'localhost' IDENTIFIED VIA unix_socket")]),
            Flavour::MySql => server.setup(&[
                "INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'",
                &format!("CREATE USER IF NOT EXISTS '{name}'@'localhost'"),
                &format!("ALTER USER '{name}'@'localhost' IDENTIFIED WITH auth_socket"),
            ]),
        }
        let mut connection = connected(&Access::by_socket(server.socket(), &name));
        assert!(holds(&mut connection, &format!("CURRENT_USER() = '{name}@localhost'")));
    }
}

#[test]
fn tls_is_what_the_mode_says() {
    let (Some(authority), Some(other)) = (Authority::new(), Authority::new()) else { return };
    let options = authority.server("DNS:localhost,IP:127.0.0.1");
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &options.iter().map(String::as_str).collect::<Vec<_>>());
        server.setup(&[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (c LONGTEXT)",
            "INSERT INTO d.t VALUES (REPEAT('x', 100000))",
            // It logs in by TLS or not at all.
            "CREATE USER 'tls'@'%' IDENTIFIED BY 'x' REQUIRE SSL",
            "GRANT SELECT ON d.* TO 'tls'@'%'",
        ]);
        let access = server.tcp("tls", "x");
        for (mode, ca) in [
            (TlsMode::Preferred, None),
            (TlsMode::Required, None),
            (TlsMode::VerifyCa, Some(authority.ca())),
            (TlsMode::VerifyIdentity, Some(authority.ca())),
        ] {
            let mut connection = connected(&with_tls(&access, mode, ca));
            // A large row takes many records of TLS.
            assert_eq!(connection.query("SELECT c FROM d.t").unwrap(), Answer::Rows(1), "{mode}");
            let mut statement = connection.prepare("SELECT c FROM d.t WHERE 1 = ?").unwrap();
            for _ in 0..3 {
                let answer = connection.execute(&mut statement, &[Bind::Integer(1)]).unwrap();
                assert_eq!(answer, Answer::Rows(1));
            }
            connection.close();
        }
        assert_eq!(refused(&with_tls(&access, TlsMode::Disabled, None)).code, Some(1045));
        let error = refused(&with_tls(&access, TlsMode::VerifyCa, Some(other.ca())));
        assert!(error.message.contains("was not signed by an authority in tls_ca"), "{error}");
    }
}

#[test]
fn a_server_without_tls_is_refused_where_tls_must_be() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let server = Server::start(Flavour::MariaDb, &[]);
    server.setup(&["CREATE USER 'tls'@'%' IDENTIFIED BY 'x'"]);
    let access = server.tcp("tls", "x");
    let error = refused(&with_tls(&access, TlsMode::Required, None));
    assert!(error.message.contains("the server offers no TLS, tls = \"required\""), "{error}");
    connected(&with_tls(&access, TlsMode::Preferred, None)).close();
}

#[test]
fn answers_are_judged_alike_by_text_and_in_binary() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        server.setup(&["CREATE DATABASE d", "CREATE TABLE d.t (id BIGINT PRIMARY KEY, c LONGTEXT)"]);
        let mut connection = connected(&Access { schema: Some("d".to_owned()), ..server.root() });
        let mut insert = connection.prepare("INSERT INTO t VALUES (?, ?)").unwrap();
        let long = "x".repeat(70_000);
        for (id, text) in [(1, "it's"), (-2, ""), (i64::MIN, &long)] {
            let values = [Bind::Integer(id), Bind::Text(text)];
            assert_eq!(connection.execute(&mut insert, &values).unwrap(), Answer::Changed(1));
        }
        let mut select = connection.prepare("SELECT id, c FROM t WHERE id < ? ORDER BY id").unwrap();
        assert_eq!(connection.execute(&mut select, &[Bind::Integer(100)]).unwrap(), Answer::Rows(3));
        assert_eq!(connection.execute(&mut select, &[Bind::Text("0")]).unwrap(), Answer::Rows(2));
        assert_eq!(connection.execute(&mut select, &[Bind::Integer(i64::MIN)]).unwrap(), Answer::Rows(0));
        let error = connection.execute(&mut select, &[]).unwrap_err();
        assert!(error.message.contains("takes 1 values and was given 0"), "{error}");
        assert!(holds(&mut connection, "(SELECT SUM(LENGTH(c)) FROM t) = 70004"));
        assert_eq!(connection.query("BEGIN").unwrap(), Answer::Nothing);
        assert_eq!(connection.query("UPDATE t SET c = 'x' WHERE id = 77").unwrap(), Answer::Nothing);
        assert_eq!(connection.query("SELECT * FROM t; UPDATE t SET c = 'y'").unwrap(), Answer::Rows(3));
        assert_eq!(connection.query("COMMIT").unwrap(), Answer::Nothing);
    }
}

#[test]
fn large_results_and_statements_pass() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &["--max-allowed-packet=64M"]);
        server.setup(&["CREATE DATABASE d", "CREATE TABLE d.t (c LONGTEXT)"]);
        let mut connection = connected(&Access { schema: Some("d".to_owned()), ..server.root() });
        // More than one packet holds, in both directions; 16 MiB - 1 is where the next one begins.
        for size in [16_777_200, 16_777_215, 20_000_000] {
            let text = "x".repeat(size);
            let mut insert = connection.prepare("INSERT INTO t VALUES (?)").unwrap();
            assert_eq!(connection.execute(&mut insert, &[Bind::Text(&text)]).unwrap(), Answer::Changed(1));
            let mut select = connection.prepare("SELECT c FROM t WHERE LENGTH(c) = ?").unwrap();
            let values = [Bind::Integer(size as i64)];
            assert_eq!(connection.execute(&mut select, &values).unwrap(), Answer::Rows(1));
            assert_eq!(connection.query("SELECT c FROM t").unwrap(), Answer::Rows(1));
            assert_eq!(connection.query("DELETE FROM t").unwrap(), Answer::Changed(1));
        }
        let many = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 900) \
                    SELECT a.n, 'some text' FROM n a, n b";
        assert_eq!(connection.query(many).unwrap(), Answer::Rows(810_000));
        assert!(holds(&mut connection, "1 = 1"));
    }
}

#[test]
fn errors_have_their_classes_and_leave_the_connection_as_it_was() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        server.setup(&[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY) ENGINE=InnoDB",
            "INSERT INTO d.t VALUES (1)",
            "CREATE USER 'small'@'localhost'",
        ]);
        let mut holder = connected(&server.root());
        holder.query("BEGIN").unwrap();
        holder.query("SELECT * FROM d.t WHERE id = 1 FOR UPDATE").unwrap();
        let mut waiter = connected(&server.root());
        let mut delete = waiter.prepare("DELETE FROM d.t WHERE id = ?").unwrap();
        for _ in 0..2 {
            let error = waiter.execute(&mut delete, &[Bind::Integer(1)]).unwrap_err();
            assert_eq!((error.class, error.code), (ErrorClass::Deadlock, Some(1205)));
        }
        holder.query("ROLLBACK").unwrap();
        assert_eq!(waiter.execute(&mut delete, &[Bind::Integer(1)]).unwrap(), Answer::Changed(1));
        let error = waiter.query("SELECT * FROM d.none").unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Other, Some(1146)));
        let error = waiter.prepare("SELEC").map(drop).unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Other, Some(1064)));
        let small = Access { user: "small".to_owned(), ..server.root() };
        let error = connected(&small).query("SELECT * FROM d.t").unwrap_err();
        assert_eq!(error.class, ErrorClass::Denied);
        let error = refused(&Access { suppress_binlog: true, ..small });
        assert!(error.message.contains("sql_log_bin cannot be switched off"), "{error}");
        let error = refused(&Access { schema: Some("none".to_owned()), ..server.root() });
        assert!(error.message.contains("create the schema, or correct its name"), "{error}");
    }
}

#[test]
fn the_session_keeps_its_rules_and_says_whose_it_is() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &["--performance-schema=ON"]);
        let access = Access {
            suppress_binlog: true,
            lock_wait_timeout: Span::from_millis(1500),
            run: "01a2".to_owned(),
            ..server.root()
        };
        let (variable, six) = match flavour {
            Flavour::MariaDb => ("max_statement_time", "6"),
            Flavour::MySql => ("max_execution_time", "6000"),
        };
        let mut connection = connected(&access);
        for condition in [
            "@@SESSION.sql_log_bin = 0",
            "@@SESSION.lock_wait_timeout = 2",
            "@@SESSION.innodb_lock_wait_timeout = 2",
            &format!("@@SESSION.{variable} = {six}"),
            "'01a2' = (SELECT attr_value FROM performance_schema.session_connect_attrs \
             WHERE processlist_id = CONNECTION_ID() AND attr_name = 'benchd_run')",
        ] {
            assert!(holds(&mut connection, condition), "{condition}");
        }
        let mut unlimited = connected(&Access { limit_on_server: false, ..access });
        assert!(holds(&mut unlimited, &format!("@@SESSION.{variable} = 0")), "{variable}");
    }
}

#[test]
fn a_statement_that_takes_too_long_is_killed_and_its_connection_not_used_again() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        let access = Access { statement_timeout: Span::from_millis(200), ..server.root() };
        let mut connection = connected(&access);
        let error = connection.query("SELECT SLEEP(600)").unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Timeout, None));
        assert!(error.message.ends_with("within 200ms: its connection was killed"), "{error}");
        assert_eq!(connection.query("SELECT 7").unwrap_err().class, ErrorClass::Connection);
        // The server ends what was killed when it notices, at its next look.
        let mut other = Client::connect(&server.root()).unwrap();
        let sql = format!(
            "SELECT 1 FROM information_schema.processlist WHERE id = {} AND command <> 'Killed'",
            connection.id()
        );
        let begun = Instant::now();
        while other.query(&sql).unwrap() != Answer::Rows(0) {
            assert!(begun.elapsed() < Duration::from_secs(60), "the statement still runs");
        }
    }
}

#[test]
fn a_frozen_server_does_not_hold_anyone_longer_than_the_limit() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let server = Server::start(Flavour::MariaDb, &["--back-log=2"]);
    server.setup(&["CREATE USER 'tcp'@'%' IDENTIFIED BY 'x'"]);
    let long = Access {
        statement_timeout: Span::from_millis(100),
        connect_timeout: Span::from_secs(20),
        ..server.root()
    };
    let short = Access { connect_timeout: Span::from_millis(100), ..long.clone() };
    let by_tcp = Access { socket: None, connect_timeout: short.connect_timeout, ..server.tcp("tcp", "x") };
    let mut connection = connected(&long);
    server.freeze();
    assert_eq!(connection.query("SELECT 1").unwrap_err().class, ErrorClass::Timeout);
    // More than the server's queue holds: those wait for a place in it, not for a greeting.
    let waiting: Vec<_> = (0..8)
        .map(|_| {
            thread::spawn({
                let short = short.clone();
                move || refused(&short)
            })
        })
        .collect();
    for error in waiting.into_iter().map(|one| one.join().unwrap()) {
        assert_eq!(error.class, ErrorClass::Timeout, "{error}");
        assert!(error.message.contains("no answer within 100ms; see that"), "{error}");
    }
    assert_eq!(refused(&by_tcp).class, ErrorClass::Timeout);
    server.thaw();
}

#[test]
fn a_server_or_connection_that_dies_is_a_lost_connection() {
    for flavour in Flavour::present() {
        let mut server = Server::start(flavour, &[]);
        let mut killed = connected(&server.root());
        server.setup(&[&format!("KILL {}", killed.id())]);
        assert_eq!(killed.query("SELECT 1").unwrap_err().class, ErrorClass::Connection);
        let mut connection = connected(&server.root());
        let mut statement = connection.prepare("SELECT 1").unwrap();
        server.kill();
        let error = connection.execute(&mut statement, &[]).unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Connection, None));
        assert_eq!(connection.query("SELECT 1").unwrap_err().class, ErrorClass::Connection);
    }
}

#[test]
fn a_server_that_is_not_there_is_the_same_sentence_for_both_clients() {
    let directory = crate::common::directory();
    let socket = directory.path().join("my.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let unknown = Access { host: "no-such-host.invalid".to_owned(), ..Access::default() };
    let unreadable = directory.path().join("no.pem");
    fs::write(&unreadable, "no certificate").unwrap();
    for access in [
        Access::by_socket("/nonexistent/my.sock", "benchd"),
        Access::by_socket(&socket, "benchd"),
        Access { port: 1, ..Access::default() },
        with_tls(&Access::default(), TlsMode::VerifyCa, Some(unreadable)),
        unknown,
    ] {
        assert_eq!(refused(&access), Client::connect(&access).map(drop).unwrap_err());
    }
}
