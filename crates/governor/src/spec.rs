// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::GovernorError;

/// Which governor, with which parameters: `teo-util:util_threshold_shift=5,util_steps=2`.
///
/// The id is one of [`crate::catalog`], the path of a C file (it has a `/` or ends in `.c`), or a governor of a kernel tree
/// (`linux:6.12/teo`). It is a text, whoever wrote it: a file is compiled only as the [`crate::SourceFile`] that an option
/// of this invocation makes of it ([`crate::expand`]). Parsing checks the form only; [`crate::Instance::load`] knows the
/// names. Printing gives the same text back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spec {
    pub id: String,
    /// Names and values in the order given; each name once.
    pub params: Vec<(String, String)>,
}

impl Spec {
    /// `id` with its default parameters.
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self { id: id.to_owned(), params: Vec::new() }
    }

    /// Whether the id is the path of a C file, or of anything else than a governor's name.
    #[must_use]
    pub fn names_a_file(&self) -> bool {
        self.id.contains('/')
            || Path::new(&self.id).extension().is_some_and(|e| e == "c")
            || no_c(&self.id).is_some()
    }

    /// The id in `text`, and what stands after its colon: `NAME=VALUE` once or more, with commas between.
    #[must_use]
    pub fn split(text: &str) -> (&str, Option<&str>) {
        match colon(text) {
            Some(at) => (&text[..at], text.get(at + 1..)),
            None => (text, None),
        }
    }
}

/// What an id names that is no C file, by its ending.
pub(crate) fn no_c(id: &str) -> Option<&'static str> {
    let ending = Path::new(id).extension()?.to_str()?.to_ascii_lowercase();
    Some(match ending.as_str() {
        "patch" | "diff" => {
            "a patch: apply it to a copy of the governor's file, with patch COPY.c FILE.patch, and name the copy"
        }
        "o" | "ko" | "so" | "a" => "what a compiler made of one",
        "h" => "a header",
        "py" | "rs" | "go" | "sh" | "js" | "lua" | "cc" | "cpp" | "cxx" | "s" => "another language",
        "txt" | "md" | "toml" | "json" | "csv" | "dat" => "a text or data",
        _ => return None,
    })
}

impl FromStr for Spec {
    type Err = GovernorError;

    fn from_str(text: &str) -> Result<Self, GovernorError> {
        let wrong = |why: &str| GovernorError::BadSpec { text: text.to_owned(), why: why.to_owned() };
        let (id, list) = Self::split(text);
        let id = id.trim();
        if id.is_empty() {
            return Err(wrong("the id is missing"));
        }
        let mut params: Vec<(String, String)> = Vec::new();
        for item in list.into_iter().flat_map(|l| l.split(',')) {
            let (name, value) = item.split_once('=').ok_or_else(|| wrong("a parameter without `=`"))?;
            let (name, value) = (name.trim(), value.trim());
            if name.is_empty() || value.is_empty() {
                return Err(wrong("a parameter without name or value"));
            }
            if params.iter().any(|(n, _)| n == name) {
                return Err(wrong("the same parameter twice"));
            }
            params.push((name.to_owned(), value.to_owned()));
        }
        Ok(Self { id: id.to_owned(), params })
    }
}

/// Where the parameters begin: the first colon of the file's name, which a folder before it and the colon of `linux:6.12`
/// do not count for.
fn colon(text: &str) -> Option<usize> {
    let tree =
        text.strip_prefix("linux:").filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '/'));
    let name = match text.rfind('/') {
        Some(slash) => slash + 1,
        None if tree.is_some() => "linux:".len(),
        None => 0,
    };
    text.get(name..)?.find(':').map(|at| name + at)
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)?;
        for (i, (name, value)) in self.params.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}
