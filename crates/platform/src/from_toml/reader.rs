// SPDX-License-Identifier: GPL-2.0-only
use std::ops::Range;

use toml::Spanned;

use crate::PlatformError;

pub(super) const SEE: &str = "see docs/reference/platform-format.md";

/// Knows the text, so that an error can say the line.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) file: &'a str,
}

impl Reader<'_> {
    pub(super) fn err(&self, span: &Range<usize>, what: String, hint: &str) -> PlatformError {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
        PlatformError::Toml { file: self.file.to_string(), line, what, hint: hint.to_string() }
    }

    pub(super) fn syntax(&self, e: &toml::de::Error) -> PlatformError {
        if self.text.trim().is_empty() {
            return self.err(&(0..0), "the file is empty".to_string(), SEE);
        }
        let what = e.message().trim_end().replace('\n', ", ");
        let what = what.replace("expected i64", "expected a whole number");
        self.err(&e.span().unwrap_or(0..0), what, SEE)
    }

    pub(super) fn number(
        &self,
        value: &Spanned<i64>,
        key: &str,
        unit: &str,
        low: i64,
        high: i64,
    ) -> Result<i64, PlatformError> {
        let v = *value.get_ref();
        if (low..=high).contains(&v) {
            return Ok(v);
        }
        let what = format!("{key} is {v}, expected {unit} from {low} to {high}");
        Err(self.err(&value.span(), what, "correct the number or its unit"))
    }
}
