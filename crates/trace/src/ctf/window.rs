// SPDX-License-Identifier: GPL-2.0-only
//! A moving window over the bytes of one stream.

use std::io;

use super::declare::LARGEST_ALIGN;
use super::program::PAD;
use crate::input::Input;

/// Memory for the windows of all streams together.
const MEMORY: u64 = 32 << 20;
/// The smallest and the usual window, bytes.
const SMALLEST: u64 = 8 << 10;
const USUAL: u64 = 128 << 10;
/// No event and no packet header is longer, bytes.
const LARGEST: u64 = 8 << 20;
/// Alignments count from the start of a packet, so a window in its middle starts at a multiple of this from there.
const GRID: u64 = LARGEST_ALIGN as u64 / 8;

/// Bytes of a stream, and the place among them that positions are counted from.
pub(super) struct Window {
    /// The bytes, with [`PAD`] zero bytes behind them.
    buf: Vec<u8>,
    /// How many bytes are the file's.
    len: usize,
    /// Where in the file they start.
    start: u64,
    /// Where in `buf` positions are counted from.
    base: usize,
    /// How many are fetched at a time.
    size: u64,
}

impl Window {
    /// The window of one of `streams` streams.
    pub(super) fn new(streams: usize) -> Self {
        let size = (MEMORY / (streams.max(1) as u64)).clamp(SMALLEST, USUAL);
        Self { buf: Vec::new(), len: 0, start: 0, base: 0, size }
    }

    /// The bytes from the place on that positions are counted from.
    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        self.buf.get(self.base..).unwrap_or_default()
    }

    /// The place in the file that positions are counted from.
    pub(super) fn origin(&self) -> u64 {
        self.start.saturating_add(self.base as u64)
    }

    /// Behind the last byte in the window, bytes of the file.
    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(self.len as u64)
    }

    /// Counts positions from `packet`, a packet's first byte in the file, and fetches it if need be.
    pub(super) fn start_at(&mut self, input: &Input, packet: u64) -> io::Result<()> {
        if !(self.start..self.end()).contains(&packet) {
            self.fetch(input, packet)?;
        }
        self.base = usize::try_from(packet - self.start).unwrap_or(usize::MAX);
        Ok(())
    }

    /// Fetches what follows byte `at` of the packet at `packet`, and counts positions from near there. `false` when
    /// there is no more to be seen than before.
    pub(super) fn see_more(&mut self, input: &Input, at: u64, packet: u64) -> io::Result<bool> {
        let start = at - at.saturating_sub(packet) % GRID;
        let seen = self.end();
        if start == self.start {
            if self.size >= LARGEST {
                return Ok(false);
            }
            self.size *= 2;
        }
        self.fetch(input, start)?;
        Ok(self.end() > seen)
    }

    fn fetch(&mut self, input: &Input, start: u64) -> io::Result<()> {
        let want = input.len().saturating_sub(start).min(self.size);
        self.buf.clear();
        self.buf.resize(usize::try_from(want).unwrap_or(usize::MAX), 0);
        (self.start, self.base, self.len) = (start, 0, 0);
        self.len = input.read_at(start, &mut self.buf)?;
        self.buf.truncate(self.len);
        self.buf.resize(self.len + PAD, 0);
        Ok(())
    }
}
