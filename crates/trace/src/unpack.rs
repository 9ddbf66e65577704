// SPDX-License-Identifier: GPL-2.0-only
//! The compression of version 7 files. A length that the file claims is a limit, never an order to allocate.

use std::io::Read;

/// How the sections of a file are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Packing {
    #[default]
    None,
    Zlib,
    Zstd,
}

impl Packing {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "zlib" | "gzip" => Some(Self::Zlib),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "not compressed",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }
}

/// What a block may come to when unpacked. More than this is not allocated, whatever the block claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// No block is larger.
    pub(crate) most: usize,
    /// A block may always be as large as this; a larger one only if it is packed less than [`RATIO`] times.
    pub(crate) granted: usize,
}

const RATIO: usize = 1000;

/// Unpacks blocks; keeps what can be used again.
#[derive(Default)]
pub(crate) struct Unpacker {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl Unpacker {
    /// Unpacks `from` into `to`, which is emptied first. `claimed` is the size that the file states; more than that or
    /// than the limit is an error, in words.
    pub(crate) fn unpack(
        &mut self,
        packing: Packing,
        from: &[u8],
        claimed: usize,
        limit: Limit,
        to: &mut Vec<u8>,
    ) -> Result<(), String> {
        to.clear();
        if claimed > limit.most {
            return Err(format!(
                "an unpacked size of {claimed} bytes, where at most {} make sense",
                limit.most
            ));
        }
        let room = claimed.min(limit.granted.max(from.len().saturating_mul(RATIO)));
        match packing {
            Packing::None => to.extend_from_slice(from),
            Packing::Zlib => {
                to.reserve(room.min(from.len().saturating_mul(8)));
                let most = room as u64 + 1;
                let read = if from.starts_with(&[0x1f, 0x8b]) {
                    flate2::read::GzDecoder::new(from).take(most).read_to_end(to)
                } else {
                    flate2::read::ZlibDecoder::new(from).take(most).read_to_end(to)
                };
                read.map_err(|e| format!("zlib: {e}"))?;
            }
            Packing::Zstd => {
                if self.zstd.is_none() {
                    self.zstd = Some(zstd::bulk::Decompressor::new().map_err(|e| format!("zstd: {e}"))?);
                }
                to.reserve(room);
                if let Some(zstd) = &mut self.zstd {
                    zstd.decompress_to_buffer(from, to).map_err(|e| format!("zstd: {e}"))?;
                }
            }
        }
        if to.len() > claimed {
            return Err(format!("more than the {claimed} bytes that it should unpack to"));
        }
        Ok(())
    }
}
