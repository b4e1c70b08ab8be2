//! Benchmarks that come with the program: the key `preset` of a suite in place of tables.

use super::source::{Files, Findings, Source};
use super::tree::{Node, parse};

/// The presets by name. Each is a file of `[[benchmark]]` tables as they would stand in a suite.
const ALL: &[(&str, &str)] = &[
    ("quick", include_str!("presets/quick.toml")),
    ("host-quick", include_str!("presets/host-quick.toml")),
    ("host-full", include_str!("presets/host-full.toml")),
];

/// The names of the presets.
pub fn presets() -> impl Iterator<Item = &'static str> + Clone {
    ALL.iter().map(|(name, _)| *name)
}

/// The list of benchmarks of a preset.
pub(super) fn benchmarks(name: &str) -> Option<Node> {
    let (name, text) = ALL.iter().find(|(known, _)| *known == name)?;
    let source =
        Source { path: format!("presets/{name}.toml"), text: (*text).to_owned(), shown: str::to_owned };
    parse(&Files(vec![source]), 0, &mut Findings::default())?.remove("benchmark")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_has_benchmarks_and_nothing_else() {
        for (name, text) in ALL {
            let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(table.keys().collect::<Vec<_>>(), ["benchmark"], "{name}");
            assert!(benchmarks(name).is_some(), "{name}");
        }
    }
}
