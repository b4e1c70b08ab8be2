//! Reading the kernel's text files: kept open, re-read from the start, errors with path, line and item.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

/// The buffer's first size; it doubles until the largest file fits and is then reused for all of them.
const FIRST_BUFFER: usize = 8 * 1024;

/// Why a collector has no values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReadError {
    /// This kernel or host has no such thing, which is not a failure.
    #[error("{} does not exist here", .0.display())]
    Absent(PathBuf),
    /// It should be there and could not be read or understood.
    #[error("{0}")]
    Failed(String),
}

/// A file of the kernel that is opened once: reading it again from the start gives its present content.
pub(crate) struct KeptFile {
    path: PathBuf,
    file: Option<File>,
    required: bool,
}

impl KeptFile {
    /// A file that every host has: a missing one is a failure.
    pub(crate) fn required(path: PathBuf) -> KeptFile {
        KeptFile { path, file: None, required: true }
    }

    /// A file that some hosts do not have.
    pub(crate) fn optional(path: PathBuf) -> KeptFile {
        KeptFile { path, file: None, required: false }
    }

    /// The file's present content. `buffer` is scratch space shared by all files.
    pub(crate) fn read<'a>(&'a mut self, buffer: &'a mut Vec<u8>) -> Result<Lines<'a>, ReadError> {
        let was_open = self.file.is_some();
        let mut filled = self.fill(buffer);
        if filled.is_err() && was_open {
            // A device that went away and came back under its name: the kept file is of the old one.
            self.file = None;
            filled = self.fill(buffer);
        }
        match filled {
            Ok(length) => Ok(Lines { path: &self.path, rest: &buffer[..length], number: 0 }),
            Err(error) => {
                self.file = None;
                Err(self.problem(&error))
            }
        }
    }

    fn fill(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(File::open(&self.path)?),
        };
        let mut filled = 0;
        loop {
            if filled == buffer.len() {
                buffer.resize((buffer.len() * 2).max(FIRST_BUFFER), 0);
            }
            // A short read does not mean the end: the kernel answers at most a page of many-record files.
            match file.read_at(&mut buffer[filled..], filled as u64) {
                Ok(0) => return Ok(filled),
                Ok(length) => filled += length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn problem(&self, error: &io::Error) -> ReadError {
        if !self.required && means_absent(error) {
            return ReadError::Absent(self.path.clone());
        }
        ReadError::Failed(format!("cannot read {}: {error}", self.path.display()))
    }
}

/// Whether the kernel says that it does not offer the thing: no such file, or (pressure files of a kernel
/// that was started without `psi=1`) a file that answers "not supported".
fn means_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::EOPNOTSUPP as i32)
}

/// The lines of a file, counted from 1.
pub(crate) struct Lines<'a> {
    path: &'a Path,
    rest: &'a [u8],
    number: usize,
}

impl<'a> Lines<'a> {
    /// An error about the file as a whole.
    pub(crate) fn missing(&self, item: &str) -> ReadError {
        ReadError::Failed(format!("{}: {item} is missing", self.path.display()))
    }

    /// The first line; an empty one when the file is empty.
    pub(crate) fn first_line(mut self) -> Line<'a> {
        let path = self.path;
        self.next().unwrap_or(Line { path, number: 1, rest: b"" })
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let (line, rest) = split_at_byte(self.rest, b'\n');
        self.rest = rest;
        Some(Line { path: self.path, number: self.number, rest: line })
    }
}

/// One line, taken apart word by word.
#[derive(Clone)]
pub(crate) struct Line<'a> {
    path: &'a Path,
    number: usize,
    rest: &'a [u8],
}

impl<'a> Line<'a> {
    /// The next word between blanks.
    pub(crate) fn word(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let (word, rest) = split_at_byte(&self.rest[start..], b' ');
        self.rest = rest;
        Some(word)
    }

    /// What comes before the last `byte`; the line goes on behind it.
    pub(crate) fn up_to_last(&mut self, byte: u8) -> Option<&'a [u8]> {
        let end = self.rest.iter().rposition(|b| *b == byte)?;
        let before = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Some(before.trim_ascii())
    }

    /// The next word as a whole number.
    pub(crate) fn number(&mut self, item: &str) -> Result<u64, ReadError> {
        match self.optional_number(item)? {
            Some(number) => Ok(number),
            None => Err(self.error(item, "is missing")),
        }
    }

    /// The next word as a whole number; `None` when the line is over (older kernels have fewer columns).
    pub(crate) fn optional_number(&mut self, item: &str) -> Result<Option<u64>, ReadError> {
        match self.word() {
            None => Ok(None),
            Some(word) => whole_number(word).map(Some).ok_or_else(|| self.not_a_number(item, word)),
        }
    }

    /// The next word as a number with a fraction.
    pub(crate) fn fraction(&mut self, item: &str) -> Result<f64, ReadError> {
        let word = self.word().ok_or_else(|| self.error(item, "is missing"))?;
        let number = std::str::from_utf8(word).ok().and_then(|text| text.parse::<f64>().ok());
        number.filter(|value| value.is_finite()).ok_or_else(|| self.not_a_number(item, word))
    }

    /// The whole number behind `prefix` in the word that begins with it, as in `total=32858838`.
    pub(crate) fn number_behind(&mut self, prefix: &str) -> Result<u64, ReadError> {
        while let Some(word) = self.word() {
            if let Some(digits) = word.strip_prefix(prefix.as_bytes()) {
                return whole_number(digits).ok_or_else(|| self.not_a_number(prefix, digits));
            }
        }
        Err(self.error(prefix, "is missing"))
    }

    fn not_a_number(&self, item: &str, word: &[u8]) -> ReadError {
        self.error(item, &format!("is \"{}\", not a number", String::from_utf8_lossy(word)))
    }

    /// An error about one item of this line.
    pub(crate) fn error(&self, item: &str, problem: &str) -> ReadError {
        ReadError::Failed(format!("{}:{}: {item} {problem}", self.path.display(), self.number))
    }
}

/// What comes before the first `byte`, and what comes after it.
fn split_at_byte(text: &[u8], byte: u8) -> (&[u8], &[u8]) {
    match text.iter().position(|b| *b == byte) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, b""),
    }
}

/// Decimal digits and nothing else, up to `u64::MAX`.
fn whole_number(word: &[u8]) -> Option<u64> {
    let digits = word.trim_ascii_end();
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write as _;

    fn line(text: &str) -> Line<'_> {
        Line { path: Path::new("/proc/x"), number: 7, rest: text.as_bytes() }
    }

    proptest! {
        #[test]
        fn every_whole_number_is_read(number in any::<u64>()) {
            prop_assert_eq!(whole_number(number.to_string().as_bytes()), Some(number));
        }

        #[test]
        fn no_bytes_panic(text in proptest::collection::vec(any::<u8>(), 0..60)) {
            let lines = Lines { path: Path::new("/proc/x"), rest: &text, number: 0 };
            for mut line in lines {
                let _ = (line.clone().fraction("a"), line.clone().number_behind("b="), line.clone().up_to_last(b':'));
                while let Ok(Some(_)) = line.optional_number("c") {}
            }
        }
    }

    #[test]
    fn errors_name_path_line_and_item() {
        let text = |error: ReadError| error.to_string();
        assert_eq!(text(line("12 x").number_behind("total=").unwrap_err()), "/proc/x:7: total= is missing");
        assert_eq!(text(line("-1").number("idle").unwrap_err()), "/proc/x:7: idle is \"-1\", not a number");
        assert_eq!(text(line(" ").number("idle").unwrap_err()), "/proc/x:7: idle is missing");
        assert_eq!(whole_number(b"18446744073709551616"), None);
    }

    #[test]
    fn what_the_kernel_does_not_offer_is_absent() {
        for code in [Errno::ENOENT, Errno::EOPNOTSUPP] {
            assert!(means_absent(&io::Error::from_raw_os_error(code as i32)), "{code}");
        }
        assert!(!means_absent(&io::Error::from_raw_os_error(Errno::EACCES as i32)));
    }

    #[test]
    fn a_kept_file_is_read_anew_and_may_be_larger_than_the_buffer() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut kept = KeptFile::required(file.path().to_owned());
        let mut buffer = Vec::new();
        assert_eq!(kept.read(&mut buffer).unwrap().count(), 0);
        for _ in 0..3000 {
            writeln!(file, "0123456789").unwrap();
        }
        assert_eq!(kept.read(&mut buffer).unwrap().count(), 3000);
    }

    #[test]
    fn a_missing_file_is_a_failure_only_where_it_is_required() {
        let path = PathBuf::from("/nonexistent/stat");
        let mut buffer = Vec::new();
        let required = KeptFile::required(path.clone()).read(&mut buffer).err().unwrap();
        assert_eq!(
            required.to_string(),
            "cannot read /nonexistent/stat: No such file or directory (os error 2)"
        );
        assert_eq!(KeptFile::optional(path.clone()).read(&mut buffer).err(), Some(ReadError::Absent(path)));
    }
}
