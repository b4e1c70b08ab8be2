//! Which disks a file system lies on.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::sys::stat::{major, minor};

/// Devices on devices (RAID of encrypted volumes of partitions) go no deeper than this.
const DEEPEST: usize = 8;

/// The whole disks under the file system of a path, as the kernel names them; none for one without disks of this
/// host (tmpfs, NFS), or one that keeps them to itself (ZFS).
///
/// `device` is what is mounted: a file system on several disks, such as btrfs, has a number that belongs to none of
/// them.
pub(super) fn disks_of(sys: &Path, path: &Path, device: &str) -> io::Result<BTreeSet<String>> {
    let number = fs::metadata(path)?.dev();
    Ok(disks(sys, number, Path::new(device)))
}

fn disks(sys: &Path, number: u64, device: &Path) -> BTreeSet<String> {
    let by_number = sys.join(format!("dev/block/{}:{}", major(number), minor(number)));
    let by_name = || {
        let node = device.starts_with("/dev").then(|| device.canonicalize().ok()).flatten()?;
        sys.join("class/block").join(node.file_name()?).canonicalize().ok()
    };
    let mut found = BTreeSet::new();
    if let Some(folder) = by_number.canonicalize().ok().or_else(by_name) {
        add_whole_disks(&folder, DEEPEST, &mut found);
    }
    found
}

/// Goes from a mapped device to those it is made of, and from a partition to its disk.
fn add_whole_disks(folder: &Path, deeper: usize, found: &mut BTreeSet<String>) {
    let below = slaves(folder);
    if !below.is_empty() && deeper > 0 {
        below.iter().for_each(|slave| add_whole_disks(slave, deeper - 1, found));
        return;
    }
    let is_partition = folder.join("partition").exists();
    let disk = if is_partition { folder.parent() } else { Some(folder) };
    found.extend(disk.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()));
}

fn slaves(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder.join("slaves")) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.path().canonicalize().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::makedev;
    use std::os::unix::fs::symlink;

    /// `/sys` of a host whose root is a mapped device on a partition of `sda` and on the whole of `sdb`.
    fn host() -> tempfile::TempDir {
        let host = tempfile::tempdir().unwrap();
        let sys = host.path();
        for folder in ["dev/block", "class/block", "devices/sda/sda2", "devices/sdb", "devices/dm-0/slaves"] {
            fs::create_dir_all(sys.join(folder)).unwrap();
        }
        fs::write(sys.join("devices/sda/sda2/partition"), "2\n").unwrap();
        for (number, folder) in [("8:2", "sda/sda2"), ("8:16", "sdb"), ("253:0", "dm-0")] {
            symlink(sys.join("devices").join(folder), sys.join("dev/block").join(number)).unwrap();
        }
        symlink(sys.join("devices/sda/sda2"), sys.join("devices/dm-0/slaves/sda2")).unwrap();
        symlink(sys.join("devices/sdb"), sys.join("devices/dm-0/slaves/sdb")).unwrap();
        host
    }

    fn names(host: &tempfile::TempDir, major: u64, minor: u64, device: &str) -> Vec<String> {
        disks(host.path(), makedev(major, minor), Path::new(device)).into_iter().collect()
    }

    #[test]
    fn a_partition_leads_to_its_disk_and_a_mapped_device_to_all_it_is_made_of() {
        let host = host();
        assert_eq!(names(&host, 8, 2, "/dev/sda2"), ["sda"]);
        assert_eq!(names(&host, 8, 16, "/dev/sdb"), ["sdb"]);
        assert_eq!(names(&host, 253, 0, "/dev/mapper/root"), ["sda", "sdb"]);
    }

    #[test]
    fn a_number_of_no_device_is_looked_up_by_name() {
        let host = host();
        symlink(host.path().join("devices/sdb"), host.path().join("class/block/null")).unwrap();
        assert_eq!(names(&host, 0, 45, "/dev/null"), ["sdb"], "a node that every host has stands for a disk");
        assert!(names(&host, 0, 45, "tank/data").is_empty());
        assert!(names(&host, 0, 45, "/dev/none").is_empty());
    }
}
