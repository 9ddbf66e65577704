// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;

use serde::{Deserialize, Serialize};

/// How well an input of a replay is known, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Confidence {
    /// The trace records it.
    Recorded = 0,
    /// It follows from what the trace says by the kernel's own rules.
    Derived = 1,
    /// The trace only limits it from one side; the limit is used.
    Bounded = 2,
    /// The trace says nothing about it; a stated default is used.
    Assumed = 3,
}

impl Confidence {
    /// All grades, best first.
    pub const ALL: [Self; 4] = [Self::Recorded, Self::Derived, Self::Bounded, Self::Assumed];

    /// The grade stored as `bits` (0..=3; anything else reads as the weakest).
    #[must_use]
    pub fn from_bits(bits: u16) -> Self {
        Self::ALL.get(usize::from(bits)).copied().unwrap_or(Self::Assumed)
    }

    /// The word that tables and JSON use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Derived => "derived",
            Self::Bounded => "bounded",
            Self::Assumed => "assumed",
        }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
