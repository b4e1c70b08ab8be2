//! What a scratch server is to be.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Span};

/// How a scratch server is to be started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScratchOptions {
    /// Where directories of scratch servers are made, one for each target.
    pub directory: PathBuf,
    /// The server program; `None` is the one that is installed. A script must end by `exec` of the server and
    /// pass its arguments on.
    pub server: Option<PathBuf>,
    /// Server options by name, as in my.cnf. `loose_` before a name means that not every server knows it.
    pub options: BTreeMap<String, String>,
    /// A library to load before all others, an allocator to compare. Its presence in the process is proved.
    pub preload: Option<String>,
    /// The longest the server may take to be ready; the same again to make its data directory.
    pub start_timeout: Span,
    /// Whether the data stays for the next start.
    pub keep_data: bool,
    /// Most memory of the server, where whoever starts it can hold it to that.
    pub memory_max: Bytes,
    /// Whether it goes on running while cases of the run use other targets.
    pub keep_running: bool,
}

impl Default for ScratchOptions {
    fn default() -> ScratchOptions {
        ScratchOptions {
            directory: PathBuf::from("/var/lib/benchd/scratch"),
            server: None,
            options: BTreeMap::new(),
            preload: None,
            start_timeout: Span::from_secs(60),
            keep_data: true,
            memory_max: Bytes::from_mib(1152),
            keep_running: false,
        }
    }
}
