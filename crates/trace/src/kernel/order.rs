// SPDX-License-Identifier: GPL-2.0-only
//! The byte order of the recording machine.

/// Numbers from bytes. The type is chosen once per stream, so that a known order costs nothing per number; [`ByteOrder`]
/// chooses for each number.
pub(crate) trait Order: Copy + Send + Sync {
    fn big(self) -> bool;

    #[inline(always)]
    fn u16(self, bytes: [u8; 2]) -> u16 {
        if self.big() { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    #[inline(always)]
    fn u32(self, bytes: [u8; 4]) -> u32 {
        if self.big() { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    #[inline(always)]
    fn u64(self, bytes: [u8; 8]) -> u64 {
        if self.big() { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }
}

/// An order known when the file is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    #[default]
    Little,
    Big,
}

/// Little-endian, known when the code is compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Little;

/// Big-endian, known when the code is compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Big;

impl Order for ByteOrder {
    #[inline(always)]
    fn big(self) -> bool {
        self == Self::Big
    }
}

impl Order for Little {
    #[inline(always)]
    fn big(self) -> bool {
        false
    }
}

impl Order for Big {
    #[inline(always)]
    fn big(self) -> bool {
        true
    }
}
