//! A file mapped into memory.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::ptr::{self, NonNull};

use nix::libc;

/// A whole file mapped shared, to read and to write. No reference to the mapped bytes is ever made: other
/// threads and the kernel may change them at any time, and a copy that meets a change has bytes of both.
///
/// Touching a page that the file has no space for ends the process by SIGBUS, so the file must have all its blocks.
pub(crate) struct MappedFile {
    start: NonNull<libc::c_void>,
    length: usize,
}

// SAFETY: the address is valid for the whole process until `drop`, and it is used through copies alone.
unsafe impl Send for MappedFile {}
// SAFETY: as above; copies that race give bytes of both sides, which callers are told.
unsafe impl Sync for MappedFile {}

impl MappedFile {
    /// Maps the first `length` bytes of a file.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub(crate) fn new(file: &File, length: usize) -> io::Result<MappedFile> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses an address where nothing is; the file stays mapped when it is closed.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), length, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(start).map(|start| MappedFile { start, length }).ok_or_else(io::Error::last_os_error)
    }

    /// Copies from the file, from `offset` as many bytes as there are in `into`.
    ///
    /// # Errors
    /// When the mapping ends before.
    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let from = self.at(offset, into.len())?;
        // SAFETY: both are valid for so many bytes, and memory of the program's own does not lie in a mapping.
        unsafe { libc::memcpy(into.as_mut_ptr().cast(), from, into.len()) };
        Ok(())
    }

    /// Copies `bytes` into the file at `offset`.
    ///
    /// # Errors
    /// When the mapping ends before.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let to = self.at(offset, bytes.len())?;
        // SAFETY: as for `read`.
        unsafe { libc::memcpy(to, bytes.as_ptr().cast(), bytes.len()) };
        Ok(())
    }

    /// Waits until all of it is on the disk (`msync` with `MS_SYNC` and `MS_INVALIDATE`, as sysbench has it).
    ///
    /// # Errors
    /// When the disk or the kernel refuses.
    pub(crate) fn sync(&self) -> io::Result<()> {
        // SAFETY: the range is the mapping itself.
        match unsafe { libc::msync(self.start.as_ptr(), self.length, libc::MS_SYNC | libc::MS_INVALIDATE) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn at(&self, offset: u64, length: usize) -> io::Result<*mut libc::c_void> {
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        // SAFETY: the offset lies inside the mapping.
        Ok(unsafe { self.start.as_ptr().byte_add(offset) })
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping itself, and nobody has its address after this.
        unsafe { libc::munmap(self.start.as_ptr(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_in_the_file_and_beyond_its_end_is_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let mapping = MappedFile::new(&file, 8192).unwrap();
        mapping.write(4090, b"benchd").unwrap();
        mapping.sync().unwrap();
        let mut read = [0; 6];
        mapping.read(4090, &mut read).unwrap();
        assert_eq!(&read, b"benchd");
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut read, 4090).unwrap();
        assert_eq!(&read, b"benchd");
        assert!(mapping.write(8190, b"xyz").is_err() && mapping.read(u64::MAX, &mut read).is_err());
    }
}
