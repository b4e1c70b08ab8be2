//! Facts of disks and network cards, as far as the kernel tells them to everybody.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::host::text;
use super::smart::{self, Health};
use crate::text::digest;

/// Bits on a wire for each byte, with the code of SATA and of PCIe up to 5 GT/s.
const BITS_OF_10: f64 = 10.0;

/// The same with the code of faster PCIe: 128 bits are sent as 130.
const BITS_OF_130: f64 = 8.0 * 130.0 / 128.0;

/// The disks and network cards of the host by the kernel's names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hardware {
    /// Disks, mapped devices among them.
    pub disks: BTreeMap<String, DiskFacts>,
    /// What disks say of their own health, where somebody leaves that for benchd to read.
    pub health: BTreeMap<String, Health>,
    /// Network cards.
    pub cards: BTreeMap<String, CardFacts>,
    /// When they were read.
    pub read_at: Option<Timestamp>,
    /// How long that took.
    pub took: Duration,
}

/// What is known of a disk; `None` for what is not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DiskFacts {
    /// The maker's name of the model.
    pub model: Option<String>,
    /// Eight digits that stand for the serial number.
    pub serial: Option<String>,
    /// The version of the firmware.
    pub firmware: Option<String>,
    /// `1` for a disk that turns, by its own word.
    pub rotational: Option<String>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Bytes a second of the link as it was negotiated.
    pub link_speed: Option<f64>,
    /// Bytes a second of the link at its best.
    pub link_speed_maximum: Option<f64>,
}

/// What is known of a network card; `None` for what is not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CardFacts {
    /// The kernel's driver.
    pub driver: Option<String>,
    /// `full` or `half`.
    pub duplex: Option<String>,
}

impl Hardware {
    /// Reads the facts of this host. The kernel may ask a driver for some of them, so it may take a while.
    pub fn read() -> Hardware {
        Hardware { health: smart::health(), ..Hardware::below(Path::new("/sys")) }
    }

    fn below(sys: &Path) -> Hardware {
        let begun = Instant::now();
        Hardware {
            disks: each(&sys.join("class/block"), |folder| disk(sys, folder)),
            health: BTreeMap::new(),
            cards: each(&sys.join("class/net"), card),
            read_at: Some(Timestamp::now()),
            took: begun.elapsed(),
        }
    }
}

/// The facts of each device that has any, by name.
fn each<T: Default + PartialEq>(class: &Path, facts: impl Fn(&Path) -> T) -> BTreeMap<String, T> {
    let Ok(entries) = fs::read_dir(class) else { return BTreeMap::new() };
    let named = entries
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), facts(&entry.path())));
    named.filter(|(_, facts)| *facts != T::default()).collect()
}

fn disk(sys: &Path, folder: &Path) -> DiskFacts {
    let attribute = |path: &str| text(&folder.join(path));
    let (link_speed, link_speed_maximum) =
        ata_link(sys, folder).or_else(|| pci_link(folder)).unwrap_or_default();
    DiskFacts {
        model: attribute("device/model"),
        // The digest tells that a disk was replaced and not which one it is.
        serial: attribute("device/serial").or_else(|| attribute("serial")).map(|serial| digest(&serial)),
        firmware: attribute("device/firmware_rev").or_else(|| attribute("device/rev")),
        rotational: attribute("queue/rotational"),
        scheduler: attribute("queue/scheduler").map(|choice| chosen(&choice)),
        write_cache: attribute("queue/write_cache"),
        link_speed,
        link_speed_maximum,
    }
}

fn card(folder: &Path) -> CardFacts {
    let driver = fs::read_link(folder.join("device/driver")).ok();
    let name = driver.as_deref().and_then(Path::file_name);
    CardFacts {
        driver: name.map(|name| name.to_string_lossy().into_owned()),
        duplex: text(&folder.join("duplex")).filter(|duplex| duplex != "unknown"),
    }
}

/// The one in brackets, or the only one.
fn chosen(choice: &str) -> String {
    let inside = choice.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(choice, |(inside, _)| inside).to_owned()
}

type Speeds = (Option<f64>, Option<f64>);

/// A disk behind the port `ata3` has the link `link3`.
fn ata_link(sys: &Path, folder: &Path) -> Option<Speeds> {
    let real = folder.canonicalize().ok()?;
    let mut ports = real.components().filter_map(|part| part.as_os_str().to_str()?.strip_prefix("ata"));
    let port = ports.find(|port| port.parse::<u32>().is_ok())?;
    let link = sys.join("class/ata_link").join(format!("link{port}"));
    let speed = |file| gigabits(&link.join(file)).map(|gigabits| gigabits * 1e9 / BITS_OF_10);
    Some((speed("sata_spd"), speed("hw_sata_spd_limit")))
}

/// An NVMe disk's controller is a device on a PCI link.
fn pci_link(folder: &Path) -> Option<Speeds> {
    let device: PathBuf = folder.join("device/device");
    let speed = |which: &str| {
        let transfers = gigabits(&device.join(format!("{which}_link_speed")))?;
        let lanes: f64 = text(&device.join(format!("{which}_link_width")))?.parse().ok()?;
        let bits = if transfers > 5.0 { BITS_OF_130 } else { BITS_OF_10 };
        Some(transfers * 1e9 / bits * lanes).filter(|speed| *speed > 0.0)
    };
    let speeds = (speed("current"), speed("max"));
    (speeds != (None, None)).then_some(speeds)
}

/// The number of a text such as `6.0 Gbps` or `8.0 GT/s PCIe`.
fn gigabits(file: &Path) -> Option<f64> {
    text(file)?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn write(sys: &Path, files: &[(&str, &str)]) {
        for (file, content) in files {
            let path = sys.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    fn link(sys: &Path, from: &str, to: &str) {
        fs::create_dir_all(sys.join(from).parent().unwrap()).unwrap();
        symlink(sys.join(to), sys.join(from)).unwrap();
    }

    #[test]
    fn a_sata_disk_on_a_slow_link_shows_both_speeds() {
        let host = tempfile::tempdir().unwrap();
        let sys = host.path();
        write(
            sys,
            &[
                ("devices/ata3/host2/block/sda/queue/rotational", "1\n"),
                ("devices/ata3/host2/block/sda/queue/scheduler", "none [mq-deadline] bfq\n"),
                ("devices/ata3/host2/block/sda/queue/write_cache", "write back\n"),
                ("devices/ata3/host2/block/sda/device/model", "ST4000NM0035    \n"),
                ("devices/ata3/host2/block/sda/device/rev", "TN05\n"),
                ("class/ata_link/link3/sata_spd", "3.0 Gbps\n"),
                ("class/ata_link/link3/hw_sata_spd_limit", "6.0 Gbps\n"),
            ],
        );
        link(sys, "class/block/sda", "devices/ata3/host2/block/sda");
        let known = DiskFacts {
            model: Some("ST4000NM0035".to_owned()),
            serial: None,
            firmware: Some("TN05".to_owned()),
            rotational: Some("1".to_owned()),
            scheduler: Some("mq-deadline".to_owned()),
            write_cache: Some("write back".to_owned()),
            link_speed: Some(3e8),
            link_speed_maximum: Some(6e8),
        };
        assert_eq!(Hardware::below(sys).disks["sda"], known);
    }

    #[test]
    fn an_nvme_disk_has_the_link_of_its_controller_and_a_serial_number_that_is_not_told() {
        let host = tempfile::tempdir().unwrap();
        let sys = host.path();
        write(
            sys,
            &[
                ("class/block/nvme0n1/device/serial", "S4EWNX0N123456"),
                ("class/block/nvme0n1/device/firmware_rev", "2B2QEXM7"),
                ("class/block/nvme0n1/device/device/current_link_speed", "8.0 GT/s PCIe\n"),
                ("class/block/nvme0n1/device/device/current_link_width", "4\n"),
                ("class/block/nvme0n1/device/device/max_link_speed", "5.0 GT/s PCIe\n"),
                ("class/block/nvme0n1/device/device/max_link_width", "4\n"),
            ],
        );
        let disk = &Hardware::below(sys).disks["nvme0n1"];
        assert_eq!(disk.link_speed.map(f64::round), Some(3_938_461_538.0));
        assert_eq!(disk.link_speed_maximum, Some(2e9));
        assert!(disk.serial.as_ref().is_some_and(|serial| serial.len() == 8 && !serial.contains("S4EW")));
    }

    #[test]
    fn what_says_nothing_is_not_there() {
        let host = tempfile::tempdir().unwrap();
        let sys = host.path();
        write(
            sys,
            &[
                ("class/net/eth0/duplex", "full\n"),
                ("class/net/eth1/duplex", "unknown\n"),
                ("class/ata_link/link1/sata_spd", "<unknown>\n"),
            ],
        );
        fs::create_dir_all(sys.join("class/block/dm-0")).unwrap();
        link(sys, "class/net/eth0/device/driver", "bus/pci/drivers/ixgbe");
        let hardware = Hardware::below(sys);
        assert!(hardware.disks.is_empty());
        let card = CardFacts { driver: Some("ixgbe".to_owned()), duplex: Some("full".to_owned()) };
        assert_eq!(hardware.cards, BTreeMap::from([("eth0".to_owned(), card)]));
    }
}
