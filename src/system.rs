//! The one place of unsafe code: what neither the language nor a safe wrapper offers.
#![allow(unsafe_code, reason = "each block says why nothing safe does the same")]

mod aio;
mod buffers;
mod mapping;
mod uring;

use std::io;
use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;

pub(crate) use aio::Aio;
pub(crate) use buffers::{Aligned, Buffers};
pub(crate) use mapping::Mapping;
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

/// The remainder of a division, by the 64-bit divide instruction of the CPU whatever the size of the operands.
///
/// On x86-64 LLVM turns `%` into a test for small operands with a 32-bit division, which is up to twice as fast
/// and not what GCC compiles, so results would not be comparable with programs built by it. On other
/// architectures both compilers emit the same instructions for `%`.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
pub(crate) fn remainder_64(dividend: u64, divisor: NonZeroU64) -> u64 {
    let remainder: u64;
    // SAFETY: `div` faults when the divisor is 0, which its type rules out, or when the quotient does not fit in
    // 64 bits, which cannot be with 0 as the upper half of the dividend. It touches no memory and no stack, and
    // the registers and flags it changes are declared.
    unsafe {
        std::arch::asm!(
            "div {divisor}",
            divisor = in(reg) divisor.get(),
            inout("rax") dividend => _,
            inout("rdx") 0_u64 => remainder,
            options(pure, nomem, nostack),
        );
    }
    remainder
}

/// The remainder of a division, by the 64-bit divide instruction of the CPU.
#[inline(always)]
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn remainder_64(dividend: u64, divisor: NonZeroU64) -> u64 {
    dividend % divisor
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn remainders_are_those_of_the_language(dividend: u64, shift in 0_u32..64, divisor in 1_u64..) {
            let divisor = NonZeroU64::new((divisor >> shift).max(1)).unwrap();
            prop_assert_eq!(remainder_64(dividend, divisor), dividend % divisor);
        }
    }
}
