// SPDX-License-Identifier: GPL-2.0-only
//! Idle without `cpu_idle` events: the time of the idle task.
//!
//! An interrupt in the idle task wakes the CPU, and if no task is switched in, the CPU goes idle again when the handlers
//! are done. Which state it was in, and when it left it, nothing tells.

use idlewise_model::{Event, EventKind, PieceFlags};

use super::Maker;
use super::visits::SAME_VISIT_NS;
use crate::check::timer_ns;

impl Maker<'_> {
    /// Looks for what ends a stay; to be called before `e` is taken in.
    pub(super) fn idle_task(&mut self, e: &Event) {
        let wakes = match e.kind {
            EventKind::SchedSwitch { prev_pid, .. } => prev_pid == 0,
            EventKind::VectorEntry { .. }
            | EventKind::IrqEntry { .. }
            | EventKind::IpiEntry { .. }
            | EventKind::HrtimerExpireEntry { .. }
            | EventKind::SoftirqEntry { .. } => self.cpu(e.cpu).in_visit,
            _ => false,
        };
        if wakes {
            self.awake(e.cpu, e.ts_ns);
        }
    }

    fn awake(&mut self, cpu: u32, ts_ns: u64) {
        let Some(stay) = &self.cpu(cpu).stay else { return };
        if let Some(exit_ns) = stay.exit_ns {
            let busy_until = exit_ns.max(stay.seen.handled_ns);
            if ts_ns.saturating_sub(busy_until) <= SAME_VISIT_NS {
                return;
            }
            self.entry(cpu, busy_until, None);
        }
        self.stopped_since(cpu);
        self.exit(cpu, ts_ns);
    }

    /// The tick is stopped after the switch to the idle task, which counts as the entry.
    fn stopped_since(&mut self, cpu: u32) {
        let c = self.cpu(cpu);
        let stopped = c.stopped;
        let Some(start_ns) = c.stay.as_ref().map(|s| s.piece.start_ns).filter(|_| stopped) else { return };
        let timers = self.armed.next(cpu, start_ns, true, false);
        let Some(stay) = self.cpu(cpu).stay.as_mut() else { return };
        let piece = &mut stay.piece;
        piece.flags.set(PieceFlags::STOPPED_AFTER, true);
        piece.flags.set_timer_confidence(timers.confidence);
        piece.flags.set(PieceFlags::TIMER_AT_MOST, timers.at_most);
        piece.wheel_ns = timer_ns(timers.wheel_at, start_ns);
    }
}
