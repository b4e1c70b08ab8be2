//! `/proc/stat`: time by CPU and mode, and the kernel's event counters.

use crate::sample::Root;
use crate::sample::file::{KeptFile, Line, ReadError};
use crate::sample::raw::{Cpu, CpuTimes, TICKS_PER_SECOND};

/// Idle and iowait are estimates of the kernel that may go back a little; a larger step back is a CPU that
/// was taken offline and came back at 0. The bound is node_exporter's.
const RESET_TICKS: u64 = 3 * TICKS_PER_SECOND;

const MODES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

pub(super) struct Source {
    file: KeptFile,
    last: Vec<CpuTimes>,
}

impl Source {
    pub(super) fn new(root: &Root) -> Source {
        Source { file: KeptFile::required(root.proc.join("stat")), last: Vec::new() }
    }

    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Cpu, ReadError> {
        let mut cpu = Cpu { cpus: Vec::with_capacity(self.last.len()), ..Cpu::default() };
        let mut lines = self.file.read(buffer)?;
        for mut line in &mut lines {
            match line.word() {
                Some(b"ctxt") => cpu.context_switches = Some(line.number("ctxt")?),
                Some(b"intr") => cpu.interrupts = Some(line.number("intr")?),
                Some(b"processes") => cpu.forks = Some(line.number("processes")?),
                Some(b"procs_running") => cpu.procs_running = Some(line.number("procs_running")?),
                Some(b"procs_blocked") => cpu.procs_blocked = Some(line.number("procs_blocked")?),
                Some(b"btime") => cpu.boot_time = Some(line.number("btime")?),
                Some(word) => cpu.cpus.extend(one_cpu(word, &mut line)?),
                None => {}
            }
        }
        if cpu.cpus.is_empty() {
            return Err(lines.missing("cpu0"));
        }
        hold_idle(&self.last, &mut cpu.cpus);
        self.last.clone_from(&cpu.cpus);
        Ok(cpu)
    }
}

/// The times of a line `cpuN …`; `None` for any other line, the sum over all CPUs included.
fn one_cpu(word: &[u8], line: &mut Line<'_>) -> Result<Option<CpuTimes>, ReadError> {
    let digits = word.strip_prefix(b"cpu").and_then(|digits| std::str::from_utf8(digits).ok());
    let Some(cpu) = digits.and_then(|digits| digits.parse().ok()) else { return Ok(None) };
    let mut times = CpuTimes { cpu, ..CpuTimes::default() };
    for (counter, mode) in times.counters_mut().into_iter().zip(MODES) {
        *counter = line.number(mode)?;
    }
    Ok(Some(times))
}

/// Keeps idle and iowait of each CPU from going back.
fn hold_idle(last: &[CpuTimes], now: &mut [CpuTimes]) {
    for (position, times) in now.iter_mut().enumerate() {
        let same = last.get(position).filter(|old| old.cpu == times.cpu);
        if let Some(old) = same.or_else(|| last.iter().find(|old| old.cpu == times.cpu)) {
            times.idle = held(old.idle, times.idle);
            times.iowait = held(old.iowait, times.iowait);
        }
    }
}

fn held(old: u64, new: u64) -> u64 {
    if new < old && old - new < RESET_TICKS { old } else { new }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_iowait_never_go_back_but_a_cpu_that_restarted_does() {
        let last = [
            CpuTimes { cpu: 0, idle: 1000, iowait: 50, ..CpuTimes::default() },
            CpuTimes { cpu: 2, idle: 1000, ..CpuTimes::default() },
        ];
        let mut now = [
            CpuTimes { cpu: 0, idle: 999, iowait: 49, user: 1, ..CpuTimes::default() },
            CpuTimes { cpu: 1, idle: 3, ..CpuTimes::default() },
            CpuTimes { cpu: 2, idle: 700, ..CpuTimes::default() },
        ];
        hold_idle(&last, &mut now);
        assert_eq!((now[0].idle, now[0].iowait), (1000, 50));
        assert_eq!((now[1].idle, now[2].idle), (3, 700));
    }
}
