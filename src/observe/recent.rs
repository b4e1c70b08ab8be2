//! The last samples of a server, and the worst of them in the last seconds.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::sample::ServerSample;
use crate::sample::Moment;
use crate::units::Span;

/// Samples are kept at least so long: longer than it takes until a run takes them over.
const KEPT: Duration = Duration::from_secs(120);

/// The last samples, oldest first.
#[derive(Debug, Default)]
pub(super) struct Recent(VecDeque<Arc<ServerSample>>);

impl Recent {
    /// Adds the newest and forgets those that are older than the longest window.
    pub(super) fn push(&mut self, sample: Arc<ServerSample>, longest: Duration) {
        let oldest = before(sample.moment, KEPT.max(longest));
        self.0.push_back(sample);
        while self.0.front().is_some_and(|first| first.moment < oldest) {
            self.0.pop_front();
        }
    }

    /// The newest.
    pub(super) fn newest(&self) -> Option<&Arc<ServerSample>> {
        self.0.back()
    }

    /// Those between two instants, both included.
    pub(super) fn between(&self, from: Timestamp, to: Timestamp) -> Vec<Arc<ServerSample>> {
        self.0.iter().filter(|sample| (from..=to).contains(&sample.at)).cloned().collect()
    }

    /// The most threads that ran for others in each window that holds a sample in which that is known.
    pub(super) fn most_running(&self, now: Moment, windows: &[Span]) -> Vec<(Span, u64)> {
        let most = |window: &Span| {
            let oldest = before(now, window.duration());
            let inside = self.0.iter().filter(|sample| sample.moment >= oldest);
            Some((*window, inside.filter_map(|sample| sample.others_running()).max()?))
        };
        windows.iter().filter_map(most).collect()
    }
}

fn before(moment: Moment, time: Duration) -> Moment {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Moment::from_nanos(moment.nanos().saturating_sub(nanos))
}

#[cfg(test)]
mod tests {
    use super::super::sample::sample_of;
    use super::super::status::Status;
    use super::*;

    fn recent(running: &[u64]) -> Recent {
        let mut recent = Recent::default();
        for (second, running) in (0..).zip(running) {
            let status = Status { threads_running: Some(running + 1), ..Status::default() };
            recent.push(Arc::new(sample_of(second, status)), Duration::from_secs(300));
        }
        recent
    }

    #[test]
    fn the_most_of_a_window_is_that_of_the_samples_in_it() {
        let recent = recent(&[7, 1, 3, 2]);
        let windows = [Span::from_secs(1), Span::from_secs(2), Span::from_secs(60)];
        let most = |now: u64| {
            let most = recent.most_running(Moment::from_nanos(now * 1_000_000_000), &windows);
            most.into_iter().map(|(_, most)| most).collect::<Vec<u64>>()
        };
        assert_eq!(most(3), [3, 3, 7]);
        assert_eq!(most(5), [2, 7], "nothing was asked in the shortest window");
        assert_eq!(most(900), [] as [u64; 0]);
    }

    #[test]
    fn samples_older_than_the_longest_window_are_forgotten() {
        let recent = recent(&[0; 1000]);
        assert_eq!(recent.0.len(), 301);
        let (from, to) = (recent.0[10].at, recent.0[12].at);
        assert_eq!(recent.between(from, to).len(), 3);
    }
}
