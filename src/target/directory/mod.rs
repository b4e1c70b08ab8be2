//! A directory as a target: files that have no name, so that nothing of them is left when their last user ends,
//! however it ends.
//!
//! The worker makes and fills the files and holds them open for the whole run; the load process opens them by the
//! worker's own descriptors under `/proc`, with the flags it wants.

mod place;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, OFlag, fallocate};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::process::make_room_for_files;
use crate::units::Bytes;

pub use place::{Barrier, Unfit, facts_of, free_bytes, look_at, refuses_direct};

/// With less than this free on its filesystem, files are not made, and a load that has files ends.
pub const LEAST_FREE: Bytes = Bytes::from_mib(512);

/// The most bytes that are written at once when files are filled.
const CHUNK: u64 = 1 << 20;

/// What the configuration says of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryOptions {
    /// The directory; made when it is not there.
    pub path: PathBuf,
    /// The most bytes that a case may have in it.
    pub max_size: Bytes,
    /// Whether it may lie on a filesystem of the network.
    pub allow_network: bool,
}

/// The files a case asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSpec {
    /// How many.
    pub count: u32,
    /// Bytes of each.
    pub size: u64,
    /// Names what they hold; `None` is nothing yet: the load makes them grow.
    pub content: Option<String>,
    /// Bytes written at once when they are filled. The kernel keeps what was written together in pages that belong
    /// together, and reads and writes of them later are the faster the larger those are.
    pub piece: u64,
    /// What space each has before it is filled.
    pub space: Space,
}

/// What space a file has before it is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// None.
    Empty,
    /// Its size, and blocks as they are written: a mapped page for which there is no room left ends its process.
    Hole,
    /// All its blocks, so that a mapped page always has one.
    Blocks,
}

impl FileSpec {
    const fn bytes(&self) -> u64 {
        self.size.saturating_mul(self.count as u64)
    }
}

/// A directory in which files are made.
#[derive(Debug)]
pub struct Directory {
    options: DirectoryOptions,
    made: Option<(FileSpec, Vec<File>)>,
}

impl Directory {
    /// Looks at the directory, and makes it when it is not there.
    ///
    /// # Errors
    /// When it is not one in which benchd may write.
    pub fn open(name: &str, options: &DirectoryOptions) -> Result<Directory> {
        let path = &options.path;
        if let Err(unfit) = look_at(path, options.allow_network) {
            anyhow::bail!("target {name}: {unfit}");
        }
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.with_context(|| {
            format!("target {name}: {} could not be made; set [target.{name}] path", path.display())
        })?;
        Ok(Directory { options: options.clone(), made: None })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.options.path
    }

    /// Makes the files of a case, or keeps those of an earlier case when they are the same. `fill` is given the
    /// number of a file, an offset, and the bytes to fill, and says false to stop; `told` hears of bytes done.
    ///
    /// # Errors
    /// When there is no space for them, or a file could not be made or written.
    pub fn make(
        &mut self,
        spec: &FileSpec,
        fill: &mut dyn FnMut(u32, u64, &mut [u8]) -> bool,
        told: &mut dyn FnMut(u64),
    ) -> Result<()> {
        if spec.content.is_some() && self.made.as_ref().is_some_and(|(made, _)| made == spec) {
            return Ok(());
        }
        self.made = None;
        self.check_space(spec)?;
        make_room_for_files(u64::from(spec.count)).with_context(|| self.not_made())?;
        let mut files = Vec::new();
        let mut done = 0;
        for number in 0..spec.count {
            let file = create(&self.options.path).with_context(|| self.not_made())?;
            self.fill(&file, number, spec, fill, &mut |bytes| {
                done += bytes;
                told(done);
            })?;
            files.push(file);
        }
        self.made = Some((spec.clone(), files));
        Ok(())
    }

    fn not_made(&self) -> String {
        format!("no file was made in {}", self.options.path.display())
    }

    fn check_space(&self, spec: &FileSpec) -> Result<()> {
        let (path, bytes, most) = (self.options.path.display(), spec.bytes(), self.options.max_size);
        ensure!(
            bytes <= most.get(),
            "{} in {path} are more than the max_size {most} of the target: give a smaller `total`",
            Bytes::new(bytes)
        );
        let free =
            free_bytes(&self.options.path).with_context(|| format!("ask how much is free in {path}"))?;
        ensure!(
            free >= bytes.saturating_add(LEAST_FREE.get()),
            "{} in {path} do not fit: {} MiB are free, and {LEAST_FREE} must stay free: make room, or give a smaller \
             `total`",
            Bytes::new(bytes),
            free >> 20
        );
        Ok(())
    }

    fn fill(
        &self,
        file: &File,
        number: u32,
        spec: &FileSpec,
        fill: &mut dyn FnMut(u32, u64, &mut [u8]) -> bool,
        told: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let what =
            || format!("file {number} of {} in {} was not filled", spec.count, self.options.path.display());
        match spec.space {
            Space::Empty => Ok(()),
            Space::Hole => file.set_len(spec.size),
            Space::Blocks => allocate(file, spec.size),
        }
        .with_context(what)?;
        if spec.content.is_none() {
            return Ok(());
        }
        let piece = spec.piece.clamp(1, CHUNK);
        let mut chunk = vec![0; piece as usize];
        let mut at = 0;
        while at < spec.size {
            let length = (spec.size - at).min(piece) as usize;
            ensure!(fill(number, at, &mut chunk[..length]), "stopped while files were filled");
            file.write_all_at(&chunk[..length], at).with_context(what)?;
            at += length as u64;
            told(length as u64);
        }
        file.sync_all().with_context(what)
    }

    /// The way of a load process to the files.
    pub fn files(&self) -> Files {
        let process = std::process::id();
        let way = |file: &File| PathBuf::from(format!("/proc/{process}/fd/{}", file.as_raw_fd()));
        let files = self.made.iter().flat_map(|(_, files)| files).map(way).collect();
        Files { directory: self.options.path.clone(), files }
    }
}

/// The way to files without names, which another process holds open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// Where they are, for messages.
    pub directory: PathBuf,
    /// Opens each of them, while the process that made them lives.
    pub files: Vec<PathBuf>,
}

impl Files {
    /// Opens every file to read and to write, with further flags (`O_DIRECT`, `O_SYNC`).
    ///
    /// # Errors
    /// When the kernel or the filesystem refuses.
    pub fn open(&self, flags: i32) -> Result<Vec<File>> {
        make_room_for_files(self.files.len() as u64)?;
        self.files.iter().map(|file| Ok(opened(flags).open(file)?)).collect()
    }
}

fn opened(flags: i32) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(flags);
    options
}

/// A file without a name. Where the filesystem has no such files, one whose name is taken away at once.
fn create(directory: &Path) -> io::Result<File> {
    match opened(OFlag::O_TMPFILE.bits()).mode(0o600).open(directory) {
        Err(error) if error.raw_os_error() == Some(Errno::EOPNOTSUPP as i32) => {
            let path = directory.join(format!(".benchd-{}", Uuid::new_v4().simple()));
            let file = opened(OFlag::O_NOFOLLOW.bits()).create_new(true).mode(0o600).open(&path)?;
            fs::remove_file(&path).map(|()| file)
        }
        other => other,
    }
}

/// Gives a file all its blocks. A filesystem that cannot is one that gives them when they are written.
fn allocate(file: &File, size: u64) -> io::Result<()> {
    let length = i64::try_from(size).map_err(io::Error::other)?;
    match fallocate(file, FallocateFlags::empty(), 0, length) {
        Ok(()) => Ok(()),
        Err(Errno::EOPNOTSUPP) => file.set_len(size),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(count: u32, size: u64, content: &str) -> FileSpec {
        FileSpec { count, size, content: Some(content.to_owned()), piece: CHUNK, space: Space::Blocks }
    }

    fn opened(max_size: Bytes) -> (tempfile::TempDir, Directory) {
        let place = tempfile::tempdir().unwrap();
        let options = DirectoryOptions { path: place.path().join("files"), max_size, allow_network: false };
        (place, Directory::open("files", &options).unwrap())
    }

    #[test]
    fn files_are_filled_have_no_name_and_are_reached_by_another_open() {
        let (_place, mut directory) = opened(Bytes::from_mib(8));
        let mut told = 0;
        let mut fill = |number: u32, at: u64, bytes: &mut [u8]| {
            bytes.fill(number as u8 + (at >> 20) as u8);
            true
        };
        directory.make(&spec(2, (1 << 20) + 5, "numbers"), &mut fill, &mut |done| told = done).unwrap();
        assert_eq!(told, 2 * ((1 << 20) + 5));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        let files = directory.files().open(0).unwrap();
        let mut bytes = [9; 6];
        files[1].read_exact_at(&mut bytes, (1 << 20) - 1).unwrap();
        assert_eq!(bytes, [1, 2, 2, 2, 2, 2]);
        assert_eq!(files[1].metadata().unwrap().len(), (1 << 20) + 5);
    }

    #[test]
    fn the_same_files_stay_and_others_are_made_anew() {
        let (_place, mut directory) = opened(Bytes::from_mib(8));
        let mut fills = 0;
        let mut make = |spec: &FileSpec| {
            let mut fill = |_: u32, _: u64, _: &mut [u8]| {
                fills += 1;
                true
            };
            directory.make(spec, &mut fill, &mut |_| ()).unwrap();
            fills
        };
        assert_eq!(make(&spec(1, 4096, "zeros")), 1);
        assert_eq!(make(&spec(1, 4096, "zeros")), 1);
        assert_eq!(make(&spec(1, 4096, "random")), 2);
        assert_eq!(make(&FileSpec { content: None, ..spec(1, 4096, "") }), 2);
    }

    #[test]
    fn more_than_is_allowed_and_more_than_is_free_are_refused() {
        let make = |directory: &mut Directory, spec: &FileSpec| {
            let error = directory.make(spec, &mut |_, _, _| true, &mut |_| ()).unwrap_err();
            format!("{error:#}")
        };
        let (_place, mut directory) = opened(Bytes::from_mib(8));
        let error = make(&mut directory, &spec(9, 1 << 20, "zeros"));
        assert!(error.contains("9MiB in ") && error.contains("max_size 8MiB"), "{error}");
        let (_place, mut directory) = opened(Bytes::new(u64::MAX));
        let error = make(&mut directory, &spec(1, 1 << 60, "zeros"));
        assert!(error.contains("do not fit") && error.contains("512MiB must stay free"), "{error}");
    }
}
