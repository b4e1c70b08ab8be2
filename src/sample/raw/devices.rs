//! Raw counters of disks and network cards.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The kernel's name of a disk or a network card.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct DeviceName(Arc<str>);

impl DeviceName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for DeviceName {
    fn from(name: &str) -> DeviceName {
        DeviceName(Arc::from(name))
    }
}

impl From<String> for DeviceName {
    fn from(name: String) -> DeviceName {
        DeviceName(Arc::from(name))
    }
}

impl From<DeviceName> for String {
    fn from(name: DeviceName) -> String {
        name.0.as_ref().to_owned()
    }
}

/// One line of `/proc/diskstats`. Sectors are 512 bytes, times are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// The kernel's name, `sda`.
    pub device: DeviceName,
    /// Field 1, reads completed.
    pub reads: u64,
    /// Field 2, reads merged.
    pub reads_merged: u64,
    /// Field 3, sectors read.
    pub sectors_read: u64,
    /// Field 4, time spent in reads.
    pub read_ms: u64,
    /// Field 5, writes completed.
    pub writes: u64,
    /// Field 6, writes merged.
    pub writes_merged: u64,
    /// Field 7, sectors written.
    pub sectors_written: u64,
    /// Field 8, time spent in writes.
    pub write_ms: u64,
    /// Field 9, requests in flight now.
    pub in_flight: u64,
    /// Field 10, time with at least one request in flight.
    pub io_ms: u64,
    /// Field 11, request-milliseconds in flight.
    pub weighted_io_ms: u64,
    /// Field 12, discards completed; kernel 4.18.
    pub discards: Option<u64>,
    /// Field 13, discards merged; kernel 4.18.
    pub discards_merged: Option<u64>,
    /// Field 14, sectors discarded; kernel 4.18.
    pub sectors_discarded: Option<u64>,
    /// Field 15, time spent in discards; kernel 4.18.
    pub discard_ms: Option<u64>,
    /// Field 16, flushes completed; kernel 5.5.
    pub flushes: Option<u64>,
    /// Field 17, time spent in flushes; kernel 5.5.
    pub flush_ms: Option<u64>,
}

/// Bytes in a sector of `/proc/diskstats`, whatever the disk's own sectors are.
const SECTOR_BYTES: u64 = 512;

impl Disk {
    /// Bytes read since boot.
    pub const fn read_bytes(&self) -> u64 {
        self.sectors_read.saturating_mul(SECTOR_BYTES)
    }

    /// Bytes written since boot.
    pub const fn written_bytes(&self) -> u64 {
        self.sectors_written.saturating_mul(SECTOR_BYTES)
    }
}

/// One network card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// The kernel's name, `eth0`.
    pub device: DeviceName,
    /// What came in.
    pub receive: Traffic,
    /// What went out.
    pub transmit: Traffic,
    /// Link speed in bytes a second; `None` when neither configured nor credibly known to the kernel.
    pub speed: Option<u64>,
    /// Whether the link's state is `up`; `None` when the kernel does not say.
    pub up: Option<bool>,
}

/// Traffic of a card in one direction since it came up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Bytes.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
    /// Packets with errors.
    pub errors: u64,
    /// Packets dropped.
    pub drops: u64,
}
