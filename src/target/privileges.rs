//! What an account needs for what benchd does, and what it has beyond that.

use std::collections::BTreeSet;
use std::fmt;

use super::client::Client;
use super::error::SqlError;
use super::server_version::ServerVersion;

/// Privileges on everything that let an account change or destroy what is not benchd's (safety: least privilege).
const FAR_TOO_MUCH: &[&str] = &[
    "ALL PRIVILEGES",
    "SUPER",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "ALTER",
    "FILE",
    "SHUTDOWN",
    "CREATE USER",
];

/// Everything, as servers write it.
const GLOBAL: &str = "*.*";
/// What a load does in benchd's own schema: it makes it and its tables, fills and indexes them, and drops them.
const LOAD: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "INDEX"];

/// A privilege on something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Privilege {
    /// What it is on, without quotes: `*.*`, or a schema's pattern with `.*`.
    pub on: String,
    /// Its name: `PROCESS`.
    pub name: String,
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ON {}", self.name, quoted(&self.on))
    }
}

/// What benchd is to do on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purpose {
    /// Load it: the name of benchd's schema there, or a pattern of such names.
    pub load: Option<String>,
    /// Keep that load out of the binary log.
    pub suppress_binlog: bool,
    /// It is an SQL node of an NDB Cluster.
    pub ndb: bool,
}

/// Privileges to grant together, and what for.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    /// What they are for; empty where the group before says it.
    pub why: &'static str,
    /// What they are on.
    pub on: String,
    /// Their names.
    pub names: Vec<&'static str>,
}

impl Group {
    fn new(why: &'static str, on: &str, names: &[&'static str]) -> Group {
        Group { why, on: on.to_owned(), names: names.to_vec() }
    }

    /// `PROCESS, REPLICATION CLIENT ON *.*`.
    pub fn granted(&self) -> String {
        format!("{} ON {}", self.names.join(", "), quoted(&self.on))
    }
}

/// What an account needs on a server, the least that does.
pub fn needed(version: &ServerVersion, purpose: &Purpose) -> Vec<Group> {
    let observe: &[&str] = match version.is_mariadb {
        true if version.is_at_least([10, 5, 9]) => &["PROCESS", "BINLOG MONITOR", "REPLICA MONITOR"],
        _ => &["PROCESS", "REPLICATION CLIENT"],
    };
    let mut groups = vec![
        Group::new("to observe: status, threads and replicas, replication position", GLOBAL, observe),
        Group::new("", "performance_schema.*", &["SELECT"]),
    ];
    if purpose.ndb {
        groups.push(Group::new("", "ndbinfo.*", &["SELECT"]));
    }
    let Some(schema) = &purpose.load else { return groups };
    let mut why = "to load: one schema of its own, kept out of the binary log. Leave these out and benchd only observes";
    match suppressing(version).filter(|_| purpose.suppress_binlog) {
        Some(privilege) => {
            groups.push(Group::new(why, GLOBAL, &[privilege]));
            why = "";
        }
        None => why = "to load: one schema of its own. Leave this out and benchd only observes",
    }
    groups.push(Group::new(why, &format!("{}.*", schema.replace('_', "\\_")), LOAD));
    groups
}

/// The privilege that switches off the binary log for a session; older servers let SUPER alone do it.
pub fn suppressing(version: &ServerVersion) -> Option<&'static str> {
    let (since, name) = match version.is_mariadb {
        true => ([10, 5, 2], "BINLOG ADMIN"),
        false => ([8, 0, 14], "SESSION_VARIABLES_ADMIN"),
    };
    version.is_at_least(since).then_some(name)
}

/// What of the needed an account lacks, and what it has that is not needed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Needed and not there.
    pub lacking: Vec<Privilege>,
    /// There and not needed.
    pub excessive: Vec<Privilege>,
}

/// Compares what the connected account may do with what it needs.
///
/// # Errors
/// When the server does not answer.
pub fn compare_privileges(client: &mut Client, needed: &[Group]) -> Result<Difference, SqlError> {
    let rows = client.rows("SHOW GRANTS")?;
    let grants: Vec<&str> = rows.iter().filter_map(|row| row.first()?.as_deref()).collect();
    Ok(difference(&grants, needed))
}

fn difference(grants: &[&str], needed: &[Group]) -> Difference {
    let has: BTreeSet<Privilege> = grants.iter().flat_map(|grant| privileges_of(grant)).collect();
    let needs: BTreeSet<Privilege> =
        needed.iter().flat_map(|group| group.names.iter().map(|name| privilege(&group.on, name))).collect();
    let covers = |has: &Privilege, need: &Privilege| {
        let name = has.name == need.name || has.name == "ALL PRIVILEGES";
        name && (has.on == GLOBAL || has.on == need.on || pattern_covers(&has.on, &need.on))
    };
    let lacking = needs.iter().filter(|need| !has.iter().any(|has| covers(has, need))).cloned().collect();
    let of_need = |has: &Privilege| needs.contains(has) || needs.iter().any(|need| is_wider_name(has, need));
    let excessive = has.iter().filter(|has| !of_need(has)).cloned().collect();
    Difference { lacking, excessive }
}

/// Whether a privilege is a needed one on a wider pattern of benchd's own names: another schema of it is no one's else.
fn is_wider_name(has: &Privilege, need: &Privilege) -> bool {
    has.name == need.name && pattern_covers(&has.on, &need.on)
}

/// Whether a pattern that ends in `%` covers a schema.
fn pattern_covers(pattern: &str, schema: &str) -> bool {
    let before = pattern.strip_suffix("%.*").filter(|before| before.starts_with("benchd\\_scratch\\_"));
    before.is_some_and(|before| schema.starts_with(before))
}

/// A privilege by one name, where servers have two for it.
fn privilege(on: &str, name: &str) -> Privilege {
    let name = match name {
        "SLAVE MONITOR" => "REPLICA MONITOR",
        name => name,
    };
    Privilege { on: on.to_owned(), name: name.to_owned() }
}

/// The privileges that one line of `SHOW GRANTS` gives.
fn privileges_of(grant: &str) -> Vec<Privilege> {
    let Some(rest) = grant.strip_prefix("GRANT ") else { return Vec::new() };
    let Some((names, rest)) = rest.split_once(" ON ") else {
        // A role, whose own grants are not shown.
        let role = rest.split(" TO ").next().unwrap_or(rest);
        return vec![Privilege { on: GLOBAL.to_owned(), name: format!("role {role}") }];
    };
    let Some((on, account)) = rest.split_once(" TO ") else { return Vec::new() };
    let on = on.replace('`', "");
    let mut found: Vec<Privilege> = listed(names)
        .into_iter()
        .filter(|name| !matches!(*name, "USAGE" | "PROXY"))
        .map(|name| privilege(&on, name))
        .collect();
    if account.contains("WITH GRANT OPTION") && names != "PROXY" {
        found.push(privilege(&on, "GRANT OPTION"));
    }
    found
}

/// The names in a list whose columns in parentheses may have commas too.
fn listed(names: &str) -> Vec<&str> {
    let mut depth = 0;
    let comma = move |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    };
    names.split(comma).map(str::trim).collect()
}

/// `performance_schema.*` as a statement has it.
fn quoted(on: &str) -> String {
    match on.split_once('.') {
        Some((schema, object)) if on != GLOBAL => format!("`{schema}`.{object}"),
        _ => on.to_owned(),
    }
}

/// The privileges on all schemas that the connected account has and should not have.
///
/// # Errors
/// When the server does not answer.
pub fn excess_privileges(client: &mut Client) -> Result<Vec<String>, SqlError> {
    let rows = client.rows("SHOW GRANTS")?;
    let grants = rows.iter().filter_map(|row| row.first()?.as_deref());
    let mut found: Vec<String> = grants.flat_map(excess_of).collect();
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The dangerous privileges of one `GRANT … ON *.* TO …`.
fn excess_of(grant: &str) -> Vec<String> {
    let granted = privileges_of(grant).into_iter().filter(|privilege| privilege.on == GLOBAL);
    granted.map(|privilege| privilege.name).filter(|name| FAR_TOO_MUCH.contains(&name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_privileges_on_everything_count() {
        for (grant, expected) in [
            ("GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION", vec!["ALL PRIVILEGES"]),
            ("GRANT SELECT, INSERT, DROP ON *.* TO `x`@`%`", vec!["INSERT", "DROP"]),
            ("GRANT PROCESS, BINLOG MONITOR ON *.* TO `benchd`@`localhost`", vec![]),
            ("GRANT SELECT, INSERT, DROP ON `benchd\\_scratch\\_5f1c09ae`.* TO `benchd`@`localhost`", vec![]),
            ("GRANT CREATE TEMPORARY TABLES ON *.* TO `x`@`%`", vec![]),
            ("GRANT `role` TO `x`@`%`", vec![]),
        ] {
            assert_eq!(excess_of(grant), expected, "{grant}");
        }
    }

    fn version(is_mariadb: bool, number: [u32; 3]) -> ServerVersion {
        ServerVersion { is_mariadb, number }
    }

    fn load() -> Purpose {
        Purpose { load: Some("benchd_scratch_5f1c09ae".to_owned()), suppress_binlog: true, ndb: false }
    }

    fn granted(version: &ServerVersion, purpose: &Purpose) -> Vec<String> {
        needed(version, purpose).iter().map(Group::granted).collect()
    }

    #[test]
    fn each_family_and_age_of_servers_has_its_own_names() {
        let mysql = granted(&version(false, [8, 4, 6]), &load());
        assert_eq!(
            mysql,
            [
                "PROCESS, REPLICATION CLIENT ON *.*",
                "SELECT ON `performance_schema`.*",
                "SESSION_VARIABLES_ADMIN ON *.*",
                "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX ON `benchd\\_scratch\\_5f1c09ae`.*",
            ]
        );
        let mariadb = granted(&version(true, [10, 11, 19]), &load());
        assert_eq!(mariadb[0], "PROCESS, BINLOG MONITOR, REPLICA MONITOR ON *.*");
        assert_eq!(mariadb[2], "BINLOG ADMIN ON *.*");
        assert_eq!(granted(&version(true, [10, 3, 39]), &load())[0], "PROCESS, REPLICATION CLIENT ON *.*");
        assert_eq!(granted(&version(false, [5, 7, 44]), &load()).len(), 3, "SUPER is never granted");
    }

    #[test]
    fn who_only_observes_is_granted_nothing_to_write() {
        let purpose = Purpose { load: None, ..load() };
        assert_eq!(granted(&version(false, [9, 7, 0]), &purpose).len(), 2);
        let ndb = Purpose { ndb: true, ..purpose };
        assert!(granted(&version(false, [9, 7, 0]), &ndb).contains(&"SELECT ON `ndbinfo`.*".to_owned()));
    }

    fn compared(grants: &[&str]) -> (Vec<String>, Vec<String>) {
        let found = difference(grants, &needed(&version(true, [10, 11, 19]), &load()));
        let words = |list: Vec<Privilege>| list.iter().map(ToString::to_string).collect();
        (words(found.lacking), words(found.excessive))
    }

    const ENOUGH: [&str; 3] = [
        "GRANT PROCESS, BINLOG MONITOR, SLAVE MONITOR, BINLOG ADMIN ON *.* TO `benchd`@`localhost` IDENTIFIED VIA unix_socket",
        "GRANT SELECT ON `performance_schema`.* TO `benchd`@`localhost`",
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX ON `benchd\\_scratch\\_5f1c09ae`.* TO `benchd`@`localhost`",
    ];

    #[test]
    fn an_account_with_what_is_printed_lacks_nothing_and_has_nothing_beyond() {
        assert_eq!(compared(&ENOUGH), (vec![], vec![]));
        let wide = ENOUGH[2].replace("5f1c09ae", "%");
        assert_eq!(compared(&[ENOUGH[0], ENOUGH[1], &wide]), (vec![], vec![]));
    }

    #[test]
    fn what_is_lacking_and_what_is_too_much_is_named() {
        let (lacking, excessive) = compared(&[
            ENOUGH[1],
            ENOUGH[2],
            "GRANT PROCESS, CREATE USER ON *.* TO `x`@`%` WITH GRANT OPTION",
        ]);
        assert_eq!(lacking, ["BINLOG ADMIN ON *.*", "BINLOG MONITOR ON *.*", "REPLICA MONITOR ON *.*"]);
        assert_eq!(excessive, ["CREATE USER ON *.*", "GRANT OPTION ON *.*"]);
        let (lacking, excessive) = compared(&["GRANT ALL PRIVILEGES ON *.* TO `x`@`%`"]);
        assert_eq!((lacking.len(), excessive), (0, vec!["ALL PRIVILEGES ON *.*".to_owned()]));
        let (_, excessive) =
            compared(&[ENOUGH[0], ENOUGH[1], ENOUGH[2], "GRANT SELECT (a, b) ON `app`.`t` TO `x`@`%`"]);
        assert_eq!(excessive, ["SELECT (a, b) ON `app`.t"]);
        let (_, excessive) = compared(&[ENOUGH[0], ENOUGH[1], ENOUGH[2], "GRANT `admin`@`%` TO `x`@`%`"]);
        assert_eq!(excessive, ["role `admin`@`%` ON *.*"]);
    }
}
