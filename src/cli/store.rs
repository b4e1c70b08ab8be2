//! `benchd store`: the result store beside the daemon that writes it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;

use super::source::nothing_there;
use super::{Common, Output, local, text};
use crate::exit::Exit;
use crate::record::SCHEMA;
use crate::store::{Census, Reader};
use crate::text::counted;
use crate::units::Bytes;

/// The result store: its size, a copy of it, a look through all of it
#[derive(Debug, clap::Args)]
pub(crate) struct Store {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Where it is and how much it holds
    Info,
    /// Write a copy as of now, also while the daemon runs; it can take the store's place
    Backup {
        /// The file to make
        file: PathBuf,
    },
    /// Look through all of it; exit 1 when it is damaged
    Verify,
}

impl Store {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        let path = local::store_path(&common.load()?.config)?;
        if !path.exists() {
            return Err(nothing_there(&path));
        }
        let reader = Reader::open(&path)?;
        match &self.what {
            What::Info => info(&path, &reader.census()?, common.output),
            What::Backup { file } => backup(&reader, &path, file, common.output),
            What::Verify => verify(&reader, &path, common.output),
        }
    }
}

fn info(path: &Path, census: &Census, output: Output) -> Result<Exit> {
    if output != Output::Text {
        return text::print_json(&json!({
            "schema": SCHEMA, "cmd": "store info", "path": path, "bytes": census.bytes, "series_bytes": census.series_bytes,
            "runs": census.runs, "records": census.records, "records_with_series": census.detailed, "oldest": census.oldest,
        }));
    }
    let since =
        census.oldest.map(|oldest| format!(" since {}", text::local_time(oldest))).unwrap_or_default();
    text::print(&format!(
        "{}: {}, {}, {}{since}; series of {} ({})\n",
        path.display(),
        size(census.bytes),
        counted(census.runs, "run"),
        counted(census.records, "record"),
        counted(census.detailed, "record"),
        size(census.series_bytes),
    ))
}

fn backup(reader: &Reader, path: &Path, file: &Path, output: Output) -> Result<Exit> {
    reader.copy_to(file)?;
    let bytes = file.metadata().with_context(|| format!("examine {}", file.display()))?.len();
    if output != Output::Text {
        return text::print_json(&json!({
            "schema": SCHEMA, "cmd": "store backup", "path": path, "file": file, "bytes": bytes,
        }));
    }
    text::print(&format!("{}: {} of {}\n", file.display(), size(bytes), path.display()))
}

fn verify(reader: &Reader, path: &Path, output: Output) -> Result<Exit> {
    let damage = reader.damage()?;
    let exit = if damage.is_empty() { Exit::Done } else { Exit::Failed };
    if output != Output::Text {
        text::print_json(
            &json!({ "schema": SCHEMA, "cmd": "store verify", "path": path, "ok": damage.is_empty(), "damage": damage }),
        )?;
    } else if damage.is_empty() {
        text::print(&format!("{} is whole\n", path.display()))?;
    } else {
        let advice =
            "stop the daemon, move the file away with its -wal and -shm, and put a backup in its place";
        text::print(&format!("{} is damaged; {advice}:\n{}\n", path.display(), damage.join("\n")))?;
    }
    Ok(exit)
}

fn size(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / Bytes::from_mib(1).get() as f64)
}
