// SPDX-License-Identifier: GPL-2.0-only
//! What a foreign governor is doing, for errors: in a process of its own, and in the program that called.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::GovernorError;

/// What a child is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Host,
    Load,
    Init,
    Enable,
    Select,
    Reflect,
}

impl Stage {
    const ALL: [Self; 6] = [Self::Host, Self::Load, Self::Init, Self::Enable, Self::Select, Self::Reflect];

    /// That which the governor's process says (`IDLEWISE_STAGE_HOST` and so on).
    pub(crate) fn said(number: u32) -> Self {
        Self::ALL.get(number as usize).copied().unwrap_or(Self::Host)
    }

    /// In words, for a sentence that ends with it.
    pub(crate) fn describe(self, cpu: u32, decision: u64) -> String {
        match self {
            Self::Load => "while it was loaded".to_owned(),
            Self::Init => "in its initcall".to_owned(),
            Self::Enable => format!("in enable, CPU {cpu}"),
            Self::Select => format!("in select, CPU {cpu}, decision {decision}"),
            Self::Reflect => format!("in reflect, CPU {cpu}, decision {decision}"),
            Self::Host => format!(
                "outside of its functions, after CPU {cpu}, decision {decision}: it may have written over memory that is not its own"
            ),
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

    pub(crate) fn keep(&self, error: GovernorError) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}
