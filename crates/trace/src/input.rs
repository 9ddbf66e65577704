// SPDX-License-Identifier: GPL-2.0-only
//! The bytes of a trace: a file read in place, or memory.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use xxhash_rust::xxh3::Xxh3;

use crate::error::{CUT_OFF, TraceError};
use crate::kernel::order::{ByteOrder, Order};
use crate::meter::Meter;
use crate::packed::{NotUnpacked, Wrapping};

enum Bytes {
    File(File),
    Memory(Vec<u8>),
}

/// No part of a trace that is read whole is larger, bytes: symbols, descriptions of events, a page.
const LARGEST_PART: u64 = 256 << 20;

/// So many first bytes tell a file's format.
pub(crate) const HEAD: usize = 64 << 10;

/// An input of known length, read at any offset without a position of its own.
pub(crate) struct Input {
    path: PathBuf,
    bytes: Bytes,
    len: u64,
    wrapping: Option<Wrapping>,
    /// The first place that could not be read. Who reads events takes it for the end.
    failed: OnceLock<FailedRead>,
    /// Who counts what is read.
    meter: OnceLock<Meter>,
}

/// A read that the system refused.
struct FailedRead {
    offset: u64,
    kind: io::ErrorKind,
    why: String,
}

impl Input {
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        let fail = |source| TraceError::Open { path: path.to_path_buf(), source };
        let file = match idlewise_files::open(path) {
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => {
                return Err(TraceError::NotATrace {
                    path: path.to_path_buf(),
                    looks_like: "a pipe or a device".into(),
                    advice: "a trace is read at many places, so store it in a file first",
                });
            }
            opened => opened.map_err(fail)?,
        };
        let info = file.metadata().map_err(fail)?;
        if info.len() == 0 && !matches!(file.read_at(&mut [0], 0), Ok(0)) {
            return Err(TraceError::NotATrace {
                path: path.to_path_buf(),
                looks_like: "a file that the kernel makes up while it is read (tracefs, procfs)".into(),
                advice: "copy it to a file first (cat ... > trace.txt)",
            });
        }
        Ok(Self {
            path: path.to_path_buf(),
            bytes: Bytes::File(file),
            len: info.len(),
            wrapping: None,
            failed: OnceLock::new(),
            meter: OnceLock::new(),
        })
    }

    pub(crate) fn memory(name: &Path, bytes: Vec<u8>) -> Self {
        let len = bytes.len() as u64;
        Self {
            path: name.to_path_buf(),
            bytes: Bytes::Memory(bytes),
            len,
            wrapping: None,
            failed: OnceLock::new(),
            meter: OnceLock::new(),
        }
    }

    /// Itself, or what it holds if it is packed as a whole.
    pub(crate) fn unwrapped(self) -> Result<Self, TraceError> {
        let mut head = [0; 8];
        let fail = |source| TraceError::Open { path: self.path.clone(), source };
        let got = self.read_at(0, &mut head).map_err(fail)?;
        let Some(wrapping) = Wrapping::of(head.get(..got).unwrap_or_default()) else { return Ok(self) };
        let packed = BufReader::new(From { input: &self, at: 0 });
        let (file, len) = wrapping.unpack(packed, self.len).map_err(|why| {
            let path = self.path.clone();
            match why {
                NotUnpacked::Data(source) => TraceError::Unpack { path, how: wrapping.name(), source },
                NotUnpacked::Room(source) => TraceError::NoRoom { path, source },
            }
        })?;
        Ok(Self {
            path: self.path,
            bytes: Bytes::File(file),
            len,
            wrapping: Some(wrapping),
            failed: OnceLock::new(),
            meter: OnceLock::new(),
        })
    }

    /// How the file was packed, if it was.
    pub(crate) fn wrapping(&self) -> Option<&'static str> {
        self.wrapping.map(Wrapping::name)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Whether the bytes are not those of a file.
    pub(crate) fn in_memory(&self) -> bool {
        matches!(self.bytes, Bytes::Memory(_))
    }

    /// Lets `meter` count from now on; it expects the input to be read so many times.
    pub(crate) fn count_into(&self, meter: &Meter, times: u64) {
        meter.expect(self.len.saturating_mul(times));
        self.meter.get_or_init(|| meter.clone());
    }

    /// Fills `buf` from `offset` on as far as the input reaches; says how many bytes there were.
    pub(crate) fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let got = self.fill(offset, buf)?;
        if let Some(meter) = self.meter.get() {
            meter.add(got as u64);
        }
        Ok(got)
    }

    fn fill(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        match &self.bytes {
            Bytes::Memory(all) => {
                let rest = usize::try_from(offset).ok().and_then(|at| all.get(at..)).unwrap_or(&[]);
                let n = rest.len().min(buf.len());
                if let (Some(to), Some(from)) = (buf.get_mut(..n), rest.get(..n)) {
                    to.copy_from_slice(from);
                }
                Ok(n)
            }
            Bytes::File(file) => {
                let mut done = 0;
                while let Some(rest) = buf.get_mut(done..).filter(|r| !r.is_empty()) {
                    match file.read_at(rest, offset.saturating_add(done as u64)) {
                        Ok(0) => break,
                        Ok(n) => done += n,
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                        Err(e) => {
                            let at = offset.saturating_add(done as u64);
                            self.failed.get_or_init(|| FailedRead {
                                offset: at,
                                kind: e.kind(),
                                why: e.to_string(),
                            });
                            return Err(e);
                        }
                    }
                }
                Ok(done)
            }
        }
    }

    /// Whether the system gave all that was asked for so far.
    ///
    /// # Errors
    /// [`TraceError::Read`], where it did not.
    pub(crate) fn check_read(&self) -> Result<(), TraceError> {
        let Some(failed) = self.failed.get() else { return Ok(()) };
        Err(TraceError::Read {
            path: self.path.clone(),
            offset: failed.offset,
            what: "events",
            source: io::Error::new(failed.kind, failed.why.clone()),
        })
    }

    /// The first bytes, up to [`HEAD`].
    pub(crate) fn head(&self) -> Result<Vec<u8>, TraceError> {
        let mut head = vec![0; HEAD];
        let got = self.read_at(0, &mut head).map_err(|source| TraceError::Read {
            path: self.path.clone(),
            offset: 0,
            what: "the start",
            source,
        })?;
        head.truncate(got);
        Ok(head)
    }

    /// All bytes, of a file that is a part of a trace and read whole.
    pub(crate) fn whole(&self, section: &'static str) -> Result<Vec<u8>, TraceError> {
        self.bytes(0, self.len, section)
    }

    /// Exactly `n` bytes from `offset`; allocates no more than the input holds, nor than any part of a trace has that is read
    /// whole: a file of holes says any length.
    pub(crate) fn bytes(&self, offset: u64, n: u64, section: &'static str) -> Result<Vec<u8>, TraceError> {
        let short = || TraceError::Malformed {
            path: self.path.clone(),
            section,
            offset,
            expected: format!("{n} bytes, but the file ends at byte {}", self.len),
            advice: CUT_OFF,
        };
        if offset.checked_add(n).is_none_or(|end| end > self.len) {
            return Err(short());
        }
        if n > LARGEST_PART {
            return Err(TraceError::Malformed {
                path: self.path.clone(),
                section,
                offset,
                expected: format!("at most {LARGEST_PART} bytes, but it says that it has {n}"),
                advice: "check that this is the file that was recorded",
            });
        }
        let mut buf = vec![0; usize::try_from(n).map_err(|_| short())?];
        let got = self.read_at(offset, &mut buf).map_err(|source| TraceError::Read {
            path: self.path.clone(),
            offset,
            what: section,
            source,
        })?;
        if got < buf.len() {
            return Err(short());
        }
        Ok(buf)
    }

    /// XXH3-128 of all bytes, in hexadecimal.
    pub(crate) fn hash(&self) -> Result<String, TraceError> {
        let mut state = Xxh3::new();
        self.feed(&mut state)?;
        Ok(format!("{:032x}", state.digest128()))
    }

    /// Hashes all bytes.
    pub(crate) fn feed(&self, state: &mut Xxh3) -> Result<(), TraceError> {
        let mut buf = vec![0; 1 << 20];
        let mut offset = 0;
        loop {
            let got = self.read_at(offset, &mut buf).map_err(|source| TraceError::Read {
                path: self.path.clone(),
                offset,
                what: "the bytes to hash",
                source,
            })?;
            let Some(block) = buf.get(..got).filter(|b| !b.is_empty()) else { break };
            state.update(block);
            offset += got as u64;
        }
        Ok(())
    }
}

/// The bytes of an input one after the other.
struct From<'a> {
    input: &'a Input,
    at: u64,
}

impl Read for From<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let got = self.input.read_at(self.at, buf)?;
        self.at += got as u64;
        Ok(got)
    }
}

/// Reads the fields of one part of the file one after the other.
pub(crate) struct Cursor<'a> {
    input: &'a Input,
    /// The byte order of its numbers.
    pub(crate) order: ByteOrder,
    /// Unpacked bytes; `None` reads the file itself.
    memory: Option<&'a [u8]>,
    section: &'static str,
    pos: u64,
    end: u64,
    window: Vec<u8>,
    window_at: u64,
}

/// How much of a file a cursor fetches at a time.
const WINDOW: usize = 64 << 10;

impl<'a> Cursor<'a> {
    pub(crate) fn file(input: &'a Input, order: ByteOrder, pos: u64, section: &'static str) -> Self {
        Self { input, order, memory: None, section, pos, end: input.len(), window: Vec::new(), window_at: 0 }
    }

    pub(crate) fn memory(input: &'a Input, order: ByteOrder, bytes: &'a [u8], section: &'static str) -> Self {
        Self {
            input,
            order,
            memory: Some(bytes),
            section,
            pos: 0,
            end: bytes.len() as u64,
            window: Vec::new(),
            window_at: 0,
        }
    }

    /// Where the next field is.
    pub(crate) fn position(&self) -> u64 {
        self.pos
    }

    pub(crate) fn left(&self) -> u64 {
        self.end.saturating_sub(self.pos)
    }

    /// From here on errors name this section.
    pub(crate) fn enter(&mut self, section: &'static str) {
        self.section = section;
    }

    pub(crate) fn expected(&self, expected: impl Into<String>, advice: &'static str) -> TraceError {
        TraceError::Malformed {
            path: self.input.path().to_path_buf(),
            section: self.section,
            offset: self.pos,
            expected: expected.into(),
            advice,
        }
    }

    fn peek(&mut self, n: usize) -> Result<Option<&[u8]>, TraceError> {
        if self.left() < n as u64 {
            return Ok(None);
        }
        if let Some(bytes) = self.memory {
            let at = usize::try_from(self.pos).unwrap_or(usize::MAX);
            return Ok(bytes.get(at..).and_then(|b| b.get(..n)));
        }
        let inside = self.pos >= self.window_at
            && self.pos + n as u64 <= self.window_at + self.window.len() as u64
            && !self.window.is_empty();
        if !inside {
            let want = self.left().min(WINDOW.max(n) as u64);
            self.window = self.input.bytes(self.pos, want, self.section)?;
            self.window_at = self.pos;
        }
        let at = usize::try_from(self.pos - self.window_at).unwrap_or(usize::MAX);
        Ok(self.window.get(at..).and_then(|b| b.get(..n)))
    }

    /// The next `n` bytes; `what` says what they should be.
    pub(crate) fn take(&mut self, n: u64, what: &str) -> Result<Vec<u8>, TraceError> {
        if n > self.left() {
            let left = self.left();
            return Err(self.expected(format!("{what} ({n} bytes), but only {left} bytes follow"), CUT_OFF));
        }
        let fits = usize::try_from(n).ok().filter(|n| *n <= WINDOW || self.memory.is_some());
        let bytes = match fits {
            Some(n) => self.peek(n)?.map(<[u8]>::to_vec),
            None => Some(self.input.bytes(self.pos, n, self.section)?),
        };
        let bytes = bytes.ok_or_else(|| self.expected(what, CUT_OFF))?;
        self.pos += n;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], TraceError> {
        let got = self.peek(N)?.and_then(|b| b.first_chunk::<N>()).copied();
        let bytes = got.ok_or_else(|| self.expected(format!("{what} ({N} bytes)"), CUT_OFF))?;
        self.pos += N as u64;
        Ok(bytes)
    }

    pub(crate) fn u8(&mut self, what: &str) -> Result<u8, TraceError> {
        self.array::<1>(what).map(|[b]| b)
    }

    pub(crate) fn u16(&mut self, what: &str) -> Result<u16, TraceError> {
        self.array(what).map(|b| self.order.u16(b))
    }

    pub(crate) fn u32(&mut self, what: &str) -> Result<u32, TraceError> {
        self.array(what).map(|b| self.order.u32(b))
    }

    pub(crate) fn u64(&mut self, what: &str) -> Result<u64, TraceError> {
        self.array(what).map(|b| self.order.u64(b))
    }

    /// A string that ends with a zero byte, of at most 4096 bytes.
    pub(crate) fn string(&mut self, what: &str) -> Result<String, TraceError> {
        let most = usize::try_from(self.left().min(4096)).unwrap_or(4096);
        let found = self.peek(most)?.and_then(|b| {
            let n = b.iter().position(|c| *c == 0)?;
            b.get(..n).map(|s| (String::from_utf8_lossy(s).into_owned(), n as u64 + 1))
        });
        let (text, n) = found
            .ok_or_else(|| self.expected(format!("{what} (text that ends with a zero byte)"), CUT_OFF))?;
        self.pos += n;
        Ok(text)
    }
}

/// The text of bytes that may end with zero bytes.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()
}
