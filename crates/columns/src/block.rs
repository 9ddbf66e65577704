// SPDX-License-Identifier: GPL-2.0-only
use crate::column::{Column, Kind};

/// One cell of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    Nothing,
    /// A whole number, of any of these kinds.
    Int(i64),
    Real(f64),
    Flag(bool),
    /// The place of a word among its column's.
    Word(u32),
}

/// Some rows of a table, held by column.
#[derive(Clone, Debug)]
pub struct Block {
    pub(crate) columns: Vec<Cells>,
    rows: usize,
}

/// The cells of one column.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    pub(crate) values: Values,
    /// By row: whether it holds something; none for a column in which every cell does.
    pub(crate) present: Option<Vec<bool>>,
}

/// What is in the cells that hold something.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    Int(Vec<i64>),
    Real(Vec<f64>),
    Flag(Vec<bool>),
    Word(Vec<u32>),
}

impl Values {
    fn clear(&mut self) {
        match self {
            Self::Int(v) => v.clear(),
            Self::Real(v) => v.clear(),
            Self::Flag(v) => v.clear(),
            Self::Word(v) => v.clear(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Int(v) => v.len(),
            Self::Real(v) => v.len(),
            Self::Flag(v) => v.len(),
            Self::Word(v) => v.len(),
        }
    }
}

impl Block {
    pub(crate) fn new(columns: &[Column]) -> Self {
        let cells = |c: &Column| Cells {
            values: match c.kind {
                Kind::I16 | Kind::I32 | Kind::I64 => Values::Int(Vec::new()),
                Kind::F64 => Values::Real(Vec::new()),
                Kind::Bool => Values::Flag(Vec::new()),
                Kind::Text => Values::Word(Vec::new()),
            },
            present: c.optional.then(Vec::new),
        };
        Self { columns: columns.iter().map(cells).collect(), rows: 0 }
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Takes all rows out; the memory stays for the next ones.
    pub fn clear(&mut self) {
        self.rows = 0;
        for cells in &mut self.columns {
            cells.values.clear();
            cells.present.iter_mut().for_each(Vec::clear);
        }
    }

    /// Appends a row.
    ///
    /// # Panics
    /// It has more or fewer cells than there are columns, or a cell of another kind than its column.
    #[inline]
    pub fn push(&mut self, row: &[Cell]) {
        assert_eq!(row.len(), self.columns.len(), "cells of a row");
        self.rows += 1;
        for (cells, cell) in self.columns.iter_mut().zip(row) {
            if let Some(present) = &mut cells.present {
                present.push(*cell != Cell::Nothing);
                if *cell == Cell::Nothing {
                    continue;
                }
            }
            match (&mut cells.values, *cell) {
                (Values::Int(all), Cell::Int(v)) => all.push(v),
                (Values::Real(all), Cell::Real(v)) => all.push(v),
                (Values::Flag(all), Cell::Flag(v)) => all.push(v),
                (Values::Word(all), Cell::Word(v)) => all.push(v),
                (_, cell) => unreachable!("a column of another kind than {cell:?}"),
            }
        }
    }
}
