// SPDX-License-Identifier: GPL-2.0-only
//! The pages of one CPU, a window at a time: read in place, or unpacked chunk by chunk.

use super::recording::Region;
use crate::input::Input;
use crate::kernel::bytes::PAD;
use crate::kernel::order::Order;
use crate::unpack::{Limit, Packing, Unpacker};

/// What filling a window came to.
pub(crate) enum Fill {
    /// There are bytes.
    Data,
    /// The region is read.
    End,
    /// The file ends before the region does; `at` is where. There may be bytes all the same.
    CutOff { at: u64 },
    /// The chunk at byte `at` cannot be unpacked; the next one may be.
    Damaged { at: u64, why: String },
    /// The data makes no sense from byte `at` on.
    Broken { at: u64, why: String },
}

/// Memory for the windows of all CPUs together, when their data is read in place.
const PLAIN_MEMORY: usize = 32 << 20;
/// The largest window for data that is read in place: what stays in the second-level cache of a core.
const PLAIN_WINDOW: usize = 128 << 10;
/// Memory for the unpacked chunks of all CPUs together; trace-cmd packs ten pages a chunk.
const CHUNK_MEMORY: usize = 1 << 30;
/// The largest unpacked chunk.
const CHUNK_LIMIT: usize = 64 << 20;

/// Chunks of up to so many pages may be packed as well as they like, such as empty pages.
const CHUNK_PAGES: usize = 16;

/// A moving window over the data of one CPU.
pub(crate) struct Window<'a> {
    input: &'a Input,
    next: u64,
    end: u64,
    chunks: Option<Chunks>,
    /// How much is read in place at a time.
    size: usize,
    /// The bytes, with [`PAD`] zero bytes behind them.
    buf: Vec<u8>,
    len: usize,
}

#[derive(Clone, Copy)]
struct Chunks {
    packing: Packing,
    limit: Limit,
    left: Option<u32>,
}

/// What the windows of one stream share.
#[derive(Default)]
pub(crate) struct Workshop {
    unpacker: Unpacker,
    packed: Vec<u8>,
}

impl<'a> Window<'a> {
    pub(crate) fn new(
        input: &'a Input,
        region: Region,
        packing: Packing,
        page_size: usize,
        windows: usize,
    ) -> Self {
        let windows = windows.max(1);
        let page_size = page_size.max(1);
        let (chunks, size) = if packing == Packing::None {
            let pages = (PLAIN_MEMORY / windows).min(PLAIN_WINDOW) / page_size;
            (None, pages.max(1) * page_size)
        } else {
            let granted = CHUNK_PAGES * page_size;
            let most = (CHUNK_MEMORY / windows).min(CHUNK_LIMIT).max(granted);
            (Some(Chunks { packing, limit: Limit { most, granted }, left: None }), 0)
        };
        // The size of packed data leaves out the count of chunks before it.
        let size_of_count = if chunks.is_some() && region.size > 0 { 4 } else { 0 };
        let end = region.offset.saturating_add(region.size).saturating_add(size_of_count);
        Self { input, next: region.offset, end, chunks, size, buf: Vec::new(), len: 0 }
    }

    /// The bytes of the window; [`PAD`] more can be read behind them.
    #[inline(always)]
    pub(crate) fn buf(&self) -> &[u8] {
        &self.buf
    }

    /// How many bytes of the window are the file's.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Where in the file the next window starts.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn fill(&mut self, order: impl Order, workshop: &mut Workshop) -> Fill {
        self.len = 0;
        self.buf.clear();
        let fill = match self.chunks {
            None => self.fill_plain(),
            Some(chunks) => self.fill_chunk(order, chunks, workshop),
        };
        if matches!(fill, Fill::End | Fill::Broken { .. }) {
            self.next = self.end;
            self.buf = Vec::new();
            self.len = 0;
        }
        self.buf.truncate(self.len);
        self.buf.resize(self.len + PAD, 0);
        fill
    }

    fn fill_plain(&mut self) -> Fill {
        if self.next >= self.end {
            return Fill::End;
        }
        let want = usize::try_from(self.end - self.next).unwrap_or(usize::MAX).min(self.size);
        let there =
            usize::try_from(self.input.len().saturating_sub(self.next)).unwrap_or(usize::MAX).min(want);
        self.buf.resize(there, 0);
        let got = match self.input.read_at(self.next, &mut self.buf) {
            Ok(got) => got,
            Err(e) => return Fill::Broken { at: self.next, why: e.to_string() },
        };
        self.len = got;
        self.next += got as u64;
        if got < want {
            self.end = self.next;
            return Fill::CutOff { at: self.next };
        }
        Fill::Data
    }

    fn fill_chunk(&mut self, order: impl Order, chunks: Chunks, shop: &mut Workshop) -> Fill {
        let at = self.next;
        let broken = |why: String| Fill::Broken { at, why };
        let input = self.input;
        let word = |at: u64| {
            let mut b = [0; 4];
            input.read_at(at, &mut b).ok().filter(|n| *n == 4).map(|_| order.u32(b))
        };
        let left = match chunks.left {
            Some(left) => left,
            None if self.next >= self.end => return Fill::End,
            None => {
                let Some(count) = word(self.next) else { return Fill::CutOff { at } };
                self.next += 4;
                count
            }
        };
        self.chunks = Some(Chunks { left: Some(left.saturating_sub(1)), ..chunks });
        if left == 0 || self.next >= self.end {
            return if left == 0 { Fill::End } else { self.cut_off() };
        }
        let (Some(packed), Some(unpacked)) = (word(self.next), word(self.next.saturating_add(4))) else {
            return self.cut_off();
        };
        let start = self.next.saturating_add(8);
        let stop = start.saturating_add(u64::from(packed));
        if stop > self.end {
            return broken(format!("a chunk of {packed} bytes, which is longer than the data of its CPU"));
        }
        if stop > self.input.len() {
            return self.cut_off();
        }
        let claimed = unpacked as usize;
        if packed as usize > claimed.saturating_add(claimed / 64).saturating_add(64 << 10) {
            return broken(format!("a chunk that shrinks from {packed} to {claimed} bytes when unpacked"));
        }
        shop.packed.resize(packed as usize, 0);
        match self.input.read_at(start, &mut shop.packed) {
            Ok(got) if got == shop.packed.len() => {}
            Ok(_) => return self.cut_off(),
            Err(e) => return broken(e.to_string()),
        }
        if let Err(why) =
            shop.unpacker.unpack(chunks.packing, &shop.packed, claimed, chunks.limit, &mut self.buf)
        {
            self.next = stop;
            return Fill::Damaged { at, why };
        }
        self.len = self.buf.len();
        self.next = stop;
        Fill::Data
    }

    fn cut_off(&mut self) -> Fill {
        let at = self.next;
        self.end = at;
        self.chunks = self.chunks.map(|c| Chunks { left: Some(0), ..c });
        Fill::CutOff { at }
    }
}
