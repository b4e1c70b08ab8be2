//! What a server's process uses, as the kernel accounts it to the unit that the service manager runs it in.
//!
//! The files of a control group can be read by everybody, also where other processes cannot be seen.

use std::fs;
use std::path::{Path, PathBuf};

/// What units of servers are called; an instance has its name behind an `@`.
const NAMES: &[&str] = &["mysqld", "mysql", "mariadb"];

/// How deep below the slice of services their units lie: instances have a slice of their own.
const DEEPEST: usize = 2;

/// What the processes of a unit have used, and hold.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct UnitUse {
    /// CPU time in seconds.
    pub cpu_seconds: Option<f64>,
    /// Memory charged to it, in bytes.
    pub memory: Option<u64>,
    /// Bytes read from disks.
    pub read: Option<u64>,
    /// Bytes written to disks.
    pub written: Option<u64>,
}

/// The control group of the unit that a server of this host runs in: that of the only unit of a server with
/// processes, or of the one that holds the process whose id the server has written into a file.
pub(super) fn find(sys: &Path, pid_file: &Path) -> Option<PathBuf> {
    let mut found = Vec::new();
    add_units(&sys.join("fs/cgroup/system.slice"), DEEPEST, &mut found);
    let processes = |unit: &PathBuf| fs::read_to_string(unit.join("cgroup.procs")).unwrap_or_default();
    found.retain(|unit| !processes(unit).trim().is_empty());
    if found.len() > 1 {
        let pid = fs::read_to_string(pid_file).ok()?;
        found.retain(|unit| processes(unit).lines().any(|process| process == pid.trim()));
    }
    if found.len() == 1 { found.pop() } else { None }
}

fn add_units(slice: &Path, deeper: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(slice) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(unit) = name.strip_suffix(".service") {
            let kind = unit.split_once('@').map_or(unit, |(kind, _)| kind);
            found.extend(NAMES.contains(&kind).then(|| entry.path()));
        } else if name.ends_with(".slice") && deeper > 1 {
            add_units(&entry.path(), deeper - 1, found);
        }
    }
}

/// What a unit has used; `None` when it is gone.
pub(super) fn read(sys: &Path, unit: &Path) -> Option<UnitUse> {
    let text = |file: &str| fs::read_to_string(unit.join(file)).ok();
    let cpu = text("cpu.stat")?;
    let io = text("io.stat");
    let sum = |key: &str| io.as_deref().map(|io| bytes(sys, io, key));
    Some(UnitUse {
        cpu_seconds: word_after(&cpu, "usage_usec").map(|micros| micros as f64 / 1e6),
        memory: text("memory.current").and_then(|text| text.trim().parse().ok()),
        read: sum("rbytes="),
        written: sum("wbytes="),
    })
}

fn word_after(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// Adds up one number over the disks. What goes through a mapped device is counted at the disks it is made of.
fn bytes(sys: &Path, io: &str, key: &str) -> u64 {
    let is_mapped = |device: &str| {
        let slaves = fs::read_dir(sys.join("dev/block").join(device).join("slaves"));
        slaves.is_ok_and(|mut slaves| slaves.next().is_some())
    };
    let lines = io.lines().filter_map(|line| line.split_once(' '));
    lines
        .filter(|(device, _)| !is_mapped(device))
        .filter_map(|(_, numbers)| {
            numbers.split(' ').find_map(|word| word.strip_prefix(key)?.parse::<u64>().ok())
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// `/sys` of a host with these files.
    fn host(files: &[(&str, &str)]) -> TempDir {
        let host = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = host.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        host
    }

    const SLICE: &str = "fs/cgroup/system.slice";

    #[test]
    fn the_only_unit_of_a_server_that_runs_is_its_unit() {
        let host = host(&[
            (&format!("{SLICE}/mariadb.service/cgroup.procs"), "812\n"),
            (&format!("{SLICE}/mysql.service/cgroup.procs"), ""),
            (&format!("{SLICE}/nginx.service/cgroup.procs"), "9\n"),
        ]);
        let unit = find(host.path(), Path::new("/nonexistent"));
        assert_eq!(unit, Some(host.path().join(SLICE).join("mariadb.service")));
    }

    #[test]
    fn of_several_the_one_with_the_servers_process_is_its_unit() {
        let instance = format!("{SLICE}/system-mysqld.slice/mysqld@two.service");
        let host = host(&[
            (&format!("{SLICE}/mysqld.service/cgroup.procs"), "812\n"),
            (&format!("{instance}/cgroup.procs"), "913\n"),
            ("pid", "913\n"),
        ]);
        assert_eq!(find(host.path(), &host.path().join("pid")), Some(host.path().join(instance)));
        assert_eq!(find(host.path(), Path::new("/nonexistent")), None, "never a guess");
    }

    #[test]
    fn use_is_read_and_a_mapped_device_is_not_counted_twice() {
        let host = host(&[
            ("unit/cpu.stat", "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n"),
            ("unit/memory.current", "1048576\n"),
            (
                "unit/io.stat",
                "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n253:0 rbytes=4096 wbytes=8192 rios=1\n8:16 \n",
            ),
            ("dev/block/253:0/slaves/sda", ""),
        ]);
        let unit = host.path().join("unit");
        let known =
            UnitUse { cpu_seconds: Some(2.5), memory: Some(1 << 20), read: Some(4096), written: Some(8192) };
        assert_eq!(read(host.path(), &unit), Some(known));
        assert_eq!(read(host.path(), &host.path().join("gone")), None);
    }
}
