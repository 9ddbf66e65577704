// SPDX-License-Identifier: GPL-2.0-only
//! From numbers to text, Markdown, CSV, JSON.
//!
//! A [`Report`] is what a command has to say: lines for the top, tables, and the same facts as data. [`Report::render`]
//! puts it into the form that was asked for.

mod units;

use std::str::FromStr;

use comfy_table::{CellAlignment, presets};
use serde::Serialize;
use thiserror::Error;

pub use units::{UNKNOWN, duration, percent, share, signed_duration, signed_percent, signed_points, span};

/// The form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    /// Aligned text for a terminal.
    #[default]
    Table,
    /// Markdown, to paste into a mail or an issue.
    Markdown,
    /// Comma-separated values: plain numbers, no text around them.
    Csv,
    /// JSON with a `schema` version.
    Json,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        match s {
            "table" => Ok(Self::Table),
            "markdown" => Ok(Self::Markdown),
            "csv" => Ok(Self::Csv),
            "json" => Ok(Self::Json),
            _ => Err(format!("unknown format {s:?}: table, markdown, csv or json")),
        }
    }
}

/// Why a result cannot be put into a form.
#[derive(Debug, Error)]
pub enum RenderError {
    /// JSON.
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// CSV.
    #[error("CSV: {0}")]
    Csv(String),
}

/// A table: the first column is text, the others are numbers and stand to the right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// A line above it; empty for none.
    pub title: String,
    /// Column heads; all empty for a table that needs none.
    pub head: Vec<String>,
    /// Rows; each has as many cells as there are heads.
    pub rows: Vec<Vec<String>>,
    /// How many columns from the left are text.
    pub text_columns: usize,
}

impl Table {
    /// An empty table with these heads, the first column text.
    #[must_use]
    pub fn new(title: impl Into<String>, head: Vec<String>) -> Self {
        Self { title: title.into(), head, rows: Vec::new(), text_columns: 1 }
    }

    fn drawn(&self, preset: &str) -> String {
        let mut t = comfy_table::Table::new();
        t.load_preset(preset);
        // Markdown has no table without a head.
        if preset != presets::NOTHING || self.head.iter().any(|h| !h.is_empty()) {
            t.set_header(&self.head);
        }
        for row in &self.rows {
            t.add_row(row);
        }
        for (i, column) in t.column_iter_mut().enumerate() {
            let align = if i < self.text_columns { CellAlignment::Left } else { CellAlignment::Right };
            column.set_cell_alignment(align);
        }
        let lines = t.to_string();
        lines.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }
}

/// A line of text with what it is about: `health    2 idle exits without entry`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    label: Option<String>,
    text: String,
}

/// Labels stand in a column of this width.
const LABEL: usize = 10;
/// Text is broken into lines no longer than this, unless a report says otherwise.
const WIDTH: usize = 110;

impl Line {
    /// A line about `label`; an empty label goes on with the line before.
    #[must_use]
    pub fn new(label: &str, text: impl std::fmt::Display) -> Self {
        Self { label: Some(label.to_owned()), text: text.to_string() }
    }

    /// Text that stands for itself.
    #[must_use]
    pub fn plain(text: impl std::fmt::Display) -> Self {
        Self { label: None, text: text.to_string() }
    }

    /// What it is about; `None` for text that stands for itself.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    fn text(&self, width: usize) -> String {
        let Some(label) = &self.label else { return textwrap::fill(&self.text, width) };
        let first = format!("{label:<LABEL$}");
        let rest = " ".repeat(LABEL);
        let options = textwrap::Options::new(width).initial_indent(&first).subsequent_indent(&rest);
        textwrap::fill(&self.text, options.break_words(false))
    }

    fn markdown(&self) -> String {
        match self.label.as_deref() {
            None => self.text.clone(),
            Some("") => format!("  {}", self.text),
            Some(label) => format!("* {label}: {}", self.text),
        }
    }
}

/// What a command has to say.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Lines for the top: what was read, how well it is known, what was assumed.
    pub preamble: Vec<Line>,
    /// The tables.
    pub tables: Vec<Table>,
    /// Lines for the end.
    pub footer: Vec<Line>,
    /// The same as plain numbers, for CSV; without it CSV holds the tables, one blank line between them.
    pub data: Option<Table>,
    /// Lines of text are no longer than this; `None` for the usual width. Tables are as wide as they are.
    pub width: Option<usize>,
}

impl Report {
    /// The report in `format`; `data` is what JSON shows instead of text.
    ///
    /// # Errors
    /// [`RenderError`] when the data cannot be written as JSON or CSV.
    pub fn render<T: Serialize>(&self, format: Format, data: &T) -> Result<String, RenderError> {
        match format {
            Format::Table => Ok(self.text(presets::NOTHING, "")),
            Format::Markdown => Ok(self.text(presets::ASCII_MARKDOWN, "**")),
            Format::Csv => self.csv(),
            Format::Json => Ok(serde_json::to_string_pretty(data)? + "\n"),
        }
    }

    fn text(&self, preset: &str, strong: &str) -> String {
        let mut parts = Vec::new();
        let lines = |lines: &[Line]| match strong {
            "" => lines.iter().map(|l| l.text(self.width.unwrap_or(WIDTH))).collect::<Vec<_>>().join("\n"),
            _ => lines.iter().map(Line::markdown).collect::<Vec<_>>().join("\n"),
        };
        if !self.preamble.is_empty() {
            parts.push(lines(&self.preamble));
        }
        for table in &self.tables {
            let drawn = table.drawn(preset);
            parts.push(match table.title.as_str() {
                "" => drawn,
                title if table.head.is_empty() => format!("{strong}{title}{strong}"),
                title if strong.is_empty() => format!("{title}\n{drawn}"),
                title => format!("{strong}{title}{strong}\n\n{drawn}"),
            });
        }
        if !self.footer.is_empty() {
            parts.push(lines(&self.footer));
        }
        parts.join("\n\n") + "\n"
    }

    fn csv(&self) -> Result<String, RenderError> {
        let error = |e: &dyn std::fmt::Display| RenderError::Csv(e.to_string());
        let mut parts = Vec::new();
        let tables = self.data.as_ref().map_or(self.tables.as_slice(), std::slice::from_ref);
        for table in tables {
            let mut w = csv::Writer::from_writer(Vec::new());
            w.write_record(&table.head).map_err(|e| error(&e))?;
            for row in &table.rows {
                w.write_record(row).map_err(|e| error(&e))?;
            }
            let bytes = w.into_inner().map_err(|e| error(&e))?;
            parts.push(String::from_utf8(bytes).map_err(|e| error(&e))?);
        }
        Ok(parts.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut table = Table::new("Idle", vec!["metric".into(), "menu".into()]);
        table.rows.push(vec!["too deep %".into(), "1.25".into()]);
        table.rows.push(vec!["x".into(), "10".into()]);
        Report { preamble: vec![Line::new("trace", "a.dat")], tables: vec![table], ..Report::default() }
    }

    #[test]
    fn text_aligns_numbers_to_the_right() {
        let text = report().render(Format::Table, &()).unwrap();
        assert_eq!(
            text,
            "trace     a.dat\n\nIdle\n metric      menu\n too deep %  1.25\n x             10\n"
        );
    }

    #[test]
    fn markdown_and_csv_hold_the_same_cells() {
        let md = report().render(Format::Markdown, &()).unwrap();
        assert!(md.contains("| metric     | menu |"), "{md}");
        let csv = report().render(Format::Csv, &()).unwrap();
        assert_eq!(csv, "metric,menu\ntoo deep %,1.25\nx,10\n");
        assert_eq!(
            report().render(Format::Json, &serde_json::json!({"schema": 1})).unwrap(),
            "{\n  \"schema\": 1\n}\n"
        );
    }
}
