//! The web configuration in force: read again when a file of it changes, the last good one kept.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};

use super::server::Shared;
use super::tls::{self, Tls};
use crate::config::{self, Config, Problem, RateLimit};

/// From one look at the files to the next.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// TLS, users and headers, ready for use.
#[derive(Default)]
pub(super) struct Web {
    pub(super) tls: Option<Tls>,
    /// The bcrypt hash of each user's password.
    pub(super) users: BTreeMap<String, String>,
    /// Headers of every answer by TCP.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) rate_limit: Option<RateLimit>,
}

/// The web configuration in force, and what the disk holds.
#[derive(Clone)]
pub(super) struct State {
    pub(super) web: Arc<Web>,
    /// Whether it is the one on disk.
    pub(super) is_current: bool,
    /// The files it is made of, as they were when they were last read.
    files: Arc<Files>,
}

type Files = BTreeMap<PathBuf, Stamp>;

/// What changes when a file does: device, inode, length, and when its content and its inode were last written.
/// `None`: it cannot be looked at.
type Stamp = Option<[i128; 7]>;

/// What a web configuration means for who may do what.
#[derive(Debug, Clone, Default)]
pub struct WebSummary {
    /// Whether TLS is spoken.
    pub tls: bool,
    /// Whether certificates of clients stand for users.
    pub verifies: bool,
    /// The users who log in with a password.
    pub users: Vec<String>,
    /// What is worth knowing and no problem.
    pub notes: Vec<Problem>,
}

impl WebSummary {
    /// Whether anybody can log in, so that it does not count any more from where a request comes.
    pub fn has_logins(&self) -> bool {
        self.verifies || !self.users.is_empty()
    }
}

/// Reads the web configuration that a configuration names, with its certificates and keys.
///
/// # Errors
/// Every problem at once.
pub fn check_web(config: &Config) -> Result<WebSummary, Vec<Problem>> {
    let (web, notes) = load(config.server.web_config.as_deref())?;
    let verifies = web.tls.as_ref().is_some_and(|tls| tls.verifies);
    Ok(WebSummary { tls: web.tls.is_some(), verifies, users: web.users.into_keys().collect(), notes })
}

fn load(path: Option<&Path>) -> Result<(Web, Vec<Problem>), Vec<Problem>> {
    let Some(path) = path else { return Ok((Web::default(), Vec::new())) };
    let loaded = config::load_web(path)?;
    let tls = loaded.config.tls.as_ref().map(|tls| tls::build(&loaded, tls)).transpose()?;
    let header = |(name, value): &(String, String)| {
        Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
    };
    let web = Web {
        tls,
        headers: loaded.config.headers.iter().filter_map(header).collect(),
        users: loaded.config.users,
        rate_limit: loaded.config.rate_limit,
    };
    Ok((web, loaded.notes))
}

/// The files of a configuration as they are; of one that cannot be read also those known before.
fn look(path: Option<&Path>, known: &Files) -> Files {
    let Some(path) = path else { return Files::new() };
    let stamped = |file: PathBuf| (file.clone(), stamp(&file));
    match config::load_web(path) {
        Ok(loaded) => config::files_of(path, &loaded.config).into_iter().map(stamped).collect(),
        Err(_) => known.keys().cloned().chain([path.to_owned()]).map(stamped).collect(),
    }
}

fn stamp(path: &Path) -> Stamp {
    let facts = std::fs::metadata(path).ok()?;
    let times = [facts.mtime(), facts.mtime_nsec(), facts.ctime(), facts.ctime_nsec()].map(i128::from);
    let [written, written_nanos, changed, changed_nanos] = times;
    let (device, inode, length) = (facts.dev().into(), facts.ino().into(), facts.size().into());
    Some([device, inode, length, written, written_nanos, changed, changed_nanos])
}

impl Web {
    /// Whether anybody can log in, so that it does not count any more from where a request comes.
    pub(super) fn has_logins(&self) -> bool {
        !self.users.is_empty() || self.tls.as_ref().is_some_and(|tls| tls.verifies)
    }
}

/// The first one.
///
/// # Errors
/// Every problem; without the configuration nobody could be let in as it says.
pub(super) fn first(config: &Config) -> anyhow::Result<State> {
    let path = config.server.web_config.as_deref();
    let files = look(path, &Files::new());
    match load(path) {
        Ok((web, _)) => Ok(State { web: Arc::new(web), is_current: true, files: Arc::new(files) }),
        Err(problems) => anyhow::bail!("{}", in_words(&problems)),
    }
}

/// Reads the files again; those with problems leave what is in force as it is.
pub(super) async fn read_again(shared: &Shared) {
    let path = shared.services.config().server.web_config.clone();
    let known = Arc::clone(&shared.web.borrow().files);
    // They are looked at first: what changes while they are read is seen at the next look.
    let read = tokio::task::spawn_blocking(move || (look(path.as_deref(), &known), load(path.as_deref())));
    let (files, read) = match read.await {
        Ok((files, read)) => (Arc::new(files), read),
        Err(error) => return log::error!("read the web configuration: {error}"),
    };
    match read {
        Ok((web, _)) => {
            shared.web.send_replace(State { web: Arc::new(web), is_current: true, files });
            log::info!("web configuration read again and in force");
        }
        Err(problems) => {
            let problems = in_words(&problems);
            log::error!("web configuration not changed, the one before stays in force\n{problems}");
            shared.web.send_modify(|state| (state.is_current, state.files) = (false, files));
        }
    }
}

fn in_words(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Looks at the files again and again; they may lie on a disk that hangs, so not on the thread that serves.
pub(super) async fn watch(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        let files = Arc::clone(&shared.web.borrow().files);
        let look = move || files.iter().any(|(path, before)| stamp(path) != *before);
        if tokio::task::spawn_blocking(look).await.unwrap_or(false) {
            read_again(&shared).await;
        }
    }
}
