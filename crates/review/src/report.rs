// SPDX-License-Identifier: GPL-2.0-only
//! What is asked of a review, and what it answers.

use std::collections::BTreeSet;
use std::path::PathBuf;

use idlewise_corpus::Basis;
use idlewise_explain::Explanation;
use idlewise_model::{NotKnown, Note, known};
use idlewise_recording::{FidelityHead, TraceHead};
use idlewise_study::compare::{Check, MeasureChange, WaitCounts};
use schemars::JsonSchema;
use serde::Serialize;

use crate::effect::Effect;
use crate::patch::{Problem, ProblemKind};

/// Name and version of the result's form.
pub const SCHEMA: &str = "idlewise.review/1";

/// A series, what it is for, and how it is judged.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct ReviewRequest {
    /// An mbox, files or a folder of patches; a range of commits; or C files.
    pub series: Vec<String>,
    /// A kernel tree, a version of Debian's kernel sources, or a C file.
    pub base: String,
    /// Governors to judge; all that the series changes where none is given.
    pub governors: Vec<String>,
    /// Traces, tapes, and folders of them.
    #[serde(serialize_with = "idlewise_recording::json_paths::paths")]
    #[schemars(with = "Vec<PathBuf>")]
    pub recordings: Vec<PathBuf>,
    /// The machine to replay on; that of each recording where nothing is given.
    pub platform: Option<String>,
    /// The machine that was recorded, of recordings that do not say it.
    pub recorded_on: Option<String>,
    /// How often to simulate each shipped workload, with other seeds; 0 not at all.
    pub repeat: u64,
    /// Names of the shipped workloads that are simulated; all where none is given.
    pub workloads: Vec<String>,
    /// Sequences that `check` draws on each machine; as many as `idlewise check` where nothing is given. With 0 it only sees whether a
    /// version starts.
    pub check_sequences: Option<u64>,
    /// Boot all versions in a real kernel; the folder for the recordings.
    #[serde(serialize_with = "idlewise_recording::json_paths::option")]
    #[schemars(with = "Option<PathBuf>")]
    pub boot: Option<PathBuf>,
    /// Conditions that must not hold: `METRIC OP VALUE`.
    pub fail_if: Vec<String>,
    /// Of sequences of `check`, and of the first run of a simulation; 0 as 1.
    pub seed: u64,
}

impl ReviewRequest {
    /// Of the first and the last run of a simulated workload.
    #[must_use]
    pub fn seeds(&self) -> (u64, u64) {
        let first = self.seed.max(1);
        (first, first.saturating_add(self.repeat.saturating_sub(1)))
    }
}

/// A series, patch by patch.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ReviewReport {
    /// [`SCHEMA`].
    pub schema: String,
    pub version: String,
    pub request: ReviewRequest,
    /// What the base is called: `linux-6.12.117`.
    pub base: String,
    /// The commit of the base, where the series is a range.
    pub base_commit: Option<String>,
    /// What to know of the series.
    pub notes: Vec<String>,
    pub patches: Vec<PatchHead>,
    #[serde(flatten)]
    pub on: Evidence,
    pub governors: Vec<GovernorReview>,
    /// The conditions asked for.
    pub checks: Vec<Check>,
}

/// The recordings on which all versions were replayed.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Evidence {
    pub recordings: Vec<RecordingHead>,
    /// Machines that the recordings are of.
    pub machines: usize,
    /// Recordings that are in no mean: what cannot be replayed, and what a folder or a corpus has that is graded poor.
    pub left_out: Vec<LeftOut>,
    /// Recordings that are graded poor, and are in the means since they were named themselves.
    pub poor: Vec<LeftOut>,
    /// What is assumed about recordings by hand.
    pub assumes: Option<String>,
    /// What makes recordings doubtful.
    pub warnings: Vec<Note>,
    /// XXH3-128 of the hashes of all recordings, in their order.
    pub recordings_hash: String,
}

/// A patch of the series.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PatchHead {
    /// "+2".
    pub row: String,
    /// Its subject, or the name of its file.
    pub name: String,
    pub commit: Option<String>,
    /// Files that it changes and that are judged.
    pub judged: Vec<String>,
    /// Files that it changes and that are not.
    pub not_judged: Vec<String>,
    /// Why it is left out; the later ones are judged without it.
    pub problem: Option<Problem>,
}

/// A recording that is used.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RecordingHead {
    /// What it is called here.
    pub name: String,
    /// The machine that was recorded.
    pub machine: String,
    /// Release of the kernel that ran, by the recording or by its corpus; of a simulation, the one whose rules it has. Nothing where
    /// neither says it.
    pub kernel: Option<String>,
    /// How much of it was measured, where a corpus says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// What its energies are worth, in short.
    pub energy_grade: String,
    pub head: TraceHead,
    /// How far replay makes the kernel's own choices.
    #[serde(flatten, serialize_with = "known::fidelity")]
    #[schemars(with = "known::FidelityOrWhy<FidelityHead>")]
    pub fidelity: Result<FidelityHead, NotKnown>,
}

/// A recording, and what speaks against it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LeftOut {
    pub name: String,
    pub why: String,
}

/// A governor that the series changes.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct GovernorReview {
    /// Its name in the tree: `teo`.
    pub governor: String,
    /// Its file in the tree.
    pub file: String,
    /// What was booted, where that was asked for.
    pub booted: Option<Booted>,
    /// Why nothing was, though it was asked for.
    pub not_booted: Option<String>,
    /// The base, then one for each patch.
    pub rows: Vec<Row>,
}

/// A governor after a patch.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Row {
    /// "base", "+1".
    pub row: String,
    /// The earlier row with the same code; all that is said of that holds for this.
    pub same_as: Option<String>,
    /// Why it is not judged, or on some recordings only.
    pub problem: Option<Problem>,
    /// SHA-256 of its source and the headers that it includes.
    pub source_hash: Option<String>,
    /// Violations of what every governor must keep.
    pub check: Option<RowCheck>,
    /// Basic blocks that a decision executes, mean over all recordings; and why it is not known.
    pub blocks: Option<f64>,
    /// The same above the base's, %.
    pub blocks_pct: Option<f64>,
    pub blocks_unknown: Option<String>,
    /// What all patches so far change.
    pub against_base: Option<Against>,
    /// What this patch changes against the row above.
    pub against_above: Option<Against>,
    /// The idle periods with the largest share of what this patch changes in their recording, of those before which the first choice
    /// differs.
    pub periods: Vec<ExplainedPeriod>,
    /// Simulated workloads, against the base.
    pub simulated: Vec<SimulatedChange>,
    /// In a real kernel, against the base.
    pub booted: Option<BootedChange>,
}

/// All versions of a governor in a real kernel.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Booted {
    /// `uname -r` of the guest.
    pub kernel: String,
    pub platform: String,
    pub workload: String,
    pub energy_unit: String,
    /// How long, in seconds of the guest.
    pub seconds: u32,
    /// How often each version was booted.
    pub starts: u32,
    /// The first version in as many further starts, against itself in the first ones: what the starts alone change.
    pub again: BootedChange,
    /// What guests found wrong.
    pub complaints: Vec<String>,
}

/// What a kernel with the version did.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BootedChange {
    /// Of each measure that decides.
    pub numbers: Vec<BootedNumber>,
    /// The same governor in user space makes the same choices from the same inputs, and the kernel's counters agree.
    pub as_recorded: bool,
    /// Why there are no numbers: its guest did not boot, hung, or left nothing.
    pub failure: Option<String>,
}

/// A measure in a real kernel, against the first version, start by start.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BootedNumber {
    pub metric: &'static str,
    /// Under the first version and under this one, mean of the starts: ns, %, or the platform's energy.
    pub base: Option<f64>,
    pub value: Option<f64>,
    /// Of the change: "%" of the value before, or "pp" for shares.
    pub unit: &'static str,
    /// From the base to the value; nothing where it is not known.
    pub change: Option<f64>,
    /// Half the width of its 95 % interval.
    pub half_width: Option<f64>,
}

/// What is violated after a patch.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RowCheck {
    /// Not in the base.
    pub new: Vec<Finding>,
    /// In the base, too.
    pub old: Vec<Finding>,
    /// In the base only.
    pub mended: Vec<Finding>,
    /// Properties that were not checked, and why.
    pub not_checked: Vec<String>,
}

/// A violation of a property.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Finding {
    pub property: &'static str,
    pub what: String,
    /// Where in the code, as FILE:LINE.
    pub place: Option<String>,
    /// Idle periods of the shortest sequence found.
    pub idle_periods: u64,
}

/// A row compared with another.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Against {
    /// "base", "+1".
    pub row: String,
    /// Recordings that both ran on.
    pub recordings: usize,
    /// Recordings in which any decision differs: the first before a wake event, a later one, or one that only one row takes.
    pub differing: usize,
    /// Wake events before which the first choices differ, % of all; mean over recordings. 0 also where only later ones differ.
    pub differ_pct: f64,
    /// One for each measure that decides.
    pub effects: Vec<Effect>,
    /// The same of the recordings of each basis; empty where all are of one.
    pub by_basis: Vec<BasisEffects>,
    /// One for each recording that both ran on.
    pub on: Vec<RecordingChange>,
}

/// What the recordings of one basis show.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BasisEffects {
    /// Nothing for recordings of no corpus.
    pub basis: Option<Basis>,
    pub recordings: usize,
    /// Machines that they are of.
    pub machines: usize,
    /// One for each measure that decides.
    pub effects: Vec<Effect>,
}

/// What differs on a recording.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RecordingChange {
    pub recording: String,
    pub waits: WaitCounts,
    /// How every compared measure changes.
    pub changes: Vec<MeasureChange>,
}

/// An idle period in which a patch chooses differently.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ExplainedPeriod {
    pub recording: String,
    pub cpu: u32,
    /// On the clock of the recording, ns.
    pub at_ns: u64,
    /// Until the wake event, ns.
    pub idle_ns: u64,
    /// Energy until the wake event, of all decisions until then: after the patch, above that before it, in `energy_unit`.
    pub energy: f64,
    pub energy_unit: String,
    /// How much longer the wake event waits, ns.
    pub latency_ns: i64,
    /// Its share of the recording's idle energy, or of its sum of wakeup latencies, %.
    pub share_pct: f64,
    /// By how much the recording's idle energy, or its mean wakeup latency, changes, %: always in the direction of this period.
    pub recording_pct: f64,
    /// Of which of the two that is.
    pub share_of: Moved,
    /// The numbers of both decisions on the CPU, counted from 0.
    pub decisions: [u64; 2],
    /// The decision of the row above.
    pub before: Explanation,
    pub after: Explanation,
}

/// What an idle period moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moved {
    Energy,
    Latency,
}

/// A number of a simulated workload.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SimulatedChange {
    pub workload: String,
    pub platform: String,
    /// "energy: power", "requests clients: latency p99".
    pub number: String,
    /// The part of each run that it is of, ns from its start.
    pub from_ns: u64,
    pub to_ns: u64,
    /// Under the base, mean of the runs; ns, % or the platform's energy.
    pub base: f64,
    pub value: f64,
    /// The change, %; percentage points of shares. Nothing where it cannot be said.
    pub change: Option<f64>,
    /// Half the width of its 95 % interval over seeds.
    pub half_width: Option<f64>,
}

impl Against {
    /// What all recordings show, called "all"; then those of each basis.
    pub fn parts(&self) -> impl Iterator<Item = (&str, &Effect)> {
        let of_bases = self.by_basis.iter().flat_map(|part| part.effects.iter().map(|e| (part.name(), e)));
        self.effects.iter().map(|e| ("all", e)).chain(of_bases)
    }
}

impl BasisEffects {
    /// What the recordings are called together.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.basis.map_or("of no corpus", Basis::name)
    }
}

impl ReviewReport {
    /// Whether a condition holds.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.checks.iter().any(|check| check.failed)
    }

    /// Patches and rows that cannot be judged, in sentences that begin with the row. A governor that a tree lacks is none of them.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        self.unjudged().map(|(row, governor, problem)| problem.words(row, governor)).collect()
    }

    /// Rows, governors and what keeps them from being judged.
    fn unjudged(&self) -> impl Iterator<Item = (&str, &str, &Problem)> {
        let of_patches = self.patches.iter().filter_map(|p| Some((p.row.as_str(), "", p.problem.as_ref()?)));
        let rows = self.governors.iter().flat_map(|g| g.rows.iter().map(move |row| (g, row)));
        let of_rows = rows
            .filter(|(_, row)| row.same_as.is_none())
            .filter_map(|(g, row)| Some((row.row.as_str(), g.governor.as_str(), row.problem.as_ref()?)));
        of_patches.chain(of_rows).filter(|(_, _, problem)| problem.kind != ProblemKind::NotThere)
    }

    /// What of the series could not be judged, or not be booted, in a sentence; nothing where all could.
    #[must_use]
    pub fn not_judged(&self) -> Option<String> {
        if self.governors.is_empty() && self.patches.iter().all(|p| p.problem.is_some()) {
            let why = "nothing was judged: no patch applies; name the tree that the series is for by --base, or commits as A..B";
            return Some(why.to_owned());
        }
        let unjudged: BTreeSet<&str> = self.unjudged().map(|(row, ..)| row).collect();
        let rows = std::iter::once("base").chain(self.patches.iter().map(|p| p.row.as_str()));
        let rows: Vec<&str> = rows.filter(|row| unjudged.contains(row)).collect();
        let judged = (!rows.is_empty()).then(|| format!("not judged: {}", rows.join(", ")));
        let not_booted = self.governors.iter().flat_map(|g| {
            let all = g.not_booted.as_ref().map(|_| g.governor.clone());
            let failed = |row: &&Row| row.booted.as_ref().is_some_and(|b| b.failure.is_some());
            let rows = g.rows.iter().filter(failed).map(|row| format!("{} {}", g.governor, row.row));
            let again = g.booted.as_ref().filter(|b| b.again.failure.is_some());
            all.into_iter().chain(rows).chain(again.map(|_| format!("{} base again", g.governor)))
        });
        let not_booted: Vec<String> = not_booted.collect();
        let booted = (!not_booted.is_empty()).then(|| format!("not booted: {}", not_booted.join(", ")));
        let all: Vec<String> = judged.into_iter().chain(booted).collect();
        (!all.is_empty()).then(|| format!("{}; the result says why, and has all the rest", all.join("; ")))
    }
}
