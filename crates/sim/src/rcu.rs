// SPDX-License-Identifier: GPL-2.0-only
//! What ticks and RCU's thread have to do with callbacks.

use crate::state::Sim;
use crate::state::cpu::Mode;
use idlewise_parts::watch::{SimEvent, Watch};

impl<W: Watch> Sim<'_, W> {
    /// At the tick, behind the wheel.
    pub(crate) fn tick_of_rcu(&mut self, c: usize) {
        let Some(thread) = self.rcu_thread else { return };
        let work = self.rcu.tick(c);
        if work.softirq {
            self.watch.seen(self.now_ns, c as u32, SimEvent::RcuRuns);
        }
        if work.cancels_timer {
            self.watch.seen(self.now_ns, c as u32, SimEvent::WheelCancelled { task: thread });
        }
        if work.wakes_thread {
            self.wake(thread, Some(c), self.called_at_ns(c));
        }
    }

    pub(crate) fn rcu_timer_expired(&mut self, c: usize) {
        let Some(task) = self.rcu_thread else { return };
        self.watch.seen(self.now_ns, c as u32, SimEvent::WheelExpired { task });
        self.wake(task, Some(c), self.called_at_ns(c));
        self.watch.seen(self.now_ns, c as u32, SimEvent::WheelDone { task });
    }

    /// The thread runs on `c`, and sleeps again.
    pub(crate) fn rcu_thread_runs(&mut self, c: usize, task: u32) {
        let idle = |cpu: usize| matches!(self.cpus[cpu].mode, Mode::Sleep | Mode::Poll);
        if let Some(at_ns) = self.rcu.thread_runs(c, self.now_ns, idle) {
            self.watch.seen(self.now_ns, c as u32, SimEvent::WheelSet { task, at_ns });
        }
    }
}
