//! Writing to standard output.

use std::io::{self, Write};

use anyhow::{Context, Result};

use crate::exit::Exit;

/// Writes text to standard output; a reader that went away (`| head`) ends the command without a complaint.
pub(crate) fn print(text: &str) -> Result<Exit> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("write to standard output")
        }
        _ => Ok(Exit::Done),
    }
}

/// Writes a value as JSON.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<Exit> {
    let mut text = serde_json::to_string(value).context("write JSON")?;
    text.push('\n');
    print(&text)
}

pub(crate) use crate::text::{local_time, or_dash, table, took};
