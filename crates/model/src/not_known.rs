// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;

use serde::Serialize;

use crate::{Note, NoteId};

/// Why a value is not known. A report has `Result<T, NotKnown>` where it has a value or says why there is none; how that is
/// JSON, [`crate::known`] says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct NotKnown(Note);

impl NotKnown {
    /// It is not known because of `why`, which is of the kind `id`.
    pub fn because(id: NoteId, why: impl Into<String>) -> Self {
        Self(id.note(why))
    }

    /// It is not known because of an error.
    pub fn of(error: impl std::error::Error) -> Self {
        Self::because(NoteId::Failed, error.to_string())
    }

    /// The same with `place`, which it is about, in front.
    #[must_use]
    pub fn about(&self, place: impl fmt::Display) -> Self {
        Self(self.0.about(place))
    }

    #[must_use]
    pub fn why(&self) -> &str {
        &self.0.words
    }

    /// The reason as a note, with its id.
    #[must_use]
    pub fn note(&self) -> &Note {
        &self.0
    }
}

impl fmt::Display for NotKnown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.why())
    }
}
