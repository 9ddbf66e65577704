// SPDX-License-Identifier: GPL-2.0-only
//! Losses are counted twice: the kernel tells of them with the next event that fits into a CPU's buffer, and perf asks for
//! the sums when it ends. What was lost after the last event of a buffer is in the sums only.

use std::collections::BTreeMap;

/// What the records about losses sum up to.
#[derive(Default)]
pub(super) struct Losses {
    /// Told by the kernel on the way, by CPU.
    told: BTreeMap<u32, u64>,
    /// Asked by perf at the end, by CPU; `None` where the file does not say whose buffer it was.
    in_all: BTreeMap<Option<u32>, u64>,
}

impl Losses {
    pub(super) fn told(&mut self, cpu: u32, count: u64) {
        let sum = self.told.entry(cpu).or_default();
        *sum = sum.saturating_add(count);
    }

    pub(super) fn in_all(&mut self, cpu: Option<u32>, count: u64) {
        let sum = self.in_all.entry(cpu).or_default();
        *sum = sum.saturating_add(count);
    }

    /// What the kernel did not come to tell.
    pub(super) fn untold(self) -> Vec<(Option<u32>, u64)> {
        let sum = |all: &mut dyn Iterator<Item = &u64>| all.fold(0u64, |a, b| a.saturating_add(*b));
        if self.in_all.contains_key(&None) {
            let more = sum(&mut self.in_all.values()).saturating_sub(sum(&mut self.told.values()));
            return vec![(None, more)];
        }
        let told = |cpu: Option<u32>| cpu.and_then(|cpu| self.told.get(&cpu)).copied().unwrap_or(0);
        let more = self.in_all.iter().map(|(cpu, all)| (*cpu, all.saturating_sub(told(*cpu))));
        more.filter(|(_, count)| *count > 0).collect()
    }
}
