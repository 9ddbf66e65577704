// SPDX-License-Identifier: GPL-2.0-only

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number of 16 bits. Whole numbers have a sign, so that the difference of two is right in every data frame.
    I16,
    /// The same of 32 bits.
    I32,
    /// The same of 64 bits.
    I64,
    /// A number that need not be whole.
    F64,
    Bool,
    /// One of the column's words.
    Text,
}

impl Kind {
    /// The name that data frames have for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::F64 => "double",
            Self::Bool => "bool",
            Self::Text => "text",
        }
    }
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    /// Whether a cell may hold nothing.
    pub optional: bool,
    /// The words of a [`Kind::Text`]; a cell is the place of one here.
    pub words: Vec<String>,
}
