// SPDX-License-Identifier: GPL-2.0-only
use idlewise_governor::{Governor, Variable};
use idlewise_idle::Limits;
use idlewise_model::{Entry, IdleTable, NO_LATENCY_LIMIT_NS, Outcome};
use schemars::JsonSchema;
use serde::Serialize;

use crate::watch::{Asked, Observation};
use idlewise_recording::CommandError;
use idlewise_recording::candidate::Candidate;

/// One decision of one governor: what it knew, what it made of it, what came.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Explanation {
    /// The governor with its parameters.
    pub governor: String,
    /// The CPU and where it is.
    pub cpu: String,
    /// Number of the decision on this CPU, from 0.
    pub decision: u64,
    /// How many there are.
    pub decisions: u64,
    /// When the governor was asked, ns on the clock of the recording.
    pub at_ns: u64,
    /// The states to choose from, shallow to deep.
    pub states: Vec<StateHead>,
    /// What it could ask.
    pub inputs: Vec<InputValue>,
    /// What it remembered when it was asked, by the names of its source.
    pub memory: Vec<Variable>,
    /// What it said about the choice, in the order of its algorithm; only governors of this project speak.
    pub reasons: Vec<String>,
    pub chosen: Chosen,
    /// What came of it.
    pub came: Option<IdleOutcome>,
    /// What others did at this time, each in its own run.
    pub others: Vec<Other>,
}

/// An idle state as a governor sees it at a decision.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct StateHead {
    pub name: String,
    /// Exit latency, ns.
    pub exit_latency_ns: i64,
    /// Target residency, ns.
    pub target_residency_ns: i64,
    pub disabled: bool,
}

/// What a number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A time, ns.
    Ns,
    Count,
    /// 1 for yes, 0 for no.
    Flag,
    /// Index of a state; negative for none.
    State,
}

/// One thing that the governor could ask.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct InputValue {
    pub name: &'static str,
    pub value: i64,
    pub unit: Unit,
    /// How well it is known; nothing for what the run itself made.
    pub confidence: Option<&'static str>,
}

/// The choice that a governor made: its state, and whether to stop the tick.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Chosen {
    /// The state's index as answered.
    pub state: i32,
    /// The answer about the tick.
    pub stop_tick: bool,
    /// It asked for the sleep length.
    pub asked_sleep_length: bool,
}

/// What came of a choice.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct IdleOutcome {
    /// The state that was entered; nothing for a refused entry.
    pub entered: Option<u8>,
    /// What became of the tick: "kept", "stopped", "was stopped".
    pub tick: &'static str,
    /// What woke the CPU.
    pub cause: &'static str,
    /// From entry to the wake event, ns; nothing where only the residency was recorded.
    pub wake_ns: Option<i64>,
    /// How long the kernel would have measured the stay, ns.
    pub residency_ns: i64,
    /// From the wake event to the first instruction, ns; nothing where only the residency was recorded.
    pub latency_ns: Option<i64>,
    /// The core's verdict: "too deep", "too shallow", "right".
    pub verdict: &'static str,
}

/// What another governor did at that time.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Other {
    /// The governor with its parameters.
    pub governor: String,
    /// Why there is nothing to show: it crashed or did not come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// How long before it had been asked, ns.
    pub asked_before_ns: u64,
    /// The state that it chose.
    pub state: i32,
    /// What became of the tick; for a row of recorded decisions its answer.
    pub tick: String,
    /// What came of that; nothing for a row of recorded decisions.
    pub came: Option<IdleOutcome>,
}

impl Other {
    /// The answer where `candidate` failed: what it does to itself takes nothing else away.
    pub(crate) fn or_failed(
        candidate: &Candidate,
        answer: Result<Option<Self>, CommandError>,
    ) -> Result<Option<Self>, CommandError> {
        match answer {
            Err(CommandError::Governor(e)) if candidate.is_foreign() && e.is_misbehaviour() => {
                Ok(Some(Self {
                    governor: candidate.name().to_owned(),
                    failure: Some(e.to_string()),
                    asked_before_ns: 0,
                    state: -1,
                    tick: String::new(),
                    came: None,
                }))
            }
            answer => answer,
        }
    }
}

impl Other {
    /// What each candidate answers to a recorded question, which `ask` puts to it. The oracle has no answer: a recording
    /// says what came, not what would have come.
    pub(crate) fn all(
        candidates: &[Candidate],
        ask: impl Fn(&Governor) -> Result<(i32, bool), CommandError>,
    ) -> Result<Vec<Self>, CommandError> {
        let answer = |candidate: &Candidate| match candidate {
            Candidate::Hosted { limits, name, .. } if *limits != Limits::NONE => {
                let why = "a recorded decision has the idle states and the latency limit that were recorded; \
                           leave the limits out";
                Err(CommandError::argument("--others", name, why))
            }
            Candidate::Hosted { governor, name, .. } => Self::or_failed(
                candidate,
                ask(governor).map(|(state, stop_tick)| {
                    Some(Self {
                        governor: name.clone(),
                        failure: None,
                        asked_before_ns: 0,
                        state,
                        tick: if stop_tick { "stop" } else { "keep" }.to_owned(),
                        came: None,
                    })
                }),
            ),
            Candidate::Bound(_) => Ok(None),
        };
        let answers: Vec<Option<Self>> = candidates.iter().map(answer).collect::<Result<_, _>>()?;
        Ok(answers.into_iter().flatten().collect())
    }
}

impl StateHead {
    pub(crate) fn all(table: &IdleTable, disabled: u16) -> Vec<Self> {
        let head = |(i, s): (usize, &idlewise_model::IdleState)| Self {
            name: s.name.clone(),
            exit_latency_ns: s.exit_latency_ns,
            target_residency_ns: s.target_residency_ns,
            disabled: disabled >> i & 1 == 1,
        };
        table.states().iter().enumerate().map(head).collect()
    }
}

impl Chosen {
    pub(crate) fn of(seen: &Observation) -> Self {
        Self { state: seen.index, stop_tick: seen.stop_tick, asked_sleep_length: seen.asked_sleep_length }
    }
}

impl IdleOutcome {
    pub(crate) fn of(entry: &Entry) -> Self {
        let (entered, verdict) = match entry.outcome {
            Outcome::Stayed { entered, .. } => (Some(entered), Outcome::VERDICTS[entry.outcome.verdict()]),
            Outcome::Rejected => (None, "refused by the driver"),
        };
        Self {
            entered,
            tick: entry.tick.name(),
            cause: entry.cause.name(),
            wake_ns: Some(entry.wake_ns),
            residency_ns: entry.residency_ns,
            latency_ns: Some(entry.latency_ns),
            verdict,
        }
    }
}

/// How well the inputs of a decision are known.
pub(crate) struct InputConfidence {
    pub(crate) timers: &'static str,
    pub(crate) latency_limit: &'static str,
    pub(crate) util: &'static str,
    pub(crate) iowait: &'static str,
    pub(crate) disabled: &'static str,
    /// The tick and the last stay, where they were recorded; nothing where the run made them.
    pub(crate) run: Option<&'static str>,
}

impl InputValue {
    pub(crate) fn all(a: &Asked, known: &InputConfidence) -> Vec<Self> {
        let given = |name, value, unit, confidence| Self { name, value, unit, confidence };
        let mut all = vec![
            given("sleep length", a.sleep_length_ns, Unit::Ns, Some(known.timers)),
            given("next event with the tick", a.delta_tick_ns, Unit::Ns, Some(known.timers)),
            given("tick stopped", a.tick_stopped.into(), Unit::Flag, known.run),
            given("latency limit", a.latency_limit_ns, Unit::Ns, Some(known.latency_limit)),
            given("utilisation", a.util.into(), Unit::Count, Some(known.util)),
            given("tasks waiting for I/O", a.iowait.into(), Unit::Count, Some(known.iowait)),
            given("last state", a.last_state.into(), Unit::State, known.run),
            given("last residency", a.last_residency_ns, Unit::Ns, known.run),
            given("poll limit hit", a.poll_time_limit.into(), Unit::Flag, known.run),
        ];
        if a.disabled != 0 {
            all.push(given("disabled states (mask)", a.disabled.into(), Unit::Count, Some(known.disabled)));
        }
        all
    }
}

impl InputValue {
    /// Whether the value stands for "none": no timer, no limit.
    pub fn is_none(&self) -> bool {
        match self.unit {
            Unit::Ns => self.value >= NO_LATENCY_LIMIT_NS,
            Unit::State => self.value < 0,
            Unit::Count | Unit::Flag => false,
        }
    }
}
