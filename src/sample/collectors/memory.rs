//! `/proc/meminfo`.

use crate::sample::Root;
use crate::sample::file::{KeptFile, Line, ReadError};
use crate::sample::raw::Memory;

pub(super) struct Source(KeptFile);

impl Source {
    pub(super) fn new(root: &Root) -> Source {
        Source(KeptFile::required(root.proc.join("meminfo")))
    }

    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Memory, ReadError> {
        let mut memory = Memory::default();
        let (mut huge_total, mut huge_free, mut huge_size) = (None, None, None);
        let mut lines = self.0.read(buffer)?;
        for mut line in &mut lines {
            let field = match line.word() {
                Some(b"MemTotal:") => &mut memory.total,
                Some(b"MemFree:") => &mut memory.free,
                Some(b"MemAvailable:") => &mut memory.available,
                Some(b"Buffers:") => &mut memory.buffers,
                Some(b"Cached:") => &mut memory.cached,
                Some(b"Dirty:") => &mut memory.dirty,
                Some(b"Writeback:") => &mut memory.writeback,
                Some(b"AnonPages:") => &mut memory.anonymous,
                Some(b"Slab:") => &mut memory.slab,
                Some(b"Committed_AS:") => &mut memory.committed,
                Some(b"SwapTotal:") => &mut memory.swap_total,
                Some(b"SwapFree:") => &mut memory.swap_free,
                Some(b"HugePages_Total:") => &mut huge_total,
                Some(b"HugePages_Free:") => &mut huge_free,
                Some(b"Hugepagesize:") => &mut huge_size,
                _ => continue,
            };
            *field = Some(amount(&mut line)?);
        }
        if memory.total.is_none() {
            return Err(lines.missing("MemTotal"));
        }
        memory.huge_pages_total = times(huge_total, huge_size);
        memory.huge_pages_free = times(huge_free, huge_size);
        Ok(memory)
    }
}

/// A value in bytes when its unit is kB (which the kernel means as 1024 bytes), else a plain number.
fn amount(line: &mut Line<'_>) -> Result<u64, ReadError> {
    let number = line.number("value")?;
    Ok(if line.word() == Some(b"kB") { number.saturating_mul(1024) } else { number })
}

fn times(pages: Option<u64>, size: Option<u64>) -> Option<u64> {
    pages?.checked_mul(size?)
}
