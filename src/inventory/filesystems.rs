//! Space on the file systems that matter, asked in threads of their own and served from memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use jiff::Timestamp;
use nix::sys::statvfs::statvfs;

use super::disks::disks_of;
use super::mounts::mount_of;
use crate::units::{Bytes, Span};

/// How long the last answer of a file system is served when it gives no other (a hung mount).
const BELIEVED: Duration = Duration::from_secs(120);

/// After how long a question without an answer is an error; node_exporter's time-out.
const PATIENCE: Duration = Duration::from_secs(5);

/// The threads only ask and store.
const STACK: usize = 128 * 1024;

/// The space on one file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filesystem {
    /// What is mounted, `/dev/sda2`.
    pub device: String,
    /// The kind of file system, `xfs`.
    pub fstype: String,
    /// Where it is mounted.
    pub mountpoint: PathBuf,
    /// The whole disks it lies on, as the kernel names them.
    pub disks: BTreeSet<String>,
    /// Size.
    pub size: Bytes,
    /// Free, blocks reserved for root included.
    pub free: Bytes,
    /// Free for ordinary users.
    pub available: Bytes,
    /// Inodes; `None` on a file system that has no fixed number.
    pub files: Option<u64>,
    /// Free inodes, likewise.
    pub files_free: Option<u64>,
    /// When it was asked.
    pub read_at: Timestamp,
    /// How long the answer took.
    pub took: Duration,
}

/// Watches the file systems under a set of paths. Each path has a thread, so a hung mount delays neither a
/// reader nor the others; its thread ends when the mount answers.
pub struct Filesystems {
    ask: Ask,
    answers: Arc<Mutex<Answers>>,
    watches: BTreeMap<PathBuf, Sender<Duration>>,
}

/// Asks for the file system that a path lies on; another function in tests.
type Ask = Arc<dyn Fn(&Path) -> io::Result<Filesystem> + Send + Sync>;

type Answers = BTreeMap<PathBuf, Answer>;

/// What is known of one path.
#[derive(Default)]
struct Answer {
    last: Option<(Instant, Filesystem)>,
    error: Option<String>,
    /// Since when the present question is under way.
    asked: Option<Instant>,
}

impl Filesystems {
    /// Begins to watch. A path need not exist yet: its nearest parent that does stands for it.
    ///
    /// # Errors
    /// When the system cannot start another thread.
    pub fn start(paths: &[PathBuf], interval: Span) -> anyhow::Result<Filesystems> {
        Filesystems::with(Arc::new(ask), paths, interval)
    }

    fn with(ask: Ask, paths: &[PathBuf], interval: Span) -> anyhow::Result<Filesystems> {
        let mut filesystems = Filesystems { ask, answers: Arc::default(), watches: BTreeMap::new() };
        filesystems.configure(paths, interval)?;
        Ok(filesystems)
    }

    /// Changes the paths and the time between two questions. Paths that stay are asked anew and keep their last
    /// answers meanwhile.
    ///
    /// # Errors
    /// When the system cannot start another thread.
    pub fn configure(&mut self, paths: &[PathBuf], interval: Span) -> anyhow::Result<()> {
        self.watches.retain(|path, _| paths.contains(path));
        lock(&self.answers).retain(|path, _| paths.contains(path));
        for path in paths {
            let known = self.watches.get(path);
            if known.is_some_and(|watch| watch.send(interval.duration()).is_ok()) {
                continue;
            }
            let watch = self.watch(path.clone(), interval.duration())?;
            self.watches.insert(path.clone(), watch);
        }
        Ok(())
    }

    fn watch(&self, path: PathBuf, interval: Duration) -> anyhow::Result<Sender<Duration>> {
        lock(&self.answers).entry(path.clone()).or_default();
        let (watch, inbox) = mpsc::channel();
        let (ask, answers) = (Arc::clone(&self.ask), Arc::clone(&self.answers));
        thread::Builder::new()
            .name("filesystem".to_owned())
            .stack_size(STACK)
            .spawn(move || keep_asking(&path, interval, &inbox, &ask, &answers))
            .context(
                "cannot start a thread for a file system: raise the limit of threads (TasksMax, ulimit -u)",
            )?;
        Ok(watch)
    }

    /// The file systems under the watched paths, each once, with their last answers of at most 2 minutes ago.
    /// Never waits.
    pub fn latest(&self) -> Vec<Filesystem> {
        self.as_of(Instant::now())
    }

    fn as_of(&self, now: Instant) -> Vec<Filesystem> {
        let mut by_mount: BTreeMap<PathBuf, Filesystem> = BTreeMap::new();
        for answer in lock(&self.answers).values() {
            let Some((when, filesystem)) = &answer.last else { continue };
            if now.saturating_duration_since(*when) > BELIEVED {
                continue;
            }
            let known = by_mount.entry(filesystem.mountpoint.clone()).or_insert_with(|| filesystem.clone());
            if known.read_at < filesystem.read_at {
                known.clone_from(filesystem);
            }
        }
        by_mount.into_values().collect()
    }

    /// Whether some path has not had a first answer yet.
    pub fn is_waiting(&self) -> bool {
        lock(&self.answers).values().any(|answer| answer.last.is_none() && answer.error.is_none())
    }

    /// The disks under the watched paths. They stay known while a mount hangs: then they matter most.
    pub fn disks(&self) -> BTreeSet<String> {
        let answers = lock(&self.answers);
        let known = answers.values().filter_map(|answer| answer.last.as_ref());
        known.flat_map(|(_, filesystem)| filesystem.disks.iter().cloned()).collect()
    }

    /// One sentence for each path whose file system answers with an error, or not at all for 5 seconds.
    pub fn errors(&self) -> Vec<String> {
        self.errors_as_of(Instant::now())
    }

    fn errors_as_of(&self, now: Instant) -> Vec<String> {
        let error = |(path, answer): (&PathBuf, &Answer)| {
            let waiting = now.saturating_duration_since(answer.asked.unwrap_or(now));
            if waiting > PATIENCE {
                return Some(format!(
                    "the file system under {} has not answered for {} s: is the mount hung?",
                    path.display(),
                    waiting.as_secs()
                ));
            }
            answer.error.clone()
        };
        lock(&self.answers).iter().filter_map(error).collect()
    }
}

/// Nothing is left half done under this lock, so a panic elsewhere does not spoil what it guards.
fn lock(answers: &Mutex<Answers>) -> MutexGuard<'_, Answers> {
    answers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks at every interval until nobody watches the path any more.
fn keep_asking(
    path: &Path,
    mut interval: Duration,
    inbox: &Receiver<Duration>,
    ask: &Ask,
    answers: &Mutex<Answers>,
) {
    loop {
        note(answers, path, |entry| entry.asked = Some(Instant::now()));
        let answer = ask(path);
        note(answers, path, |entry| {
            entry.asked = None;
            match answer {
                Ok(filesystem) => (entry.last, entry.error) = (Some((Instant::now(), filesystem)), None),
                Err(error) => {
                    entry.error = Some(format!("cannot read the space under {}: {error}", path.display()))
                }
            }
        });
        match inbox.recv_timeout(interval) {
            Ok(changed) => interval = changed,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Changes what is known of a path, which has no entry once it was given up.
fn note(answers: &Mutex<Answers>, path: &Path, change: impl FnOnce(&mut Answer)) {
    if let Some(entry) = lock(answers).get_mut(path) {
        change(entry);
    }
}

/// Asks the kernel. The crate sysinfo knows neither inodes nor, by default, file systems such as tmpfs and NFS, and
/// would ask every mount of the host.
fn ask(path: &Path) -> io::Result<Filesystem> {
    let begun = Instant::now();
    let existing = existing(path)?;
    let table = std::fs::read("/proc/self/mounts")?;
    let mount = mount_of(&String::from_utf8_lossy(&table), &existing)
        .ok_or_else(|| io::Error::other("it is on no mount of /proc/self/mounts"))?;
    let space = statvfs(&existing)?;
    let disks = disks_of(Path::new("/sys"), &existing, &mount.device)?;
    let bytes = |blocks: u64| Bytes::new(blocks.saturating_mul(space.fragment_size()));
    let has_inodes = space.files() > 0;
    Ok(Filesystem {
        device: mount.device,
        fstype: mount.fstype,
        mountpoint: mount.mountpoint,
        disks,
        size: bytes(space.blocks()),
        free: bytes(space.blocks_free()),
        available: bytes(space.blocks_available()),
        files: has_inodes.then(|| space.files()),
        files_free: has_inodes.then(|| space.files_free()),
        read_at: Timestamp::now(),
        took: begun.elapsed(),
    })
}

/// The path without links, or its nearest parent that exists.
fn existing(path: &Path) -> io::Result<PathBuf> {
    let mut candidates = path.ancestors().filter(|candidate| !candidate.as_os_str().is_empty());
    let found = candidates.find_map(|candidate| match candidate.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        other => Some(other),
    });
    found.unwrap_or_else(|| Path::new(".").canonicalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Condvar;

    fn wait_for(filesystems: &Filesystems, what: impl Fn(&Filesystems) -> bool) {
        let begun = Instant::now();
        while !what(filesystems) {
            assert!(begun.elapsed() < Duration::from_secs(20), "waited in vain");
            thread::yield_now();
        }
    }

    fn answer(path: &Path) -> Filesystem {
        Filesystem {
            device: "/dev/sda2".to_owned(),
            fstype: "xfs".to_owned(),
            mountpoint: path.to_owned(),
            disks: BTreeSet::from(["sda".to_owned()]),
            size: Bytes::new(100),
            free: Bytes::new(20),
            available: Bytes::new(10),
            files: None,
            files_free: None,
            read_at: Timestamp::now(),
            took: Duration::ZERO,
        }
    }

    fn paths(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_hung_mount_delays_nobody() {
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let inner = Arc::clone(&gate);
        let ask: Ask = Arc::new(move |path| {
            if path == Path::new("/hung") {
                let open = inner.0.lock().unwrap();
                drop(inner.1.wait_while(open, |open| !*open).unwrap());
            }
            Ok(answer(path))
        });
        let filesystems = Filesystems::with(ask, &paths(&["/hung", "/data"]), Span::from_millis(1)).unwrap();
        wait_for(&filesystems, |filesystems| !filesystems.latest().is_empty());
        let names: Vec<_> = filesystems.latest().into_iter().map(|fs| fs.mountpoint).collect();
        assert_eq!(names, paths(&["/data"]));
        wait_for(&filesystems, |filesystems| {
            filesystems
                .errors_as_of(Instant::now() + Duration::from_secs(6))
                .iter()
                .any(|e| e.contains("/hung"))
        });
        assert!(filesystems.errors().is_empty());
        *gate.0.lock().unwrap() = true;
        gate.1.notify_all();
        wait_for(&filesystems, |filesystems| filesystems.latest().len() == 2);
    }

    #[test]
    fn the_last_answer_is_served_for_two_minutes() {
        let filesystems =
            Filesystems::with(Arc::new(|path| Ok(answer(path))), &paths(&["/data"]), Span::from_secs(3600))
                .unwrap();
        wait_for(&filesystems, |filesystems| !filesystems.latest().is_empty());
        let now = Instant::now();
        assert_eq!(filesystems.as_of(now + Duration::from_secs(100)).len(), 1);
        assert_eq!(filesystems.as_of(now + Duration::from_secs(121)).len(), 0);
    }

    #[test]
    fn an_error_is_told_and_other_paths_are_taken_on_reload() {
        let ask: Ask = Arc::new(|path| match path.to_str() {
            Some("/bad") => Err(io::Error::other("broken")),
            _ => Ok(answer(path)),
        });
        let hour = Span::from_secs(3600);
        let mut filesystems = Filesystems::with(ask, &paths(&["/bad"]), hour).unwrap();
        wait_for(&filesystems, |filesystems| !filesystems.errors().is_empty());
        assert_eq!(filesystems.errors(), ["cannot read the space under /bad: broken"]);
        filesystems.configure(&paths(&["/good"]), hour).unwrap();
        wait_for(&filesystems, |filesystems| !filesystems.latest().is_empty());
        assert!(filesystems.errors().is_empty());
    }

    #[test]
    fn two_paths_on_one_file_system_are_one_and_a_missing_folder_has_its_parents() {
        let folder = tempfile::tempdir().unwrap();
        let inside = [folder.path().to_owned(), folder.path().join("not/yet")];
        let filesystems = Filesystems::start(&inside, Span::from_secs(3600)).unwrap();
        wait_for(&filesystems, |filesystems| {
            lock(&filesystems.answers).values().all(|answer| answer.last.is_some())
        });
        let found = filesystems.latest();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].size.get() > 0 && found[0].free <= found[0].size, "{found:?}");
        assert!(folder.path().canonicalize().unwrap().starts_with(&found[0].mountpoint), "{found:?}");
    }
}
