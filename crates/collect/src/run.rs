// SPDX-License-Identifier: GPL-2.0-only
//! Replays the recordings of a corpus, each on its own machine, under several governors: what each loses against the oracle, and how
//! it differs from a baseline, over all recordings.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::ValueEnum;
use idlewise_answer::{Column, Contender, Grade, Group, Reason, ReasonId, Role, Spread, spreads};
use idlewise_corpus::{Basis, Corpus, Entry, Presence, Split};
use idlewise_governor::{offering, on_offer};
use idlewise_recording::candidate::is_bound;
use idlewise_recording::governors::{ForeignHead, baseline, candidates, foreign};
use idlewise_recording::input_files::is_tape;
use idlewise_recording::{CommandError, ReplaySetup};
use idlewise_score::measure::{DECIDING, ENERGY};
use idlewise_score::{Measure, Score};
use idlewise_study::replay::{GovernorResult, ORACLE, ReplayRequest, replay};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::CollectError;

/// Version of the JSON of a run.
pub const RUN_SCHEMA: &str = "idlewise.corpus-run/1";

/// How a run is broken down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    Machine,
    Workload,
    Basis,
    Recording,
}

/// What becomes of recordings that show too little to be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poor {
    Use,
    LeaveOut,
    /// They are left out unless this option is given.
    LeaveOutWithout(&'static str),
}

/// Governors, and what to do with the recordings.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// Governors with their parameters; [`ORACLE`] is always there as the bound.
    pub governors: Vec<String>,
    /// The governor that the others are compared with; the first where nothing is given.
    pub baseline: Option<String>,
    /// Kernel trees and the seed. Each recording runs on its own machine.
    pub setup: ReplaySetup,
    /// Recordings that show too little to be trusted.
    pub poor: Poor,
    pub per: Option<Per>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CorpusRun {
    /// [`RUN_SCHEMA`].
    pub schema: &'static str,
    pub version: &'static str,
    /// The folder of the corpus, as it was named.
    pub corpus: String,
    pub governors: Vec<String>,
    pub baseline: String,
    /// Where the governors came from that are none of ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<ForeignHead>,
    /// In order of their ids.
    pub recordings: Vec<RunRecording>,
    /// Recordings that were not replayed.
    pub skipped: Vec<Skipped>,
    pub machines: Machines,
    /// Idle energy above the oracle's, for each governor. The intervals are resampled over machines. Empty for fewer than two
    /// recordings.
    pub regret: Vec<Spread>,
    /// The change from the baseline in each of the deciding measures, likewise.
    pub change: Vec<Spread>,
    /// The regret of parts, where that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// On how many machines the recordings were made, by how much was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Machines {
    pub all: usize,
    /// Recordings that were measured, of a real kernel on an emulated machine, simulated.
    pub measured: usize,
    pub emulated: usize,
    pub model: usize,
}

/// A recording under all governors.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RunRecording {
    pub id: String,
    pub machine: String,
    pub workload: String,
    pub basis: Basis,
    pub split: Split,
    /// One for each governor, in the order asked, then the oracle.
    pub results: Vec<RunResult>,
}

/// A governor on a recording.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RunResult {
    pub governor: String,
    /// Why there is no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Idle energy above the oracle's, % of the oracle's; not a number where there is none.
    pub regret_pct: f64,
    /// The score; left out where there is none.
    #[serde(skip_serializing_if = "Score::is_nothing")]
    pub score: Score,
}

/// A recording that was not replayed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Skipped {
    pub id: String,
    pub why: String,
}

/// The recordings of a machine, under a load, ...
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Part {
    pub name: String,
    pub recordings: usize,
    /// Geometric mean of each governor's idle energy above the oracle's, %, in the order asked; not a number where there is none.
    pub regret_pct: Vec<f64>,
}

/// Replays `entries` of `corpus` under the governors of `request`. `progress` hears of every finished recording: done and of how many.
///
/// # Errors
/// [`CollectError`] when a governor cannot be found, a recording's file was changed or cannot be replayed, or none is left.
pub fn run(
    corpus: &Corpus,
    entries: &[&Entry],
    request: &RunRequest,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<CorpusRun, CollectError> {
    let names: Vec<String> = request.governors.iter().filter(|g| *g != ORACLE).cloned().collect();
    let asked = candidates(&names, &request.setup.kernel_trees)?;
    let base = baseline(request.baseline.as_deref(), &asked)?;
    let own = on_offer();
    let done = AtomicUsize::new(0);
    let results: Vec<Result<RunRecording, Skipped>> = entries
        .par_iter()
        .map(|entry| {
            let result = offering(&own, || one(corpus, entry, &names, request));
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, entries.len());
            result
        })
        .collect::<Result<_, CollectError>>()?;
    let (mut recordings, mut skipped) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(recording) => recordings.push(recording),
            Err(left_out) => skipped.push(left_out),
        }
    }
    if recordings.is_empty() {
        let first = skipped.first().map_or_else(String::new, |s| format!("; {}: {}", s.id, s.why));
        let why = format!("no recording is left to replay{first}");
        return Err(CommandError::file(corpus.folder(), why).into());
    }
    let bound = names.len();
    let compared = |measures: &[&'static Measure], with: usize| {
        let groups: Vec<Group> = recordings.iter().map(|r| group(r, measures, with)).collect();
        spreads(&Column::of(measures.iter().copied(), ""), &groups)
    };
    let mut regret = compared(&[ENERGY], bound);
    regret.retain(|s| s.role != Role::Baseline);
    Ok(CorpusRun {
        schema: RUN_SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        corpus: corpus.folder().display().to_string(),
        governors: asked.iter().map(|c| c.name().to_owned()).collect(),
        baseline: asked[base].name().to_owned(),
        foreign: foreign(&asked),
        machines: Machines::of(&recordings),
        regret,
        change: compared(&DECIDING, base),
        parts: request.per.map_or_else(Vec::new, |per| parts(&recordings, per, bound)),
        recordings,
        skipped,
    })
}

impl Machines {
    fn of(recordings: &[RunRecording]) -> Self {
        let names: BTreeMap<&str, ()> = recordings.iter().map(|r| (r.machine.as_str(), ())).collect();
        let of = |basis: Basis| recordings.iter().filter(|r| r.basis == basis).count();
        Self {
            all: names.len(),
            measured: of(Basis::Measured),
            emulated: of(Basis::Emulated),
            model: of(Basis::Model),
        }
    }
}

/// One recording under all governors and the oracle; or why it is left out.
fn one(
    corpus: &Corpus,
    entry: &Entry,
    names: &[String],
    request: &RunRequest,
) -> Result<Result<RunRecording, Skipped>, CollectError> {
    let skipped = |why: String| Ok(Err(Skipped { id: entry.id.clone(), why }));
    if entry.trust == "poor" && request.poor != Poor::Use {
        return skipped(poor(&entry.reasons.join("; "), request));
    }
    let path = corpus.path(entry);
    match corpus.check(entry) {
        Presence::Whole => {}
        Presence::Missing => return skipped(format!("{} is not there", path.display())),
        Presence::Changed(why) => return Err(CommandError::file(&path, why).into()),
    }
    let mut setup = request.setup.clone();
    // A tape says it itself.
    setup.recording.recorded_on = (!is_tape(&path)?).then(|| entry.machine.clone());
    let asked = ReplayRequest {
        traces: vec![path],
        setup,
        governors: names.iter().cloned().chain([ORACLE.to_owned()]).collect(),
        ..ReplayRequest::default()
    };
    let mut report = replay(&asked, &|_, _| ())?;
    // The index may be older than what idlewise knows of recordings now.
    let against: Vec<&str> =
        report.answer.trust.reasons.iter().filter(|r| speaks_against(r)).map(|r| r.words.as_str()).collect();
    if !against.is_empty() && request.poor != Poor::Use {
        return skipped(poor(&against.join("; "), request));
    }
    let Some(trace) = report.traces.pop() else { unreachable!("one trace was asked for") };
    let result = |g: GovernorResult| RunResult {
        governor: g.governor,
        failure: g.failure,
        regret_pct: g.regret_pct,
        score: g.score,
    };
    Ok(Ok(RunRecording {
        id: entry.id.clone(),
        machine: entry.machine.clone(),
        workload: entry.workload.clone(),
        basis: entry.basis,
        split: entry.split,
        results: trace.governors.into_iter().map(result).collect(),
    }))
}

/// Why a recording is left out that is graded poor.
fn poor(reasons: &str, request: &RunRequest) -> String {
    let option = match request.poor {
        Poor::LeaveOutWithout(option) => format!(" ({option})"),
        Poor::Use | Poor::LeaveOut => String::new(),
    };
    format!("its grade is poor: {reasons}{option}")
}

/// Whether it makes a recording poor, whatever the governors are that run on it.
fn speaks_against(reason: &Reason) -> bool {
    reason.grade == Grade::Poor && reason.id != ReasonId::Sensitivity
}

/// The results of `recording` against that number `base`.
fn group(recording: &RunRecording, measures: &[&'static Measure], base: usize) -> Group {
    let known = |r: &RunResult| r.failure.is_none().then(|| r.score.clone());
    let scores: Vec<Option<Score>> = recording.results.iter().map(known).collect();
    let contender = |(n, r): (usize, &RunResult)| {
        let role = match n {
            _ if n == base => Role::Baseline,
            _ if is_bound(&r.governor) => Role::Bound,
            _ => Role::Governor,
        };
        let both = [scores[base].as_ref(), scores[n].as_ref()];
        Contender::of(&r.governor, role, r.failure.as_ref(), measures, both)
    };
    Group {
        name: recording.id.clone(),
        machine: recording.machine.clone(),
        contenders: recording.results.iter().enumerate().map(contender).collect(),
    }
}

fn parts(recordings: &[RunRecording], per: Per, governors: usize) -> Vec<Part> {
    let mut by_name: BTreeMap<String, Vec<&RunRecording>> = BTreeMap::new();
    for r in recordings {
        let name = match per {
            Per::Machine => r.machine.clone(),
            Per::Workload => r.workload.clone(),
            Per::Basis => r.basis.name().to_owned(),
            Per::Recording => r.id.clone(),
        };
        by_name.entry(name).or_default().push(r);
    }
    let mean = |all: &[&RunRecording], governor: usize| {
        let logs = all.iter().map(|r| (r.results[governor].regret_pct / 100.0).ln_1p());
        let logs: Vec<f64> = logs.filter(|v| v.is_finite()).collect();
        (logs.iter().sum::<f64>() / logs.len() as f64).exp_m1() * 100.0
    };
    let part = |(name, all): (String, Vec<&RunRecording>)| Part {
        name,
        recordings: all.len(),
        regret_pct: (0..governors).map(|governor| mean(&all, governor)).collect(),
    };
    by_name.into_iter().map(part).collect()
}
