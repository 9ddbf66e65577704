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
    pub(crate) fn unpack(self, packed: impl Read, len: u64) -> Result<(File, u64), NotUnpacked> {
        let most = len.saturating_mul(MOST_TIMES).saturating_add(GRANTED);
        let mut from = self.reader(packed).map_err(NotUnpacked::Data)?.take(most + 1);
        let mut to = Room { file: tempfile::tempfile().map_err(NotUnpacked::Room)?, failed: false };
        let n = io::copy(&mut from, &mut to).map_err(|e| to.whose(e))?;
        if n > most {
            let why = format!("unpacks to more than {MOST_TIMES} times its size");
            return Err(NotUnpacked::Data(io::Error::other(why)));
        }
        to.file.rewind().map_err(NotUnpacked::Room)?;
        Ok((to.file, n))
    }
}

/// What `bytes` hold if they are packed as a whole (gzip, zstd, xz): at most so many bytes.
///
/// # Errors
/// They cannot be unpacked, or hold more.
pub fn unpacked(bytes: &[u8], most: u64) -> Option<io::Result<Vec<u8>>> {
    let wrapping = Wrapping::of(bytes)?;
    let unpack = || {
        let mut out = Vec::new();
        wrapping.reader(bytes)?.take(most.saturating_add(1)).read_to_end(&mut out)?;
        if out.len() as u64 > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(out) }
    };
    Some(unpack())
}

/// Why a file was not unpacked.
pub(crate) enum NotUnpacked {
    /// What is packed cannot be read.
    Data(io::Error),
    /// The temporary directory has no room for it.
    Room(io::Error),
}

/// A file that remembers whether writing it failed.
struct Room {
    file: File,
    failed: bool,
}

impl Room {
    /// Whose fault the error of a copy to this file is.
    fn whose(&self, e: io::Error) -> NotUnpacked {
        if self.failed { NotUnpacked::Room(e) } else { NotUnpacked::Data(e) }
    }
}

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).inspect_err(|e| self.failed |= e.kind() != io::ErrorKind::Interrupted)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
