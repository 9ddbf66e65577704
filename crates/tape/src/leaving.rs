// SPDX-License-Identifier: GPL-2.0-only
//! How long the kernel takes from the end of a wake's handlers to the switch to a task. In between it tells the governor of the
//! stay; no event says when.

use std::collections::BTreeMap;

use idlewise_model::{Event, EventKind};

/// Handlers that begin later than this after the end of the last one do not belong to the same interrupt, ns.
pub(crate) const LATE_NS: u64 = 20_000;
/// Samples kept, and the least to judge by.
const SAMPLES: usize = 20_000;
const ENOUGH: usize = 100;
/// One in so many takes less than what is called usual.
const SHORTER: usize = 50;

/// Collects these times over a whole trace.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    cpus: BTreeMap<u32, Wake>,
    samples: Vec<u64>,
}

/// A CPU that has left its idle state and runs handlers.
#[derive(Debug)]
struct Wake {
    handled_ns: u64,
    handlers: u32,
}

impl Leaving {
    pub(crate) fn event(&mut self, e: &Event) {
        match e.kind {
            EventKind::CpuIdle { cpu, state: None } => {
                self.cpus.insert(cpu, Wake { handled_ns: e.ts_ns, handlers: 0 });
            }
            EventKind::CpuIdle { cpu, .. } => {
                self.cpus.remove(&cpu);
            }
            EventKind::VectorEntry { .. } | EventKind::IrqEntry { .. } | EventKind::SoftirqEntry { .. } => {
                let Some(wake) = self.cpus.get_mut(&e.cpu) else { return };
                if wake.handlers > 0 && e.ts_ns.saturating_sub(wake.handled_ns) > LATE_NS {
                    self.cpus.remove(&e.cpu);
                } else {
                    wake.handlers += 1;
                }
            }
            EventKind::VectorExit { .. } | EventKind::IrqExit { .. } | EventKind::SoftirqExit { .. } => {
                if let Some(wake) = self.cpus.get_mut(&e.cpu) {
                    wake.handled_ns = e.ts_ns;
                }
            }
            EventKind::SchedSwitch { prev_pid: 0, .. } => {
                let wake = self.cpus.remove(&e.cpu).filter(|w| w.handlers > 0);
                if let Some(wake) = wake.filter(|_| self.samples.len() < SAMPLES) {
                    self.samples.push(e.ts_ns.saturating_sub(wake.handled_ns));
                }
            }
            _ => {}
        }
    }

    /// The least that is usual, ns; `None` where too few are known.
    pub(crate) fn least_ns(mut self) -> Option<u64> {
        let rank = self.samples.len() / SHORTER;
        let enough = self.samples.len() >= ENOUGH;
        enough.then(|| *self.samples.select_nth_unstable(rank).1)
    }
}
