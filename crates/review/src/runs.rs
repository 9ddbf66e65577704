// SPDX-License-Identifier: GPL-2.0-only
//! A recording under all versions of the governors, and where their choices differ.

use idlewise_conform::settle_io_waits;
use std::collections::BTreeMap;
use std::path::Path;

use idlewise_answer::{Reason, Trust};
use idlewise_collect::open_recording;
use idlewise_conform::own_governor::kernels_own;
use idlewise_governor::{Governor, GovernorError, Loader, Offered};
use idlewise_idle::Hosted;
use idlewise_model::NotKnown;
use idlewise_platform::Cluster;
use idlewise_recording::candidate::Candidate;
use idlewise_recording::placement::Placement;
use idlewise_recording::{CommandError, FidelityHead, RecordingOptions, ReplaySetup, TraceHead};
use idlewise_replay::{Setting, SleepLengths, Workload, run};
use idlewise_score::{Score, Tally};
use idlewise_study::compare::WaitCounts;
use idlewise_study::compare::parting::{Parting, SideBySide};
use idlewise_study::waits::{Wait, WaitFiles, WaitPages, Waits};
use serde::{Deserialize, Serialize};

use crate::versions::{Lineage, Version};

/// Basic blocks are counted until so many wake events of each CPU.
const COUNTED_EVENTS: usize = 10_000;
/// Idle periods of a pair that are kept of each recording: as many as are explained.
pub(crate) const PERIODS: usize = 3;

/// A recording under all versions.
pub(crate) struct Run {
    /// What it was replayed with.
    pub(crate) setup: ReplaySetup,
    pub(crate) head: TraceHead,
    /// The machine that was recorded.
    pub(crate) machine: String,
    /// What its energies are worth, in short.
    pub(crate) energy_grade: String,
    pub(crate) fidelity: Result<FidelityHead, NotKnown>,
    /// How far it can be trusted.
    pub(crate) trust: Trust,
    /// Wake events whose sleep length is not certain, and all.
    pub(crate) unsure: [u64; 2],
    /// In the order of the governors.
    pub(crate) lineages: Vec<LineageRun>,
}

/// A recording under the versions of one governor.
pub(crate) struct LineageRun {
    pub(crate) versions: Vec<Result<VersionRun, String>>,
    /// By the numbers of both versions.
    pub(crate) pairs: BTreeMap<(usize, usize), Pair>,
}

pub(crate) struct VersionRun {
    pub(crate) score: Score,
    pub(crate) blocks: Result<Blocks, String>,
}

/// Basic blocks that decisions took.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Blocks {
    pub(crate) blocks: u64,
    pub(crate) decisions: u64,
}

/// Two versions compared wake event by wake event.
pub(crate) struct Pair {
    pub(crate) waits: WaitCounts,
    pub(crate) periods: Largest,
}

/// An idle period in which two versions choose differently.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Period {
    pub(crate) cpu: u32,
    pub(crate) at_ns: u64,
    /// Until the wake event, ns.
    pub(crate) idle_ns: u64,
    /// The numbers of both decisions on the CPU.
    pub(crate) decisions: [u64; 2],
    /// Energy of the second above that of the first, in the platform's unit.
    pub(crate) energy: f64,
    pub(crate) latency_ns: i64,
    /// What it adds to the first's energy, and to its sum of latencies, %.
    pub(crate) shares_pct: [f64; 2],
}

/// What a version left on the CPUs of a recording.
struct Pages {
    files: WaitFiles,
    waits: Vec<(u32, WaitPages)>,
    score: Score,
    /// Sums over all idle periods.
    energy_fj: u128,
    latency_ns: u128,
}

/// Where recordings are replayed.
///
/// The recorded machine in it is that of recordings that do not say it themselves.
pub(crate) fn setup(platform: Option<&String>, recorded_on: Option<&String>, seed: u64) -> ReplaySetup {
    let recording = RecordingOptions { recorded_on: recorded_on.cloned(), ..RecordingOptions::default() };
    ReplaySetup { platform: platform.cloned(), seed, recording, ..ReplaySetup::default() }
}

/// Versions that misbehave, by the numbers of lineage and version, and how: they are not run again.
pub(crate) type Misbehaving = BTreeMap<(usize, usize), String>;

impl LineageRun {
    fn scores(&self) -> impl Iterator<Item = &Score> {
        self.versions.iter().filter_map(|version| Some(&version.as_ref().ok()?.score))
    }
}

impl Run {
    /// Replays the recording at `path`, with `lengths` where it leaves sleep lengths open. What misbehaved on the first is `known`
    /// on the others, and is not run there.
    pub(crate) fn of(
        path: &Path,
        setup: &ReplaySetup,
        lengths: SleepLengths,
        lineages: &[Lineage],
        known: Option<&Misbehaving>,
    ) -> Result<Self, CommandError> {
        let (mut placement, setup) = open_recording(path, setup)?;
        settle_io_waits(&mut placement.recordings, &Offered::nothing())?;
        let recording = placement.first()?;
        let workloads = placement.workloads_with(recording, lengths)?;
        let setting = Setting::new(placement.same_machine(recording), setup.seed);
        let stage = Stage { placement: &placement, workloads: &workloads, setting };
        let lineages = lineages
            .iter()
            .enumerate()
            .map(|(at, lineage)| stage.lineage(lineage, known.map(|known| move |v| known.get(&(at, v)))));
        let lineages: Vec<LineageRun> = lineages.collect::<Result<_, _>>()?;
        let kernels = recording.kernels_governor(&Offered::nothing())?;
        let fidelity = kernels_own(recording, &kernels)?;
        let head = TraceHead::new(recording, |cpu| placement.missing(cpu)).with_fidelity(&fidelity);
        let mut grades: Vec<&str> = placement.used().iter().map(|c| c.energy.grade.label()).collect();
        grades.dedup();
        let energy_grade = grades.join(", ");
        let machine = recording.machine.id.clone();
        let unsure = recording.unsure_waits()?;
        let mut reasons = Trust::of_replay(&head, placement.same_machine(recording), &fidelity).reasons;
        let wakeups = lineages.iter().flat_map(LineageRun::scores).map(|score| score.wakeups).max();
        reasons.extend(wakeups.and_then(Reason::of_wakeups));
        let trust = Trust::from(reasons);
        Ok(Self { setup, head, machine, energy_grade, fidelity, trust, unsure, lineages })
    }
}

impl Run {
    /// The versions that misbehaved.
    pub(crate) fn misbehaving(&self) -> Misbehaving {
        let of = |(at, lineage): (usize, &LineageRun)| {
            let failed = lineage.versions.iter().enumerate();
            failed.filter_map(|(v, run)| Some(((at, v), run.as_ref().err()?.clone()))).collect::<Vec<_>>()
        };
        self.lineages.iter().enumerate().flat_map(of).collect()
    }
}

struct Stage<'a> {
    placement: &'a Placement,
    workloads: &'a [Workload],
    setting: Setting,
}

impl Stage<'_> {
    fn lineage<'k>(
        &self,
        lineage: &Lineage,
        known: Option<impl Fn(usize) -> Option<&'k String>>,
    ) -> Result<LineageRun, CommandError> {
        let mut pages: Vec<Result<Pages, String>> = Vec::new();
        for (number, version) in lineage.versions.iter().enumerate() {
            if let Some(why) = known.as_ref().and_then(|known| known(number)) {
                pages.push(Err(why.clone()));
                continue;
            }
            pages.push(match self.version(version) {
                Ok(pages) => Ok(pages),
                Err(CommandError::Governor(e)) if e.is_misbehaviour() => Err(version.shown(&e.to_string())),
                Err(e) => return Err(e),
            });
        }
        let mut pairs = BTreeMap::new();
        let usable = |v: usize| match &known {
            Some(known) => known(v).is_none(),
            None => pages[v].is_ok(),
        };
        for (a, b) in lineage.pairs(&usable) {
            if let (Ok(one), Ok(other)) = (&pages[a], &pages[b]) {
                pairs.insert((a, b), self.pair(one, other)?);
            }
        }
        let runs = lineage.versions.iter().zip(pages).map(|(version, pages)| {
            pages.map(|pages| VersionRun { score: pages.score, blocks: self.blocks(version) })
        });
        Ok(LineageRun { versions: runs.collect(), pairs })
    }

    fn version<'s>(&'s self, version: &Version) -> Result<Pages, CommandError> {
        let candidate = Candidate::of(version.governor.clone());
        let files = WaitFiles::new(self.workloads)?;
        let open = |workload: &Workload, place: &'s Cluster| {
            (
                Tally::new(&place.table, &place.energy),
                Waits::new(workload, &files, &place.table, &place.energy),
            )
        };
        let cpus: Vec<&Workload> = self.workloads.iter().collect();
        let runs = self.run(&candidate, &cpus, open)?;
        let mut waits = Vec::new();
        let mut tallies = Vec::new();
        for ran in runs {
            let place = self.place(ran.cpu);
            let mut tally = Tally::new(&place.table, &place.energy);
            tally.counts = ran.pages.0;
            tallies.push(tally);
            waits.push((ran.cpu, ran.pages.1));
        }
        let score = Score::of(&tallies.iter().collect::<Vec<_>>());
        let energy_fj = tallies.iter().map(Tally::energy_fj).sum();
        let mut latency_ns = 0;
        for (cpu, pages) in &waits {
            for wait in files.read(*cpu, pages) {
                latency_ns += u128::from(wait?.latency_ns);
            }
        }
        Ok(Pages { files, waits, score, energy_fj, latency_ns })
    }

    fn run<'s, B: idlewise_recording::candidate::Book>(
        &'s self,
        candidate: &Candidate,
        cpus: &[&'s Workload],
        open: impl Fn(&'s Workload, &'s Cluster) -> B,
    ) -> Result<Vec<idlewise_recording::candidate::Ran<B::Pages>>, CommandError> {
        Ok(candidate.run(cpus, self.placement, self.setting, open)?.cpus)
    }

    fn place(&self, cpu: u32) -> &Cluster {
        let Some(place) = self.placement.place(cpu) else {
            unreachable!("CPU {cpu} ran, and the platform has no place for it")
        };
        place
    }

    fn pair(&self, a: &Pages, b: &Pages) -> Result<Pair, CommandError> {
        let mut all = SideBySide::default();
        let mut periods = Largest::default();
        for (((cpu, one), (_, other)), workload) in a.waits.iter().zip(&b.waits).zip(self.workloads) {
            assert_eq!(*cpu, workload.cpu, "every CPU of a recording ran, in its order");
            let one = || a.files.read(*cpu, one);
            let other = || b.files.read(*cpu, other);
            all.merge(&SideBySide::new(&workload.events, one(), other())?);
            let energy = &self.place(*cpu).energy;
            let mut pairs = one().zip(other());
            for block in workload.events.blocks() {
                for (event, (one, other)) in block?.iter().zip(&mut pairs) {
                    let (one, other): (Wait, Wait) = (one?, other?);
                    if !Parting::of(&one, &other).is_first() {
                        continue;
                    }
                    let energy_fj = other.energy_fj.cast_signed() - one.energy_fj.cast_signed();
                    let latency_ns = i64::from(other.latency_ns) - i64::from(one.latency_ns);
                    let share = |part: f64, all: u128| if all == 0 { 0.0 } else { part * 100.0 / all as f64 };
                    let shares_pct =
                        [share(energy_fj as f64, a.energy_fj), share(latency_ns as f64, a.latency_ns)];
                    let amount = energy.in_unit(energy_fj.unsigned_abs());
                    let period = Period {
                        cpu: *cpu,
                        at_ns: event.start_ns,
                        idle_ns: event.at_ns.saturating_sub(event.start_ns),
                        decisions: [one.first, other.first],
                        energy: if energy_fj < 0 { -amount } else { amount },
                        latency_ns,
                        shares_pct,
                    };
                    periods.keep(period);
                }
            }
        }
        Ok(Pair { waits: WaitCounts::new(&all), periods })
    }

    fn blocks(&self, version: &Version) -> Result<Blocks, String> {
        let counted = version.counted.as_ref().map_err(String::clone)?;
        let setting = Setting { events: COUNTED_EVENTS, ..self.setting };
        let counts = counted.run(|loader| self.count(loader, setting));
        counts.map_err(|e| version.shown(&e.to_string()))
    }

    fn count(&self, loader: &Loader<'_>, setting: Setting) -> Result<Blocks, GovernorError> {
        let mut out = Blocks::default();
        for workload in self.workloads {
            let place = self.place(workload.cpu);
            let mut instance = loader.load(workload.grid.period_ns)?;
            let slot = instance.add_cpu(workload.cpu, &place.table, place.capacity)?;
            let before = instance.executed_blocks()?;
            let mut hosted = Hosted::new(&mut instance, slot);
            let counts = run(workload, &place.table, place.capacity, setting, &mut hosted, &mut ())?;
            out.blocks = out.blocks.saturating_add(instance.executed_blocks_since(before)?);
            out.decisions += counts.decisions;
        }
        Ok(out)
    }
}

/// The idle periods that move most: of energy and of latency, each down and up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Largest([[Vec<Period>; 2]; 2]);

impl Largest {
    /// Keeps those with the largest share, the earlier of equals.
    fn keep(&mut self, new: Period) {
        for (what, share) in new.shares_pct.iter().enumerate().filter(|(_, share)| **share != 0.0) {
            let kept = &mut self.0[what][usize::from(*share > 0.0)];
            let smaller = |old: &Period| old.shares_pct[what].abs() < share.abs();
            let at = kept.iter().position(smaller).unwrap_or(kept.len());
            kept.insert(at, new);
            kept.truncate(PERIODS);
        }
    }

    /// Those of energy (0) or latency (1) that add to it, or take from it.
    pub(crate) fn of(&self, what: usize, adds: bool) -> &[Period] {
        &self.0[what][usize::from(adds)]
    }
}

/// Whether `governor` runs at all: what does not even start is not replayed on every recording.
pub(crate) fn starts(governor: &Governor, version: &Version) -> Result<(), String> {
    let tick_ns = 4_000_000;
    let started = governor.run(|loader| loader.load(tick_ns).map(drop));
    started.map_err(|e| version.shown(&e.to_string()))
}
