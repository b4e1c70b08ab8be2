//! This process as its own metrics show it.

use std::path::Path;

use anyhow::{Context as _, bail};

use super::raw::TICKS_PER_SECOND;
use crate::units::Bytes;

/// What this process has used and holds.
#[derive(Debug, Clone, PartialEq)]
pub struct SelfProcess {
    /// User and system CPU time in seconds; waited-for child processes are not in it.
    pub cpu_seconds: f64,
    /// Resident memory.
    pub resident: Bytes,
    /// Virtual memory.
    pub virtual_memory: Bytes,
    /// Open file descriptors.
    pub open_fds: u64,
    /// The soft limit of open file descriptors; `None` when there is none.
    pub max_fds: Option<u64>,
    /// Start time, seconds since the Unix epoch, to 10 ms.
    pub start_time: f64,
    /// Threads.
    pub threads: u64,
}

/// Reads the values of this process from `proc/self`; `proc` is `/proc` but in tests.
///
/// # Errors
/// Names the file that cannot be read or understood.
pub fn self_process(proc: &Path) -> anyhow::Result<SelfProcess> {
    let own = proc.join("self");
    let status = read(&own.join("status"))?;
    let kernel = read(&proc.join("stat"))?;
    let boot: u64 = value_after(&kernel, "btime").with_context(|| missing(&proc.join("stat"), "btime"))?;
    let [user, system, start] = times(&own.join("stat"))?;
    let field = |name: &str| value_after(&status, name).with_context(|| missing(&own.join("status"), name));
    let kibibytes = |name: &str| anyhow::Ok(Bytes::new(field(name)?.saturating_mul(1024)));
    Ok(SelfProcess {
        cpu_seconds: seconds(user + system),
        resident: kibibytes("VmRSS:")?,
        virtual_memory: kibibytes("VmSize:")?,
        open_fds: open_fds(&own.join("fd"))?,
        max_fds: value_after(&read(&own.join("limits"))?, "Max open files"),
        start_time: boot as f64 + seconds(start),
        threads: field("Threads:")?,
    })
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn missing(path: &Path, item: &str) -> String {
    format!("{}: {item} is missing or not a number", path.display())
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / TICKS_PER_SECOND as f64
}

/// The first number behind a name at the start of a line.
fn value_after(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

/// User time, system time and start time after boot, in ticks: fields 14, 15 and 22 of `/proc/PID/stat`.
fn times(path: &Path) -> anyhow::Result<[u64; 3]> {
    let text = read(path)?;
    // The second field is the program's name in brackets, which may hold blanks and brackets itself.
    let Some((_, rest)) = text.rsplit_once(')') else { bail!(missing(path, "the program's name")) };
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| {
        let value = fields.get(number - 3).and_then(|field| field.parse().ok());
        value.with_context(|| missing(path, &format!("field {number}")))
    };
    Ok([field(14)?, field(15)?, field(22)?])
}

/// Open file descriptors; listing them opens one, which is not counted.
fn open_fds(directory: &Path) -> anyhow::Result<u64> {
    let entries =
        std::fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    Ok((entries.count() as u64).saturating_sub(1))
}
