//! Which devices are sampled.

use regex::Regex;

/// Chooses devices by name: `include` wins when it is not empty, else everything but `exclude`.
#[derive(Debug, Clone)]
pub struct DeviceFilter {
    include: Option<Regex>,
    exclude: Option<Regex>,
}

impl DeviceFilter {
    /// A filter of two regular expressions, each of them empty for "not given".
    ///
    /// # Errors
    /// Says which of the two is not a regular expression, and why.
    pub fn new(include: &str, exclude: &str) -> Result<DeviceFilter, String> {
        Ok(DeviceFilter { include: pattern("include", include)?, exclude: pattern("exclude", exclude)? })
    }

    /// Whether the device is to be sampled.
    pub fn wants(&self, device: &str) -> bool {
        match (&self.include, &self.exclude) {
            (Some(include), _) => include.is_match(device),
            (None, Some(exclude)) => !exclude.is_match(device),
            (None, None) => true,
        }
    }
}

fn pattern(key: &str, text: &str) -> Result<Option<Regex>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    Regex::new(text).map(Some).map_err(|error| format!("{key} is not a regular expression: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_pattern_leaves_whole_disks() {
        let filter =
            DeviceFilter::new("", r"^(z?ram|loop|fd|sr|(h|s|v|xv)d[a-z]+|nvme\d+n\d+p)\d+$").unwrap();
        for wanted in ["sda", "vda", "xvdb", "sdaa", "nvme0n1", "dm-0", "md127", "mmcblk0"] {
            assert!(filter.wants(wanted), "{wanted}");
        }
        for unwanted in ["sda1", "vdb12", "nvme0n1p2", "loop0", "zram0", "ram15", "sr0", "fd0"] {
            assert!(!filter.wants(unwanted), "{unwanted}");
        }
    }

    #[test]
    fn include_wins_when_given() {
        let filter = DeviceFilter::new("^sda", "^sda1$").unwrap();
        assert!(filter.wants("sda1"));
        assert!(!filter.wants("sdb"));
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let problem = DeviceFilter::new("", "(").unwrap_err();
        assert!(problem.starts_with("exclude is not a regular expression"), "{problem}");
    }
}
