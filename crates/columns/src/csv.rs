// SPDX-License-Identifier: GPL-2.0-only
use std::io::Write as _;

use crate::block::{Block, Values};
use crate::column::Column;

/// `text` as a cell, in quotes where it needs them.
pub(crate) fn quoted(text: &str) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    let written = writer.write_record([text]).is_ok();
    let mut cell = writer.into_inner().unwrap_or_else(|_| unreachable!("memory takes all bytes"));
    assert!(written && cell.pop() == Some(b'\n'), "a cell of text");
    cell
}

pub(crate) fn head(columns: &[Column]) -> Vec<u8> {
    let mut out = columns.iter().map(|c| quoted(&c.name)).collect::<Vec<_>>().join(&b',');
    out.push(b'\n');
    out
}

/// The rows of `block`; `words` are those of each column, quoted.
pub(crate) fn rows(words: &[Vec<Vec<u8>>], block: &Block, to: &mut Vec<u8>) {
    // By column: how many values were written.
    let mut next = vec![0; block.columns.len()];
    let mut digits = itoa::Buffer::new();
    for row in 0..block.rows() {
        for (n, cells) in block.columns.iter().enumerate() {
            if n > 0 {
                to.push(b',');
            }
            if cells.present.as_ref().is_some_and(|p| !p[row]) {
                continue;
            }
            let at = next[n];
            next[n] += 1;
            match &cells.values {
                Values::Int(all) => to.extend_from_slice(digits.format(all[at]).as_bytes()),
                Values::Real(all) => {
                    let written = write!(to, "{}", all[at]);
                    assert!(written.is_ok(), "memory takes all bytes");
                }
                Values::Flag(all) => to.extend_from_slice(if all[at] { b"true" } else { b"false" }),
                Values::Word(all) => to.extend_from_slice(&words[n][all[at] as usize]),
            }
        }
        to.push(b'\n');
    }
}
