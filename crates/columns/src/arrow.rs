// SPDX-License-Identifier: GPL-2.0-only
//! Apache Arrow's file format, the part of it that tables without nesting need:
//! <https://arrow.apache.org/docs/format/Columnar.html>.
//!
//! Each block is a record batch, not compressed, so that readers can map a file into memory.

use crate::block::{Block, Cells, Values};
use crate::column::{Column, Kind};
use crate::flat::{Field, Flat, Place};
use crate::hybrid;
use crate::parquet::Group;

/// The first and the last bytes of a file.
const MAGIC: &[u8] = b"ARROW1";
/// The first bytes of a message, before its length.
const CONTINUES: [u8; 4] = [0xff; 4];
/// Version 5 of the metadata.
const VERSION: Field = Field::I16(4);
/// What a message is about.
const SCHEMA: u8 = 1;
const RECORD_BATCH: u8 = 3;
/// What buffers are aligned to.
const ALIGNED: usize = 64;

pub(crate) fn begin(columns: &[Column]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.resize(8, 0);
    let mut flat = Flat::default();
    let schema = schema(&mut flat, columns, &[]);
    out.extend(message(flat, SCHEMA, schema, 0));
    out
}

/// A message: its metadata, which the body of so many bytes follows.
fn message(mut flat: Flat, about: u8, header: Place, body: usize) -> Vec<u8> {
    let root = flat.table(&[
        (3, Field::I64(body as i64)),
        (2, Field::To(header)),
        (0, VERSION),
        (1, Field::U8(about)),
    ]);
    let metadata = flat.end(root);
    let mut out = CONTINUES.to_vec();
    out.extend_from_slice(&(metadata.len() as i32).to_le_bytes());
    out.extend(metadata);
    out
}

fn schema(flat: &mut Flat, columns: &[Column], about: &[(String, String)]) -> Place {
    let fields: Vec<Place> = columns.iter().map(|c| field(flat, c)).collect();
    let fields = flat.references(&fields);
    let pairs: Vec<Place> = about
        .iter()
        .map(|(name, text)| {
            let (name, text) = (flat.text(name), flat.text(text));
            flat.table(&[(0, Field::To(name)), (1, Field::To(text))])
        })
        .collect();
    let pairs = flat.references(&pairs);
    flat.table(&[(1, Field::To(fields)), (2, Field::To(pairs)), (0, Field::I16(0))])
}

fn field(flat: &mut Flat, column: &Column) -> Place {
    let int = |flat: &mut Flat, bits| (2, flat.table(&[(0, Field::I32(bits)), (1, Field::U8(1))]));
    let (kind, details) = match column.kind {
        Kind::I16 => int(flat, 16),
        Kind::I32 => int(flat, 32),
        Kind::I64 => int(flat, 64),
        Kind::F64 => (3, flat.table(&[(0, Field::I16(2))])),
        Kind::Text => (5, flat.table(&[])),
        Kind::Bool => (6, flat.table(&[])),
    };
    let children = flat.references(&[]);
    let name = flat.text(&column.name);
    flat.table(&[
        (0, Field::To(name)),
        (3, Field::To(details)),
        (5, Field::To(children)),
        (1, Field::U8(column.optional.into())),
        (2, Field::U8(kind)),
    ])
}

/// The buffers of a batch, one after the other.
#[derive(Default)]
struct Body {
    bytes: Vec<u8>,
    /// Start and length of each.
    buffers: Vec<[i64; 2]>,
}

impl Body {
    fn buffer(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        self.buffers.push([start as i64, (self.bytes.len() - start) as i64]);
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNED), 0);
    }
}

/// Appends `flags`, a bit each.
fn bits(to: &mut Vec<u8>, flags: impl ExactSizeIterator<Item = bool>) {
    let padding = flags.len().next_multiple_of(8) - flags.len();
    hybrid::bits(to, flags.map(u64::from).chain(std::iter::repeat_n(0, padding)), 1);
}

/// By row: the values of `all`, the one that stands for nothing where a cell holds nothing.
fn by_row<'v, T: Copy + Default>(cells: &'v Cells, all: &'v [T], rows: usize) -> Vec<T> {
    let Some(present) = &cells.present else { return all.to_vec() };
    assert_eq!(present.len(), rows, "cells of a column");
    let mut next = all.iter().copied();
    let value = |held: &bool| {
        if *held { next.next().unwrap_or_else(|| unreachable!("a value")) } else { T::default() }
    };
    present.iter().map(value).collect()
}

fn put_column(body: &mut Body, column: &Column, cells: &Cells, rows: usize) {
    let whole = cells.present.as_ref().is_none_or(|p| p.iter().all(|held| *held));
    body.buffer(|to| {
        if let Some(present) = cells.present.as_ref().filter(|_| !whole) {
            bits(to, present.iter().copied());
        }
    });
    match &cells.values {
        Values::Int(all) => body.buffer(|to| {
            let bytes = match column.kind {
                Kind::I16 => 2,
                Kind::I32 => 4,
                _ => 8,
            };
            by_row(cells, all, rows).iter().for_each(|v| to.extend_from_slice(&v.to_le_bytes()[..bytes]));
        }),
        Values::Real(all) => {
            body.buffer(|to| {
                by_row(cells, all, rows).iter().for_each(|v| to.extend_from_slice(&v.to_le_bytes()))
            });
        }
        Values::Flag(all) => body.buffer(|to| bits(to, by_row(cells, all, rows).into_iter())),
        Values::Word(all) => {
            let held = cells.present.as_ref();
            let word = |(row, place): (usize, u32)| {
                if held.is_none_or(|p| p[row]) { column.words[place as usize].as_bytes() } else { &[] }
            };
            let places = by_row(cells, all, rows);
            let words = || places.iter().copied().enumerate().map(word);
            body.buffer(|to| {
                let mut end = 0_i32;
                to.extend_from_slice(&end.to_le_bytes());
                for word in words() {
                    end += word.len() as i32;
                    to.extend_from_slice(&end.to_le_bytes());
                }
            });
            body.buffer(|to| words().for_each(|word| to.extend_from_slice(word)));
        }
    }
}

/// The metadata of a batch.
fn batch_metadata(rows: usize, nodes: &[[i64; 2]], body: &Body) -> Vec<u8> {
    let mut flat = Flat::default();
    let nodes = flat.structures(nodes);
    let buffers = flat.structures(&body.buffers);
    let batch = flat.table(&[(0, Field::I64(rows as i64)), (1, Field::To(nodes)), (2, Field::To(buffers))]);
    message(flat, RECORD_BATCH, batch, body.bytes.len())
}

/// Appends `block` and says what is in it.
pub(crate) fn batch(columns: &[Column], block: &Block, to: &mut Vec<u8>) -> Group {
    let before = to.len();
    let rows = block.rows();
    let mut body = Body::default();
    let mut nodes = Vec::new();
    for (column, cells) in columns.iter().zip(&block.columns) {
        put_column(&mut body, column, cells, rows);
        nodes.push([rows as i64, (rows - cells.values.len()) as i64]);
    }
    to.extend(batch_metadata(rows, &nodes, &body));
    to.append(&mut body.bytes);
    Group { rows, bytes: (to.len() - before) as u64, chunks: Vec::new() }
}

/// Bytes of the metadata of any batch: numbers take as many whatever they are.
fn metadata_len(columns: &[Column]) -> u64 {
    let buffers = columns.iter().map(|c| if c.kind == Kind::Text { 3 } else { 2 }).sum();
    let body = Body { buffers: vec![[0; 2]; buffers], ..Body::default() };
    batch_metadata(0, &vec![[0; 2]; columns.len()], &body).len() as u64
}

/// The end of a file that has [`begin`]'s bytes, then those of `groups`.
pub(crate) fn end(columns: &[Column], groups: &[Group], about: &[(String, String)]) -> Vec<u8> {
    let mut at = begin(columns).len() as u64;
    let metadata = metadata_len(columns);
    let place = |group: &Group| {
        let start = at;
        at += group.bytes;
        [start, metadata, group.bytes - metadata].map(u64::cast_signed)
    };
    let blocks: Vec<[i64; 3]> = groups.iter().map(place).collect();
    let mut flat = Flat::default();
    let batches = flat.structures(&blocks);
    let dictionaries = flat.structures::<3>(&[]);
    let schema = schema(&mut flat, columns, about);
    let root = flat.table(&[
        (1, Field::To(schema)),
        (2, Field::To(dictionaries)),
        (3, Field::To(batches)),
        (0, VERSION),
    ]);
    let footer = flat.end(root);
    let mut out = CONTINUES.to_vec();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&footer);
    out.extend_from_slice(&(footer.len() as i32).to_le_bytes());
    out.extend_from_slice(MAGIC);
    out
}

/// Whether a block can take the bytes that `group` does.
pub(crate) fn fits(columns: &[Column], group: &Group) -> bool {
    group.bytes >= metadata_len(columns)
}
