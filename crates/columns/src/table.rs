// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;
use std::fmt;

use crate::block::Cell;
use crate::column::{Column, Kind};
use crate::schema::{Form, Schema};

/// A cell of a [`DataTable`].
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Not known, or nothing there.
    #[default]
    Nothing,
    /// A whole number, exact.
    Integer(i128),
    Number(f64),
    Flag(bool),
    Text(String),
}

/// As CSV has it, but for quotes: all digits, and nothing for nothing.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Integer(v) => v.fmt(f),
            Self::Number(v) => v.fmt(f),
            Self::Flag(v) => v.fmt(f),
            Self::Text(v) => v.fmt(f),
        }
    }
}

/// An empty text says nothing, as in CSV.
impl From<&str> for Value {
    fn from(text: &str) -> Self {
        if text.is_empty() { Self::Nothing } else { Self::Text(text.to_owned()) }
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        if text.is_empty() { Self::Nothing } else { Self::Text(text) }
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

/// What is no number is nothing.
impl From<f64> for Value {
    fn from(number: f64) -> Self {
        if number.is_nan() { Self::Nothing } else { Self::Number(number) }
    }
}

impl From<()> for Value {
    fn from((): ()) -> Self {
        Self::Nothing
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

/// Not even sums of sums reach the greatest; that stands for what is beyond.
impl From<u128> for Value {
    fn from(whole: u128) -> Self {
        Self::Integer(i128::try_from(whole).unwrap_or(i128::MAX))
    }
}

macro_rules! from_whole {
    ($($kind:ty),*) => {
        $(impl From<$kind> for Value {
            fn from(whole: $kind) -> Self {
                Self::Integer(whole as i128)
            }
        })*
    };
}

from_whole!(u8, u16, u32, i32, u64, i64, usize);

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nothing, Into::into)
    }
}

/// A whole number that a column of 64 bits does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge {
    pub column: String,
    pub number: i128,
}

/// A table in memory, in which any cell may hold nothing: what a data frame is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataTable {
    columns: Vec<Column>,
    rows: Vec<Vec<Value>>,
}

impl DataTable {
    /// A table of these columns without a row. Kinds are [`Kind::Text`], [`Kind::I64`], [`Kind::F64`], [`Kind::Bool`]; a name
    /// ends with the unit of its numbers.
    #[must_use]
    pub fn new<N: Into<String>>(columns: impl IntoIterator<Item = (N, Kind)>) -> Self {
        let column =
            |(name, kind): (N, Kind)| Column { name: name.into(), kind, optional: true, words: Vec::new() };
        Self { columns: columns.into_iter().map(column).collect(), rows: Vec::new() }
    }

    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Rows; each has a cell for each column.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Value>] {
        &self.rows
    }

    /// Appends a row; cells that it lacks at its end hold nothing. A column of numbers takes whole ones, too.
    ///
    /// # Panics
    /// It has more cells than there are columns, or a cell of another kind than its column.
    pub fn push(&mut self, mut row: Vec<Value>) {
        assert!(row.len() <= self.columns.len(), "{} cells of {}", row.len(), self.columns.len());
        for (column, value) in self.columns.iter().zip(&row) {
            let fits = match value {
                Value::Nothing => true,
                Value::Integer(_) => matches!(column.kind, Kind::I64 | Kind::F64),
                Value::Number(_) => column.kind == Kind::F64,
                Value::Flag(_) => column.kind == Kind::Bool,
                Value::Text(_) => column.kind == Kind::Text,
            };
            assert!(fits, "{value:?} in the column {} of kind {}", column.name, column.kind.name());
        }
        row.resize(self.columns.len(), Value::Nothing);
        self.rows.push(row);
    }

    /// The table as a file of this form, which says `about` itself: names and texts.
    ///
    /// # Errors
    /// [`TooLarge`] when a column of whole numbers holds one that 64 bits with a sign do not.
    pub fn encode(&self, form: Form, about: &[(String, String)]) -> Result<Vec<u8>, TooLarge> {
        let mut columns = self.columns.clone();
        let mut places: Vec<BTreeMap<&str, u32>> = vec![BTreeMap::new(); columns.len()];
        let mut rows = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let mut cells = Vec::with_capacity(row.len());
            for ((column, places), value) in columns.iter_mut().zip(&mut places).zip(row) {
                cells.push(match value {
                    Value::Nothing => Cell::Nothing,
                    Value::Integer(v) if column.kind == Kind::F64 => Cell::Real(*v as f64),
                    Value::Integer(v) => Cell::Int(
                        i64::try_from(*v)
                            .map_err(|_| TooLarge { column: column.name.clone(), number: *v })?,
                    ),
                    Value::Number(v) => Cell::Real(*v),
                    Value::Flag(v) => Cell::Flag(*v),
                    Value::Text(text) => Cell::Word(*places.entry(text).or_insert_with(|| {
                        column.words.push(text.clone());
                        column.words.len() as u32 - 1
                    })),
                });
            }
            rows.push(cells);
        }
        let schema = Schema::new(form, columns);
        let mut block = schema.block();
        rows.iter().for_each(|row| block.push(row));
        let mut out = schema.begin();
        let group = schema.encode(&block, &mut out);
        out.extend(schema.end(&[group], about));
        Ok(out)
    }
}
