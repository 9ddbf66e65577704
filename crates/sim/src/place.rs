// SPDX-License-Identifier: GPL-2.0-only
//! Where tasks go: at waking up, when a CPU runs dry, at the tick.
//!
//! A CPU is a core of its own or a thread of one, and a cluster shares its last cache; above the clusters there is the machine,
//! and nothing above it. Only the placement of waking and new tasks distinguishes threads. The rules and their constants are Linux 6.12's (`signal-behaviour.md` D2 to D4 and A7), 6.1's where the
//! PELT of the run is one from before 6.8. `docs/concepts/simulation-scheduler.md` says what is modelled and what is
//! not.
//!
//! * `wake`: fair tasks without an energy model, and new ones.
//! * `eas`: fair tasks with one, while no CPU has too much to do; `android`: the same as Android 3.18 and 4.4 did it.
//! * `first`: real-time and deadline tasks.
//! * `balance`, with the arithmetic in `imbalance`: tasks that wait or do not fit go elsewhere.
//! * `nohz`: what is done for CPUs whose tick is stopped, ageing included.
//! * `util`: how full CPUs are and how large tasks.

mod android;
mod balance;
mod eas;
mod first;
mod imbalance;
mod nohz;
mod util;
mod wake;

use crate::state::Sim;
use crate::state::load::View;
use idlewise_parts::Placement;
use idlewise_parts::watch::Watch;

impl<'t, W: Watch> Sim<'t, W> {
    /// The CPU for a task that wakes up, or that may no longer run where it does; `by` wakes it.
    pub(crate) fn place(&mut self, task: u32, by: Option<usize>) -> u32 {
        let t = &self.tasks[task];
        if let [only] = t.cpus.as_slice() {
            return *only;
        }
        let from = t.cpu;
        let prev = if t.may_run_on(from) { from } else { t.cpus.first().copied().unwrap_or(0) };
        // A new task asks for another class itself, once it runs.
        if t.is_new {
            return self.place_new(task, prev);
        }
        if !t.is_fair() {
            return self.place_first(task, prev, by);
        }
        let t = &mut self.tasks[task];
        self.load.pelt.sync(&self.cpus[from as usize].pelt, &mut t.pelt);
        if self.placer.minds_energy() {
            let android = self.machine.placing.placement == Placement::Android;
            let to = if android { self.place_as_android(task) } else { self.place_by_energy(task) } as u32;
            return if self.tasks[task].may_run_on(to) { to } else { prev };
        }
        self.place_plainly(task, prev, by.map_or(prev, |b| b as u32))
    }

    fn view(&self) -> View<'_, 't> {
        View { load: &self.load, cpus: &self.cpus, tasks: &self.tasks, machine: self.machine }
    }

    fn near(&self, a: u32, b: u32) -> bool {
        let cluster = |c: u32| self.machine.cpus[c as usize].cache;
        cluster(a) == cluster(b)
    }

    /// Nothing runs or waits there but what only uses what is left.
    fn is_free(&self, c: u32) -> bool {
        let cpu = &self.cpus[c as usize];
        let yields = |t: &u32| self.tasks[*t].entity.idle && self.tasks[*t].is_fair();
        cpu.first.is_empty() && cpu.curr.iter().chain(cpu.fair.waiting()).all(yields)
    }

    /// How many ticks there were by now.
    fn tick_number(&self) -> u64 {
        self.machine.grid.after(self.now_ns) / self.machine.grid.period_ns
    }
}
