// SPDX-License-Identifier: GPL-2.0-only
//! Parquet's packed differences, for numbers that are near the ones before.

use crate::hybrid::bits;
use crate::thrift::{varint, zigzag};

const BLOCK: usize = 128;
const MINIBLOCKS: usize = 4;

/// Appends `values`. Where they are `short`, they are of 32 bits, and so are their differences.
pub(crate) fn put(out: &mut Vec<u8>, values: &[i64], short: bool) {
    let as_stored = |v: i64| if short { i64::from(v as i32) } else { v };
    varint(out, BLOCK as u64);
    varint(out, MINIBLOCKS as u64);
    varint(out, values.len() as u64);
    zigzag(out, as_stored(values.first().copied().unwrap_or(0)));
    let mut deltas = values.windows(2).map(|w| as_stored(w[1].wrapping_sub(w[0])));
    loop {
        let mut block = [0; BLOCK];
        let mut len = 0;
        for (to, delta) in block.iter_mut().zip(&mut deltas) {
            *to = delta;
            len += 1;
        }
        let Some(least) = block[..len].iter().min().copied() else { return };
        zigzag(out, least);
        let above = block.map(|d| {
            let above = d.wrapping_sub(least).cast_unsigned();
            if short { above & u64::from(u32::MAX) } else { above }
        });
        let mut all = above;
        all[len..].fill(0);
        let minis = all.chunks_exact(BLOCK / MINIBLOCKS);
        let widths: Vec<u32> =
            minis.clone().map(|m| u64::BITS - m.iter().fold(0, |a, b| a | b).leading_zeros()).collect();
        out.extend(widths.iter().map(|w| *w as u8));
        let used = len.div_ceil(BLOCK / MINIBLOCKS);
        for (mini, width) in minis.zip(widths).take(used) {
            bits(out, mini.iter().copied(), width);
        }
    }
}
