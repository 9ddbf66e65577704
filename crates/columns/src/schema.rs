// SPDX-License-Identifier: GPL-2.0-only
use crate::block::Block;
use crate::column::Column;
use crate::parquet::Group;
use crate::{arrow, csv, parquet};

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Apache Parquet, compressed with zstd.
    Parquet,
    /// Apache Arrow's file format (Feather, version 2), not compressed.
    Arrow,
    /// Comma-separated values with a line of column names.
    Csv,
}

/// The columns of a table and the form in which it is written.
#[derive(Clone, Debug)]
pub struct Schema {
    form: Form,
    columns: Vec<Column>,
    /// By column: its words as cells of CSV, quoted where they have to be.
    quoted: Vec<Vec<Vec<u8>>>,
}

impl Schema {
    /// A table of `columns`, whose words a spreadsheet may take for formulas: it is the caller's to prevent that.
    #[must_use]
    pub fn new(form: Form, columns: Vec<Column>) -> Self {
        let quoted = match form {
            Form::Parquet | Form::Arrow => Vec::new(),
            Form::Csv => columns.iter().map(|c| c.words.iter().map(|w| csv::quoted(w)).collect()).collect(),
        };
        Self { form, columns, quoted }
    }

    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// An empty block of this table.
    #[must_use]
    pub fn block(&self) -> Block {
        Block::new(&self.columns)
    }

    /// Whether `groups` can be of this table, all together of so many bytes: what comes from another process may be none.
    #[must_use]
    pub fn fits(&self, groups: &[Group], bytes: u64) -> bool {
        let chunks = if self.form == Form::Parquet { self.columns.len() } else { 0 };
        groups.iter().all(|g| g.chunks.len() == chunks && (chunks == 0 || g.adds_up()))
            && (self.form != Form::Arrow || groups.iter().all(|g| arrow::fits(&self.columns, g)))
            && groups.iter().try_fold(0_u64, |sum, g| sum.checked_add(g.bytes)) == Some(bytes)
    }

    /// The first bytes of a file.
    #[must_use]
    pub fn begin(&self) -> Vec<u8> {
        match self.form {
            Form::Parquet => parquet::MAGIC.to_vec(),
            Form::Arrow => arrow::begin(&self.columns),
            Form::Csv => csv::head(&self.columns),
        }
    }

    /// The rows of `block` as bytes, appended to `to`.
    ///
    /// # Panics
    /// A word of the block is none of its column's.
    pub fn encode(&self, block: &Block, to: &mut Vec<u8>) -> Group {
        match self.form {
            Form::Parquet => parquet::group(&self.columns, block, to),
            Form::Arrow => arrow::batch(&self.columns, block, to),
            Form::Csv => {
                let before = to.len();
                csv::rows(&self.quoted, block, to);
                Group { rows: block.rows(), bytes: (to.len() - before) as u64, chunks: Vec::new() }
            }
        }
    }

    /// The last bytes of a file whose first are [`Schema::begin`]'s, followed by those of `groups`. `about` is what the file says of
    /// itself: names and texts; CSV has no place for it.
    #[must_use]
    pub fn end(&self, groups: &[Group], about: &[(String, String)]) -> Vec<u8> {
        match self.form {
            Form::Parquet => parquet::footer(&self.columns, groups, about),
            Form::Arrow => arrow::end(&self.columns, groups, about),
            Form::Csv => Vec::new(),
        }
    }
}
