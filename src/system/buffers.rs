//! The memory that queued requests read into and write from.

use std::io;

use super::Transfer;

/// Direct I/O takes memory that begins at a multiple of the device's block size; a page is one for all of them.
const ALIGNMENT: usize = 4096;

/// Bytes that begin at the start of a page.
pub(crate) struct Aligned {
    memory: Box<[u8]>,
    start: usize,
    length: usize,
}

impl Aligned {
    /// So many zeros.
    pub(crate) fn new(length: usize) -> Aligned {
        let memory = vec![0; length + ALIGNMENT].into_boxed_slice();
        let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Aligned { memory, start, length }
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

/// The buffers of a queue: one for each slot, or one that all slots share, as sysbench has it. Kept out of reach
/// while the kernel may use them.
pub(crate) struct Buffers {
    buffers: Vec<Aligned>,
    busy: Vec<bool>,
    under_way: usize,
    length: usize,
}

impl Buffers {
    pub(crate) fn new(depth: usize, length: usize, shared: bool) -> Buffers {
        let count = if shared { 1 } else { depth };
        Buffers {
            buffers: (0..count).map(|_| Aligned::new(length)).collect(),
            busy: vec![false; depth],
            under_way: 0,
            length,
        }
    }

    /// How many slots there are.
    pub(super) fn depth(&self) -> usize {
        self.busy.len()
    }

    /// How many slots are under way.
    pub(super) fn under_way(&self) -> usize {
        self.under_way
    }

    /// The data of a slot that is free; of a shared buffer only while all are.
    pub(super) fn of(&mut self, slot: usize) -> Option<&mut [u8]> {
        let shared = self.buffers.len() < self.busy.len();
        if self.busy.get(slot).is_none_or(|busy| *busy) || (shared && self.under_way() > 0) {
            return None;
        }
        let place = slot % self.buffers.len().max(1);
        self.buffers.get_mut(place).map(Aligned::bytes)
    }

    /// The address for a transfer, whose slot is taken from now on.
    pub(super) fn take(&mut self, transfer: &Transfer<'_>) -> io::Result<*mut u8> {
        let place = transfer.slot % self.buffers.len().max(1);
        let free = self.busy.get_mut(transfer.slot).filter(|busy| !**busy);
        let buffer = self.buffers.get_mut(place).filter(|_| transfer.length <= self.length);
        let (Some(busy), Some(buffer)) = (free, buffer) else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        *busy = true;
        self.under_way += 1;
        Ok(buffer.bytes().as_mut_ptr())
    }

    /// The kernel has done with a slot.
    pub(super) fn free(&mut self, slot: usize) {
        if let Some(busy) = self.busy.get_mut(slot) {
            self.under_way -= usize::from(std::mem::take(busy));
        }
    }

    /// Gives the memory up for good: the kernel may still write into it.
    pub(super) fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.buffers));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_begins_at_a_page_and_is_out_of_reach_while_it_is_used() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let mut buffers = Buffers::new(2, 100, false);
        let transfer =
            Transfer { slot: 1, file: std::os::fd::AsFd::as_fd(&file), write: false, offset: 0, length: 100 };
        assert_eq!(buffers.of(1).unwrap().as_ptr().align_offset(ALIGNMENT), 0);
        assert!(buffers.take(&Transfer { length: 101, ..transfer }).is_err());
        buffers.take(&transfer).unwrap();
        assert!(buffers.of(1).is_none() && buffers.of(0).is_some() && buffers.of(2).is_none());
        assert!(buffers.take(&transfer).is_err());
        assert_eq!(buffers.under_way(), 1);
        buffers.free(1);
        assert_eq!(buffers.of(1).unwrap().len(), 100);
        let mut shared = Buffers::new(2, 100, true);
        shared.take(&transfer).unwrap();
        assert!(shared.of(0).is_none());
    }
}
