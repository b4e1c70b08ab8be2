//! One client: it runs operations over its own connection, and tries again what may be tried again.

use std::time::Duration;

use super::draws::{Draws, Place, Seeds};
use super::group::Group;
use super::habits::{Habits, Within};
use super::transaction::Transaction;
use crate::driver::random::Ids;
use crate::driver::{ErrorCode, Failed, Stop, Tally, Worker};
use crate::target::{Access, Answer, ErrorClass, SqlError};
use crate::workloads::sql::session::{Protocol, Session, pause};

/// "Duplicate entry for key": two clients deleted and inserted one id with no transaction to keep them apart.
const DUPLICATE_KEY: u16 = 1062;
/// The longest wait before the second retry; the one before the first is none.
const FIRST_WAIT: Duration = Duration::from_millis(1);
/// How often that wait doubles at most: to 256 ms.
const MOST_DOUBLINGS: u32 = 8;

/// What all clients of a case have in common.
#[derive(Debug)]
pub(super) struct Task<'a> {
    pub(super) access: &'a Access,
    pub(super) transaction: &'a Transaction,
    pub(super) protocol: Protocol,
    pub(super) habits: &'a Habits,
    pub(super) seeds: Seeds,
    pub(super) stop: &'a Stop,
}

/// A client with its connection.
pub(super) struct OltpClient<'a> {
    session: Session<'a>,
    task: &'a Task<'a>,
    place: Place,
    /// The ids that it meets.
    ids: Ids,
    /// Operations begun on it.
    operations: u64,
}

/// Why an attempt ended early.
enum Ended {
    /// The case is being stopped.
    Stopped,
    /// A statement failed.
    Error(SqlError),
}

impl<'a> OltpClient<'a> {
    /// Connects, and prepares its statements where they are not too many.
    pub(super) fn connect(task: &'a Task<'a>, place: Place, ids: Ids) -> anyhow::Result<OltpClient<'a>> {
        let opening = task.habits.opening.as_deref();
        let mut session = Session::connect(task.access, task.protocol, &task.transaction.book, opening)?;
        session.prepare_ahead(place.clients);
        Ok(OltpClient { session, task, place, ids, operations: 0 })
    }
}

impl Worker for OltpClient<'_> {
    #[inline(always)]
    fn step(&mut self, operation: u64, tally: &mut Tally) -> Result<(), Failed> {
        self.operations += 1;
        let task = self.task;
        let mut draws = Draws::of(task.seeds, operation, self.place, &self.ids);
        let within = task.habits.within(self.operations, &mut draws.texts);
        match attempt(&mut self.session, task, &mut draws, within, tally) {
            Ok(()) => Ok(()),
            Err(ended) => try_again(&mut self.session, task, &mut draws, within, ended, tally),
        }
    }
}

/// Tries an operation again for as long as its failures allow that.
#[cold]
fn try_again(
    session: &mut Session<'_>,
    task: &Task<'_>,
    draws: &mut Draws<'_>,
    within: Within,
    mut ended: Ended,
    tally: &mut Tally,
) -> Result<(), Failed> {
    let mut regained = false;
    for retried in 0.. {
        let error = match ended {
            Ended::Stopped => return Err(Failed { code: ErrorCode::Other, fatal: None }),
            Ended::Error(error) => error,
        };
        recover(session, task, &error, retried, draws, tally)?;
        if error.class == ErrorClass::Connection && std::mem::replace(&mut regained, true) {
            return Err(Failed { code: ErrorCode::Connection, fatal: None });
        }
        tally.retry(code_of(&error));
        match attempt(session, task, draws, within, tally) {
            Ok(()) => break,
            Err(again) => ended = again,
        }
    }
    Ok(())
}

/// Sends the statements of one operation.
#[inline(always)]
fn attempt(
    session: &mut Session<'_>,
    task: &Task<'_>,
    draws: &mut Draws<'_>,
    within: Within,
    tally: &mut Tally,
) -> Result<(), Ended> {
    let mut lots = draws.lots();
    task.transaction.walk(draws, &mut |step| {
        // A row that was deleted is inserted again even while the case is being stopped: outside a transaction it
        // would be missing from the data set for ever.
        if !step.joined && task.habits.think(&mut lots, task.stop) {
            return Err(Ended::Stopped);
        }
        let answer = session.send(step.request, step.values, tally).map_err(Ended::Error)?;
        count(answer, tally);
        if within.after_statement(&mut lots) { renew(session, task, tally) } else { Ok(()) }
    })?;
    if within == Within::AtEnd { renew(session, task, tally) } else { Ok(()) }
}

/// Connects anew, as a habit.
#[cold]
fn renew(session: &mut Session<'_>, task: &Task<'_>, tally: &mut Tally) -> Result<(), Ended> {
    session.renew(task.stop).map_err(Ended::Error)?;
    if task.habits.settle_in(task.stop) {
        tally.other();
    }
    Ok(())
}

/// Makes the session fit for the next attempt, or says why there is none.
#[cold]
fn recover(
    session: &mut Session<'_>,
    task: &Task<'_>,
    error: &SqlError,
    retried: u32,
    draws: &mut Draws<'_>,
    tally: &mut Tally,
) -> Result<(), Failed> {
    let code = code_of(error);
    if let Some(sentence) = session.hopeless(error) {
        return Err(Failed { code, fatal: Some(sentence) });
    }
    if is_lost(error) {
        regain(session, task.stop, error)?;
    } else if let Some(undo) = task.transaction.undo() {
        // When this fails the connection is lost, and the server undoes the transaction by itself.
        let _ = session.query(undo).map(|answer| count(answer, tally));
    }
    if retried >= task.habits.retries
        || !may_retry(task.transaction, error)
        || back_off(retried, draws, task.stop)
    {
        return Err(Failed { code, fatal: None });
    }
    if task.transaction.repeats_values() {
        draws.again();
    }
    Ok(())
}

fn regain(session: &mut Session<'_>, stop: &Stop, lost: &SqlError) -> Result<(), Failed> {
    session.regain(stop).map_err(|error| {
        let sentence = format!("the connection was lost ({lost}) and could not be had again: {error}");
        let fatal = (!stop.requested()).then_some(sentence);
        Failed { code: code_of(lost), fatal }
    })
}

/// Whether the same operation may succeed when it is tried again.
fn may_retry(transaction: &Transaction, error: &SqlError) -> bool {
    match error.class {
        ErrorClass::Deadlock | ErrorClass::Connection => true,
        _ => error.code == Some(DUPLICATE_KEY) && transaction.sends(Group::DeleteInserts),
    }
}

/// Counts a statement by what the server answered, as sysbench 1.0.20 does.
pub(super) fn count(answer: Answer, tally: &mut Tally) {
    match answer {
        Answer::Rows(_) => tally.read(),
        Answer::Changed(_) => tally.write(),
        Answer::Nothing => tally.other(),
    }
}

pub(super) fn code_of(error: &SqlError) -> ErrorCode {
    match (error.class, error.code) {
        (_, Some(code)) => ErrorCode::Server(code),
        (ErrorClass::Connection, None) => ErrorCode::Connection,
        (ErrorClass::Timeout, None) => ErrorCode::Timeout,
        (_, None) => ErrorCode::Other,
    }
}

/// Whether the connection is at its end.
pub(super) fn is_lost(error: &SqlError) -> bool {
    error.class == ErrorClass::Connection || (error.class == ErrorClass::Timeout && error.code.is_none())
}

/// Waits before a retry: not before the first; then for a random time below a bound that doubles, so that clients
/// in each other's way part. True when the case is being stopped.
fn back_off(retried: u32, draws: &mut Draws<'_>, stop: &Stop) -> bool {
    let Some(doublings) = retried.checked_sub(1) else { return stop.requested() };
    let bound = FIRST_WAIT * (1 << doublings.min(MOST_DOUBLINGS));
    pause(stop, bound.mul_f64(draws.texts.random().uniform()))
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
}
