// SPDX-License-Identifier: GPL-2.0-only
//! The packets of a file, one after the other in bounded memory, and blocks of packed ones.

use std::collections::VecDeque;
use std::io::Read;
use std::rc::Rc;

use super::wire::{tag, varint};
use crate::input::Input;

/// No packet that is read is longer; recorders write some ten KiB.
pub(super) const MOST_PACKET: u64 = 16 << 20;
/// No block of packed packets comes to more.
const MOST_UNPACKED: u64 = 64 << 20;
/// How much of the file is fetched at a time.
const WINDOW: u64 = 256 << 10;
/// A tag and a length take no more bytes.
const HEAD: u64 = 20;
/// The field of `Trace` that holds a packet.
const PACKET: u32 = 1;

/// One step through the file.
pub(super) enum Step<'a> {
    /// A packet whose bytes start at `at`.
    Packet { at: u64, body: &'a [u8] },
    /// Something else than a packet, or one that is too long: `bytes` of it at `at` were skipped.
    Skipped { at: u64, bytes: u64 },
    /// The file ends within a packet, which starts at this byte.
    CutOff(u64),
    /// What starts at this byte is no packet, so that nobody knows where the next one is.
    Broken(u64),
    /// The end of the file, at a packet's end.
    End,
}

/// Walks through the packets of a file.
pub(super) struct Packets<'a> {
    input: &'a Input,
    at: u64,
    window: Vec<u8>,
    window_at: u64,
}

impl<'a> Packets<'a> {
    pub(super) fn new(input: &'a Input) -> Self {
        Self { input, at: 0, window: Vec::new(), window_at: 0 }
    }

    /// The bytes from `at` on, `n` at most and fewer only at the end of the file.
    fn bytes(&mut self, at: u64, n: u64) -> &[u8] {
        let n = n.min(self.input.len().saturating_sub(at));
        let end = self.window_at + self.window.len() as u64;
        if at < self.window_at || at + n > end {
            let want = n.max(WINDOW).min(self.input.len().saturating_sub(at));
            self.window.resize(usize::try_from(want).unwrap_or(0), 0);
            let got = self.input.read_at(at, &mut self.window).unwrap_or(0);
            self.window.truncate(got);
            self.window_at = at;
        }
        let from = usize::try_from(at - self.window_at).unwrap_or(usize::MAX);
        let rest = self.window.get(from..).unwrap_or_default();
        rest.get(..usize::try_from(n).unwrap_or(usize::MAX)).unwrap_or(rest)
    }

    pub(super) fn next(&mut self) -> Step<'_> {
        let start = self.at;
        let left = self.input.len().saturating_sub(start);
        if left == 0 {
            return Step::End;
        }
        let head = self.bytes(start, HEAD);
        let mut rest = head;
        let (Some((number, wire)), Some(value)) = (tag(&mut rest), varint(&mut rest)) else {
            // A number of more than ten bytes is none, wherever the file ends.
            let cut = left < HEAD && head.iter().all(|b| *b >= 0x80 || *b == 0x0a);
            self.at = self.input.len();
            return if cut { Step::CutOff(start) } else { Step::Broken(start) };
        };
        let body = start + (head.len() - rest.len()) as u64;
        let len = match wire {
            0 => 0,
            2 => value,
            _ => {
                self.at = self.input.len();
                return Step::Broken(start);
            }
        };
        let Some(end) = body.checked_add(len).filter(|end| *end <= self.input.len()) else {
            self.at = self.input.len();
            return Step::CutOff(start);
        };
        self.at = end;
        if number != PACKET || wire != 2 || len > MOST_PACKET {
            return Step::Skipped { at: start, bytes: end - start };
        }
        Step::Packet { at: body, body: self.bytes(body, len) }
    }
}

/// How a packet holds other packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    /// As zlib or raw deflate.
    Deflate,
    Zstd,
}

/// The packets that `packed` holds: at most as many bytes as are left of `granted`, which is charged for them.
pub(super) fn unpack(packing: Packing, packed: &[u8], granted: &mut u64) -> Result<Vec<u8>, String> {
    let most = MOST_UNPACKED.min(*granted);
    let mut out = Vec::new();
    let read = match packing {
        // A zlib header is a multiple of 31.
        Packing::Deflate if packed.first_chunk().is_some_and(|h| u16::from_be_bytes(*h) % 31 == 0) => {
            flate2::read::ZlibDecoder::new(packed).take(most + 1).read_to_end(&mut out)
        }
        Packing::Deflate => flate2::read::DeflateDecoder::new(packed).take(most + 1).read_to_end(&mut out),
        Packing::Zstd => zstd::stream::read::Decoder::new(packed)
            .and_then(|decoder| decoder.take(most + 1).read_to_end(&mut out)),
    };
    *granted = granted.saturating_sub(out.len() as u64);
    read.map_err(|e| e.to_string())?;
    if out.len() as u64 > most {
        return Err(format!("more than {most} bytes when unpacked"));
    }
    Ok(out)
}

/// Unpacked blocks that were used last.
#[derive(Default)]
pub(super) struct Blocks {
    kept: VecDeque<(u64, Rc<Vec<u8>>)>,
}

/// Unpacked blocks are kept up to so many bytes, and so many of them.
const MOST_KEPT: usize = 32 << 20;
const MOST_BLOCKS: usize = 256;

impl Blocks {
    /// The block at byte `at`, unpacked by `unpack` if it is not here any more.
    pub(super) fn get(
        &mut self,
        at: u64,
        unpack: impl FnOnce() -> Result<Vec<u8>, String>,
    ) -> Result<Rc<Vec<u8>>, String> {
        if let Some(i) = self.kept.iter().position(|(known, _)| *known == at) {
            let found = self.kept.remove(i).map(|(_, block)| block).unwrap_or_default();
            self.kept.push_back((at, Rc::clone(&found)));
            return Ok(found);
        }
        let block = Rc::new(unpack()?);
        self.kept.push_back((at, Rc::clone(&block)));
        let held = |kept: &VecDeque<(u64, Rc<Vec<u8>>)>| kept.iter().map(|(_, b)| b.len()).sum::<usize>();
        while self.kept.len() > MOST_BLOCKS || self.kept.len() > 1 && held(&self.kept) > MOST_KEPT {
            self.kept.pop_front();
        }
        Ok(block)
    }
}
