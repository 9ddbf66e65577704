// SPDX-License-Identifier: GPL-2.0-only
//! Idle periods as bytes, for a temporary file of this process.

use crate::{Piece, PieceFlags, WakeCause};

impl Piece {
    /// Bytes that one idle period takes.
    pub const BYTES: usize = 64;

    /// Appends the bytes: little-endian, in the order of the fields.
    pub fn put(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.start_ns.to_le_bytes());
        to.extend_from_slice(&self.wake_ns.to_le_bytes());
        to.extend_from_slice(&self.hrtimer_ns.to_le_bytes());
        to.extend_from_slice(&self.wheel_ns.to_le_bytes());
        to.extend_from_slice(&self.stale_event_ns.to_le_bytes());
        to.extend_from_slice(&self.exit_lag_ns.to_le_bytes());
        to.extend_from_slice(&self.response_ns.to_le_bytes());
        to.extend_from_slice(&self.handler_ns.to_le_bytes());
        to.extend_from_slice(&self.entry_lag_ns.to_le_bytes());
        to.extend_from_slice(&self.util.to_le_bytes());
        to.extend_from_slice(&self.iowait.to_le_bytes());
        to.extend_from_slice(&[self.state, self.cause as u8]);
        to.extend_from_slice(&self.flags.0.to_le_bytes());
    }

    /// The idle period of [`Piece::BYTES`] bytes that [`Piece::put`] gave.
    #[must_use]
    pub fn get(mut record: &[u8]) -> Self {
        let from = &mut record;
        Self {
            start_ns: u64::from_le_bytes(next(from)),
            wake_ns: u64::from_le_bytes(next(from)),
            hrtimer_ns: i64::from_le_bytes(next(from)),
            wheel_ns: i64::from_le_bytes(next(from)),
            stale_event_ns: i64::from_le_bytes(next(from)),
            exit_lag_ns: u32::from_le_bytes(next(from)),
            response_ns: u32::from_le_bytes(next(from)),
            handler_ns: u32::from_le_bytes(next(from)),
            entry_lag_ns: u32::from_le_bytes(next(from)),
            util: u16::from_le_bytes(next(from)),
            iowait: u16::from_le_bytes(next(from)),
            state: u8::from_le_bytes(next(from)),
            cause: WakeCause::from_bits(u8::from_le_bytes(next(from))),
            flags: PieceFlags(u16::from_le_bytes(next(from))),
        }
    }
}

#[inline]
fn next<const N: usize>(from: &mut &[u8]) -> [u8; N] {
    let Some((bytes, rest)) = from.split_first_chunk() else {
        unreachable!("an idle period has {} bytes", Piece::BYTES)
    };
    *from = rest;
    *bytes
}
