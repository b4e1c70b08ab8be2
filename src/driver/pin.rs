//! Puts each client thread on a CPU of its own.

use anyhow::{Context as _, ensure};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use super::Pin;

/// The thread that asks, for the kernel.
const THIS_THREAD: Pid = Pid::from_raw(0);

/// The CPU of each client in order; empty when clients are not pinned.
pub(super) fn cpus(pin: Pin, clients: u32) -> anyhow::Result<Vec<usize>> {
    if pin == Pin::None {
        return Ok(Vec::new());
    }
    let allowed = sched_getaffinity(THIS_THREAD).context("ask which CPUs this process may use")?;
    let mut cpus: Vec<usize> =
        (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false)).collect();
    ensure!(
        clients as usize <= cpus.len(),
        "{clients} threads cannot have a CPU each: this process may use {}; use fewer threads, or pin = \"none\"",
        cpus.len()
    );
    cpus.truncate(clients as usize);
    Ok(cpus)
}

/// Binds the calling thread to the CPU, when there is one.
pub(super) fn this_thread(cpu: Option<usize>) -> anyhow::Result<()> {
    let Some(cpu) = cpu else { return Ok(()) };
    let mut set = CpuSet::new();
    set.set(cpu)
        .and_then(|()| sched_setaffinity(THIS_THREAD, &set))
        .with_context(|| format!("pin a thread to CPU {cpu}"))
}
