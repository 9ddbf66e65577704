// SPDX-License-Identifier: GPL-2.0-only
//! Recordings under all versions of governors, and what they come to together.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use idlewise_answer::Grade;
use idlewise_collect::RecordingFile;
use idlewise_corpus::Basis;
use idlewise_recording::{CommandError, ReplaySetup, TraceHead};
use idlewise_replay::SleepLengths;
use idlewise_score::measure::DIFFER;
use idlewise_score::{Measure, Place};
use idlewise_study::compare::{MeasureChange, WaitCounts};
use rayon::prelude::*;

use crate::effect::{Effect, Origin, measures};
use crate::patch::{Problem, ProblemKind};
use crate::recordings::{self, Named, Sorted};
use crate::report::{Against, BasisEffects, Evidence, LeftOut, RecordingChange, RecordingHead};
use crate::runs::{Misbehaving, Run};
use crate::versions::Lineage;

/// The recordings under all versions.
pub(crate) fn replayed<'f>(
    files: &'f [Named],
    setup: &ReplaySetup,
    lengths: SleepLengths,
    lineages: &[Lineage],
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<Sorted<'f, Run>, CommandError> {
    let done = AtomicUsize::new(0);
    let one = |named: &'f Named, known: Option<&Misbehaving>| {
        let run = match &named.refused {
            Some(why) => Err(CommandError::input(&named.path, why)),
            None => {
                let mut setup = setup.clone();
                let of_corpus = named.recorded_on.clone();
                setup.recording.recorded_on = of_corpus.or(setup.recording.recorded_on);
                Run::of(&named.path, &setup, lengths, lineages, known).and_then(|run| trusted(named, run))
            }
        };
        progress("replaying", done.fetch_add(1, Ordering::Relaxed) + 1, files.len());
        (named, run)
    };
    // What does not return on the first recording is given up there, and not on each.
    let mut results: Vec<(&Named, Result<Run, CommandError>)> = Vec::new();
    let mut rest = files.iter();
    let mut known = Misbehaving::new();
    for named in rest.by_ref() {
        let (named, run) = one(named, None);
        let usable = run.is_ok();
        known = run.as_ref().map(Run::misbehaving).unwrap_or_default();
        results.push((named, run));
        if usable {
            break;
        }
    }
    results.par_extend(rest.as_slice().par_iter().map(|named| one(named, Some(&known))));
    let (used, mut left_out) = recordings::sorted(results)?;
    let mut out: Vec<(&Named, Run)> = Vec::new();
    for (named, run) in used {
        let hash = &run.head.hash;
        match out.iter().find(|(_, other)| !hash.is_empty() && other.head.hash == *hash) {
            Some((first, _)) => {
                let why = format!("the same recording as {}, which would count twice", first.name);
                left_out.push(LeftOut { name: named.name.clone(), why });
            }
            None => out.push((named, run)),
        }
    }
    Ok((out, left_out))
}

/// `run`, unless it is graded poor and nobody named it.
fn trusted(named: &Named, run: Run) -> Result<Run, CommandError> {
    if run.trust.grade == Grade::Poor && !named.by_user {
        return Err(CommandError::input(&named.path, RecordingFile::poor(&against(&run))));
    }
    Ok(run)
}

/// What speaks against a recording.
fn against(run: &Run) -> String {
    let reasons = run.trust.reasons.iter().filter(|r| r.grade == Grade::Poor);
    reasons.map(|r| r.words.as_str()).collect::<Vec<_>>().join("; ")
}

/// The release of its kernel. What the recording says has the machine's architecture after it.
fn kernel(named: &Named, run: &Run) -> Option<String> {
    let own = run.head.kernel.split_whitespace().next().map(str::to_owned);
    own.or_else(|| named.entry.as_ref()?.kernel.clone())
}

/// Recordings, each under all versions.
#[derive(Clone, Copy)]
pub(crate) struct Results<'a>(pub(crate) &'a [(&'a Named, Run)]);

impl Results<'_> {
    /// What is known of them; `left_out` says nothing.
    pub(crate) fn evidence(&self, left_out: Vec<LeftOut>) -> Evidence {
        let head = |(named, run): &(&Named, Run)| RecordingHead {
            name: named.name.clone(),
            machine: run.machine.clone(),
            kernel: kernel(named, run),
            basis: named.basis,
            energy_grade: run.energy_grade.clone(),
            head: run.head.clone(),
            fidelity: run.fidelity.clone(),
        };
        let poor = |(named, run): &(&Named, Run)| LeftOut { name: named.name.clone(), why: against(run) };
        let heads: Vec<&TraceHead> = self.0.iter().map(|(_, run)| &run.head).collect();
        // The index of a corpus is not a hand.
        let by_hand = self.0.iter().filter(|(n, _)| n.entry.is_none()).map(|(_, run)| &run.head);
        let machines: BTreeSet<&str> = self.0.iter().map(|(_, run)| run.machine.as_str()).collect();
        let hashes: Vec<u8> = heads.iter().flat_map(|head| head.hash.bytes().chain([b'\n'])).collect();
        Evidence {
            recordings: self.0.iter().map(head).collect(),
            machines: machines.len(),
            left_out,
            poor: self.0.iter().filter(|(_, run)| run.trust.grade == Grade::Poor).map(poor).collect(),
            assumes: TraceHead::assumptions(by_hand),
            warnings: TraceHead::warnings(heads),
            recordings_hash: format!("{:032x}", xxhash_rust::xxh3::xxh3_128(&hashes)),
        }
    }

    /// Wake events whose sleep length is not certain, % of all.
    pub(crate) fn unsure_pct(&self) -> f64 {
        let sum = |of: fn(&Run) -> u64| self.0.iter().map(|(_, run)| of(run)).sum::<u64>();
        let (unsure, all) = (sum(|run| run.unsure[0]), sum(|run| run.unsure[1]));
        if all == 0 { 0.0 } else { unsure as f64 * 100.0 / all as f64 }
    }

    /// Whether a version can be compared with others: it ran on the first recording.
    pub(crate) fn is_usable(&self, at: usize, version: usize) -> bool {
        self.0.first().is_some_and(|(_, run)| run.lineages[at].versions[version].is_ok())
    }

    /// What a version did wrong on recordings, or before any.
    pub(crate) fn misbehaviour(&self, at: usize, version: usize, check: Option<&String>) -> Option<Problem> {
        let failed = |(named, run): &(&Named, Run)| {
            let why = run.lineages[at].versions[version].as_ref().err()?;
            Some((named.name.clone(), why.clone()))
        };
        let on: Vec<(String, String)> = self.0.iter().filter_map(failed).collect();
        let why = match (check, on.as_slice()) {
            (_, [(name, why), ..]) => format!("on {name}: {why}"),
            (Some(why), []) => why.clone(),
            (None, []) => return None,
        };
        Some(Problem { kind: ProblemKind::Misbehaves, file: None, line: None, why })
    }

    /// Basic blocks of a decision, over all recordings.
    pub(crate) fn blocks(&self, at: usize, version: usize) -> Result<f64, String> {
        let (mut blocks, mut decisions) = (0, 0);
        for (_, run) in self.0 {
            let Ok(version) = &run.lineages[at].versions[version] else { continue };
            let counted = version.blocks.as_ref().map_err(String::clone)?;
            blocks += counted.blocks;
            decisions += counted.decisions;
        }
        if decisions == 0 {
            return Err("it made no decision".to_owned());
        }
        Ok(blocks as f64 / decisions as f64)
    }

    pub(crate) fn against(&self, at: usize, row: String, (a, b): (usize, usize)) -> Option<Against> {
        let mut on = Vec::new();
        for (named, run) in self.0 {
            let run_of = &run.lineages[at];
            let (Ok(one), Ok(other)) = (&run_of.versions[a], &run_of.versions[b]) else { continue };
            let change =
                |m: &'static Measure| MeasureChange::new(m, m.value(&one.score), m.value(&other.score));
            let waits = match run_of.pairs.get(&(a, b)) {
                Some(pair) => pair.waits,
                None if a == b => WaitCounts::default(),
                None => unreachable!("versions {a} and {b} are not compared with each other"),
            };
            on.push(RecordingChange {
                recording: named.name.clone(),
                waits,
                changes: Measure::all_in(Place::Compared).map(change).collect(),
            });
        }
        if on.is_empty() {
            return None;
        }
        let differs = |on: &&RecordingChange| on.waits.same + on.waits.neither < on.waits.all;
        let mut against = Against {
            row,
            recordings: on.len(),
            differing: on.iter().filter(differs).count(),
            differ_pct: on.iter().map(|on| on.waits.differ_pct).sum::<f64>() / on.len() as f64,
            effects: Vec::new(),
            by_basis: Vec::new(),
            on,
        };
        against.effects = measures().map(|measure| self.effect(measure, &against)).collect();
        against.by_basis = self.by_basis(&against);
        Some(against)
    }

    /// What the recordings of `against` show of `measure`.
    pub(crate) fn effect(&self, measure: &'static Measure, against: &Against) -> Effect {
        self.effect_where(measure, against, |_| true)
    }

    /// The same of those of a basis.
    fn effect_where(
        &self,
        measure: &'static Measure,
        against: &Against,
        is_of: impl Fn(Option<Basis>) -> bool,
    ) -> Effect {
        let changes = against.on.iter().filter_map(|on| {
            let (named, run) = self.recording(&on.recording).filter(|(named, _)| is_of(named.basis))?;
            let own = || MeasureChange::new(measure, 0.0, on.waits.differ_pct);
            let change =
                if measure == DIFFER { own() } else { *on.changes.iter().find(|c| c.measure == measure)? };
            let load = named.entry.as_ref().map_or(named.name.as_str(), |entry| entry.workload.as_str());
            Some((Origin { machine: run.machine.as_str(), load }, change))
        });
        Effect::of(measure, changes)
    }

    fn recording(&self, name: &str) -> Option<&(&Named, Run)> {
        self.0.iter().find(|(named, _)| named.name == name)
    }

    /// What the recordings of each basis show, where there are several.
    fn by_basis(&self, against: &Against) -> Vec<BasisEffects> {
        let all: Vec<&(&Named, Run)> =
            against.on.iter().filter_map(|on| self.recording(&on.recording)).collect();
        let part = |basis: Option<Basis>| {
            let of: Vec<_> = all.iter().filter(|(named, _)| named.basis == basis).collect();
            let machines: BTreeSet<&str> = of.iter().map(|(_, run)| run.machine.as_str()).collect();
            BasisEffects {
                basis,
                recordings: of.len(),
                machines: machines.len(),
                effects: measures().map(|m| self.effect_where(m, against, |of| of == basis)).collect(),
            }
        };
        let bases = Basis::ALL.into_iter().map(Some).chain([None]);
        let parts: Vec<BasisEffects> = bases.map(part).filter(|part| part.recordings > 0).collect();
        if parts.len() > 1 { parts } else { Vec::new() }
    }
}
