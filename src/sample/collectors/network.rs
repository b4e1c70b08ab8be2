//! `/proc/net/dev` and `/sys/class/net`: traffic, speed and state of each network card.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::devices::Devices;
use crate::sample::file::{KeptFile, Line, ReadError};
use crate::sample::raw::{DeviceName, Network, Traffic};
use crate::sample::{Root, Settings};
use crate::units::LinkSpeed;

/// The two lines of column names.
const HEADER_LINES: usize = 2;

/// How long a card's speed is believed. Asking takes the kernel's global network lock and reaches into the
/// driver, which is too dear for every sample.
const SPEED_AGE: Duration = Duration::from_secs(10);

/// Bytes a second in 1 Mbit/s, the unit of `/sys/class/net/*/speed`.
const BYTES_PER_MEGABIT: u64 = 1_000_000 / 8;

/// Drivers of cards that a hypervisor makes up.
const VIRTUAL_DRIVERS: [&str; 5] = ["virtio_net", "vmxnet3", "hv_netvsc", "vif", "xen_netfront"];

pub(super) struct Source {
    file: KeptFile,
    class: PathBuf,
    link_speed: BTreeMap<String, LinkSpeed>,
    devices: Devices<Link>,
    link_buffer: Vec<u8>,
}

impl Source {
    pub(super) fn new(root: &Root, settings: &Settings) -> Source {
        Source {
            file: KeptFile::required(root.proc.join("net/dev")),
            class: root.sys.join("class/net"),
            link_speed: settings.link_speed.clone(),
            devices: Devices::new(settings.network.clone()),
            link_buffer: Vec::new(),
        }
    }

    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Vec<Network>, ReadError> {
        let mut networks = Vec::new();
        for (number, mut line) in self.file.read(buffer)?.skip(HEADER_LINES).enumerate() {
            let name = line.up_to_last(b':').ok_or_else(|| line.error("device", "is missing"))?;
            let wanted = self.devices.at(number, name, |name| {
                Link::new(self.class.join(name.as_str()), self.link_speed.get(name.as_str()).copied())
            });
            if let Some((name, link)) = wanted {
                let up = link.up(&mut self.link_buffer);
                networks.push(one_card(name, line, link.speed(up), up)?);
            }
        }
        Ok(networks)
    }
}

fn one_card(
    name: &DeviceName,
    mut line: Line<'_>,
    speed: Option<u64>,
    up: Option<bool>,
) -> Result<Network, ReadError> {
    let receive = traffic(
        &mut line,
        ["bytes received", "packets received", "receive errors", "received packets dropped"],
    )?;
    for other in ["receive fifo errors", "receive frame errors", "compressed received", "multicast received"]
    {
        line.number(other)?;
    }
    let transmit = traffic(&mut line, ["bytes sent", "packets sent", "send errors", "sent packets dropped"])?;
    Ok(Network { device: name.clone(), receive, transmit, speed, up })
}

fn traffic(line: &mut Line<'_>, items: [&str; 4]) -> Result<Traffic, ReadError> {
    let [bytes, packets, errors, drops] = items;
    Ok(Traffic {
        bytes: line.number(bytes)?,
        packets: line.number(packets)?,
        errors: line.number(errors)?,
        drops: line.number(drops)?,
    })
}

/// What `/sys/class/net` says of one card.
struct Link {
    directory: PathBuf,
    operstate: KeptFile,
    configured: Option<u64>,
    known: Option<KnownSpeed>,
}

/// A speed as the kernel last gave it, in bytes a second.
struct KnownSpeed {
    asked: Instant,
    up: Option<bool>,
    speed: Option<u64>,
}

impl Link {
    fn new(directory: PathBuf, configured: Option<LinkSpeed>) -> Link {
        Link {
            operstate: KeptFile::optional(directory.join("operstate")),
            directory,
            configured: configured.map(LinkSpeed::bytes_per_second),
            known: None,
        }
    }

    /// Whether the link is up; `None` when the kernel does not say.
    fn up(&mut self, buffer: &mut Vec<u8>) -> Option<bool> {
        let state = self.operstate.read(buffer).ok()?.first_line().word()?;
        Some(state == b"up")
    }

    /// Bytes a second: the configured speed, else the kernel's, asked again when it is old or the link's state
    /// has changed.
    fn speed(&mut self, up: Option<bool>) -> Option<u64> {
        if self.configured.is_some() {
            return self.configured;
        }
        let known = self.known.take().filter(|known| known.up == up && known.asked.elapsed() < SPEED_AGE);
        let ask = || KnownSpeed { asked: Instant::now(), up, speed: kernel_speed(&self.directory) };
        self.known.insert(known.unwrap_or_else(ask)).speed
    }
}

/// The kernel's speed of a card in bytes a second. Unknown when the file cannot be read (a card without a
/// notion of speed answers "invalid argument"), is not above 0, or is the 10 Mbit/s that virtual cards claim.
fn kernel_speed(directory: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(directory.join("speed")).ok()?;
    let megabits = text.trim().parse::<i64>().ok().and_then(|speed| u64::try_from(speed).ok())?;
    let credible =
        megabits > 0 && megabits < u64::from(u32::MAX) && !(megabits == 10 && is_virtual(directory));
    credible.then_some(megabits * BYTES_PER_MEGABIT)
}

/// A card without a device behind it, or with one that a hypervisor makes up.
fn is_virtual(directory: &Path) -> bool {
    if !directory.join("device").exists() {
        return true;
    }
    let driver = std::fs::read_link(directory.join("device/driver")).ok();
    driver
        .as_deref()
        .and_then(Path::file_name)
        .is_some_and(|name| VIRTUAL_DRIVERS.iter().any(|known| name == *known))
}
