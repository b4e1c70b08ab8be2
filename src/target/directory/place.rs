//! Which directories files may be made in: a plain one on a disk of this host, and no server's.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::stat::{major, minor};
use nix::sys::statfs::{FsType, statfs};
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};

/// What is in the way of whoever looks, and perhaps of nobody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barrier {
    /// A mount that may not be written to.
    Mount,
    /// An owner and a mode.
    Mode,
}

/// Why a directory may not hold files of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// What was found.
    pub found: String,
    /// What to do.
    pub advice: String,
    /// Set when nothing else is in the way.
    pub barrier: Option<Barrier>,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.found, self.advice)
    }
}

/// Filesystems that lie elsewhere, by their numbers (linux/magic.h, and those of out-of-tree modules).
const NETWORK: [(u64, &str); 9] = [
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x517b, "smb"),
    (0x00c3_6400, "ceph"),
    (0x0bd0_0bd0, "lustre"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "fuse"),
    (0x6b41_4653, "afs"),
];

/// Filesystems of memory: they take `O_DIRECT` or not by version of the kernel, and have no device either way.
const MEMORY: [(u64, &str); 2] = [(0x0102_1994, "tmpfs"), (0x8584_58f6, "ramfs")];

/// What a data directory of MySQL or MariaDB holds.
const SERVER_FILES: [&str; 5] = ["ibdata1", "aria_log_control", "auto.cnf", "mysql.ibd", "#innodb_redo"];

/// Looks at a directory that is there, or at the place where it would be made.
///
/// # Errors
/// Why no file may be made in it.
pub fn look_at(path: &Path, allow_network: bool) -> Result<(), Unfit> {
    let shown = path.display();
    let elsewhere = "name a directory for benchd's files alone";
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            return unfit(format!("{shown} is a symbolic link"), "name the directory it leads to");
        }
        Ok(found) if !found.is_dir() => {
            return unfit(format!("{shown} is not a directory"), elsewhere);
        }
        Err(error) if !is_missing(&error) => {
            let barrier = (error.kind() == io::ErrorKind::PermissionDenied).then_some(Barrier::Mode);
            let found = format!("{shown} cannot be read: {error}");
            return Err(Unfit { found, advice: elsewhere.to_owned(), barrier });
        }
        _ => {}
    }
    let there = existing(path);
    if let Some(server) = server_directory(&there) {
        let found = format!("{shown} lies in the data directory {} of a server", server.display());
        return unfit(found, elsewhere);
    }
    if let Some(network) = kind(&there, &NETWORK).filter(|_| !allow_network) {
        let found = format!("{shown} lies on {network}, a filesystem of the network");
        return unfit(found, "name a directory on a disk of this host, or set allow_network = true");
    }
    match access(&there, AccessFlags::W_OK | AccessFlags::X_OK) {
        Ok(()) => Ok(()),
        Err(Errno::EROFS) => Err(Unfit {
            found: format!("{} lies on a filesystem that is read-only for benchd", there.display()),
            advice: "name a directory elsewhere; for one that others may write to see docs/systemd.md"
                .to_owned(),
            barrier: Some(Barrier::Mount),
        }),
        Err(_) => Err(Unfit {
            found: format!("{} may not be written to by the user that benchd runs as", there.display()),
            advice: "change its owner or mode, or name another directory".to_owned(),
            barrier: Some(Barrier::Mode),
        }),
    }
}

fn unfit(found: String, advice: &str) -> Result<(), Unfit> {
    Err(Unfit { found, advice: advice.to_owned(), barrier: None })
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// The path without links, or its nearest parent that exists.
fn existing(path: &Path) -> PathBuf {
    path.ancestors().find_map(|path| path.canonicalize().ok()).unwrap_or_else(|| PathBuf::from("/"))
}

/// The directory, or the one above it, that holds what only a server's data directory does.
fn server_directory(path: &Path) -> Option<&Path> {
    path.ancestors().find(|path| SERVER_FILES.iter().any(|file| path.join(file).exists()))
}

/// The name of the filesystem that a path lies on, when it is one of these.
fn kind(path: &Path, table: &[(u64, &'static str)]) -> Option<&'static str> {
    let FsType(number) = statfs(path).ok()?.filesystem_type();
    // The number has 32 bits; on some platforms its type is signed.
    let number = u64::from(number as u32);
    table.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

/// The name of the filesystem, when it is one that has no device for direct I/O to go to.
pub fn refuses_direct(path: &Path) -> Option<&'static str> {
    kind(path, &MEMORY)
}

/// What explains the numbers of a directory: its path, the kind of filesystem it lies on and what is mounted there,
/// where the kernel tells (btrfs has other numbers for its devices than the mount).
pub fn facts_of(path: &Path) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::from([("path".to_owned(), path.display().to_string())]);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let number = fs::metadata(path).map(|found| (major(found.dev()), minor(found.dev())));
    if let Some((filesystem, device)) = number.ok().and_then(|number| mounted(&mounts, number)) {
        facts.insert("filesystem".to_owned(), filesystem.to_owned());
        facts.insert("device".to_owned(), device.to_owned());
    }
    facts
}

/// Kind of filesystem and source of the mount of a device, in the lines of mountinfo (proc_pid_mountinfo(5)).
fn mounted(mounts: &str, (major, minor): (u64, u64)) -> Option<(&str, &str)> {
    let number = format!("{major}:{minor}");
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(&number))?;
    let mut after = line.split_once(" - ")?.1.split(' ');
    Some((after.next()?, after.next()?))
}

/// Free bytes for ordinary users on the filesystem that holds, or will hold, a directory.
///
/// # Errors
/// When the filesystem does not say.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let facts = statvfs(&existing(path))?;
    Ok(facts.blocks_available() * facts.fragment_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &Path) -> String {
        look_at(path, false).map_or_else(|unfit| unfit.found, |()| "fit".to_owned())
    }

    #[test]
    fn links_devices_files_and_data_directories_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        assert_eq!(found(place.path()), "fit");
        assert_eq!(found(&at("new/and/deeper")), "fit");
        std::os::unix::fs::symlink(place.path(), at("link")).unwrap();
        assert!(found(&at("link")).ends_with("link is a symbolic link"));
        fs::write(at("file"), "").unwrap();
        assert!(found(&at("file")).ends_with("is not a directory"));
        assert!(found(Path::new("/dev/null")).ends_with("is not a directory"));
        fs::write(at("ibdata1"), "").unwrap();
        for inside in [place.path().to_owned(), at("new")] {
            assert!(found(&inside).contains("lies in the data directory"), "{}", found(&inside));
        }
    }

    #[test]
    fn what_a_directory_lies_on_is_told_by_the_number_of_its_device() {
        let mounts = "22 1 252:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
                      28 22 0:26 / /dev/shm rw,nosuid - tmpfs tmpfs rw,size=24G\n";
        assert_eq!(mounted(mounts, (0, 26)), Some(("tmpfs", "tmpfs")));
        assert_eq!(mounted(mounts, (252, 0)), Some(("ext4", "/dev/vda")));
        assert_eq!(mounted(mounts, (0, 2)), None);
        let facts = facts_of(Path::new("/proc"));
        assert_eq!(facts.get("filesystem").map(String::as_str), Some("proc"));
    }

    #[test]
    fn free_space_of_a_directory_that_is_not_made_yet_is_its_ancestors() {
        let directory = tempfile::tempdir().unwrap();
        let there = free_bytes(directory.path()).unwrap();
        let later = free_bytes(&directory.path().join("a/b")).unwrap();
        assert!(there.abs_diff(later) < 1 << 30);
        assert!(there > 0);
    }

    #[test]
    fn a_filesystem_of_the_kernel_is_told_by_its_number() {
        assert_eq!(kind(Path::new("/proc"), &[(0x9fa0, "proc")]), Some("proc"));
        assert_eq!(kind(Path::new("/proc"), &NETWORK), None);
    }
}
