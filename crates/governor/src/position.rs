// SPDX-License-Identifier: GPL-2.0-only
//! What a governor that is not ours is doing, for errors.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which of its functions runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stage {
    Load,
    Init,
    Enable,
    Select,
    Reflect,
}

/// A call of a governor. Displays as words for a sentence that ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub(crate) stage: Stage,
    /// The CPU's number on the machine.
    pub(crate) cpu: u32,
    /// How often the CPU was asked before.
    pub(crate) decision: u64,
}

impl Place {
    /// While no CPU is concerned.
    pub(crate) const LOAD: Self = Self { stage: Stage::Load, cpu: 0, decision: 0 };
    pub(crate) const INIT: Self = Self { stage: Stage::Init, cpu: 0, decision: 0 };

    /// Whether it is one of the calls that a run is made of, which take less than a microsecond.
    pub(crate) fn is_short(self) -> bool {
        matches!(self.stage, Stage::Select | Stage::Reflect)
    }

    /// Whether it is a call of reflect: the choice was made before it.
    #[must_use]
    pub fn is_reflect(self) -> bool {
        self.stage == Stage::Reflect
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stage, cpu, decision } = self;
        match stage {
            Stage::Load => write!(f, "while it was loaded"),
            Stage::Init => write!(f, "in its initcall"),
            Stage::Enable => write!(f, "in enable, CPU {cpu}"),
            Stage::Select => write!(f, "in select, CPU {cpu}, decision {decision}"),
            Stage::Reflect => write!(f, "in reflect, CPU {cpu}, decision {decision}"),
        }
    }
}
