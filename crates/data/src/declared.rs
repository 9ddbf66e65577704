// SPDX-License-Identifier: GPL-2.0-only
//! How tables declare their columns and are filled.

use idlewise_columns::{DataTable, Kind};

pub(crate) const TEXT: Kind = Kind::Text;
pub(crate) const INTEGER: Kind = Kind::I64;
pub(crate) const NUMBER: Kind = Kind::F64;
pub(crate) const FLAG: Kind = Kind::Bool;

/// A column as a table declares it: name, kind, and what it says in a few words, with its unit.
pub(crate) type Declared = (&'static str, Kind, &'static str);

/// A table of these columns without a row.
pub(crate) fn table<'d>(columns: impl IntoIterator<Item = &'d Declared>) -> DataTable {
    DataTable::new(columns.into_iter().map(|(name, kind, _)| (*name, *kind)))
}

/// A table without a row that ends with columns of so many states, each with the state's number in front of its name.
pub(crate) fn with_states(
    first: impl Iterator<Item = Declared>,
    state: &[Declared],
    states: usize,
) -> DataTable {
    let first = first.map(|(name, kind, _)| (name.to_owned(), kind));
    let of_state = |i| state.iter().map(move |(name, kind, _)| (format!("state{i}_{name}"), *kind));
    DataTable::new(first.chain((0..states).flat_map(of_state)))
}

/// A row of a table: its cells from left to right.
macro_rules! row {
    ($($cell:expr),* $(,)?) => {
        vec![$(idlewise_columns::Value::from($cell)),*]
    };
}
pub(crate) use row;
