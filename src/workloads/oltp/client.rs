//! One client: it runs operations over its own connection, and tries again what may be tried again.

use std::time::Duration;

use super::options::Sending;
use super::transaction::{Draws, Group, Transaction};
use crate::driver::{ErrorCode, Failed, Stop, Tally, Worker};
use crate::target::{Access, Answer, ErrorClass, SqlError};
use crate::workloads::sql::session::{Session, hopeless, pause};
use crate::workloads::sql::statements::{Request, Template};

/// "Duplicate entry for key": two clients deleted and inserted one id with no transaction to keep them apart.
const DUPLICATE_KEY: u16 = 1062;
/// The longest wait before the second retry; the one before the first is none.
const FIRST_WAIT: Duration = Duration::from_millis(1);
/// How often that wait doubles at most: to 64 ms.
const MOST_DOUBLINGS: u32 = 6;

/// What makes operations repeatable, and runs differ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seeds {
    /// The case's seed.
    pub(super) case: u64,
    /// A number that no other run has.
    pub(super) run: u64,
}

/// A client with its connection.
pub(super) struct OltpClient<'a> {
    session: Session,
    transaction: &'a Transaction,
    retries: u32,
    seeds: Seeds,
    stop: Stop,
}

/// Why an attempt ended early.
enum Ended {
    /// The case is being stopped.
    Stopped,
    /// A statement failed.
    Error(SqlError),
}

impl<'a> OltpClient<'a> {
    /// Connects. Nothing is prepared yet: that happens when a statement is first sent.
    pub(super) fn connect(
        access: &Access,
        transaction: &'a Transaction,
        sending: Sending,
        seeds: Seeds,
        stop: Stop,
    ) -> anyhow::Result<OltpClient<'a>> {
        let session = Session::connect(access, sending.protocol)?;
        Ok(OltpClient { session, transaction, retries: sending.retries, seeds, stop })
    }

    /// Sends the statements of one operation with new values.
    fn attempt(&mut self, draws: &mut Draws, tally: &mut Tally) -> Result<(), Ended> {
        let (session, stop) = (&mut self.session, &self.stop);
        self.transaction.walk(draws, &mut |request, values| {
            if stop.requested() && may_stop_before(request) {
                return Err(Ended::Stopped);
            }
            let answer = session.send(request, values).map_err(Ended::Error)?;
            count(answer, tally);
            Ok(())
        })
    }

    /// Makes the session fit for the next attempt, or says why there is none.
    fn recover(
        &mut self,
        error: &SqlError,
        retried: u32,
        draws: &mut Draws,
        tally: &mut Tally,
    ) -> Result<(), Failed> {
        let code = code_of(error);
        if let Some(sentence) = hopeless(error) {
            return Err(Failed { code, fatal: Some(sentence) });
        }
        if is_lost(error) {
            self.regain(error)?;
        } else if self.transaction.bracketed {
            // When this fails the connection is lost, and the server undoes the transaction by itself.
            let _ = self.session.roll_back().map(|answer| count(answer, tally));
        }
        if retried >= self.retries || !self.may_retry(error) || back_off(retried, draws, &self.stop) {
            return Err(Failed { code, fatal: None });
        }
        Ok(())
    }

    fn regain(&mut self, lost: &SqlError) -> Result<(), Failed> {
        self.session.regain(&self.stop).map_err(|error| {
            let sentence = format!("the connection was lost ({lost}) and could not be had again: {error}");
            let fatal = (!self.stop.requested()).then_some(sentence);
            Failed { code: code_of(lost), fatal }
        })
    }

    /// Whether the same operation may succeed with new values.
    fn may_retry(&self, error: &SqlError) -> bool {
        match error.class {
            ErrorClass::Deadlock | ErrorClass::Connection => true,
            _ => error.code == Some(DUPLICATE_KEY) && self.transaction.sends(Group::DeleteInserts),
        }
    }
}

impl Worker for OltpClient<'_> {
    fn step(&mut self, operation: u64, tally: &mut Tally) -> Result<(), Failed> {
        let mut draws = Draws::of(self.seeds.case, self.seeds.run, operation);
        let mut retried = 0;
        let mut regained = false;
        loop {
            let error = match self.attempt(&mut draws, tally) {
                Ok(()) => return Ok(()),
                Err(Ended::Stopped) => return Err(Failed { code: ErrorCode::Other, fatal: None }),
                Err(Ended::Error(error)) => error,
            };
            self.recover(&error, retried, &mut draws, tally)?;
            if error.class == ErrorClass::Connection && std::mem::replace(&mut regained, true) {
                return Err(Failed { code: ErrorCode::Connection, fatal: None });
            }
            retried += 1;
            tally.retry(code_of(&error));
        }
    }
}

/// A row that was deleted is inserted again even while the case is being stopped: outside a transaction it would
/// be missing from the data set for ever.
fn may_stop_before(request: Request) -> bool {
    !matches!(request, Request::On(Template::Insert, _))
}

/// Counts a statement by what the server answered, as sysbench 1.0.20 does.
fn count(answer: Answer, tally: &mut Tally) {
    match answer {
        Answer::Rows(_) => tally.read(),
        Answer::Changed(_) => tally.write(),
        Answer::Nothing => tally.other(),
    }
}

fn code_of(error: &SqlError) -> ErrorCode {
    match (error.class, error.code) {
        (_, Some(code)) => ErrorCode::Server(code),
        (ErrorClass::Connection, None) => ErrorCode::Connection,
        (ErrorClass::Timeout, None) => ErrorCode::Timeout,
        (_, None) => ErrorCode::Other,
    }
}

/// Whether the connection is at its end.
fn is_lost(error: &SqlError) -> bool {
    error.class == ErrorClass::Connection || (error.class == ErrorClass::Timeout && error.code.is_none())
}

/// Waits before a retry: not before the first; then for a random time below a bound that doubles, so that clients
/// in each other's way part. True when the case is being stopped.
fn back_off(retried: u32, draws: &mut Draws, stop: &Stop) -> bool {
    let Some(doublings) = retried.checked_sub(1) else { return stop.requested() };
    let bound = FIRST_WAIT * (1 << doublings.min(MOST_DOUBLINGS));
    pause(stop, bound.mul_f64(draws.texts.uniform()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(class: ErrorClass, code: Option<u16>) -> SqlError {
        SqlError { code, class, message: String::new() }
    }

    #[test]
    fn an_error_is_counted_by_the_servers_number_or_by_its_class() {
        assert_eq!(code_of(&error(ErrorClass::Deadlock, Some(1213))), ErrorCode::Server(1213));
        assert_eq!(code_of(&error(ErrorClass::Connection, None)), ErrorCode::Connection);
        assert_eq!(code_of(&error(ErrorClass::Timeout, None)), ErrorCode::Timeout);
    }

    #[test]
    fn a_statement_that_the_server_ended_leaves_the_connection_alive() {
        assert!(!is_lost(&error(ErrorClass::Timeout, Some(1969))));
        assert!(is_lost(&error(ErrorClass::Timeout, None)));
        assert!(is_lost(&error(ErrorClass::Connection, Some(1927))));
    }

    #[test]
    fn only_the_second_half_of_a_replaced_row_is_sent_after_a_stop() {
        assert!(!may_stop_before(Request::On(Template::Insert, 1)));
        for request in [Request::Begin, Request::Commit, Request::On(Template::Delete, 1)] {
            assert!(may_stop_before(request));
        }
    }
}
