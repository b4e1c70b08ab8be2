//! `/proc/pressure`: time in which tasks waited for CPU, disks and memory.

use crate::sample::Root;
use crate::sample::file::{KeptFile, ReadError};
use crate::sample::raw::Pressure;

pub(super) struct Source {
    cpu: KeptFile,
    io: KeptFile,
    memory: KeptFile,
}

impl Source {
    pub(super) fn new(root: &Root) -> Source {
        let file = |name: &str| KeptFile::optional(root.proc.join("pressure").join(name));
        Source { cpu: file("cpu"), io: file("io"), memory: file("memory") }
    }

    /// Kernels without pressure have no files, or files that cannot be read; all three are alike in this.
    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Pressure, ReadError> {
        let [cpu_some, cpu_full] = totals(&mut self.cpu, buffer)?;
        let [io_some, io_full] = totals(&mut self.io, buffer)?;
        let [memory_some, memory_full] = totals(&mut self.memory, buffer)?;
        Ok(Pressure { cpu_some, cpu_full, io_some, io_full, memory_some, memory_full })
    }
}

/// The totals of the lines `some` and `full`, in microseconds.
fn totals(file: &mut KeptFile, buffer: &mut Vec<u8>) -> Result<[Option<u64>; 2], ReadError> {
    let mut totals = [None; 2];
    for mut line in file.read(buffer)? {
        let total = match line.word() {
            Some(b"some") => &mut totals[0],
            Some(b"full") => &mut totals[1],
            _ => continue,
        };
        *total = Some(line.number_behind("total=")?);
    }
    Ok(totals)
}
