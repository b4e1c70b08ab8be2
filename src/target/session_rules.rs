//! What must hold for everything a connection of benchd does.

use std::time::Duration;

use super::access::Access;
use super::client::Answer;
use super::error::{ErrorClass, SqlError};
use crate::units::Span;

/// "Unknown system variable".
const UNKNOWN_VARIABLE: u16 = 1193;

/// How much longer than the client the server lets a statement run: the client's limit is the one that is met.
const SERVER_LIMIT_AFTER: Duration = Duration::from_secs(1);

/// How a connection executes a statement.
type Query<'a> = dyn FnMut(&str) -> Result<Answer, SqlError> + 'a;

/// Sets the rules on a fresh connection: nothing in the binary log if that was asked for (read back), short waits
/// for locks, and, unless it is not wanted, an end by the server itself to statements whose client died over them.
pub(super) fn apply(access: &Access, query: &mut Query<'_>) -> Result<(), SqlError> {
    if access.suppress_binlog {
        suppress_binlog(access, query)?;
    }
    if !access.lock_wait_timeout.is_zero() {
        limit_lock_waits(access.lock_wait_timeout, query)?;
    }
    if access.limit_on_server && !access.statement_timeout.is_zero() {
        limit_statements(access.statement_timeout.duration() + SERVER_LIMIT_AFTER, query)?;
    }
    Ok(())
}

/// MariaDB limits every statement, in seconds; MySQL those that only read, in milliseconds. A server that knows
/// neither has the client's limit alone.
fn limit_statements(limit: Duration, query: &mut Query<'_>) -> Result<(), SqlError> {
    let rules = [
        format!("SET SESSION max_statement_time = {}", limit.as_secs_f64()),
        format!("SET SESSION max_execution_time = {}", limit.as_millis()),
    ];
    for rule in rules {
        match query(&rule) {
            Err(error) if error.code == Some(UNKNOWN_VARIABLE) => {}
            other => return other.map(drop),
        }
    }
    Ok(())
}

/// Keeps a connection's work out of the binary log, and proves it.
fn suppress_binlog(access: &Access, query: &mut Query<'_>) -> Result<(), SqlError> {
    query("SET SESSION sql_log_bin = 0").map_err(|error| {
        let found = format!("sql_log_bin cannot be switched off ({error})");
        SqlError { code: error.code, ..binlog_refused(access, error.class, &found) }
    })?;
    // A row says yes.
    match query("SELECT 1 FROM DUAL WHERE @@SESSION.sql_log_bin = 0")? {
        Answer::Rows(1) => Ok(()),
        _ => {
            let found = "sql_log_bin was set to 0 but reads otherwise";
            Err(binlog_refused(access, ErrorClass::Other, found))
        }
    }
}

fn binlog_refused(access: &Access, class: ErrorClass, found: &str) -> SqlError {
    let advice = "grant SESSION_VARIABLES_ADMIN (MySQL) or BINLOG ADMIN (MariaDB), or set binlog = \"log\"";
    SqlError::not_connected(access, class, found, advice)
}

fn limit_lock_waits(limit: Span, query: &mut Query<'_>) -> Result<(), SqlError> {
    let seconds = whole_seconds(limit);
    query(&format!("SET SESSION lock_wait_timeout = {seconds}"))?;
    match query(&format!("SET SESSION innodb_lock_wait_timeout = {seconds}")) {
        // A server can run without InnoDB.
        Err(error) if error.code == Some(UNKNOWN_VARIABLE) => Ok(()),
        other => other.map(drop),
    }
}

/// Whole seconds, rounded up: the servers' lock timeouts know nothing finer, and 0 would mean "do not wait".
fn whole_seconds(span: Span) -> u64 {
    let span: Duration = span.duration();
    (span.as_secs() + u64::from(span.subsec_nanos() > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_timeouts_are_rounded_up() {
        for (given, seconds) in [(1, 1), (999, 1), (1000, 1), (1001, 2)] {
            assert_eq!(whole_seconds(Span::from_millis(given)), seconds);
        }
    }

    #[test]
    fn a_binary_log_that_stays_on_is_an_error() {
        let access = Access { suppress_binlog: true, ..Access::default() };
        let error = apply(&access, &mut |sql| match sql {
            "SET SESSION sql_log_bin = 0" => Ok(Answer::Nothing),
            _ => Ok(Answer::Rows(0)),
        })
        .unwrap_err();
        assert!(error.message.contains("sql_log_bin was set to 0 but reads otherwise"), "{error}");
    }
}
