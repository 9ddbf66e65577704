// SPDX-License-Identifier: GPL-2.0-only
//! What a report gives to the page and to the charts: `idlewise.page/1`. The TypeScript side, with the columns of the
//! tables that charts read, is `web/src/contract.ts`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the contract that the embedded script reads.
pub const SCHEMA: &str = "idlewise.page/1";

/// The command that a page reports of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Replay,
    Compare,
    Simulate,
    Ab,
    Advise,
    Boot,
    Reproduce,
    Diff,
    Sweep,
}

/// How far the numbers can be relied on, in a word and in a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    pub grade: String,
    pub why: String,
}

/// What identifies an input: a file's hash, a platform's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hash {
    pub name: String,
    pub hash: String,
}

/// Confidence, health and assumptions: what a line is about, and the line in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub label: String,
    pub text: String,
}

/// The direction in which a column or a measure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Less,
    More,
}

/// How a column is sorted and aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    Text,
    Integer,
    Number,
}

/// A column of a tidy table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// By which charts find it.
    pub name: String,
    /// As the page's table calls it.
    pub label: String,
    #[serde(rename = "type")]
    pub kind: ColumnType,
    /// Empty for none; `ns` is shown in the unit that suits the value.
    pub unit: String,
    pub better: Option<Better>,
}

impl Column {
    /// A column of names or sentences.
    #[must_use]
    pub fn text(name: &str, label: &str) -> Self {
        Self::new(name, label, ColumnType::Text, "")
    }

    /// A column of whole numbers in `unit`.
    #[must_use]
    pub fn integer(name: &str, label: &str, unit: &str) -> Self {
        Self::new(name, label, ColumnType::Integer, unit)
    }

    /// A column of numbers in `unit`.
    #[must_use]
    pub fn number(name: &str, label: &str, unit: &str) -> Self {
        Self::new(name, label, ColumnType::Number, unit)
    }

    /// The same column, in which one direction is better.
    #[must_use]
    pub fn better(mut self, better: Better) -> Self {
        self.better = Some(better);
        self
    }

    fn new(name: &str, label: &str, kind: ColumnType, unit: &str) -> Self {
        Self { name: name.to_owned(), label: label.to_owned(), kind, unit: unit.to_owned(), better: None }
    }
}

/// A cell of a table. A number that is no number is written as unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    Integer(i64),
    Number(f64),
    Text(String),
    /// Shown as `?`.
    Unknown,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::Number(number) } else { Self::Unknown }
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<u64> for Cell {
    /// JavaScript has no whole numbers of 64 bits; what an `i64` does not hold is rounded as there.
    #[allow(clippy::cast_precision_loss, reason = "the page's own numbers have no more digits")]
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or(Self::Number(number as f64), Self::Integer)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unknown, Into::into)
    }
}

/// A tidy table: one fact a row. Each row has a cell for each column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// By which charts find it.
    pub name: String,
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// The place of the column of this name.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }
}

/// A report, as the page and the charts need it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageData {
    pub schema: String,
    pub kind: Kind,
    pub title: String,
    pub trust: Trust,
    /// The answer, in sentences.
    pub verdicts: Vec<String>,
    /// The exact command, an argument each.
    pub command: Vec<String>,
    pub version: String,
    pub hashes: Vec<Hash>,
    pub warnings: Vec<String>,
    pub notes: Vec<Note>,
    pub tables: Vec<Table>,
    /// What was left out to keep the page small, in sentences.
    pub sampled: Vec<String>,
    /// The command's own JSON result, unchanged.
    pub report: Value,
}

impl PageData {
    /// A page about `report` that says nothing yet.
    #[must_use]
    pub fn new(kind: Kind, title: &str, version: &str, report: Value) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            kind,
            title: title.to_owned(),
            trust: Trust::default(),
            verdicts: Vec::new(),
            command: Vec::new(),
            version: version.to_owned(),
            hashes: Vec::new(),
            warnings: Vec::new(),
            notes: Vec::new(),
            tables: Vec::new(),
            sampled: Vec::new(),
            report,
        }
    }

    pub(crate) fn has(&self, table: &str) -> bool {
        self.tables.iter().any(|t| t.name == table && !t.rows.is_empty())
    }
}
