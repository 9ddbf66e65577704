// SPDX-License-Identifier: GPL-2.0-only
//! Parquet's hybrid of run lengths and packed bits, for small numbers.

use crate::thrift::varint;

/// Bits that the numbers up to `most` need.
pub(crate) fn width(most: u32) -> u32 {
    u32::BITS - most.leading_zeros()
}

/// Appends `values`, each of at most `width` bits.
pub(crate) fn put(out: &mut Vec<u8>, values: &[u32], width: u32) {
    let mut literals = 0..0;
    while literals.end < values.len() {
        let at = literals.end;
        let run = values[at..].iter().take_while(|v| **v == values[at]).count();
        if run < 8 {
            literals.end = values.len().min(at + 8);
            continue;
        }
        packed(out, &values[literals], width);
        varint(out, (run as u64) << 1);
        out.extend_from_slice(&values[at].to_le_bytes()[..width.div_ceil(8) as usize]);
        literals = at + run..at + run;
    }
    packed(out, &values[literals], width);
}

/// `values` in groups of eight, the last one filled up with zeros.
fn packed(out: &mut Vec<u8>, values: &[u32], width: u32) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(8);
    varint(out, (groups as u64) << 1 | 1);
    let padding = std::iter::repeat_n(0, groups * 8 - values.len());
    bits(out, values.iter().map(|v| u64::from(*v)).chain(padding), width);
}

/// `values` one after the other, `width` bits of each, the lowest first. Together they fill whole bytes.
pub(crate) fn bits(out: &mut Vec<u8>, values: impl Iterator<Item = u64>, width: u32) {
    let (mut held, mut len) = (0_u128, 0);
    for value in values {
        held |= u128::from(value) << len;
        len += width;
        while len >= 8 {
            out.push(held as u8);
            held >>= 8;
            len -= 8;
        }
    }
    assert_eq!(len, 0, "bits left over");
}
