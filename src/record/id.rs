//! The id of a run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Names one run; time-ordered (UUID version 7), so ids sort as the runs began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(Uuid);

impl RunId {
    /// A new id for a run that begins now.
    pub fn new() -> RunId {
        RunId(Uuid::now_v7())
    }

    /// The last 8 digits: what people type and read.
    pub fn short(self) -> String {
        let digits = self.0.simple().to_string();
        digits[digits.len() - 8..].to_owned()
    }
}

impl Default for RunId {
    fn default() -> RunId {
        RunId::new()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RunId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<RunId, uuid::Error> {
        text.parse().map(RunId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_as_runs_began_and_show_their_last_digits() {
        let ids: Vec<RunId> = (0..100).map(|_| RunId::new()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids[0].to_string().ends_with(&ids[0].short()));
    }
}
