// SPDX-License-Identifier: GPL-2.0-only
//! Where in a file the text is, and how to get at it.

use std::io::{self, BufReader, Read};

use flate2::read::{MultiGzDecoder, ZlibDecoder};

use crate::input::Input;

/// How a text is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Zlib,
    ZlibBase64,
    GzipBase64,
    /// As a string of JSON is written, or a list of them, which are lines (RFC 8259).
    Json,
}

/// The part of a file that holds the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) packing: Packing,
}

impl Packing {
    /// What should be there.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Plain => "text",
            Self::Zlib => "text packed with zlib",
            Self::ZlibBase64 => "text packed with zlib, in Base64",
            Self::GzipBase64 => "text packed with gzip, in Base64",
            Self::Json => "text in a string of JSON",
        }
    }
}

impl Part {
    /// The text between two places in it. What is packed is read from its start.
    pub(super) fn read_between<'a>(
        &self,
        input: &'a Input,
        from: u64,
        to: u64,
    ) -> io::Result<Box<dyn Read + 'a>> {
        if self.packing == Packing::Plain {
            let at = |place: u64| self.from.saturating_add(place).min(self.to);
            return Ok(Box::new(Region { input, at: at(from), end: at(to) }));
        }
        between(self.read(input), from, to)
    }

    /// The text, from its start on.
    pub(super) fn read<'a>(&self, input: &'a Input) -> Box<dyn Read + 'a> {
        let region = Region { input, at: self.from, end: self.to };
        match self.packing {
            Packing::Plain => Box::new(region),
            Packing::Zlib => Box::new(ZlibDecoder::new(region)),
            Packing::ZlibBase64 => Box::new(ZlibDecoder::new(Base64::new(region))),
            Packing::GzipBase64 => Box::new(MultiGzDecoder::new(Base64::new(region))),
            Packing::Json => Box::new(JsonText {
                inner: BufReader::with_capacity(64 << 10, region).bytes(),
                left: Vec::new(),
                ended: false,
            }),
        }
    }
}

/// What of a text is between two places in it.
pub(super) fn between<'a>(
    mut text: Box<dyn Read + 'a>,
    from: u64,
    to: u64,
) -> io::Result<Box<dyn Read + 'a>> {
    io::copy(&mut text.by_ref().take(from), &mut io::sink())?;
    Ok(Box::new(text.take(to.saturating_sub(from))))
}

/// A range of an input.
pub(super) struct Region<'a> {
    pub(super) input: &'a Input,
    pub(super) at: u64,
    pub(super) end: u64,
}

impl Read for Region<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let n = left.min(buf.len());
        let got = self.input.read_at(self.at, buf.get_mut(..n).unwrap_or_default())?;
        self.at = self.at.saturating_add(got as u64);
        Ok(got)
    }
}

/// The text of a string of JSON, or of several with nothing but commas between, which ends with its part of the file.
struct JsonText<R: Read> {
    inner: io::Bytes<R>,
    /// The rest of a character that was written as an escape, last byte first.
    left: Vec<u8>,
    /// A line has just ended.
    ended: bool,
}

impl<R: Read> JsonText<R> {
    fn byte(&mut self) -> io::Result<Option<u8>> {
        if let Some(b) = self.left.pop() {
            return Ok(Some(b));
        }
        let ended = std::mem::take(&mut self.ended);
        let Some(b) = self.inner.next().transpose()? else { return Ok(None) };
        if b == b'"' {
            // Between two strings, the first of which may have its own line end.
            while self.inner.next().transpose()?.is_some_and(|b| b != b'"') {}
            return if ended { self.byte() } else { Ok(Some(b'\n')) };
        }
        if b != b'\\' {
            return Ok(Some(b));
        }
        let next = self.inner.next().transpose()?;
        self.ended = next == Some(b'n');
        Ok(match next {
            Some(b'n') => Some(b'\n'),
            Some(b't') => Some(b'\t'),
            Some(b'r') => Some(b'\r'),
            Some(b'b' | b'f') => Some(b' '),
            Some(b'u') => {
                let mut code = 0;
                for _ in 0..4 {
                    let Some(b) = self.inner.next().transpose()? else { break };
                    code = code << 4 | char::from(b).to_digit(16).unwrap_or(0);
                }
                // Halves of a pair are in names of tasks only, if anywhere.
                let mut utf8 = [0; 4];
                let text = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut utf8);
                self.left.extend(text.bytes().rev());
                self.left.pop()
            }
            other => other,
        })
    }
}

impl<R: Read> Read for JsonText<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        for (n, to) in out.iter_mut().enumerate() {
            let Some(b) = self.byte()? else { return Ok(n) };
            *to = b;
        }
        Ok(out.len())
    }
}

/// Bytes written as Base64 (RFC 4648); white space and what is no digit is skipped.
pub(super) struct Base64<R> {
    inner: R,
    buf: Vec<u8>,
    at: usize,
    len: usize,
    bits: u32,
    pending: u32,
}

impl<R: Read> Base64<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, buf: vec![0; 32 << 10], at: 0, len: 0, bits: 0, pending: 0 }
    }

    fn digit(&mut self) -> io::Result<Option<u8>> {
        loop {
            if self.at >= self.len {
                (self.at, self.len) = (0, self.inner.read(&mut self.buf)?);
                if self.len == 0 {
                    return Ok(None);
                }
            }
            let b = self.buf.get(self.at).copied().unwrap_or(0);
            self.at += 1;
            if let Some(value) = base64_digit(b) {
                return Ok(Some(value));
            }
        }
    }
}

fn base64_digit(b: u8) -> Option<u8> {
    Some(match b {
        b'A'..=b'Z' => b - b'A',
        b'a'..=b'z' => b - b'a' + 26,
        b'0'..=b'9' => b - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

impl<R: Read> Read for Base64<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        for (n, to) in out.iter_mut().enumerate() {
            while self.bits < 8 {
                let Some(digit) = self.digit()? else { return Ok(n) };
                self.pending = (self.pending << 6 | u32::from(digit)) & 0xffff;
                self.bits += 6;
            }
            self.bits -= 8;
            *to = (self.pending >> self.bits) as u8;
        }
        Ok(out.len())
    }
}
