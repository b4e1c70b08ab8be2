//! How fast the work of a stage goes, told once a second.

/// Progress is told no more often than this, in seconds.
const TELL_EVERY: f64 = 1.0;

/// What was told so far.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When and with how many units done the work began.
    first: Option<(f64, u64)>,
    last: f64,
}

impl Pace {
    /// Takes that so many units are done at an instant. `None` when nothing is to be told yet, else the units a second
    /// since the beginning, which are not known there.
    pub(super) fn told(&mut self, t: f64, done: u64, is_last: bool) -> Option<Option<f64>> {
        let Some((began, at_first)) = self.first else {
            (self.first, self.last) = (Some((t, done)), t);
            return Some(None);
        };
        if t - self.last < TELL_EVERY && !is_last {
            return None;
        }
        self.last = t;
        let seconds = t - began;
        Some((seconds > 0.0).then(|| done.saturating_sub(at_first) as f64 / seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_each_second_and_at_the_end_with_what_was_done_since_the_beginning() {
        let mut pace = Pace::default();
        assert_eq!(pace.told(10.0, 5_000, false), Some(None));
        assert_eq!(pace.told(10.9, 6_000, false), None);
        assert_eq!(pace.told(11.0, 7_000, false), Some(Some(2_000.0)));
        assert_eq!(pace.told(11.5, 8_000, false), None);
        assert_eq!(pace.told(12.0, 9_000, true), Some(Some(2_000.0)));
    }
}
