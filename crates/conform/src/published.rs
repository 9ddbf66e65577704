// SPDX-License-Identifier: GPL-2.0-only
//! Agreements as JSON has them (`docs/reference/json.md`): the names there stay when those in the code change.

use idlewise_governor::Inputs;
use idlewise_model::{NotKnown, known};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::agreement::{Agreement, Divergence};
use crate::decision::{Answer, Source};

/// `parity[].result` in JSON.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Counts {
    decisions: u64,
    same: u64,
    other_state: u64,
    other_tick: u64,
    other_question: u64,
    other_poll_limit: u64,
    unknown_memory: u64,
    first: Vec<Event>,
    lines: Vec<String>,
}

/// `parity[].result.first[]` in JSON.
#[derive(JsonSchema, Serialize)]
struct Event {
    cpu: u32,
    at_ns: u64,
    kernel: Answer,
    here: Answer,
    asked: Option<u32>,
    inputs: Inputs,
    disabled: u16,
    residency_ns: Option<u64>,
}

/// A row of a golden file that diverges: `files[].first[]` of `idlewise.drive/1`.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Row {
    step: u64,
    line: u64,
    expected_idx: i32,
    found_idx: i32,
    expected_stop: bool,
    found_stop: bool,
    poll_limit_ns: Option<(u64, u64)>,
    inputs: Inputs,
    disabled: u16,
}

/// For `#[serde(serialize_with)]`: what came of a recorded governor, or why nothing did.
pub(crate) fn result<S: Serializer>(result: &Result<Agreement, NotKnown>, to: S) -> Result<S::Ok, S::Error> {
    known::result(&result.as_ref().map(counts).map_err(Clone::clone), to)
}

fn counts(a: &Agreement) -> Counts {
    let of = |source| a.first.iter().filter(move |d| d.decision.source == source);
    Counts {
        decisions: a.decisions,
        same: a.same,
        other_state: a.other_state,
        other_tick: a.other_tick,
        other_question: a.other_question,
        other_poll_limit: a.other_poll_limit,
        unknown_memory: a.unknown_state,
        first: of(Source::Trace).map(event).collect(),
        lines: of(Source::DecisionTable).map(ToString::to_string).collect(),
    }
}

fn event(d: &Divergence) -> Event {
    let decision = &d.decision;
    Event {
        cpu: decision.cpu,
        at_ns: decision.at_ns,
        kernel: d.kernels(),
        here: d.here,
        asked: decision.kernel.asked,
        inputs: decision.inputs,
        disabled: decision.disabled,
        residency_ns: decision.found.map(|(residency_ns, _)| residency_ns),
    }
}

impl Row {
    pub(crate) fn of(d: &Divergence) -> Self {
        let (decision, kernel) = (&d.decision, d.kernels());
        Self {
            step: decision.step,
            line: decision.line,
            expected_idx: kernel.state,
            found_idx: d.here.state,
            expected_stop: kernel.stop_tick,
            found_stop: d.here.stop_tick,
            poll_limit_ns: d.poll_limits(),
            inputs: decision.inputs,
            disabled: decision.disabled,
        }
    }
}
