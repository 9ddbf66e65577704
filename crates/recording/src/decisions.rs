// SPDX-License-Identifier: GPL-2.0-only
//! Decisions with the inputs of the kernel's governor, as the overlay's events have them, by governor.

use std::collections::BTreeMap;

use idlewise_governor::Inputs;
use idlewise_model::{Asked, Event, EventKind, GovernorName};

/// The decisions of a recording, by the governors that made them, in the order in which these were switched on.
#[derive(Clone, Debug, Default)]
pub struct RecordedDecisions {
    /// One for each time that a governor was switched on.
    pub governors: Vec<GovernorEvents>,
}

/// What one governor lived through.
#[derive(Clone, Debug, Default)]
pub struct GovernorEvents {
    /// As the kernel calls it; empty for the one that had been switched on before the recording began.
    pub name: GovernorName,
    /// In the order of the recording.
    pub events: Vec<GovernorEvent>,
    /// How many of them are decisions.
    pub decisions: u64,
    /// Of these, those that a reschedule or the driver took back before the state was entered.
    pub given_up: u64,
    /// Of these, those whose state the driver refused.
    pub refused: u64,
    /// When it was last switched on, by CPU, ns.
    pub(crate) since_ns: BTreeMap<u32, u64>,
}

/// One thing that a governor lived through.
#[derive(Clone, Copy, Debug)]
pub enum GovernorEvent {
    /// It was put in charge of a CPU, whose device others had left like this. Of one that was in charge before the recording
    /// began neither the capacity nor the number of states is reported.
    Enabled {
        /// Number of the CPU.
        cpu: u32,
        /// 1024 for the fastest CPU.
        capacity: Option<u32>,
        /// Number of idle states.
        states: Option<u32>,
        /// As others left the device.
        left: Left,
    },
    /// It chose a state.
    Decided(Decided),
    /// It learned how its choice ended.
    Reflected {
        /// Number of the CPU.
        cpu: u32,
        /// The state that was entered.
        state: u8,
        /// The tick had run.
        got_tick: bool,
        /// Polling ended by its limit.
        poll_time_limit: bool,
        /// How long the idle period was, ns.
        residency_ns: u64,
        /// The CPU's clock, ns.
        clock_ns: u64,
    },
    /// Events of this CPU are missing.
    Gap {
        /// Number of the CPU.
        cpu: u32,
    },
}

/// A CPU's device between two governors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Left {
    /// The last state that a governor was notified of. A fresh device says 0.
    pub state: u8,
    /// The limit of the polling loop, ns.
    pub poll_limit_ns: u64,
}

/// A decision with all that the governor knew.
#[derive(Clone, Copy, Debug)]
pub struct Decided {
    /// When, ns on the clock of the trace.
    pub at_ns: u64,
    /// Number of the CPU.
    pub cpu: u32,
    /// What the governor asked for.
    pub asked: Asked,
    /// Time to the next timer event, ns.
    pub sleep_length_ns: i64,
    /// Time to the next tick, ns.
    pub delta_tick_ns: i64,
    /// Greatest exit latency allowed, ns.
    pub latency_limit_ns: i64,
    /// The CPU's clock, ns.
    pub clock_ns: u64,
    /// Length of the last idle period, ns.
    pub residency_ns: u64,
    /// Limit of the polling loop, ns.
    pub poll_limit_ns: u64,
    /// Utilisation of the CPU, 0 to 1024.
    pub util: u32,
    /// Tasks of this CPU that wait for I/O.
    pub iowait: u32,
    /// The random number that it was given.
    pub random: u32,
    /// States that were off, a bit each.
    pub disabled: u16,
    /// The state that it chose.
    pub state: u8,
    /// It let the tick be stopped.
    pub stop_tick: bool,
    /// The tick was stopped before.
    pub tick_stopped: bool,
    /// The last polling ended by its limit.
    pub poll_time_limit: bool,
}

/// Whether a recording can hold such events, as far as its head tells.
pub(crate) fn may_hold<'n>(mut event_names: impl Iterator<Item = &'n String>) -> bool {
    event_names.any(|name| name == "idlewise:idle_chosen")
}

impl Decided {
    /// The inputs that the governor was given.
    pub fn inputs(&self) -> Inputs {
        Inputs {
            now_ns: self.clock_ns,
            sleep_length_ns: self.sleep_length_ns,
            delta_tick_ns: self.delta_tick_ns,
            latency_limit_ns: self.latency_limit_ns,
            util: self.util,
            iowait: self.iowait,
            random: self.random,
            tick_stopped: self.tick_stopped,
        }
    }
}

impl RecordedDecisions {
    /// Those in `events`, which come in order.
    pub fn of(events: impl Iterator<Item = Event>) -> Self {
        let mut reader = Reader::default();
        for event in events {
            reader.event(&event);
        }
        reader.decisions
    }
}

#[derive(Default)]
struct Reader {
    decisions: RecordedDecisions,
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
                self.event_of(
                    cpu,
                    GovernorEvent::Reflected {
                        cpu,
                        state,
                        got_tick,
                        poll_time_limit,
                        residency_ns,
                        clock_ns,
                    },
                );
            }
            EventKind::CpuIdle { cpu, state: Some(_) } => {
                self.cpu(cpu).open.iter_mut().for_each(|entered| *entered = true);
            }
            EventKind::Lost { .. } => {
                let cpu = event.cpu;
                (self.cpu(cpu).open, self.cpu(cpu).asked) = (None, None);
                // A CPU's memory may be changed from another's.
                for governor in &mut self.decisions.governors {
                    governor.events.push(GovernorEvent::Gap { cpu });
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
        let known = self.decisions.governors.iter().position(|g| g.name == name);
        let governor = known.unwrap_or(self.decisions.governors.len());
        if known.is_none() {
            self.decisions.governors.push(GovernorEvents { name, ..GovernorEvents::default() });
        }
        let at = self.cpu(cpu);
        at.governor = Some(governor);
        let left = at.left;
        if let Some(of) = self.decisions.governors.get_mut(governor) {
            of.since_ns.insert(cpu, at_ns);
            of.events.push(GovernorEvent::Enabled { cpu, capacity, states, left });
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
            self.event_of(cpu, GovernorEvent::Gap { cpu });
            return;
        };
        if let Some(of) = at.governor.and_then(|g| self.decisions.governors.get_mut(g)) {
            of.decisions += 1;
        }
        self.event_of(
            cpu,
            GovernorEvent::Decided(Decided {
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
        let Some(of) = governor.and_then(|g| self.decisions.governors.get_mut(g)) else { return };
        of.refused += u64::from(entered);
        of.given_up += u64::from(!entered);
    }

    fn event_of(&mut self, cpu: u32, event: GovernorEvent) {
        let governor = self.cpu(cpu).governor;
        if let Some(of) = governor.and_then(|g| self.decisions.governors.get_mut(g)) {
            of.events.push(event);
        }
    }

    fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        self.cpus.entry(cpu).or_default()
    }
}

/// What the overlay puts before the name of a governor of ours when the kernel has one of that name.
pub const PREFIX: &str = "iw-";
/// Names that a kernel's own governors have.
pub const OF_KERNELS: [&str; 4] = ["haltpoll", "ladder", "menu", "teo"];

impl RecordedDecisions {
    /// Since when each CPU has the governor that was switched on last, ns.
    pub fn since(&self) -> BTreeMap<u32, u64> {
        let mut out = BTreeMap::new();
        let named = self.governors.iter().filter(|of| of.decisions > 0 && !of.name.as_str().is_empty());
        for (cpu, at_ns) in named.flat_map(|of| &of.since_ns) {
            let last = out.entry(*cpu).or_insert(*at_ns);
            *last = (*last).max(*at_ns);
        }
        out
    }

    /// All decisions on a CPU, whoever made them.
    pub fn decided_on(&self, cpu: u32) -> impl Iterator<Item = &Decided> {
        let of = move |event: &'_ GovernorEvent| matches!(event, GovernorEvent::Decided(d) if d.cpu == cpu);
        let all = self.governors.iter().flat_map(|of| &of.events).filter(move |event| of(event));
        all.filter_map(|event| if let GovernorEvent::Decided(d) = event { Some(d) } else { None })
    }

    /// The governor of ours that made all these decisions, if its name leaves no doubt.
    pub(crate) fn only_governor(&self) -> Option<&str> {
        let mut named = self.governors.iter().filter(|of| of.decisions > 0 && !of.name.as_str().is_empty());
        let (Some(of), None) = (named.next(), named.next()) else { return None };
        let name = of.name.as_str();
        let certain = !OF_KERNELS.contains(&name);
        name.strip_prefix(PREFIX).or_else(|| certain.then_some(name))
    }
}
