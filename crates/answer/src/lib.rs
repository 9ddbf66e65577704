// SPDX-License-Identifier: GPL-2.0-only
//! What a comparison of governors comes to: the few numbers that decide, a sentence for each governor, and how far all of it
//! can be trusted. Reports of every command are brought into this one shape, which views show first.

mod budget;
mod energies;
mod small;
mod spread;
mod table;
mod trust;
mod verdict;

use idlewise_model::Note;
use schemars::JsonSchema;
use serde::Serialize;

pub use budget::{AskedLimits, GovernorBudget, RecordingBudget, ScoredRecording, UnderLimit};
pub use energies::{Scored, energy_notes};
pub use small::{SMALL_LATENCY_NS, SMALL_PCT};
pub use spread::{Shown, Spread, spreads};
pub use table::{Cell, Column, Contender, Group, MissCounts, Quantity, Role};
pub use trust::{FEW_WAKEUPS, Grade, Reason, ReasonId, Trust};
pub use verdict::{Subjects, USUAL, Verdict, verdict, verdicts_over};

/// What a comparison comes to.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Answer {
    pub governors: Vec<String>,
    /// On what: recordings or a workload, and the machine.
    pub on: String,
    pub trust: Trust,
    /// What changes the meaning of the numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Note>,
    /// The governor that the others are compared with.
    pub baseline: String,
    pub columns: Vec<Column>,
    /// One for each recording, or one for all runs of a workload.
    pub groups: Vec<Group>,
    /// Over several recordings: for each governor but the baseline, and each column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spreads: Vec<Spread>,
    pub verdicts: Vec<Verdict>,
}
