//! A run redrawn in place: the finished cases stay above, the present one moves.

use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};

use super::Display;
use crate::record::{Event, Interval, Stage};
use crate::run::{line, progress};
use crate::text::number;

/// Steps of a bar: enough for the eye.
const STEPS: u64 = 1000;
/// How often a bar without news moves.
const TICK: Duration = Duration::from_millis(200);

/// One bar for the present case.
#[derive(Default)]
pub(super) struct Bars {
    bar: Option<ProgressBar>,
    stage_began: f64,
    planned: Option<f64>,
}

impl Display for Bars {
    fn show(&mut self, event: &Event) -> Result<()> {
        match event {
            Event::Stage { t, case, index, of, stage, planned_seconds } => {
                self.enter(*t, &format!("{case} ({index} of {of})"), *stage, *planned_seconds)
            }
            Event::Progress { done, of, unit, per_second, .. } => {
                let message = progress(*done, *of, unit, *per_second);
                self.advance(*done as f64 / (*of).max(1) as f64, message);
                Ok(())
            }
            Event::Interval { t, interval, .. } => {
                let share = self.planned.map_or(0.0, |planned| (t - self.stage_began) / planned.max(0.001));
                self.advance(share, moment(interval));
                Ok(())
            }
            other => self.above(other),
        }
    }
}

impl Bars {
    fn enter(&mut self, t: f64, case: &str, stage: Stage, planned: Option<f64>) -> Result<()> {
        (self.stage_began, self.planned) = (t, planned);
        let style = ProgressStyle::with_template("▶ {prefix} {bar:24} {msg}").context("draw a bar")?;
        let bar = self.bar.get_or_insert_with(|| ProgressBar::new(STEPS));
        bar.set_style(style);
        bar.set_prefix(format!("{case:<28} {stage:<8}"));
        bar.set_position(0);
        bar.set_message("");
        bar.enable_steady_tick(TICK);
        Ok(())
    }

    fn advance(&self, share: f64, message: String) {
        let Some(bar) = &self.bar else { return };
        bar.set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64);
        bar.set_message(message);
    }

    /// Lines that stay; the bar makes room for them and goes away at the end.
    fn above(&mut self, event: &Event) -> Result<()> {
        if let (Event::Result { .. } | Event::End { .. }, Some(bar)) = (event, self.bar.take()) {
            bar.finish_and_clear();
        }
        let Some(line) = line(event) else { return Ok(()) };
        let print = || crate::cli::text::print(&format!("{line}\n")).map(drop);
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

/// What one interval looked like.
fn moment(interval: &Interval) -> String {
    let speed = interval.operations as f64 / interval.seconds.max(f64::MIN_POSITIVE);
    let ms = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |seconds| number(seconds * 1e3));
    let errors: u64 = interval.errors.values().sum();
    format!(
        "{}/s  p95 {} ms  max {} ms  err {errors}",
        number(speed),
        ms(interval.response.p95),
        ms(interval.response.max)
    )
}
