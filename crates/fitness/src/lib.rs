// SPDX-License-Identifier: GPL-2.0-only
//! One number for a governor, for searches by people and programs: the regret on machines that were not used to make it, and whether
//! its checks pass.
#![forbid(unsafe_code)]

mod args;

pub use args::FitnessArgs;

use std::collections::BTreeMap;
use std::path::PathBuf;

use idlewise_check::{CheckRequest, Property, SEQUENCES, Violation, check};
use idlewise_collect::{CollectError, CorpusRun, Poor, RunRequest, RunResult, run};
use idlewise_corpus::{Corpus, Entry, Split};
use idlewise_recording::governors::find_one;
use idlewise_recording::{CommandError, ReplaySetup};
use idlewise_stats::median;
use schemars::JsonSchema;
use serde::Serialize;

/// Version of the JSON.
pub const FITNESS_SCHEMA: &str = "idlewise.fitness/1";

/// What a governor is compared with.
pub const REFERENCES: [&str; 2] = ["menu", "teo"];

/// A governor, and what it is judged on.
#[derive(Clone, Debug)]
pub struct FitnessRequest {
    /// A C file, one that ships with idlewise, one of a kernel tree, with optional parameters.
    pub governor: String,
    /// The folder of the corpus.
    pub corpus: PathBuf,
    /// The part of it.
    pub split: Split,
    pub kernel_trees: Vec<PathBuf>,
    /// Properties that it may violate.
    pub despite: Vec<Property>,
    /// Of the sequences that are checked, and of the random numbers that a governor may ask for.
    pub seed: u64,
}

/// What a governor is worth.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Fitness {
    /// [`FITNESS_SCHEMA`].
    pub schema: &'static str,
    pub version: &'static str,
    pub governor: String,
    pub split: Split,
    /// Median over machines of each one's median over recordings of the idle energy above the oracle's, %. Less is better. Nothing
    /// where no recording has one. A machine counts once, so that one on which governors hardly differ does not decide by its many
    /// recordings.
    pub regret_median_pct: Option<f64>,
    /// The same of it and the references, with the mean latency.
    pub medians: Vec<Medians>,
    /// What its checks found, one for each property that is violated and may not be.
    pub violations: Vec<FailedCheck>,
    /// Idle states chosen above the latency limit, in all recordings.
    pub over_limit: u64,
    /// It and the references on the recordings.
    pub run: CorpusRun,
}

/// A governor on the machines: medians over machines of each one's median over recordings.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Medians {
    pub governor: String,
    /// Idle energy above the oracle's, %.
    pub regret_pct: Option<f64>,
    /// Mean wakeup latency, ns.
    pub latency_mean_ns: Option<f64>,
}

impl Medians {
    /// Of the governor that is `number`th of the run.
    fn of(run: &CorpusRun, number: usize, governor: &str) -> Self {
        let over_machines = |value: fn(&RunResult) -> f64| {
            let mut machines: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
            for recording in &run.recordings {
                let values = recording.results.get(number).map(value).filter(|v| v.is_finite());
                machines.entry(&recording.machine).or_default().extend(values);
            }
            let medians: Vec<f64> = machines.values().filter_map(|values| median(values)).collect();
            median(&medians)
        };
        Self {
            governor: governor.to_owned(),
            regret_pct: over_machines(|result| result.regret_pct),
            latency_mean_ns: over_machines(|result| result.score.latency.mean_ns),
        }
    }
}

/// A property that the governor does not have.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct FailedCheck {
    pub property: Property,
    pub what: String,
}

impl Fitness {
    /// Whether its checks pass and it keeps the latency limit.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.violations.is_empty() && self.over_limit == 0
    }
}

/// An error where the governor fails on a recording of `run`.
fn fails(run: &CorpusRun, request: &FitnessRequest) -> Result<(), CollectError> {
    let mut own = run.recordings.iter().filter_map(|r| r.results.first());
    match own.find_map(|result| result.failure.as_ref()) {
        Some(why) => Err(CommandError::input(&request.corpus, why).into()),
        None => Ok(()),
    }
}

/// Checks a governor, and then runs it and the [`REFERENCES`] on the recordings. `progress` hears what is being done, and how much of
/// how much.
///
/// # Errors
/// [`CollectError`] when the governor or the corpus cannot be read, it does not compile, or it fails on a recording.
pub fn fitness(
    request: &FitnessRequest,
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<Fitness, CollectError> {
    let corpus = Corpus::open(&request.corpus)?;
    let entries: Vec<&Entry> =
        corpus.index().recordings.iter().filter(|e| e.split == request.split).collect();
    let governor = find_one(&request.governor, &request.kernel_trees)?;
    progress("checking", 0, 1);
    let checked = check(
        &CheckRequest {
            governor,
            properties: Property::ALL.to_vec(),
            seed: request.seed,
            sequences: SEQUENCES,
        },
        |_| false,
    )
    .map_err(CommandError::from)?;
    let references = REFERENCES.iter().filter(|id| **id != request.governor).map(|id| (*id).to_owned());
    let runs = RunRequest {
        governors: std::iter::once(request.governor.clone()).chain(references).collect(),
        baseline: None,
        setup: ReplaySetup {
            kernel_trees: request.kernel_trees.clone(),
            seed: request.seed,
            ..ReplaySetup::default()
        },
        poor: Poor::LeaveOut,
        per: None,
    };
    // What hangs takes seconds to be given up: one recording says it, before all do.
    let first = entries.get(..1).map(|first| run(&corpus, first, &runs, &|_, _| ()));
    if let Some(Ok(first)) = first {
        fails(&first, request)?;
    }
    let run = run(&corpus, &entries, &runs, &|done, of| progress("replaying", done, of))?;
    fails(&run, request)?;
    let own = run.recordings.iter().filter_map(|r| r.results.first());
    let governors = run.governors.iter().enumerate();
    let medians: Vec<Medians> = governors.map(|(number, id)| Medians::of(&run, number, id)).collect();
    let over_limit = own.map(|result| result.score.breaches.over_limit).sum();
    let held = |v: &&Violation| !request.despite.contains(&v.property);
    let found = |v: &Violation| FailedCheck { property: v.property, what: v.what.clone() };
    let mut violations: Vec<FailedCheck> = checked.findings.iter().filter(held).map(found).collect();
    violations.dedup_by_key(|v| v.property);
    Ok(Fitness {
        schema: FITNESS_SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        governor: checked.governor,
        split: request.split,
        regret_median_pct: medians.first().and_then(|own| own.regret_pct),
        medians,
        violations,
        over_limit,
        run,
    })
}
