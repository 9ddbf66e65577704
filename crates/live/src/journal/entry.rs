// SPDX-License-Identifier: GPL-2.0-only
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::tracefs::pages::Parts;

/// One change, noted before it is made: a line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// A value was written.
    Set {
        path: PathBuf,
        /// What was read, to the byte.
        old: String,
        new: String,
    },
    /// An instance of tracefs was made.
    Made {
        folder: PathBuf,
        /// Where its pages go, if they are to be kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parts: Option<Parts>,
    },
}

impl Entry {
    /// What it is about.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Set { path, .. } => path,
            Self::Made { folder, .. } => folder,
        }
    }

    pub(super) fn line(&self) -> String {
        // Paths that are no UTF-8 do not occur in sysfs and tracefs; one would be a line that changes nothing.
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }

    /// The entries of a journal. A last line without its end was never acted upon; of others that make no sense the
    /// number is reported.
    pub(super) fn all(text: &str) -> (Vec<Self>, usize) {
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut out = Vec::new();
        let mut strange = 0;
        for line in whole.lines().filter(|l| !l.is_empty()) {
            match serde_json::from_str(line) {
                Ok(entry) => out.push(entry),
                Err(_) => strange += 1,
            }
        }
        (out, strange)
    }
}
