// SPDX-License-Identifier: GPL-2.0-only
//! Energy, counted as it is drawn: by each CPU running or in a state at its clock, and by what a cluster shares.
//!
//! A core sleeps as deeply as the shallowest of its threads. With *s(i)* the state that thread *i* asked for, or the shallowest
//! state that sleeps (no polling) while *i* is awake, polls or is on its way out, the core is in *d = min s(i)*, and a thread
//! that asked for a state that sleeps costs the integral of *P(d(t)) dt*, plus *X(d)* at its entry, plus *max(0, X(d') - X(d))*
//! whenever the core goes from *d* to a deeper *d'*, with the state's power *P* and transition energy *X*: what a sleep deeper than the core's saves, it neither saves nor pays.
//! Of a core with one thread that is *P t + X*.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::Machine;
use crate::activity::Activity;
use crate::package::Package;

/// Counters of energy are brought up to date so often, ns: those of RAPL about every ms (Intel SDM vol. 3B,
/// MSR_PKG_ENERGY_STATUS).
pub const UPDATE_NS: u64 = 1_000_000;

/// What a CPU draws power for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Draw {
    Running,
    /// It is in an idle state: the one that it asked for, and the one that its core is in.
    Asleep {
        asked: usize,
        reached: usize,
    },
    /// It is on its way out of one: that is part of the transition.
    Leaving,
}

/// Energy of a run, fJ or the tables' relative equivalent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Energy {
    /// By CPU, while awake.
    pub running_fj: Vec<u128>,
    /// By CPU, in idle states and going in and out.
    pub idle_fj: Vec<u128>,
    /// By clock: what its CPUs share.
    pub shared_fj: Vec<u128>,
    /// What the package drew besides while it was awake.
    pub package_fj: u128,
    /// By clock: time at each of its points while a CPU of it was awake, ns, all CPUs added up.
    pub at_point_ns: Vec<Vec<u64>>,
    /// What counters knew at the end, that are brought up to date every [`UPDATE_NS`] only.
    pub counters: Counters,
    /// What all CPUs and what they share drew in each sample of [`Machine::sample_ns`], in order; those that are whole.
    pub samples_fj: Vec<u128>,
}

impl Energy {
    /// Of all parts together.
    #[must_use]
    pub fn sum_fj(&self) -> u128 {
        let cpus = self.running_fj.iter().chain(&self.idle_fj);
        cpus.chain(&self.shared_fj).chain([&self.package_fj]).sum()
    }
}

/// Energy at a whole multiple of [`UPDATE_NS`], fJ or the tables' relative equivalent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// By CPU: awake, idle and between.
    pub cpu_fj: Vec<u128>,
    /// By clock: what its CPUs share.
    pub shared_fj: Vec<u128>,
    /// What the package drew besides until then.
    pub package_fj: u128,
}

#[derive(Debug)]
struct Cpu {
    draw: Draw,
    since_ns: u64,
    /// When its core got as deep as it is, ns.
    reached_ns: u64,
}

#[derive(Debug)]
struct Clock {
    point: usize,
    /// The state that all its CPUs are at least in; nothing while one is awake.
    state: Option<usize>,
    since_ns: u64,
}

/// Never nothing, whatever the machine says.
fn sample_period(machine: &Machine<'_>) -> u64 {
    machine.sample_ns.map_or(u64::MAX, |ns| ns.max(UPDATE_NS))
}

/// Counts the energy of each CPU and cluster while a simulated machine runs.
#[derive(Debug)]
pub struct Meter {
    cpus: Vec<Cpu>,
    clocks: Vec<Clock>,
    package: Package,
    activity: Activity,
    /// When the counters are brought up to date again, ns.
    update_at_ns: u64,
    /// When a sample is whole, ns.
    sample_at_ns: u64,
    /// All that was drawn before it, fJ.
    before_sample_fj: u128,
    /// All that was drawn so far.
    pub total: Energy,
}

impl Meter {
    /// A meter of `machine` that has counted nothing.
    pub fn new(machine: &Machine<'_>) -> Self {
        let cpus = machine.cpus.len();
        Self {
            cpus: (0..cpus).map(|_| Cpu { draw: Draw::Running, since_ns: 0, reached_ns: 0 }).collect(),
            clocks: machine.clocks.iter().map(|_| Clock { point: 0, state: None, since_ns: 0 }).collect(),
            package: Package::new(machine),
            activity: Activity::new(machine),
            update_at_ns: UPDATE_NS,
            sample_at_ns: sample_period(machine),
            before_sample_fj: 0,
            total: Energy {
                running_fj: vec![0; cpus],
                idle_fj: vec![0; cpus],
                shared_fj: vec![0; machine.clocks.len()],
                package_fj: 0,
                at_point_ns: machine.clocks.iter().map(|c| vec![0; c.points.len()]).collect(),
                counters: Counters {
                    cpu_fj: vec![0; cpus],
                    shared_fj: vec![0; machine.clocks.len()],
                    package_fj: 0,
                },
                samples_fj: Vec::new(),
            },
        }
    }

    /// Of `fj`, which a thread draws that has its core to itself, what it draws with the others of its core that run now: as much
    /// of it as it is fast, so that work takes the same energy.
    fn share_of(&self, machine: &Machine<'_>, c: usize, fj: u128) -> u128 {
        let core = machine.cpus[c].core.clone();
        if core.len() == 1 {
            return fj;
        }
        let busy = core.filter(|thread| self.cpus[*thread].draw == Draw::Running).count();
        fj * u128::from(machine.thread_speed(c, busy)) / 1000
    }

    /// Charges a CPU for what it has drawn until now.
    fn settle(&mut self, machine: &Machine<'_>, c: usize, now_ns: u64) {
        let clock = machine.cpus[c].clock;
        let at = self.clocks[clock].point;
        let table = machine.clocks[clock].points[at].energy;
        let ns = now_ns.saturating_sub(self.cpus[c].since_ns);
        self.cpus[c].since_ns = self.cpus[c].since_ns.max(now_ns);
        match self.cpus[c].draw {
            Draw::Running => {
                self.total.running_fj[c] += self.share_of(machine, c, table.active_fj(ns));
                self.total.at_point_ns[clock][at] += ns;
            }
            Draw::Asleep { reached, .. } => {
                let power = table.states.get(reached).map_or(0, |s| s.power_uw);
                self.total.idle_fj[c] += u128::from(power) * u128::from(ns);
            }
            Draw::Leaving => {}
        }
    }

    /// Charges what a clock's CPUs share.
    fn settle_shared(&mut self, machine: &Machine<'_>, clock: usize, now_ns: u64) {
        let k = &mut self.clocks[clock];
        let ns = now_ns.saturating_sub(k.since_ns);
        k.since_ns = k.since_ns.max(now_ns);
        if let Some(table) = machine.clocks[clock].points[k.point].shared {
            self.total.shared_fj[clock] += match k.state {
                None => table.active_fj(ns),
                Some(state) => u128::from(table.states.get(state).map_or(0, |s| s.power_uw)) * u128::from(ns),
            };
        }
    }

    /// What meters read on the way to `now_ns`; before every change, so that nothing changed since the last one.
    #[inline]
    fn pass(&mut self, machine: &Machine<'_>, now_ns: u64) {
        if now_ns >= self.update_at_ns.min(self.sample_at_ns) {
            self.read(machine, now_ns);
        }
    }

    #[cold]
    fn read(&mut self, machine: &Machine<'_>, now_ns: u64) {
        while self.sample_at_ns <= now_ns {
            self.settle_all(machine, self.sample_at_ns);
            let sum = self.total.sum_fj();
            self.total.samples_fj.push(sum - self.before_sample_fj);
            self.before_sample_fj = sum;
            self.sample_at_ns = self.sample_at_ns.saturating_add(sample_period(machine));
        }
        if self.update_at_ns <= now_ns {
            let at_ns = now_ns - now_ns % UPDATE_NS;
            self.settle_all(machine, at_ns);
            let t = &mut self.total;
            let both = t.running_fj.iter().zip(&t.idle_fj);
            t.counters.cpu_fj.iter_mut().zip(both).for_each(|(sum, (run, idle))| *sum = run + idle);
            t.counters.shared_fj.clone_from(&t.shared_fj);
            t.counters.package_fj = t.package_fj;
            self.update_at_ns = at_ns + UPDATE_NS;
        }
    }

    fn settle_all(&mut self, machine: &Machine<'_>, now_ns: u64) {
        for c in 0..machine.cpus.len() {
            self.settle(machine, c, now_ns);
        }
        for clock in 0..machine.clocks.len() {
            self.settle_shared(machine, clock, now_ns);
        }
        self.total.package_fj += self.package.drawn_fj(now_ns);
    }

    fn change(&mut self, machine: &Machine<'_>, c: usize, now_ns: u64, draw: Draw) {
        self.pass(machine, now_ns);
        let core = machine.cpus[c].core.clone();
        if core.len() > 1 {
            core.clone().for_each(|thread| self.settle(machine, thread, now_ns));
            self.cpus[c].draw = draw;
            self.sink(machine, core, now_ns);
        } else {
            self.settle(machine, c, now_ns);
            self.cpus[c].draw = draw;
        }
        let clock = machine.cpus[c].clock;
        let spec = &machine.clocks[clock];
        let Some(table) = spec.points[self.clocks[clock].point].shared else { return };
        let asleep = |c: &usize| match self.cpus[*c].draw {
            Draw::Asleep { asked, .. } => Some(asked),
            _ => None,
        };
        let state = spec.cpus.iter().map(asleep).try_fold(usize::MAX, |least, s| s.map(|s| least.min(s)));
        if state != self.clocks[clock].state {
            self.settle_shared(machine, clock, now_ns);
            self.clocks[clock].state = state;
            // The last one down pays for all.
            let into = state.and_then(|s| table.states.get(s));
            self.total.shared_fj[clock] += into.map_or(0, |s| u128::from(s.transition_fj));
        }
    }

    /// Each thread of a core that sleeps is in the state that all of them allow, and pays for the way to it.
    fn sink(&mut self, machine: &Machine<'_>, core: Range<usize>, now_ns: u64) {
        let states = machine.cpus[core.start].table.states();
        let polls = |state: usize| states.get(state).is_some_and(|s| s.polling);
        let shallowest = (0..states.len()).find(|s| !polls(*s)).unwrap_or(0);
        let asks = |c: usize| match self.cpus[c].draw {
            Draw::Asleep { asked, .. } if !polls(asked) => asked,
            _ => shallowest,
        };
        let depth = core.clone().map(asks).min().unwrap_or(shallowest);
        for c in core {
            if let Draw::Asleep { asked, reached } = self.cpus[c].draw
                && !polls(asked)
                && reached != depth
            {
                let pays = |state: usize| self.transition_fj(machine, c, state);
                if depth > reached {
                    self.total.idle_fj[c] += pays(depth).saturating_sub(pays(reached));
                    self.cpus[c].reached_ns = now_ns;
                }
                self.cpus[c].draw = Draw::Asleep { asked, reached: depth };
            }
        }
    }

    fn transition_fj(&self, machine: &Machine<'_>, c: usize, state: usize) -> u128 {
        let clock = machine.cpus[c].clock;
        let table = machine.clocks[clock].points[self.clocks[clock].point].energy;
        table.states.get(state).map_or(0, |s| u128::from(s.transition_fj))
    }

    /// A CPU enters a state: the way in and out is paid at once, for the clock that it has now.
    pub fn enters(&mut self, machine: &Machine<'_>, c: usize, now_ns: u64, state: usize) {
        self.change(machine, c, now_ns, Draw::Asleep { asked: state, reached: state });
        self.cpus[c].reached_ns = now_ns;
        if let Draw::Asleep { reached, .. } = self.cpus[c].draw {
            self.total.idle_fj[c] += self.transition_fj(machine, c, reached);
        }
        self.total.package_fj += self.package.change(c, now_ns, Some(state));
        self.activity.change(machine, c, Some(state));
    }

    /// The idle state that the core of CPU `c`, which sleeps, is really in, and since when, ns; nothing while it is awake. Of
    /// a CPU that polls that is the polling.
    #[must_use]
    pub fn reached(&self, c: usize) -> Option<(usize, u64)> {
        match self.cpus[c].draw {
            Draw::Asleep { reached, .. } => Some((reached, self.cpus[c].reached_ns)),
            Draw::Running | Draw::Leaving => None,
        }
    }

    /// A wake event found it there.
    pub fn leaves(&mut self, machine: &Machine<'_>, c: usize, now_ns: u64) {
        self.change(machine, c, now_ns, Draw::Leaving);
        self.total.package_fj += self.package.change(c, now_ns, None);
        self.activity.change(machine, c, None);
    }

    /// CPU `c` has been awake since the last call; its energy is counted up to `now_ns`.
    pub fn runs(&mut self, machine: &Machine<'_>, c: usize, now_ns: u64) {
        self.change(machine, c, now_ns, Draw::Running);
        self.total.package_fj += self.package.change(c, now_ns, None);
        self.activity.change(machine, c, None);
    }

    /// A clock is at another point from now on.
    pub fn set_point(&mut self, machine: &Machine<'_>, clock: usize, now_ns: u64, point: usize) {
        self.pass(machine, now_ns);
        for c in &machine.clocks[clock].cpus {
            self.settle(machine, *c, now_ns);
        }
        self.settle_shared(machine, clock, now_ns);
        self.clocks[clock].point = point;
    }

    /// By clock: whether a CPU of it was active since the last call, and the most cores of its cluster that were at a time.
    pub fn take_activity(&mut self, machine: &Machine<'_>) -> (Vec<bool>, Vec<usize>) {
        self.activity.take(machine)
    }

    /// The package leaks so much more than its powers say, uW, from now on, while it is awake.
    pub fn leak(&mut self, now_ns: u64, more_uw: i64) {
        self.total.package_fj += self.package.leak(now_ns, more_uw);
    }

    /// All that was drawn until now, fJ.
    pub fn drawn_fj(&mut self, machine: &Machine<'_>, now_ns: u64) -> u128 {
        self.pass(machine, now_ns);
        self.settle_all(machine, now_ns);
        self.total.sum_fj()
    }

    /// Charges everything until now.
    pub fn finish(&mut self, machine: &Machine<'_>, now_ns: u64) {
        self.pass(machine, now_ns);
        self.settle_all(machine, now_ns);
    }
}
