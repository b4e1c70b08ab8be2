//! The thread that asks one server, and what it leaves for others to read.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use jiff::Timestamp;

use super::holdings::Owner;
use super::interview::{ANSWER_LIMIT, Interview, Topic};
use super::recent::Recent;
use super::sample::ServerSample;
use super::{Observed, Settings, unit};
use crate::config::ServerTarget;
use crate::sample::Moment;
use crate::target::Access;
use crate::units::Span;

/// Time between two questions while a run uses the server.
const CLOSE: Duration = Duration::from_secs(1);

/// A server that does not answer is asked again after this, then after twice as long, and so on.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What the thread is told.
pub(super) enum Command {
    /// Ask at this interval.
    Interval(Duration),
    /// Somebody has begun, or ended, to look closely.
    Closely(bool),
}

/// A server that is watched; its thread ends with it.
pub(super) struct Watch {
    /// What is watched.
    pub(super) target: ServerTarget,
    commands: Sender<Command>,
    state: Arc<Mutex<State>>,
    begun: Instant,
}

/// What the thread leaves for others to read.
#[derive(Default)]
struct State {
    recent: Recent,
    longest_window: Duration,
    /// Whether the last question that has an end was answered.
    up: bool,
    /// Since when the present question is under way.
    asked: Option<Instant>,
    answered: Option<Timestamp>,
    took: Duration,
}

impl State {
    /// Whether the server answers: not if the present question waits for longer than any answer may take.
    fn is_up(&self, now: Instant) -> bool {
        let waiting = now.saturating_duration_since(self.asked.unwrap_or(now));
        self.up && waiting <= ANSWER_LIMIT.duration()
    }

    fn current(&self, now: Instant) -> Option<Arc<ServerSample>> {
        self.recent.newest().filter(|_| self.is_up(now)).cloned()
    }
}

impl Watch {
    pub(super) fn start(
        name: &str,
        target: &ServerTarget,
        settings: &Settings,
        ended: Sender<()>,
    ) -> anyhow::Result<Watch> {
        let (commands, inbox) = mpsc::channel();
        let (state, begun) = (Arc::<Mutex<State>>::default(), Instant::now());
        let asker = Asker {
            name: name.to_owned(),
            target: target.clone(),
            access: settings.access,
            owner: settings.owner.clone(),
            sys: settings.sys.clone(),
            interval: settings.interval.duration(),
            state: Arc::clone(&state),
            begun,
            interview: None,
            failures: 0,
            closely: 0,
            complaint: None,
            lacking: BTreeMap::new(),
        };
        thread::Builder::new()
            .name("server".to_owned())
            .spawn(move || {
                asker.run(&inbox);
                drop(ended);
            })
            .context(
                "cannot start a thread for a server: raise the limit of threads (TasksMax, ulimit -u)",
            )?;
        Ok(Watch { target: target.clone(), commands, state, begun })
    }

    pub(super) fn send(&self, command: Command) {
        // A thread that has ended has no use for it.
        let _ = self.commands.send(command);
    }

    pub(super) fn commands(&self) -> Sender<Command> {
        self.commands.clone()
    }

    pub(super) fn sample(&self, now: Instant) -> Option<Arc<ServerSample>> {
        lock(&self.state).current(now)
    }

    pub(super) fn between(&self, from: Timestamp, to: Timestamp) -> Vec<Arc<ServerSample>> {
        lock(&self.state).recent.between(from, to)
    }

    pub(super) fn observed(&self, name: &str, windows: &[Span], now: Instant) -> Observed {
        let mut state = lock(&self.state);
        state.longest_window = windows.iter().max().map_or(Duration::ZERO, |window| window.duration());
        let sample = state.current(now);
        let most_running = match sample {
            Some(_) => state.recent.most_running(moment(self.begun, now), windows),
            None => Vec::new(),
        };
        let (answered, took) = (state.answered, state.took);
        Observed { target: name.to_owned(), sample, most_running, answered, took }
    }
}

/// Nothing is left half done under this lock, so a panic elsewhere does not spoil what it guards.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn moment(begun: Instant, now: Instant) -> Moment {
    let nanos = now.saturating_duration_since(begun).as_nanos();
    Moment::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// What lives in the thread.
struct Asker {
    name: String,
    target: ServerTarget,
    access: fn(&str, &ServerTarget) -> anyhow::Result<Access>,
    owner: Owner,
    sys: PathBuf,
    interval: Duration,
    state: Arc<Mutex<State>>,
    begun: Instant,
    interview: Option<Interview>,
    /// Questions in a row that were not answered.
    failures: u32,
    /// How many look closely.
    closely: usize,
    /// Why the server does not answer, as it was last said.
    complaint: Option<String>,
    /// What the account may not see, as it was last said.
    lacking: BTreeMap<Topic, String>,
}

impl Asker {
    /// One wait serves the interval, the commands and the end.
    fn run(mut self, inbox: &Receiver<Command>) {
        let mut next = Instant::now();
        loop {
            match inbox.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(command) => {
                    self.obey(&command);
                    next = next.min(Instant::now() + self.wait());
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.look();
                    let now = Instant::now();
                    next = match self.failures {
                        0 => (next + self.wait()).max(now),
                        _ => now + self.wait(),
                    };
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if let Some(interview) = self.interview.take() {
            interview.end();
        }
    }

    fn obey(&mut self, command: &Command) {
        match command {
            Command::Interval(interval) => self.interval = *interval,
            Command::Closely(true) => self.closely += 1,
            Command::Closely(false) => self.closely = self.closely.saturating_sub(1),
        }
    }

    /// The time from one question to the next.
    fn wait(&self) -> Duration {
        match (self.failures, self.closely) {
            (0, 0) => self.interval,
            (0, _) => CLOSE.min(self.interval),
            (failures, _) => (FIRST_PAUSE * 2_u32.pow((failures - 1).min(8))).min(LONGEST_PAUSE),
        }
    }

    fn look(&mut self) {
        let begun = Instant::now();
        lock(&self.state).asked = Some(begun);
        match self.ask(begun) {
            Ok(sample) => self.answered(sample),
            Err(error) => self.failed(&error, begun.elapsed()),
        }
    }

    fn ask(&mut self, begun: Instant) -> anyhow::Result<ServerSample> {
        let at = Timestamp::now();
        let interview = match self.interview.take().filter(Interview::goes_on) {
            Some(interview) => self.interview.insert(interview),
            None => {
                let access = (self.access)(&self.name, &self.target)?;
                self.interview
                    .insert(Interview::begin(Access { daemon: Some(self.owner.daemon.uuid), ..access })?)
            }
        };
        let mut status = interview.status()?;
        // It is up; what else it is asked for may fail without changing that.
        lock(&self.state).asked = None;
        let (own_running, replicas) = interview.processes();
        let sees_all = interview.counters(&mut status);
        let channels = interview.channels();
        let mut sample = ServerSample {
            at,
            moment: moment(self.begun, begun),
            took: begun.elapsed(),
            about: interview.about(),
            status,
            own_running,
            replicas: replicas.filter(|_| sees_all),
            channels,
            role: None,
            unit: None,
            holdings: interview.holdings(&self.name, &self.owner, self.closely > 0),
        };
        if interview.is_local() {
            let unit = unit::find(&self.sys, &sample.about.pid_file);
            sample.unit = unit.and_then(|unit| unit::read(&self.sys, &unit));
        }
        // What was cut short says nothing about a role that was found before.
        let before = || lock(&self.state).recent.newest().and_then(|last| last.role);
        sample.role = if interview.goes_on() { sample.found() } else { before() };
        Ok(sample)
    }

    fn answered(&mut self, sample: ServerSample) {
        let mut state = lock(&self.state);
        (state.up, state.asked) = (true, None);
        (state.answered, state.took) = (Some(sample.at), sample.took);
        let longest = state.longest_window;
        state.recent.push(Arc::new(sample), longest);
        drop(state);
        self.failures = 0;
        if self.complaint.take().is_some() {
            log::info!("target {}: the server answers again", self.name);
        }
        let complaints = self.interview.as_mut().map(|interview| std::mem::take(&mut interview.complaints));
        for (topic, complaint) in complaints.unwrap_or_default() {
            if self.lacking.insert(topic, complaint.clone()).is_none() {
                log::warn!("target {}: {complaint}", self.name);
            }
        }
    }

    fn failed(&mut self, error: &anyhow::Error, took: Duration) {
        let mut state = lock(&self.state);
        (state.up, state.asked, state.took) = (false, None, took);
        drop(state);
        self.interview = None;
        self.failures += 1;
        let complaint = format!("{error:#}");
        if self.complaint.as_ref() != Some(&complaint) {
            log::warn!("target {} is not observed: {complaint}", self.name);
            self.complaint = Some(complaint);
        }
    }
}
