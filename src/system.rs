//! The one place of unsafe code: what neither the language nor a safe wrapper offers.
#![allow(unsafe_code, reason = "each block says why nothing safe does the same")]

mod aio;
mod buffers;
mod loops;
mod mapped_file;
mod prefetch;
mod uring;

use std::cell::UnsafeCell;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use nix::libc;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{getpid, getppid};

pub(crate) use aio::Aio;
pub(crate) use buffers::{Aligned, Buffers};
pub(crate) use loops::{primes_below, read_at_random, store_at_random, store_words_left};
pub(crate) use mapped_file::MappedFile;
pub(crate) use prefetch::prefetch;
pub(crate) use uring::Uring;

/// A read or write of a file to be queued.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer<'a> {
    /// Chosen by the caller, below the depth of the queue, and free: it names the buffer and the completion.
    pub(crate) slot: usize,
    pub(crate) file: BorrowedFd<'a>,
    pub(crate) write: bool,
    pub(crate) offset: u64,
    /// Bytes, at most those of a buffer.
    pub(crate) length: usize,
}

/// A request that ended.
#[derive(Debug)]
pub(crate) struct Completion {
    pub(crate) slot: usize,
    /// Bytes transferred.
    pub(crate) result: io::Result<usize>,
}

/// Requests under way in the kernel, each with a place for its data.
pub(crate) trait Queue {
    /// The data of a slot; none while the slot is under way.
    fn buffer(&mut self, slot: usize) -> Option<&mut [u8]>;

    /// Hands a request to the kernel.
    ///
    /// # Errors
    /// When its slot is taken, its length is beyond the buffer, or the kernel refuses it.
    fn submit(&mut self, transfer: &Transfer<'_>) -> io::Result<()>;

    /// Waits for at least one request to end, and notes all that have.
    ///
    /// # Errors
    /// When the kernel refuses to say.
    fn wait(&mut self, ended: &mut Vec<Completion>) -> io::Result<()>;
}

/// Bytes transferred, or the error, of the kernel's way to say both in one number.
fn outcome(number: i64) -> io::Result<usize> {
    usize::try_from(number).map_err(|_| io::Error::from_raw_os_error(i32::try_from(-number).unwrap_or(0)))
}

/// Counters at 0 that take no memory until they are written: the kernel gives pages of zeros when they are touched,
/// which writing the zeros one by one would do at once.
pub(crate) fn zeroed_counters(length: usize) -> Box<[AtomicU32]> {
    let zeroed = Box::<[AtomicU32]>::new_zeroed_slice(length);
    // SAFETY: all bytes zero are a valid AtomicU32: it has the representation of a u32, and there they are 0.
    unsafe { zeroed.assume_init() }
}

/// Has a command, once it is started, asked to end (SIGTERM) when the thread that started it ends, however that
/// ends: not even a kill between fork and exec leaves it behind. A changed account does not undo it, for the standard
/// library changes that before.
pub(crate) fn end_with_this_thread(command: &mut Command) {
    let parent = getpid();
    let in_child = move || {
        set_pdeathsig(Some(Signal::SIGTERM))?;
        // The signal is not sent for a parent that was gone before.
        if getppid() == parent { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    };
    // SAFETY: between fork and exec only system calls are made: nothing is allocated, no lock is taken, and the error
    // needs no memory. There is no safe way to have something done there.
    unsafe { command.pre_exec(in_child) };
}

/// Sets the nice value of the calling thread and of all that it starts from now on.
pub(crate) fn set_nice(nice: i32) -> io::Result<()> {
    // SAFETY: the call takes three numbers and touches no memory of this process. The standard library and nix have
    // no wrapper of it.
    let failed = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A class of input and output priority (ioprio_set(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IoClass {
    /// Follows from the nice value.
    None = 0,
    /// Eight levels.
    BestEffort = 2,
    /// Only when nobody else wants the disk.
    Idle = 3,
}

/// Sets the priority of the input and output of the calling thread and of all that it starts from now on.
pub(crate) fn set_io_priority(class: IoClass, level: u8) -> io::Result<()> {
    /// One process, or thread: `IOPRIO_WHO_PROCESS`.
    const PROCESS: i32 = 1;
    /// The class stands above this many bits: `IOPRIO_CLASS_SHIFT`.
    const SHIFT: i32 = 13;
    let priority = ((class as i32) << SHIFT) | i32::from(level);
    // SAFETY: the call takes three numbers and touches no memory of this process. Neither the C library nor nix has
    // a wrapper of it.
    let failed = unsafe { libc::syscall(libc::SYS_ioprio_set, PROCESS, 0, priority) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Zeroed memory in pages of its own, given back when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u64>,
    words: usize,
    /// What the kernel mapped: the words, rounded up to whole pages.
    mapped: usize,
}

// SAFETY: it owns its memory, which lies at no thread's mercy, and hands it out by the rules of references only.
unsafe impl Send for Mapping {}
// SAFETY: through a shared reference only atomic words are reached.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Memory for so many words, in pages of `page` bytes. Huge pages come from the pool that the administrator
    /// set apart; the kernel refuses when there are too few.
    ///
    /// # Errors
    /// The kernel has no such memory.
    pub(crate) fn new(words: usize, page: usize, huge: bool) -> io::Result<Mapping> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let bytes = words.max(1).checked_mul(size_of::<u64>()).ok_or_else(too_large)?;
        let mapped = bytes.checked_next_multiple_of(page.max(1)).ok_or_else(too_large)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | if huge { libc::MAP_HUGETLB } else { 0 };
        // SAFETY: a private anonymous mapping at an address that the kernel chooses touches no memory of ours. The
        // safe allocators of the language cannot ask for huge pages, nor for untouched pages on a page's boundary.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), mapped, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(too_large)?;
        Ok(Mapping { start, words, mapped })
    }

    /// Asks for transparent huge pages, before anything is written: where the kernel has none to give, nothing changes.
    pub(crate) fn ask_for_huge_pages(&self) {
        // SAFETY: the advice covers the mapping alone, which is ours, and changes nothing of what it holds. The crate
        // nix has the call only with a feature that nothing else needs, and unsafe as well.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.mapped, libc::MADV_HUGEPAGE) };
    }

    /// Its words, which several threads may read and write at once.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds at least so many words, aligned and zeroed, until `self` is dropped; an
        // AtomicU64 has the layout of a u64, and while `self` is shared nobody reaches them otherwise.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.words) }
    }

    /// Its words, for one owner.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as for `words`; `self` is borrowed by one alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.words) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, whole, and nobody holds a reference into it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}

/// Mutexes of the C library, `PAD` bytes apart. The language has its own mutex, which waits in another way.
pub(crate) struct PthreadMutexes<const PAD: usize>(Box<[PaddedMutex<PAD>]>);

#[repr(C)]
struct PaddedMutex<const PAD: usize> {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    pad: [u8; PAD],
}

// SAFETY: the C library makes its mutexes for use by several threads at once.
unsafe impl<const PAD: usize> Sync for PaddedMutex<PAD> {}

impl<const PAD: usize> PthreadMutexes<PAD> {
    /// So many mutexes with the default attributes. They stay where they are from here on.
    pub(crate) fn new(count: usize) -> PthreadMutexes<PAD> {
        let one = || PaddedMutex { mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER), pad: [0; PAD] };
        PthreadMutexes(std::iter::repeat_with(one).take(count).collect())
    }

    /// Does the work while the mutex of that number is held; `None` when there is no such mutex.
    #[inline]
    pub(crate) fn locked<T>(&self, number: usize, work: impl FnOnce() -> T) -> Option<T> {
        let mutex = self.0.get(number)?.mutex.get();
        // SAFETY: it was initialized, has not moved since, and lives as long as `self`. Locking a mutex of the
        // default kind cannot fail but by a deadlock with oneself, and `work` cannot reach the mutex.
        unsafe { libc::pthread_mutex_lock(mutex) };
        let _held = Held(mutex);
        Some(work())
    }
}

/// Unlocks when dropped, also when the work panics.
struct Held(*mut libc::pthread_mutex_t);

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: made only by `locked`, whose thread holds the mutex, inside the borrow that keeps it alive.
        unsafe { libc::pthread_mutex_unlock(self.0) };
    }
}

impl<const PAD: usize> Drop for PthreadMutexes<PAD> {
    fn drop(&mut self) {
        for one in &self.0 {
            // SAFETY: nobody holds it: whoever did borrowed `self`.
            unsafe { libc::pthread_mutex_destroy(one.mutex.get()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn mapped_memory_is_zeroed_and_every_word_is_its_own() {
        let mut mapping = Mapping::new(1000, 4096, false).unwrap();
        assert!(mapping.words().iter().all(|word| word.load(Ordering::Relaxed) == 0));
        for (number, word) in mapping.words_mut().iter_mut().enumerate() {
            *word = number as u64;
        }
        mapping.words()[999].fetch_add(1, Ordering::Relaxed);
        assert_eq!(mapping.words_mut().iter().sum::<u64>(), 999 * 500 + 1);
        assert_eq!(mapping.words().as_ptr() as usize % 4096, 0);
        assert!(Mapping::new(usize::MAX, 4096, false).is_err());
    }

    #[test]
    fn a_mutex_lets_one_thread_in_at_a_time() {
        let mutexes: PthreadMutexes<0> = PthreadMutexes::new(1);
        let count = AtomicU64::new(0);
        // Not one atomic step: without the mutex counts would be lost.
        let count_one = || count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20_000).for_each(|_| mutexes.locked(0, count_one).unwrap()));
            }
        });
        assert_eq!(count.into_inner(), 80_000);
        assert_eq!(mutexes.locked(1, || ()), None);
    }
}
