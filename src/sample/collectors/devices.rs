//! Remembers which device stands in which line, so that names are matched and copied only when a line changes.

use crate::sample::DeviceFilter;
use crate::sample::raw::DeviceName;

/// The devices of a file by line; `T` is what the collector remembers of a wanted one.
pub(super) struct Devices<T> {
    filter: DeviceFilter,
    lines: Vec<Known<T>>,
}

struct Known<T> {
    name: DeviceName,
    wanted: Option<T>,
}

impl<T> Devices<T> {
    pub(super) fn new(filter: DeviceFilter) -> Devices<T> {
        Devices { filter, lines: Vec::new() }
    }

    /// The device in this line; `None` when the filter leaves it out.
    pub(super) fn at(
        &mut self,
        line: usize,
        name: &[u8],
        make: impl FnOnce(&DeviceName) -> T,
    ) -> Option<(&DeviceName, &mut T)> {
        if self.lines.get(line).is_none_or(|known| known.name.as_str().as_bytes() != name) {
            let name = DeviceName::from(String::from_utf8_lossy(name).as_ref());
            let wanted = self.filter.wants(name.as_str()).then(|| make(&name));
            self.lines.truncate(line);
            self.lines.push(Known { name, wanted });
        }
        let known = self.lines.get_mut(line)?;
        known.wanted.as_mut().map(|wanted| (&known.name, wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_made_once_and_anew_when_its_line_changes() {
        let mut devices = Devices::new(DeviceFilter::new("", "^loop").unwrap());
        let mut made = 0;
        for (line, name) in [(0, "loop0"), (1, "sda"), (0, "loop0"), (1, "sda"), (1, "sdb"), (0, "sda")] {
            devices.at(line, name.as_bytes(), |_| made += 1);
        }
        assert_eq!(made, 3);
        assert!(devices.at(0, b"loop0", |_| made += 1).is_none());
    }
}
