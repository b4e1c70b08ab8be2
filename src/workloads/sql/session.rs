//! One connection of a SQL workload: it prepares what it sends ahead or when it is first sent, and can be had anew.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::statements::{Book, Request};
use crate::driver::{Stop, Tally};
use crate::target::{Access, Answer, Bind, ErrorClass, LoadConnection, LoadStatement, SqlError};
use crate::units::Span;

/// "This command is not supported in the prepared statement protocol", as BEGIN on MySQL, and "Dynamic parameters can
/// only be used in DML statements", as HANDLER there. sysbench 1.0.20 sends such statements as text too.
const NOT_PREPARABLE: [u16; 2] = [1295, 6413];
/// "Can't create more than max_prepared_stmt_count statements".
const TOO_MANY_PREPARED: u16 = 1461;
/// Statements that all clients of a case together prepare ahead at most: half of what a server allows by default for
/// all its connections (max_prepared_stmt_count, 16,382), so that none is taken from others that a client may never send.
const MOST_AHEAD: usize = 8192;
/// The longest a lost connection is tried to be had again.
const REGAIN_LIMIT: Duration = Duration::from_secs(3);
/// The longest one of these tries.
const REGAIN_CONNECT: Span = Span::from_secs(2);
/// The wait after the first of these tries; each later one is twice as long.
const REGAIN_WAIT: Duration = Duration::from_millis(50);

/// How often a wait looks whether a stop was requested.
const LOOK: Duration = Duration::from_millis(20);

/// How statements travel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Protocol {
    /// Prepared once a connection, values in binary.
    #[default]
    Prepared,
    /// Values written into the text.
    Text,
}

/// A connection and the statements prepared on it.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    access: Box<Access>,
    /// What it may be asked to send.
    book: &'a Book,
    /// What is sent first on every connection.
    opening: Option<&'a str>,
    /// Absent only while the session ends.
    connection: Option<LoadConnection>,
    protocol: Protocol,
    /// How each request is sent on this connection, in the place of its number.
    ways: Vec<Way>,
    /// The text being written, kept for its memory.
    text: String,
}

/// How a request is sent.
#[derive(Debug)]
enum Way {
    /// It was not sent yet.
    Unknown,
    /// Prepared on this connection.
    Prepared(LoadStatement),
    /// As text: by the protocol that was chosen, or because the server cannot prepare it.
    Text,
}

impl<'a> Session<'a> {
    /// Connects; what `opening` says is sent first on every connection.
    pub(crate) fn connect(
        access: &Access,
        protocol: Protocol,
        book: &'a Book,
        opening: Option<&'a str>,
    ) -> Result<Session<'a>, SqlError> {
        Ok(Session {
            access: Box::new(access.clone()),
            book,
            opening,
            connection: Some(open(access, opening)?),
            protocol,
            ways: Vec::new(),
            text: String::new(),
        })
    }

    /// Prepares every statement ahead where so many clients together may, so that no operation has that in its time.
    /// What cannot be prepared is told when it is sent.
    pub(crate) fn prepare_ahead(&mut self, clients: u32) {
        if are_few(self.book.len(), clients) {
            let _ = self.book.requests().try_for_each(|request| self.find_way(request));
        }
    }

    /// Sends a statement and reads its whole answer. The memory that it will be counted in is fetched meanwhile.
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        request: Request,
        values: &[Bind<'_>],
        tally: &Tally,
    ) -> Result<Answer, SqlError> {
        let connection = connection(&mut self.connection)?;
        if let Some(Way::Prepared(statement)) = self.ways.get_mut(request.number()) {
            return connection.execute_then(statement, values, || tally.fetch());
        }
        self.send_otherwise(request, values)
    }

    /// Sends a statement that is not prepared: as text, or for the first time.
    #[inline(never)]
    fn send_otherwise(&mut self, request: Request, values: &[Bind<'_>]) -> Result<Answer, SqlError> {
        let number = request.number();
        if !matches!(self.ways.get(number), Some(Way::Prepared(_) | Way::Text)) {
            self.find_way(request)?;
        }
        let connection = connection(&mut self.connection)?;
        match (self.ways.get_mut(number), self.book.find(request)) {
            (Some(Way::Prepared(statement)), _) => connection.execute(statement, values),
            (Some(Way::Text), Some(statement)) => {
                statement.write(values, &mut self.text);
                connection.query(&self.text)
            }
            _ => Err(SqlError::no_connection()),
        }
    }

    #[cold]
    fn find_way(&mut self, request: Request) -> Result<(), SqlError> {
        let Some(statement) = self.book.find(request) else { return Err(SqlError::no_connection()) };
        let way = match self.protocol {
            Protocol::Text => Way::Text,
            Protocol::Prepared if statement.is_plain() => Way::Text,
            Protocol::Prepared => match connection(&mut self.connection)?.prepare(statement.text()) {
                Ok(statement) => Way::Prepared(statement),
                Err(error) if error.code.is_some_and(|code| NOT_PREPARABLE.contains(&code)) => Way::Text,
                Err(error) => return Err(error),
            },
        };
        let number = request.number();
        if self.ways.len() <= number {
            self.ways.resize_with(number + 1, || Way::Unknown);
        }
        self.ways[number] = way;
        Ok(())
    }

    /// Sends a text and reads its whole answer.
    pub(crate) fn query(&mut self, sql: &str) -> Result<Answer, SqlError> {
        connection(&mut self.connection)?.query(sql)
    }

    /// Ends the connection and opens another one.
    pub(crate) fn renew(&mut self, stop: &Stop) -> Result<(), SqlError> {
        if let Some(connection) = self.connection.take() {
            connection.close();
        }
        self.regain(stop)
    }

    /// What makes every further operation fail too, with what to do about it.
    pub(crate) fn hopeless(&self, error: &SqlError) -> Option<String> {
        if error.code == Some(TOO_MANY_PREPARED) {
            let most = self.book.len();
            let advice = format!(
                "each client prepares up to {most} statements, those on a table for each table: raise \
                 max_prepared_stmt_count on the server, use fewer tables or threads, or protocol = \"text\""
            );
            return Some(format!("the server prepares no more statements ({error}); {advice}"));
        }
        let denied = error.class == ErrorClass::Denied;
        denied.then(|| format!("the server refuses the load's statements ({error})"))
    }

    /// Opens a connection in place of the one that was lost, with waits that double, for no more than 3 s. What
    /// was prepared is prepared again when it is next sent.
    pub(crate) fn regain(&mut self, stop: &Stop) -> Result<(), SqlError> {
        let begun = Instant::now();
        let connect_timeout = shorter(self.access.connect_timeout, REGAIN_CONNECT);
        let access = Access { connect_timeout, ..(*self.access).clone() };
        let mut wait = REGAIN_WAIT;
        loop {
            match open(&access, self.opening) {
                Ok(connection) => {
                    self.connection = Some(connection);
                    self.ways.clear();
                    return Ok(());
                }
                Err(error) if error.class == ErrorClass::Denied => return Err(error),
                Err(error) if begun.elapsed() + wait > REGAIN_LIMIT || pause(stop, wait) => {
                    return Err(error);
                }
                Err(_) => wait *= 2,
            }
        }
    }
}

impl Drop for Session<'_> {
    /// Says goodbye: a server logs a connection that ends without.
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.close();
        }
    }
}

/// Whether so many clients prepare so many statements each ahead.
fn are_few(statements: usize, clients: u32) -> bool {
    statements.saturating_mul(clients as usize) <= MOST_AHEAD
}

fn connection(connection: &mut Option<LoadConnection>) -> Result<&mut LoadConnection, SqlError> {
    connection.as_mut().ok_or_else(SqlError::no_connection)
}

fn open(access: &Access, opening: Option<&str>) -> Result<LoadConnection, SqlError> {
    let mut connection = LoadConnection::connect(access)?;
    if let Some(sql) = opening {
        connection.query(sql)?;
    }
    Ok(connection)
}

/// Waits, for less when a stop is requested; true when it was.
pub(crate) fn pause(stop: &Stop, time: Duration) -> bool {
    let end = Instant::now() + time;
    while !stop.requested() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(left.min(LOOK));
    }
    true
}

/// The shorter of two limits; zero is no limit.
fn shorter(limit: Span, most: Span) -> Span {
    if limit.is_zero() { most } else { limit.min(most) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_prepared_ahead_than_half_of_what_a_server_allows() {
        for (statements, clients, few) in
            [(11, 256, true), (20, 409, true), (20, 410, false), (9002, 1, false)]
        {
            assert_eq!(are_few(statements, clients), few, "{statements} by {clients}");
        }
    }
}
