//! The alarm that wakes the daemon when a suite is due.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, anyhow};
use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_cron_scheduler::{Job, JobScheduler};
use uuid::Uuid;

/// How often everything is looked at again, whatever the clock does. A clock that is set while an alarm waits
/// delays a start by no more than this.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// The scheduler answers within milliseconds; one that does not is broken.
const ANSWER: Duration = Duration::from_secs(5);

/// A reason to look at the schedule with [`super::due`]. It may come early, late, twice or without need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// The alarm of this suite went off.
    Suite(String),
    /// Look at every suite: the clock may have been set.
    All,
}

/// One alarm a suite, each for a single wake-up.
///
/// Alarms are exact to a second or two and know nothing of overlap, windows or clocks that are set: the receiver
/// asks [`super::due`] and sets the alarm again. A wake that finds the channel full is dropped, because
/// [`Wake::All`] follows.
pub struct Alarms {
    scheduler: JobScheduler,
    wake: mpsc::Sender<Wake>,
    set: BTreeMap<String, Uuid>,
    looking: JoinHandle<()>,
}

impl Alarms {
    /// Starts with no alarm set; wakes go to `wake`. Needs a tokio runtime with time.
    ///
    /// # Errors
    /// When the scheduler does not start.
    pub async fn start(wake: mpsc::Sender<Wake>) -> anyhow::Result<Alarms> {
        Alarms::start_looking_every(LOOK_AGAIN, wake).await
    }

    async fn start_looking_every(period: Duration, wake: mpsc::Sender<Wake>) -> anyhow::Result<Alarms> {
        let scheduler = answered(JobScheduler::new()).await.context("alarms for schedules not started")?;
        answered(scheduler.start()).await.context("alarms for schedules not started")?;
        let looking = tokio::spawn(look_again(period, wake.clone()));
        Ok(Alarms { scheduler, wake, set: BTreeMap::new(), looking })
    }

    /// Sets the suite's alarm, in place of one it may have. An instant that has passed wakes at once.
    ///
    /// # Errors
    /// When the scheduler does not take it.
    pub async fn set(&mut self, suite: &str, at: Timestamp) -> anyhow::Result<()> {
        self.clear(suite).await?;
        let job = self.job(suite, at, Timestamp::now())?;
        let id =
            answered(self.scheduler.add(job)).await.with_context(|| format!("alarm of {suite} not set"))?;
        self.set.insert(suite.to_owned(), id);
        Ok(())
    }

    /// Takes the suite's alarm away; nothing happens when it has none.
    ///
    /// # Errors
    /// When the scheduler does not let go of it.
    pub async fn clear(&mut self, suite: &str) -> anyhow::Result<()> {
        let Some(id) = self.set.remove(suite) else { return Ok(()) };
        answered(self.scheduler.remove(&id)).await.with_context(|| format!("alarm of {suite} not cleared"))
    }

    /// Stops: no wake is sent after half a second.
    ///
    /// # Errors
    /// When the scheduler does not stop.
    pub async fn shutdown(mut self) -> anyhow::Result<()> {
        self.looking.abort();
        answered(self.scheduler.shutdown()).await.context("alarms for schedules not stopped")
    }

    /// The scheduler counts in whole seconds from the second that has begun, so both ends are rounded to its
    /// seconds: the alarm is late rather than early.
    fn job(&self, suite: &str, at: Timestamp, now: Timestamp) -> anyhow::Result<Job> {
        let whole_second = at.as_second() + i64::from(at.subsec_nanosecond() > 0);
        let seconds = u64::try_from(whole_second - now.as_second()).unwrap_or(0);
        let (wake, suite) = (self.wake.clone(), suite.to_owned());
        Job::new_one_shot(Duration::from_secs(seconds), move |_, _| {
            let _ = wake.try_send(Wake::Suite(suite.clone()));
        })
        .with_context(|| format!("alarm at {at} not made"))
    }
}

/// Sleeps are counted on the monotonic clock, so setting the wall clock does not stop them.
async fn look_again(period: Duration, wake: mpsc::Sender<Wake>) {
    while !wake.is_closed() {
        tokio::time::sleep(period).await;
        let _ = wake.try_send(Wake::All);
    }
}

async fn answered<T, E: Into<anyhow::Error>>(asked: impl Future<Output = Result<T, E>>) -> anyhow::Result<T> {
    match tokio::time::timeout(ANSWER, asked).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(anyhow!("the scheduler did not answer within {} s: restart benchd", ANSWER.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::ToSpan;

    const PATIENCE: Duration = Duration::from_secs(30);
    const NEVER: Duration = Duration::from_secs(86_400);

    fn wakes() -> (mpsc::Sender<Wake>, mpsc::Receiver<Wake>) {
        mpsc::channel(16)
    }

    async fn next(wakes: &mut mpsc::Receiver<Wake>) -> Wake {
        tokio::time::timeout(PATIENCE, wakes.recv()).await.expect("a wake in time").expect("a sender")
    }

    fn suite(name: &str) -> Wake {
        Wake::Suite(name.to_owned())
    }

    #[tokio::test]
    async fn a_suite_is_woken_once_and_not_before_its_instant() {
        let (sender, mut receiver) = wakes();
        let mut alarms = Alarms::start_looking_every(NEVER, sender).await.unwrap();
        let at = Timestamp::now() + 1100.milliseconds();
        alarms.set("nightly", at).await.unwrap();
        assert_eq!(next(&mut receiver).await, suite("nightly"));
        assert!(Timestamp::now() >= at);
        alarms.set("marker", at + 1.second()).await.unwrap();
        assert_eq!(next(&mut receiver).await, suite("marker"), "no second wake of nightly came between");
        alarms.shutdown().await.unwrap();
    }

    #[tokio::test]
    async fn an_alarm_that_has_rung_can_be_set_again() {
        let (sender, mut receiver) = wakes();
        let mut alarms = Alarms::start_looking_every(NEVER, sender).await.unwrap();
        for _ in 0..2 {
            alarms.set("nightly", Timestamp::now()).await.unwrap();
            assert_eq!(next(&mut receiver).await, suite("nightly"));
        }
    }

    #[tokio::test]
    async fn an_alarm_replaced_or_cleared_does_not_ring() {
        let (sender, mut receiver) = wakes();
        let mut alarms = Alarms::start_looking_every(NEVER, sender).await.unwrap();
        let soon = Timestamp::now() + 1.second();
        alarms.set("replaced", soon).await.unwrap();
        alarms.set("replaced", soon + 24.hours()).await.unwrap();
        alarms.set("cleared", soon).await.unwrap();
        alarms.clear("cleared").await.unwrap();
        alarms.clear("unknown").await.unwrap();
        alarms.set("marker", soon + 1.second()).await.unwrap();
        assert_eq!(next(&mut receiver).await, suite("marker"));
    }

    #[tokio::test]
    async fn an_instant_that_has_passed_wakes_at_once() {
        let (sender, mut receiver) = wakes();
        let mut alarms = Alarms::start_looking_every(NEVER, sender).await.unwrap();
        alarms.set("late", Timestamp::UNIX_EPOCH).await.unwrap();
        assert_eq!(next(&mut receiver).await, suite("late"));
    }

    #[tokio::test]
    async fn all_suites_are_looked_at_again_and_again() {
        let (sender, mut receiver) = wakes();
        let _alarms = Alarms::start_looking_every(Duration::from_millis(10), sender).await.unwrap();
        assert_eq!([next(&mut receiver).await, next(&mut receiver).await], [Wake::All, Wake::All]);
    }

    #[tokio::test]
    async fn a_full_channel_blocks_nothing() {
        let (sender, mut receiver) = mpsc::channel(1);
        let mut alarms = Alarms::start_looking_every(NEVER, sender.clone()).await.unwrap();
        sender.try_send(Wake::All).unwrap();
        let start = Timestamp::now();
        alarms.set("dropped", start).await.unwrap();
        alarms.set("also dropped", start).await.unwrap();
        assert_eq!(next(&mut receiver).await, Wake::All);
        alarms.set("heard", start + 2.seconds()).await.unwrap();
        while next(&mut receiver).await != suite("heard") {}
    }
}
