//! How large the last caches of this machine are.

use std::collections::BTreeMap;
use std::path::Path;

use crate::units::Bytes;

/// The bytes of all caches of the highest level together, below the kernel's folder of CPUs; 0 where it does not
/// tell, as in some virtual machines.
pub(super) fn last_level(cpus: &Path) -> u64 {
    let mut caches: BTreeMap<(u32, String), u64> = BTreeMap::new();
    for cpu in folders(cpus, "cpu") {
        for cache in folders(&cpu.join("cache"), "index") {
            if let Some((level, shared_by, size)) = cache_of(&cache) {
                caches.insert((level, shared_by), size);
            }
        }
    }
    let last = caches.keys().map(|(level, _)| *level).max().unwrap_or(0);
    caches.iter().filter(|((level, _), _)| *level == last).map(|(_, size)| size).sum()
}

/// The folders `NAME` with a number behind it.
fn folders(parent: &Path, name: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let numbered = |entry: &std::fs::DirEntry| {
        let file = entry.file_name();
        let rest = file.to_str().and_then(|file| file.strip_prefix(name));
        rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    entries.filter(numbered).map(|entry| entry.path()).collect()
}

/// Level, the CPUs that share it, and bytes of one cache.
fn cache_of(cache: &Path) -> Option<(u32, String, u64)> {
    let read = |file: &str| std::fs::read_to_string(cache.join(file)).ok().map(|text| text.trim().to_owned());
    let size: Bytes = read("size")?.parse().ok()?;
    Some((read("level")?.parse().ok()?, read("shared_cpu_list")?, size.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_of_the_last_level_are_counted_once_however_many_share_them() {
        let root = tempfile::tempdir().unwrap();
        let cache = |cpu: u32, index: u32, level: &str, shared: &str, size: &str| {
            let folder = root.path().join(format!("cpu{cpu}/cache/index{index}"));
            std::fs::create_dir_all(&folder).unwrap();
            for (file, text) in [("level", level), ("shared_cpu_list", shared), ("size", size)] {
                std::fs::write(folder.join(file), format!("{text}\n")).unwrap();
            }
        };
        for cpu in 0..4 {
            cache(cpu, 0, "1", &cpu.to_string(), "48K");
            cache(cpu, 3, "3", if cpu < 2 { "0-1" } else { "2-3" }, "32768K");
        }
        std::fs::create_dir(root.path().join("cpufreq")).unwrap();
        assert_eq!(last_level(root.path()), 64 << 20);
        assert_eq!(last_level(&root.path().join("none")), 0);
    }
}
