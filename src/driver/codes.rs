//! Failures of one client by their code, written by it alone.

use std::sync::atomic::{AtomicU32, Ordering};

use super::ErrorCode;
use super::tally::Count;

/// Codes told apart in one client; further ones count as [`ErrorCode::Other`].
const CODES: usize = 32;

/// How often each code was met.
#[derive(Debug, Default)]
pub(super) struct Codes([CodeCount; CODES]);

#[derive(Debug, Default)]
struct CodeCount {
    /// The code as a number; 0 where there is none yet.
    code: AtomicU32,
    count: Count,
}

impl Codes {
    /// The codes met, with how often.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ErrorCode, u64)> + '_ {
        self.0.iter().filter_map(|slot| {
            let code = code_of(slot.code.load(Ordering::Relaxed))?;
            Some((code, slot.count.get()))
        })
    }

    /// Counts a failure.
    pub(super) fn count(&self, code: ErrorCode) {
        let number = number_of(code);
        let Some((last, others)) = self.0.split_last() else { return };
        let slot = others
            .iter()
            .find(|slot| matches!(slot.code.load(Ordering::Relaxed), n if n == number || n == 0));
        let (slot, number) = slot.map_or((last, number_of(ErrorCode::Other)), |slot| (slot, number));
        slot.code.store(number, Ordering::Relaxed);
        slot.count.add_one();
    }
}

/// Special codes are numbered beyond all server errors; 0 stays free.
const BEYOND_SERVER: u32 = u16::MAX as u32 + 2;

fn number_of(code: ErrorCode) -> u32 {
    match code {
        ErrorCode::Server(number) => u32::from(number) + 1,
        ErrorCode::Connection => BEYOND_SERVER,
        ErrorCode::Timeout => BEYOND_SERVER + 1,
        ErrorCode::Other => BEYOND_SERVER + 2,
    }
}

fn code_of(number: u32) -> Option<ErrorCode> {
    const CONNECTION: u32 = BEYOND_SERVER;
    const TIMEOUT: u32 = BEYOND_SERVER + 1;
    match number {
        0 => None,
        CONNECTION => Some(ErrorCode::Connection),
        TIMEOUT => Some(ErrorCode::Timeout),
        server => Some(u16::try_from(server - 1).map_or(ErrorCode::Other, ErrorCode::Server)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn codes_are_counted_apart_and_no_attempt_is_lost_when_there_are_too_many() {
        let codes = Codes::default();
        for code in
            [ErrorCode::Server(0), ErrorCode::Server(u16::MAX), ErrorCode::Connection, ErrorCode::Timeout]
        {
            codes.count(code);
            codes.count(code);
        }
        codes.count(ErrorCode::Other);
        (1..=100).for_each(|number| codes.count(ErrorCode::Server(number)));
        let mut met: BTreeMap<ErrorCode, u64> = BTreeMap::new();
        codes.iter().for_each(|(code, count)| *met.entry(code).or_default() += count);
        assert_eq!(met[&ErrorCode::Server(0)], 2);
        assert_eq!(met[&ErrorCode::Server(u16::MAX)], 2);
        assert_eq!((met[&ErrorCode::Connection], met[&ErrorCode::Timeout]), (2, 2));
        assert_eq!(met[&ErrorCode::Server(1)], 1);
        assert_eq!(met.values().sum::<u64>(), 109);
    }
}
