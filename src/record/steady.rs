//! What is stored of the question whether a measured part was steady.

use serde::{Deserialize, Serialize};

/// Whether the measured part was steady, judged by its throughput.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    /// Nothing was found that makes one number for the whole part misleading.
    pub steady: bool,
    /// So much of its beginning was not yet steady, in seconds. It is counted in everything but `per_second`.
    pub cut_seconds: f64,
    /// Operations a second after that beginning.
    pub per_second: f64,
    /// Change of the throughput from there to the end, relative to it.
    pub drift: f64,
    /// Why it was not steady, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
