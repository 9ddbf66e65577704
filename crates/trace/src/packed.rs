// SPDX-License-Identifier: GPL-2.0-only
//! Recordings that were packed as a whole (gzip, zstd, xz): unpacked once into a file without a name.

use std::fs::File;
use std::io::{self, Read, Seek, Write};

/// How a whole file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    Gzip,
    Zstd,
    Xz,
}

/// No recording shrinks to less than a thousandth; what does so is made to fill a disk.
const MOST_TIMES: u64 = 1000;
/// Granted whatever the packed size.
const GRANTED: u64 = 64 << 20;

impl Wrapping {
    /// By the first bytes of a file.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        const MAGIC: [(&[u8], Wrapping); 3] = [
            (&[0x1f, 0x8b, 0x08], Wrapping::Gzip),
            (&[0x28, 0xb5, 0x2f, 0xfd], Wrapping::Zstd),
            (b"\xfd7zXZ\0", Wrapping::Xz),
        ];
        MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, wrapping)| *wrapping)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
        }
    }

    fn reader<'r>(self, packed: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
        Ok(match self {
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(packed)),
            Self::Zstd => Box::new(zstd::Decoder::new(packed)?),
            Self::Xz => Box::new(liblzma::read::XzDecoder::new_multi_decoder(packed)),
        })
    }

    /// Unpacks `packed`, which has `len` bytes, into a file of the temporary directory that is gone when it is closed.
    pub(crate) fn unpack(self, packed: impl Read, len: u64) -> io::Result<(File, u64)> {
        let most = len.saturating_mul(MOST_TIMES).saturating_add(GRANTED);
        let mut from = self.reader(packed)?.take(most + 1);
        let mut file = tempfile::tempfile()?;
        let n = io::copy(&mut from, &mut file)?;
        if n > most {
            return Err(io::Error::other(format!("unpacks to more than {MOST_TIMES} times its size")));
        }
        file.flush()?;
        file.rewind()?;
        Ok((file, n))
    }
}
