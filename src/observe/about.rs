//! What a server is, as far as its variables tell.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::config::Role;
use crate::text::digest;

/// What a server is and how it is set up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// `mysql` or `mariadb`.
    pub flavour: String,
    /// Its version.
    pub version: String,
    /// Eight digits that change when any of the variables does that are recorded with a result.
    pub config: String,
    /// The limit of connections.
    pub max_connections: Option<u64>,
    /// Bytes of redo that there is room for.
    pub redo_capacity: Option<u64>,
    /// The kind of cluster it belongs to, when its variables name one.
    pub cluster: Option<Role>,
    /// The file into which it has written the id of its process.
    pub pid_file: PathBuf,
    /// Whether it counts what its threads do (`performance_schema`).
    pub instrumented: bool,
}

impl About {
    /// Out of the facts of a target, which are the recorded variables.
    pub(super) fn of(facts: &BTreeMap<String, String>) -> About {
        let text = |name: &str| facts.get(name).map(String::as_str).unwrap_or_default();
        let number = |name: &str| facts.get(name).and_then(|value| value.parse().ok());
        About {
            flavour: text("flavour").to_lowercase(),
            version: text("version").to_owned(),
            config: config(facts),
            max_connections: number("max_connections"),
            redo_capacity: number("innodb_redo_log_capacity").or_else(|| {
                number("innodb_log_file_size")?.checked_mul(number("innodb_log_files_in_group").unwrap_or(1))
            }),
            cluster: match (text("wsrep_on"), text("group_replication_group_name")) {
                ("ON", _) => Some(Role::Galera),
                (_, "") => None,
                _ => Some(Role::Group),
            },
            pid_file: PathBuf::new(),
            instrumented: text("performance_schema") == "ON",
        }
    }

    /// Whether it is a MariaDB.
    pub(super) fn is_mariadb(&self) -> bool {
        self.flavour == "mariadb"
    }
}

fn config(facts: &BTreeMap<String, String>) -> String {
    let lines: Vec<String> = facts.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    digest(&lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(facts: &[(&str, &str)]) -> About {
        About::of(&facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn redo_has_the_room_of_one_variable_or_of_the_files() {
        assert_eq!(of(&[("innodb_redo_log_capacity", "100")]).redo_capacity, Some(100));
        assert_eq!(of(&[("innodb_log_file_size", "96")]).redo_capacity, Some(96));
        let two = [("innodb_log_file_size", "48"), ("innodb_log_files_in_group", "2")];
        assert_eq!(of(&two).redo_capacity, Some(96));
        assert_eq!(of(&[]).redo_capacity, None);
    }

    #[test]
    fn a_cluster_shows_in_the_variables() {
        assert_eq!(of(&[("wsrep_on", "ON")]).cluster, Some(Role::Galera));
        assert_eq!(of(&[("wsrep_on", "OFF")]).cluster, None);
        assert_eq!(of(&[("group_replication_group_name", "aaaa")]).cluster, Some(Role::Group));
        assert_eq!(of(&[("group_replication_group_name", "")]).cluster, None);
    }

    #[test]
    fn the_digits_change_with_any_variable() {
        let config =
            |flush: &str| of(&[("sync_binlog", "1"), ("innodb_flush_log_at_trx_commit", flush)]).config;
        assert_eq!(config("1"), config("1"));
        assert_ne!(config("1"), config("2"));
        assert_eq!(config("1").len(), 8);
    }
}
