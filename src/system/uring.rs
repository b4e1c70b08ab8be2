//! io_uring. The crate does the rings; that the memory of a request outlives it is for its user to hold.

use std::io;
use std::os::fd::AsRawFd as _;

use io_uring::{IoUring, opcode, types};

use super::{Buffers, Completion, Queue, Transfer, outcome};

/// A queue of io_uring.
pub(crate) struct Uring {
    ring: IoUring,
    buffers: Buffers,
}

impl Uring {
    /// A queue for as many requests as there are slots.
    ///
    /// # Errors
    /// When the kernel has no io_uring, or does not let this process have one.
    pub(crate) fn new(buffers: Buffers) -> io::Result<Uring> {
        let depth = u32::try_from(buffers.depth()).map_err(io::Error::other)?;
        Ok(Uring { ring: IoUring::new(depth.next_power_of_two())?, buffers })
    }

    fn take_ended(&mut self, ended: &mut Vec<Completion>) {
        for entry in self.ring.completion() {
            let slot = entry.user_data() as usize;
            self.buffers.free(slot);
            ended.push(Completion { slot, result: outcome(i64::from(entry.result())) });
        }
    }
}

impl Queue for Uring {
    fn buffer(&mut self, slot: usize) -> Option<&mut [u8]> {
        self.buffers.of(slot)
    }

    /// The kernel takes it with the next wait, in the same system call, or at once when the ring is full.
    fn submit(&mut self, transfer: &Transfer<'_>) -> io::Result<()> {
        let length = u32::try_from(transfer.length).map_err(io::Error::other)?;
        let address = self.buffers.take(transfer)?;
        let file = types::Fd(transfer.file.as_raw_fd());
        let entry = if transfer.write {
            opcode::Write::new(file, address, length).offset(transfer.offset).build()
        } else {
            opcode::Read::new(file, address, length).offset(transfer.offset).build()
        };
        // SAFETY: the bytes at the address stay where they are, and nobody reads or writes them, until the
        // completion: `buffers` holds them, and `drop` waits for whatever is under way. The file is open until
        // the kernel has the request, because it is handed over before this returns.
        let pushed = unsafe { self.ring.submission().push(&entry.user_data(transfer.slot as u64)) };
        let submitted = pushed.map_err(io::Error::other).and_then(|()| self.ring.submit());
        submitted.inspect_err(|_| self.buffers.free(transfer.slot)).map(|_| ())
    }

    fn wait(&mut self, ended: &mut Vec<Completion>) -> io::Result<()> {
        if self.buffers.under_way() > 0 && self.ring.completion().is_empty() {
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => drop(other?),
            }
        }
        self.take_ended(ended);
        Ok(())
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        let mut ended = Vec::new();
        while self.buffers.under_way() > 0 {
            if self.wait(&mut ended).is_err() {
                return self.buffers.leak();
            }
        }
    }
}
