//! The keys of fileio, and the words that are their values.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use nix::libc;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::workloads::Key;

/// What is done to the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Pattern {
    SeqWr,
    SeqRewr,
    SeqRd,
    RndRd,
    RndWr,
    RndRw,
}

impl Pattern {
    pub(super) const fn is_sequential(self) -> bool {
        matches!(self, Pattern::SeqWr | Pattern::SeqRewr | Pattern::SeqRd)
    }

    pub(super) const fn writes(self) -> bool {
        !matches!(self, Pattern::SeqRd | Pattern::RndRd)
    }
}

/// As sysbench does it, or as tells most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mode {
    Compatible,
    Native,
}

/// How requests reach the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Io {
    Sync,
    Async,
    Mmap,
    Uring,
}

impl Io {
    pub(super) const fn is_queued(self) -> bool {
        matches!(self, Io::Async | Io::Uring)
    }
}

/// The call that makes written data durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SyncCall {
    Fsync,
    Fdatasync,
}

/// What files and writes hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Fill {
    /// Zeros in compatible mode, random bytes in native mode.
    Auto,
    Zeros,
    Random,
}

/// Keys set together for one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Preset {
    #[serde(rename = "")]
    None,
    Wal,
    RandomRead,
    RandomWrite,
    Sequential,
}

/// Flags that files are opened with: a list of words, or one text with `+` or the comma of sysbench between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Flags(BTreeSet<&'static str>);

const FLAGS: [(&str, i32); 3] =
    [("direct", libc::O_DIRECT), ("dsync", libc::O_DSYNC), ("sync", libc::O_SYNC)];

impl Flags {
    pub(super) fn direct() -> Flags {
        Flags(BTreeSet::from(["direct"]))
    }

    pub(super) fn is_direct(&self) -> bool {
        self.0.contains("direct")
    }

    /// Whether a write has reached the disk when it ends.
    pub(super) fn are_durable(&self) -> bool {
        self.0.contains("dsync") || self.0.contains("sync")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// For open(2).
    pub(super) fn bits(&self) -> i32 {
        FLAGS.iter().filter(|(name, _)| self.0.contains(name)).fold(0, |bits, (_, flag)| bits | flag)
    }
}

impl FromStr for Flags {
    type Err = String;

    fn from_str(text: &str) -> Result<Flags, String> {
        let words = text.split(['+', ',']).map(str::trim).filter(|word| !word.is_empty());
        let known = |word: &str| FLAGS.iter().find(|(name, _)| *name == word).map(|(name, _)| *name);
        let flags = words.map(|word| {
            known(word)
                .ok_or_else(|| format!("`{word}` is not a flag: write a list of sync, dsync and direct"))
        });
        flags.collect::<Result<_, _>>().map(Flags)
    }
}

/// As the configuration holds them.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a list of sync, dsync and direct")]
enum Written {
    List(Vec<String>),
    Text(String),
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().copied().collect::<Vec<_>>().join("+"))
    }
}

impl Serialize for Flags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

impl<'de> Deserialize<'de> for Flags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Flags, D::Error> {
        let text = match Written::deserialize(deserializer)? {
            Written::List(words) => words.join("+"),
            Written::Text(text) => text,
        };
        text.parse().map_err(de::Error::custom)
    }
}

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "preset",
        meaning: "sets the keys that are at their defaults: wal | random-read | random-write | sequential",
        peer: "",
    },
    Key {
        name: "pattern",
        meaning: "seqwr | seqrewr | seqrd | rndrd | rndwr | rndrw",
        peer: "--file-test-mode",
    },
    Key {
        name: "mode",
        meaning: "compatible (as sysbench) | native (times of each kind of operation, random data)",
        peer: "",
    },
    Key { name: "files", meaning: "number of files; 1 to 10000", peer: "--file-num" },
    Key { name: "total", meaning: "size of all files together", peer: "--file-total-size" },
    Key { name: "block_size", meaning: "bytes of a request; 512B to 64MiB", peer: "--file-block-size" },
    Key {
        name: "io",
        meaning: "sync | async (Linux AIO) | mmap | uring (native mode)",
        peer: "--file-io-mode",
    },
    Key {
        name: "depth",
        meaning: "requests under way in a thread with async and uring; 1 to 4096",
        peer: "--file-async-backlog",
    },
    Key {
        name: "flags",
        meaning: "files are opened with: a list of sync, dsync, direct; a list of lists makes a case of each",
        peer: "--file-extra-flags",
    },
    Key {
        name: "fsync_every",
        meaning: "all files are synced after so many requests; 0 = never",
        peer: "--file-fsync-freq",
    },
    Key { name: "fsync_all", meaning: "sync after each write, as a part of it", peer: "--file-fsync-all" },
    Key { name: "fsync_end", meaning: "each thread syncs all files at its end", peer: "--file-fsync-end" },
    Key { name: "fsync", meaning: "the call that syncs: fsync | fdatasync", peer: "--file-fsync-mode" },
    Key {
        name: "merged_requests",
        meaning: "sequential patterns: blocks of a request; 0 = one",
        peer: "--file-merged-requests",
    },
    Key { name: "ratio", meaning: "rndrw: reads for each write", peer: "--file-rw-ratio" },
    Key { name: "validate", meaning: "check what is read", peer: "--validate" },
    Key {
        name: "fill",
        meaning: "what files and writes hold: zeros | random | auto (zeros in compatible mode, else random)",
        peer: "",
    },
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn flags_are_a_list_or_what_sysbench_writes() {
        let read =
            |value: serde_json::Value| serde_json::from_value::<Flags>(value).map_err(|e| e.to_string());
        for written in [json!(["sync", "direct"]), json!("direct, sync"), json!("sync+direct")] {
            let flags = read(written).unwrap();
            assert_eq!(
                (flags.to_string().as_str(), flags.bits()),
                ("direct+sync", libc::O_DIRECT | libc::O_SYNC)
            );
            assert_eq!(serde_json::to_value(&flags).unwrap(), json!(["direct", "sync"]));
        }
        for none in [json!([]), json!("")] {
            assert_eq!(read(none).map(|flags| flags.bits()), Ok(0));
        }
        let expected = "`sink` is not a flag: write a list of sync, dsync and direct";
        assert_eq!(read(json!(["sink"])), Err(expected.to_owned()));
        assert!(read(json!(3)).unwrap_err().contains("a list of sync, dsync and direct"));
    }
}
