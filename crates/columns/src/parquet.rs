// SPDX-License-Identifier: GPL-2.0-only
//! Apache Parquet, the part of it that tables without nesting need: <https://parquet.apache.org/docs/file-format/>.
//!
//! Each column of a block is a chunk of at most two pages: the values that occur, where they are few, and the rows.

use serde::{Deserialize, Serialize};

use crate::block::{Block, Cells, Values};
use crate::column::{Column, Kind};
use crate::thrift::{Fields, structure};
use crate::{delta, hybrid};

/// The first and the last bytes of a file.
pub(crate) const MAGIC: &[u8] = b"PAR1";

/// What a file's end has to know of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    pub rows: usize,
    /// How many bytes it takes.
    pub bytes: u64,
    /// One for each column, in their order; only Parquet has them.
    pub chunks: Vec<Chunk>,
}

/// What a file's end has to know of one column of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// Bytes of the page of values that occur; 0 where there is none.
    dictionary: u64,
    /// Bytes of both pages.
    bytes: u64,
    /// The same before they were compressed.
    uncompressed: u64,
    encoding: i32,
    nothing: u64,
    /// The least and the greatest value as they are stored.
    range: Option<(Vec<u8>, Vec<u8>)>,
}

impl Group {
    /// Whether its columns take the bytes that it does.
    pub(crate) fn adds_up(&self) -> bool {
        let sum = self.chunks.iter().try_fold(0_u64, |sum, c| sum.checked_add(c.bytes));
        sum == Some(self.bytes) && self.chunks.iter().all(|c| c.dictionary <= c.bytes)
    }
}

const PLAIN: i32 = 0;
const RLE: i32 = 3;
const DELTA_BINARY_PACKED: i32 = 5;
const RLE_DICTIONARY: i32 = 8;

const ZSTD: i32 = 6;
/// The fastest that is still small: higher ones gain a twentieth and take twice as long.
const LEVEL: i32 = 1;

/// A column with so many different numbers at most is stored by their places among these.
const FEW: usize = 1024;

/// How a kind is stored: the physical type, the older name of what it means, and the bits of a whole number.
struct Stored {
    physical: i32,
    converted: Option<i32>,
    bits: Option<i8>,
}

fn stored(kind: Kind) -> Stored {
    let int = |physical, converted, bits| Stored { physical, converted: Some(converted), bits: Some(bits) };
    match kind {
        Kind::I16 => int(1, 16, 16),
        Kind::I32 => int(1, 17, 32),
        Kind::I64 => int(2, 18, 64),
        Kind::F64 => Stored { physical: 5, converted: None, bits: None },
        Kind::Bool => Stored { physical: 0, converted: None, bits: None },
        Kind::Text => Stored { physical: 6, converted: Some(0), bits: None },
    }
}

/// Whether numbers of `kind` take four bytes.
fn is_short(kind: Kind) -> bool {
    stored(kind).physical == 1
}

/// Appends `block` and says what is in it.
pub(crate) fn group(columns: &[Column], block: &Block, to: &mut Vec<u8>) -> Group {
    let before = to.len();
    let chunks =
        columns.iter().zip(&block.columns).map(|(c, cells)| chunk(c, cells, block.rows(), to)).collect();
    Group { rows: block.rows(), bytes: (to.len() - before) as u64, chunks }
}

fn chunk(column: &Column, cells: &Cells, rows: usize, to: &mut Vec<u8>) -> Chunk {
    let short = is_short(column.kind);
    let mut body = Vec::new();
    if let Some(present) = &cells.present {
        let mut levels = Vec::new();
        hybrid::put(&mut levels, &present.iter().map(|p| u32::from(*p)).collect::<Vec<_>>(), 1);
        body.extend_from_slice(&(levels.len() as u32).to_le_bytes());
        body.append(&mut levels);
    }
    let mut out = Chunk { nothing: (rows - cells.values.len()) as u64, ..Chunk::default() };
    let mut words = None;
    out.encoding = match &cells.values {
        _ if cells.values.len() == 0 => PLAIN,
        Values::Int(all) => {
            out.range = range(all.iter().copied()).map(|(a, b)| (fixed(a, short), fixed(b, short)));
            if let Some((few, places)) = few(all) {
                let page = few.iter().flat_map(|v| fixed(*v, short)).collect();
                words = Some((page, few.len()));
                put_places(&mut body, &places, few.len());
                RLE_DICTIONARY
            } else {
                delta::put(&mut body, all, short);
                DELTA_BINARY_PACKED
            }
        }
        Values::Real(all) => {
            out.range = range_of_reals(all);
            all.iter().for_each(|v| body.extend_from_slice(&v.to_le_bytes()));
            PLAIN
        }
        Values::Flag(all) => {
            let padding = std::iter::repeat_n(0, all.len().next_multiple_of(8) - all.len());
            hybrid::bits(&mut body, all.iter().map(|v| u64::from(*v)).chain(padding), 1);
            PLAIN
        }
        Values::Word(all) => {
            let (used, places) = used(all, column.words.len());
            let text = |place: &u32| column.words[*place as usize].as_bytes();
            out.range = range(used.iter().map(text)).map(|(a, b)| (a.to_vec(), b.to_vec()));
            let mut page = Vec::new();
            for word in used.iter().map(text) {
                page.extend_from_slice(&(word.len() as u32).to_le_bytes());
                page.extend_from_slice(word);
            }
            words = Some((page, used.len()));
            put_places(&mut body, &places, used.len());
            RLE_DICTIONARY
        }
    };
    let before = to.len();
    if let Some((page, len)) = words {
        out.uncompressed += put_page(to, &page, 2, |header| {
            header.structure(7, |d| {
                d.i32(1, len as i32);
                d.i32(2, PLAIN);
            });
        });
        out.dictionary = (to.len() - before) as u64;
    }
    out.uncompressed += put_page(to, &body, 0, |header| {
        header.structure(5, |d| {
            d.i32(1, rows as i32);
            d.i32(2, out.encoding);
            d.i32(3, RLE);
            d.i32(4, RLE);
        });
    });
    out.bytes = (to.len() - before) as u64;
    out
}

/// Places among `len` values.
fn put_places(body: &mut Vec<u8>, places: &[u32], len: usize) {
    // Not every reader knows numbers of no bits.
    let width = hybrid::width(len as u32 - 1).max(1);
    body.push(width as u8);
    hybrid::put(body, places, width);
}

/// Appends a page, compressed, with its header; gives the bytes that it would take otherwise. `header` writes the part that only
/// pages of this `kind` have.
fn put_page(to: &mut Vec<u8>, body: &[u8], kind: i32, header: impl FnOnce(&mut Fields<'_>)) -> u64 {
    let packed = zstd::bulk::compress(body, LEVEL)
        .unwrap_or_else(|e| unreachable!("{} bytes in memory cannot be compressed: {e}", body.len()));
    let before = to.len();
    structure(to, |f| {
        f.i32(1, kind);
        f.i32(2, body.len() as i32);
        f.i32(3, packed.len() as i32);
        header(f);
    });
    let head = to.len() - before;
    to.extend_from_slice(&packed);
    (head + body.len()) as u64
}

/// `value` as it is stored.
fn fixed(value: i64, short: bool) -> Vec<u8> {
    if short { (value as i32).to_le_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
}

fn range<T: Ord + Copy>(all: impl Iterator<Item = T> + Clone) -> Option<(T, T)> {
    Some((all.clone().min()?, all.max()?))
}

/// Of numbers that can be compared; nothing where one cannot.
fn range_of_reals(all: &[f64]) -> Option<(Vec<u8>, Vec<u8>)> {
    if all.iter().any(|v| v.is_nan()) {
        return None;
    }
    let least = all.iter().copied().reduce(f64::min)?;
    let most = all.iter().copied().reduce(f64::max)?;
    // A reader that looks for 0 must find both of them.
    let least = if least == 0.0 { -0.0 } else { least };
    let most = if most == 0.0 { 0.0 } else { most };
    Some((least.to_le_bytes().to_vec(), most.to_le_bytes().to_vec()))
}

/// The different numbers among `all` in the order in which they come, and each as a place among them; nothing where they are many.
fn few(all: &[i64]) -> Option<(Vec<i64>, Vec<u32>)> {
    const SLOTS: usize = 4 * FEW;
    const EMPTY: u32 = u32::MAX;
    let mut slots = vec![EMPTY; SLOTS];
    let mut found: Vec<i64> = Vec::new();
    let mut places = Vec::with_capacity(all.len());
    for value in all {
        let hash = value.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = (hash >> 52) as usize;
        let place = loop {
            match slots[slot] {
                EMPTY if found.len() == FEW => return None,
                EMPTY => {
                    slots[slot] = found.len() as u32;
                    found.push(*value);
                    break slots[slot];
                }
                place if found[place as usize] == *value => break place,
                _ => slot = (slot + 1) % SLOTS,
            }
        };
        places.push(place);
    }
    Some((found, places))
}

/// Which of `len` words are used, in their order, and each of `all` as a place among these.
fn used(all: &[u32], len: usize) -> (Vec<u32>, Vec<u32>) {
    let mut place = vec![0; len];
    all.iter().for_each(|word| place[*word as usize] = 1);
    let used: Vec<u32> = (0..len as u32).filter(|word| place[*word as usize] == 1).collect();
    used.iter().enumerate().for_each(|(n, word)| place[*word as usize] = n as u32);
    (used, all.iter().map(|word| place[*word as usize]).collect())
}

/// The end of a file whose groups follow the first [`MAGIC`].
pub(crate) fn footer(columns: &[Column], groups: &[Group], about: &[(String, String)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = MAGIC.len() as u64;
    structure(&mut out, |file| {
        file.i32(1, 2);
        file.structures(2, 0..columns.len() + 1, |f, n| schema_element(f, columns, n));
        file.i64(3, groups.iter().map(|g| g.rows as u64).sum());
        file.structures(4, groups.iter(), |f, group| {
            let start = at;
            f.structures(1, columns.iter().zip(&group.chunks), |f, (column, chunk)| {
                column_chunk(f, column, chunk, group.rows, at);
                at += chunk.bytes;
            });
            assert_eq!(at - start, group.bytes, "bytes of a group");
            f.i64(2, group.chunks.iter().map(|c| c.uncompressed).sum());
            f.i64(3, group.rows as u64);
            f.i64(5, start);
            f.i64(6, group.bytes);
        });
        file.structures(5, about.iter(), |f, (name, text)| {
            f.bytes(1, name.as_bytes());
            f.bytes(2, text.as_bytes());
        });
        file.bytes(6, concat!("idlewise version ", env!("CARGO_PKG_VERSION")).as_bytes());
        file.structures(7, columns.iter(), |f, _| f.structure(1, |_| {}));
    });
    out.extend_from_slice(&(out.len() as u32).to_le_bytes());
    out.extend_from_slice(MAGIC);
    out
}

/// Element `n` of a schema: the row, then its columns.
fn schema_element(f: &mut Fields<'_>, columns: &[Column], n: usize) {
    let Some(column) = n.checked_sub(1).and_then(|n| columns.get(n)) else {
        f.bytes(4, b"row");
        f.i32(5, columns.len() as i32);
        return;
    };
    let as_stored = stored(column.kind);
    f.i32(1, as_stored.physical);
    f.i32(3, column.optional.into());
    f.bytes(4, column.name.as_bytes());
    if let Some(converted) = as_stored.converted {
        f.i32(6, converted);
    }
    match as_stored.bits {
        Some(bits) => f.structure(10, |logical| {
            logical.structure(10, |int| {
                int.i8(1, bits);
                int.flag(2, true);
            });
        }),
        None if column.kind == Kind::Text => f.structure(10, |logical| logical.structure(1, |_| {})),
        None => {}
    }
}

fn column_chunk(f: &mut Fields<'_>, column: &Column, chunk: &Chunk, rows: usize, at: u64) {
    f.i64(2, 0);
    f.structure(3, |meta| {
        meta.i32(1, stored(column.kind).physical);
        meta.i32s(2, &[PLAIN, RLE, chunk.encoding][..if chunk.encoding == PLAIN { 2 } else { 3 }]);
        meta.texts(3, &[&column.name]);
        meta.i32(4, ZSTD);
        meta.i64(5, rows as u64);
        meta.i64(6, chunk.uncompressed);
        meta.i64(7, chunk.bytes);
        meta.i64(9, at + chunk.dictionary);
        if chunk.dictionary > 0 {
            meta.i64(11, at);
        }
        meta.structure(12, |s| {
            s.i64(3, chunk.nothing);
            if let Some((least, most)) = &chunk.range {
                s.bytes(5, most);
                s.bytes(6, least);
            }
        });
    });
}
