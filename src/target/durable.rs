//! Files that must be whole after a crash: they are what ownership is proved by.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Replaces a file as a whole and waits until the disk has it: after a crash it holds the old text or the new.
/// Only its owner may read or write it.
pub(crate) fn replace_file(path: &Path, text: &str) -> anyhow::Result<()> {
    write_and_rename(path, text).with_context(|| format!("{} was not written", path.display()))
}

fn write_and_rename(path: &Path, text: &str) -> io::Result<()> {
    let new = unfinished(path);
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

/// Where the text stands until it is complete.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    path.with_added_extension("new")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_what_a_crash_left_does_not_matter() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        replace_file(&path, "old").unwrap();
        fs::write(unfinished(&path), "half of some").unwrap();
        replace_file(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_in_the_way_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (path, victim) = (directory.path().join("state.json"), directory.path().join("victim"));
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, unfinished(&path)).unwrap();
        replace_file(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }
}
