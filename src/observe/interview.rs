//! The questions to a server, over one connection.
//!
//! Four small statements a sample: the status variables, the process list's sums, the replication's state and, of
//! MySQL, two of InnoDB's counters. Once a minute the variables, and what lies there under benchd's names. None of them
//! locks a table, or reads one but benchd's own marker; what the account may not see is left out, said once, and asked
//! again a minute later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::about::About;
use super::holdings::{Holdings, Owner};
use super::sample::Channel;
use super::status::{NAMES, Status};
use crate::target::{self, Access, Client, ErrorClass, SqlError};
use crate::units::Span;

/// No answer may take longer: a server that needs more for so little is not able to work.
pub(super) const ANSWER_LIMIT: Span = Span::from_secs(2);

/// Nor may a connection.
pub(super) const CONNECT_LIMIT: Span = Span::from_secs(5);

/// How long what the variables say is believed.
const BELIEVED: Duration = Duration::from_secs(60);

/// "You have an error in your SQL syntax": the statement is of another version.
const SYNTAX: u16 = 1064;

/// Put before each statement, so that whoever looks at the server sees whose it is.
const MARK: &str = "/* benchd */ ";

/// A row by the names of its columns.
type Named = BTreeMap<String, Option<String>>;

/// What is asked beside the status variables, and needs a privilege.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Topic {
    /// All of the process list, and InnoDB's counters.
    Processes,
    /// The state of replication.
    Replication,
}

impl Topic {
    /// What is lacking, and what to do.
    fn sentence(self, error: &SqlError) -> String {
        let (lacking, grant) = match self {
            Topic::Processes => ("replicas and, of MySQL, deadlocks and undo history", "PROCESS"),
            Topic::Replication => {
                ("the state of replication", "REPLICATION CLIENT (MySQL) or REPLICA MONITOR (MariaDB)")
            }
        };
        format!("{lacking} cannot be seen ({error}): grant {grant} to the account")
    }
}

/// One connection, and what is known about the server at its end.
pub(super) struct Interview {
    client: Client,
    about: Arc<About>,
    told: Instant,
    denied: BTreeSet<Topic>,
    /// Whether a MariaDB shows all of its threads, once that was asked.
    sees_all: Option<bool>,
    /// What lies there under benchd's names, and when that was asked.
    holdings: Option<Holdings>,
    surveyed: Option<Instant>,
    /// What may not be asked for, in words, until somebody says so.
    pub(super) complaints: BTreeMap<Topic, String>,
}

impl Interview {
    /// Connects, and makes the session one that can neither write nor wait.
    pub(super) fn begin(access: Access) -> Result<Interview, SqlError> {
        let shorter = |limit: Span| if limit.is_zero() { CONNECT_LIMIT } else { limit.min(CONNECT_LIMIT) };
        let access = Access {
            schema: None,
            suppress_binlog: false,
            connect_timeout: shorter(access.connect_timeout),
            statement_timeout: ANSWER_LIMIT,
            ..access
        };
        let mut client = Client::connect(&access)?;
        let about = Arc::new(about(&mut client)?);
        tame(&mut client, &about)?;
        let told = Instant::now();
        Ok(Interview {
            client,
            about,
            told,
            denied: BTreeSet::new(),
            sees_all: None,
            holdings: None,
            surveyed: None,
            complaints: BTreeMap::new(),
        })
    }

    /// Whether anything more can be asked.
    pub(super) fn goes_on(&self) -> bool {
        self.client.is_open()
    }

    /// Takes leave of the server.
    pub(super) fn end(self) {
        self.client.close();
    }

    /// The status variables: the question by which a server is up or not.
    pub(super) fn status(&mut self) -> Result<Status, SqlError> {
        if self.told.elapsed() >= BELIEVED {
            self.about = Arc::new(about(&mut self.client)?);
            self.told = Instant::now();
            self.denied.clear();
            self.sees_all = None;
        }
        let names = NAMES.iter().map(|name| format!("'{name}'")).collect::<Vec<String>>().join(",");
        let rows = self.client.rows(&format!("{MARK}SHOW GLOBAL STATUS WHERE Variable_name IN ({names})"))?;
        let mut status = Status::default();
        for row in &rows {
            if let [Some(name), Some(value)] = row.as_slice() {
                status.set(name, value);
            }
        }
        Ok(status)
    }

    /// Whether the server is one of this host.
    pub(super) fn is_local(&self) -> bool {
        self.client.access().is_local()
    }

    /// What the server is, as it was last told.
    pub(super) fn about(&self) -> Arc<About> {
        Arc::clone(&self.about)
    }

    /// Threads that run for benchd, and replicas that are connected. A login sees its own threads always, those of
    /// others by privilege alone, so without it the second number says nothing.
    pub(super) fn processes(&mut self) -> (Option<u64>, Option<u64>) {
        // MySQL's own list of that name takes a lock that every new connection needs.
        let schema = match self.about.is_mariadb() || !self.about.instrumented {
            true => "information_schema",
            false => "performance_schema",
        };
        let sql = format!(
            "{MARK}SELECT SUM(command <> 'Sleep' AND user = SUBSTRING_INDEX(USER(), '@', 1) \
             AND (id = CONNECTION_ID() OR db LIKE 'benchd\\_scratch\\_%')), SUM(command LIKE 'Binlog Dump%') \
             FROM {schema}.processlist"
        );
        let Ok(rows) = self.client.rows(&sql) else { return (None, None) };
        let number = |column: usize| rows.first()?.get(column)?.as_deref()?.parse().ok();
        (number(0), number(1))
    }

    /// Adds the counters that MySQL keeps apart. True when the privilege for them is there, by which all threads
    /// are seen too; MariaDB is asked for that alone, so once is enough.
    pub(super) fn counters(&mut self, status: &mut Status) -> bool {
        if let Some(sees_all) = self.sees_all {
            return sees_all;
        }
        let sql = "SELECT name, count FROM information_schema.innodb_metrics \
                   WHERE name IN ('lock_deadlocks', 'trx_rseg_history_len')";
        let rows = self.ask(Topic::Processes, &[sql]);
        if self.about.is_mariadb() {
            self.sees_all = Some(rows.is_some());
        } else {
            let number = |name: &str| {
                let row = rows.as_ref()?.iter().find(|row| value(row, "name") == Some(name))?;
                value(row, "count")?.parse().ok()
            };
            status.deadlocks = number("lock_deadlocks");
            status.history_list_length = number("trx_rseg_history_len");
        }
        rows.is_some()
    }

    /// From where the server replicates.
    pub(super) fn channels(&mut self) -> Option<Vec<Channel>> {
        let statements: &[&str] = match self.about.is_mariadb() {
            true => &["SHOW ALL SLAVES STATUS"],
            false => &["SHOW REPLICA STATUS", "SHOW SLAVE STATUS"],
        };
        let rows = self.ask(Topic::Replication, statements)?;
        Some(rows.iter().map(channel).collect())
    }

    /// What lies there under benchd's names: asked for once a minute, and not while a run may be changing it.
    pub(super) fn holdings(&mut self, target: &str, owner: &Owner, in_use: bool) -> Option<Holdings> {
        let due = self.surveyed.is_none_or(|at| at.elapsed() >= BELIEVED);
        if due && !in_use {
            self.surveyed = Some(Instant::now());
            self.holdings = Holdings::of(&mut self.client, target, owner).ok();
        }
        self.holdings
    }

    /// Asks by the first statement that the server knows; `None` when there is no answer.
    fn ask(&mut self, topic: Topic, statements: &[&str]) -> Option<Vec<Named>> {
        if self.denied.contains(&topic) {
            return None;
        }
        for sql in statements {
            match self.client.named_rows(&format!("{MARK}{sql}")) {
                Ok(rows) => return Some(rows),
                Err(error) if error.code == Some(SYNTAX) => {}
                Err(error) => {
                    if error.class == ErrorClass::Denied {
                        self.denied.insert(topic);
                        self.complaints.insert(topic, topic.sentence(&error));
                    }
                    return None;
                }
            }
        }
        None
    }
}

/// Asks what the server is.
fn about(client: &mut Client) -> Result<About, SqlError> {
    let mut about = About::of(&target::facts(client)?);
    let pid_file = client.rows(&format!("{MARK}SELECT @@pid_file"))?;
    about.pid_file = pid_file.into_iter().flatten().flatten().next().unwrap_or_default().into();
    Ok(about)
}

/// Makes a session that reads, and whose statements end by themselves should nobody wait for them any more.
fn tame(client: &mut Client, about: &About) -> Result<(), SqlError> {
    let limit = ANSWER_LIMIT.duration();
    client.query("SET SESSION autocommit = 1")?;
    client.query("SET SESSION TRANSACTION READ ONLY")?;
    if about.is_mariadb() {
        client.query(&format!("SET SESSION max_statement_time = {}", limit.as_secs()))?;
        // Some builds have no Galera, and old ones no such choice of a session.
        let _ = client.query("SET SESSION wsrep_sync_wait = 0");
        let _ = client.query("SET SESSION slow_query_log = 0");
    } else {
        client.query(&format!("SET SESSION max_execution_time = {}", limit.as_millis()))?;
        // Sizes as they are and not as they were a day ago; old versions have no such choice.
        let _ = client.query("SET SESSION information_schema_stats_expiry = 0");
    }
    Ok(())
}

fn value<'a>(row: &'a Named, name: &str) -> Option<&'a str> {
    row.get(name)?.as_deref()
}

/// One row of the state of replication, whose columns MySQL has renamed.
fn channel(row: &Named) -> Channel {
    let either = |new: &str, old: &str| value(row, new).or_else(|| value(row, old));
    let behind = either("seconds_behind_source", "seconds_behind_master");
    let delay = value(row, "sql_delay").and_then(|delay| delay.parse::<u64>().ok()).unwrap_or(0);
    let runs = |new: &str, old: &str| either(new, old) == Some("Yes");
    Channel {
        lag: behind.and_then(|behind| behind.parse::<u64>().ok()).map(|behind| behind.saturating_sub(delay)),
        runs: runs("replica_io_running", "slave_io_running")
            && runs("replica_sql_running", "slave_sql_running"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(columns: &[(&str, Option<&str>)]) -> Named {
        columns.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))).collect()
    }

    #[test]
    fn a_delay_that_was_asked_for_is_no_lag() {
        let mysql = |behind, delay| {
            channel(&row(&[
                ("replica_io_running", Some("Yes")),
                ("replica_sql_running", Some("Yes")),
                ("seconds_behind_source", behind),
                ("sql_delay", Some(delay)),
            ]))
        };
        assert_eq!(mysql(Some("70"), "60"), Channel { lag: Some(10), runs: true });
        assert_eq!(mysql(Some("50"), "60").lag, Some(0));
        assert_eq!(mysql(None, "0").lag, None);
    }

    #[test]
    fn both_threads_must_run_under_either_name() {
        let old = |io, sql| {
            let columns = [
                ("slave_io_running", Some(io)),
                ("slave_sql_running", Some(sql)),
                ("seconds_behind_master", Some("3")),
            ];
            channel(&row(&columns))
        };
        assert_eq!(old("Yes", "Yes"), Channel { lag: Some(3), runs: true });
        for (io, sql) in [("Connecting", "Yes"), ("Preparing", "Yes"), ("Yes", "No"), ("No", "No")] {
            assert!(!old(io, sql).runs, "{io} {sql}");
        }
    }
}
