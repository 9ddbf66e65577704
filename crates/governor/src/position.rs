// SPDX-License-Identifier: GPL-2.0-only
//! What a governor that is not ours is doing, for errors, and the first thing that goes wrong.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::GovernorError;

/// Which of its functions runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Load,
    Init,
    Enable,
    Select,
    Reflect,
}

/// A call of a governor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
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

    /// In words, for a sentence that ends with it.
    pub(crate) fn describe(self) -> String {
        let Self { stage, cpu, decision } = self;
        match stage {
            Stage::Load => "while it was loaded".to_owned(),
            Stage::Init => "in its initcall".to_owned(),
            Stage::Enable => format!("in enable, CPU {cpu}"),
            Stage::Select => format!("in select, CPU {cpu}, decision {decision}"),
            Stage::Reflect => format!("in reflect, CPU {cpu}, decision {decision}"),
        }
    }
}

/// The first thing that went wrong in a run of a governor that is not ours.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstFailure(Arc<Mutex<Option<GovernorError>>>);

impl FirstFailure {
    pub(crate) fn take(&self) -> Option<GovernorError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(crate) fn keep(&self, error: GovernorError) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}
