// SPDX-License-Identifier: GPL-2.0-only
//! The task that is current on each CPU, where the events themselves do not say it.

use idlewise_model::{Event, EventKind};

/// No task is known to be current.
pub(crate) const UNKNOWN: i32 = -1;
/// Linux runs on no more CPUs; on others than these no task is followed.
const MOST_CPUS: usize = 8192;

/// The task that is current on each CPU, as the switches tell.
#[derive(Default)]
pub(crate) struct Tasks(Vec<i32>);

impl Tasks {
    /// After a loss nobody knows what `cpu` runs.
    pub(crate) fn forget(&mut self, cpu: u32) {
        if let Some(task) = self.0.get_mut(cpu as usize) {
            *task = UNKNOWN;
        }
    }

    /// Writes into `event` which task was current, unless it says so itself.
    #[inline(always)]
    pub(crate) fn follow(&mut self, event: &mut Event) {
        let cpu = event.cpu as usize;
        if cpu >= self.0.len() {
            if cpu >= MOST_CPUS {
                return;
            }
            self.0.resize(cpu + 1, UNKNOWN);
        }
        let Some(task) = self.0.get_mut(cpu) else { return };
        match event.kind {
            EventKind::SchedSwitch { prev_pid, next_pid, .. } => {
                event.pid = prev_pid;
                *task = next_pid;
            }
            // Only the idle task goes idle.
            EventKind::CpuIdle { cpu, .. } if cpu == event.cpu => {
                event.pid = 0;
                *task = 0;
            }
            _ if event.pid == UNKNOWN => event.pid = *task,
            _ => {}
        }
    }
}
