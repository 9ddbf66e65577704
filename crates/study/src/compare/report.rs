// SPDX-License-Identifier: GPL-2.0-only
//! What a comparison is asked, and what it answers.

use idlewise_model::{NotKnown, Note, known};
use std::path::PathBuf;

use idlewise_answer::Answer;
use idlewise_recording::governors::ForeignHead;
use idlewise_recording::placement::Per;
use idlewise_recording::{FidelityHead, ReplaySetup, TraceHead};
use idlewise_score::measure::DIFFER;
use idlewise_score::{Measure, Score};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::MeasureChange;
use super::parting::Cost;
use crate::condition::{self, Check, Condition};
use crate::replay::PlatformHead;

/// Version of the JSON that a comparison gives.
pub const SCHEMA: &str = "idlewise.compare/2";

/// The two governors to compare, on which traces.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CompareRequest {
    #[serde(serialize_with = "idlewise_recording::json_paths::paths")]
    #[schemars(with = "Vec<PathBuf>")]
    pub traces: Vec<PathBuf>,
    #[serde(flatten)]
    pub setup: ReplaySetup,
    /// The governor to start from, with its parameters, or `oracle`.
    pub a: String,
    /// The governor to go to.
    pub b: String,
    /// How to break the result down.
    pub per: Per,
    /// Conditions that must not hold: `METRIC OP VALUE`.
    pub fail_if: Vec<String>,
}

/// How two governors differ on one or several traces, and what each difference costs.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CompareReport {
    /// [`SCHEMA`].
    pub schema: String,
    pub version: String,
    /// What was asked; it can be asked again.
    pub request: CompareRequest,
    /// The machine that was replayed on.
    pub platform: PlatformHead,
    /// Where the governors came from that are none of ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<ForeignHead>,
    /// What the energies are worth, in short.
    pub energy_grades: Vec<String>,
    /// The governor to start from.
    pub a: String,
    /// The governor to go to.
    pub b: String,
    /// One for each trace.
    pub traces: Vec<TraceComparison>,
    /// All traces together, where there are several.
    pub together: Option<Comparison>,
    /// How much the traces agree, where there are several.
    pub across_traces: Option<Spread>,
    /// What it comes to in a sentence.
    pub verdict: Verdict,
    /// The numbers that decide.
    pub answer: Answer,
    /// The conditions asked for.
    pub checks: Vec<Check>,
}

/// The comparison on one trace.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct TraceComparison {
    pub head: TraceHead,
    /// Whether it was replayed on the machine that was recorded.
    pub same_machine: bool,
    /// How far replay makes the kernel's own choices.
    #[serde(flatten, serialize_with = "known::fidelity")]
    #[schemars(with = "known::FidelityOrWhy<FidelityHead>")]
    pub fidelity: Result<FidelityHead, NotKnown>,
    pub comparison: Comparison,
    /// How much the CPUs agree, where there are several.
    pub across_cpus: Option<Spread>,
}

/// A and B on some CPUs.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Comparison {
    /// "all", "cpu 3", "BIG".
    pub part: String,
    /// In how many waits the choices part.
    pub waits: WaitCounts,
    /// The run under A.
    pub a: RunScore,
    /// The run under B.
    pub b: RunScore,
    /// How every compared measure changes from A to B.
    pub changes: Vec<MeasureChange>,
    /// The energy's change if the powers that are assumed for the states fell in equal steps; none where no powers are.
    pub energy_in_equal_steps: Option<MeasureChange>,
    pub total: Cost,
    /// The waits by how the choices part.
    pub partings: Vec<PartingCost>,
    /// The waits by what ended them.
    pub causes: Vec<CauseCost>,
    /// The comparison broken down.
    pub groups: Vec<Comparison>,
}

/// In how many waits the choices part.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct WaitCounts {
    /// Waits of the recording: events that wake a CPU whatever governor runs.
    pub all: u64,
    /// The first choices are different states.
    pub other_state: u64,
    /// The first choices are the same state, but only one lets the tick run on.
    pub other_tick: u64,
    /// The first choices are the same, later ones are not.
    pub other_later: u64,
    /// Only A was asked.
    pub only_a: u64,
    /// Only B was asked.
    pub only_b: u64,
    /// All choices are the same.
    pub same: u64,
    pub neither: u64,
    /// `other_state` and `other_tick`, % of all.
    pub differ_pct: f64,
}

/// One governor's run over a trace, scored.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RunScore {
    /// Times it was asked.
    pub decisions: u64,
    /// Answers that were no state of the table.
    pub out_of_range: u64,
    /// The score, the same as a replay gives.
    pub score: Score,
}

/// The waits in which the choices part in one way.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PartingCost {
    /// "state", "tick", "later", "only-a", "only-b", "same", "neither".
    pub kind: String,
    /// The state that A chose first, where `kind` is "state" or "tick".
    pub a_state: Option<String>,
    /// The state that B chose first.
    pub b_state: Option<String>,
    /// Whether A let the tick run on and B stopped it, or the reverse, where `kind` is "tick".
    pub a_keeps_tick: Option<bool>,
    /// What these waits cost.
    pub cost: Cost,
}

impl PartingCost {
    /// How the choices differ, between two governors, such as `C1 -> C2` or `C1, tick kept -> stopped`; names that clusters share are shortened.
    #[must_use]
    pub fn words(&self, [a, b]: [&str; 2]) -> String {
        let state = |s: &Option<String>| s.as_deref().map_or_else(String::new, short_name);
        match (self.kind.as_str(), self.a_keeps_tick) {
            ("state", _) => format!("{} -> {}", state(&self.a_state), state(&self.b_state)),
            (_, Some(true)) => format!("{}, tick kept -> stopped", state(&self.a_state)),
            (_, Some(false)) => format!("{}, tick stopped -> kept", state(&self.a_state)),
            ("later", _) => "same, another later".to_owned(),
            ("only-a", _) => format!("only {a} asked"),
            ("only-b", _) => format!("only {b} asked"),
            ("same", _) => "all choices the same".to_owned(),
            _ => "nobody asked".to_owned(),
        }
    }
}

/// `cpuoff-*` for `cpuoff-l/cpuoff-m/cpuoff-b`: what the clusters' names of a state have in common.
fn short_name(name: &str) -> String {
    let mut names = name.split('/');
    let Some(first) = names.next() else { unreachable!("a split has a first part") };
    let common = names.fold(first, |common, other| {
        let same = common.chars().zip(other.chars()).take_while(|(a, b)| a == b);
        let bytes: usize = same.map(|(c, _)| c.len_utf8()).sum();
        &common[..bytes]
    });
    match common.len() {
        _ if common == name => name.to_owned(),
        0..3 => name.to_owned(),
        _ => format!("{common}*"),
    }
}

/// The waits that one kind of event ended.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CauseCost {
    /// The kind of event.
    pub cause: String,
    /// What these waits cost.
    pub cost: Cost,
}

impl CompareReport {
    /// All traces together, or the only one.
    #[must_use]
    pub fn all(&self) -> Option<&Comparison> {
        self.together.as_ref().or_else(|| self.traces.first().map(|t| &t.comparison))
    }

    #[must_use]
    pub fn failed(&self) -> bool {
        self.checks.iter().any(|c| c.failed)
    }

    /// What was assumed about the recordings by hand.
    pub(crate) fn assumption(&self) -> Option<String> {
        TraceHead::assumptions(self.traces.iter().map(|t| &t.head))
    }

    /// What makes the recordings, and so the verdict, doubtful.
    pub fn warnings(&self) -> Vec<Note> {
        TraceHead::warnings(self.traces.iter().map(|t| &t.head))
    }

    pub(crate) fn check(&self, condition: &Condition) -> Check {
        let places = self.traces.iter().map(|t| (t.head.name.as_str(), &t.comparison));
        let places = places.chain(self.together.iter().map(|all| ("all traces", all)));
        let measure = condition::measures().nth(condition.metric());
        let measure =
            |(name, c): (&str, &Comparison)| Some(condition.measure(name, &c.change(measure?).met()));
        let (assumes, warnings) = (self.assumption(), self.warnings());
        Check { assumes, warnings, ..condition.check(places.filter_map(measure).collect()) }
    }
}

impl Comparison {
    /// The change of `measure` from A to B.
    ///
    /// # Panics
    /// When it is a measure that governors are not compared by.
    #[must_use]
    pub fn change(&self, measure: &'static Measure) -> MeasureChange {
        if measure == DIFFER {
            return MeasureChange::new(DIFFER, 0.0, self.waits.differ_pct);
        }
        let Some(change) = self.changes.iter().find(|c| c.measure == measure) else {
            unreachable!("governors are not compared by {}", measure.name)
        };
        *change
    }
}

/// Which way something went from A to B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Lower,
    /// No difference worth naming.
    #[default]
    Same,
    Higher,
    /// It depends on how one looks: mean or p99, one assumption or the other.
    Mixed,
    /// A value of A or of B is not known.
    Unknown,
}

/// What a comparison comes to.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Verdict {
    /// Every decision in every wait is the same.
    pub same_decisions: bool,
    /// Wakeup latency: mean and p99.
    pub latency: Direction,
    /// Energy of the idle stays.
    pub energy: Direction,
    pub text: String,
    /// What to keep in mind: how few waits, how faithful the replay, whether traces and CPUs agree.
    pub notes: Vec<Note>,
}

/// How much the parts of a comparison, its traces or CPUs, agree.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Spread {
    pub parts: usize,
    pub latency_mean: Range,
    pub energy: Range,
}

/// How a metric's change differs between parts.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Range {
    /// Smallest change, %; none where no change is known.
    pub min_pct: Option<f64>,
    /// Largest change, %; none where no change is known.
    pub max_pct: Option<f64>,
    /// Parts in which it went down.
    pub lower: usize,
    /// Parts without a difference worth naming.
    pub same: usize,
    /// Parts in which it went up.
    pub higher: usize,
    /// Parts in which a value is not known.
    #[serde(skip_serializing_if = "is_none")]
    pub unknown: usize,
}

fn is_none(parts: &usize) -> bool {
    *parts == 0
}
