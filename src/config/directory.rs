//! A target of kind `directory`: where files are read and written.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::read::{Section, wrong};
use crate::units::Bytes;

/// A directory in which benchd makes files for the cases that name it. The files have no names, so nothing of them
/// outlives the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectoryTarget {
    /// The directory.
    pub path: PathBuf,
    /// The most bytes that a case may have in it.
    pub max_size: Bytes,
    /// Whether it may lie on a filesystem of the network.
    pub allow_network: bool,
}

impl DirectoryTarget {
    /// The directory `files` beside the store, and the default of every other key.
    pub fn beside(store: &Path) -> DirectoryTarget {
        DirectoryTarget {
            path: store.with_file_name("files"),
            max_size: Bytes::from_mib(4096),
            allow_network: false,
        }
    }

    pub(super) fn read(mut section: Section<'_, '_>, store: &Path) -> DirectoryTarget {
        let mut directory = DirectoryTarget::beside(store);
        section.set("path", &mut directory.path);
        section.check("max_size", &mut directory.max_size, |size| match size.get() {
            0 => Err(wrong("is 0: no file would fit", "write \"4GiB\"")),
            _ => Ok(()),
        });
        section.set("allow_network", &mut directory.allow_network);
        section.end();
        directory
    }
}
