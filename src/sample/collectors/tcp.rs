//! `/proc/net/snmp` and `/proc/net/netstat`: segments sent, sent again, and connections that were not accepted.

use crate::sample::Root;
use crate::sample::file::{KeptFile, Line, ReadError};
use crate::sample::raw::Tcp;

pub(super) struct Source {
    snmp: KeptFile,
    netstat: KeptFile,
}

impl Source {
    pub(super) fn new(root: &Root) -> Source {
        let file = |name: &str| KeptFile::optional(root.proc.join("net").join(name));
        Source { snmp: file("snmp"), netstat: file("netstat") }
    }

    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Tcp, ReadError> {
        let [sent_segments, retransmitted_segments] =
            values(&mut self.snmp, buffer, b"Tcp:", ["OutSegs", "RetransSegs"])?;
        let [listen_overflows, listen_drops] =
            values(&mut self.netstat, buffer, b"TcpExt:", ["ListenOverflows", "ListenDrops"])?;
        Ok(Tcp { sent_segments, retransmitted_segments, listen_overflows, listen_drops })
    }
}

/// The named values of a section, which is a line of names and a line of numbers below it.
fn values<const N: usize>(
    file: &mut KeptFile,
    buffer: &mut Vec<u8>,
    section: &[u8],
    wanted: [&str; N],
) -> Result<[Option<u64>; N], ReadError> {
    let mut lines = file.read(buffer)?.filter_map(|mut line| (line.word() == Some(section)).then_some(line));
    match (lines.next(), lines.next()) {
        (Some(names), Some(numbers)) => pick(names, numbers, wanted),
        _ => Ok([None; N]),
    }
}

fn pick<const N: usize>(
    mut names: Line<'_>,
    mut numbers: Line<'_>,
    wanted: [&str; N],
) -> Result<[Option<u64>; N], ReadError> {
    let mut found = [None; N];
    while let Some(name) = names.word() {
        match wanted.iter().position(|wanted| wanted.as_bytes() == name) {
            Some(index) => found[index] = Some(numbers.number(wanted[index])?),
            None => {
                numbers.word();
            }
        }
    }
    Ok(found)
}
