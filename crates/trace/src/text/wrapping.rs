// SPDX-License-Identifier: GPL-2.0-only
//! Text inside something else: the page that systrace writes, the output of atrace, JSON of Chrome.

use memchr::memmem;

/// What a text is wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    Plain,
    /// A page of systrace.
    Html,
    /// A string of JSON.
    Json,
    /// The output of `atrace -z`: zlib from this byte on.
    Atrace(u64),
}

/// What Windows puts before UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8; 3] = b"\xef\xbb\xbf";

impl Wrapping {
    /// The wrapping of `atrace -z`, if the file starts like that.
    pub(crate) fn atrace(head: &[u8]) -> Option<Self> {
        const MARK: &[u8] = b"TRACE:\n";
        let at = memmem::find(head.get(..4096).unwrap_or(head), MARK)? + MARK.len();
        zlib(head.get(at..)?).then_some(Self::Atrace(at as u64))
    }
}

/// Whether a zlib stream starts here (RFC 1950: deflate, a window of up to 32 KiB, a check of both bytes).
pub(super) fn zlib(bytes: &[u8]) -> bool {
    let Some([cmf, flags]) = bytes.first_chunk::<2>().copied() else { return false };
    cmf & 0x0f == 8 && cmf >> 4 <= 7 && (u16::from(cmf) << 8 | u16::from(flags)) % 31 == 0
}
