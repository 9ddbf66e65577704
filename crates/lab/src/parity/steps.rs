// SPDX-License-Identifier: GPL-2.0-only
//! What the overlay's events tell, cut by governor.

use std::collections::BTreeMap;

use idlewise_model::{Asked, Event, EventKind, GovernorName};

/// The decisions of a recording, by the governors that made them, in the order in which these were switched on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    pub(crate) governors: Vec<OfGovernor>,
}

/// What one governor lived through.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfGovernor {
    /// As the kernel calls it; empty for the one that had been switched on before the recording began.
    pub(crate) name: GovernorName,
    pub(crate) steps: Vec<Step>,
    pub(crate) decisions: u64,
    /// Of these, those that a reschedule or the driver took back before the state was entered.
    pub(crate) given_up: u64,
    pub(crate) refused: u64,
    /// When it was last switched on, by CPU, ns.
    pub(crate) since_ns: BTreeMap<u32, u64>,
}

/// One thing that a governor lived through.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// It was put in charge of a CPU, whose device others had left like this. Of one that was in charge before the recording
    /// began neither the capacity nor the number of states is told.
    Enabled {
        cpu: u32,
        capacity: Option<u32>,
        states: Option<u32>,
        left: Left,
    },
    Decided(Decided),
    Reflected {
        cpu: u32,
        state: u8,
        got_tick: bool,
        poll_time_limit: bool,
        residency_ns: u64,
        clock_ns: u64,
    },
    /// Events of this CPU are missing.
    Gap {
        cpu: u32,
    },
}

/// A CPU's device between two governors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Left {
    /// The last state that a governor was told of. A fresh device says 0.
    pub(crate) state: u8,
    pub(crate) poll_limit_ns: u64,
}

/// A decision with all that the governor knew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decided {
    pub(crate) at_ns: u64,
    pub(crate) cpu: u32,
    pub(crate) asked: Asked,
    pub(crate) sleep_length_ns: i64,
    pub(crate) delta_tick_ns: i64,
    pub(crate) latency_limit_ns: i64,
    pub(crate) clock_ns: u64,
    pub(crate) residency_ns: u64,
    pub(crate) poll_limit_ns: u64,
    pub(crate) util: u32,
    pub(crate) iowait: u32,
    pub(crate) random: u32,
    pub(crate) disabled: u16,
    pub(crate) state: u8,
    pub(crate) stop_tick: bool,
    pub(crate) tick_stopped: bool,
    pub(crate) poll_time_limit: bool,
}

/// Whether a recording can hold such events, as far as its head tells.
pub(crate) fn may_hold<'n>(mut event_names: impl Iterator<Item = &'n String>) -> bool {
    event_names.any(|name| name == "idlewise:idle_chosen")
}

impl Steps {
    pub(crate) fn of(events: impl Iterator<Item = Event>) -> Self {
        let mut reader = Reader::default();
        for event in events {
            reader.event(&event);
        }
        reader.steps
    }
}

#[derive(Default)]
struct Reader {
    steps: Steps,
    cpus: BTreeMap<u32, Cpu>,
}

/// What is known of a CPU.
#[derive(Default)]
struct Cpu {
    /// Which of the governors is in charge.
    governor: Option<usize>,
    left: Left,
    /// The answers that the governor has got for the decision that is about to come.
    asked: Option<(Asked, [i64; 3], u64)>,
    /// A decision whose stay has not ended yet, and whether the state was entered.
    open: Option<bool>,
}

impl Reader {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::IdleEnabled { cpu, capacity, states, governor } => {
                self.took_back(cpu);
                self.enabled(event.ts_ns, cpu, Some(capacity), Some(states), governor);
            }
            EventKind::IdleAsked { cpu, asked, sleep_length, delta_tick, latency_limit, clock } => {
                self.cpu(cpu).asked = Some((asked, [sleep_length, delta_tick, latency_limit], clock));
            }
            EventKind::IdleChosen { cpu, .. } => self.chosen(event.ts_ns, cpu, &event.kind),
            EventKind::IdleReflected { cpu, state, got_tick, poll_time_limit, residency, clock, .. } => {
                let at = self.cpu(cpu);
                at.open = None;
                at.left.state = state;
                let (residency_ns, clock_ns) = (residency, clock);
                self.step(
                    cpu,
                    Step::Reflected { cpu, state, got_tick, poll_time_limit, residency_ns, clock_ns },
                );
            }
            EventKind::CpuIdle { cpu, state: Some(_) } => {
                self.cpu(cpu).open.iter_mut().for_each(|entered| *entered = true);
            }
            EventKind::Lost { .. } => {
                let cpu = event.cpu;
                (self.cpu(cpu).open, self.cpu(cpu).asked) = (None, None);
                // A CPU's memory may be changed from another's.
                for governor in &mut self.steps.governors {
                    governor.steps.push(Step::Gap { cpu });
                }
            }
            _ => {}
        }
    }

    fn enabled(
        &mut self,
        at_ns: u64,
        cpu: u32,
        capacity: Option<u32>,
        states: Option<u32>,
        name: GovernorName,
    ) {
        let known = self.steps.governors.iter().position(|g| g.name == name);
        let governor = known.unwrap_or(self.steps.governors.len());
        if known.is_none() {
            self.steps.governors.push(OfGovernor { name, ..OfGovernor::default() });
        }
        let at = self.cpu(cpu);
        at.governor = Some(governor);
        let left = at.left;
        if let Some(of) = self.steps.governors.get_mut(governor) {
            of.since_ns.insert(cpu, at_ns);
            of.steps.push(Step::Enabled { cpu, capacity, states, left });
        }
    }

    fn chosen(&mut self, at_ns: u64, cpu: u32, kind: &EventKind) {
        let EventKind::IdleChosen {
            state,
            stop_tick,
            tick_stopped,
            poll_time_limit,
            disabled,
            residency,
            poll_limit,
            util,
            iowait,
            random,
            ..
        } = *kind
        else {
            return;
        };
        self.took_back(cpu);
        if self.cpu(cpu).governor.is_none() {
            self.enabled(at_ns, cpu, None, None, GovernorName::default());
        }
        let at = self.cpu(cpu);
        at.left.poll_limit_ns = poll_limit;
        at.open = Some(false);
        let Some((asked, [sleep_length_ns, delta_tick_ns, latency_limit_ns], clock_ns)) = at.asked.take()
        else {
            // Half a decision is worse than none.
            at.open = None;
            self.step(cpu, Step::Gap { cpu });
            return;
        };
        if let Some(of) = at.governor.and_then(|g| self.steps.governors.get_mut(g)) {
            of.decisions += 1;
        }
        self.step(
            cpu,
            Step::Decided(Decided {
                at_ns,
                cpu,
                asked,
                sleep_length_ns,
                delta_tick_ns,
                latency_limit_ns,
                clock_ns,
                residency_ns: residency,
                poll_limit_ns: poll_limit,
                util,
                iowait,
                random,
                disabled,
                state,
                stop_tick,
                tick_stopped,
                poll_time_limit,
            }),
        );
    }

    /// No stay followed the last decision of `cpu`, if there is one.
    fn took_back(&mut self, cpu: u32) {
        let at = self.cpu(cpu);
        let (Some(entered), governor) = (at.open.take(), at.governor) else { return };
        let Some(of) = governor.and_then(|g| self.steps.governors.get_mut(g)) else { return };
        of.refused += u64::from(entered);
        of.given_up += u64::from(!entered);
    }

    fn step(&mut self, cpu: u32, step: Step) {
        let governor = self.cpu(cpu).governor;
        if let Some(of) = governor.and_then(|g| self.steps.governors.get_mut(g)) {
            of.steps.push(step);
        }
    }

    fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        self.cpus.entry(cpu).or_default()
    }
}
