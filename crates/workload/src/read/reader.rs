// SPDX-License-Identifier: GPL-2.0-only
//! What every part of the reader needs: values of a type and range, errors that say where, notes.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::json::{Member, Node, Place, Value, short};
use crate::{Fault, MAX_TIME_NS, WorkloadError};

/// The texts, where in them the reader is, and what it has to say.
pub(super) struct Reader<'a> {
    files: &'a [(&'a str, &'a str)],
    path: Vec<String>,
    notes: Vec<String>,
    said: BTreeSet<String>,
}

const DOCS: &str = "see docs/reference/workload-format.md";

/// The longest time in microseconds.
#[expect(clippy::cast_possible_wrap, reason = "far below 2^63")]
pub(super) const MAX_US: i64 = (MAX_TIME_NS / 1000) as i64;

pub(super) const MAX_CPU: u32 = 65_535;

impl<'a> Reader<'a> {
    pub(super) fn new(files: &'a [(&'a str, &'a str)]) -> Self {
        Self { files, path: Vec::new(), notes: Vec::new(), said: BTreeSet::new() }
    }

    /// Reads what is below `key`.
    pub(super) fn inside<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Self) -> Result<T, WorkloadError>,
    ) -> Result<T, WorkloadError> {
        self.path.push(short(key));
        let result = read(self);
        self.path.pop();
        result
    }

    /// Says something about the workload, once.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if self.said.insert(text.clone()) {
            self.notes.push(text);
        }
    }

    /// All that was said.
    pub(super) fn notes(self) -> Vec<String> {
        self.notes
    }

    /// The path of keys to `key`.
    pub(super) fn path_to(&self, key: &str) -> String {
        let mut path = self.path.join("/");
        if !path.is_empty() && !key.is_empty() {
            path.push('/');
        }
        path + &short(key)
    }

    pub(super) fn error(
        &self,
        at: Place,
        fault: Fault,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> WorkloadError {
        self.error_at(at, self.path_to(""), fault, what.into(), hint.into())
    }

    pub(super) fn error_at(
        &self,
        at: Place,
        path: String,
        fault: Fault,
        what: String,
        hint: String,
    ) -> WorkloadError {
        let (file, text) = self.files.get(at.file).copied().unwrap_or(("", ""));
        let before = text.get(..at.offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        WorkloadError::At { file: file.to_string(), line, column, path, fault, what, hint }
    }

    /// A value that is not what it should be.
    pub(super) fn wrong(&self, m: &Member, expected: &str) -> WorkloadError {
        let found = m.value.as_ref().map_or("nothing".to_string(), |n| shown(&n.value));
        let what = format!("expected {expected}, found {found}");
        self.error_at(place(m), self.path_to(&m.key), Fault::Value, what, DOCS.to_string())
    }

    /// A value that means nothing here, with what to do.
    pub(super) fn meaningless(
        &self,
        m: &Member,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> WorkloadError {
        self.error_at(place(m), self.path_to(&m.key), Fault::Value, what.into(), hint.into())
    }

    /// Something of rt-app's that is not modelled.
    pub(super) fn not_modelled(&self, m: &Member, what: &str, hint: &str) -> WorkloadError {
        let what = format!("`{}` is not modelled: {what}", short(&m.key));
        self.error_at(m.at, self.path_to(&m.key), Fault::NotModelled, what, hint.to_string())
    }

    /// A key that nobody knows, with those that look like it.
    pub(super) fn unknown_key(&self, at: Place, key: &str, known: &[&str]) -> WorkloadError {
        let what = format!("unknown key `{}`{}", short(key), did_you_mean(key, known));
        let hint =
            "rt-app would skip it without a word; correct it, or begin it with `_` to have it skipped here";
        self.error_at(at, self.path_to(key), Fault::UnknownKey, what, hint.to_string())
    }

    /// A name that stands for nothing.
    pub(super) fn unknown_name(&self, m: &Member, kind: &str, name: &str, known: &[&str]) -> WorkloadError {
        let list: Vec<String> = known.iter().take(8).map(|k| format!("`{}`", short(k))).collect();
        let hint = match list.as_slice() {
            [] => format!("the file describes no {kind}; {DOCS}"),
            list if known.len() > 8 => format!("there are {}, ...", list.join(", ")),
            list => format!("there are {}", list.join(", ")),
        };
        let what = format!("no {kind} is called `{}`{}", short(name), did_you_mean(name, known));
        self.error_at(place(m), self.path_to(&m.key), Fault::Value, what, hint)
    }

    pub(super) fn object<'m>(&self, m: &'m Member) -> Result<&'m [Member], WorkloadError> {
        match &m.value {
            Some(Node { value: Value::Object(members), .. }) => Ok(members),
            _ => Err(self.wrong(m, "an object, `{ ... }`")),
        }
    }

    pub(super) fn list<'m>(&self, m: &'m Member, of: &str) -> Result<&'m [Node], WorkloadError> {
        match &m.value {
            Some(Node { value: Value::Array(items), .. }) => Ok(items),
            _ => Err(self.wrong(m, &format!("a list of {of}, `[ ... ]`"))),
        }
    }

    pub(super) fn flag(&self, m: &Member) -> Result<bool, WorkloadError> {
        match &m.value {
            Some(Node { value: Value::Bool(b), .. }) => Ok(*b),
            _ => Err(self.wrong(m, "true or false")),
        }
    }

    /// A text that is not empty.
    pub(super) fn text<'m>(&self, m: &'m Member, what: &str) -> Result<&'m str, WorkloadError> {
        match &m.value {
            Some(Node { value: Value::Text(text), .. }) if !text.is_empty() => Ok(text),
            _ => Err(self.wrong(m, &format!("{what}, a text that is not empty"))),
        }
    }

    /// A whole number in a range. rt-app skips an event whose value is not a whole number.
    pub(super) fn whole(
        &self,
        m: &Member,
        range: RangeInclusive<i64>,
        unit: &str,
    ) -> Result<i64, WorkloadError> {
        let number = m.value.as_ref().and_then(|n| whole(&n.value));
        number.filter(|n| range.contains(n)).ok_or_else(|| {
            let (low, high) = (range.start(), range.end());
            self.wrong(m, &format!("a whole number of {unit} from {low} to {high}"))
        })
    }

    /// A whole number of microseconds from 0, as ns.
    pub(super) fn micros(&self, m: &Member) -> Result<u64, WorkloadError> {
        Ok(self.whole(m, 0..=MAX_US, "microseconds")?.unsigned_abs() * 1000)
    }

    /// Like [`whole`](Self::whole), for what fits 32 bits and is not negative.
    pub(super) fn count(
        &self,
        m: &Member,
        range: RangeInclusive<u32>,
        unit: &str,
    ) -> Result<u32, WorkloadError> {
        let n = self.whole(m, i64::from(*range.start())..=i64::from(*range.end()), unit)?;
        Ok(u32::try_from(n).unwrap_or(0))
    }
}

/// A whole number, if it is one.
pub(super) fn whole(value: &Value) -> Option<i64> {
    if let Value::Number(text) = value { text.parse().ok() } else { None }
}

/// A finite number, if it is one.
pub(super) fn number(value: &Value) -> Option<f64> {
    let Value::Number(text) = value else { return None };
    text.parse().ok().filter(|n: &f64| n.is_finite())
}

fn did_you_mean(found: &str, known: &[&str]) -> String {
    nearest(found, known).map_or_else(String::new, |k| format!("; did you mean `{k}`?"))
}

/// The known word that looks most like it, if one does.
pub(super) fn nearest<'k>(found: &str, known: &[&'k str]) -> Option<&'k str> {
    // Distances of long texts cost their product; no key is that long.
    let found: String = found.chars().take(64).collect();
    let ranked = known.iter().map(|k| (strsim::levenshtein(&found, k), *k));
    ranked.min().filter(|(d, k)| *d < k.len() && *d <= k.len().div_ceil(3)).map(|(_, k)| k)
}

/// Where a value is: its own place, or that of its key when it has none.
pub(super) fn place(member: &Member) -> Place {
    member.value.as_ref().map_or(member.at, |v| v.at)
}

/// The text of a value for a message.
fn shown(value: &Value) -> String {
    match value {
        Value::Number(n) => crate::json::short(n),
        Value::Text(t) => format!("\"{}\"", crate::json::short(t)),
        Value::Bool(b) => b.to_string(),
        other => other.kind().to_string(),
    }
}
