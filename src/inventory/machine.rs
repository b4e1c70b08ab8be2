//! What tells this host from its copies and its neighbours.

use std::path::Path;

use sysinfo::System;

/// Names this installation of the operating system: the 32 digits of `/etc/machine-id`. Without one it is
/// `host-` and the host's name, and without that `boot-` and the id of this boot.
///
/// machine-id(5) asks to keep the id from untrusted places: hash it before it leaves the host.
pub fn machine_id() -> String {
    from_files(
        Path::new("/etc/machine-id"),
        Path::new("/proc/sys/kernel/random/boot_id"),
        System::host_name().ok(),
    )
}

fn from_files(machine: &Path, boot: &Path, host_name: Option<String>) -> String {
    let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let id = text(machine);
    if id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return id;
    }
    match host_name.filter(|name| !name.is_empty()) {
        Some(name) => format!("host-{name}"),
        None => format!("boot-{}", text(boot)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_id_comes_first_then_the_host_then_the_boot() {
        let folder = tempfile::tempdir().unwrap();
        let (machine, boot) = (folder.path().join("machine-id"), folder.path().join("boot_id"));
        std::fs::write(&boot, "7f0e\n").unwrap();
        assert_eq!(from_files(&machine, &boot, None), "boot-7f0e");
        std::fs::write(&machine, "uninitialized\n").unwrap();
        assert_eq!(from_files(&machine, &boot, Some("db1".to_owned())), "host-db1");
        std::fs::write(&machine, "3d1219c7c4c5404aaa1f6d2a48adfda4\n").unwrap();
        assert_eq!(from_files(&machine, &boot, Some("db1".to_owned())), "3d1219c7c4c5404aaa1f6d2a48adfda4");
    }
}
