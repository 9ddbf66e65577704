// SPDX-License-Identifier: GPL-2.0-only
//! What a process of a foreign governor is doing.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

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
}

/// Where a child is, in memory that the parent sees.
#[derive(Debug, Default)]
pub(crate) struct Position {
    stage: AtomicU32,
    cpu: AtomicU32,
    decision: AtomicU64,
    /// Not 0 once the child has answered and none of the processes that it started is left.
    pub(crate) alone: AtomicU32,
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

    pub(crate) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Relaxed) != 0
    }

    /// In words, for a sentence that ends with it.
    pub(crate) fn describe(&self) -> String {
        let (stage, cpu, decision) = self.read();
        match Stage::ALL.get(stage as usize) {
            Some(Stage::Load) => "while it was loaded".to_owned(),
            Some(Stage::Init) => "in its initcall".to_owned(),
            Some(Stage::Enable) => format!("in enable, CPU {cpu}"),
            Some(Stage::Select) => format!("in select, CPU {cpu}, decision {decision}"),
            Some(Stage::Reflect) => format!("in reflect, CPU {cpu}, decision {decision}"),
            Some(Stage::Host) | None => format!(
                "outside of its functions, after CPU {cpu}, decision {decision}: it may have written over memory that is not its own"
            ),
        }
    }
}
