// SPDX-License-Identifier: GPL-2.0-only
//! What a foreign governor is doing, for errors: in a process of its own, and in the program that called.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
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

/// Where an instance leaves what it does besides its answers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reports<'a> {
    /// What it is doing, if it has a process of its own.
    pub(crate) position: Option<&'static Position>,
    /// What went wrong, if it is the calling program's.
    pub(crate) failure: Option<&'a FirstFailure>,
}

/// The first thing that went wrong in a run of a governor that the calling program has.
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

/// Where a child is, in memory that the parent sees.
#[derive(Debug, Default)]
pub(crate) struct Position {
    stage: AtomicU32,
    cpu: AtomicU32,
    decision: AtomicU64,
}

impl Position {
    #[inline]
    pub(crate) fn tell(&self, stage: Stage, cpu: u32, decision: u64) {
        self.cpu.store(cpu, Ordering::Relaxed);
        self.decision.store(decision, Ordering::Relaxed);
        self.stage(stage);
    }

    #[inline]
    pub(crate) fn stage(&self, stage: Stage) {
        self.stage.store(stage as u32, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> (u32, u32, u64) {
        let (stage, cpu) = (self.stage.load(Ordering::Relaxed), self.cpu.load(Ordering::Relaxed));
        (stage, cpu, self.decision.load(Ordering::Relaxed))
    }

    /// In words, for a sentence that ends with it.
    pub(crate) fn describe(&self) -> String {
        let (stage, cpu, decision) = self.read();
        Stage::ALL.get(stage as usize).unwrap_or(&Stage::Host).describe(cpu, decision)
    }
}
