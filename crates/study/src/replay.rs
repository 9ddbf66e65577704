// SPDX-License-Identifier: GPL-2.0-only
//! Recordings, governors, one answer: `idlewise replay`.

mod sensitivity;

use std::path::PathBuf;

use idlewise_platform::{Cluster, EnergyTable, Platform};
use idlewise_replay::{RunCounts, Setting, Workload};
use idlewise_score::{Measure, Place, Score, Tally, Unit};
use rayon::prelude::*;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use idlewise_conform::own_governor::kernels_own;
use idlewise_conform::recorded_governors::{self, RecordedGovernor};
pub use idlewise_recording::candidate::ORACLE;
use idlewise_recording::candidate::{Candidate, SHARED_STATE, chunks};
use idlewise_recording::governors::{self, ForeignHead};
pub use idlewise_recording::placement::Per;
use idlewise_recording::placement::Placement;
use idlewise_recording::{CommandError, FidelityHead, RecordingOptions, TraceHead};
pub use sensitivity::{GovernorSensitivity, MetricSensitivity, Sensitivity, TRIED};

/// Version of the JSON that a replay gives; it changes when a field changes its meaning or goes away.
pub const SCHEMA: &str = "idlewise.replay/1";

/// What to replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayRequest {
    /// Traces or tapes.
    #[serde(serialize_with = "idlewise_recording::json_paths::paths")]
    pub traces: Vec<PathBuf>,
    /// What is known about them beside their files.
    pub recording: RecordingOptions,
    /// The machine to replay on; the recorded one where nothing is given.
    pub platform: Option<String>,
    /// Put every CPU on this cluster of the machine.
    pub cluster: Option<String>,
    /// Governors with their parameters, and [`ORACLE`].
    pub governors: Vec<String>,
    /// Folders of kernel trees, for governors such as `linux:6.12/teo`.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "idlewise_recording::json_paths::paths"
    )]
    pub kernel_trees: Vec<PathBuf>,
    /// The governor that the others are compared with; the first where nothing is given.
    pub baseline: Option<String>,
    /// How to break the result down.
    pub per: Per,
    /// Seed of the random numbers that a governor may ask for.
    pub seed: u64,
    /// Replay also with the least and the greatest sleep lengths that the recordings allow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sensitivity: bool,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of idlewise.
    pub version: String,
    /// What was asked; it can be asked again.
    pub request: ReplayRequest,
    /// The machine that was replayed on.
    pub platform: PlatformHead,
    /// The baseline governor.
    pub baseline: String,
    /// Where the governors came from that are none of ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<ForeignHead>,
    /// One for each trace.
    pub traces: Vec<TraceResult>,
    /// All traces together, where there are several.
    pub together: Option<Vec<GovernorResult>>,
}

/// The machine that was replayed on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlatformHead {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// XXH3-64 of its platform file.
    pub hash: String,
    /// States that no governor can enter, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_entered: Vec<String>,
    /// What the energy figures rest on.
    pub energy_basis: Vec<String>,
}

/// The results of one trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceResult {
    /// The recording.
    pub head: TraceHead,
    /// Whether it was replayed on the machine that was recorded.
    pub same_machine: bool,
    /// Governors that the kernel ran, fed with the recorded inputs of their decisions, where the trace has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parity: Vec<RecordedGovernor>,
    /// How far replay makes the kernel's own choices.
    pub fidelity: Result<FidelityHead, String>,
    /// Sleep lengths that are not certain, and what hangs on them.
    pub sensitivity: Sensitivity,
    /// One for each governor, in the order asked.
    pub governors: Vec<GovernorResult>,
}

/// The result of one governor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GovernorResult {
    /// The governor with its parameters.
    pub governor: String,
    /// Why there is no result: it crashed, did not come back, refused a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What to know about the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Times it was asked.
    pub decisions: u64,
    /// Answers that were no state of the table.
    pub out_of_range: u64,
    /// The score; left out where there is none.
    #[serde(skip_serializing_if = "Score::is_nothing")]
    pub score: Score,
    /// Energy above the oracle's, % of the oracle's.
    pub regret_pct: f64,
    /// Difference to the baseline.
    pub change: Change,
    /// The score broken down.
    pub groups: Vec<Group>,
}

/// A part of a result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// "cpu 3", "BIG".
    pub name: String,
    /// Its score.
    pub score: Score,
}

/// Differences to the baseline, of each measure of [`Place::Baseline`]: shares in percentage points, the others in % of the
/// baseline's.
#[derive(Clone, Debug, PartialEq)]
pub struct Change(Vec<(&'static Measure, f64)>);

/// Splits `menu-6.1,teo-util:util_threshold_shift=5,a=1,oracle`: an item `name=value` goes to the governor before it.
/// Folders in paths may have both characters, but no comma.
#[must_use]
pub fn split_governors(list: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let is_parameter = |item: &str| {
        let name = item.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ' ')
    };
    for item in list.split(',').map(str::trim).filter(|i| !i.is_empty()) {
        match out.last_mut() {
            Some(last) if is_parameter(item) => {
                last.push(',');
                last.push_str(item);
            }
            _ => out.push(item.to_owned()),
        }
    }
    out
}

/// Replays what `request` asks for. `progress` hears of every finished step: done and of how many.
///
/// # Errors
/// [`CommandError`] when a recording, platform or governor cannot be read or found, or nothing is left to replay.
pub fn replay(
    request: &ReplayRequest,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<ReplayReport, CommandError> {
    let candidates = governors::candidates(&request.governors, &request.kernel_trees)?;
    let baseline = governors::baseline(request.baseline.as_deref(), &candidates)?;
    let placement = Placement::open(
        &request.traces,
        &request.recording,
        request.platform.as_deref(),
        request.cluster.as_deref(),
    )?;
    let stage = Stage { placement: &placement, candidates: &candidates, request };
    let runs = stage.run_all(progress)?;
    let mut report = stage.report(runs, baseline);
    report.foreign = governors::foreign_with(&candidates, &placement.recordings, &request.kernel_trees)?;
    if request.sensitivity {
        stage.try_bounds(&mut report)?;
    }
    placement.check()?;
    Ok(report)
}

/// Everything that stays the same during the runs.
struct Stage<'a> {
    placement: &'a Placement,
    candidates: &'a [Candidate],
    request: &'a ReplayRequest,
}

/// What came out for one trace: by candidate, then the oracle's tallies for regret, then the fidelity.
struct TraceRuns<'a> {
    governors: Vec<CpuRuns<'a>>,
    oracle: CpuRuns<'a>,
    parity: Vec<RecordedGovernor>,
    fidelity: Result<FidelityHead, String>,
}

impl<'a> TraceRuns<'a> {
    /// Of the candidate with this number; the oracle for regret comes after them.
    fn of(&mut self, candidate: usize) -> &mut CpuRuns<'a> {
        let all = self.governors.len();
        assert!(candidate <= all, "candidate {candidate} of {all}, and the oracle after them");
        self.governors.get_mut(candidate).unwrap_or(&mut self.oracle)
    }
}

/// One governor's runs on the CPUs of a trace.
#[derive(Clone, Default)]
struct CpuRuns<'a> {
    cpus: Vec<(u32, Tally<'a>)>,
    counts: RunCounts,
    /// The governor changed memory that belongs to no CPU.
    shared_state: bool,
    failure: Option<String>,
}

impl CpuRuns<'_> {
    /// All CPUs together. Several traces together are no result if one of them is missing.
    fn score(&self) -> Score {
        let counted = if self.failure.is_none() { self.cpus.as_slice() } else { &[] };
        Score::of(&counted.iter().map(|(_, t)| t).collect::<Vec<_>>())
    }

    fn merge(&mut self, other: Self) {
        self.cpus.extend(other.cpus);
        self.counts.merge(&other.counts);
        self.shared_state |= other.shared_state;
        self.failure = self.failure.take().or(other.failure);
    }
}

impl<'a> Stage<'a> {
    fn run_all(&self, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Vec<TraceRuns<'a>>, CommandError> {
        let recordings = &self.placement.recordings;
        let workloads: Vec<Vec<Workload>> =
            recordings.par_iter().map(|r| self.placement.workloads(r)).collect::<Result<_, _>>()?;
        let candidates: Vec<&Candidate> = self.candidates.iter().chain([&Candidate::Oracle]).collect();
        let finished = self.run_on(&workloads, &candidates, progress)?;
        let offered = governors::offered(&self.request.governors, &self.request.kernel_trees);
        let own = |r| Ok((recorded_governors::of_recording(r, &offered)?, kernels_own(r, &offered)?));
        let fidelities: Vec<_> = recordings.par_iter().map(own).collect::<Result<_, CommandError>>()?;
        let mut all: Vec<TraceRuns<'a>> = fidelities
            .into_iter()
            .map(|(parity, fidelity)| TraceRuns {
                governors: vec![CpuRuns::default(); self.candidates.len()],
                oracle: CpuRuns::default(),
                parity,
                fidelity,
            })
            .collect();
        for (t, c, runs) in finished {
            all[t].of(c).merge(runs);
        }
        Ok(all)
    }

    /// Runs all `candidates` on the workloads of each trace; gives the numbers of trace and candidate with each run.
    fn run_on(
        &self,
        workloads: &[Vec<Workload>],
        candidates: &[&Candidate],
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Vec<(usize, usize, CpuRuns<'a>)>, CommandError> {
        let mut jobs = Vec::new();
        for (t, w) in workloads.iter().enumerate() {
            for (c, candidate) in candidates.iter().enumerate() {
                let parts = chunks(w, candidate.is_foreign());
                jobs.extend(parts.into_iter().map(|cpus| (t, c, *candidate, cpus)));
            }
        }
        let done = std::sync::atomic::AtomicUsize::new(0);
        let total = jobs.len();
        jobs.par_iter()
            .map(|(t, c, candidate, cpus)| {
                let recording = self.placement.recordings.get(*t);
                let same_machine = recording.is_some_and(|r| self.placement.same_machine(r));
                let runs = self.run_cpus(candidate, cpus, same_machine)?;
                progress(done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1, total);
                Ok((*t, *c, runs))
            })
            .collect()
    }

    fn run_cpus(
        &self,
        candidate: &Candidate,
        cpus: &[&Workload],
        same_machine: bool,
    ) -> Result<CpuRuns<'a>, CommandError> {
        let setting = Setting::new(same_machine, self.request.seed);
        let open = |_: &Workload, place: &'a Cluster| Tally::new(&place.table, &place.energy);
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
            tally.counts = ran.pages;
            out.counts.merge(&ran.counts);
            out.cpus.push((ran.cpu, tally));
        }
        Ok(out)
    }

    fn report(&self, runs: Vec<TraceRuns<'a>>, baseline: usize) -> ReplayReport {
        let traces = self
            .placement
            .recordings
            .iter()
            .zip(&runs)
            .map(|(recording, r)| TraceResult {
                head: TraceHead::new(recording, |cpu| self.placement.missing(cpu)).with_fidelity(&r.fidelity),
                same_machine: self.placement.same_machine(recording),
                parity: r.parity.clone(),
                fidelity: r.fidelity.clone(),
                sensitivity: Sensitivity::of(recording),
                governors: self.results(&r.governors, &r.oracle, baseline),
            })
            .collect();
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
        ReplayReport {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            request: self.request.clone(),
            platform: PlatformHead::new(self.placement),
            baseline: self.candidates.get(baseline).map_or_else(String::new, |c| c.name().to_owned()),
            foreign: Vec::new(),
            traces,
            together,
        }
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
fn notes(runs: &CpuRuns<'_>) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(first) = runs.counts.first_out_of_range {
        out.push(format!(
            "answered {} on CPU {}, decision {}, which is no state; {} such answers in all, the nearest state was taken",
            first.answer, first.cpu, first.decision, runs.counts.out_of_range
        ));
    }
    if runs.shared_state {
        out.push(SHARED_STATE.to_owned());
    }
    out
}

impl PlatformHead {
    /// The machine of `placement`, with what is assumed of the clusters that are used.
    pub(crate) fn new(placement: &Placement) -> Self {
        Self::of(&placement.platform, placement.used().into_iter().map(|c| &c.energy))
    }

    /// `platform`, with what stands behind `energies`.
    pub fn of<'e>(platform: &Platform, energies: impl Iterator<Item = &'e EnergyTable>) -> Self {
        let mut energy_basis: Vec<String> = Vec::new();
        for energy in energies {
            let line = format!("{}: {}", energy.grade.label(), energy.basis);
            if !energy_basis.contains(&line) {
                energy_basis.push(line);
            }
        }
        Self {
            id: platform.id.clone(),
            name: platform.name.clone(),
            hash: format!("{:016x}", xxhash_rust::xxh3::xxh3_64(platform.to_toml().as_bytes())),
            not_entered: idlewise_recording::refused::words(platform),
            energy_basis,
        }
    }
}

/// What governors made the kernel itself do, as results of which the first is the baseline. There is no oracle.
pub fn results_of_scores(scores: Vec<(String, Score, Vec<Group>)>) -> Vec<GovernorResult> {
    let base = scores.first().map(|(_, score, _)| score.clone());
    let result = |(governor, score, groups): (String, Score, Vec<Group>)| GovernorResult {
        governor,
        failure: None,
        notes: Vec::new(),
        decisions: score.wakeups,
        out_of_range: 0,
        regret_pct: f64::NAN,
        change: base.as_ref().map_or_else(Change::none, |b| Change::between(b, &score)),
        groups,
        score,
    };
    scores.into_iter().map(result).collect()
}

impl Change {
    /// No difference in anything.
    fn none() -> Self {
        Self(Measure::all_in(Place::Baseline).map(|m| (m, 0.0)).collect())
    }

    fn between(base: &Score, s: &Score) -> Self {
        let change = |m: &Measure| {
            let (a, b) = (m.value(s), m.value(base));
            if m.unit == Unit::Share { a - b } else { relative(known(a), known(b)) }
        };
        Self(Measure::all_in(Place::Baseline).map(|m| (m, change(m))).collect())
    }

    /// The difference of `measure`, which is one of [`Place::Baseline`].
    #[must_use]
    pub fn of(&self, measure: &Measure) -> f64 {
        let Some((_, change)) = self.0.iter().find(|(m, _)| *m == measure) else {
            unreachable!("the baseline is not compared by {}", measure.name)
        };
        *change
    }

    /// Replaces the difference of `measure`.
    pub fn set(&mut self, measure: &Measure, change: f64) {
        self.0.iter_mut().filter(|(m, _)| *m == measure).for_each(|(_, old)| *old = change);
    }
}

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_map(Some(self.0.len()))?;
        for (measure, change) in &self.0 {
            let suffix = if measure.unit == Unit::Share { "pp" } else { "pct" };
            out.serialize_entry(&format!("{}_{suffix}", measure.name), change)?;
        }
        out.end()
    }
}

/// A time of which there is none, since no wakeup counts, is 0 in this form of JSON.
fn known(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

/// `a` above `b`, % of `b`; 0 where `b` is 0.
fn relative(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { (a - b) * 100.0 / b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "candidate 3 of 2")]
    fn a_run_of_no_candidate_is_not_the_oracles() {
        let mut runs = TraceRuns {
            governors: vec![CpuRuns::default(); 2],
            oracle: CpuRuns::default(),
            parity: Vec::new(),
            fidelity: Err(String::new()),
        };
        runs.of(2).merge(CpuRuns { shared_state: true, ..CpuRuns::default() });
        assert!(runs.oracle.shared_state && !runs.of(1).shared_state);
        runs.of(3);
    }

    #[test]
    fn a_list_of_governors_keeps_parameters_with_their_governor() {
        let got = split_governors("menu-6.1, teo-util:util_threshold_shift=5,x=1,oracle");
        assert_eq!(got, ["menu-6.1", "teo-util:util_threshold_shift=5,x=1", "oracle"]);
    }
}
