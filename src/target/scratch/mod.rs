//! A throw-away server, started from the installed binaries in a directory of its own.
//!
//! It listens on a socket only, runs as an unprivileged account, and takes nothing from the host's configuration.

mod home;
mod log;
mod options;
mod process;
mod program;
mod setup;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use uuid::Uuid;

use self::home::Home;
pub use self::options::ScratchOptions;
use self::process::{Account, Remembered, STOP_LIMIT, Waited, ended_with, wait_for};
use self::program::Program;
use super::access::Access;
use super::client::Client;
use super::error::{ErrorClass, SqlError};
use super::facts;
use crate::units::Span;

/// What starting a scratch server needs from whoever asks for it.
pub struct Asker<'a> {
    /// The daemon the server's directory will belong to.
    pub daemon: Uuid,
    /// Whether the start is to be given up.
    pub stop: &'a dyn Fn() -> bool,
    /// Starts a command, the server or what makes its data, where its limits hold.
    pub start: &'a mut dyn FnMut(&mut Command) -> io::Result<Child>,
    /// Takes sentences that a person should read.
    pub note: &'a mut dyn FnMut(String),
}

/// A scratch server that runs.
#[derive(Debug)]
pub struct ScratchServer {
    child: Child,
    program: Program,
    /// Taken when the server was stopped.
    home: Option<Home>,
    access: Access,
    facts: BTreeMap<String, String>,
    keep_data: bool,
    begin: Instant,
}

impl ScratchServer {
    /// Starts a server in `options.directory/name`, on the data of an earlier start when they fit, and waits
    /// until it answers.
    ///
    /// # Errors
    /// When there is no server program, when the directory is not proved to be ours, and when the server does
    /// not become ready: then with what its log says. A server that failed is gone; its log stays.
    pub fn start(
        options: &ScratchOptions,
        name: &str,
        asker: &mut Asker<'_>,
    ) -> anyhow::Result<ScratchServer> {
        setup::check_options(&options.options)?;
        let account = Account::for_servers()?;
        let program = Program::find(options.server.as_deref(), account.as_ref())
            .with_context(|| format!("no scratch server for target {name}"))?;
        let mut home = Home::claim(&options.directory, name, asker.daemon, account)
            .with_context(|| format!("no scratch server for target {name}"))?;
        if home.end_left_over() {
            (asker.note)(format!(
                "a server of target {name} still ran after a crash of benchd; it was ended"
            ));
        }
        home.renew_working_directories()?;
        setup::prepare_data(&mut home, &program, options, asker)?;
        let mut server = ScratchServer::spawn(home, program, options, asker)?;
        server.await_ready(options.start_timeout, asker.stop)?;
        server.examine(options, asker.note)?;
        Ok(server)
    }

    /// How to reach it: as its all-powerful account, through its socket.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// What it is: [`facts`](super::facts()), every option that was given as it reads back, and `preload`.
    pub fn facts(&self) -> &BTreeMap<String, String> {
        &self.facts
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How the server ended, if it did, with what its log says.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(self.story(&format!("ended with {}", ended_with(status))))
    }

    /// Stops the server and removes what it no longer needs: all of it unless the data is kept.
    ///
    /// # Errors
    /// When it had to be killed, or something could not be removed.
    pub fn stop(mut self) -> anyhow::Result<()> {
        let forced = process::end(&mut self.child, STOP_LIMIT);
        let story = self.story(&format!("did not stop within {STOP_LIMIT} and was killed"));
        if let Some(home) = self.home.take() {
            if self.keep_data { home.tidy() } else { home.remove() }?;
        }
        ensure!(!forced, story);
        Ok(())
    }

    fn spawn(
        home: Home,
        program: Program,
        options: &ScratchOptions,
        asker: &mut Asker<'_>,
    ) -> anyhow::Result<ScratchServer> {
        let begin = Instant::now();
        let mut command = setup::server_command(&home, &program, options)?;
        let child = (asker.start)(&mut command)
            .with_context(|| format!("{} cannot be started", program.path.display()))?;
        let access = Access::by_socket(home.socket(), "root");
        let remembered = Remembered::new(child.id(), &home.data());
        // From here on the child is ended whatever happens.
        let server = ScratchServer {
            child,
            program,
            home: Some(home),
            access,
            facts: BTreeMap::new(),
            keep_data: options.keep_data,
            begin,
        };
        if let (Some(home), Ok(remembered)) = (&server.home, remembered) {
            home.remember(&remembered)?;
        }
        Ok(server)
    }

    fn await_ready(&mut self, limit: Span, stop: &dyn Fn() -> bool) -> anyhow::Result<()> {
        let access = Access { connect_timeout: limit.min(Span::from_secs(1)), ..self.access.clone() };
        let child = &mut self.child;
        let waited = wait_for(limit, stop, || match child.try_wait() {
            Ok(Some(status)) => Some(Err(format!("ended with {}", ended_with(status)))),
            _ => ready(&access).map(|found| found.map_err(|error| format!("answered, but: {error}"))),
        });
        match waited {
            Waited::Done(Ok(())) => Ok(()),
            Waited::Done(Err(what)) => bail!(self.story(&what)),
            Waited::Late => {
                bail!(self.story(&format!("was not ready within {limit}, its start_timeout, and was ended")))
            }
            Waited::Stopped => bail!("the start of the server of target {} was stopped", self.target()),
        }
    }

    /// Makes sure that the server is what was asked for, and keeps what it is.
    fn examine(&mut self, options: &ScratchOptions, note: &mut dyn FnMut(String)) -> anyhow::Result<()> {
        self.check_process()?;
        let mut client = Client::connect(&self.access)?;
        self.facts = facts::facts(&mut client)?;
        let variables = facts::variables(&mut client)?;
        client.close();
        for name in options.options.keys() {
            let variable = setup::variable_name(name);
            match variables.get(&variable) {
                Some(value) => drop(self.facts.insert(variable, value.clone())),
                None if setup::is_loose(name) => {
                    note(format!(
                        "option {name} of target {} is unknown to {} and has no effect",
                        self.target(),
                        self.program.short()
                    ));
                }
                None => {}
            }
        }
        if let Some(library) = &options.preload {
            let found = self.loaded(library)?;
            self.facts.insert("preload".to_owned(), found);
        }
        if let Some(cut) = log::cut_limits(&self.log()) {
            note(format!(
                "the limit of open files cut what the server of target {} may have open ({cut}); raise LimitNOFILE",
                self.target()
            ));
        }
        note(format!(
            "{} of target {} ready after {:.1} s",
            self.program.short(),
            self.target(),
            self.seconds()
        ));
        Ok(())
    }

    /// Signals go to the process that was started, so that has to be the server.
    fn check_process(&self) -> anyhow::Result<()> {
        let home = self.home.as_ref().context("the server was stopped")?;
        let text = fs::read_to_string(home.pid_file()).unwrap_or_default();
        ensure!(
            text.trim() == self.child.id().to_string(),
            "the server runs as another process than {}: a script given as `server` must end by exec of the server",
            self.program.path.display()
        );
        Ok(())
    }

    /// The file a preloaded library was loaded from.
    fn loaded(&self, library: &str) -> anyhow::Result<String> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.child.id()))
            .context("the libraries of the server cannot be read")?;
        match setup::mapped_library(&maps, library) {
            Some(path) => Ok(path.to_owned()),
            None => bail!(
                "preload = \"{library}\" was not loaded into the server of target {}; see that the library exists and \
                 fits: {}",
                self.target(),
                self.log()
                    .lines()
                    .find(|line| line.contains("LD_PRELOAD"))
                    .unwrap_or("its log does not mention it")
            ),
        }
    }

    /// `mysqld of target ssd ended with 1 after 0.8 s. Its log says: …`
    fn story(&self, what: &str) -> String {
        let program = self.program.path.file_name().unwrap_or_default().display();
        let log_file = self.home.as_ref().map(Home::log).unwrap_or_default();
        let said = setup::what_the_log_says(&log_file);
        format!("{program} of target {} {what} after {:.1} s. {said}", self.target(), self.seconds())
    }

    fn log(&self) -> String {
        self.home.as_ref().map(|home| log::tail(&home.log())).unwrap_or_default()
    }

    fn target(&self) -> &str {
        self.home.as_ref().map_or("", Home::target)
    }

    fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }
}

impl Drop for ScratchServer {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            process::end(&mut self.child, STOP_LIMIT);
            // Whoever reads why the server failed may want its log; the next start removes it.
            let _ = home.forget();
        }
    }
}

/// Whether the server answers: `None` is not yet, an error is never.
fn ready(access: &Access) -> Option<Result<(), SqlError>> {
    match Client::connect(access) {
        Ok(client) => {
            client.close();
            Some(Ok(()))
        }
        Err(error) if error.class == ErrorClass::Denied => Some(Err(error)),
        Err(_) => None,
    }
}

/// What was found left over in a directory of scratch servers, and ended or removed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LeftOver {
    /// Targets whose servers still ran, or were still being made.
    pub servers: Vec<String>,
    /// Targets in whose directories files were left.
    pub files: Vec<String>,
}

/// Ends every scratch server in a directory that an earlier benchd with the same identity left running, and
/// removes what only running servers need, and the data of those targets that do not keep it. To be called before
/// any server is started there.
///
/// # Errors
/// When the directory exists and cannot be read, or something in it that is ours cannot be removed.
pub fn recover(directory: &Path, daemon: Uuid, keep: &dyn Fn(&str) -> bool) -> anyhow::Result<LeftOver> {
    let mut left = LeftOver::default();
    for home in homes(directory, daemon)? {
        let target = home.target().to_owned();
        if home.end_left_over() {
            left.servers.push(target.clone());
        }
        let keeps = keep(&target);
        if home.is_untidy() || !keeps {
            left.files.push(target);
        }
        if keeps { home.tidy() } else { home.remove() }?;
    }
    Ok(left)
}

/// Whether [`recover`] would find something there. Nothing is changed.
///
/// # Errors
/// When the directory exists and cannot be read.
pub fn is_untidy(directory: &Path, daemon: Uuid, keep: &dyn Fn(&str) -> bool) -> anyhow::Result<bool> {
    Ok(homes(directory, daemon)?.iter().any(|home| home.is_untidy() || !keep(home.target())))
}

/// What benchd has of one scratch server on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScratchHome {
    /// The target.
    pub target: String,
    /// Its directory.
    pub path: PathBuf,
    /// What is in it, in bytes.
    pub bytes: u64,
    /// The server that made its data: `MariaDB 10.11.6`; absent when there is no complete data.
    pub data: Option<String>,
}

/// The scratch servers of a directory that a benchd with this identity made.
///
/// # Errors
/// When the directory exists and cannot be read.
pub fn scratch_homes(directory: &Path, daemon: Uuid) -> anyhow::Result<Vec<ScratchHome>> {
    let describe = |home: &Home| ScratchHome {
        target: home.target().to_owned(),
        path: home.path().to_owned(),
        bytes: home.bytes(),
        data: home.data_kind().map(|kind| format!("{:?} {}", kind.flavour, kind.version)),
    };
    Ok(homes(directory, daemon)?.iter().map(describe).collect())
}

/// Removes everything of one scratch server that benchd made. To be called only while no run is under way.
///
/// # Errors
/// When the directory is not proved to be ours, or something in it cannot be removed.
pub fn remove_scratch(home: &ScratchHome, daemon: Uuid) -> anyhow::Result<()> {
    let home = Home::existing(&home.path, daemon)
        .with_context(|| format!("{} is not proved to be benchd's. Left alone", home.path.display()))?;
    home.end_left_over();
    home.remove()
}

fn homes(directory: &Path, daemon: Uuid) -> anyhow::Result<Vec<Home>> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let directory = directory.canonicalize().with_context(|| format!("directory {}", directory.display()))?;
    let entries =
        fs::read_dir(&directory).with_context(|| format!("{} cannot be read", directory.display()))?;
    Ok(entries.flatten().filter_map(|entry| Home::existing(&entry.path(), daemon)).collect())
}
