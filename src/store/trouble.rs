//! Why a write did not happen, and what a person can do about it.

use rusqlite::ErrorCode;

/// Why a write did not happen.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The change can never be written; trying again is of no use.
    Impossible(String),
    /// The file cannot be written now; the change waits.
    NotNow {
        /// What happened.
        reason: String,
        /// What to do.
        advice: &'static str,
    },
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Trouble {
        let reason = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch) => {
                Trouble::Impossible(reason)
            }
            code => Trouble::NotNow { reason, advice: advice(code) },
        }
    }
}

impl From<serde_json::Error> for Trouble {
    fn from(error: serde_json::Error) -> Trouble {
        Trouble::Impossible(error.to_string())
    }
}

/// What to do about an error of SQLite.
pub(super) fn advice(code: Option<ErrorCode>) -> &'static str {
    match code {
        Some(ErrorCode::DiskFull) => "Free space on its filesystem",
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            "Make the file and its directory writable for the user benchd runs as"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "End the other program that holds a lock on it"
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            "Stop benchd, move the file and its -wal and -shm away, start again with a new one or a backup"
        }
        Some(ErrorCode::SystemIoFailure) => {
            "Free space if its filesystem is full; else see the kernel's log (dmesg) about its disk"
        }
        Some(ErrorCode::CannotOpen) => "See that its directory exists and may be written",
        _ => "See benchd's journal",
    }
}
