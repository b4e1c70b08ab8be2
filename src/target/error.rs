//! What can go wrong between benchd and a server, in classes that code can act on and sentences that people can.

use std::fmt;
use std::io;

use mysql_async::{DriverError, Error, IoError, ServerError};

use super::Access;
use crate::record::TlsMode;

/// What an error means for whoever sent the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// Lost against another transaction: the same work may be tried again. These are the codes sysbench 1.0.20
    /// ignores by default, 1213 (deadlock), 1205 (lock wait timeout) and 1020 (record has changed).
    Deadlock,
    /// There is no connection, or it is gone.
    Connection,
    /// No answer within the limit; the connection is gone too unless a server's own limit ended the statement.
    Timeout,
    /// The account may not do this.
    Denied,
    /// Anything else.
    Other,
}

/// A statement or connection that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SqlError {
    /// The server's error number, when it was the server that said no.
    pub code: Option<u16>,
    /// What it means for the sender.
    pub class: ErrorClass,
    /// The sentence for people.
    pub message: String,
}

impl SqlError {
    pub(crate) fn new(class: ErrorClass, message: impl Into<String>) -> SqlError {
        SqlError { code: None, class, message: message.into() }
    }

    /// The error of a connection that an earlier error has ended.
    pub(crate) fn no_connection() -> SqlError {
        SqlError::new(ErrorClass::Connection, "the connection has ended; open another one")
    }

    /// An error met while using a connection.
    pub(crate) fn in_use(error: &Error) -> SqlError {
        match error {
            Error::Server(server) => SqlError::of_server(server),
            Error::Io(_) => {
                SqlError::new(ErrorClass::Connection, format!("connection lost: {}", inner(error)))
            }
            Error::Driver(DriverError::ConnectionClosed) => SqlError::no_connection(),
            _ => SqlError::new(ErrorClass::Other, inner(error)),
        }
    }

    fn of_server(server: &ServerError) -> SqlError {
        SqlError {
            code: Some(server.code),
            class: class_of(server.code),
            message: format!("{}: {}", server.code, server.message),
        }
    }

    /// An error met while connecting: what did not happen, where, and what to do.
    pub(crate) fn connecting(access: &Access, error: &Error) -> SqlError {
        let (class, code, found, advice) = match error {
            Error::Server(server) => {
                let class = class_of(server.code);
                (
                    class,
                    Some(server.code),
                    format!("{} ({})", server.message, server.code),
                    advice_for(server.code, access),
                )
            }
            Error::Io(IoError::Io(io)) => {
                let (found, advice) = explain_io(access, io);
                (ErrorClass::Connection, None, found, advice)
            }
            Error::Driver(DriverError::UnknownAuthPlugin { name }) => {
                return SqlError::unknown_plugin(access, name);
            }
            _ => (
                ErrorClass::Connection,
                None,
                inner(error),
                "see that a MySQL or MariaDB server answers there",
            ),
        };
        SqlError { code, ..SqlError::not_connected(access, class, &found, advice) }
    }

    /// The account uses an authentication plugin this program does not know.
    fn unknown_plugin(access: &Access, name: &str) -> SqlError {
        let found = format!("the account needs the authentication plugin `{name}`");
        let advice = "use an account with caching_sha2_password, mysql_native_password, ed25519, parsec or a login \
                      by socket; over TLS sha256_password and mysql_clear_password will do too";
        SqlError::not_connected(access, ErrorClass::Denied, &found, advice)
    }

    /// `not connected to WHERE as WHO: WHAT WAS FOUND; WHAT TO DO`.
    pub(crate) fn not_connected(access: &Access, class: ErrorClass, found: &str, advice: &str) -> SqlError {
        let message = format!("not connected to {} as {}: {found}; {advice}", access.address(), access.user);
        SqlError::new(class, message)
    }
}

/// The class of a server's error number. Numbers and names: the servers' message files (MySQL 9, MariaDB 10.11).
fn class_of(code: u16) -> ErrorClass {
    match code {
        1213 | 1205 | 1020 => ErrorClass::Deadlock,
        // shutdown, killed, aborted, network packets, idle for too long
        1053 | 1152 | 1158..=1161 | 1184 | 1927 | 3169 | 4031 => ErrorClass::Connection,
        // max_execution_time of MySQL, max_statement_time of MariaDB
        3024 | 1969 => ErrorClass::Timeout,
        // to a schema, login, host, table, column, routine, by privilege, without password, locked account, without TLS
        1044 | 1045 | 1130 | 1142 | 1143 | 1227 | 1370 | 1410 | 1698 | 3118 | 3159 | 4151 => {
            ErrorClass::Denied
        }
        _ => ErrorClass::Other,
    }
}

fn advice_for(code: u16, access: &Access) -> &'static str {
    match code {
        // Nothing tells an account that requires TLS from a wrong password.
        1045 if access.socket.is_none() && access.tls.mode == TlsMode::Disabled => {
            "correct `user` or the password in `password_file`, or set tls = \"required\" if TLS is demanded"
        }
        1045 | 1698 => "correct `user` or the password in `password_file`, or create the account",
        1044 => "grant the account what it needs there",
        3159 => "set tls = \"required\", or use the server's socket",
        1130 => "let the account connect from this host, or use the server's socket",
        1040 | 1203 | 1226 => "wait until connections are free, or raise the server's limit",
        1049 => "create the schema, or correct its name",
        _ => "see the server's error log",
    }
}

/// What an error of the operating system says about the server, and what to do.
fn explain_io(access: &Access, error: &io::Error) -> (String, &'static str) {
    let by_socket = access.socket.is_some();
    match error.kind() {
        io::ErrorKind::NotFound if by_socket => {
            ("there is no such socket".to_owned(), "start the server, or correct `socket`")
        }
        io::ErrorKind::ConnectionRefused if by_socket => {
            ("no server listens on this socket".to_owned(), "start the server, or correct `socket`")
        }
        io::ErrorKind::ConnectionRefused => {
            ("no server listens on this port".to_owned(), "start the server, or correct `host` and `port`")
        }
        io::ErrorKind::PermissionDenied if by_socket => (
            "the socket may not be used by this user".to_owned(),
            "let the user benchd runs as enter its directory",
        ),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            ("the server hung up".to_owned(), "see the server's error log")
        }
        _ if is_name_problem(error) => {
            (format!("the host name is not known ({error})"), "correct `host`, or the name service")
        }
        _ => (error.to_string(), "see that the server runs and can be reached"),
    }
}

/// The standard library has no kind for a failed look-up of a name; its text begins alike everywhere.
fn is_name_problem(error: &io::Error) -> bool {
    error.to_string().starts_with("failed to lookup address information")
}

/// The error without the name of its kind, which is for programmers.
fn inner(error: &Error) -> String {
    let shown: &dyn fmt::Display = match error {
        Error::Io(IoError::Io(io)) => io,
        Error::Driver(driver) => driver,
        Error::Other(other) => other,
        other => other,
    };
    shown.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(code: u16) -> Error {
        Error::Server(ServerError { code, message: "no".to_owned(), state: "HY000".to_owned() })
    }

    #[test]
    fn the_codes_that_may_be_tried_again_are_those_of_sysbench() {
        for code in [1213, 1205, 1020] {
            assert_eq!(SqlError::in_use(&server(code)).class, ErrorClass::Deadlock);
        }
        assert_eq!(SqlError::in_use(&server(1062)).class, ErrorClass::Other);
    }

    #[test]
    fn a_servers_error_keeps_its_number() {
        let error = SqlError::in_use(&server(1142));
        assert_eq!((error.code, error.class), (Some(1142), ErrorClass::Denied));
        assert_eq!(error.to_string(), "1142: no");
    }

    #[test]
    fn a_failed_connection_says_where_who_what_and_what_to_do() {
        let access = Access::by_socket("/run/my.sock", "benchd");
        let missing = Error::Io(IoError::Io(io::Error::from(io::ErrorKind::NotFound)));
        let error = SqlError::connecting(&access, &missing);
        assert_eq!(
            error.to_string(),
            "not connected to /run/my.sock as benchd: there is no such socket; start the server, or correct `socket`"
        );
        assert_eq!(error.class, ErrorClass::Connection);
    }
}
