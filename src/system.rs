//! The one place of unsafe code: what neither the language nor a safe wrapper offers.
#![allow(unsafe_code, reason = "each block says why nothing safe does the same")]

use std::io;
use std::num::NonZeroU64;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::libc;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{getpid, getppid};

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
