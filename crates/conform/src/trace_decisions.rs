// SPDX-License-Identifier: GPL-2.0-only
//! The overlay's events as a stream of decisions: a kernel that has them records what its governor was given.

use std::convert::Infallible;

use idlewise_model::StateIndex;
use idlewise_platform::{CAPACITY_MAX, Cluster, Platform};
use idlewise_recording::decisions::{Decided, GovernorEvent, GovernorEvents};

use crate::decision::{
    Decision, Decisions, DeviceState, KernelChoice, Outcome, Place, PollLimitAt, Shown, Source, Step, Steps,
    TickSeen,
};

/// What one governor of a trace went through, on CPUs that the machine has.
pub struct TraceDecisions<'t> {
    of: &'t GovernorEvents,
    machine: &'t Platform,
    tick_period_ns: u64,
}

impl<'t> TraceDecisions<'t> {
    /// The decisions `of` one governor on `machine`.
    ///
    /// # Errors
    /// Why a CPU of the trace is none of `machine`'s.
    pub(crate) fn new(
        of: &'t GovernorEvents,
        machine: &'t Platform,
        tick_period_ns: u64,
    ) -> Result<Self, String> {
        for event in &of.events {
            match *event {
                GovernorEvent::Enabled { cpu, capacity, states, left } => {
                    let cluster = machine
                        .cluster_of(cpu)
                        .ok_or_else(|| format!("platform {} has no CPU {cpu}", machine.id))?;
                    let there = cluster.table.len();
                    if let Some(states) = states.filter(|n| there != *n as usize) {
                        return Err(format!(
                            "CPU {cpu} has {states} idle states in the recording and {there} on platform {}",
                            machine.id
                        ));
                    }
                    state(cluster, cpu, left.state)?;
                    if let Some(capacity) = capacity.filter(|c| *c > CAPACITY_MAX) {
                        return Err(format!(
                            "CPU {cpu} has a capacity of {capacity} in the recording; {CAPACITY_MAX} is the most"
                        ));
                    }
                }
                GovernorEvent::Reflected { cpu, state: entered, .. } => {
                    if let Some(cluster) = machine.cluster_of(cpu) {
                        state(cluster, cpu, entered)?;
                    }
                }
                GovernorEvent::Decided(_) | GovernorEvent::Gap { .. } => {}
            }
        }
        Ok(Self { of, machine, tick_period_ns })
    }

    fn step(&self, event: &GovernorEvent) -> Step {
        match *event {
            GovernorEvent::Enabled { cpu, capacity, left, .. } => {
                let last_state = self.machine.cluster_of(cpu).and_then(|c| c.table.index(left.state.into()));
                assert!(last_state.is_some(), "CPU {cpu} and its state were checked");
                let device = DeviceState {
                    last_state,
                    residency_ns: 0,
                    poll_limit_ns: left.poll_limit_ns,
                    poll_time_limit: false,
                };
                Step::Enabled { cpu, capacity, device }
            }
            GovernorEvent::Decided(ref decided) => Step::Decided(decision(decided)),
            GovernorEvent::Reflected { cpu, state, got_tick, poll_time_limit, residency_ns, clock_ns } => {
                let outcome = Outcome::Left {
                    entered: Some(state.into()),
                    residency_ns: residency_ns.cast_signed(),
                    clock_ns,
                    tick: TickSeen::Flag(got_tick),
                    poll_time_limit,
                };
                Step::Ended { cpu, outcome }
            }
            GovernorEvent::Gap { cpu } => Step::Gap { cpu },
        }
    }
}

/// The state number `state` of `cpu`; or why that is none.
fn state(cluster: &Cluster, cpu: u32, state: u8) -> Result<StateIndex, String> {
    cluster.table.index(state.into()).ok_or_else(|| {
        format!(
            "CPU {cpu} was in state {state}, as the recording has it; cluster {} has states 0 to {}",
            cluster.name,
            cluster.table.len() - 1
        )
    })
}

fn decision(d: &Decided) -> Decision {
    Decision {
        source: Source::Trace,
        cpu: d.cpu,
        at_ns: d.at_ns,
        inputs: d.inputs(),
        disabled: d.disabled,
        found: Some((d.residency_ns, d.poll_time_limit)),
        kernel: KernelChoice {
            state: Some(d.state.into()),
            stop_tick: Some(d.stop_tick),
            asked: Some(d.asked.0),
            poll_limit: Some((PollLimitAt::Answered, d.poll_limit_ns)),
            shown: Shown::Answer,
        },
        ..Decision::default()
    }
}

impl Decisions for TraceDecisions<'_> {
    type Error = Infallible;

    fn source(&self) -> Source {
        Source::Trace
    }

    fn tick_period_ns(&self) -> u64 {
        self.tick_period_ns
    }

    fn place(&self, cpu: u32) -> Option<Place<'_>> {
        let Cluster { table, capacity, .. } = self.machine.cluster_of(cpu)?;
        let tick_period_ns = self.tick_period_ns;
        Some(Place { table, capacity: *capacity, tick_period_ns, old_polling: false })
    }

    fn steps(&self) -> impl Iterator<Item = Result<Step, Infallible>> + '_ {
        self.of.events.iter().map(|event| Ok(self.step(event)))
    }

    /// The whole recording, where the governor was in charge before it began.
    fn histories(&self) -> Vec<Steps<'_, Infallible>> {
        if self.of.name.as_str().is_empty() { vec![Box::new(self.steps())] } else { Vec::new() }
    }
}
