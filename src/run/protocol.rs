//! What the processes of a run say to each other: one JSON object a line, at most [`LINE_LIMIT`] long.
//!
//! The first line both ways is a greeting with the version; a peer of another version (an upgrade under way)
//! refuses the run. Secrets travel only inside the request.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Read, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::recover::LeftOver;
use crate::config::Limits;
use crate::driver::Observed;
use crate::record::{CaseRecord, CaseResult, Event, Failure, Parameters, Profile, RunId};
use crate::target::{Access, DirectoryOptions, ScratchOptions, Way};

/// Longest line either side accepts, in bytes.
pub const LINE_LIMIT: u64 = 4 << 20;

/// Version of the protocol; the program's version must agree as well.
const PROTOCOL: u32 = 3;

/// The first line of each side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    protocol: u32,
    version: String,
    /// Process id of the speaker.
    pub pid: u32,
}

impl Hello {
    /// The greeting of this process.
    pub fn here() -> Hello {
        Hello { protocol: PROTOCOL, version: crate::VERSION.to_owned(), pid: std::process::id() }
    }

    /// Refuses a peer of another version.
    ///
    /// # Errors
    /// When protocol or program version differ.
    pub fn check(&self) -> Result<()> {
        let here = Hello::here();
        if (self.protocol, &self.version) != (here.protocol, &here.version) {
            bail!(
                "this is benchd {} (protocol {}), the other side is {} (protocol {}): an upgrade is under way; restart the service",
                here.version,
                here.protocol,
                self.version,
                self.protocol
            );
        }
        Ok(())
    }
}

/// Everything a worker needs to know for one run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunRequest {
    /// The run's id.
    pub id: RunId,
    /// The suite's name.
    pub suite: String,
    /// The cases in the order in which they run.
    pub cases: Vec<CaseRequest>,
    /// The targets they name.
    pub targets: BTreeMap<String, TargetRequest>,
    /// Where benchd keeps its own files: ownership manifests, scratch servers without a directory.
    pub state_directory: PathBuf,
    /// Who this benchd is; owns what the run creates.
    pub identity: Uuid,
    /// Name of the host, for ownership marks.
    pub host: String,
    /// How much the run may take.
    pub profile: Profile,
    /// How much of the host its load may take.
    pub limits: Limits,
    /// Whether the first failed case ends the run.
    pub stop_on_failure: bool,
}

/// One case of a request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CaseRequest {
    /// Its name.
    pub name: String,
    /// The kind of load.
    pub workload: String,
    /// Where it goes.
    pub target: Option<String>,
    /// Every parameter.
    pub parameters: Parameters,
}

/// Where load goes, with all that is needed to get there.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetRequest {
    /// A server that exists.
    Server {
        /// How to reach it.
        access: Access,
        /// Load it although the account may do far more than it needs.
        accept_excess_privileges: bool,
    },
    /// A throw-away server the worker starts.
    Scratch(ScratchOptions),
    /// A directory for files of the load.
    Directory(DirectoryOptions),
}

/// What is to be ended and removed of scratch servers that earlier runs left.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClearRequest {
    /// Who this benchd is; nothing of anybody else is touched.
    pub identity: Uuid,
    /// Directories of scratch servers.
    pub directories: BTreeSet<PathBuf>,
    /// Targets whose data does not stay.
    pub not_kept: BTreeSet<String>,
}

/// What a worker is told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToWorker {
    /// The greeting.
    Hello(Hello),
    /// The run.
    Run(Box<RunRequest>),
    /// No run: what earlier ones left.
    Clear(ClearRequest),
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromWorker {
    /// The greeting.
    Hello(Hello),
    /// Something happened.
    Event(Event),
    /// A case ended; its record, whole.
    Case(Box<CaseRecord>),
    /// Something that an earlier run left was ended or removed.
    LeftOver(LeftOver),
    /// Bytes that the run has written so far, its load and its scratch servers included.
    Written(u64),
    /// The run ended and everything is cleaned up; what went wrong beside the cases.
    Ended(Option<Failure>),
}

/// What a load process is told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToLoad {
    /// The greeting.
    Hello(Hello),
    /// The case, with the way to its target.
    Case(Box<LoadRequest>),
}

/// One case for a load process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LoadRequest {
    pub(crate) workload: String,
    pub(crate) parameters: Parameters,
    pub(crate) way: Option<Way>,
    pub(crate) limits: Limits,
}

/// What a load process says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromLoad {
    /// The greeting.
    Hello(Hello),
    /// One interval of load.
    Observed(Box<Observed>),
    /// What came of it; the last line.
    Ended(Box<LoadEnd>),
}

/// What came of a load.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LoadEnd {
    pub(crate) result: Option<CaseResult>,
    pub(crate) failure: Option<LoadFailure>,
    /// What of the limits holds, and what does not and why.
    #[serde(default)]
    pub(crate) limits: BTreeMap<String, String>,
}

/// Why a load did not finish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoadFailure {
    pub(crate) stopped: bool,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// Writes one message as a line and sends it off.
///
/// # Errors
/// When the other side is gone.
pub(crate) fn write_line(output: &mut impl Write, message: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(message).context("write a message as JSON")?;
    line.push(b'\n');
    output.write_all(&line).and_then(|()| output.flush()).context("write a line to the other process")
}

/// Reads the next message; `None` at the end of input.
///
/// # Errors
/// When a line is too long, cut off, or not the message expected.
pub(crate) fn read_line<T: DeserializeOwned>(input: &mut impl BufRead) -> Result<Option<T>> {
    let mut line = Vec::new();
    input.take(LINE_LIMIT).read_until(b'\n', &mut line).context("read a line from the other process")?;
    if line.is_empty() {
        return Ok(None);
    }
    parse_line(&line).map(Some)
}

/// Reads one complete line as a message.
///
/// # Errors
/// When the line is too long, cut off, or not the message expected.
pub(crate) fn parse_line<T: DeserializeOwned>(line: &[u8]) -> Result<T> {
    if line.last() != Some(&b'\n') {
        bail!("a line from the other process is cut off after {} bytes (limit {LINE_LIMIT})", line.len());
    }
    serde_json::from_slice(line).context("a line from the other process is not a message of this protocol")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_through_and_the_end_is_told_from_a_broken_line() {
        let mut wire = Vec::new();
        write_line(&mut wire, &FromWorker::Ended(None)).unwrap();
        wire.extend_from_slice(b"{\"ended\":nu");
        let mut input = wire.as_slice();
        assert!(matches!(read_line(&mut input).unwrap(), Some(FromWorker::Ended(None))));
        assert!(read_line::<FromWorker>(&mut input).unwrap_err().to_string().contains("cut off"));
        assert!(read_line::<FromWorker>(&mut input).unwrap().is_none());
    }

    #[test]
    fn another_version_is_refused_with_what_to_do() {
        let other = Hello { protocol: PROTOCOL, version: "0.0.0".to_owned(), pid: 1 };
        assert!(other.check().unwrap_err().to_string().contains("restart the service"));
        Hello::here().check().unwrap();
    }

    #[test]
    fn a_line_beyond_the_limit_is_refused_not_swallowed() {
        let long = vec![b'x'; usize::try_from(LINE_LIMIT).unwrap() + 1];
        assert!(read_line::<FromWorker>(&mut long.as_slice()).unwrap_err().to_string().contains("limit"));
    }
}
