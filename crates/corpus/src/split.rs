// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Which part of a corpus a recording belongs to. All recordings of a machine are in one part, so that what is tuned on one part
/// meets machines that it has not seen in the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// Governors may be written and tuned with it.
    Train,
    /// Variants are chosen with it.
    Validation,
    /// Looked at once, at the end.
    Test,
}

impl Split {
    /// All of them, in order.
    pub const ALL: [Self; 3] = [Self::Train, Self::Validation, Self::Test];

    /// As the index has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }

    /// The part of a machine of which nobody said: by the hash of its id, so that all corpora agree. Of ten machines six are for
    /// training, two for validation, two for test.
    #[must_use]
    pub fn of_machine(machine: &str) -> Self {
        let digest = Sha256::digest(machine.as_bytes());
        match digest[0] % 10 {
            0..6 => Self::Train,
            6 | 7 => Self::Validation,
            _ => Self::Test,
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Split {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|split| split.name() == text)
            .ok_or_else(|| format!("{text:?} is no part of a corpus; expected one of {names}"))
    }
}
