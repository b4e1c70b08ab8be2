//! The connection of the measured loop: one thread's own blocking socket, its statements as packets that are
//! written once and sent with new values, and answers skimmed instead of decoded.
//!
//! [`Client`](super::Client) does everything else. Why there are two: `docs/decisions/0003-load-connection.md`.

mod answer;
mod channel;
mod crowd;
mod login;
mod statement;
mod stream;
mod watch;

use std::io;
use std::time::Instant;

use mysql_async::{DriverError, Error, IoError};

use self::answer::{Ends, OK, broken, read_answer, server_error, skip_descriptions};
use self::channel::{Channel, ERROR};
use self::login::{Greeted, log_in};
pub use self::statement::LoadStatement;
use self::stream::{Encryption, Stream};
use super::access::Access;
use super::client::{Answer, Bind, give_up, late};
use super::error::{ErrorClass, SqlError};
use super::{relay, session_rules, tls};

const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;

/// One blocking connection for the measured loop.
///
/// It may be used by any thread, one at a time. After an error of class [`ErrorClass::Connection`] or a
/// [`ErrorClass::Timeout`] without a code it is at its end: every further call is refused, because the answer of
/// the last statement may still be under way.
#[derive(Debug)]
pub struct LoadConnection {
    /// Absent when the connection has ended.
    channel: Option<Channel>,
    ends: Ends,
    /// In a place of its own: it is large, and not looked at in the loop.
    access: Box<Access>,
    id: u32,
}

impl LoadConnection {
    /// Connects, and sets what must hold for everything the connection does, as [`super::Client::connect`] does.
    ///
    /// # Errors
    /// One sentence with what was tried, where, and what to do.
    pub fn connect(access: &Access) -> Result<LoadConnection, SqlError> {
        let (channel, greeted) = open(access)?;
        let Greeted { id, ends } = greeted;
        let mut connection =
            LoadConnection { channel: Some(channel), ends, access: Box::new(access.clone()), id };
        session_rules::apply(access, &mut |sql| connection.query(sql))?;
        Ok(connection)
    }

    /// The server's number for this connection.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Prepares a statement for [`LoadConnection::execute`].
    ///
    /// # Errors
    /// What the server said, or that there is no connection.
    pub fn prepare(&mut self, sql: &str) -> Result<LoadStatement, SqlError> {
        self.call(|channel, ends| {
            channel.command(|payload| command(PREPARE, sql, payload))?;
            read_prepared(channel, ends)
        })
    }

    /// Executes a prepared statement by the binary protocol and reads its whole result.
    ///
    /// # Errors
    /// What the server said, that there is no connection, or that the answer took too long.
    pub fn execute(
        &mut self,
        statement: &mut LoadStatement,
        values: &[Bind<'_>],
    ) -> Result<Answer, SqlError> {
        self.execute_then(statement, values, || ())
    }

    /// Does the same, and something else when the answer is there and was not looked at yet: to fetch memory, for what
    /// was used before the wait is in no cache any more.
    ///
    /// # Errors
    /// Those of [`LoadConnection::execute`].
    #[inline(always)]
    pub fn execute_then(
        &mut self,
        statement: &mut LoadStatement,
        values: &[Bind<'_>],
        fetch: impl FnOnce(),
    ) -> Result<Answer, SqlError> {
        if values.len() != statement.parameters() {
            return Err(other_number(statement.parameters(), values.len()));
        }
        self.call(|channel, ends| {
            let (packet, announced) = statement.packet(values);
            channel.command_packet(packet)?;
            // Now: after the wait the statement is in no cache any more, and is not looked at again without need.
            statement.shrink();
            channel.await_answer()?;
            fetch();
            let answer = read_answer(channel, ends)?;
            if announced {
                statement.announced(values);
            }
            Ok(answer)
        })
    }

    /// Executes a statement by the text protocol and reads its whole result.
    ///
    /// # Errors
    /// What the server said, that there is no connection, or that the answer took too long.
    pub fn query(&mut self, sql: &str) -> Result<Answer, SqlError> {
        self.call(|channel, ends| {
            channel.command(|payload| command(QUERY, sql, payload))?;
            channel.await_answer()?;
            read_answer(channel, ends)
        })
    }

    /// Says goodbye to the server: it logs a connection that ends without.
    pub fn close(mut self) {
        if let Some(mut channel) = self.channel.take() {
            // The server notices a connection that just ends too.
            let _ = channel.command(|payload| payload.push(QUIT));
            let _ = channel.stream().shut_down();
        }
    }

    /// Runs one exchange with the server, and ends the connection when its state is no longer known.
    #[inline(always)]
    fn call<T>(
        &mut self,
        exchange: impl FnOnce(&mut Channel, Ends) -> Result<T, Error>,
    ) -> Result<T, SqlError> {
        let channel = self.channel.as_mut().ok_or_else(SqlError::no_connection)?;
        let answer = exchange(channel, self.ends);
        channel.end();
        answer.map_err(|error| self.failed(&error))
    }

    #[cold]
    fn failed(&mut self, error: &Error) -> SqlError {
        if timed_out(error) {
            self.channel = None;
            return give_up(&self.access, self.id);
        }
        let failed = SqlError::in_use(error);
        if error.is_fatal() || failed.class == ErrorClass::Connection {
            self.channel = None;
        }
        failed
    }
}

/// Connects and logs in under the limit of connecting; what follows is under that of statements.
fn open(access: &Access) -> Result<(Channel, Greeted), SqlError> {
    let (limit, begun) = (access.connect_timeout.duration(), Instant::now());
    let encryption = match tls::wanted(access)? {
        Some(config) => Some(Encryption { config, name: relay::server_name(access)? }),
        None => None,
    };
    let logged_in = Stream::connect(access, limit, begun)
        .map_err(Error::from)
        .and_then(|stream| log_in(Channel::new(stream, limit, begun)?, access, encryption));
    let (mut channel, greeted) = logged_in.map_err(|error| refused(access, error))?;
    channel.end();
    channel.set_limit(access.statement_timeout.duration());
    Ok((channel, greeted))
}

/// The version in a server's greeting; nobody logs in.
pub(super) fn server_version(access: &Access) -> Result<String, SqlError> {
    let (limit, begun) = (access.connect_timeout.duration(), Instant::now());
    let greeted = Stream::connect(access, limit, begun)
        .map_err(Error::from)
        .and_then(|stream| login::version(&mut Channel::new(stream, limit, begun)?));
    greeted.map_err(|error| refused(access, error))
}

fn refused(access: &Access, error: Error) -> SqlError {
    if timed_out(&error) {
        return late(access, access.connect_timeout);
    }
    match error {
        Error::Driver(DriverError::NoClientSslFlagFromServer) => relay::no_tls(access),
        Error::Io(IoError::Io(error)) => relay::explain(access, error),
        error => SqlError::connecting(access, &error),
    }
}

#[cold]
fn other_number(takes: usize, given: usize) -> SqlError {
    let message = format!("not executed: the statement takes {takes} values and was given {given}");
    SqlError::new(ErrorClass::Other, message)
}

fn command(command: u8, text: &str, payload: &mut Vec<u8>) {
    payload.push(command);
    payload.extend_from_slice(text.as_bytes());
}

/// Reads the answer to a PREPARE: the statement's number, and descriptions of its values and columns.
fn read_prepared(channel: &mut Channel, ends: Ends) -> Result<LoadStatement, Error> {
    let body = channel.next()?.body;
    let (id, columns, parameters) = match *body {
        [OK, a, b, c, d, e, f, g, h, ..] => {
            (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([e, f]), u16::from_le_bytes([g, h]))
        }
        [ERROR, ..] => return Err(server_error(body)),
        _ => return Err(broken().into()),
    };
    skip_descriptions(channel, u64::from(parameters), ends)?;
    skip_descriptions(channel, u64::from(columns), ends)?;
    Ok(LoadStatement::new(id, parameters))
}

fn timed_out(error: &Error) -> bool {
    let Error::Io(IoError::Io(error)) = error else { return false };
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests;
