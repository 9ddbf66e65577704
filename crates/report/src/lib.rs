// SPDX-License-Identifier: GPL-2.0-only
//! From numbers to text, Markdown, CSV, JSON.
//!
//! A [`Report`] is what a command has to say: lines for the top, tables, and the same facts as data. [`Report::render`]
//! puts it into the form that was asked for. Names of other people's files may stand in all of it as they are: whatever
//! they hold is escaped for the form (`escape.rs`), here and nowhere else.

mod escape;
mod units;

use std::borrow::Cow;
use std::ops::Range;
use std::str::FromStr;

use comfy_table::{CellAlignment, ContentArrangement, presets};
use idlewise_columns::{DataTable, Form as ColumnForm};
use serde::Serialize;
use thiserror::Error;

pub use escape::{csv as csv_text, lines, message, one_line};
pub use units::{
    UNKNOWN, duration, number, percent, percent_of, share, signed, signed_duration, signed_percent,
    signed_points, span,
};

/// The form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    /// Aligned text for a terminal.
    #[default]
    Table,
    /// Markdown, to paste into a mail or an issue.
    Markdown,
    /// Text for a mailing list: 76 columns of plain ASCII.
    Mail,
    /// Comma-separated values: plain numbers, no text around them.
    Csv,
    /// JSON with a `schema` version.
    Json,
    /// Apache Parquet: the table of CSV with typed columns.
    Parquet,
    /// Apache Arrow's file format: the same.
    Arrow,
}

impl Format {
    /// The form of a file of columns, which is no text; nothing for the others.
    #[must_use]
    pub fn columns(self) -> Option<ColumnForm> {
        match self {
            Self::Parquet => Some(ColumnForm::Parquet),
            Self::Arrow => Some(ColumnForm::Arrow),
            Self::Table | Self::Markdown | Self::Mail | Self::Csv | Self::Json => None,
        }
    }
}

impl Format {
    /// The names of all.
    pub const NAMES: [&str; 7] = ["table", "markdown", "mail", "csv", "json", "parquet", "arrow"];
}

impl FromStr for Format {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        match s {
            "table" => Ok(Self::Table),
            "markdown" => Ok(Self::Markdown),
            "mail" => Ok(Self::Mail),
            "csv" => Ok(Self::Csv),
            "json" => Ok(Self::Json),
            "parquet" => Ok(Self::Parquet),
            "arrow" => Ok(Self::Arrow),
            _ => Err(format!("unknown format {s:?}: {}", Self::NAMES.join(", "))),
        }
    }
}

/// Why a result cannot be put into a form.
#[derive(Debug, Error)]
pub enum RenderError {
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("CSV: {0}")]
    Csv(String),
    #[error("{column}: {number} is more than a column of 64 bits holds; --format csv writes all digits")]
    TooLarge { column: String, number: i128 },
    #[error("this result is no table: --format json writes all of it")]
    NoTable,
    #[error("Parquet and Arrow files are no text")]
    NoText,
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
    /// What colour says of each cell, row by row; empty for none. It never says what the cell does not.
    pub tones: Vec<Vec<Tone>>,
    /// One blank between columns instead of two.
    pub compact: bool,
    /// Characters of a line: the text of cells is broken where it would be longer. `None` for no limit.
    pub wrap: Option<usize>,
    /// Headings between rows: before which row, and what. They take no column. Not together with `wrap`.
    pub sections: Vec<(usize, String)>,
}

/// Cells of text are cut to no more than this first, and to no less than that.
const MOST_TEXT: usize = 40;
const LEAST_TEXT: usize = 8;

/// `text` with its end left out where it has more than `most` characters.
#[must_use]
pub fn cut_text(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// What the colour of a cell says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Best,
    Better,
    Worse,
    /// Not to be compared with the others.
    Dim,
}

impl Table {
    /// An empty table with these heads, the first column text.
    #[must_use]
    pub fn new(title: impl Into<String>, head: Vec<String>) -> Self {
        Self { title: title.into(), head, text_columns: 1, ..Self::default() }
    }

    /// Characters of its longest line as text.
    #[must_use]
    pub fn width(&self) -> usize {
        self.drawn(Form::Text, false).lines().map(|l| l.chars().count()).max().unwrap_or(0)
    }

    /// The same in one or several tables no wider than `width`: with less space between columns, then with the columns of
    /// numbers in parts, each next to the columns of text, which are cut where they leave no room.
    #[must_use]
    pub fn fitted(self, width: usize) -> Vec<Self> {
        if self.width() <= width {
            return vec![self];
        }
        let mut table = Self { compact: true, ..self };
        if table.text_columns >= table.head.len() {
            return vec![Self { wrap: Some(width), ..table }];
        }
        let columns = table.head.len();
        // A column of numbers has room next to those of text.
        let mut cut = usize::MAX;
        while cut > LEAST_TEXT && table.part(table.text_columns..table.text_columns + 1).width() > width {
            cut = if cut == usize::MAX { MOST_TEXT } else { cut - 1 };
            let texts = table.text_columns;
            for row in &mut table.rows {
                row.iter_mut().take(texts).for_each(|cell| *cell = cut_text(cell, cut));
            }
        }
        let mut out: Vec<Self> = Vec::new();
        let mut from = table.text_columns;
        while from < columns {
            let mut to = from + 1;
            while to < columns && table.part(from..to + 1).width() <= width {
                to += 1;
            }
            let mut part = table.part(from..to);
            if !out.is_empty() {
                part.title.clear();
            }
            out.push(part);
            from = to;
        }
        out
    }

    /// The columns of text, and `numbers`.
    fn part(&self, numbers: Range<usize>) -> Self {
        let take = |row: &Vec<String>| {
            let texts = row.iter().take(self.text_columns);
            texts.chain(row.get(numbers.clone()).unwrap_or_default()).cloned().collect::<Vec<String>>()
        };
        Self {
            head: take(&self.head),
            rows: self.rows.iter().map(take).collect(),
            tones: Vec::new(),
            ..self.clone()
        }
    }

    fn drawn(&self, form: Form, colour: bool) -> String {
        let mut t = comfy_table::Table::new();
        if colour && form == Form::Text {
            t.enforce_styling();
        } else {
            t.force_no_tty();
        }
        t.load_preset(form.preset());
        // Markdown has no table without a head.
        if form == Form::Markdown || self.head.iter().any(|h| !h.is_empty()) {
            t.set_header(self.head.iter().map(|h| form.one_line(h)));
        }
        for (i, row) in self.rows.iter().enumerate() {
            if form == Form::Markdown {
                t.add_rows(self.section(i).map(|words| vec![format!("**{}**", form.one_line(words))]));
            }
            let tones = self.tones.get(i).map_or(&[][..], Vec::as_slice);
            let cells = row.iter().enumerate().map(|(n, cell)| {
                tones.get(n).copied().unwrap_or_default().on(comfy_table::Cell::new(form.one_line(cell)))
            });
            t.add_row(cells);
        }
        for (i, column) in t.column_iter_mut().enumerate() {
            let align = if i < self.text_columns { CellAlignment::Left } else { CellAlignment::Right };
            column.set_cell_alignment(align);
            if self.compact && form == Form::Text {
                column.set_padding((1, 0));
            }
        }
        if let Some(width) = self.wrap.filter(|_| form == Form::Text) {
            t.set_content_arrangement(ContentArrangement::Dynamic);
            t.set_width(u16::try_from(width).unwrap_or(u16::MAX));
        }
        let drawn = t.to_string();
        let mut lines: Vec<Cow<'_, str>> = drawn.lines().map(|l| l.trim_end().into()).collect();
        if form == Form::Text {
            let head = lines.len().saturating_sub(self.rows.len());
            for (row, words) in self.sections.iter().rev() {
                lines.insert((head + row).min(lines.len()), format!(" {}", form.one_line(words)).into());
            }
        }
        lines.join("\n")
    }

    /// The heading before row `i`.
    fn section(&self, i: usize) -> impl Iterator<Item = &str> {
        self.sections.iter().filter(move |(row, _)| *row == i).map(|(_, words)| words.as_str())
    }
}

impl Tone {
    /// `cell` in this tone. Colours are those of the terminal's own palette, so that they fit light and dark.
    fn on(self, cell: comfy_table::Cell) -> comfy_table::Cell {
        use comfy_table::{Attribute, Color};
        match self {
            Self::Plain => cell,
            Self::Best => cell.fg(Color::DarkGreen).add_attribute(Attribute::Bold),
            Self::Better => cell.fg(Color::DarkGreen),
            Self::Worse => cell.fg(Color::DarkRed),
            Self::Dim => cell.add_attribute(Attribute::Dim),
        }
    }
}

/// The two forms for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Markdown,
}

impl Form {
    fn preset(self) -> &'static str {
        match self {
            Self::Text => presets::NOTHING,
            Self::Markdown => presets::ASCII_MARKDOWN,
        }
    }

    /// What stands around a title.
    fn strong(self) -> &'static str {
        match self {
            Self::Text => "",
            Self::Markdown => "**",
        }
    }

    fn one_line(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Text => escape::one_line(text),
            Self::Markdown => Cow::Owned(escape::markdown(text)),
        }
    }

    /// A line of a report. What stands after a label may be of several lines (a compiler's): they are indented.
    fn line(self, line: &Line, width: usize, column: usize) -> String {
        let Some(label) = &line.label else {
            let text = self.one_line(&line.text);
            return if self == Self::Text {
                textwrap::fill(&text, whole_words(width))
            } else {
                text.into_owned()
            };
        };
        let label = self.one_line(label);
        if self == Self::Text {
            // A label that fills its column is not glued to its text.
            let first = format!("{label:<0$}", column.max(label.chars().count() + 1));
            let rest = " ".repeat(column);
            let options = whole_words(width).initial_indent(&first).subsequent_indent(&rest);
            return textwrap::fill(&escape::lines(&line.text), options);
        }
        let head = if label.is_empty() { String::new() } else { format!("* {label}: ") };
        let text: Vec<_> = line.text.lines().map(|l| self.one_line(l)).collect();
        let indent = if label.is_empty() { "  " } else { "" };
        format!("{head}{indent}{}", text.join("\n  "))
    }
}

/// Lines of `width` that break between words only: `teo-6.1` is one.
fn whole_words<'o>(width: usize) -> textwrap::Options<'o> {
    let options = textwrap::Options::new(width).word_splitter(textwrap::WordSplitter::NoHyphenation);
    options.break_words(false)
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

    /// What it says, as it is: names in it are not yet escaped.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it is about; `None` for text that stands for itself.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }
}

/// What a command has to say.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Lines for the top: what was read, how well it is known, what was assumed.
    pub preamble: Vec<Line>,
    pub tables: Vec<Table>,
    /// Lines for the end.
    pub footer: Vec<Line>,
    /// The same as typed columns, for CSV, Parquet and Arrow; without it CSV holds the tables, one blank line between them.
    pub data: Option<DataTable>,
    /// Lines of text are no longer than this; `None` for the usual width. Tables are as wide as they are.
    pub width: Option<usize>,
    /// Labels of the footer stand in a column of this width; `None` for the usual one.
    pub label: Option<usize>,
    /// Cells are shown in their tones.
    pub colour: bool,
}

impl Report {
    /// The report in `format` as the bytes of a file; `data` is what JSON shows instead of text, `about` what files of columns
    /// say of themselves: names and texts.
    ///
    /// # Errors
    /// [`RenderError`] when the data cannot be written in that form.
    pub fn encode<T: Serialize>(
        &self,
        format: Format,
        data: &T,
        about: &[(String, String)],
    ) -> Result<Vec<u8>, RenderError> {
        let Some(form) = format.columns() else { return Ok(self.render(format, data)?.into_bytes()) };
        let table = self.data.as_ref().ok_or(RenderError::NoTable)?;
        table.encode(form, about).map_err(|e| RenderError::TooLarge { column: e.column, number: e.number })
    }

    /// The same as text.
    ///
    /// # Errors
    /// [`RenderError`] when the data cannot be written as JSON or CSV, or the form is no text.
    pub fn render<T: Serialize>(&self, format: Format, data: &T) -> Result<String, RenderError> {
        match format {
            Format::Table => Ok(self.text(Form::Text)),
            Format::Mail => Ok(escape::ascii(&self.text(Form::Text))),
            Format::Markdown => Ok(self.text(Form::Markdown)),
            Format::Csv => self.csv(),
            Format::Json => Ok(escape::lines(&serde_json::to_string_pretty(data)?).into_owned() + "\n"),
            Format::Parquet | Format::Arrow => Err(RenderError::NoText),
        }
    }

    fn text(&self, form: Form) -> String {
        let mut parts = Vec::new();
        let width = self.width.unwrap_or(WIDTH);
        let lines = |lines: &[Line], column: usize| {
            lines.iter().map(|l| form.line(l, width, column)).collect::<Vec<_>>().join("\n")
        };
        if !self.preamble.is_empty() {
            parts.push(lines(&self.preamble, LABEL));
        }
        let strong = form.strong();
        for table in &self.tables {
            let drawn = table.drawn(form, self.colour);
            let title = match form {
                Form::Text => Cow::Owned(textwrap::fill(&form.one_line(&table.title), whole_words(width))),
                Form::Markdown => form.one_line(&table.title),
            };
            parts.push(match &*title {
                "" => drawn,
                title if table.head.is_empty() => format!("{strong}{title}{strong}"),
                title if form == Form::Text => format!("{title}\n{drawn}"),
                title => format!("{strong}{title}{strong}\n\n{drawn}"),
            });
        }
        if !self.footer.is_empty() {
            parts.push(lines(&self.footer, self.label.unwrap_or(LABEL)));
        }
        parts.join("\n\n") + "\n"
    }

    fn csv(&self) -> Result<String, RenderError> {
        if let Some(table) = &self.data {
            let heads = table.columns().iter().map(|c| c.name.clone()).collect();
            let rows = table.rows().iter().map(|row| row.iter().map(ToString::to_string).collect());
            return csv_lines(std::iter::once(heads).chain(rows));
        }
        let of_table = |t: &Table| csv_lines(std::iter::once(t.head.clone()).chain(t.rows.iter().cloned()));
        Ok(self.tables.iter().map(of_table).collect::<Result<Vec<_>, _>>()?.join("\n"))
    }
}

fn csv_lines(lines: impl Iterator<Item = Vec<String>>) -> Result<String, RenderError> {
    let error = |e: &dyn std::fmt::Display| RenderError::Csv(e.to_string());
    let mut w = csv::Writer::from_writer(Vec::new());
    for line in lines {
        let cells: Vec<Cow<'_, str>> = line.iter().map(|cell| escape::csv(cell)).collect();
        w.write_record(cells.iter().map(|cell| cell.as_bytes())).map_err(|e| error(&e))?;
    }
    let bytes = w.into_inner().map_err(|e| error(&e))?;
    String::from_utf8(bytes).map_err(|e| error(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_too_wide_is_shown_in_parts_that_hold_all_of_it() {
        let heads = ["governor", "idles", "misses", "ratio", "belows", "aboves"];
        let mut table = Table::new("counts", heads.map(str::to_owned).to_vec());
        for name in ["teo", "teo-util:util_threshold_shift=5"] {
            let numbers = ["1234567", "12345", "12.34%", "12344", "1"].map(str::to_owned);
            table.rows.push(std::iter::once(name.to_owned()).chain(numbers).collect());
        }
        let whole = table.width();
        assert_eq!(table.clone().fitted(whole), vec![table.clone()]);
        for width in 24..whole {
            let parts = table.clone().fitted(width);
            assert!(parts.iter().all(|t| t.width() <= width), "{width}: {parts:?}");
            let numbers: Vec<&String> = parts.iter().flat_map(|t| t.rows[1].iter().skip(1)).collect();
            assert_eq!(numbers, table.rows[1].iter().skip(1).collect::<Vec<_>>(), "{width}");
            assert!(parts.iter().all(|t| t.rows[0][0] == "teo" && t.head[0] == "governor"));
        }
        let prose = "what a kernel would have said of this visit, and why it chose the state that it chose";
        let mut words = Table::new("", vec!["line".to_owned(), "said".to_owned()]);
        words.text_columns = 2;
        words.rows.push(vec!["1".to_owned(), prose.to_owned()]);
        let [told] = words.fitted(40).try_into().unwrap();
        assert!(told.width() <= 40 && told.drawn(Form::Text, false).lines().count() > 3);
    }

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
    fn whatever_a_name_holds_every_form_shows_it_as_a_name() {
        let name = "=a|b<i>\x1b[2J\n\u{202e}";
        let mut table = Table::new(name, vec![name.into(), "n".into()]);
        table.rows.push(vec![name.into(), "-1.5".into()]);
        let report = Report {
            preamble: vec![Line::new(name, name), Line::plain(name)],
            tables: vec![table],
            footer: vec![Line::new("x", name)],
            ..Report::default()
        };
        let shown = r"=a|b<i>\u001b[2J\n\u202e";
        let text = report.render(Format::Table, &()).unwrap();
        assert_eq!(text.matches(r"\u001b[2J").count(), 7, "{text}");
        assert_eq!(text.matches(shown).count(), 5, "all but what stands after a label: {text}");
        // A line end after a label stays, and what follows it is indented.
        assert!(text.contains("x         =a|b<i>\\u001b[2J\n          \\u202e"), "{text}");
        let md = report.render(Format::Markdown, &()).unwrap();
        assert_eq!(md.matches(r"=a\|b&lt;i>&#92;u001b\[2J").count(), 7, "{md}");
        assert!(!md.contains('<'), "{md}");
        let cell = r"| =a\|b&lt;i>&#92;u001b\[2J&#92;n&#92;u202e |    n |";
        assert!(md.lines().any(|l| l == cell), "{md}");
        let csv = report.render(Format::Csv, &()).unwrap();
        assert_eq!(csv, format!("'{shown},n\n'{shown},-1.5\n"));
        let json = report.render(Format::Json, &name).unwrap();
        assert_eq!(json, "\"=a|b<i>\\u001b[2J\\n\\u202e\"\n");
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
