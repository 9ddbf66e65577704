// SPDX-License-Identifier: GPL-2.0-only
//! The protobuf wire format, written (protobuf.dev, "Encoding").

/// Bytes of a message that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Proto(pub(super) Vec<u8>);

impl Proto {
    #[inline]
    fn varint(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    /// A number; a negative one as its 64 bits.
    #[inline]
    pub(super) fn number(&mut self, field: u32, n: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(n);
    }

    /// A text or bytes.
    #[inline]
    pub(super) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A message that `write` writes.
    #[inline]
    pub(super) fn message(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        self.varint(u64::from(field) << 3 | 2);
        self.0.push(0);
        let start = self.0.len();
        write(self);
        let len = self.0.len() - start;
        if let (Some(place), Ok(short)) = (self.0.get_mut(start - 1), u8::try_from(len))
            && short < 0x80
        {
            *place = short;
            return;
        }
        // Its length takes more than the one byte that was left for it.
        let mut head = Self::default();
        head.varint(len as u64);
        self.0.splice(start - 1..start, head.0);
    }
}
