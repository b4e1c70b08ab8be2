//! What the service manager is told: ready, reloading, ending, and what goes on meanwhile. Without one, nobody is.

use std::future::Future;
use std::sync::PoisonError;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use sd_notify::NotifyState;

use crate::http::{NextRun, NextRuns};
use crate::run::{ActiveRun, Runner};

/// How often it is looked whether there is something new to say.
const LOOK: Duration = Duration::from_secs(1);
/// Work that takes longer than this asks for more time, again and again.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// How much time is asked for, in microseconds.
const EXTENSION: u32 = 20_000_000;

pub(super) fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        log::warn!("tell the service manager: {error}");
    }
}

/// Tells that the configuration is being read again; [`NotifyState::Ready`] says that it was.
pub(super) fn reloading() {
    let since = NotifyState::monotonic_usec_now();
    tell(&since.map_or_else(|_| vec![NotifyState::Reloading], |since| vec![NotifyState::Reloading, since]));
}

/// Does what may take long; the manager is told to go on waiting for as long as it does.
pub(super) async fn patiently<T>(work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(ASK_EVERY) => {
                tell(&[NotifyState::ExtendTimeoutUsec(EXTENSION), NotifyState::Watchdog]);
            }
        }
    }
}

/// Keeps the manager's line about this service true: `systemctl status` shows it.
pub(super) async fn show(runner: Runner, next_runs: NextRuns) {
    let mut shown = String::new();
    loop {
        let text = status(&runner, &next_runs);
        if text != shown {
            tell(&[NotifyState::Status(&text)]);
            shown = text;
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn status(runner: &Runner, next_runs: &NextRuns) -> String {
    if let Some(stuck) = runner.stuck().first() {
        return format!("no run starts: {stuck}");
    }
    match runner.active() {
        Some(active) => running(&active, runner.queue_length()),
        None => next_run(next_runs),
    }
}

fn running(active: &ActiveRun, waiting: usize) -> String {
    let case = active.case.as_deref().map(|case| format!(", {case}")).unwrap_or_default();
    let number = (active.done + 1).min(active.of);
    let waiting = if waiting == 0 { String::new() } else { format!("; {waiting} more wait") };
    format!("running {}: case {number} of {}{case}{waiting}", active.suite, active.of)
}

/// The first of the scheduled starts, in words.
pub(super) fn next_run(next_runs: &NextRuns) -> String {
    let next = next_runs.lock().unwrap_or_else(PoisonError::into_inner);
    match next.iter().min_by_key(|(_, run)| run.at) {
        Some((suite, NextRun { at, .. })) => format!("next run {suite} {}", local(*at)),
        None => "nothing is scheduled".to_owned(),
    }
}

fn local(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%a %Y-%m-%d %H:%M:%S %Z").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{RunId, Stage};
    use crate::units::Span;

    fn active(done: u32, case: Option<&str>) -> ActiveRun {
        ActiveRun {
            id: RunId::new(),
            suite: "nightly".to_owned(),
            start: Timestamp::UNIX_EPOCH,
            planned: Span::from_secs(60),
            case: case.map(str::to_owned),
            stage: Stage::Measure,
            done,
            of: 4,
            cancelling: false,
        }
    }

    #[test]
    fn the_line_says_what_runs_and_what_waits() {
        assert_eq!(running(&active(0, None), 0), "running nightly: case 1 of 4");
        assert_eq!(running(&active(1, Some("cpu")), 2), "running nightly: case 2 of 4, cpu; 2 more wait");
        assert_eq!(running(&active(4, Some("cpu")), 0), "running nightly: case 4 of 4, cpu");
    }

    #[test]
    fn the_line_says_what_runs_next() {
        let next = NextRuns::default();
        assert_eq!(next_run(&next), "nothing is scheduled");
        for (suite, at) in [("b", 86_400), ("a", 172_800)] {
            let at = Timestamp::from_second(at).unwrap();
            next.lock().unwrap().insert(suite.to_owned(), NextRun { at, interval: None });
        }
        assert!(next_run(&next).starts_with("next run b "), "{}", next_run(&next));
    }
}
