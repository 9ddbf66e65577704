// SPDX-License-Identifier: GPL-2.0-only
//! What came of checking a governor.

use idlewise_model::NO_LATENCY_LIMIT_NS;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Property;
use crate::hunt::Found;
use crate::machine::Machine;
use crate::step::{End, Step};
use crate::world::Decision;

/// Name and version of the result's form.
pub const SCHEMA: &str = "idlewise.check/1";

/// Times from here on are the kernel's ways to say never, ns: 36 years.
const NEVER_NS: i64 = 1 << 60;

/// Which properties a governor keeps, and how it violates the others.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CheckReport {
    /// Form and version of this result.
    pub schema: &'static str,
    pub version: &'static str,
    /// The governor with its parameters.
    pub governor: String,
    /// The C file that the user named.
    pub file: Option<String>,
    /// SHA-256 of that file and the headers next to it.
    pub source_hash: Option<String>,
    pub seed: u64,
    /// How many decisions were checked.
    pub decisions: u64,
    /// Made machines that they were made on.
    pub machines: usize,
    pub properties: Vec<CheckedProperty>,
    pub findings: Vec<Violation>,
    /// A patch that adds a KUnit test of the findings to a kernel tree, where a test in a kernel can show some of them.
    pub kunit: Option<String>,
}

impl CheckReport {
    /// Whether a property is violated.
    #[must_use]
    pub fn has_findings(&self) -> bool {
        !self.findings.is_empty()
    }
}

/// What is known of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No violation was found.
    Held,
    Violated,
    NotChecked,
}

/// A property and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CheckedProperty {
    pub property: Property,
    /// What a governor that has it does.
    pub requirement: &'static str,
    pub verdict: Verdict,
    /// Why it was not checked.
    pub why: Option<String>,
}

/// A violation, with a short sequence of idle periods that leads to it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Violation {
    pub property: Property,
    /// What the governor did.
    pub what: String,
    /// Where in the code, as FILE:LINE.
    pub place: Option<String>,
    pub machine: MadeMachine,
    /// The idle periods, from a fresh start; the last one shows the violation.
    pub story: Vec<StoryRow>,
}

/// The machine of a finding.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct MadeMachine {
    /// What is special about it.
    pub name: String,
    /// How many ticks a second has.
    pub hz: u32,
    pub states: Vec<MadeState>,
}

/// An idle state of a made machine.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct MadeState {
    pub name: String,
    /// ns.
    pub target_residency_ns: i64,
    /// ns.
    pub exit_latency_ns: i64,
    pub polling: bool,
}

/// Equal idle periods that follow each other, one decision each.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct StoryRow {
    pub times: u32,
    /// 0 or 1.
    pub cpu: u8,
    /// Time to the next timer, ns; nothing for never.
    pub timer_ns: Option<i64>,
    /// Time to the next tick, ns; nothing while it is stopped.
    pub tick_in_ns: Option<i64>,
    /// When the CPU was woken, ns from entry; nothing where no state was entered.
    pub woken_ns: Option<u64>,
    /// How the idle period ended.
    pub end: RowEnd,
    /// Limit of the exit latency, ns; nothing for none.
    pub limit_ns: Option<i64>,
    /// Names of the disabled states.
    pub disabled: Vec<String>,
    /// 0 to 1024.
    pub util: u32,
    /// Tasks that wait for I/O.
    pub iowait: u32,
    /// The random number that the governor could ask for.
    pub random: u32,
    /// No task was woken: the next idle period finds the tick as this one left it.
    pub idle_again: bool,
    /// The state's index as answered; nothing where the governor did not answer.
    pub state: Option<i32>,
    /// Its name; nothing where it does not exist.
    pub chosen: Option<String>,
    pub tick: RowTick,
}

/// How an idle period of a story ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowEnd {
    Interrupt,
    /// The tick's handler ran.
    Tick,
    /// The polling loop reached its limit.
    PollLimit,
    /// The driver refused the state.
    Rejected,
    /// A reschedule came before the entry.
    Aborted,
    /// The governor did not return.
    None,
}

/// What became of the tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowTick {
    Keep,
    Stop,
    /// It was stopped before.
    IsOff,
    /// The governor did not return.
    None,
}

impl Violation {
    pub(crate) fn of(found: &Found, machine: &Machine, place: Option<String>) -> Self {
        let states = machine.table.states().iter().map(|s| MadeState {
            name: s.name.clone(),
            target_residency_ns: s.target_residency_ns,
            exit_latency_ns: s.exit_latency_ns,
            polling: s.polling,
        });
        let machine_of =
            MadeMachine { name: machine.name.to_owned(), hz: machine.hz, states: states.collect() };
        let mut story: Vec<StoryRow> = Vec::new();
        for (i, step) in found.steps.iter().enumerate() {
            let row = row(machine, step, found.decisions.get(i));
            match story.last_mut() {
                Some(last) if (StoryRow { times: 1, ..last.clone() }) == row => last.times += 1,
                _ => story.push(row),
            }
        }
        Self { property: found.property, what: found.what.clone(), place, machine: machine_of, story }
    }
}

fn row(machine: &Machine, step: &Step, decision: Option<&Decision>) -> StoryRow {
    let states = machine.table.states();
    let named = |i: usize| states[i].name.clone();
    let off = (0..states.len()).filter(|i| step.disabled >> i & 1 == 1);
    let end = match (step.end, decision) {
        (_, None) => RowEnd::None,
        (End::Rejected, _) => RowEnd::Rejected,
        (End::Aborted, _) => RowEnd::Aborted,
        (End::Woken { .. }, Some(d)) if d.polled_out => RowEnd::PollLimit,
        (End::Woken { .. }, Some(d)) if d.tick_ran => RowEnd::Tick,
        (End::Woken { .. }, Some(_)) => RowEnd::Interrupt,
    };
    let tick = decision.map_or(RowTick::None, |d| match (d.was_stopped, d.stop_tick) {
        (true, _) => RowTick::IsOff,
        (false, true) => RowTick::Stop,
        (false, false) => RowTick::Keep,
    });
    StoryRow {
        times: 1,
        cpu: step.cpu,
        timer_ns: Some(step.timer_ns).filter(|ns| *ns < NEVER_NS),
        tick_in_ns: Some(step.tick_in_ns).filter(|_| tick != RowTick::IsOff),
        woken_ns: decision.and_then(|d| d.reflected.map(|_| d.woken_ns)),
        end,
        limit_ns: Some(step.limit_ns).filter(|ns| *ns != NO_LATENCY_LIMIT_NS),
        disabled: off.map(named).collect(),
        util: step.util,
        iowait: step.iowait,
        random: step.random,
        idle_again: step.again,
        state: decision.map(|d| d.answer),
        chosen: decision.and_then(|d| machine.table.index(d.answer.into())).map(|i| named(i.get())),
        tick,
    }
}
