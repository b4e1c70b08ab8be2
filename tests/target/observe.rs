use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use benchd::config::{Endpoint, ServerTarget};
use benchd::export::{Format, Snapshot, render};
use benchd::observe::{Holdings, Observer, Owner, ServerRates, ServerSample, Settings};
use benchd::target::{Access, Client, DaemonIdentity, PreparedTarget};
use benchd::units::Span;
use jiff::Timestamp;

use crate::common::program::PATIENCE;
use crate::common::{Flavour, Server};

/// Each exported number that is a status variable as it is, with that variable.
const AS_THEY_ARE: &[(&str, &str)] = &[
    ("uptime_seconds", "Uptime"),
    ("threads_connected", "Threads_connected"),
    ("questions_total", "Questions"),
    ("received_bytes_total", "Bytes_received"),
    ("sent_bytes_total", "Bytes_sent"),
    ("rows_inserted_total", "Handler_write"),
    ("rows_updated_total", "Handler_update"),
    ("rows_deleted_total", "Handler_delete"),
    ("innodb_buffer_pool_read_requests_total", "Innodb_buffer_pool_read_requests"),
    ("innodb_buffer_pool_reads_total", "Innodb_buffer_pool_reads"),
    ("innodb_buffer_pool_wait_free_total", "Innodb_buffer_pool_wait_free"),
    ("innodb_log_waits_total", "Innodb_log_waits"),
    ("innodb_log_written_bytes_total", "Innodb_os_log_written"),
    ("innodb_data_fsyncs_total", "Innodb_data_fsyncs"),
    ("innodb_data_read_bytes_total", "Innodb_data_read"),
    ("innodb_data_written_bytes_total", "Innodb_data_written"),
    ("innodb_row_lock_waits_total", "Innodb_row_lock_waits"),
    ("innodb_row_lock_current_waits", "Innodb_row_lock_current_waits"),
    ("created_tmp_tables_total", "Created_tmp_tables"),
    ("created_tmp_disk_tables_total", "Created_tmp_disk_tables"),
    ("binlog_cache_disk_use_total", "Binlog_cache_disk_use"),
    ("table_open_cache_misses_total", "Table_open_cache_misses"),
    ("aborted_connects_total", "Aborted_connects"),
];

/// What a series of one target is called.
fn series(name: &str) -> String {
    format!("benchd_mysql_{name}{{target=\"main\"}}")
}

fn access(_: &str, target: &ServerTarget) -> anyhow::Result<Access> {
    let Some(Endpoint::Socket { socket }) = &target.endpoint else { panic!("by the socket") };
    Ok(Access::by_socket(socket, target.user.clone().unwrap()))
}

/// Asks a server as an account, twenty times a second.
fn observe(server: &Server, account: &str) -> Observer {
    let daemon = DaemonIdentity { uuid: uuid::Uuid::new_v4(), host: "db1".to_owned() };
    observe_for(server, account, Owner { daemon, ledger: "/nonexistent/scratch.json".into() })
}

fn observe_for(server: &Server, account: &str, owner: Owner) -> Observer {
    let target = ServerTarget {
        user: Some(account.to_owned()),
        ..ServerTarget::new(Endpoint::Socket { socket: server.socket() })
    };
    Observer::start(&Settings {
        targets: BTreeMap::from([("main".to_owned(), target)]),
        access,
        owner,
        sys: "/nonexistent".into(),
        interval: Span::from_millis(50),
        peak_windows: vec![Span::from_secs(600)],
    })
    .unwrap()
}

/// The account that may see all that is observed.
fn grant(flavour: Flavour, server: &Server) {
    let replication = match flavour {
        Flavour::MariaDb => "REPLICA MONITOR",
        Flavour::MySql => "REPLICATION CLIENT",
    };
    let grant = format!("GRANT PROCESS, {replication} ON *.* TO 'benchd'@'localhost'");
    server.setup(&["CREATE USER 'benchd'@'localhost'", &grant]);
}

fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        match found() {
            Some(found) => return found,
            None => assert!(began.elapsed() < PATIENCE, "not {what} in time"),
        }
        std::thread::yield_now();
    }
}

/// The first sample that was begun after this call.
fn next(observer: &Observer) -> Arc<ServerSample> {
    let begun = Timestamp::now();
    until("asked", || observer.sample("main").filter(|sample| sample.at >= begun))
}

/// The first sample from now on of which something holds.
fn when(observer: &Observer, what: &str, holds: impl Fn(&ServerSample) -> bool) -> Arc<ServerSample> {
    until(what, || observer.sample("main").filter(|sample| holds(sample)))
}

/// What `/metrics` says about servers.
fn metrics(observer: &Observer) -> BTreeMap<String, f64> {
    let snapshot = Snapshot { servers: observer.latest(), ..Snapshot::default() };
    let text = render(&snapshot, Format::Text).unwrap();
    let values = text.lines().filter(|line| line.starts_with("benchd_mysql_"));
    values
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

fn status(client: &mut Client) -> BTreeMap<String, f64> {
    let rows = client.rows("SHOW GLOBAL STATUS").unwrap();
    let pair = |row: Vec<Option<String>>| Some((row[0].clone()?, row[1].as_ref()?.parse().ok()?));
    rows.into_iter().filter_map(pair).collect()
}

/// The number behind a word of `SHOW ENGINE INNODB STATUS`.
fn innodb(client: &mut Client, before: &str) -> f64 {
    let text = client.rows("SHOW ENGINE INNODB STATUS").unwrap().remove(0).remove(2).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(before)).unwrap();
    line.trim().parse().unwrap()
}

/// Work of all kinds that are counted.
fn work(server: &Server) {
    server.setup(&[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, k INT, c VARCHAR(200)) ENGINE=InnoDB",
        "INSERT INTO shop.t (k, c) VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
        "INSERT INTO shop.t (k, c) SELECT a.k, REPEAT(a.c, 100) FROM shop.t a, shop.t b, shop.t c, shop.t d",
        "UPDATE shop.t SET k = k + 1 WHERE id < 50",
        "DELETE FROM shop.t WHERE id BETWEEN 10 AND 20",
        "SELECT c, COUNT(*) FROM shop.t GROUP BY c ORDER BY 2",
        "BEGIN",
        "INSERT INTO shop.t (k) VALUES (7)",
        "COMMIT",
        "BEGIN",
        "UPDATE shop.t SET k = 8 WHERE id = 1",
        "ROLLBACK",
    ]);
}

#[test]
fn every_number_is_what_the_server_says_itself() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &["--innodb-buffer-pool-size=32M"]);
        grant(flavour, &server);
        work(&server);
        let (observer, mut root) = (observe(&server, "benchd"), Client::connect(&server.root()).unwrap());
        next(&observer);
        let before = status(&mut root);
        next(&observer);
        let (found, after) = (metrics(&observer), status(&mut root));
        let lies_between = |name: String, low: f64, high: f64| {
            let value = found.get(&name).copied().unwrap_or_else(|| panic!("no {name}: {found:?}"));
            assert!((low..=high).contains(&value), "{name} {value} is not in {low} … {high}");
        };
        for (name, variable) in AS_THEY_ARE {
            lies_between(series(name), before[*variable], after[*variable]);
        }
        for command in ["select", "insert", "update", "delete", "commit", "rollback"] {
            let name = format!("benchd_mysql_commands_total{{target=\"main\",command=\"{command}\"}}");
            let variable = format!("Com_{command}");
            assert!(before[&variable] > 0.0, "{variable}");
            lies_between(name, before[&variable], after[&variable]);
        }
        let read = |status: &BTreeMap<String, f64>| -> f64 {
            let ways = ["first", "key", "last", "next", "prev", "rnd", "rnd_next"];
            ways.iter().map(|way| status[&format!("Handler_read_{way}")]).sum()
        };
        lies_between(series("rows_read_total"), read(&before), read(&after));
        let waited = |status: &BTreeMap<String, f64>| status["Innodb_row_lock_time"] / 1000.0;
        lies_between(series("innodb_row_lock_time_seconds_total"), waited(&before), waited(&after));
        let pages = |status: &BTreeMap<String, f64>| status["Innodb_buffer_pool_pages_total"] * 16_384.0;
        lies_between(series("innodb_buffer_pool_size_bytes"), pages(&before), pages(&after));
        assert!(pages(&before) > 30.0 * 1024.0 * 1024.0, "{flavour:?}");
        observer.stop(PATIENCE);
    }
}

/// What changes while nothing else does.
#[test]
fn pages_redo_and_undo_are_those_of_the_engines_own_report() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &["--innodb-max-dirty-pages-pct-lwm=0"]);
        grant(flavour, &server);
        work(&server);
        let (observer, mut root) = (observe(&server, "benchd"), Client::connect(&server.root()).unwrap());
        let agree = || {
            next(&observer);
            let (end, checkpoint) =
                (innodb(&mut root, "Log sequence number"), innodb(&mut root, "Last checkpoint at"));
            let history = innodb(&mut root, "History list length");
            let now = status(&mut root);
            let found = metrics(&observer);
            let of = |name: &str| found[&series(name)];
            let pages = |name: &str| now[&format!("Innodb_buffer_pool_pages_{name}")] * 16_384.0;
            let agrees = of("innodb_checkpoint_age_bytes") == end - checkpoint
                && of("innodb_history_list_length") == history
                && of("innodb_buffer_pool_data_bytes") == pages("data")
                && of("innodb_buffer_pool_dirty_bytes") == pages("dirty")
                && of("innodb_buffer_pool_free_bytes") == pages("free");
            agrees.then_some(of("innodb_redo_capacity_bytes"))
        };
        // They come to rest together when purge and flushing have.
        assert_eq!(until("at rest", agree), 8.0 * 1024.0 * 1024.0, "{flavour:?}");
        observer.stop(PATIENCE);
    }
}

#[test]
fn locks_deadlocks_and_running_threads_show() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        grant(flavour, &server);
        work(&server);
        let observer = observe(&server, "benchd");
        let idle = next(&observer);
        let mut holder = Client::connect(&server.root()).unwrap();
        holder.query("BEGIN").unwrap();
        holder.query("UPDATE shop.t SET k = 9 WHERE id = 1").unwrap();
        let patient = Access { lock_wait_timeout: PATIENCE.into(), ..server.root() };
        let patient = Access { statement_timeout: Span::ZERO, ..patient };
        let waiter = std::thread::spawn(move || {
            let mut client = Client::connect(&patient).unwrap();
            client.query("BEGIN").unwrap();
            client.query("UPDATE shop.t SET k = 9 WHERE id = 2").unwrap();
            client.query("UPDATE shop.t SET k = 9 WHERE id = 1").map(drop)
        });
        let waiting = when(&observer, "waiting", |now| now.status.row_lock_current_waits == Some(1));
        let one_more = |of: fn(&ServerSample) -> Option<u64>| of(&waiting).unwrap() - of(&idle).unwrap();
        assert_eq!(one_more(|now| now.status.row_lock_waits), 1, "{flavour:?}");
        assert_eq!(one_more(ServerSample::others_running), 1, "{flavour:?}");
        // Each now waits for the other.
        let lost = [holder.query("UPDATE shop.t SET k = 9 WHERE id = 2").is_err(), {
            holder.query("ROLLBACK").unwrap();
            waiter.join().unwrap().is_err()
        }];
        assert_eq!(lost.iter().filter(|lost| **lost).count(), 1, "{flavour:?} {lost:?}");
        when(&observer, "at rest", |now| now.status.row_lock_current_waits == Some(0));
        let found = metrics(&observer);
        assert_eq!(found[&series("innodb_deadlocks_total")], 1.0, "{flavour:?}");
        assert!(found[&series("innodb_row_lock_time_seconds_total")] > 0.0, "{flavour:?}");
        let most = found["benchd_mysql_threads_running_max{target=\"main\",window=\"600s\"}"];
        assert!(most >= waiting.others_running().unwrap() as f64, "{flavour:?} {most}");
        observer.stop(PATIENCE);
    }
}

#[test]
fn benchds_own_load_is_not_counted_as_work_of_others() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        grant(flavour, &server);
        server.setup(&[
            "CREATE DATABASE benchd_scratch_5f1c09ae",
            "GRANT ALL ON benchd_scratch_5f1c09ae.* TO 'benchd'@'localhost'",
        ]);
        let observer = observe(&server, "benchd");
        let idle = next(&observer);
        let sleep = |user: &str, schema: Option<&str>| {
            let schema = schema.map(str::to_owned);
            let access =
                Access { schema, statement_timeout: Span::ZERO, ..Access::by_socket(server.socket(), user) };
            std::thread::spawn(move || Client::connect(&access).unwrap().query("SELECT SLEEP(600)").map(drop))
        };
        let own = sleep("benchd", Some("benchd_scratch_5f1c09ae"));
        let with_own = when(&observer, "busy", |now| now.own_running == Some(2));
        assert_eq!(with_own.others_running(), idle.others_running(), "{flavour:?}");
        assert_eq!(with_own.status.threads_running.unwrap() - idle.status.threads_running.unwrap(), 1);
        let other = sleep("root", None);
        let busy = when(&observer, "busier", |now| now.others_running() > idle.others_running());
        assert_eq!(busy.own_running, Some(2), "{flavour:?}");
        observer.stop(PATIENCE);
        drop(server);
        // What the end of the server does to their statements is not asked here.
        let _ = (own.join().unwrap(), other.join().unwrap());
    }
}

#[test]
fn an_account_without_privileges_sees_less_and_nothing_wrong() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        server.setup(&["CREATE USER 'benchd'@'localhost'"]);
        let observer = observe(&server, "benchd");
        let sample = next(&observer);
        assert_eq!((sample.replicas, &sample.channels, sample.role), (None, &None, None), "{flavour:?}");
        assert_eq!(sample.own_running, Some(1), "{flavour:?}");
        let found = metrics(&observer);
        assert_eq!(found[&series("up")], 1.0);
        for name in ["replicas", "replica_lag_seconds", "replica_threads_running"] {
            assert!(!found.contains_key(&series(name)), "{flavour:?} {name}");
        }
        for name in ["innodb_deadlocks_total", "innodb_history_list_length"] {
            assert_eq!(found.contains_key(&series(name)), flavour == Flavour::MariaDb, "{flavour:?} {name}");
        }
        assert!(found.contains_key(&series("innodb_checkpoint_age_bytes")), "{flavour:?}");
        let info = found.keys().find(|name| name.starts_with("benchd_mysql_info")).unwrap();
        assert!(info.contains("config=\"") && !info.contains("role="), "{info}");
        observer.stop(PATIENCE);
    }
}

#[test]
fn a_server_that_was_started_anew_has_no_rates_across_its_start() {
    for flavour in Flavour::present() {
        let mut server = Server::start(flavour, &[]);
        grant(flavour, &server);
        work(&server);
        let observer = observe(&server, "benchd");
        let old = when(&observer, "old enough", |now| now.status.uptime > Some(3));
        let config = |observer: &Observer| {
            let found = metrics(observer);
            found.keys().find(|name| name.starts_with("benchd_mysql_info")).unwrap().clone()
        };
        let before = config(&observer);
        assert!(before.contains("role=\"standalone\""), "{before}");
        server.kill();
        until("down", || observer.sample("main").is_none().then_some(()));
        let found = metrics(&observer);
        assert_eq!(found, BTreeMap::from([(series("up"), 0.0)]), "{flavour:?}");
        server.start_again(&["--sync-binlog=7"]);
        let new = when(&observer, "up again", |now| now.at > old.at);
        assert!(new.status.questions < old.status.questions, "{flavour:?}");
        assert_eq!(ServerRates::between(&old, &new), ServerRates::default(), "{flavour:?}");
        let later = when(&observer, "asked once more", |now| now.at > new.at);
        assert!(ServerRates::between(&new, &later).questions > Some(0.0), "{flavour:?}");
        assert_ne!(config(&observer), before, "another value of a recorded variable is another digest");
        observer.stop(PATIENCE);
    }
}

#[test]
fn a_frozen_server_is_down_and_delays_nobody() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        grant(flavour, &server);
        let observer = observe(&server, "benchd");
        let last = next(&observer);
        server.freeze();
        let mut slowest = Duration::ZERO;
        until("down", || {
            let asked = Instant::now();
            let known = observer.latest();
            slowest = slowest.max(asked.elapsed());
            known[0].sample.is_none().then_some(())
        });
        assert!(slowest < Duration::from_secs(1), "{slowest:?}");
        // It is not waited for at the end either.
        server.thaw();
        when(&observer, "up again", |now| now.at > last.at);
        server.freeze();
        let begun = Instant::now();
        observer.stop(Duration::from_millis(1));
        assert!(begun.elapsed() < Duration::from_secs(1));
        server.thaw();
    }
}

/// A source and its replica, whose applier waits for a transaction to be so old.
fn pair(flavour: Flavour, delay: u32) -> (Server, Server) {
    let binlog: &[&str] = &["--log-bin=log", "--server-id=1"];
    let source = Server::start(flavour, binlog);
    source.setup(&[
        "CREATE USER 'repl'@'%' IDENTIFIED BY 'word'",
        "GRANT REPLICATION SLAVE ON *.* TO 'repl'@'%'",
    ]);
    let replica = Server::start(flavour, &["--server-id=2", "--log-bin=log"]);
    [&source, &replica].iter().for_each(|server| grant(flavour, server));
    let port = source.port;
    let (change, start) = match flavour {
        Flavour::MariaDb => (
            format!(
                "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='repl', \
                 MASTER_PASSWORD='word', MASTER_DELAY={delay}, MASTER_USE_GTID=no, MASTER_LOG_POS=4"
            ),
            "START SLAVE",
        ),
        Flavour::MySql => (
            format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='repl', \
                 SOURCE_PASSWORD='word', SOURCE_DELAY={delay}, GET_SOURCE_PUBLIC_KEY=1"
            ),
            "START REPLICA",
        ),
    };
    // What made both alike so far is not replicated.
    source.setup(&[match flavour {
        Flavour::MariaDb => "RESET MASTER",
        Flavour::MySql => "RESET BINARY LOGS AND GTIDS",
    }]);
    replica.setup(&[&change, start]);
    (source, replica)
}

#[test]
fn a_replica_that_cannot_apply_falls_behind_and_a_stopped_one_has_no_lag() {
    for flavour in Flavour::present() {
        let (source, replica) = pair(flavour, 0);
        let (of_source, of_replica) = (observe(&source, "benchd"), observe(&replica, "benchd"));
        let connected = when(&of_source, "a source", |now| now.replicas == Some(1));
        assert_eq!(connected.role, Some("source".parse().unwrap()), "{flavour:?}");
        source.setup(&["CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)"]);
        let runs = when(&of_replica, "running", |now| now.replicates() == Some(true) && now.lag() == Some(0));
        assert_eq!((runs.role, runs.replicas), (Some("replica".parse().unwrap()), Some(0)), "{flavour:?}");
        let mut holder = Client::connect(&replica.root()).unwrap();
        until("replicated", || holder.query("LOCK TABLES shop.t READ").ok());
        source.setup(&["INSERT INTO shop.t VALUES (1)"]);
        let behind = when(&of_replica, "behind", |now| now.lag() >= Some(2));
        assert_eq!(behind.replicates(), Some(true), "{flavour:?}");
        holder.query("UNLOCK TABLES").unwrap();
        when(&of_replica, "caught up", |now| now.lag() == Some(0));
        replica.setup(&[match flavour {
            Flavour::MariaDb => "STOP SLAVE SQL_THREAD",
            Flavour::MySql => "STOP REPLICA SQL_THREAD",
        }]);
        when(&of_replica, "stopped", |now| now.replicates() == Some(false));
        let found = metrics(&of_replica);
        assert_eq!(found[&series("replica_threads_running")], 0.0, "{flavour:?}");
        assert!(!found.contains_key(&series("replica_lag_seconds")), "{flavour:?}");
        [of_source, of_replica].iter().for_each(|observer| observer.stop(PATIENCE));
    }
}

#[test]
fn a_delay_that_was_asked_for_is_not_counted_as_lag() {
    for flavour in Flavour::present() {
        let (source, replica) = pair(flavour, 3600);
        let observer = observe(&replica, "benchd");
        source.setup(&["CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)"]);
        let mut root = Client::connect(&replica.root()).unwrap();
        let behind = |root: &mut Client| {
            let (statement, column) = match flavour {
                Flavour::MariaDb => ("SHOW SLAVE STATUS", "seconds_behind_master"),
                Flavour::MySql => ("SHOW REPLICA STATUS", "seconds_behind_source"),
            };
            root.named_rows(statement).unwrap().remove(0).remove(column).unwrap()?.parse::<u64>().ok()
        };
        until("behind", || behind(&mut root).filter(|seconds| *seconds >= 1));
        let sample = next(&observer);
        assert_eq!((sample.replicates(), sample.lag()), (Some(true), Some(0)), "{flavour:?}");
        observer.stop(PATIENCE);
    }
}

#[test]
fn what_benchd_made_on_a_server_is_told_from_what_only_bears_its_name() {
    for flavour in Flavour::present() {
        let server = Server::start(flavour, &[]);
        let directory = crate::common::directory();
        let daemon = DaemonIdentity { uuid: uuid::Uuid::new_v4(), host: "db1".to_owned() };
        let owner = Owner { daemon: daemon.clone(), ledger: directory.path().join("scratch.json") };
        let holdings = || {
            let observer = observe_for(&server, "root", owner.clone());
            let sample = next(&observer);
            let found = metrics(&observer);
            observer.stop(PATIENCE);
            assert_eq!(found[&series("uptime_seconds")], sample.status.uptime.unwrap() as f64);
            sample.holdings
        };
        assert_eq!(holdings(), Some(Holdings { own: None, foreign: 0 }), "{flavour:?}");
        let mut client = Client::connect(&server.root()).unwrap();
        let mut prepared = PreparedTarget::claim(&mut client, "main", &daemon, &owner.ledger).unwrap();
        let columns = "(id INT PRIMARY KEY, c CHAR(200)) ENGINE=InnoDB";
        prepared.schema.create_table(&mut client, "t1", columns).unwrap();
        server.setup(&["CREATE DATABASE benchd_scratch_00000000"]);
        let found = holdings().unwrap();
        assert!(
            found.own.is_some_and(|bytes| bytes >= 16_384) && found.foreign == 1,
            "{flavour:?} {found:?}"
        );
        // Another daemon takes both for foreign.
        let other = Owner {
            daemon: DaemonIdentity { uuid: uuid::Uuid::new_v4(), host: "db2".to_owned() },
            ledger: directory.path().join("other.json"),
        };
        let observer = observe_for(&server, "root", other);
        assert_eq!(next(&observer).holdings, Some(Holdings { own: None, foreign: 2 }), "{flavour:?}");
        observer.stop(PATIENCE);
    }
}
