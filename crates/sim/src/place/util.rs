// SPDX-License-Identifier: GPL-2.0-only
//! How full CPUs are and how large tasks are, as placement asks (`signal-behaviour.md` A14, B8 and the helpers of D2).

use idlewise_signal::pelt::Place;
use idlewise_signal::walt::Walt;

use crate::state::load::View;

/// Whether an amount of work fits a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// It does, but the CPU cannot be as fast as the task asks for (-1).
    Slow,
    /// It does not (0).
    No,
    /// It does (1).
    Yes,
}

/// Whether `util` leaves a fifth of `room` (`fits_capacity`).
pub(super) fn leaves_margin(util: u64, room: u64) -> bool {
    util * 1280 < room * 1024
}

/// Whether one capacity is greater by more than a twentieth (`capacity_greater`).
pub(super) fn is_greater(a: u64, b: u64) -> bool {
    a * 1024 > b * 1078
}

/// WALT has every task and CPU that the simulator has.
#[inline]
fn known(util: Option<u32>) -> u64 {
    let Some(util) = util else { unreachable!("WALT does not know a task or CPU of the simulator's") };
    util.into()
}

impl View<'_, '_> {
    fn walt(&self) -> Option<&Walt> {
        self.load.walt.as_ref().filter(|_| self.machine.placing.by_walt)
    }

    /// A CPU's capacity at its highest clock.
    pub(super) fn size(&self, c: usize) -> u64 {
        u64::from(self.machine.cpus[c].capacity)
    }

    /// What a fair task is expected to use (`task_util_est`).
    pub(super) fn task_util(&self, task: u32) -> u64 {
        let t = &self.tasks[task];
        match self.walt() {
            Some(walt) => known(walt.task_util(t.walt)),
            None => self.load.pelt.task_util(&t.pelt),
        }
    }

    /// How full a CPU would be of fair tasks if `task` were on `to` (`cpu_util`).
    #[inline]
    pub(super) fn util_if(&self, c: usize, task: u32, to: Option<usize>, boost: bool) -> u64 {
        let t = &self.tasks[task];
        let place = Place { is_here: t.cpu as usize == c, goes_here: to == Some(c) };
        let Some(walt) = self.walt() else {
            return self.load.pelt.cpu_util_with(&self.cpus[c].pelt, &t.pelt, place, boost);
        };
        // WALT's sum is of the tasks that are queued.
        let util = known(walt.placement_util(c as u32));
        let own = self.task_util(task);
        let rest = if place.is_here && t.pelt.is_queued() { util.saturating_sub(own) } else { util };
        let with = if place.goes_here { rest + own } else { rest };
        with.min(self.size(c))
    }

    /// How full it is (`cpu_util_cfs`).
    pub(super) fn util_now(&self, c: usize) -> u64 {
        match self.walt() {
            Some(walt) => known(walt.placement_util(c as u32)),
            None => self.load.pelt.cpu_util(&self.cpus[c].pelt),
        }
    }

    /// What real-time tasks, deadline tasks and interrupts leave of it (`capacity_of`).
    pub(super) fn room(&self, c: usize) -> u64 {
        let (size, rq) = (self.size(c), &self.cpus[c].pelt);
        let free = size.saturating_sub(rq.real_time().util + rq.deadline().util);
        let irq = rq.irq().util;
        if irq == 0 { free.max(1) } else { (free * size.saturating_sub(irq) / size.max(1)).max(1) }
    }

    /// Whether `util` fits a CPU, limited to no less and no more than `clamps` (`util_fits_cpu`).
    pub(super) fn fit(&self, util: u64, (min, max): (u64, u64), c: usize) -> Fit {
        let fits = leaves_margin(util, self.room(c));
        if !self.load.clamped {
            return if fits { Fit::Yes } else { Fit::No };
        }
        let size = self.size(c);
        let capped = max <= size && !(max == 1024 && size == 1024);
        let min = min.min(max);
        match fits || capped {
            false => Fit::No,
            true if util < min && min > size => Fit::Slow,
            true => Fit::Yes,
        }
    }

    /// Whether a task by itself fits a CPU.
    pub(super) fn task_fit(&self, task: u32, c: usize) -> Fit {
        self.fit(self.task_util(task), self.tasks[task].clamps(), c)
    }
}
