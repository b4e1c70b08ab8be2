//! Requests that may be sent twice: the same key and the same body get the same answer, and one run.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::Value;

/// An answer is remembered so long.
const REMEMBERED_FOR: Duration = Duration::from_secs(24 * 3600);
/// So many answers are remembered; the oldest go first.
const MOST: usize = 1000;

/// Who asked with which key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) person: String,
    pub(super) key: String,
}

/// What was answered to requests with a key.
#[derive(Debug, Default)]
pub(super) struct Remembered(VecDeque<Entry>);

#[derive(Debug)]
struct Entry {
    key: Key,
    asked: Value,
    answered: Value,
    at: Instant,
}

/// What is known of a key.
#[derive(Debug, PartialEq)]
pub(super) enum Known {
    /// Nothing.
    New,
    /// The same was asked: this was answered.
    Same(Value),
    /// Something else was asked with it.
    Other,
}

impl Remembered {
    pub(super) fn look(&self, key: &Key, asked: &Value, now: Instant) -> Known {
        let fresh = |entry: &&Entry| now.saturating_duration_since(entry.at) < REMEMBERED_FOR;
        match self.0.iter().filter(fresh).find(|entry| entry.key == *key) {
            None => Known::New,
            Some(entry) if entry.asked == *asked => Known::Same(entry.answered.clone()),
            Some(_) => Known::Other,
        }
    }

    pub(super) fn remember(&mut self, key: Key, asked: Value, answered: Value, now: Instant) {
        self.0.retain(|entry| entry.key != key);
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(Entry { key, asked, answered, at: now });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn key(person: &str) -> Key {
        Key { person: person.to_owned(), key: "deploy-1".to_owned() }
    }

    #[test]
    fn a_key_is_one_persons_for_a_day_and_one_body() {
        let (mut remembered, now) = (Remembered::default(), Instant::now());
        let asked = json!({ "suite": "db", "queue": true });
        remembered.remember(key("alice"), asked.clone(), json!({ "id": 1 }), now);
        let same = json!({ "queue": true, "suite": "db" });
        assert_eq!(remembered.look(&key("alice"), &same, now), Known::Same(json!({ "id": 1 })));
        assert_eq!(remembered.look(&key("alice"), &json!({ "suite": "db" }), now), Known::Other);
        assert_eq!(remembered.look(&key("bob"), &asked, now), Known::New);
        assert_eq!(remembered.look(&key("alice"), &asked, now + REMEMBERED_FOR), Known::New);
    }

    #[test]
    fn no_more_are_remembered_than_fit() {
        let (mut remembered, now) = (Remembered::default(), Instant::now());
        for number in 0..=MOST {
            remembered.remember(key(&number.to_string()), Value::Null, Value::Null, now);
        }
        assert_eq!(remembered.0.len(), MOST);
        assert_eq!(remembered.look(&key("0"), &Value::Null, now), Known::New);
    }
}
