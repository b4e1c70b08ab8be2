//! What an account may do beyond what a benchmark needs.

use super::client::Client;
use super::error::SqlError;

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

/// The privileges on all schemas that the connected account has and should not have.
///
/// # Errors
/// When the server does not answer.
pub fn excess_privileges(client: &mut Client) -> Result<Vec<String>, SqlError> {
    let rows = client.rows("SHOW GRANTS")?;
    let grants = rows.iter().filter_map(|row| row.first()?.as_deref());
    let mut found: Vec<String> = grants.flat_map(excess_of).map(str::to_owned).collect();
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The dangerous privileges of one `GRANT … ON *.* TO …`.
fn excess_of(grant: &str) -> Vec<&'static str> {
    let granted = grant.strip_prefix("GRANT ").and_then(|rest| rest.split_once(" ON *.* TO "));
    let Some((privileges, _)) = granted else { return Vec::new() };
    let granted: Vec<&str> = privileges.split(',').map(str::trim).collect();
    FAR_TOO_MUCH.iter().copied().filter(|privilege| granted.contains(privilege)).collect()
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
}
