//! `/proc/diskstats`: requests, sectors and times of each disk.

use super::devices::Devices;
use crate::sample::file::{KeptFile, Line, ReadError};
use crate::sample::raw::{DeviceName, Disk};
use crate::sample::{DeviceFilter, Root};

pub(super) struct Source {
    file: KeptFile,
    devices: Devices<()>,
}

impl Source {
    pub(super) fn new(root: &Root, filter: DeviceFilter) -> Source {
        Source { file: KeptFile::optional(root.proc.join("diskstats")), devices: Devices::new(filter) }
    }

    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Vec<Disk>, ReadError> {
        let mut disks = Vec::new();
        for (number, mut line) in self.file.read(buffer)?.enumerate() {
            line.number("major number")?;
            line.number("minor number")?;
            let name = line.word().ok_or_else(|| line.error("device", "is missing"))?;
            if let Some((name, ())) = self.devices.at(number, name, |_| ()) {
                disks.push(one_disk(name, line)?);
            }
        }
        Ok(disks)
    }
}

fn one_disk(name: &DeviceName, mut line: Line<'_>) -> Result<Disk, ReadError> {
    Ok(Disk {
        device: name.clone(),
        reads: line.number("reads completed")?,
        reads_merged: line.number("reads merged")?,
        sectors_read: line.number("sectors read")?,
        read_ms: line.number("time reading")?,
        writes: line.number("writes completed")?,
        writes_merged: line.number("writes merged")?,
        sectors_written: line.number("sectors written")?,
        write_ms: line.number("time writing")?,
        in_flight: line.number("requests in flight")?,
        io_ms: line.number("time in I/O")?,
        weighted_io_ms: line.number("weighted time in I/O")?,
        discards: line.optional_number("discards completed")?,
        discards_merged: line.optional_number("discards merged")?,
        sectors_discarded: line.optional_number("sectors discarded")?,
        discard_ms: line.optional_number("time discarding")?,
        flushes: line.optional_number("flushes completed")?,
        flush_ms: line.optional_number("time flushing")?,
    })
}
