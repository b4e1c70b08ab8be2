use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use benchd::target::{Asker, Client, LeftOver, ScratchOptions, ScratchServer, recover};
use benchd::units::Span;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use tempfile::TempDir;
use uuid::Uuid;

use crate::common::{Flavour, directory, script, skip, unprivileged};

/// A place for scratch servers, and the daemon that asks for them.
struct Place {
    directory: TempDir,
    daemon: Uuid,
    options: ScratchOptions,
    notes: Vec<String>,
}

impl Place {
    fn new(flavour: Flavour) -> Option<Place> {
        let server = flavour.program()?;
        let directory = directory();
        let options = ScratchOptions {
            directory: directory.path().join("scratch"),
            // MariaDB is what an installed host gives by itself.
            server: (flavour == Flavour::MySql).then_some(server),
            ..ScratchOptions::default()
        };
        Some(Place { directory, daemon: Uuid::new_v4(), options, notes: Vec::new() })
    }

    fn all() -> impl Iterator<Item = Place> {
        [Flavour::MariaDb, Flavour::MySql].into_iter().filter_map(Place::new)
    }

    fn with(mut self, options: &[(&str, &str)]) -> Place {
        self.set(options);
        self
    }

    fn set(&mut self, options: &[(&str, &str)]) {
        self.options.options =
            options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    }

    fn try_start(&mut self) -> anyhow::Result<ScratchServer> {
        let notes = &mut self.notes;
        notes.clear();
        let mut asker = Asker {
            daemon: self.daemon,
            stop: &|| false,
            start: &mut Command::spawn,
            note: &mut |note| notes.push(note),
        };
        ScratchServer::start(&self.options, "ssd", &mut asker)
    }

    fn start(&mut self) -> ScratchServer {
        self.try_start().unwrap_or_else(|error| panic!("{error:#}"))
    }

    fn fail(&mut self) -> String {
        format!("{:#}", self.try_start().map(drop).unwrap_err())
    }

    fn home(&self) -> PathBuf {
        self.options.directory.join("ssd")
    }

    /// What stands in the server's directory, by name.
    fn left(&self) -> Vec<String> {
        names(&self.home())
    }
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn value(server: &ScratchServer, sql: &str) -> String {
    let mut client = Client::connect(server.access()).unwrap();
    client.rows(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).remove(0).remove(0).unwrap_or_default()
}

fn does(server: &ScratchServer, statements: &[&str]) {
    let mut client = Client::connect(server.access()).unwrap();
    for statement in statements {
        client.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

fn runs(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_scratch_server_starts_stops_and_leaves_its_data_for_the_next() {
    for place in Place::all() {
        let mut place = place.with(&[("innodb-flush-log-at-trx-commit", "2")]);
        let server = place.start();
        let pid = server.pid();
        assert_eq!(server.facts()["innodb_flush_log_at_trx_commit"], "2");
        assert_eq!(value(&server, "SELECT @@skip_networking"), "1");
        assert_eq!(value(&server, "SELECT @@tmpdir"), place.home().join("tmp").to_string_lossy());
        does(&server, &["CREATE DATABASE d", "CREATE TABLE d.t (id INT)"]);
        if Uid::effective().is_root() {
            assert_ne!(
                fs::metadata(format!("/proc/{pid}")).unwrap().uid(),
                0,
                "a server must not run as root"
            );
        }
        server.stop().unwrap();
        assert!(!runs(pid));
        assert_eq!(place.left(), [".benchd", "data"]);
        place.options.keep_data = false;
        let server = place.start();
        assert_eq!(value(&server, "SHOW TABLES FROM d"), "t");
        server.stop().unwrap();
        assert!(names(&place.options.directory).is_empty());
    }
}

#[test]
fn data_that_does_not_fit_the_options_is_made_anew() {
    for place in Place::all() {
        let mut place = place.with(&[("innodb_page_size", "8192")]);
        let server = place.start();
        assert_eq!(server.facts()["innodb_page_size"], "8192");
        does(&server, &["CREATE DATABASE d"]);
        server.stop().unwrap();
        place.set(&[("innodb_page_size", "4096")]);
        let server = place.start();
        assert_eq!(
            value(&server, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'd'"),
            "0"
        );
        assert_eq!(server.facts()["innodb_page_size"], "4096");
        server.stop().unwrap();
        assert!(place.notes[0].contains("innodb_page_size"), "{:?}", place.notes);
        assert!(place.notes[0].ends_with("it is made anew"), "{:?}", place.notes);
    }
}

#[test]
fn a_server_that_dies_tells_what_its_log_says() {
    for place in Place::all() {
        let mut place = place.with(&[("no_such_option", "3")]);
        let error = place.fail();
        assert!(error.contains("of target ssd ended with "), "{error}");
        assert!(error.contains("unknown variable 'no_such_option=3'"), "{error}");
        assert!(error.contains("Write loose_ before options that not every server knows"), "{error}");
        assert_eq!(place.left(), [".benchd", "data", "run"], "data and log stay");
        place.set(&[("loose_no_such_option", "3")]);
        place.start().stop().unwrap();
        assert!(
            place.notes[0].starts_with("option loose_no_such_option of target ssd is unknown to"),
            "{:?}",
            place.notes
        );
    }
}

#[test]
fn a_server_that_dies_later_tells_its_end() {
    let Some(mut place) = Place::new(Flavour::MariaDb) else { return };
    let mut server = place.start();
    assert_eq!(server.ended(), None);
    kill(Pid::from_raw(server.pid().try_into().unwrap()), Signal::SIGKILL).unwrap();
    let story = loop {
        if let Some(story) = server.ended() {
            break story;
        }
    };
    assert!(story.starts_with("mariadbd of target ssd ended with signal 9 after "), "{story}");
}

#[test]
fn a_server_that_is_not_ready_in_time_is_ended() {
    for mut place in Place::all() {
        place.options.start_timeout = Span::from_millis(1);
        let error = place.fail();
        assert!(error.contains("did not end within 1ms, the start_timeout"), "{error}");
        place.options.start_timeout = Span::from_secs(60);
        place.start().stop().unwrap();
        place.options.start_timeout = Span::from_millis(1);
        let error = place.fail();
        assert!(error.contains("was not ready within 1ms, its start_timeout, and was ended"), "{error}");
        assert_eq!(place.left(), [".benchd", "data", "run"], "no server is remembered");
    }
}

#[test]
fn a_start_can_be_stopped() {
    let Some(place) = Place::new(Flavour::MariaDb) else { return };
    let mut asker =
        Asker { daemon: place.daemon, stop: &|| true, start: &mut Command::spawn, note: &mut |_| {} };
    let error = ScratchServer::start(&place.options, "ssd", &mut asker).map(drop).unwrap_err().to_string();
    assert!(error.contains("was stopped"), "{error}");
}

#[test]
fn a_server_dropped_on_the_way_out_of_an_error_is_gone() {
    let Some(mut place) = Place::new(Flavour::MariaDb) else { return };
    let server = place.start();
    let pid = server.pid();
    drop(server);
    assert!(!runs(pid));
    place.start().stop().unwrap();
}

#[test]
fn a_script_may_stand_for_the_server_if_it_ends_in_exec() {
    let Some(mut place) = Place::new(Flavour::MariaDb) else { return };
    let program = Flavour::MariaDb.program().unwrap().display().to_string();
    let path = place.directory.path().join("server");
    place.options.server = Some(path.clone());
    script(&path, &format!("#!/bin/sh\nulimit -n 300\nexec {program} \"$@\"\n"));
    place.start().stop().unwrap();
    assert!(place.notes[0].starts_with("the limit of open files cut what the server"), "{:?}", place.notes);
    script(&path, &format!("#!/bin/sh\n{program} \"$@\" &\ntrap 'kill $!' TERM\nwait $!; wait $!\n"));
    let error = place.fail();
    assert!(error.contains("a script given as `server` must end by exec of the server"), "{error}");
    place.options.server = None;
    place.start().stop().unwrap();
}

#[test]
fn a_preloaded_library_is_proved_to_be_loaded() {
    let Some(mut place) = Place::new(Flavour::MariaDb) else { return };
    // A library of the C library that nothing uses.
    place.options.preload = Some("libBrokenLocale.so.1".to_owned());
    let server = place.start();
    assert!(server.facts()["preload"].ends_with("/libBrokenLocale.so.1"), "{:?}", server.facts());
    server.stop().unwrap();
    place.options.preload = Some("libnothere.so.1".to_owned());
    let error = place.fail();
    assert!(error.contains("preload = \"libnothere.so.1\" was not loaded"), "{error}");
    assert!(error.contains("cannot be preloaded"), "{error}");
}

#[test]
fn a_directory_benchd_did_not_make_is_left_alone() {
    let Some(mut place) = Place::new(Flavour::MariaDb) else { return };
    fs::create_dir_all(place.home()).unwrap();
    fs::write(place.home().join("ibdata1"), "precious").unwrap();
    let error = place.fail();
    assert!(error.contains("is not empty and benchd did not make it"), "{error}");
    assert_eq!(place.left(), ["ibdata1"]);
    assert_eq!(fs::read_to_string(place.home().join("ibdata1")).unwrap(), "precious");
}

#[test]
fn a_server_left_by_a_crash_is_ended_and_its_data_kept() {
    let Some(mut place) = Place::new(Flavour::MariaDb) else { return };
    let server = place.start();
    let pid = server.pid();
    does(&server, &["CREATE DATABASE d"]);
    std::mem::forget(server);
    let recover = |daemon| recover(&place.options.directory, daemon, &|_| true).unwrap();
    assert_eq!(recover(Uuid::new_v4()), LeftOver::default());
    assert!(runs(pid), "the server of another daemon is left alone");
    let left = || vec!["ssd".to_owned()];
    assert_eq!(recover(place.daemon), LeftOver { servers: left(), files: left() });
    assert!(!runs(pid));
    assert_eq!(place.left(), [".benchd", "data"]);
    assert_eq!(recover(place.daemon), LeftOver::default());
    let server = place.start();
    let pid = server.pid();
    std::mem::forget(server);
    let server = place.start();
    assert!(!runs(pid));
    assert!(place.notes[0].contains("still ran after a crash of benchd"), "{:?}", place.notes);
    assert_eq!(value(&server, "SHOW DATABASES LIKE 'd'"), "d");
    server.stop().unwrap();
}

#[test]
fn a_start_needs_no_root() {
    if Uid::effective().is_root() {
        // The test itself, as an account that may do nothing: from a place this account can reach.
        let place = directory();
        let program = place.path().join("test");
        // By another process: a file that this one had open for writing may be held by a child of another test,
        // and is then too busy to be executed.
        let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status();
        assert!(copied.unwrap().success());
        let mut command = Command::new(&program);
        let output = unprivileged(&mut command)
            .args(["--exact", "scratch::a_start_needs_no_root", "--nocapture"])
            .current_dir(place.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        return;
    }
    let Some(mut place) = Place::new(Flavour::MariaDb) else { return };
    place.options.keep_data = false;
    place.start().stop().unwrap();
    assert!(names(&place.options.directory).is_empty());
}

#[test]
fn a_directory_the_servers_account_cannot_reach_is_named() {
    if !Uid::effective().is_root() {
        return skip("root");
    }
    let Some(mut place) = Place::new(Flavour::MariaDb) else { return };
    fs::set_permissions(place.directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let error = place.fail();
    let named =
        format!("which scratch servers run as, cannot enter {}: chmod", place.directory.path().display());
    assert!(error.contains(&named), "{error}");
}

#[test]
fn options_that_benchd_decides_are_refused_before_anything_is_made() {
    let Some(place) = Place::new(Flavour::MariaDb) else { return };
    let mut place = place.with(&[("datadir", "/var/lib/mysql")]);
    assert!(place.fail().contains("option `datadir` of a scratch server is decided by benchd"));
    assert!(!place.options.directory.exists());
    assert_eq!(place.options.options, BTreeMap::from([("datadir".to_owned(), "/var/lib/mysql".to_owned())]));
}
