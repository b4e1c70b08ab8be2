//! Packets over a stream: one buffer for what is read, and one for what is written.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::time::{Duration, Instant};

use super::crowd::Member;
use super::stream::Stream;
use crate::system::prefetch;

/// Bytes before each packet: its length in three, and its number in one.
pub(super) const HEADER: usize = 4;
/// The longest payload of one packet. One as long as this is continued by the next packet.
const LONGEST: usize = 0xff_ffff;
/// Bytes read at once at most. A hundred rows of sysbench's tables fit. Longer packets are skimmed: only their
/// beginning is looked at.
const READ_BUFFER: usize = 16 << 10;
/// Larger buffers than this are given back after they were sent.
pub(super) const WRITE_BUFFER: usize = 1 << 20;
/// First byte of a packet that carries an error.
pub(super) const ERROR: u8 = 0xff;

/// The packet that was read last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet<'a> {
    /// Its payload, or as much of its beginning as fits in the buffer.
    pub(super) body: &'a [u8],
    /// Bytes of its whole payload; of a continued one, those of its first part.
    pub(super) length: usize,
}

impl Packet<'_> {
    /// Whether it is the first of several that make up one payload.
    pub(super) fn is_continued(&self) -> bool {
        self.length == LONGEST
    }
}

/// What is left of a packet.
#[derive(Debug, Clone, Copy)]
struct Rest {
    /// Bytes of it that were not read yet.
    unread: usize,
    /// Whether another packet continues it.
    continued: bool,
}

/// The two directions of a connection.
#[derive(Debug)]
pub(super) struct Channel {
    stream: Stream,
    read: Box<[u8]>,
    /// What was read and not yet looked at, within `read`.
    held: Range<usize>,
    /// What is left of the present packet, where not all of it fitted.
    rest: Option<Rest>,
    write: Vec<u8>,
    /// The number of the next packet in this exchange, in either direction.
    number: u8,
    crowd: Member,
}

impl Channel {
    /// A channel over a stream, with an exchange of the given limit under way since that instant.
    pub(super) fn new(stream: Stream, limit: Duration, begun: Instant) -> io::Result<Channel> {
        let limited = stream.limited();
        limited.set_limit(limit);
        limited.begin_at(begun);
        limited.watch()?;
        Ok(Channel {
            stream,
            read: vec![0; READ_BUFFER].into_boxed_slice(),
            held: 0..0,
            rest: None,
            write: Vec::new(),
            number: 0,
            crowd: Member::new(),
        })
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Puts another stream in the place of this one, as TLS does. What came before it in the clear was not sent
    /// by the peer that TLS proves, so there must be none.
    pub(super) fn replace(self, change: impl FnOnce(Stream) -> io::Result<Stream>) -> io::Result<Channel> {
        if !self.held.is_empty() || self.rest.is_some() {
            return Err(not_understood("more than a greeting came before TLS"));
        }
        Ok(Channel { stream: change(self.stream)?, ..self })
    }

    /// Changes the limit.
    pub(super) fn set_limit(&mut self, limit: Duration) {
        self.stream.limited().set_limit(limit);
    }

    /// The exchange is over: the connection may rest as long as it likes.
    #[inline]
    pub(super) fn end(&self) {
        self.stream.limited().end();
    }

    /// Begins an exchange and sends a command, which `write` appends to the buffer it is given.
    pub(super) fn command(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.begin()?;
        self.send(write)
    }

    #[inline(always)]
    fn begin(&mut self) -> io::Result<()> {
        self.stream.limited().begin();
        if !(self.held.is_empty() && self.rest.is_none()) {
            self.clear()?;
        }
        self.number = 0;
        Ok(())
    }

    /// Gets rid of what is left of the exchange before. A server that ends a connection says why unasked: that is kept, to
    /// be the next packet that is read.
    #[cold]
    fn clear(&mut self) -> io::Result<()> {
        self.discard()?;
        let unasked = self.read.get(self.held.start + HEADER).filter(|_| !self.held.is_empty());
        if unasked.is_some_and(|first| *first != ERROR) {
            return Err(not_understood("more came than was asked for"));
        }
        Ok(())
    }

    /// Begins an exchange and sends a packet, which has the place of its header before it.
    #[inline(always)]
    pub(super) fn command_packet(&mut self, packet: &mut [u8]) -> io::Result<()> {
        self.begin()?;
        let sent = self.write_packet(packet);
        self.explain(sent)
    }

    /// Sends a packet within an exchange.
    pub(super) fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.write);
        buffer.clear();
        buffer.extend_from_slice(&[0; HEADER]);
        write(&mut buffer);
        let sent = self.write_packet(&mut buffer);
        if buffer.capacity() <= WRITE_BUFFER {
            self.write = buffer;
        }
        self.explain(sent)
    }

    #[inline(always)]
    fn write_packet(&mut self, packet: &mut [u8]) -> io::Result<()> {
        let Some((place, payload)) = packet.split_first_chunk_mut::<HEADER>() else { return Ok(()) };
        if payload.len() >= LONGEST {
            return self.write_parts(payload);
        }
        *place = header(payload.len(), self.number);
        self.number = self.number.wrapping_add(1);
        write_all(&mut self.stream, packet)
    }

    /// Writes a payload that needs several packets; the last of them is shorter than the longest, perhaps empty.
    fn write_parts(&mut self, mut rest: &[u8]) -> io::Result<()> {
        loop {
            let (part, after) = rest.split_at(rest.len().min(LONGEST));
            write_all(&mut self.stream, &header(part.len(), self.number))?;
            // Who has read the header of an empty part may hang up.
            if !part.is_empty() {
                write_all(&mut self.stream, part)?;
            }
            self.number = self.number.wrapping_add(1);
            if part.len() < LONGEST {
                return Ok(());
            }
            rest = after;
        }
    }

    #[inline(always)]
    fn explain(&mut self, sent: io::Result<()>) -> io::Result<()> {
        sent.or_else(|error| self.find_out(error))
    }

    /// Finds out why nothing could be sent: who ends a connection may have said so before.
    #[cold]
    fn find_out(&mut self, error: io::Error) -> io::Result<()> {
        let error = self.failure(error);
        match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => self.fill().map_err(|_| error),
            _ => Err(error),
        }
    }

    /// What an error of the stream means: that it was late, if it was shut down for that.
    #[cold]
    fn failure(&self, error: io::Error) -> io::Error {
        if self.stream.limited().is_late() { io::ErrorKind::TimedOut.into() } else { error }
    }

    /// Waits until there is a packet to read.
    #[inline(always)]
    pub(super) fn await_answer(&mut self) -> io::Result<()> {
        while self.held.len() < HEADER {
            self.fill_here()?;
        }
        Ok(())
    }

    /// Reads the next packet.
    pub(super) fn next(&mut self) -> io::Result<Packet<'_>> {
        match self.take_whole() {
            Some(place) => {
                let body = self.read.get(place).unwrap_or_default();
                Ok(Packet { body, length: body.len() })
            }
            None => self.next_in_parts(),
        }
    }

    /// Where the payload of the next packet is, if all of it is held and it is the one that is due, as nearly always.
    #[inline(always)]
    fn take_whole(&mut self) -> Option<Range<usize>> {
        if self.rest.is_some() {
            return None;
        }
        let (header, payload) = self.read.get(self.held.clone())?.split_first_chunk::<HEADER>()?;
        let (length, number) = parse(*header);
        if length > payload.len() || number != self.number {
            return None;
        }
        self.number = number.wrapping_add(1);
        let start = self.held.start + HEADER;
        self.held.start = start + length;
        Some(start..self.held.start)
    }

    /// Reads the next packet, or as much of its beginning as fits.
    #[cold]
    fn next_in_parts(&mut self) -> io::Result<Packet<'_>> {
        self.discard()?;
        let (length, in_order) = self.read_header()?;
        let most = length.min(READ_BUFFER - HEADER);
        self.hold(most)?;
        let start = self.held.start;
        self.held.start += most;
        let (unread, continued) = (length - most, length == LONGEST);
        self.rest = (unread > 0 || continued).then_some(Rest { unread, continued });
        let body = self.read.get(start..start + most).unwrap_or_default();
        // An error may come unasked, without regard to the exchange it ends.
        if !in_order && body.first() != Some(&ERROR) {
            return Err(not_understood("its packets are out of order"));
        }
        Ok(Packet { body, length })
    }

    /// Reads what is left of the present packet, and those that continue it.
    fn discard(&mut self) -> io::Result<()> {
        while let Some(Rest { unread, continued }) = self.rest {
            if unread > 0 {
                self.hold(1)?;
                let passed = unread.min(self.held.len());
                self.held.start += passed;
                self.rest = Some(Rest { unread: unread - passed, continued });
            } else if continued {
                let (unread, in_order) = self.read_header()?;
                if !in_order {
                    return Err(not_understood("its packets are out of order"));
                }
                self.rest = Some(Rest { unread, continued: unread == LONGEST });
            } else {
                self.rest = None;
            }
        }
        Ok(())
    }

    /// Reads a packet's header: the length of its payload, and whether it has the number that was due.
    fn read_header(&mut self) -> io::Result<(usize, bool)> {
        self.hold(HEADER)?;
        let header = self.read[self.held.start..].first_chunk().copied().unwrap_or_default();
        let (length, number) = parse(header);
        let in_order = number == self.number;
        self.number = number.wrapping_add(1);
        self.held.start += HEADER;
        Ok((length, in_order))
    }

    /// Sees that so many bytes are held; they fit in the buffer.
    fn hold(&mut self, bytes: usize) -> io::Result<()> {
        while self.held.len() < bytes {
            self.fill()?;
        }
        Ok(())
    }

    /// Makes room behind what is held.
    #[cold]
    fn move_to_front(&mut self) {
        self.read.copy_within(self.held.clone(), 0);
        self.held = 0..self.held.len();
    }

    /// Reads as much as there is and fits, at least one byte.
    fn fill(&mut self) -> io::Result<()> {
        self.fill_here()
    }

    /// Does so without a call: after a wait the processor no longer knows where each of the calls under way returns to.
    #[inline(always)]
    fn fill_here(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            self.held = 0..0;
        } else if self.held.start > 0 {
            self.move_to_front();
        }
        loop {
            let waited = if self.crowd.is_in_crowd() { self.stream.wait() } else { Ok(()) };
            match waited.and_then(|()| self.stream.read(&mut self.read[self.held.end..])) {
                Ok(0) => return Err(self.failure(io::ErrorKind::UnexpectedEof.into())),
                Ok(bytes) => {
                    // During the wait others have driven it out of the caches.
                    prefetch(self);
                    self.held.end += bytes;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failure(error)),
            }
        }
    }
}

#[inline(always)]
fn write_all(stream: &mut Stream, bytes: &[u8]) -> io::Result<()> {
    match stream.write(bytes) {
        Ok(written) if written == bytes.len() => Ok(()),
        begun => write_on(stream, bytes, begun),
    }
}

/// Goes on writing after a call that wrote too little.
#[cold]
fn write_on(stream: &mut Stream, mut bytes: &[u8], mut last: io::Result<usize>) -> io::Result<()> {
    loop {
        match last {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if bytes.is_empty() {
            return Ok(());
        }
        last = stream.write(bytes);
    }
}

/// The length of the payload after a header, and the packet's number.
#[inline]
fn parse([low, middle, high, number]: [u8; HEADER]) -> (usize, u8) {
    (u32::from_le_bytes([low, middle, high, 0]) as usize, number)
}

fn header(length: usize, number: u8) -> [u8; HEADER] {
    let [low, middle, high, ..] = length.to_le_bytes();
    [low, middle, high, number]
}

/// The error of a peer that does not keep to the protocol.
pub(super) fn not_understood(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the server's answer is not understood: {what}"))
}
