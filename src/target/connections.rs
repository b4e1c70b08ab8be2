//! The connections of a server: how many there may be, and which of them are benchd's own.

use uuid::Uuid;

use super::client::Client;
use super::error::SqlError;

/// "Unknown thread": it ended by itself.
const NO_SUCH_THREAD: u16 = 1094;

/// How many connections a server takes and has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// `max_connections`.
    pub most: u64,
    /// Those that are open.
    pub open: u64,
}

impl Connections {
    /// Asks a server.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn of(client: &mut Client) -> Result<Connections, SqlError> {
        let most = number(client, "SHOW GLOBAL VARIABLES LIKE 'max_connections'")?;
        let open = number(client, "SHOW GLOBAL STATUS LIKE 'Threads_connected'")?;
        Ok(Connections { most, open })
    }
}

/// The number in the second column of the only row.
fn number(client: &mut Client, sql: &str) -> Result<u64, SqlError> {
    let rows = client.rows(sql)?;
    let value = rows.first().and_then(|row| row.get(1)?.as_deref()?.parse().ok());
    Ok(value.unwrap_or(0))
}

/// Which connections of a daemon's own are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfRun<'a> {
    /// Those of this run.
    This(&'a str),
    /// Those of every other run.
    Others(&'a str),
}

/// What came of ending connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Killed {
    /// So many were found and ended.
    Some(u64),
    /// The server does not tell what its connections are for: `performance_schema` is off. So many others are open
    /// by the same account in the same schema, and were left alone.
    Unseen(u64),
}

/// Ends connections that say they are this daemon's (`benchd_daemon` and `benchd_run` among the attributes they
/// sent), but for the asking one. Only those of the same account can be seen, and may be ended by it.
///
/// # Errors
/// When the server does not answer.
pub fn kill_own(client: &mut Client, daemon: Uuid, of: OfRun<'_>) -> Result<Killed, SqlError> {
    let is_on = client.rows("SHOW GLOBAL VARIABLES LIKE 'performance_schema'")?;
    if is_on.first().and_then(|row| row.get(1)?.as_deref()) != Some("ON") {
        return unseen(client).map(Killed::Unseen);
    }
    let (runs, run) = match of {
        OfRun::This(run) => ("=", run),
        OfRun::Others(run) => ("<>", run),
    };
    let sql = format!(
        "SELECT d.processlist_id FROM performance_schema.session_account_connect_attrs d \
         JOIN performance_schema.session_account_connect_attrs r ON r.processlist_id = d.processlist_id \
         WHERE d.attr_name = 'benchd_daemon' AND d.attr_value = '{daemon}' \
         AND r.attr_name = 'benchd_run' AND r.attr_value {runs} '{run}' AND d.processlist_id <> CONNECTION_ID()"
    );
    let mut killed = 0;
    for id in client.rows(&sql)?.into_iter().flatten().flatten() {
        match client.query(&format!("KILL {id}")) {
            Ok(_) => killed += 1,
            Err(error) if error.code == Some(NO_SUCH_THREAD) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Killed::Some(killed))
}

/// Other connections of this account in benchd's schema.
fn unseen(client: &mut Client) -> Result<u64, SqlError> {
    let rows = client.rows(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE user = SUBSTRING_INDEX(CURRENT_USER(), '@', 1) \
         AND db LIKE 'benchd\\_scratch\\_%' AND id <> CONNECTION_ID()",
    )?;
    Ok(rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok()).unwrap_or(0))
}
