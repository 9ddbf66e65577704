// SPDX-License-Identifier: GPL-2.0-only
//! Two governors over the same recordings, wait by wait: `idlewise compare`.

mod answer;
mod change;
pub mod parting;
mod report;
mod verdict;

use idlewise_conform::settle_io_waits;
use std::sync::atomic::{AtomicUsize, Ordering};

use idlewise_answer::Answer;
use idlewise_model::{Note, NoteId};
use idlewise_platform::Cluster;
use idlewise_replay::{RunCounts, Setting, Workload};
use idlewise_report::percent_of;
use idlewise_score::measure::{DECIDING, ENERGY};
use idlewise_score::{Counts, Score, Tally};
use rayon::prelude::*;

pub use answer::answer;
pub use change::{MeasureChange, cell};
pub use parting::{Cost, Side};
pub use report::{
    CauseCost, CompareReport, CompareRequest, Comparison, Direction, PartingCost, Range, RunScore, SCHEMA,
    Spread, TraceComparison, Verdict, WaitCounts,
};
pub use verdict::{SMALL_LATENCY_NS, SMALL_PCT};

pub use crate::condition::{Check, Measured};

use crate::condition::{self, Condition};
use crate::replay::{Pictures, PlatformHead, ReplayDetail, Tallies};
use crate::waits::{WaitFiles, WaitPages, Waits};
use idlewise_conform::own_governor::kernels_own;
use idlewise_recording::candidate::{Candidate, Ran, SHARED_STATE, chunks};
use idlewise_recording::governors;
use idlewise_recording::placement::Placement;
use idlewise_recording::{CommandError, Recording, TraceHead};
pub use parting::FJ_PER_UNIT;
use parting::{Parting, SideBySide};

/// Compares what `request` asks for. `progress` hears of every finished step: done and of how many.
///
/// # Errors
/// [`CommandError`] when a condition cannot be read, when a recording, platform or governor cannot be read or found, or when
/// nothing is left to replay.
pub fn compare(
    request: &CompareRequest,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<CompareReport, CommandError> {
    compared(request, progress, |_, _| Ok(())).map(|(report, ())| report)
}

/// The same, with what charts show of it; of a governor with itself that of one.
///
/// # Errors
/// As [`compare`].
pub fn compare_in_detail(
    request: &CompareRequest,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(CompareReport, ReplayDetail), CommandError> {
    compared(request, progress, |stage, runs| stage.detail(runs))
}

fn compared<T>(
    request: &CompareRequest,
    progress: &(dyn Fn(usize, usize) + Sync),
    more: impl FnOnce(&Stage<'_>, &[Vec<CpuPair<'_>>]) -> Result<T, CommandError>,
) -> Result<(CompareReport, T), CommandError> {
    let metrics = condition::vocabulary();
    let conditions: Vec<Condition> =
        request.fail_if.iter().map(|c| Condition::read(c, &metrics)).collect::<Result<_, _>>()?;
    // A governor may be compared with itself: then nothing differs.
    let names = [request.a.clone(), request.b.clone()];
    let candidates = governors::all_candidates(&names, &request.setup.kernel_trees)?;
    let [a, b] = candidates.as_slice() else {
        let given = format!("{} and {}", request.a, request.b);
        let why = "expected two governors, not a whole kernel tree (write linux:VERSION/GOVERNOR)";
        return Err(CommandError::argument("--governor", given, why));
    };
    if a.name() == b.name() && request.a != request.b {
        return Err(CommandError::governor_twice(a.name()));
    }
    let mut placement = Placement::open(&request.traces, &request.setup)?;
    let offered = governors::offered([&request.a, &request.b], &request.setup.kernel_trees);
    settle_io_waits(&mut placement.recordings, &offered)?;
    let stage = Stage { placement: &placement, a, b, request };
    let runs = stage.run_all(progress)?;
    let mut report = stage.report(&runs)?;
    report.verdict = Verdict::new(&report);
    report.verdict.notes.extend(stage.shared_state(&runs));
    report.answer = answer(&report, &DECIDING);
    report.checks = conditions.iter().map(|c| report.check(c)).collect();
    let more = more(&stage, &runs)?;
    Ok((report, more))
}

/// Everything that stays the same during the runs.
struct Stage<'a> {
    placement: &'a Placement,
    a: &'a Candidate,
    b: &'a Candidate,
    request: &'a CompareRequest,
}

/// One CPU under both governors.
struct CpuPair<'s> {
    cpu: u32,
    a: Books<'s>,
    b: Books<'s>,
    waits: SideBySide,
    /// Whether A and B changed memory that belongs to no CPU.
    shared_state: [bool; 2],
}

/// The tallies of A, and of B where it is another governor.
fn both<'r>(pairs: &'r [CpuPair<'_>], different: bool) -> Vec<Tallies<'r>> {
    let a = pairs.iter().map(|pair| (pair.cpu, &pair.a.tally)).collect();
    let b = || Some(pairs.iter().map(|pair| (pair.cpu, &pair.b.tally)).collect());
    std::iter::once(Some(a)).chain(different.then(b)).collect()
}

/// What is kept of one run.
struct Books<'s> {
    tally: Tally<'s>,
    counts: RunCounts,
    /// Energy if the powers that are assumed for the states fell in equal steps; none where none are assumed.
    in_equal_steps_fj: Option<u128>,
}

/// What comes back of a run.
type Pages = (Counts, WaitPages);

impl<'s> Stage<'s> {
    fn run_all(
        &self,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Vec<Vec<CpuPair<'s>>>, CommandError> {
        let recordings = &self.placement.recordings;
        let workloads: Vec<Vec<Workload>> =
            recordings.par_iter().map(|r| self.placement.workloads(r)).collect::<Result<_, _>>()?;
        let mut jobs = Vec::new();
        for ((t, w), recording) in workloads.iter().enumerate().zip(recordings) {
            let same_machine = self.placement.same_machine(recording);
            let setting = Setting::new(same_machine, self.request.setup.seed);
            let together = self.a.is_foreign() || self.b.is_foreign();
            jobs.extend(chunks(w, together).into_iter().map(|cpus| (t, setting, cpus)));
        }
        let done = AtomicUsize::new(0);
        let total = jobs.len();
        let finished: Vec<(usize, Vec<CpuPair<'s>>)> = jobs
            .par_iter()
            .map(|(t, setting, cpus)| {
                // Whoever hears of it may end the work.
                progress(done.load(Ordering::Relaxed), total);
                let pairs = self.run_both(cpus, *setting)?;
                progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
                Ok((*t, pairs))
            })
            .collect::<Result<_, CommandError>>()?;
        let mut all: Vec<Vec<CpuPair<'s>>> = recordings.iter().map(|_| Vec::new()).collect();
        for (t, pairs) in finished {
            let Some(to) = all.get_mut(t) else { continue };
            to.extend(pairs);
        }
        Ok(all)
    }

    fn run_both(&self, cpus: &[&Workload], setting: Setting) -> Result<Vec<CpuPair<'s>>, CommandError> {
        let run = |candidate: &Candidate| {
            let files = WaitFiles::new(cpus.iter().copied())?;
            let open = |workload: &Workload, place: &'s Cluster| {
                let tally = Tally::new(&place.table, &place.energy);
                (tally, Waits::new(workload, &files, &place.table, &place.energy))
            };
            let runs = candidate.run(cpus, self.placement, setting, open)?;
            Ok::<_, CommandError>((runs, files))
        };
        let (a, b) = rayon::join(|| run(self.a), || run(self.b));
        let ((a, a_files), (b, b_files)) = (a?, b?);
        let shared_state = [a.shared_state, b.shared_state];
        let mut pairs = Vec::new();
        for ((workload, a), b) in cpus.iter().zip(a.cpus).zip(b.cpus) {
            let Some(place) = self.placement.place(a.cpu) else { continue };
            let (cpu, (a, a_waits), (b, b_waits)) = (a.cpu, Books::close(a, place), Books::close(b, place));
            let waits =
                SideBySide::new(&workload.events, a_files.read(cpu, &a_waits), b_files.read(cpu, &b_waits))?;
            pairs.push(CpuPair { cpu, a, b, waits, shared_state });
        }
        Ok(pairs)
    }

    /// What charts show of `runs`.
    fn detail(&self, runs: &[Vec<CpuPair<'_>>]) -> Result<ReplayDetail, CommandError> {
        let different = self.a.name() != self.b.name();
        let candidates = std::iter::once(self.a).chain(different.then_some(self.b)).collect();
        let pictures = Pictures { placement: self.placement, candidates, seed: self.request.setup.seed };
        pictures.detail(&runs.iter().map(|pairs| both(pairs, different)).collect::<Vec<_>>())
    }

    /// What to know of governors whose CPUs share state.
    fn shared_state(&self, runs: &[Vec<CpuPair<'s>>]) -> Vec<Note> {
        let [a, b] = [0, 1].map(|side| runs.iter().flatten().any(|p| p.shared_state[side]));
        let sharing = [(a, self.a), (b, self.b)].into_iter().filter(|(shared, _)| *shared);
        let note =
            |(_, c): (bool, &Candidate)| NoteId::SharedState.note(format!("{} {SHARED_STATE}", c.name()));
        sharing.map(note).collect()
    }

    fn report(&self, runs: &[Vec<CpuPair<'s>>]) -> Result<CompareReport, CommandError> {
        let recordings = &self.placement.recordings;
        let request = self.request;
        let offered = governors::offered([&request.a, &request.b], &request.setup.kernel_trees);
        let own = |r| {
            let governor = Recording::kernels_governor(r, &offered)?;
            Ok((kernels_own(r, &governor)?, governor))
        };
        let own: Vec<_> = recordings.par_iter().map(own).collect::<Result<_, CommandError>>()?;
        let (fidelities, kernels): (Vec<_>, Vec<_>) = own.into_iter().unzip();
        let mut traces = Vec::new();
        for ((recording, fidelity), pairs) in recordings.iter().zip(fidelities).zip(runs) {
            let pairs: Vec<&CpuPair<'s>> = pairs.iter().collect();
            let cpus: Vec<Comparison> = pairs.iter().map(|p| Comparison::new("", &[*p])).collect();
            traces.push(TraceComparison {
                head: TraceHead::new(recording, |cpu| self.placement.missing(cpu)).with_fidelity(&fidelity),
                same_machine: self.placement.same_machine(recording),
                fidelity,
                comparison: self.comparison(&pairs),
                across_cpus: Spread::of(&cpus.iter().collect::<Vec<_>>()),
            });
        }
        let together =
            (traces.len() > 1).then(|| self.comparison(&runs.iter().flatten().collect::<Vec<_>>()));
        let mut energy_grades: Vec<String> = Vec::new();
        for grade in self.placement.used().iter().map(|c| c.energy.grade.label()) {
            if !energy_grades.iter().any(|g| g == grade) {
                energy_grades.push(grade.to_owned());
            }
        }
        Ok(CompareReport {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            request: self.request.clone(),
            platform: PlatformHead::new(self.placement),
            foreign: governors::foreign_with([self.a, self.b], recordings, &kernels),
            energy_grades,
            a: self.a.name().to_owned(),
            b: self.b.name().to_owned(),
            across_traces: Spread::of(&traces.iter().map(|t| &t.comparison).collect::<Vec<_>>()),
            traces,
            together,
            verdict: Verdict::default(),
            answer: Answer::default(),
            checks: Vec::new(),
        })
    }

    fn comparison(&self, pairs: &[&CpuPair<'s>]) -> Comparison {
        let mut all = Comparison::new("all", pairs);
        for (name, members) in self.placement.parts(self.request.per, pairs, |p| p.cpu) {
            let members: Vec<&CpuPair<'s>> = members.into_iter().copied().collect();
            all.groups.push(Comparison::new(&name, &members));
        }
        all
    }
}

impl<'s> Books<'s> {
    fn close(ran: Ran<Pages>, place: &'s Cluster) -> (Self, WaitPages) {
        let (counts, waits) = ran.pages;
        let in_equal_steps_fj = place.energy_in_equal_steps().map(|energy| counts.energy_fj(&energy));
        let mut tally = Tally::new(&place.table, &place.energy);
        tally.counts = counts;
        (Self { tally, counts: ran.counts, in_equal_steps_fj }, waits)
    }

    /// Energy if the assumed powers fell in equal steps; where none are assumed, the energy.
    fn fj_in_equal_steps(&self) -> u128 {
        self.in_equal_steps_fj.unwrap_or_else(|| self.tally.energy_fj())
    }
}

impl Comparison {
    fn new(part: &str, pairs: &[&CpuPair<'_>]) -> Self {
        let mut waits = SideBySide::default();
        pairs.iter().for_each(|p| waits.merge(&p.waits));
        let a = RunScore::new(&pairs.iter().map(|p| &p.a).collect::<Vec<_>>());
        let b = RunScore::new(&pairs.iter().map(|p| &p.b).collect::<Vec<_>>());
        let names: Vec<&str> = a.score.states.iter().map(|s| s.name.as_str()).collect();
        let parting = |(p, cost): (&Parting, &Cost)| PartingCost::new(*p, *cost, &names);
        let cause = |(cause, cost): (&idlewise_model::WakeCause, &Cost)| CauseCost {
            cause: cause.name().to_owned(),
            cost: *cost,
        };
        Self {
            part: part.to_owned(),
            waits: WaitCounts::new(&waits),
            changes: MeasureChange::all(&a.score, &b.score),
            energy_in_equal_steps: in_equal_steps(pairs),
            total: waits.total(),
            partings: waits.by_parting.iter().map(parting).collect(),
            causes: waits.by_cause.iter().map(cause).collect(),
            a,
            b,
            groups: Vec::new(),
        }
    }
}

fn in_equal_steps(pairs: &[&CpuPair<'_>]) -> Option<MeasureChange> {
    let first = pairs.iter().find(|p| p.a.in_equal_steps_fj.is_some())?;
    let energy = |fj: u128| first.a.tally.energy().in_unit(fj);
    let a = energy(pairs.iter().map(|p| p.a.fj_in_equal_steps()).sum());
    let b = energy(pairs.iter().map(|p| p.b.fj_in_equal_steps()).sum());
    Some(MeasureChange::new(ENERGY, a, b))
}

impl RunScore {
    fn new(books: &[&Books<'_>]) -> Self {
        let mut counts = RunCounts::default();
        books.iter().for_each(|b| counts.merge(&b.counts));
        let tallies: Vec<&Tally<'_>> = books.iter().map(|b| &b.tally).collect();
        Self { decisions: counts.decisions, out_of_range: counts.out_of_range, score: Score::of(&tallies) }
    }
}

impl WaitCounts {
    /// Counts what was laid side by side.
    pub fn new(waits: &SideBySide) -> Self {
        let all = waits.count(|_| true);
        let other_state = waits.count(|p| matches!(p, Parting::State { .. }));
        let other_tick = waits.count(|p| matches!(p, Parting::Tick { .. }));
        Self {
            all,
            other_state,
            other_tick,
            other_later: waits.count(|p| *p == Parting::Later),
            only_a: waits.count(|p| *p == Parting::OnlyA),
            only_b: waits.count(|p| *p == Parting::OnlyB),
            same: waits.count(|p| *p == Parting::Same),
            neither: waits.count(|p| *p == Parting::Neither),
            differ_pct: percent_of(other_state + other_tick, all),
        }
    }
}

impl PartingCost {
    fn new(parting: Parting, cost: Cost, names: &[&str]) -> Self {
        let name = |state: u8| names.get(usize::from(state)).map(|n| (*n).to_owned());
        let (a_state, b_state, a_keeps_tick) = match parting {
            Parting::State { a, b } => (name(a), name(b), None),
            Parting::Tick { state, a_keeps } => (name(state), name(state), Some(a_keeps)),
            _ => (None, None, None),
        };
        Self { kind: parting.kind().to_owned(), a_state, b_state, a_keeps_tick, cost }
    }
}
