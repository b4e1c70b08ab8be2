//! The options of `memory`, and which of them make sense together.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::WORD;
use crate::config::ParameterError;
use crate::units::Bytes;
use crate::workloads::Key;
use crate::workloads::options::refused;

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "mode",
        meaning: "compatible: word by word as sysbench 1.0.20 | native: bandwidth | latency: load after load",
        peer: "",
    },
    Key {
        name: "block_size",
        meaning: "mode compatible: one event passes over it; a power of two, at least 8B",
        peer: "--memory-block-size",
    },
    Key {
        name: "total",
        meaning: "mode compatible: stop after this volume, shared evenly; \"0\" = no limit by volume",
        peer: "--memory-total-size",
    },
    Key {
        name: "scope",
        meaning: "mode compatible: global (one block for all threads) | local (one each)",
        peer: "--memory-scope",
    },
    Key {
        name: "operation",
        meaning: "read | write | none (mode compatible) | copy (mode native)",
        peer: "--memory-oper",
    },
    Key {
        name: "access",
        meaning: "mode compatible: seq (each word in order) | rnd (as many random ones)",
        peer: "--memory-access-mode",
    },
    Key {
        name: "huge_pages",
        meaning: "take huge pages, set aside by vm.nr_hugepages",
        peer: "--memory-hugetlb",
    },
    Key {
        name: "size",
        meaning: "modes native and latency: buffer of each thread; \"auto\" = all together 4 times the last caches",
        peer: "",
    },
];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    pub(super) mode: Mode,
    pub(super) block_size: Bytes,
    pub(super) total: Bytes,
    pub(super) scope: Scope,
    pub(super) operation: Operation,
    pub(super) access: Order,
    pub(super) huge_pages: bool,
    pub(super) size: Size,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    /// What sysbench 1.0.20 measures.
    Compatible,
    /// The bandwidth of the memory.
    Native,
    /// The time of a load that waits for the one before it.
    Latency,
}

/// Who shares a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scope {
    Global,
    Local,
}

/// What is done to the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Operation {
    Read,
    Write,
    None,
    Copy,
}

/// In which order the words of a block are met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    Seq,
    Rnd,
}

/// A buffer: so large, or as large as the caches make it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Auto,
    Bytes(Bytes),
}

impl Default for Options {
    fn default() -> Options {
        Options {
            mode: Mode::Compatible,
            block_size: Bytes::new(1024),
            total: Bytes::new(100 << 30),
            scope: Scope::Global,
            operation: Operation::Write,
            access: Order::Seq,
            huge_pages: false,
            size: Size::Auto,
        }
    }
}

/// A native buffer has whole cache lines, and enough of them to go round in.
const LINE: u64 = 64;
const SMALLEST: u64 = 4096;

impl Options {
    /// Whether the volume ends a case.
    pub(super) fn ends_by_volume(&self) -> bool {
        self.mode == Mode::Compatible && self.total.get() > 0
    }

    /// Events of each of so many threads, 0 without a limit: what is left over is not done, as in sysbench.
    pub(super) fn events_each(&self, threads: u32) -> u64 {
        self.total.get() / self.block_size.get().max(1) / u64::from(threads.max(1))
    }

    /// Whether these options can be used together.
    pub(super) fn check(&self, threads: u32) -> Result<(), ParameterError> {
        self.check_mode()?;
        match self.mode {
            Mode::Compatible => self.check_block(threads),
            Mode::Native | Mode::Latency => self.check_size(),
        }
    }

    /// A key that the mode does not use must not pretend to have an effect.
    fn check_mode(&self) -> Result<(), ParameterError> {
        let defaults = Options::default();
        let compatible = [
            ("block_size", self.block_size != defaults.block_size),
            ("total", self.total != defaults.total),
            ("scope", self.scope != defaults.scope),
            ("access", self.access != defaults.access),
        ];
        let (mode, unused): (&str, Vec<&str>) = match self.mode {
            Mode::Compatible => ("compatible", given(&[("size", self.size != defaults.size)])),
            Mode::Native => ("native", given(&compatible)),
            Mode::Latency => {
                let operation = ("operation", self.operation != defaults.operation);
                ("latency", given(&[&[operation], &compatible[..]].concat()))
            }
        };
        if let Some(key) = unused.first() {
            let problem = format!("`{key}` has no effect in mode `{mode}`");
            return Err(refused(key, problem, "remove it, or choose another `mode`"));
        }
        match (self.mode, self.operation) {
            (Mode::Compatible, Operation::Copy) => Err(no_such("copy", mode, "read, write or none")),
            (Mode::Native, Operation::None) => Err(no_such("none", mode, "read, write or copy")),
            _ => Ok(()),
        }
    }

    fn check_block(&self, threads: u32) -> Result<(), ParameterError> {
        let (block, total) = (self.block_size.get(), self.total.get());
        if !block.is_power_of_two() || block < WORD {
            let problem = format!("`block_size` cannot be {}", self.block_size);
            return Err(refused("block_size", problem, "write a power of two of at least 8B, as \"1KiB\""));
        }
        if total > 0 && self.events_each(threads) == 0 {
            let problem = format!(
                "{} in blocks of {} make {} for {threads} threads: nothing would be done",
                self.total,
                self.block_size,
                total / block
            );
            return Err(refused("total", problem, "raise `total`, or write \"0\" to end by time alone"));
        }
        Ok(())
    }

    fn check_size(&self) -> Result<(), ParameterError> {
        match self.size {
            Size::Bytes(size) if size.get() < SMALLEST || !size.get().is_multiple_of(LINE * 2) => {
                let problem = format!("`size` cannot be {size}");
                Err(refused("size", problem, "write \"auto\", or a multiple of 128B of at least \"4KiB\""))
            }
            Size::Bytes(_) | Size::Auto => Ok(()),
        }
    }
}

/// The keys that are given another value than their default.
fn given<'a>(keys: &[(&'a str, bool)]) -> Vec<&'a str> {
    keys.iter().filter(|(_, given)| *given).map(|(key, _)| *key).collect()
}

fn no_such(operation: &str, mode: &str, others: &str) -> ParameterError {
    let problem = format!("`operation` cannot be \"{operation}\" in mode `{mode}`");
    refused("operation", problem, format!("write {others}"))
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Auto => f.write_str("auto"),
            Size::Bytes(size) => size.fmt(f),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        if value == "auto" {
            return Ok(Size::Auto);
        }
        serde_json::from_value(value).map(Size::Bytes).map_err(serde::de::Error::custom)
    }
}
