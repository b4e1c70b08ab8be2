//! Shows a run while it goes on: bars on a terminal, lines elsewhere, JSON for programs.

mod bars;
mod lines;

use std::io::IsTerminal;

use anyhow::Result;
use clap::ValueEnum;
use tokio::sync::{broadcast, mpsc};

use super::{Output, text};
use crate::exit::Exit;
use crate::record::{Event, Outcome};
use crate::run::Follow;

/// Events that may wait for a slow terminal.
const WAITING_EVENTS: usize = 256;

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    /// Bars on a terminal, lines elsewhere
    Auto,
    /// Redrawn in place
    Bars,
    /// One line an interval
    Lines,
    /// Only the result of each case
    None,
}

/// Shows events as they come.
trait Display {
    fn show(&mut self, event: &Event) -> Result<()>;
}

/// Follows a run until its end and shows it; gives the exit code its outcome stands for.
pub(crate) async fn follow(
    mut events: mpsc::Receiver<Event>,
    output: Output,
    progress: Progress,
) -> Result<Exit> {
    let mut display = display(output, progress);
    let mut exit = None;
    while let Some(event) = events.recv().await {
        display.show(&event)?;
        if let Event::End { outcome, .. } = &event {
            exit = Some(exit_for(*outcome));
            break;
        }
    }
    exit.ok_or_else(|| {
        anyhow::anyhow!("the daemon went away before the run ended; finished cases are kept: benchd list")
    })
}

fn display(output: Output, progress: Progress) -> Box<dyn Display> {
    let bars = match progress {
        Progress::Auto => std::io::stderr().is_terminal() && std::io::stdout().is_terminal(),
        Progress::Bars => true,
        Progress::Lines | Progress::None => false,
    };
    match output {
        Output::Jsonl => Box::new(JsonLines),
        Output::Json => Box::new(Silent),
        Output::Text if bars => Box::new(bars::Bars::default()),
        Output::Text => Box::new(lines::Lines { intervals: progress != Progress::None }),
    }
}

/// The exit code an outcome stands for.
pub(crate) fn exit_for(outcome: Outcome) -> Exit {
    match outcome {
        Outcome::Finished => Exit::Done,
        Outcome::Failed => Exit::Failed,
        Outcome::Blocked => Exit::Blocked,
        Outcome::Aborted | Outcome::Cancelled => Exit::Stopped,
    }
}

/// Every event as one JSON object a line.
struct JsonLines;

impl Display for JsonLines {
    fn show(&mut self, event: &Event) -> Result<()> {
        text::print_json(event).map(drop)
    }
}

/// Nothing until the end.
struct Silent;

impl Display for Silent {
    fn show(&mut self, _event: &Event) -> Result<()> {
        Ok(())
    }
}

/// The events of a run in this process, as a command follows them.
pub(crate) fn from_this_process(follow: Follow) -> mpsc::Receiver<Event> {
    let (sender, events) = mpsc::channel(WAITING_EVENTS);
    tokio::spawn(async move {
        for (_, event) in follow.past {
            if sender.send(event).await.is_err() {
                return;
            }
        }
        let Some(mut coming) = follow.coming else { return };
        loop {
            match coming.recv().await {
                Ok((_, event)) => {
                    if sender.send(event).await.is_err() {
                        return;
                    }
                }
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    });
    events
}
