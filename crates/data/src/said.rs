// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::Value;
use idlewise_model::Note;
use idlewise_recording::TraceHead;

use crate::declared::{Declared, TEXT, row};

/// What is said about the recordings behind a row; empty where nothing is.
#[derive(Default)]
pub(crate) struct Said {
    /// What was assumed by hand.
    assumed: String,
    /// What makes the recordings doubtful.
    warnings: String,
}

impl Said {
    pub(crate) const COLUMNS: &[Declared] = &[
        ("assumed", TEXT, "what was assumed about the recordings by hand"),
        ("warnings", TEXT, "what makes the recordings doubtful"),
    ];

    pub(crate) fn of<'h>(heads: impl IntoIterator<Item = &'h TraceHead>) -> Self {
        let heads: Vec<&TraceHead> = heads.into_iter().collect();
        Self {
            assumed: heads.iter().filter_map(|h| h.assumption()).collect::<Vec<_>>().join(", and "),
            warnings: Note::words(&TraceHead::warnings(heads)).join("; "),
        }
    }

    /// Its cells, in the order of [`Said::COLUMNS`].
    pub(crate) fn cells(&self) -> Vec<Value> {
        row![&self.assumed, &self.warnings]
    }
}
