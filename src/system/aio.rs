//! Linux AIO by its system calls: nothing wraps them that is safe, and libaio would be a C library for four calls.

use std::io;
use std::os::fd::AsRawFd as _;
use std::ptr;

use nix::libc::{self, c_long, iocb, timespec};

use super::{Buffers, Completion, Queue, Transfer, outcome};

const IOCB_CMD_PREAD: u16 = 0;
const IOCB_CMD_PWRITE: u16 = 1;

/// What the kernel tells of a request that ended (linux/aio_abi.h).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Event {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

/// A queue of Linux AIO. The kernel works through it in the background only for files opened with `O_DIRECT`.
pub(crate) struct Aio {
    context: libc::c_ulong,
    buffers: Buffers,
    events: Vec<Event>,
}

impl Aio {
    /// A queue for as many requests as there are slots.
    ///
    /// # Errors
    /// When the kernel has no room for it (`fs.aio-max-nr`).
    pub(crate) fn new(buffers: Buffers) -> io::Result<Aio> {
        let mut context: libc::c_ulong = 0;
        // SAFETY: the call writes one unsigned long to the address given, which is that of a local one.
        let answer =
            unsafe { libc::syscall(libc::SYS_io_setup, buffers.depth() as c_long, &raw mut context) };
        checked(answer)?;
        let events = vec![Event::default(); buffers.depth()];
        Ok(Aio { context, buffers, events })
    }
}

impl Queue for Aio {
    fn buffer(&mut self, slot: usize) -> Option<&mut [u8]> {
        self.buffers.of(slot)
    }

    fn submit(&mut self, transfer: &Transfer<'_>) -> io::Result<()> {
        let address = self.buffers.take(transfer)?;
        // SAFETY: an iocb is numbers only, for which zeros are values.
        let mut request: iocb = unsafe { std::mem::zeroed() };
        request.aio_data = transfer.slot as u64;
        request.aio_lio_opcode = if transfer.write { IOCB_CMD_PWRITE } else { IOCB_CMD_PREAD };
        request.aio_fildes = transfer.file.as_raw_fd() as u32;
        request.aio_buf = address as u64;
        request.aio_nbytes = transfer.length as u64;
        request.aio_offset = i64::try_from(transfer.offset).map_err(io::Error::other)?;
        let mut list = [&raw mut request];
        // SAFETY: the list has one request, which the kernel copies before it returns. The bytes at its address
        // stay where they are, and nobody reads or writes them, until the completion: `buffers` holds them, and
        // `drop` waits for whatever is under way.
        let answer =
            unsafe { libc::syscall(libc::SYS_io_submit, self.context, 1 as c_long, list.as_mut_ptr()) };
        checked(answer).inspect_err(|_| self.buffers.free(transfer.slot)).map(|_| ())
    }

    fn wait(&mut self, ended: &mut Vec<Completion>) -> io::Result<()> {
        let (least, most) = (c_long::from(self.buffers.under_way() > 0), self.events.len() as c_long);
        let events = self.events.as_mut_ptr();
        // SAFETY: the kernel writes at most as many events as the vector has, each of the layout above.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                least,
                most,
                events,
                ptr::null_mut::<timespec>(),
            )
        };
        let count = match checked(answer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            other => other?,
        };
        for event in &self.events[..count.min(self.events.len())] {
            let slot = event.data as usize;
            self.buffers.free(slot);
            ended.push(Completion { slot, result: outcome(event.result) });
        }
        Ok(())
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        // SAFETY: the context is one that io_setup gave and nobody else knows. The call returns when no request
        // of it is under way any more.
        let answer = unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
        if answer != 0 && self.buffers.under_way() > 0 {
            self.buffers.leak();
        }
    }
}

fn checked(answer: c_long) -> io::Result<usize> {
    usize::try_from(answer).map_err(|_| io::Error::last_os_error())
}
