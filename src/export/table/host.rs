//! Processor, load, processes and pressure of the host.

use super::super::family::{COUNT, COUNT_BYTES, COUNT_SECONDS, Family, NUMBER, Points, SECONDS};
use super::super::snapshot::Snapshot;
use crate::sample::{Cpu, CpuTimes, Load, Pressure, TICKS_PER_SECOND};

pub(super) const FAMILIES: &[Family] = &[
    Family::new(
        "benchd_host_cpu_seconds_total",
        COUNT_SECONDS,
        &["cpu", "mode"],
        "CPU time by mode; never goes back (idle and iowait are held). With more CPUs than sample.per_cpu_limit one \
         series set with cpu=\"all\" replaces the per-CPU ones.",
        ("/proc/stat", "never"),
        |now, out| {
            if let Some(cpu) = now.host.as_ref().and_then(|host| host.cpu.as_ref()) {
                cpu_times(&cpu.cpus, now.per_cpu_limit, out);
            }
        },
    ),
    Family::new(
        "benchd_host_load1",
        NUMBER,
        &[],
        "1 minute load average.",
        ("/proc/loadavg", "never"),
        |now, out| load(now, out, |load| load.one),
    ),
    Family::new(
        "benchd_host_load5",
        NUMBER,
        &[],
        "5 minute load average.",
        ("/proc/loadavg", "never"),
        |now, out| load(now, out, |load| load.five),
    ),
    Family::new(
        "benchd_host_load15",
        NUMBER,
        &[],
        "15 minute load average.",
        ("/proc/loadavg", "never"),
        |now, out| load(now, out, |load| load.fifteen),
    ),
    Family::new(
        "benchd_host_context_switches_total",
        COUNT,
        &[],
        "Context switches.",
        ("/proc/stat ctxt", "never"),
        |now, out| cpu(now, out, |cpu| cpu.context_switches),
    ),
    Family::new(
        "benchd_host_intr_total",
        COUNT,
        &[],
        "Interrupts serviced.",
        ("/proc/stat intr", "never"),
        |now, out| cpu(now, out, |cpu| cpu.interrupts),
    ),
    Family::new(
        "benchd_host_forks_total",
        COUNT,
        &[],
        "Forks.",
        ("/proc/stat processes", "never"),
        |now, out| cpu(now, out, |cpu| cpu.forks),
    ),
    Family::new(
        "benchd_host_procs_running",
        NUMBER,
        &[],
        "Runnable processes.",
        ("/proc/stat", "never"),
        |now, out| cpu(now, out, |cpu| cpu.procs_running),
    ),
    Family::new(
        "benchd_host_procs_blocked",
        NUMBER,
        &[],
        "Processes blocked on I/O.",
        ("/proc/stat", "never"),
        |now, out| cpu(now, out, |cpu| cpu.procs_blocked),
    ),
    Family::new(
        "benchd_host_boot_time_seconds",
        SECONDS,
        &[],
        "Boot time as Unix time.",
        ("/proc/stat btime", "never"),
        |now, out| cpu(now, out, |cpu| cpu.boot_time),
    ),
    Family::new(
        "benchd_host_pressure_cpu_waiting_seconds_total",
        COUNT_SECONDS,
        &[],
        "Time in which some tasks waited for a CPU (cpu some).",
        ("/proc/pressure/cpu", "pressure not available (RHEL: boot with psi=1)"),
        |now, out| pressure(now, out, |pressure| pressure.cpu_some),
    ),
    Family::new(
        "benchd_host_pressure_io_waiting_seconds_total",
        COUNT_SECONDS,
        &[],
        "Time in which some tasks waited for a disk (io some).",
        ("/proc/pressure/io", "pressure not available (RHEL: boot with psi=1)"),
        |now, out| pressure(now, out, |pressure| pressure.io_some),
    ),
    Family::new(
        "benchd_host_pressure_io_stalled_seconds_total",
        COUNT_SECONDS,
        &[],
        "Time in which all tasks waited for a disk (io full).",
        ("/proc/pressure/io", "pressure not available (RHEL: boot with psi=1)"),
        |now, out| pressure(now, out, |pressure| pressure.io_full),
    ),
    Family::new(
        "benchd_host_pressure_memory_waiting_seconds_total",
        COUNT_SECONDS,
        &[],
        "Time in which some tasks waited for memory (memory some).",
        ("/proc/pressure/memory", "pressure not available (RHEL: boot with psi=1)"),
        |now, out| pressure(now, out, |pressure| pressure.memory_some),
    ),
    Family::new(
        "benchd_host_pressure_memory_stalled_seconds_total",
        COUNT_SECONDS,
        &[],
        "Time in which all tasks waited for memory (memory full).",
        ("/proc/pressure/memory", "pressure not available (RHEL: boot with psi=1)"),
        |now, out| pressure(now, out, |pressure| pressure.memory_full),
    ),
    Family::new(
        "benchd_load_cpu_seconds_total",
        COUNT_SECONDS,
        &[],
        "CPU time used by all load processes since start: what benchd itself cost the host.",
        ("getrusage of the load process", "never"),
        |now, out| out.one(now.load_cpu_seconds),
    ),
    Family::new(
        "benchd_load_written_bytes_total",
        COUNT_BYTES,
        &[],
        "Bytes written by workers, load processes and scratch servers since start (wear of solid-state disks).",
        ("/proc/PID/io write_bytes", "kernel without accounts of input and output"),
        |now, out| out.known(now.load_written_bytes.map(|bytes| bytes as f64)),
    ),
];

/// Each CPU by mode, or the sum of all when there are more than `limit`.
fn cpu_times(cpus: &[CpuTimes], limit: usize, out: &mut Points) {
    if cpus.len() <= limit {
        for times in cpus {
            add_modes(&times.cpu.to_string(), &times.modes(), out);
        }
        return;
    }
    let Some(mut sum) = cpus.first().map(CpuTimes::modes) else { return };
    for times in &cpus[1..] {
        for (total, (_, ticks)) in sum.iter_mut().zip(times.modes()) {
            total.1 += ticks;
        }
    }
    add_modes("all", &sum, out);
}

fn add_modes(cpu: &str, modes: &[(&'static str, u64)], out: &mut Points) {
    for (mode, ticks) in modes {
        out.add(&[cpu, mode], *ticks as f64 / TICKS_PER_SECOND as f64);
    }
}

fn cpu(now: &Snapshot, out: &mut Points, value: fn(&Cpu) -> Option<u64>) {
    let cpu = now.host.as_ref().and_then(|host| host.cpu.as_ref());
    out.known(cpu.and_then(|cpu| value(cpu)).map(|count| count as f64));
}

fn load(now: &Snapshot, out: &mut Points, value: fn(&Load) -> f64) {
    out.known(now.host.as_ref().and_then(|host| host.load.as_ref()).map(|load| value(load)));
}

/// Pressure is read in microseconds.
fn pressure(now: &Snapshot, out: &mut Points, value: fn(&Pressure) -> Option<u64>) {
    let pressure = now.host.as_ref().and_then(|host| host.pressure.as_ref());
    out.known(pressure.and_then(|pressure| value(pressure)).map(|micros| micros as f64 / 1e6));
}
