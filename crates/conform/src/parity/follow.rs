// SPDX-License-Identifier: GPL-2.0-only
//! A governor led through what the kernel's lived through.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_governor::{Choice, Device, GovernorError, Instance, Loader, Slot};
use idlewise_model::{Asked, StateIndex};
use idlewise_platform::{CAPACITY_MAX, Cluster, Platform};
use serde::{Deserialize, Serialize};

use super::{ParityCounts, ParityMismatch};
use idlewise_recording::steps::{Decided, Left, OfGovernor, Step};

/// How many decisions that differ are kept for reading.
const KEEP: usize = 20;

/// What comes back from a governor's own process: the counts, or why this machine's CPUs cannot be set up.
pub(super) type Followed = Result<ParityCounts, String>;

/// Leads a new copy of a governor through `of`, on the CPUs of `machine`.
///
/// What one remembers that was in charge before the recording began is not known. So two copies follow it, one new, one that
/// has been through all of it before: a decision on which they differ hangs on that memory.
pub(super) fn follow(
    loader: &Loader<'_>,
    of: &OfGovernor,
    machine: &Platform,
    tick_period_ns: u64,
) -> Result<Followed, GovernorError> {
    let mut counts = ParityCounts::default();
    let mut fresh = Follower::new(loader, machine, tick_period_ns)?;
    let mut seasoned = None;
    if of.name.as_str().is_empty() {
        let mut copy = Follower::new(loader, machine, tick_period_ns)?;
        for step in &of.steps {
            if let Err(why) = copy.step(step)? {
                return Ok(Err(why));
            }
        }
        seasoned = Some(copy);
    }
    for step in &of.steps {
        let here = match fresh.step(step)? {
            Ok(here) => here,
            Err(why) => return Ok(Err(why)),
        };
        // Of a CPU that it knows it forgets nothing.
        let there = match (seasoned.as_mut(), step) {
            (None, _) | (_, Step::Enabled { .. }) => here,
            (Some(copy), _) => copy.step(step)?.unwrap_or(here),
        };
        if let (Step::Decided(kernel), Some(here)) = (step, here) {
            counts.decision(kernel, here, there == Some(here));
        }
    }
    Ok(Ok(counts))
}

/// The state number `state` of `cpu`; or why that is none.
fn known_state(place: &Cluster, cpu: u32, state: u8) -> Result<StateIndex, String> {
    place.table.index(state.into()).ok_or_else(|| {
        format!(
            "CPU {cpu} was in state {state}, as the recording has it; cluster {} has states 0 to {}",
            place.name,
            place.table.len() - 1
        )
    })
}

struct Follower<'m> {
    instance: Instance,
    machine: &'m Platform,
    tick_period_ns: u64,
    cpus: BTreeMap<u32, Cpu>,
    /// CPUs of which something was missed since the governor was switched on.
    unknown: BTreeSet<u32>,
}

struct Cpu {
    slot: Slot,
    /// Which states poll.
    polling: u16,
    disabled: u16,
}

/// What a governor says here.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Answer {
    choice: Choice,
    poll_limit_ns: u64,
    /// It knows all that it was told since it was switched on.
    whole: bool,
}

impl<'m> Follower<'m> {
    fn new(loader: &Loader<'_>, machine: &'m Platform, tick_period_ns: u64) -> Result<Self, GovernorError> {
        let instance = loader.load(tick_period_ns)?;
        Ok(Self { instance, machine, tick_period_ns, cpus: BTreeMap::new(), unknown: BTreeSet::new() })
    }

    /// The answer to a decision; or why a CPU cannot be set up.
    fn step(&mut self, step: &Step) -> Result<Result<Option<Answer>, String>, GovernorError> {
        match *step {
            Step::Enabled { cpu, capacity, states, left } => {
                return Ok(self.enable(cpu, capacity, states, left)?.map(|()| None));
            }
            Step::Decided(ref decided) => return Ok(Ok(self.decide(decided))),
            Step::Reflected { cpu, state, got_tick, poll_time_limit, residency_ns, clock_ns } => {
                let (Some(at), Some(place)) = (self.cpus.get(&cpu), self.machine.cluster_of(cpu)) else {
                    return Ok(Ok(None));
                };
                let state = match known_state(place, cpu, state) {
                    Ok(state) => state,
                    Err(why) => return Ok(Err(why)),
                };
                let (slot, polled) = (at.slot, at.polling >> state.get() & 1 == 1);
                let default_limit_ns = place.table.poll_limit_ns(at.disabled, self.tick_period_ns);
                let device = self.instance.device(slot);
                device.last_residency_ns = residency_ns as i64;
                device.got_tick = got_tick;
                device.poll_time_limit = poll_time_limit;
                if polled && device.poll_limit_ns == 0 {
                    // The polling loop keeps the limit that it works out.
                    device.poll_limit_ns = default_limit_ns;
                }
                self.instance.reflect(slot, state.get(), clock_ns);
            }
            Step::Gap { cpu } => {
                self.unknown.insert(cpu);
            }
        }
        Ok(Ok(None))
    }

    fn enable(
        &mut self,
        cpu: u32,
        capacity: Option<u32>,
        states: Option<u32>,
        left: Left,
    ) -> Result<Result<(), String>, GovernorError> {
        let Some(place) = self.machine.cluster_of(cpu) else {
            return Ok(Err(format!("platform {} has no CPU {cpu}", self.machine.id)));
        };
        if let Some(states) = states.filter(|n| place.table.len() != *n as usize) {
            return Ok(Err(format!(
                "CPU {cpu} has {states} idle states in the recording and {} on platform {}",
                place.table.len(),
                self.machine.id
            )));
        }
        let last = match known_state(place, cpu, left.state) {
            Ok(last) => last,
            Err(why) => return Ok(Err(why)),
        };
        if let Some(capacity) = capacity.filter(|c| *c > CAPACITY_MAX) {
            return Ok(Err(format!(
                "CPU {cpu} has a capacity of {capacity} in the recording; {CAPACITY_MAX} is the most"
            )));
        }
        let mut device = Device::used(Some(last));
        device.poll_limit_ns = left.poll_limit_ns;
        if let Some(known) = self.cpus.get(&cpu) {
            self.instance.enable_again(known.slot, device)?;
        } else {
            let slot =
                self.instance.add_used_cpu(cpu, &place.table, capacity.unwrap_or(place.capacity), device)?;
            let polls = place.table.states().iter().enumerate().filter(|(_, s)| s.polling);
            let polling = polls.map(|(i, _)| 1 << i).sum();
            self.cpus.insert(cpu, Cpu { slot, polling, disabled: place.table.disabled_by_default() });
        }
        self.unknown.remove(&cpu);
        Ok(Ok(()))
    }

    fn decide(&mut self, decided: &Decided) -> Option<Answer> {
        let at = self.cpus.get_mut(&decided.cpu)?;
        at.disabled = decided.disabled;
        let slot = at.slot;
        self.instance.set_disabled(slot, decided.disabled);
        let device = self.instance.device(slot);
        device.last_residency_ns = decided.residency_ns as i64;
        device.poll_time_limit = decided.poll_time_limit;
        let choice = self.instance.select(slot, &decided.inputs());
        let device = self.instance.device(slot);
        let poll_limit_ns = device.poll_limit_ns;
        // One wrong decision shall not derail those after it.
        device.poll_limit_ns = decided.poll_limit_ns;
        let whole = self.unknown.is_empty()
            || !self.unknown.contains(&decided.cpu) && !self.instance.keeps_shared_state();
        Some(Answer { choice, poll_limit_ns, whole })
    }
}

impl ParityCounts {
    fn decision(&mut self, kernel: &Decided, answer: Answer, certain: bool) {
        if !certain || !answer.whole {
            self.unknown_memory += 1;
            return;
        }
        let (here, poll_limit_ns) = (answer.choice, answer.poll_limit_ns);
        let other_state = here.index != i32::from(kernel.state);
        let other_tick = here.stop_tick != kernel.stop_tick;
        let other_question = here.asked_sleep_length != kernel.asked.has(Asked::SLEEP_LENGTH);
        let other_poll_limit = poll_limit_ns != kernel.poll_limit_ns;
        self.decisions += 1;
        self.other_state += u64::from(other_state);
        self.other_tick += u64::from(other_tick);
        self.other_question += u64::from(other_question);
        self.other_poll_limit += u64::from(other_poll_limit);
        if !(other_state || other_tick || other_question || other_poll_limit) {
            self.same += 1;
            return;
        }
        if self.first.len() < KEEP {
            self.first.push(ParityMismatch {
                cpu: kernel.cpu,
                at_ns: kernel.at_ns,
                kernel: Told::kernel(kernel),
                here: Told {
                    state: here.index,
                    stop_tick: here.stop_tick,
                    asked_sleep_length: here.asked_sleep_length,
                    poll_limit_ns,
                },
                asked: kernel.asked.0,
                inputs: kernel.inputs(),
                disabled: kernel.disabled,
                residency_ns: kernel.residency_ns,
            });
        }
    }
}

/// What a governor said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The state.
    pub state: i32,
    /// The tick shall be stopped.
    pub stop_tick: bool,
    /// It asked for the sleep length.
    pub asked_sleep_length: bool,
    /// The limit of the polling loop that it left, ns.
    pub poll_limit_ns: u64,
}

impl Told {
    fn kernel(decided: &Decided) -> Self {
        Self {
            state: decided.state.into(),
            stop_tick: decided.stop_tick,
            asked_sleep_length: decided.asked.has(Asked::SLEEP_LENGTH),
            poll_limit_ns: decided.poll_limit_ns,
        }
    }
}
