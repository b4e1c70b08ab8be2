//! What a server is by its greeting, which it sends before anyone logs in.

use std::fmt;

use super::access::Access;
use super::error::{ErrorClass, SqlError};
use super::wire;

/// Family and version of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerVersion {
    /// MariaDB; otherwise MySQL or what greets as it.
    pub is_mariadb: bool,
    /// Its number: 10.11.19.
    pub number: [u32; 3],
}

impl ServerVersion {
    /// Asks the server that the access leads to. No account is needed.
    ///
    /// # Errors
    /// When no server greets there.
    pub fn ask(access: &Access) -> Result<ServerVersion, SqlError> {
        let text = wire::server_version(access)?;
        ServerVersion::read(&text).ok_or_else(|| {
            let found = format!("the server greets as \"{text}\", which is no version");
            let advice = "see that a MySQL or MariaDB server answers there";
            SqlError::not_connected(access, ErrorClass::Other, &found, advice)
        })
    }

    /// Reads a version as servers write it: `9.7.4-2`, `10.11.19-MariaDB-0+deb12u1`, and `5.5.5-` before it in the
    /// greeting of a MariaDB older than 11, because old replicas take the first digit alone.
    fn read(text: &str) -> Option<ServerVersion> {
        let is_mariadb = text.to_ascii_lowercase().contains("mariadb");
        let text = if is_mariadb { text.trim_start_matches("5.5.5-") } else { text };
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let mut parts = text[..end].split('.').map(str::parse);
        let mut next = || parts.next().and_then(Result::ok);
        Some(ServerVersion { is_mariadb, number: [next()?, next()?, next()?] })
    }

    /// Whether it is at least of a version.
    pub(super) fn is_at_least(&self, number: [u32; 3]) -> bool {
        self.number >= number
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.number;
        let family = if self.is_mariadb { "MariaDB" } else { "MySQL" };
        write!(f, "{family} {major}.{minor}.{patch}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_servers_write_them() {
        for (text, shown) in [
            ("9.7.4-2", "MySQL 9.7.4"),
            ("8.0.36", "MySQL 8.0.36"),
            ("5.5.5-10.11.19-MariaDB-0+deb12u1", "MariaDB 10.11.19"),
            ("11.4.2-MariaDB", "MariaDB 11.4.2"),
        ] {
            assert_eq!(ServerVersion::read(text).unwrap().to_string(), shown, "{text}");
        }
        assert_eq!(ServerVersion::read("ready"), None);
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let version = ServerVersion::read("10.11.2-MariaDB").unwrap();
        assert!(version.is_at_least([10, 5, 2]) && !version.is_at_least([10, 11, 3]));
    }
}
