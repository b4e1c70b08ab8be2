//! What the configuration knows of workloads: their names, their keys, and a judge of their values.

use crate::record::Parameters;

/// The workloads that exist.
pub trait Catalogue {
    /// Their names.
    fn workloads(&self) -> Vec<&'static str>;

    /// Every key of a workload with its default; `None` when there is no such workload.
    fn defaults(&self, workload: &str) -> Option<Parameters>;

    /// Where its load goes.
    fn needs(&self, workload: &str) -> Needs;

    /// Checks the values of all keys of a case.
    ///
    /// # Errors
    /// The first key whose value cannot be.
    fn check(&self, workload: &str, parameters: &Parameters) -> Result<(), ParameterError>;
}

/// What a workload loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The host itself.
    Nothing,
    /// A database server.
    Server,
    /// Files in a directory.
    Directory,
}

impl Needs {
    /// In a sentence: `a server`.
    pub const fn in_words(self) -> &'static str {
        match self {
            Needs::Nothing => "no target",
            Needs::Server => "a server",
            Needs::Directory => "a directory",
        }
    }
}

/// A value that a workload cannot run with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}: {hint}")]
pub struct ParameterError {
    /// The key that holds it.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub hint: String,
}
