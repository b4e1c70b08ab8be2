use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use benchd::record::TlsMode;
use benchd::target::{Access, Answer, Bind, Client, ErrorClass, Secret, SqlError, Tls, facts};
use benchd::units::Span;
use nix::unistd::{Uid, User};

use crate::common::{Flavour, Server};

fn refused(access: &Access) -> SqlError {
    Client::connect(access).map(drop).unwrap_err()
}

fn one(client: &mut Client, sql: &str) -> Option<String> {
    client.rows(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).remove(0).remove(0)
}

#[test]
fn a_server_that_is_not_there_is_one_sentence() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let socket = Access::by_socket("/nonexistent/my.sock", "benchd");
    let closed = Access { port, ..Access::default() };
    let unknown = Access { host: "no-such-host.invalid".to_owned(), ..Access::default() };
    for (access, sentence) in [
        (
            &socket,
            "not connected to /nonexistent/my.sock as benchd: there is no such socket; start the server, or correct \
             `socket`"
                .to_owned(),
        ),
        (
            &closed,
            format!(
                "not connected to 127.0.0.1:{port} as benchd: no server listens on this port; start the server, or \
                 correct `host` and `port`"
            ),
        ),
        (
            &unknown,
            "not connected to no-such-host.invalid:3306 as benchd: the host name is not known (".to_owned(),
        ),
    ] {
        let error = refused(access);
        assert!(error.message.starts_with(&sentence), "{error}");
        assert_eq!((error.class, error.code), (ErrorClass::Connection, None));
    }
}

#[test]
fn a_socket_nobody_listens_on_is_one_sentence() {
    let directory = crate::common::directory();
    let socket = directory.path().join("my.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let error = refused(&Access::by_socket(&socket, "benchd"));
    assert!(error.message.contains("no server listens on this socket; start the server"), "{error}");
}

#[test]
fn accounts_log_in_by_password_over_socket_and_tcp() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        let (plugin, identified) = match flavour {
            Flavour::MariaDb => {
                ("mysql_native_password", "VIA mysql_native_password USING PASSWORD('correct horse')")
            }
            Flavour::MySql => ("caching_sha2_password", "WITH caching_sha2_password BY 'correct horse'"),
        };
        server.setup(&[&format!("CREATE USER '{plugin}'@'%' IDENTIFIED {identified}")]);
        let tls = Tls { mode: TlsMode::Disabled, ..Tls::default() };
        let tcp = Access { tls, ..server.tcp(plugin, "correct horse") };
        let socket = Access { socket: Some(server.socket()), ..tcp.clone() };
        // caching_sha2_password caches nothing yet: it needs the password itself, by TCP under the server's RSA
        // key, by the socket as it is. What follows each is answered from the cache.
        for access in [&tcp, &socket, &socket, &tcp] {
            let mut client = Client::connect(access).unwrap();
            assert!(one(&mut client, "SELECT USER()").unwrap().starts_with(plugin));
            client.close();
            if access == &tcp {
                server.setup(&["FLUSH PRIVILEGES"]);
            }
        }
        let error = refused(&Access { password: Secret::new("wrong"), tls: Tls::default(), ..tcp });
        assert_eq!((error.class, error.code), (ErrorClass::Denied, Some(1045)));
        let start = format!("not connected to 127.0.0.1:{} as {plugin}: Access denied for user", server.port);
        assert!(error.message.starts_with(&start), "{error}");
        let end = "correct `user` or the password in `password_file`, or create the account";
        assert!(error.message.ends_with(end), "{error}");
    }
}

#[test]
fn tcp_to_this_host_stays_tcp() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        server.setup(&["CREATE USER 'tcp'@'%' IDENTIFIED BY 'x'", "GRANT PROCESS ON *.* TO 'tcp'@'%'"]);
        let mut client = Client::connect(&server.tcp("tcp", "x")).unwrap();
        let host =
            one(&mut client, "SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()");
        assert!(host.as_deref().is_some_and(|host| host.contains(':')), "{host:?}");
        assert_eq!(one(&mut client, "SELECT CONNECTION_ID()"), Some(client.id().to_string()));
    }
}

#[test]
fn an_account_of_the_host_logs_in_by_the_socket_without_a_password() {
    let name = User::from_uid(Uid::effective()).unwrap().unwrap().name;
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        let statements = match flavour {
            Flavour::MariaDb => {
                vec![format!("CREATE OR REPLACE USER '{name}'@'localhost' IDENTIFIED VIA unix_socket")]
            }
            Flavour::MySql => vec![
                "INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'".to_owned(),
                format!("CREATE USER IF NOT EXISTS '{name}'@'localhost'"),
                format!("ALTER USER '{name}'@'localhost' IDENTIFIED WITH auth_socket"),
            ],
        };
        server.setup(&statements.iter().map(String::as_str).collect::<Vec<_>>());
        let mut client = Client::connect(&Access::by_socket(server.socket(), &name)).unwrap();
        assert_eq!(one(&mut client, "SELECT CURRENT_USER()"), Some(format!("{name}@localhost")));
    }
}

#[test]
fn a_plugin_the_client_does_not_know_is_named() {
    if Flavour::MySql.program().is_none() {
        return;
    }
    let server = Server::start(Flavour::MySql, &[]);
    server.setup(&["CREATE USER old@'%' IDENTIFIED WITH sha256_password BY 'x'"]);
    let tls = Tls { mode: TlsMode::Disabled, ..Tls::default() };
    let error = refused(&Access { tls, ..server.tcp("old", "x") });
    assert_eq!(error.class, ErrorClass::Denied);
    assert!(
        error.message.contains("needs the authentication plugin `sha256_password`; use an account"),
        "{error}"
    );
}

#[test]
fn a_panic_of_the_library_on_what_a_fake_server_says_is_an_error() {
    // A login by caching_sha2_password whose public key is none: the library panics on it.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let fake = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&packet(0, &greeting())).unwrap();
        let answered = read_packet(&mut stream);
        stream.write_all(&packet(answered + 1, &[1, 4])).unwrap();
        let asked = read_packet(&mut stream);
        stream.write_all(&packet(asked + 1, b"\x01not a key")).unwrap();
        // Until the client hangs up.
        let _ = stream.read(&mut [0]);
    });
    let tls = Tls { mode: TlsMode::Disabled, ..Tls::default() };
    let error = refused(&Access { port, password: Secret::new("x"), tls, ..Access::default() });
    fake.join().unwrap();
    assert_eq!(error.class, ErrorClass::Other);
    assert!(error.message.contains("the client library failed on what the server answered"), "{error}");
}

#[test]
fn a_fake_server_that_hangs_up_or_says_nothing_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let access = Access {
        port: listener.local_addr().unwrap().port(),
        connect_timeout: Span::from_millis(200),
        ..Access::default()
    };
    let error = refused(&access);
    assert_eq!(error.class, ErrorClass::Timeout);
    assert!(error.message.contains("no answer within 200ms; see that"), "{error}");
    let fake = std::thread::spawn(move || {
        // The connection above waits in the queue; the one to come is hung up on.
        drop(listener.accept().unwrap());
        drop(listener.accept().unwrap());
    });
    let error = refused(&Access { connect_timeout: Span::from_secs(20), ..access });
    fake.join().unwrap();
    assert_eq!(error.class, ErrorClass::Connection);
    assert!(error.message.contains("the server hung up; see"), "{error}");
}

/// A greeting of protocol 10 that asks for `caching_sha2_password`.
fn greeting() -> Vec<u8> {
    let capabilities: u32 = 0x0008_8200; // PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH
    let [c0, c1, c2, c3] = capabilities.to_le_bytes();
    let mut greeting = b"\x0a9.7.4\0\x07\0\0\0saltsalt\0".to_vec();
    greeting.extend([c0, c1, 45, 2, 0, c2, c3, 21]);
    greeting.extend([0; 10]);
    greeting.extend(b"saltsaltsalt\0caching_sha2_password\0");
    greeting
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[length, 0, 0, sequence], payload].concat()
}

/// Reads one packet and returns its sequence number.
fn read_packet(stream: &mut impl Read) -> u8 {
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let mut payload = vec![0; usize::from(header[0]) + usize::from(header[1]) * 256];
    stream.read_exact(&mut payload).unwrap();
    header[3]
}

#[test]
fn an_answer_is_judged_by_its_result() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        server.setup(&["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, c VARCHAR(20))"]);
        let mut client = Client::connect(&Access { schema: Some("d".to_owned()), ..server.root() }).unwrap();
        assert_eq!(client.query("BEGIN").unwrap(), Answer::Nothing);
        let insert = client.prepare("INSERT INTO t VALUES (?, ?)").unwrap();
        for (id, text) in [(1, "it's"), (-2, "")] {
            let answer = client.execute(&insert, &[Bind::Integer(id), Bind::Text(text)]).unwrap();
            assert_eq!(answer, Answer::Changed(1));
        }
        assert_eq!(client.query("COMMIT").unwrap(), Answer::Nothing);
        let select = client.prepare("SELECT c FROM t WHERE id < ? ORDER BY id").unwrap();
        assert_eq!(client.execute(&select, &[Bind::Integer(100)]).unwrap(), Answer::Rows(2));
        assert_eq!(client.execute(&select, &[Bind::Integer(-100)]).unwrap(), Answer::Rows(0));
        assert_eq!(client.query("UPDATE t SET c = 'x' WHERE id = 77").unwrap(), Answer::Nothing);
        assert_eq!(client.query("SELECT * FROM t; UPDATE t SET c = 'y'").unwrap(), Answer::Rows(2));
        let rows = client.rows("SELECT id, c, NULL FROM t ORDER BY id").unwrap();
        assert_eq!(rows[0], [Some("-2".to_owned()), Some("y".to_owned()), None]);
    }
}

#[test]
fn more_statements_than_a_cache_would_hold_stay_prepared() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let server = Server::start(Flavour::MariaDb, &[]);
    let mut client = Client::connect(&server.root()).unwrap();
    let statements: Vec<_> = (0..100).map(|n| client.prepare(&format!("SELECT {n}, ?")).unwrap()).collect();
    for statement in &statements {
        assert_eq!(client.execute(statement, &[Bind::Integer(1)]).unwrap(), Answer::Rows(1));
    }
    assert_eq!(
        one(&mut client, "SHOW SESSION STATUS WHERE Variable_name = 'Com_stmt_prepare'").unwrap(),
        "Com_stmt_prepare"
    );
    let prepared = client.rows("SHOW SESSION STATUS WHERE Variable_name = 'Com_stmt_prepare'").unwrap();
    assert_eq!(prepared[0][1].as_deref(), Some("100"));
}

#[test]
fn the_session_keeps_its_rules() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        server.setup(&["CREATE USER 'small'@'localhost'"]);
        let access =
            Access { suppress_binlog: true, lock_wait_timeout: Span::from_millis(1500), ..server.root() };
        let mut client = Client::connect(&access).unwrap();
        let found = client
            .rows("SELECT @@SESSION.sql_log_bin, @@SESSION.lock_wait_timeout, @@SESSION.innodb_lock_wait_timeout")
            .unwrap();
        let found: Vec<String> = found[0].iter().flatten().map(|text| text.replace(".000000", "")).collect();
        assert_eq!(found, ["0", "2", "2"]);
        let error = refused(&Access { user: "small".to_owned(), ..access });
        assert_eq!((error.class, error.code), (ErrorClass::Denied, Some(1227)));
        assert!(error.message.contains("sql_log_bin cannot be switched off"), "{error}");
        assert!(error.message.contains("BINLOG ADMIN"), "{error}");
    }
}

#[test]
fn the_connection_says_whose_it_is() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &["--performance-schema=ON"]);
        let mut client = Client::connect(&Access { run: "01a2".to_owned(), ..server.root() }).unwrap();
        let sql = "SELECT attr_name, attr_value FROM performance_schema.session_connect_attrs \
                   WHERE processlist_id = CONNECTION_ID() AND attr_name IN ('program_name', 'benchd_run') ORDER BY 1";
        let rows = client.rows(sql).unwrap();
        let found: Vec<String> = rows.into_iter().flatten().flatten().collect();
        assert_eq!(found, ["benchd_run", "01a2", "program_name", "benchd"]);
    }
}

#[test]
fn a_lock_that_is_not_given_may_be_tried_again() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        server.setup(&[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY) ENGINE=InnoDB",
            "INSERT INTO d.t VALUES (1)",
        ]);
        let mut holder = Client::connect(&server.root()).unwrap();
        holder.query("BEGIN").unwrap();
        holder.query("SELECT * FROM d.t WHERE id = 1 FOR UPDATE").unwrap();
        let mut waiter = Client::connect(&server.root()).unwrap();
        let error = waiter.query("DELETE FROM d.t WHERE id = 1").unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Deadlock, Some(1205)));
        holder.query("ROLLBACK").unwrap();
        assert_eq!(waiter.query("DELETE FROM d.t WHERE id = 1").unwrap(), Answer::Changed(1));
    }
}

#[test]
fn a_statement_that_takes_too_long_is_killed_and_its_connection_not_used_again() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        let access = Access { statement_timeout: Span::from_millis(200), ..server.root() };
        let mut client = Client::connect(&access).unwrap();
        let error = client.query("SELECT SLEEP(600)").unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Timeout, None));
        assert!(error.message.ends_with("within 200ms: its connection was killed"), "{error}");
        let after = client.query("SELECT 7").unwrap_err();
        assert_eq!(after.class, ErrorClass::Connection);
        // The server ends what was killed when it notices, at its next look.
        let mut other = Client::connect(&server.root()).unwrap();
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {} AND command <> 'Killed'",
            client.id()
        );
        let begin = Instant::now();
        while one(&mut other, &sql).as_deref() != Some("0") {
            assert!(begin.elapsed() < Duration::from_secs(60), "the statement still runs");
        }
    }
}

#[test]
fn a_frozen_server_does_not_hold_anyone_longer_than_the_limit() {
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let server = Server::start(Flavour::MariaDb, &[]);
    let access = Access {
        statement_timeout: Span::from_millis(100),
        connect_timeout: Span::from_millis(100),
        ..server.root()
    };
    let mut client =
        Client::connect(&Access { connect_timeout: Span::from_secs(20), ..access.clone() }).unwrap();
    server.freeze();
    let error = client.query("SELECT 1").unwrap_err();
    assert_eq!(error.class, ErrorClass::Timeout);
    assert!(error.message.contains("given up but not killed"), "{error}");
    assert_eq!(refused(&access).class, ErrorClass::Timeout);
    server.thaw();
}

#[test]
fn a_server_that_dies_under_a_connection_is_a_lost_connection() {
    for flavour in Flavour::present() {
        let mut server = Server::start(flavour, &[]);
        let mut client = Client::connect(&server.root()).unwrap();
        let statement = client.prepare("SELECT 1").unwrap();
        server.kill();
        let error = client.execute(&statement, &[]).unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Connection, None));
        assert_eq!(client.query("SELECT 1").unwrap_err().class, ErrorClass::Connection);
    }
}

#[test]
fn a_connection_killed_by_an_administrator_is_a_lost_connection() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        let mut client = Client::connect(&server.root()).unwrap();
        server.setup(&[&format!("KILL {}", client.id())]);
        assert_eq!(client.query("SELECT 1").unwrap_err().class, ErrorClass::Connection);
    }
}

#[test]
fn facts_explain_a_number() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &["--innodb-flush-log-at-trx-commit=2"]);
        let mut client = Client::connect(&server.root()).unwrap();
        let facts = facts(&mut client).unwrap();
        let expected = match flavour {
            Flavour::MariaDb => ("MariaDB", "innodb_log_file_size", "OFF"),
            Flavour::MySql => ("MySQL", "innodb_redo_log_capacity", "ON"),
        };
        assert_eq!(facts["flavour"], expected.0);
        assert!(facts.contains_key(expected.1), "{facts:?}");
        assert_eq!(facts["log_bin"], expected.2);
        assert_eq!(facts["innodb_flush_log_at_trx_commit"], "2");
        assert_eq!(facts["version"], one(&mut client, "SELECT VERSION()").unwrap());
        assert!(Path::new(&facts["datadir"]).ends_with(server.data()), "{facts:?}");
        assert!(!facts["server_identity"].is_empty());
    }
}
