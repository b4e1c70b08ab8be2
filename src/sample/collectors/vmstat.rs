//! `/proc/vmstat`: events of the memory management.

use crate::sample::Root;
use crate::sample::file::{KeptFile, ReadError};
use crate::sample::raw::Vmstat;

pub(super) struct Source(KeptFile);

impl Source {
    pub(super) fn new(root: &Root) -> Source {
        Source(KeptFile::optional(root.proc.join("vmstat")))
    }

    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Vmstat, ReadError> {
        let mut events = Vmstat::default();
        for mut line in self.0.read(buffer)? {
            let field = match line.word() {
                Some(b"pgmajfault") => &mut events.major_faults,
                Some(b"pswpin") => &mut events.swap_in,
                Some(b"pswpout") => &mut events.swap_out,
                Some(b"oom_kill") => &mut events.oom_kills,
                _ => continue,
            };
            *field = Some(line.number("value")?);
        }
        Ok(events)
    }
}
