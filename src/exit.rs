//! How a command ends: the exit codes, and errors that know theirs.

/// How a command ended; the number is the program's exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, and what was asked for is true.
    Done = 0,
    /// The work failed.
    Failed = 1,
    /// The command line or the configuration is wrong; nothing was done.
    Wrong = 2,
    /// Blocked by a guard; nothing was loaded.
    Blocked = 3,
    /// Stopped on the way and cleaned up.
    Stopped = 4,
    /// Another run is active.
    Busy = 5,
    /// It was asked to fail on a verdict, and that is the verdict.
    Worse = 6,
    /// The daemon cannot be reached.
    Unreachable = 7,
    /// Not permitted.
    Forbidden = 8,
}

/// An error that knows its exit code; any other error counts as [`Exit::Failed`].
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Ended {
    /// How the command ended.
    pub exit: Exit,
    /// What to tell the person.
    pub message: String,
}

impl Ended {
    /// An error with an exit code.
    pub(crate) fn because(exit: Exit, message: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Ended { exit, message: message.into() })
    }
}

/// The exit code an error stands for.
pub fn exit_of(error: &anyhow::Error) -> Exit {
    error.downcast_ref::<Ended>().map_or(Exit::Failed, |ended| ended.exit)
}
