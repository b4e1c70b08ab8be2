//! One blocking connection. Everything that speaks to a server does it through [`Client`], but for the measured
//! loop, which has [`LoadConnection`](super::LoadConnection).

use std::collections::{BTreeMap, HashMap};
use std::future::Future;

use mysql_async::prelude::{Protocol, Queryable};
use mysql_async::{Conn, Opts, OptsBuilder, QueryResult, Row, Value};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::access::Access;
use super::error::{ErrorClass, SqlError};
use super::relay::Relay;
use super::session_rules;
use super::tls;
use crate::units::Span;

/// The largest packet sent or taken. Given, so that the crate does not ask the server for its own limit on every
/// connect; 64 MiB is MySQL's default and larger than any statement here.
pub(super) const MAX_PACKET: usize = 64 << 20;
/// How long the crate would keep an idle pooled connection. No pool is used; given, so that it is not asked for.
const IDLE_SECONDS: usize = 28_800;
/// The longest wait for a second connection that ends a statement nobody waits for any more.
const KILL_LIMIT: Span = Span::from_secs(2);

/// A value for a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bind<'a> {
    /// A whole number.
    Integer(i64),
    /// A text.
    Text(&'a str),
}

impl From<&Bind<'_>> for Value {
    fn from(bind: &Bind<'_>) -> Value {
        match bind {
            Bind::Integer(number) => Value::Int(*number),
            Bind::Text(text) => Value::Bytes(text.as_bytes().to_vec()),
        }
    }
}

/// What a statement did, judged by its result and not by its text (as sysbench 1.0.20 counts reads, writes and
/// others).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A result set of so many rows, perhaps none.
    Rows(u64),
    /// So many rows were changed, at least one.
    Changed(u64),
    /// Neither.
    Nothing,
}

/// A prepared statement; it belongs to the connection that prepared it.
#[derive(Debug, Clone)]
pub struct Statement(mysql_async::Statement);

/// One blocking connection to a server.
///
/// It owns a runtime, so it must not be used or made where one already runs (inside asynchronous code). After an
/// error of class [`ErrorClass::Connection`] or a [`ErrorClass::Timeout`] without a code it is at its end: every
/// further call is refused, because the answer of the last statement may still be under way.
#[derive(Debug)]
pub struct Client {
    conn: Option<Conn>,
    /// What carries the connection when it is encrypted.
    relay: Option<Relay>,
    runtime: Option<Runtime>,
    access: Access,
    id: u32,
}

impl Client {
    /// Connects, and sets what must hold for everything the connection does: nothing in the binary log if that
    /// was asked for (read back), and short waits for locks.
    ///
    /// # Errors
    /// One sentence with what was tried, where, and what to do.
    pub fn connect(access: &Access) -> Result<Client, SqlError> {
        let mut client = Client::open(access, access.connect_timeout)?;
        session_rules::apply(access, &mut |sql| client.query(sql))?;
        Ok(client)
    }

    /// Connects and leaves the session as the server made it.
    fn open(access: &Access, limit: Span) -> Result<Client, SqlError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
            SqlError::new(
                ErrorClass::Other,
                format!("no runtime for a connection to {}: {error}", access.address()),
            )
        })?;
        let opened = runtime.block_on(awaited(access, limit, login(access)));
        match opened.unwrap_or_else(|| Err(late(access, limit))) {
            Ok((conn, relay)) => {
                let id = conn.id();
                Ok(Client { conn: Some(conn), relay, runtime: Some(runtime), access: access.clone(), id })
            }
            Err(error) => {
                runtime.shutdown_background();
                Err(error)
            }
        }
    }

    /// The server's number for this connection.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// How the server was reached.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Prepares a statement for [`Client::execute`].
    ///
    /// # Errors
    /// What the server said, or that there is no connection.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement, SqlError> {
        self.call(async |conn| conn.prep(sql).await).map(Statement)
    }

    /// Executes a prepared statement by the binary protocol and reads its whole result.
    ///
    /// # Errors
    /// What the server said, that there is no connection, or that the answer took too long.
    pub fn execute(&mut self, statement: &Statement, binds: &[Bind<'_>]) -> Result<Answer, SqlError> {
        let values: Vec<Value> = binds.iter().map(Value::from).collect();
        self.call(async |conn| answer(conn.exec_iter(&statement.0, values).await?).await)
    }

    /// Executes a statement by the text protocol and reads its whole result.
    ///
    /// # Errors
    /// What the server said, that there is no connection, or that the answer took too long.
    pub fn query(&mut self, sql: &str) -> Result<Answer, SqlError> {
        self.call(async |conn| answer(conn.query_iter(sql).await?).await)
    }

    /// Executes a statement by the text protocol and returns its rows as texts; `None` is SQL's NULL.
    ///
    /// # Errors
    /// What the server said, that there is no connection, or that the answer took too long.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        let rows: Vec<Row> = self.call(async |conn| conn.query(sql).await)?;
        Ok(rows.into_iter().map(|row| row.unwrap().into_iter().map(text).collect()).collect())
    }

    /// Executes a statement as [`Client::rows`] does and returns each row by the names of its columns, in small
    /// letters.
    ///
    /// # Errors
    /// What the server said, that there is no connection, or that the answer took too long.
    pub fn named_rows(&mut self, sql: &str) -> Result<Vec<BTreeMap<String, Option<String>>>, SqlError> {
        let rows: Vec<Row> = self.call(async |conn| conn.query(sql).await)?;
        Ok(rows.into_iter().map(named).collect())
    }

    /// Whether the connection can still be used.
    pub fn is_open(&self) -> bool {
        self.conn.is_some()
    }

    /// Says goodbye to the server.
    pub fn close(mut self) {
        // The server notices a connection that just ends too.
        let _ = self.leave();
    }

    fn leave(&mut self) -> Result<(), SqlError> {
        let conn = self.conn.take().ok_or_else(SqlError::no_connection)?;
        let runtime = self.runtime.as_ref().ok_or_else(SqlError::no_connection)?;
        let relay = self.relay.take();
        let left = runtime.block_on(limited(KILL_LIMIT, async {
            let left = conn.disconnect().await;
            if let Some(relay) = relay {
                relay.end().await;
            }
            left
        }));
        left.unwrap_or(Ok(())).map_err(|error| SqlError::in_use(&error))
    }

    /// Runs one exchange with the server under the statement's limit, and ends the connection when its state is
    /// no longer known.
    fn call<T>(
        &mut self,
        exchange: impl AsyncFnOnce(&mut Conn) -> mysql_async::Result<T>,
    ) -> Result<T, SqlError> {
        let (Some(conn), Some(runtime)) = (self.conn.as_mut(), self.runtime.as_ref()) else {
            return Err(SqlError::no_connection());
        };
        let (access, limit) = (&self.access, self.access.statement_timeout);
        match runtime.block_on(async { awaited(access, limit, exchange(conn)).await }) {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => {
                let ended = error.is_fatal();
                let error = SqlError::in_use(&error);
                if ended || error.class == ErrorClass::Connection {
                    self.conn = None;
                }
                Err(error)
            }
            None => {
                self.conn = None;
                Err(give_up(&self.access, self.id))
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.conn.take());
        if let Some(runtime) = self.runtime.take() {
            // A look-up of a host name may hang in a thread of the runtime; it must not hold up anyone.
            runtime.shutdown_background();
        }
    }
}

/// Ends on the server a connection whose answer did not come in time.
pub(super) fn give_up(access: &Access, id: u32) -> SqlError {
    let ended = match kill_from_another(access, id) {
        Ok(()) => "its connection was killed".to_owned(),
        Err(error) => format!("its connection was given up but not killed ({error})"),
    };
    let when = match access.abandoned.now() {
        true => "after a stop".to_owned(),
        false => format!("within {}", access.statement_timeout),
    };
    SqlError::new(ErrorClass::Timeout, format!("no answer from {} {when}: {ended}", access.address()))
}

fn kill_from_another(access: &Access, id: u32) -> Result<(), SqlError> {
    let limit = shorter(access.connect_timeout, KILL_LIMIT);
    let access = Access { schema: None, statement_timeout: KILL_LIMIT, ..access.clone() };
    let mut other = Client::open(&access, limit)?;
    // Without KILL's own time limit two stuck connections would try to kill each other for ever.
    let sql = format!("KILL {id}");
    let conn = other.conn.as_mut().ok_or_else(SqlError::no_connection)?;
    let runtime = other.runtime.as_ref().ok_or_else(SqlError::no_connection)?;
    match runtime.block_on(async { limited(limit, conn.query_drop(sql)).await }) {
        Some(Ok(())) => Ok(()),
        Some(Err(error)) => Err(SqlError::in_use(&error)),
        None => Err(SqlError::new(ErrorClass::Timeout, format!("no answer to KILL within {limit}"))),
    }
}

/// The error of a server that did not let a connection be made in time.
pub(super) fn late(access: &Access, limit: Span) -> SqlError {
    let found = format!("no answer within {limit}");
    let advice = "see that the server runs and answers, or raise `connect_timeout`";
    SqlError::not_connected(access, ErrorClass::Timeout, &found, advice)
}

/// Connects, encrypted as the access says. The crate panics on some answers of a server, so it runs in a task of its
/// own, where a panic becomes an error; that task and the relay's end with the runtime.
async fn login(access: &Access) -> Result<(Conn, Option<Relay>), SqlError> {
    let mut relay = relay(access).await?;
    let options = options(access, relay.as_ref())?;
    match tokio::spawn(Conn::new(options)).await {
        Ok(Ok(conn)) => Ok((conn, relay)),
        Ok(Err(error @ mysql_async::Error::Server(_))) => Err(SqlError::connecting(access, &error)),
        Ok(Err(error)) => {
            let of_tls = relay.as_mut().and_then(Relay::failure);
            Err(of_tls.unwrap_or_else(|| SqlError::connecting(access, &error)))
        }
        Err(_) => {
            let found = "the client library failed on what the server answered";
            let advice =
                "see that a MySQL or MariaDB server answers there, or use an account that logs in otherwise";
            Err(SqlError::not_connected(access, ErrorClass::Other, found, advice))
        }
    }
}

async fn relay(access: &Access) -> Result<Option<Relay>, SqlError> {
    match tls::wanted(access)? {
        Some(config) => Relay::open(access, config).await,
        None => Ok(None),
    }
}

/// What a connection says about itself.
pub(super) fn attributes(access: &Access) -> HashMap<String, String> {
    let mut attributes = HashMap::from([
        ("program_name".to_owned(), "benchd".to_owned()),
        ("_client_version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("_pid".to_owned(), std::process::id().to_string()),
    ]);
    if let Some(daemon) = access.daemon {
        attributes.insert("benchd_daemon".to_owned(), daemon.to_string());
    }
    if !access.run.is_empty() {
        attributes.insert("benchd_run".to_owned(), access.run.clone());
    }
    attributes
}

/// How the crate connects: to the relay, or to the server itself.
fn options(access: &Access, relay: Option<&Relay>) -> Result<Opts, SqlError> {
    let socket = match (relay, &access.socket) {
        (Some(relay), _) => Some(relay.socket()),
        (None, Some(socket)) => Some(socket.to_str().ok_or_else(|| {
            let found = "the socket's path is not UTF-8";
            SqlError::not_connected(access, ErrorClass::Connection, found, "use a path that is")
        })?),
        (None, None) => None,
    };
    let builder = OptsBuilder::default()
        .prefer_socket(false)
        .socket(socket)
        // A password goes out as it is under encryption only.
        .enable_cleartext_plugin(relay.is_some())
        .ip_or_hostname(access.host.clone())
        .tcp_port(access.port)
        .user(Some(access.user.clone()))
        .pass(Some(access.password.reveal()).filter(|password| !password.is_empty()))
        .db_name(access.schema.clone())
        .max_allowed_packet(Some(MAX_PACKET))
        .wait_timeout(Some(IDLE_SECONDS))
        // Statements are kept by their owner. A cache would close the oldest behind its back.
        .stmt_cache_size(0)
        .connect_attributes(attributes(access));
    Ok(builder.into())
}

/// Reads all of a result and says what it was.
async fn answer<P: Protocol>(mut result: QueryResult<'_, 'static, P>) -> mysql_async::Result<Answer> {
    let answer = if result.columns_ref().is_empty() {
        match result.affected_rows() {
            0 => Answer::Nothing,
            changed => Answer::Changed(changed),
        }
    } else {
        let mut rows = 0;
        result.for_each(|_row| rows += 1).await?;
        Answer::Rows(rows)
    };
    result.drop_result().await?;
    Ok(answer)
}

/// The outcome of a future, or `None` when it took longer than the limit; zero is no limit.
async fn limited<F: Future>(limit: Span, future: F) -> Option<F::Output> {
    if limit.is_zero() { Some(future.await) } else { timeout(limit.duration(), future).await.ok() }
}

/// The same for what a connection does, which does not go on for long when nobody waits for it.
async fn awaited<F: Future>(access: &Access, limit: Span, future: F) -> Option<F::Output> {
    tokio::select! {
        done = limited(limit, future) => done,
        () = access.abandoned.at_an_end() => None,
    }
}

fn named(row: Row) -> BTreeMap<String, Option<String>> {
    let names: Vec<String> =
        row.columns_ref().iter().map(|column| column.name_str().to_lowercase()).collect();
    names.into_iter().zip(row.unwrap().into_iter().map(text)).collect()
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        other => Some(other.as_sql(true).trim_matches('\'').to_owned()),
    }
}

/// The shorter of two limits; zero is no limit.
fn shorter(limit: Span, most: Span) -> Span {
    if limit.is_zero() { most } else { limit.min(most) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_is_longer_than_any() {
        assert_eq!(shorter(Span::ZERO, KILL_LIMIT), KILL_LIMIT);
        assert_eq!(shorter(Span::from_secs(1), KILL_LIMIT), Span::from_secs(1));
        assert_eq!(shorter(Span::from_secs(9), KILL_LIMIT), KILL_LIMIT);
    }
}
