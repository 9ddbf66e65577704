// SPDX-License-Identifier: GPL-2.0-only
//! A governor in the idle loop, given one step after the other.

use idlewise_governor::{GovernorError, Instance, Loader, Slot};
use idlewise_idle::{Chooser, Hosted, IdleCpu, Left, Moment, NEVER_AT_NS, Timers};
use idlewise_model::{Breach, TickGrid, WakeCause};
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::step::{End, Step};

/// CPUs of a machine that is checked.
pub(crate) const CPUS: usize = 2;
/// How long an interrupt's handler runs, ns.
const HANDLER_NS: u64 = 500;
/// How long a CPU is busy between idle visits, ns.
const BUSY_NS: u64 = 100_000;
/// When sequences begin, ns.
const START_NS: u64 = 1_000_000;

/// A governor's answer to a step, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Decision {
    pub(crate) cpu: u8,
    /// The state's index as answered.
    pub(crate) answer: i32,
    pub(crate) stop_tick: bool,
    /// The tick had been stopped before.
    pub(crate) was_stopped: bool,
    /// The state does not exist.
    pub(crate) no_state: bool,
    /// It is disabled, and another is not.
    pub(crate) disabled: bool,
    /// It does not keep the limit, and an enabled one does.
    pub(crate) over_limit: bool,
    /// CPU time when it was asked, ns.
    pub(crate) start_ns: u64,
    /// What the sleep length query answers for a kept tick, ns.
    pub(crate) delta_tick_ns: i64,
    /// The limit of the polling loop when it was asked, ns.
    pub(crate) poll_limit_ns: u64,
    /// The state that reflect got; nothing where it was not called.
    pub(crate) reflected: Option<u8>,
    /// The measured idle period, ns.
    pub(crate) residency_ns: i64,
    /// From entry to the event that ended it, ns.
    pub(crate) woken_ns: u64,
    /// The tick's handler ran.
    pub(crate) tick_ran: bool,
    /// The polling loop reached its limit.
    pub(crate) polled_out: bool,
    /// When the event was handled, ns.
    pub(crate) handled_ns: u64,
}

impl Decision {
    /// What a governor decides; the rest follows from it.
    pub(crate) fn choice(&self) -> (i32, bool) {
        (self.answer, self.stop_tick)
    }
}

/// A machine's CPUs in their idle tasks under one copy of a governor.
pub(crate) struct World<'m> {
    pub(crate) machine: &'m Machine,
    pub(crate) instance: Instance,
    slots: [Slot; CPUS],
    cpus: [Cpu<'m>; CPUS],
}

struct Cpu<'m> {
    idle: IdleCpu<'m>,
    now_ns: u64,
    /// The idle task was not switched out since the last idle period.
    in_visit: bool,
}

impl<'m> World<'m> {
    /// A fresh copy of the loader's governor on `machine`.
    pub(crate) fn new(loader: &Loader<'_>, machine: &'m Machine) -> Result<Self, GovernorError> {
        let mut instance = loader.load(machine.tick_ns())?;
        let mut add = |cpu| instance.add_cpu(cpu, &machine.table, machine.capacity);
        let slots = [add(0)?, add(1)?];
        Ok(Self { machine, instance, slots, cpus: Self::cpus(machine) })
    }

    fn cpus(machine: &'m Machine) -> [Cpu<'m>; CPUS] {
        let grid = TickGrid::from_hz(machine.hz);
        [0, 1].map(|cpu| Cpu {
            idle: IdleCpu::new(cpu, &machine.table, grid),
            now_ns: START_NS,
            in_visit: false,
        })
    }

    /// Everything is as before the first step.
    pub(crate) fn restart(&mut self) {
        self.instance.reset();
        self.cpus = Self::cpus(self.machine);
    }

    /// Gives one step to the governor.
    pub(crate) fn step(&mut self, step: &Step) -> Decision {
        let at = usize::from(step.cpu);
        let mut chooser = Hosted::new(&mut self.instance, self.slots[at]);
        self.cpus[at].step(&mut chooser, step)
    }

    /// Waits for the end of the last step's reflect, which else has its time until the next step.
    pub(crate) fn settle(&mut self) {
        self.instance.device(self.slots[0]);
    }

    /// Plays `steps` from the start.
    pub(crate) fn play(&mut self, steps: &[Step]) -> Vec<Decision> {
        self.restart();
        steps.iter().map(|step| self.step(step)).collect()
    }
}

impl Cpu<'_> {
    fn step<C: Chooser>(&mut self, chooser: &mut C, step: &Step) -> Decision {
        let start_ns = self.now_ns;
        if !self.in_visit {
            self.idle.begin_visit(start_ns);
        }
        self.idle.set_disabled(chooser, step.disabled);
        let was_stopped = self.idle.tick_stopped();
        let delta_tick_ns = if was_stopped { step.timer_ns } else { step.timer_ns.min(step.tick_in_ns) };
        let moment = Moment {
            start_ns,
            timers: Timers::Known { sleep_length_ns: step.timer_ns, delta_tick_ns },
            latency_limit_ns: step.limit_ns,
            util: step.util,
            iowait: step.iowait,
            random: step.random,
            wake_at_ns: NEVER_AT_NS,
            stop_pays: true,
        };
        let poll_limit_ns = chooser.device().poll_limit_ns;
        let entered = self.idle.enter(chooser, &moment);
        let Breach { no_state, disabled, over_limit } = entered.breach;
        let mut decision = Decision {
            cpu: step.cpu,
            answer: entered.answer,
            stop_tick: entered.stop_tick,
            was_stopped,
            no_state,
            disabled,
            over_limit,
            start_ns,
            delta_tick_ns,
            poll_limit_ns,
            reflected: None,
            residency_ns: 0,
            woken_ns: 0,
            tick_ran: false,
            polled_out: false,
            handled_ns: start_ns + HANDLER_NS,
        };
        match step.end {
            End::Rejected => self.idle.reject(chooser, start_ns, &mut ()),
            End::Aborted => self.idle.abort(chooser),
            End::Woken { after_ns, tick } => {
                let by_tick =
                    if self.idle.tick_stopped() { u64::MAX } else { step.tick_in_ns.unsigned_abs() };
                let event_ns = start_ns + after_ns.min(by_tick);
                let polls = entered.poll_until_ns != NEVER_AT_NS;
                let polled_out = entered.poll_until_ns < event_ns;
                let wake_at_ns = event_ns.min(entered.poll_until_ns);
                let exit_at_ns = if polls {
                    wake_at_ns
                } else {
                    self.idle.exit_at_ns(entered.state, start_ns, wake_at_ns)
                };
                let tick_ran = !polled_out && (tick || by_tick <= after_ns);
                let cause = match (polled_out, tick_ran) {
                    (true, _) => WakeCause::PollLimit,
                    (false, true) => WakeCause::Tick,
                    (false, false) => WakeCause::Irq,
                };
                let left = Left {
                    entered: entered.state,
                    wake_at_ns,
                    exit_at_ns,
                    running_at_ns: exit_at_ns,
                    handled_at_ns: exit_at_ns + if polled_out { 0 } else { HANDLER_NS },
                    cause,
                    tick_ran,
                };
                self.idle.leave(chooser, &left, &mut ());
                decision.reflected = u8::try_from(entered.state).ok();
                decision.residency_ns = exit_at_ns.cast_signed() - start_ns.cast_signed();
                decision.woken_ns = wake_at_ns - start_ns;
                (decision.tick_ran, decision.polled_out) = (tick_ran, polled_out);
                decision.handled_ns = left.handled_at_ns;
            }
        }
        self.in_visit = step.again;
        self.now_ns = decision.handled_ns;
        if !step.again {
            self.idle.end_visit();
            self.now_ns += BUSY_NS;
        }
        decision
    }
}
