//! A run as lines of text.

use anyhow::Result;

use super::Display;
use crate::cli::text;
use crate::record::Event;
use crate::run::line;

/// One line an interval (or none), one a case, one at the end.
pub(super) struct Lines {
    pub(super) intervals: bool,
}

impl Display for Lines {
    fn show(&mut self, event: &Event) -> Result<()> {
        let line = match event {
            Event::Interval { .. } | Event::Progress { .. } if !self.intervals => None,
            event => line(event),
        };
        match line {
            Some(line) => text::print(&format!("{line}\n")).map(drop),
            None => Ok(()),
        }
    }
}
