//! `window`: a run starts only at the time of day its suite allows.

use jiff::Timestamp;

use super::{Found, Guard, Situation};
use crate::config::{AD_HOC, Suite};
use crate::record::Profile;
use crate::schedule::Window;

pub(super) const GUARD: Guard =
    Guard { name: "window", about: "a run starts only inside its suite's window", check };

/// Window of canary suites that state none: the quiet hours of most hosts.
const CANARY_WINDOW: &str = "02:00-05:00";

/// The window of a suite as it is written, its profile's when it states none; empty is any time. A benchmark that
/// a person asks for without a suite has none: they are there and watch.
pub fn window_of(suite: &Suite) -> &str {
    match (suite.window.as_deref(), suite.profile) {
        (Some(window), _) if !window.is_empty() => window,
        (_, Profile::Canary) if suite.name != AD_HOC => CANARY_WINDOW,
        (_, Profile::Canary) => "",
        (_, Profile::Maintenance | Profile::Lab) => "",
    }
}

/// Whether a run of the suite may start at an instant, by the time of day alone.
pub fn window_is_open(suite: &Suite, at: Timestamp) -> bool {
    Window::parse(window_of(suite), suite.timezone.as_deref().unwrap_or_default())
        .is_ok_and(|window| window.is_open(at))
}

fn check(situation: &Situation<'_>) -> Found {
    let written = window_of(situation.suite);
    if written.is_empty() {
        return Found::NotConcerned;
    }
    let window = match Window::parse(written, situation.suite.timezone.as_deref().unwrap_or_default()) {
        Ok(window) => window,
        Err(problems) => return unreadable(written, &problems),
    };
    let clock = situation.now.to_zoned(window.zone().clone()).strftime("%H:%M %Z").to_string();
    if window.is_open(situation.now) {
        return Found::Holds { measured: clock, limit: written.to_owned() };
    }
    let opens = window
        .opens(situation.now)
        .map(|at| at.to_zoned(window.zone().clone()).strftime("%a %H:%M").to_string());
    let opens = opens.unwrap_or_else(|| "never".to_owned());
    Found::Violated {
        measured: clock,
        limit: written.to_owned(),
        advice: format!("it opens {opens}; wait for it with --wait, or run now with --override window"),
    }
}

/// The configuration refuses such a window; a guard that cannot see blocks all the same.
fn unreadable(written: &str, problems: &[crate::schedule::TimingProblem]) -> Found {
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Found::Violated {
        measured: written.to_owned(),
        limit: "HH:MM-HH:MM".to_owned(),
        advice: problems.join("; "),
    }
}
