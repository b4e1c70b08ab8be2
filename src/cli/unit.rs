//! `benchd unit`: what the units must be allowed beyond what they are installed with, for this configuration.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;
use serde_json::json;

use super::{Common, Output, text};
use crate::config::{Config, Listen, Target};
use crate::exit::Exit;
use crate::record::SCHEMA;

/// Ports below this one are opened with a capability alone (ip(7)).
const FIRST_FREE_PORT: u16 = 1024;

/// The systemd drop-in this configuration needs, or that it needs none
#[derive(Debug, clap::Args)]
pub(crate) struct Unit {
    /// Whose [default: the one that needs one]
    #[arg(value_enum)]
    unit: Option<Which>,
}

/// The units that a configuration may ask something of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    /// benchd-worker@.service, in which loads and scratch servers run
    Worker,
    /// benchd.service
    Daemon,
}

impl Which {
    const fn name(self) -> &'static str {
        match self {
            Which::Worker => "benchd-worker@.service",
            Which::Daemon => "benchd.service",
        }
    }

    /// Where it writes as it is installed.
    fn may_write(self, path: &Path) -> bool {
        let below = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
        match self {
            // ProtectSystem=full.
            Which::Worker => !below(&["/usr", "/boot", "/efi", "/etc"]),
            // ProtectSystem=strict, StateDirectory= and RuntimeDirectory=.
            Which::Daemon => below(&["/var/lib/benchd", "/run/benchd"]),
        }
    }
}

/// What a unit needs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Needs {
    /// Folders to write to, each with the key that names it.
    folders: BTreeSet<(PathBuf, String)>,
    /// An address whose port is not for everybody.
    low_port: Option<Listen>,
}

impl Needs {
    fn of(unit: Which, config: &Config) -> Needs {
        let folder = |path: &Path| path.parent().unwrap_or(Path::new("/")).to_owned();
        let store = (folder(&config.store.path), "store.path".to_owned());
        let mut needs = Needs::default();
        match unit {
            Which::Worker => {
                needs.folders.insert(store);
                needs.folders.extend(config.targets.iter().filter_map(|(name, target)| match target {
                    Target::Scratch(scratch) => {
                        Some((scratch.directory.clone(), format!("target.{name}.directory")))
                    }
                    Target::Directory(files) => Some((files.path.clone(), format!("target.{name}.path"))),
                    Target::Server(_) => None,
                }));
            }
            Which::Daemon => {
                needs.folders.insert(store);
                let socket = config.server.socket.as_deref();
                needs.folders.extend(socket.map(|socket| (folder(socket), "server.socket".to_owned())));
                let low = |listen: &&Listen| (1..FIRST_FREE_PORT).contains(&listen.port);
                needs.low_port = config.server.listen.iter().find(low).copied();
            }
        }
        needs.folders.retain(|(path, _)| !unit.may_write(path));
        needs
    }

    fn is_none(&self) -> bool {
        *self == Needs::default()
    }

    /// The settings, each with the key that needs it.
    fn settings(&self) -> Vec<(String, String)> {
        let mut settings: Vec<(String, String)> = self
            .folders
            .iter()
            .map(|(path, key)| (key.clone(), format!("ReadWritePaths={}", path.display())))
            .collect();
        if let Some(listen) = self.low_port {
            let key = format!(
                "server.listen {listen}: a capability, which counts outside of a user namespace alone"
            );
            settings.extend(
                [
                    "AmbientCapabilities=CAP_NET_BIND_SERVICE",
                    "CapabilityBoundingSet=CAP_NET_BIND_SERVICE",
                    "PrivateUsers=no",
                ]
                .map(|setting| (key.clone(), setting.to_owned())),
            );
        }
        settings
    }
}

impl Unit {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        let config = common.load()?.config;
        let needs = |unit| Needs::of(unit, &config);
        let unit = self.unit.unwrap_or_else(|| match needs(Which::Worker).is_none() {
            true if !needs(Which::Daemon).is_none() => Which::Daemon,
            _ => Which::Worker,
        });
        let needed = needs(unit);
        if common.output != Output::Text {
            let settings: Vec<String> = needed.settings().into_iter().map(|(_, setting)| setting).collect();
            return text::print_json(&json!({
                "schema": SCHEMA, "cmd": "unit", "unit": unit.name(), "settings": settings,
            }));
        }
        if needed.is_none() {
            return text::print("none needed: the units allow what the configuration names\n");
        }
        let other = [Which::Worker, Which::Daemon]
            .into_iter()
            .find(|other| *other != unit && !needs(*other).is_none());
        text::print(&drop_in(unit, &needed, other.filter(|_| self.unit.is_none())))
    }
}

fn drop_in(unit: Which, needs: &Needs, other: Option<Which>) -> String {
    let (name, word) = (unit.name(), unit.to_possible_value());
    let word = word.map(|word| word.get_name().to_owned()).unwrap_or_default();
    let folder = format!("/etc/systemd/system/{name}.d");
    let restart = match unit {
        // It starts with each run.
        Which::Worker => "",
        Which::Daemon => " && sudo systemctl restart benchd",
    };
    let mut lines = vec![format!(
        "# sudo mkdir -p {folder} && benchd unit {word} | sudo tee {folder}/configuration.conf && sudo systemctl daemon-reload{restart}"
    )];
    lines.extend(other.map(|other| format!("# {} needs one too: name it", other.name())));
    for (path, _) in needs.folders.iter().filter(|(path, _)| !path.exists()) {
        lines.push(format!(
            "# it must be there first: sudo install -d -o benchd -g benchd -m 750 {}",
            path.display()
        ));
    }
    lines.push("[Service]".to_owned());
    let mut said = String::new();
    for (key, setting) in needs.settings() {
        if key != said {
            lines.push(format!("# {key}"));
            said = key;
        }
        lines.push(setting);
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DirectoryTarget, ScratchTarget, built_in};
    use crate::workloads::Workloads;

    fn with(change: impl FnOnce(&mut Config)) -> Config {
        let mut config = built_in(&Workloads, 2).unwrap().config;
        change(&mut config);
        config
    }

    #[test]
    fn the_built_in_configuration_needs_none() {
        let config = with(|_| {});
        assert!(Needs::of(Which::Worker, &config).is_none() && Needs::of(Which::Daemon, &config).is_none());
    }

    #[test]
    fn a_disk_of_its_own_is_open_to_the_worker_and_a_protected_place_is_not() {
        let config = with(|config| {
            let store = config.store.path.clone();
            let place =
                |path: &str| ScratchTarget { directory: path.into(), ..ScratchTarget::beside(&store) };
            config.targets.insert("ssd".to_owned(), Target::Scratch(place("/ssd/benchd")));
            config.targets.insert("odd".to_owned(), Target::Scratch(place("/usr/local/benchd")));
            let files = DirectoryTarget { path: "/etc/files".into(), ..DirectoryTarget::beside(&store) };
            config.targets.insert("etc".to_owned(), Target::Directory(files));
        });
        let worker = drop_in(Which::Worker, &Needs::of(Which::Worker, &config), None);
        assert!(worker.contains("[Service]\n# target.etc.path\nReadWritePaths=/etc/files\n# target.odd.directory\nReadWritePaths=/usr/local/benchd\n"), "{worker}");
        assert!(
            worker.starts_with(
                "# sudo mkdir -p /etc/systemd/system/benchd-worker@.service.d && benchd unit worker |"
            ),
            "{worker}"
        );
        assert!(!worker.contains("/ssd") && Needs::of(Which::Daemon, &config).is_none());
    }

    #[test]
    fn a_store_elsewhere_and_a_port_for_root_are_the_daemons() {
        let config = with(|config| {
            config.store.path = "/data/benchd/benchd.db".into();
            config.server.listen = vec!["127.0.0.1:80".parse().unwrap()];
        });
        let daemon = drop_in(Which::Daemon, &Needs::of(Which::Daemon, &config), Some(Which::Worker));
        for line in [
            "# store.path\nReadWritePaths=/data/benchd\n",
            "\nAmbientCapabilities=CAP_NET_BIND_SERVICE\nCapabilityBoundingSet=CAP_NET_BIND_SERVICE\nPrivateUsers=no\n",
            "# benchd-worker@.service needs one too",
            "sudo systemctl restart benchd\n",
            "sudo install -d -o benchd -g benchd -m 750 /data/benchd\n",
        ] {
            assert!(daemon.contains(line), "{line} in {daemon}");
        }
    }
}
