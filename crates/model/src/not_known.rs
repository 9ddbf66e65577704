// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a value is not known, in words. A report has `Result<T, NotKnown>` where it has a value or says why there is none; how that
/// is JSON, [`crate::known`] says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NotKnown(String);

impl NotKnown {
    /// It is not known because of `why`.
    pub fn because(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    /// It is not known because of an error.
    pub fn of(error: impl std::error::Error) -> Self {
        Self(error.to_string())
    }

    #[must_use]
    pub fn why(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NotKnown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
