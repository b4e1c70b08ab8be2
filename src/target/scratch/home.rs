//! The directory of one scratch server, and the proof that benchd made it.
//!
//! `DIRECTORY/NAME` holds the marker (`.benchd`), the remembered process (`server.json`), and three directories
//! that belong to the account of the server: `data`, `tmp`, and `run` with socket, process id and log. Whatever
//! is not proved by the marker is left untouched.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use nix::unistd::Uid;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::process::{self, Account, LEFT_OVER_LIMIT, Remembered};
use super::program::Flavour;
use crate::target::durable::{replace_file, unfinished};

const MARKER: &str = ".benchd";
const SERVER: &str = "server.json";
/// The longest path a unix socket may have: `sun_path` of unix(7) without its end.
const LONGEST_SOCKET: usize = 107;

/// What a data directory was made by. Another server, or other options that only count when it is made, need
/// another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DataKind {
    pub(crate) flavour: Flavour,
    pub(crate) version: String,
    pub(crate) options: BTreeMap<String, String>,
}

/// Who made a directory, and what for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Marker {
    daemon: Uuid,
    target: String,
    /// Whether the directory itself was made, and not only what is in it.
    created: bool,
    /// What the data directory was made by; absent until it is complete.
    data: Option<DataKind>,
}

/// A directory that is proved to be ours.
#[derive(Debug)]
pub(crate) struct Home {
    path: PathBuf,
    marker: Marker,
    account: Option<Account>,
}

impl Home {
    /// Makes `directory/name`, or takes it when its marker says that this daemon made it.
    pub(crate) fn claim(
        directory: &Path,
        name: &str,
        daemon: Uuid,
        account: Option<Account>,
    ) -> anyhow::Result<Home> {
        check_name(name)?;
        make_parents(directory, account.is_some())?;
        let directory =
            directory.canonicalize().with_context(|| format!("directory {}", directory.display()))?;
        let path = directory.join(name);
        let marker = match entry(&path)? {
            None => {
                make_directory(&path, account.is_some())?;
                Marker { daemon, target: name.to_owned(), created: true, data: None }
            }
            Some(facts) => match prove(&path, &facts, daemon)? {
                Some(marker) => marker,
                None => Marker { daemon, target: name.to_owned(), created: false, data: None },
            },
        };
        let home = Home { path, marker, account };
        home.save()?;
        if let Some(account) = &home.account {
            account.can_reach(&home.path)?;
        }
        home.check_socket()?;
        Ok(home)
    }

    /// The directory of an earlier scratch server of this daemon, if that is what it is.
    pub(crate) fn existing(path: &Path, daemon: Uuid) -> Option<Home> {
        let facts = entry(path).ok()??;
        let marker = prove(path, &facts, daemon).ok()??;
        Some(Home { path: path.to_owned(), marker, account: None })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn target(&self) -> &str {
        &self.marker.target
    }

    pub(crate) fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.path.join("tmp")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.run().join("my.sock")
    }

    pub(crate) fn pid_file(&self) -> PathBuf {
        self.run().join("server.pid")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.run().join("server.log")
    }

    fn run(&self) -> PathBuf {
        self.path.join("run")
    }

    /// What the complete data directory was made by, when there is one.
    pub(crate) fn data_kind(&self) -> Option<&DataKind> {
        self.marker.data.as_ref().filter(|_| matches!(entry(&self.data()), Ok(Some(facts)) if facts.is_dir()))
    }

    /// Throws the data away and makes an empty directory for new.
    pub(crate) fn renew_data(&mut self) -> anyhow::Result<()> {
        self.marker.data = None;
        self.save()?;
        self.renew(&self.data())
    }

    /// States that the data directory is complete.
    pub(crate) fn data_is_complete(&mut self, kind: DataKind) -> anyhow::Result<()> {
        self.marker.data = Some(kind);
        self.save()
    }

    /// Makes the directories that live as long as a server runs.
    pub(crate) fn renew_working_directories(&self) -> anyhow::Result<()> {
        self.renew(&self.tmp())?;
        self.renew(&self.run())
    }

    /// Remembers the server's process for the case that benchd ends before it.
    pub(crate) fn remember(&self, process: &Remembered) -> anyhow::Result<()> {
        replace_file(&self.path.join(SERVER), &serde_json::to_string(process)?)
    }

    /// Ends a server that an earlier benchd left running here, or left making its data. Returns whether there was
    /// one.
    pub(crate) fn end_left_over(&self) -> bool {
        let text = fs::read_to_string(self.path.join(SERVER)).unwrap_or_default();
        let remembered =
            serde_json::from_str::<Remembered>(&text).is_ok_and(|process| process.end(LEFT_OVER_LIMIT));
        process::end_marked(&self.path, LEFT_OVER_LIMIT) || remembered
    }

    /// Whether there is what only a running server needs, or what a crash cut short.
    pub(crate) fn is_untidy(&self) -> bool {
        let left = [self.run(), self.tmp(), self.path.join(SERVER)].into_iter().chain(self.cut_short());
        left.into_iter().any(|path| path.symlink_metadata().is_ok())
            || (self.marker.data.is_none() && self.data().symlink_metadata().is_ok())
    }

    /// Removes what a server needed while it ran, and what a crash cut short; data that is complete stays.
    pub(crate) fn tidy(&self) -> anyhow::Result<()> {
        remove_directory(&self.run())?;
        self.cut_short().iter().try_for_each(|path| remove_file(path))?;
        if self.marker.data.is_none() {
            remove_directory(&self.data())?;
        }
        self.forget()
    }

    fn cut_short(&self) -> [PathBuf; 2] {
        [MARKER, SERVER].map(|name| unfinished(&self.path.join(name)))
    }

    /// Bytes of all that is in it.
    pub(crate) fn bytes(&self) -> u64 {
        bytes_below(&self.path)
    }

    /// Removes what a server that failed needed while it ran; data and log stay.
    pub(crate) fn forget(&self) -> anyhow::Result<()> {
        remove_directory(&self.tmp())?;
        remove_file(&self.path.join(SERVER))
    }

    /// Removes everything that was made here, the directory itself only if it was made and nothing else is in it.
    pub(crate) fn remove(self) -> anyhow::Result<()> {
        self.tidy()?;
        remove_directory(&self.data())?;
        remove_file(&self.path.join(MARKER))?;
        if self.marker.created {
            fs::remove_dir(&self.path).with_context(|| format!("{} was not removed", self.path.display()))?;
        }
        Ok(())
    }

    fn save(&self) -> anyhow::Result<()> {
        replace_file(&self.path.join(MARKER), &serde_json::to_string(&self.marker)?)
    }

    fn renew(&self, path: &Path) -> anyhow::Result<()> {
        remove_directory(path)?;
        DirBuilder::new()
            .mode(0o700)
            .create(path)
            .with_context(|| format!("{} was not made", path.display()))?;
        self.account.as_ref().map_or(Ok(()), |account| account.give(path))
    }

    fn check_socket(&self) -> anyhow::Result<()> {
        let socket = self.socket();
        let length = socket.as_os_str().as_bytes().len();
        ensure!(
            length <= LONGEST_SOCKET,
            "the path of the server's socket, {}, would have {length} bytes and a socket's may have {LONGEST_SOCKET}: \
             choose a shorter `directory`",
            socket.display()
        );
        Ok(())
    }
}

fn check_name(name: &str) -> anyhow::Result<()> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    ensure!(
        !name.is_empty() && name.bytes().all(fits),
        "`{name}` cannot name a directory: use letters, digits, _ and -"
    );
    Ok(())
}

/// What stands at a path, without following a link.
fn entry(path: &Path) -> anyhow::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(facts) => Ok(Some(facts)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be examined", path.display())),
    }
}

/// Reads the marker of a directory that exists. `None` is an empty directory, which may be used; anything else
/// that this daemon did not make is an error.
fn prove(path: &Path, facts: &Metadata, daemon: Uuid) -> anyhow::Result<Option<Marker>> {
    let name = path.display();
    ensure!(
        !facts.is_symlink(),
        "{name} is a symbolic link; benchd works only in a directory of its own. Left alone"
    );
    ensure!(facts.is_dir(), "{name} is not a directory. Left alone");
    let marker_path = path.join(MARKER);
    let Some(marker_facts) = entry(&marker_path)? else {
        ensure!(
            is_empty(path)?,
            "{name} is not empty and benchd did not make it; choose another `directory`. Left alone"
        );
        return Ok(None);
    };
    let ours = Uid::effective().as_raw();
    ensure!(
        marker_facts.is_file() && marker_facts.uid() == ours && facts.uid() == ours,
        "{name} belongs to another user than the one benchd runs as. Left alone"
    );
    let text = fs::read_to_string(&marker_path)
        .with_context(|| format!("{} cannot be read", marker_path.display()))?;
    let Ok(marker) = serde_json::from_str::<Marker>(&text) else {
        bail!(
            "{} is not a marker of benchd's; nothing is proved by it. {name} was left alone",
            marker_path.display()
        );
    };
    ensure!(
        marker.daemon == daemon,
        "{name} was made by another benchd ({}), or before this one's store was made anew: move or remove it \
         yourself, or choose another `directory`. Left alone",
        marker.daemon
    );
    Ok(Some(marker))
}

/// Whether a directory holds nothing, or only what a crash of benchd's first write leaves.
fn is_empty(path: &Path) -> anyhow::Result<bool> {
    let begun = unfinished(Path::new(MARKER));
    for entry in fs::read_dir(path).with_context(|| format!("{} cannot be read", path.display()))? {
        let entry = entry.with_context(|| format!("{} cannot be read", path.display()))?;
        if entry.file_name() != begun.as_os_str() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes the directories down to the target's, each passable where a server of another account must pass.
fn make_parents(path: &Path, passable: bool) -> anyhow::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_parents(parent, passable)?;
    }
    make_directory(path, passable)
}

fn make_directory(path: &Path, passable: bool) -> anyhow::Result<()> {
    let mode = if passable { 0o711 } else { 0o700 };
    let made = DirBuilder::new().mode(mode).create(path);
    // The umask may have taken the passage away.
    made.and_then(|()| fs::set_permissions(path, Permissions::from_mode(mode)))
        .with_context(|| format!("directory {} cannot be made; choose another `directory`", path.display()))
}

/// Bytes that the files below a directory take on the disk; what cannot be read counts nothing.
fn bytes_below(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(facts) if facts.is_dir() => bytes_below(&entry.path()),
        Ok(facts) => facts.blocks() * 512,
        Err(_) => 0,
    });
    bytes.sum()
}

/// Removes a directory of ours with all in it; a link in its place is not ours.
fn remove_directory(path: &Path) -> anyhow::Result<()> {
    match entry(path)? {
        None => Ok(()),
        Some(facts) if facts.is_dir() => {
            fs::remove_dir_all(path).with_context(|| format!("{} was not removed", path.display()))
        }
        Some(_) => bail!("{} is not the directory benchd made. Left alone", path.display()),
    }
}

fn remove_file(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} was not removed", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn claim(directory: &Path, daemon: Uuid) -> anyhow::Result<Home> {
        Home::claim(directory, "ssd", daemon, None)
    }

    fn kind(version: &str) -> DataKind {
        DataKind { flavour: Flavour::MySQL, version: version.to_owned(), options: BTreeMap::new() }
    }

    #[test]
    fn what_was_made_is_removed_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let daemon = Uuid::new_v4();
        let mut home = claim(&directory.path().join("a/b"), daemon).unwrap();
        home.renew_data().unwrap();
        home.renew_working_directories().unwrap();
        home.data_is_complete(kind("9")).unwrap();
        home.tidy().unwrap();
        assert_eq!(names(home.path()), [".benchd", "data"]);
        let home = claim(&directory.path().join("a/b"), daemon).unwrap();
        assert_eq!(home.data_kind(), Some(&kind("9")));
        home.remove().unwrap();
        assert!(names(&directory.path().join("a/b")).is_empty());
    }

    #[test]
    fn a_directory_that_was_there_and_empty_stays() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("ssd")).unwrap();
        claim(directory.path(), Uuid::new_v4()).unwrap().remove().unwrap();
        assert!(names(&directory.path().join("ssd")).is_empty());
    }

    #[test]
    fn foreign_directories_are_refused_and_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ssd");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("precious"), "data").unwrap();
        refused(directory.path(), "is not empty and benchd did not make it");
        fs::write(path.join(MARKER), "not json").unwrap();
        refused(directory.path(), "is not a marker of benchd's");
        fs::remove_dir_all(&path).unwrap();
        claim(directory.path(), Uuid::new_v4()).unwrap();
        refused(directory.path(), "was made by another benchd");
        fs::rename(&path, directory.path().join("moved")).unwrap();
        symlink("moved", &path).unwrap();
        refused(directory.path(), "is a symbolic link");
    }

    fn refused(directory: &Path, why: &str) {
        let before = names(&directory.join("ssd"));
        let error = claim(directory, Uuid::new_v4()).unwrap_err().to_string();
        assert!(error.contains(why) && error.ends_with("eft alone"), "{error}");
        assert_eq!(names(&directory.join("ssd")), before);
    }

    #[test]
    fn a_link_in_place_of_the_data_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let victim = directory.path().join("victim");
        fs::create_dir(&victim).unwrap();
        fs::write(victim.join("precious"), "data").unwrap();
        let mut home = claim(directory.path(), Uuid::new_v4()).unwrap();
        symlink(&victim, home.data()).unwrap();
        assert!(home.renew_data().unwrap_err().to_string().ends_with("Left alone"));
        assert_eq!(names(&victim), ["precious"]);
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_refused_in_words() {
        let directory = tempfile::tempdir().unwrap();
        let error = claim(&directory.path().join("x".repeat(100)), Uuid::new_v4()).unwrap_err().to_string();
        assert!(error.contains("choose a shorter `directory`"), "{error}");
    }

    #[test]
    fn names_stay_inside_the_directory() {
        for name in ["", "..", "a/b", "a b", "ä"] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_name("ssd-2_b").is_ok());
    }

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}
