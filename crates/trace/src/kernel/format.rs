// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own description of an event or a page header: the text of a `format` file.

/// One event as its format file describes it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Format<'a> {
    pub(crate) name: &'a str,
    pub(crate) id: u16,
    /// The text, in which fields are looked for when they are asked for: of most events nobody asks.
    text: &'a str,
}

/// One field of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FormatField<'a> {
    pub(crate) name: &'a str,
    pub(crate) offset: u16,
    pub(crate) size: u32,
    pub(crate) signed: bool,
    /// The field holds the place and length of its data.
    pub(crate) located: Option<Located>,
    pub(crate) array: bool,
}

/// Where the data of a field lies that holds a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Located {
    /// Counted from the start of the event (`__data_loc`).
    Absolute,
    /// Counted from the end of the field (`__rel_loc`).
    Relative,
}

impl<'a> Format<'a> {
    /// `None` when the text has no name or no usable id.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let mut format = Self { text, ..Self::default() };
        let mut id = None;
        for line in text.lines() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix("name:") {
                format.name = name.trim();
            } else if let Some(number) = line.strip_prefix("ID:") {
                id = number.trim().parse().ok();
            }
            if line.starts_with("print fmt:") || id.is_some() && !format.name.is_empty() {
                break;
            }
        }
        format.id = id?;
        (!format.name.is_empty()).then_some(format)
    }

    pub(crate) fn field(&self, name: &str) -> Option<FormatField<'a>> {
        let described = self.text.lines().take_while(|line| !line.trim_start().starts_with("print fmt:"));
        // To look for the name is much faster than to parse every line.
        let likely = described.filter(|line| line.contains(name));
        likely.filter_map(FormatField::parse).find(|f| f.name == name)
    }
}

impl<'a> FormatField<'a> {
    /// Reads a line "field:unsigned int vec; offset:8; size:4; signed:0;".
    pub(crate) fn parse(line: &'a str) -> Option<Self> {
        let line = line.trim().strip_prefix("field")?;
        let (declaration, facts) = line.split_once(';')?;
        let declaration = declaration.trim_start_matches(" special").strip_prefix(':')?.trim();
        let fact = |key: &str| {
            facts
                .split(';')
                .filter_map(|f| f.split_once(':'))
                .find(|(k, _)| k.trim() == key)
                .map(|(_, v)| v.trim())
        };
        // The name is the last word; an array's length stands behind it, or ("__data_loc char[] name") before it.
        let bare = match declaration.rfind('[') {
            Some(at) if declaration.ends_with(']') => declaration.get(..at).unwrap_or(declaration),
            _ => declaration,
        };
        let name = bare.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
        let size = fact("size")?.parse().ok()?;
        Some(Self {
            name,
            offset: fact("offset")?.parse().ok()?,
            size,
            signed: fact("signed").is_some_and(|s| s == "1"),
            located: match declaration.split_once(' ') {
                Some(("__data_loc", _)) => Some(Located::Absolute),
                Some(("__rel_loc", _)) => Some(Located::Relative),
                _ => None,
            },
            // Older kernels declare the text of a marker as one character of no size.
            array: declaration.ends_with(']') || size == 0,
        })
    }
}

/// Where things lie in a page of the ring buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLayout {
    /// Offset of the page's time (8 bytes).
    pub(crate) time: usize,
    /// Offset of the commit word.
    pub(crate) commit: usize,
    /// The commit word has 8 bytes, not 4; so has the kernel's `long`.
    pub(crate) wide: bool,
    /// Offset of the first event.
    pub(crate) data: usize,
    /// Where the events' room ends: the size of a page.
    pub(crate) page: usize,
}

/// No page header is longer than this.
const MAX_PAGE_HEADER: usize = 256;

impl PageLayout {
    /// The layout of a kernel whose `long` has `long_size` bytes, for files that do not describe it.
    pub(crate) fn usual(long_size: u8) -> Self {
        let wide = long_size == 8;
        Self { time: 0, commit: 8, wide, data: if wide { 16 } else { 12 }, page: 4096 }
    }

    /// Reads the text of `events/header_page`; `None` when it makes no sense.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let fields: Vec<_> = text.lines().filter_map(FormatField::parse).collect();
        let field = |name: &str| fields.iter().find(|f| f.name == name);
        let (time, commit, data) = (field("timestamp")?, field("commit")?, field("data")?);
        let layout = Self {
            time: usize::from(time.offset),
            commit: usize::from(commit.offset),
            wide: commit.size == 8,
            data: usize::from(data.offset),
            page: usize::from(data.offset).saturating_add(usize::try_from(data.size).unwrap_or(usize::MAX)),
        };
        let ok = time.size == 8
            && matches!(commit.size, 4 | 8)
            && layout.data <= MAX_PAGE_HEADER
            && layout.time + 8 <= layout.data
            && layout.commit + if layout.wide { 8 } else { 4 } <= layout.data;
        ok.then_some(layout)
    }
}
