//! `/proc/loadavg`.

use crate::sample::Root;
use crate::sample::file::{KeptFile, ReadError};
use crate::sample::raw::Load;

pub(super) struct Source(KeptFile);

impl Source {
    pub(super) fn new(root: &Root) -> Source {
        Source(KeptFile::required(root.proc.join("loadavg")))
    }

    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Load, ReadError> {
        let mut line = self.0.read(buffer)?.first_line();
        Ok(Load {
            one: line.fraction("1 minute load average")?,
            five: line.fraction("5 minute load average")?,
            fifteen: line.fraction("15 minute load average")?,
        })
    }
}
