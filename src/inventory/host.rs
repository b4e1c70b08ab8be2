//! Facts of the machine and its kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use crate::units::Bytes;

/// The host as it is. What cannot be found out is `None`, and missing in the map of facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFacts {
    /// The host's name.
    pub hostname: Option<String>,
    /// The kernel's release, `5.14.0-503.el9.x86_64`.
    pub kernel: Option<String>,
    /// The distribution and its version, `Rocky Linux 9.5`.
    pub distribution: Option<String>,
    /// The CPU's model.
    pub cpu_model: Option<String>,
    /// Processor packages.
    pub sockets: Option<usize>,
    /// Physical cores.
    pub cores: Option<usize>,
    /// Online CPUs this process may use; at least 1.
    pub cpus: usize,
    /// Memory of the host.
    pub memory: Bytes,
    /// Hypervisor as systemd-detect-virt names it, `none` on bare metal, `vm` for one that does not say.
    pub virtualization: Option<String>,
    /// CPU frequency governor; several are joined with `+`.
    pub governor: Option<String>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
}

/// The facts of this host by name, with what its disks say of their health.
pub fn facts() -> BTreeMap<String, String> {
    let mut facts = HostFacts::read().to_map();
    facts.extend(super::smart::facts());
    facts
}

impl HostFacts {
    /// Finds out the facts of this host.
    pub fn read() -> HostFacts {
        let (proc, sys) = (Path::new("/proc"), Path::new("/sys"));
        // A refresh of neither usage nor frequency: the first usage would be the mean since boot.
        let kind = RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(kind).ok();
        let model = system.as_ref().and_then(|system| system.cpus().first()).map(|cpu| cpu.brand().trim());
        HostFacts {
            hostname: System::host_name().ok(),
            kernel: System::kernel_version().ok(),
            distribution: distribution(),
            cpu_model: model.filter(|model| !model.is_empty()).map(str::to_owned),
            sockets: sockets(sys),
            cores: System::physical_core_count().ok(),
            cpus: usable_cpus(proc, sys).unwrap_or(1).max(1),
            memory: Bytes::new(system.as_ref().map_or(0, System::total_memory)),
            virtualization: virtualization(proc, sys),
            governor: governor(sys),
            clocksource: text(&sys.join("devices/system/clocksource/clocksource0/current_clocksource")),
        }
    }

    /// The host's name, `localhost` when it has none.
    pub fn name(&self) -> String {
        self.hostname.clone().unwrap_or_else(|| "localhost".to_owned())
    }

    /// The facts by name.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        let number = |value: Option<usize>| value.map(|value| value.to_string());
        let facts = [
            ("hostname", self.hostname.clone()),
            ("kernel", self.kernel.clone()),
            ("distribution", self.distribution.clone()),
            ("cpu_model", self.cpu_model.clone()),
            ("sockets", number(self.sockets)),
            ("cores", number(self.cores)),
            ("cpus", number(Some(self.cpus))),
            ("memory", Some(self.memory.to_string()).filter(|_| self.memory.get() > 0)),
            ("virtualization", self.virtualization.clone()),
            ("governor", self.governor.clone()),
            ("clocksource", self.clocksource.clone()),
        ];
        facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

fn distribution() -> Option<String> {
    let name = System::name().ok()?;
    Some(match System::os_version() {
        Ok(version) => format!("{name} {version}"),
        Err(_) => name,
    })
}

/// A file of one line, without the line's end; `None` when it is missing or empty.
pub(super) fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// One attribute of every CPU, as a set.
fn of_every_cpu(sys: &Path, attribute: &str) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(sys.join("devices/system/cpu")) else { return BTreeSet::new() };
    let is_cpu = |name: &str| name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok());
    let folders = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_cpu));
    folders.filter_map(|entry| text(&entry.path().join(attribute))).collect()
}

/// Distinct packages; a platform that does not know them says −1.
fn sockets(sys: &Path) -> Option<usize> {
    let packages = of_every_cpu(sys, "topology/physical_package_id");
    Some(packages.iter().filter(|id| id.parse::<u32>().is_ok()).count()).filter(|count| *count > 0)
}

fn governor(sys: &Path) -> Option<String> {
    let governors: Vec<String> = of_every_cpu(sys, "cpufreq/scaling_governor").into_iter().collect();
    (!governors.is_empty()).then(|| governors.join("+"))
}

/// CPUs that are both online and in the affinity mask, which may name CPUs that are not there.
fn usable_cpus(proc: &Path, sys: &Path) -> Option<usize> {
    let online = cpu_list(&text(&sys.join("devices/system/cpu/online"))?);
    let status = fs::read_to_string(proc.join("self/status")).ok()?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(cpu_list(allowed).intersection(&online).count())
}

/// The numbers of a list such as `0-3,8`.
fn cpu_list(text: &str) -> BTreeSet<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// What the firmware calls the maker of the machine or the machine, and the hypervisor behind it.
const HYPERVISORS: [(&str, &str); 12] = [
    ("Amazon EC2", "amazon"),
    ("Google Compute Engine", "google"),
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("QEMU", "kvm"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "oracle"),
    ("VirtualBox", "oracle"),
    ("Xen", "xen"),
    ("Parallels", "parallels"),
    ("Virtual Machine", "microsoft"),
];

/// The CPU says whether there is a hypervisor, the firmware which; `None` where neither says anything.
fn virtualization(proc: &Path, sys: &Path) -> Option<String> {
    if text(&sys.join("hypervisor/type")).as_deref() == Some("xen") {
        return Some("xen".to_owned());
    }
    let cpu_info = fs::read_to_string(proc.join("cpuinfo")).ok()?;
    let flags = cpu_info.lines().find(|line| line.starts_with("flags"));
    let has_hypervisor = flags.map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    if has_hypervisor == Some(false) {
        return Some("none".to_owned());
    }
    let firmware = |file: &str| text(&sys.join("class/dmi/id").join(file));
    let named =
        ["product_name", "sys_vendor", "bios_vendor"].into_iter().filter_map(firmware).find_map(|name| {
            HYPERVISORS.iter().find(|(start, _)| name.starts_with(start)).map(|(_, word)| (*word).to_owned())
        });
    named.or_else(|| has_hypervisor.map(|_| "vm".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, file: &str, content: &str) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[test]
    fn cpus_must_be_both_online_and_allowed() {
        let host = tempfile::tempdir().unwrap();
        write(host.path(), "devices/system/cpu/online", "0-3,6\n");
        write(host.path(), "self/status", "Name:\tx\nCpus_allowed_list:\t2-127\n");
        assert_eq!(usable_cpus(host.path(), host.path()), Some(3));
    }

    #[test]
    fn sockets_and_governors_are_counted_over_all_cpus() {
        let host = tempfile::tempdir().unwrap();
        for (cpu, package, governor) in
            [(0, "0", "performance"), (1, "1", "powersave"), (2, "1", "powersave")]
        {
            write(host.path(), &format!("devices/system/cpu/cpu{cpu}/topology/physical_package_id"), package);
            write(host.path(), &format!("devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"), governor);
        }
        write(host.path(), "devices/system/cpu/cpufreq/scaling_governor", "ondemand");
        assert_eq!(sockets(host.path()), Some(2));
        assert_eq!(governor(host.path()).as_deref(), Some("performance+powersave"));
        assert_eq!(governor(Path::new("/nonexistent")), None);
    }

    #[test]
    fn the_hypervisor_is_named_when_the_firmware_names_it() {
        let word = |flags: &str, vendor: &str| {
            let host = tempfile::tempdir().unwrap();
            write(host.path(), "cpuinfo", flags);
            write(host.path(), "class/dmi/id/sys_vendor", vendor);
            virtualization(host.path(), host.path())
        };
        assert_eq!(word("flags : fpu hypervisor vme", "QEMU\n").as_deref(), Some("kvm"));
        assert_eq!(word("flags : fpu hypervisor", "Nobody").as_deref(), Some("vm"));
        assert_eq!(word("flags : fpu vme", "Dell Inc.").as_deref(), Some("none"));
        assert_eq!(word("Features : fp asimd", "Nobody"), None);
        assert_eq!(word("Features : fp asimd", "Amazon EC2").as_deref(), Some("amazon"));
    }

    #[test]
    fn this_host_has_a_kernel_memory_and_at_least_one_cpu() {
        let facts = HostFacts::read();
        assert!(facts.cpus >= 1 && facts.memory.get() > 0, "{facts:?}");
        assert!(facts.to_map().contains_key("kernel"));
    }
}
