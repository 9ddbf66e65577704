// SPDX-License-Identifier: GPL-2.0-only
//! What is wrong with a single choice.

use idlewise_model::IdleTable;

use crate::Property;
use crate::machine::Machine;
use crate::step::Step;
use crate::world::Decision;

/// Whether the choice of `decision` violates `property`, one of those that a single choice shows.
pub(crate) fn violates(property: Property, machine: &Machine, step: &Step, decision: &Decision) -> bool {
    match property {
        Property::Index => decision.no_state,
        Property::Disabled => decision.disabled,
        Property::Latency => decision.over_limit,
        Property::Polling => polls_without_tick(machine, decision),
        Property::Shallow => deeper_one(machine, step, decision).is_some(),
        _ => false,
    }
}

fn polls_without_tick(machine: &Machine, decision: &Decision) -> bool {
    let chosen = machine.table.index(decision.answer.into());
    let polls = chosen.is_some_and(|i| machine.table.states()[i.get()].polling);
    polls && decision.stop_tick && !decision.was_stopped
}

/// The state that should have been chosen instead of a shallow one: the deepest that is enabled, keeps the limit and pays until
/// the next timer. A state is shallow if its target residency is below a tick's length. It matters where the tick, which would
/// wake the CPU, was stopped before and the next timer is more than two ticks away (`governor-behaviour.md` 4.5, 10.3: 7.1).
pub(crate) fn deeper_one(machine: &Machine, step: &Step, decision: &Decision) -> Option<usize> {
    let states = machine.table.states();
    let chosen = machine.table.index(decision.answer.into())?.get();
    let tick_ns = machine.tick_ns().cast_signed();
    let is_shallow = states[chosen].target_residency_ns < tick_ns;
    if !is_shallow || !decision.was_stopped || step.timer_ns <= 2 * tick_ns {
        return None;
    }
    let better = |i: &usize| {
        let state = &states[*i];
        enabled(step, *i)
            && state.exit_latency_ns <= step.limit_ns
            && state.target_residency_ns <= step.timer_ns
            && state.target_residency_ns > states[chosen].target_residency_ns
    };
    (chosen + 1..states.len()).rev().find(better)
}

fn enabled(step: &Step, state: usize) -> bool {
    step.disabled >> state & 1 == 0
}

/// The violation in a sentence.
pub(crate) fn words(property: Property, machine: &Machine, step: &Step, decision: &Decision) -> String {
    let table = &machine.table;
    let name = |i: usize| format!("state {i} ({})", table.states()[i].name);
    let Some(chosen) = table.index(decision.answer.into()).map(|i| i.get()) else {
        return format!("chose state {}; there are states 0 to {}", decision.answer, table.len() - 1);
    };
    let chose = format!("chose {}", name(chosen));
    match property {
        Property::Disabled => {
            let other = first(table, |i| enabled(step, i));
            format!("{chose}, which is disabled; {} is enabled", name(other))
        }
        Property::Latency => {
            let keeps = |i: usize| enabled(step, i) && table.states()[i].exit_latency_ns <= step.limit_ns;
            let other = first(table, keeps);
            format!(
                "{chose}, whose exit latency of {} ns is above the limit of {} ns; {} keeps it",
                table.states()[chosen].exit_latency_ns,
                step.limit_ns,
                name(other)
            )
        }
        Property::Polling => format!("{chose}, which polls, and stopped the tick"),
        _ => {
            let Some(other) = deeper_one(machine, step, decision) else {
                unreachable!("a violation of {property} has a better state")
            };
            format!(
                "{chose} although the tick is stopped and the next timer is far; {} would pay",
                name(other)
            )
        }
    }
}

/// The first state for which `is` holds; a violation says that there is one.
fn first(table: &IdleTable, is: impl Fn(usize) -> bool) -> usize {
    let Some(found) = (0..table.len()).find(|i| is(*i)) else { unreachable!("a better state exists") };
    found
}
