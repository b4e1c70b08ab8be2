//! The table of mounts, as far as it says which file system a path lies on.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// One line of `/proc/self/mounts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) device: String,
    pub(super) mountpoint: PathBuf,
    pub(super) fstype: String,
}

/// The mount that `path`, absolute and free of links, lies on: of the longest mount points that contain it the
/// last one, which hides those mounted there before.
pub(super) fn mount_of(table: &str, path: &Path) -> Option<Mount> {
    let containing = table.lines().filter_map(parse).filter(|mount| path.starts_with(&mount.mountpoint));
    containing.max_by_key(|mount| mount.mountpoint.components().count())
}

fn parse(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ').map(unescape);
    let (device, mountpoint, fstype) = (fields.next()?, fields.next()?, fields.next()?);
    Some(Mount {
        device: device.to_string_lossy().into_owned(),
        mountpoint: mountpoint.into(),
        fstype: fstype.to_string_lossy().into_owned(),
    })
}

/// The kernel writes blanks, line ends and backslashes as `\` and three octal digits.
fn unescape(field: &str) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = (*first == b'\\').then(|| after.get(..3)).flatten().and_then(octal);
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(bytes)
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
/dev/sda2 / ext4 rw 0 0
/dev/sdb1 /var/lib xfs rw 0 0
/dev/sdc1 /var/lib xfs rw 0 0
/dev/sdd1 /mnt/a\\040b\\134c btrfs rw 0 0
";

    fn device(path: &str) -> String {
        mount_of(TABLE, Path::new(path)).unwrap().device
    }

    #[test]
    fn the_deepest_and_newest_mount_counts() {
        assert_eq!(device("/var/lib/mysql"), "/dev/sdc1");
        assert_eq!(device("/var/library"), "/dev/sda2");
        assert_eq!(device("/"), "/dev/sda2");
    }

    #[test]
    fn escaped_names_are_read() {
        assert_eq!(device("/mnt/a b\\c/data"), "/dev/sdd1");
        assert_eq!(unescape("a\\04"), "a\\04");
    }
}
