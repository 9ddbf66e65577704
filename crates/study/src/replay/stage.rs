// SPDX-License-Identifier: GPL-2.0-only
//! The runs of all governors on all recordings, and the answer that they come to.

use idlewise_model::{NotKnown, Note, NoteId};
use std::sync::atomic::{AtomicUsize, Ordering};

use idlewise_answer::Answer;
use idlewise_conform::own_governor::kernels_own;
use idlewise_conform::recorded_governors::{self, RecordedGovernor};
use idlewise_governor::Governor;
use idlewise_model::PiecesError;
use idlewise_platform::Cluster;
use idlewise_recording::candidate::{Book, Bound, Candidate, SHARED_STATE, chunks};
use idlewise_recording::governors;
use idlewise_recording::placement::Placement;
use idlewise_recording::{CommandError, FidelityHead, Recording, TraceHead};
use idlewise_replay::{RunCounts, Setting, Workload};
use idlewise_score::{Counts, Score, Tally};
use rayon::prelude::*;

use super::decisions::{DecisionPages, Decisions};
use super::detail::{Pictures, ReplayDetail, Tallies};
use super::report::{
    Change, GovernorResult, Group, PlatformHead, ReplayReport, ReplayRequest, SCHEMA, Sensitivity,
    TraceResult, relative,
};

/// Everything that stays the same during the runs.
pub(super) struct Stage<'a> {
    pub(super) placement: &'a Placement,
    pub(super) candidates: &'a [Candidate],
    pub(super) request: &'a ReplayRequest,
    /// Where every decision of the candidates is written, if anywhere.
    pub(super) decisions: Option<&'a Decisions<'a>>,
}

/// Some CPUs of a trace under a candidate.
struct Job<'j> {
    trace: usize,
    /// Which candidate of the request; nothing for the oracle for regret.
    number: Option<usize>,
    candidate: &'j Candidate,
    cpus: Vec<&'j Workload>,
}

/// What came out for one trace: by candidate, then the oracle's tallies for regret, then the fidelity and the kernel's governor.
pub(super) struct TraceRuns<'a> {
    pub(super) governors: Vec<CpuRuns<'a>>,
    pub(super) oracle: CpuRuns<'a>,
    pub(super) parity: Vec<RecordedGovernor>,
    pub(super) fidelity: Result<FidelityHead, NotKnown>,
    pub(super) kernels: Result<Governor, NotKnown>,
}

/// One governor's runs on the CPUs of a trace.
#[derive(Clone, Default)]
pub(super) struct CpuRuns<'a> {
    pub(super) cpus: Vec<(u32, Tally<'a>)>,
    pub(super) counts: RunCounts,
    /// The governor changed memory that belongs to no CPU.
    pub(super) shared_state: bool,
    pub(super) failure: Option<String>,
}

impl CpuRuns<'_> {
    /// All CPUs together. Several traces together are no result if one of them is missing.
    pub(super) fn score(&self) -> Score {
        let counted = if self.failure.is_none() { self.cpus.as_slice() } else { &[] };
        Score::of(&counted.iter().map(|(_, t)| t).collect::<Vec<_>>())
    }

    /// The tallies for pictures, none of a run that failed.
    pub(super) fn tallies(&self) -> Tallies<'_> {
        self.failure.is_none().then(|| self.cpus.iter().map(|(cpu, tally)| (*cpu, tally)).collect())
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.cpus.extend(other.cpus);
        self.counts.merge(&other.counts);
        self.shared_state |= other.shared_state;
        self.failure = self.failure.take().or(other.failure);
    }
}

impl<'a> Stage<'a> {
    /// What charts show of `runs`.
    pub(super) fn detail(&self, runs: &[TraceRuns<'_>]) -> Result<ReplayDetail, CommandError> {
        let pictures = Pictures {
            placement: self.placement,
            candidates: self.candidates.iter().collect(),
            seed: self.request.setup.seed,
        };
        pictures.detail(
            &runs.iter().map(|r| r.governors.iter().map(CpuRuns::tallies).collect()).collect::<Vec<_>>(),
        )
    }

    pub(super) fn run_all(
        &self,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Vec<TraceRuns<'a>>, CommandError> {
        let recordings = &self.placement.recordings;
        let workloads: Vec<Vec<Workload>> =
            recordings.par_iter().map(|r| self.placement.workloads(r)).collect::<Result<_, _>>()?;
        let numbered = self.candidates.iter().enumerate().map(|(c, candidate)| (Some(c), candidate));
        let candidates: Vec<(Option<usize>, &Candidate)> =
            numbered.chain([(None, &Candidate::Bound(Bound::Oracle))]).collect();
        let finished = self.run_on(&workloads, &candidates, progress)?;
        let offered = governors::offered(&self.request.governors, &self.request.setup.kernel_trees);
        let own = |recording| {
            let kernels = Recording::kernels_governor(recording, &offered)?;
            Ok(TraceRuns {
                governors: vec![CpuRuns::default(); self.candidates.len()],
                oracle: CpuRuns::default(),
                parity: recorded_governors::of_recording(recording, &kernels, &offered)?,
                fidelity: kernels_own(recording, &kernels)?,
                kernels,
            })
        };
        let mut all: Vec<TraceRuns<'a>> =
            recordings.par_iter().map(own).collect::<Result<_, CommandError>>()?;
        for (t, c, runs) in finished {
            let TraceRuns { governors, oracle, .. } = &mut all[t];
            c.map_or(oracle, |c| &mut governors[c]).merge(runs);
        }
        Ok(all)
    }

    /// Runs all `candidates` on the workloads of each trace; gives the numbers of trace and candidate with each run.
    fn run_on(
        &self,
        workloads: &[Vec<Workload>],
        candidates: &[(Option<usize>, &Candidate)],
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Vec<(usize, Option<usize>, CpuRuns<'a>)>, CommandError> {
        let mut jobs: Vec<Job<'_>> = Vec::new();
        for (t, w) in workloads.iter().enumerate() {
            for &(number, candidate) in candidates {
                let parts = chunks(w, candidate.is_foreign());
                let job = |cpus| Job { trace: t, number, candidate, cpus };
                jobs.extend(parts.into_iter().map(job));
            }
        }
        let done = AtomicUsize::new(0);
        let total = jobs.len();
        jobs.par_iter()
            .enumerate()
            .map(|(n, job)| {
                // Whoever hears of it may end the work.
                progress(done.load(Ordering::Relaxed), total);
                let runs = self.run_job(n, job)?;
                progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
                Ok((job.trace, job.number, runs))
            })
            .collect()
    }

    /// Runs job number `n`.
    fn run_job(&self, n: usize, job: &Job<'_>) -> Result<CpuRuns<'a>, CommandError> {
        let recording = self.placement.recordings.get(job.trace);
        let same_machine = recording.is_some_and(|r| self.placement.same_machine(r));
        let Some(decisions) = self.decisions else {
            return self.run_cpus(job.candidate, &job.cpus, same_machine);
        };
        let Some(number) = job.number else {
            decisions.done(n, None)?;
            return self.run_cpus(job.candidate, &job.cpus, same_machine);
        };
        let rows = decisions.job(job.trace, number)?;
        let last = job.cpus.last().map(|w| w.cpu);
        let open = |workload: &Workload, place: &'a Cluster| {
            let tally = Tally::new(&place.table, &place.energy);
            (tally, rows.book(place, last == Some(workload.cpu)))
        };
        let mut pages = DecisionPages::default();
        let close = |(counts, of_cpu): (Counts, DecisionPages)| {
            pages.merge(of_cpu);
            counts
        };
        let runs = self.run_books(job.candidate, &job.cpus, same_machine, open, close)?;
        decisions.done(n, runs.failure.is_none().then_some((rows, pages)))?;
        Ok(runs)
    }

    pub(super) fn run_cpus(
        &self,
        candidate: &Candidate,
        cpus: &[&Workload],
        same_machine: bool,
    ) -> Result<CpuRuns<'a>, CommandError> {
        let open = |_: &Workload, place: &'a Cluster| Tally::new(&place.table, &place.energy);
        self.run_books(candidate, cpus, same_machine, open, |counts| counts)
    }

    /// The same with the book that `open` opens; `close` gives the counts of its pages.
    fn run_books<B: Book>(
        &self,
        candidate: &Candidate,
        cpus: &[&Workload],
        same_machine: bool,
        open: impl Fn(&Workload, &'a Cluster) -> B,
        mut close: impl FnMut(B::Pages) -> Counts,
    ) -> Result<CpuRuns<'a>, CommandError> {
        let setting = Setting::new(same_machine, self.request.setup.seed);
        let runs = match candidate.run(cpus, self.placement, setting, open) {
            Ok(runs) => runs,
            // It takes no other's result away.
            Err(CommandError::Governor(e)) if candidate.is_foreign() && e.is_misbehaviour() => {
                return Ok(CpuRuns { failure: Some(e.to_string()), ..CpuRuns::default() });
            }
            Err(e) => return Err(e),
        };
        let mut out = CpuRuns { shared_state: runs.shared_state, ..CpuRuns::default() };
        for ran in runs.cpus {
            let Some(place) = self.placement.place(ran.cpu) else {
                unreachable!("CPU {} ran, and the platform has no place for it", ran.cpu)
            };
            let mut tally = Tally::new(&place.table, &place.energy);
            tally.counts = close(ran.pages);
            out.counts.merge(&ran.counts);
            out.cpus.push((ran.cpu, tally));
        }
        Ok(out)
    }

    pub(super) fn report(
        &self,
        runs: Vec<TraceRuns<'a>>,
        baseline: usize,
    ) -> Result<ReplayReport, PiecesError> {
        let mut traces = Vec::new();
        for (recording, r) in self.placement.recordings.iter().zip(&runs) {
            traces.push(TraceResult {
                head: TraceHead::new(recording, |cpu| self.placement.missing(cpu)).with_fidelity(&r.fidelity),
                same_machine: self.placement.same_machine(recording),
                parity: r.parity.clone(),
                fidelity: r.fidelity.clone(),
                sensitivity: Sensitivity::of(recording)?,
                governors: self.results(&r.governors, &r.oracle, baseline),
            });
        }
        let together = (runs.len() > 1).then(|| {
            let mut all = vec![CpuRuns::default(); self.candidates.len()];
            let mut oracle = CpuRuns::default();
            for r in &runs {
                for (to, from) in all.iter_mut().zip(&r.governors) {
                    to.merge(from.clone());
                }
                oracle.merge(r.oracle.clone());
            }
            self.results(&all, &oracle, baseline)
        });
        let recordings = &self.placement.recordings;
        let foreign = governors::foreign_with(self.candidates, recordings, runs.iter().map(|r| &r.kernels));
        Ok(ReplayReport {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            request: self.request.clone(),
            platform: PlatformHead::new(self.placement),
            baseline: self.candidates.get(baseline).map_or_else(String::new, |c| c.name().to_owned()),
            foreign,
            traces,
            together,
            power_limits: Vec::new(),
            answer: Answer::default(),
        })
    }

    fn results(&self, runs: &[CpuRuns<'a>], oracle: &CpuRuns<'a>, baseline: usize) -> Vec<GovernorResult> {
        let scores: Vec<Score> = runs.iter().map(CpuRuns::score).collect();
        let best = oracle.score().energy;
        let base = scores.get(baseline).filter(|s| !s.is_nothing());
        let result = |((candidate, r), s): ((&Candidate, &CpuRuns<'a>), &Score)| GovernorResult {
            governor: candidate.name().to_owned(),
            failure: r.failure.clone(),
            notes: notes(r),
            decisions: r.counts.decisions,
            out_of_range: r.counts.out_of_range,
            regret_pct: if s.is_nothing() { f64::NAN } else { relative(s.energy, best) },
            change: base.filter(|_| !s.is_nothing()).map_or_else(Change::none, |b| Change::between(b, s)),
            groups: self.groups(r),
            score: s.clone(),
        };
        self.candidates.iter().zip(runs).zip(&scores).map(result).collect()
    }

    fn groups(&self, runs: &CpuRuns<'a>) -> Vec<Group> {
        if runs.failure.is_some() {
            return Vec::new();
        }
        let parts = self.placement.parts(self.request.per, &runs.cpus, |(cpu, _)| *cpu);
        let group = |(name, members): (String, Vec<&(u32, Tally<'a>)>)| {
            let tallies: Vec<&Tally<'a>> = members.iter().map(|(_, t)| t).collect();
            Group { name, score: Score::of(&tallies) }
        };
        parts.into_iter().map(group).collect()
    }
}

/// What a run's reader has to know.
fn notes(runs: &CpuRuns<'_>) -> Vec<Note> {
    let mut out = Vec::new();
    if let Some(first) = runs.counts.first_out_of_range {
        out.push(NoteId::ChoseNoState.note(format!(
            "returned {} on CPU {}, decision {}, which is not an idle state; {} such answers in all; the \
             nearest state was used",
            first.answer, first.cpu, first.decision, runs.counts.out_of_range
        )));
    }
    if runs.shared_state {
        out.push(NoteId::SharedState.note(SHARED_STATE));
    }
    out
}
