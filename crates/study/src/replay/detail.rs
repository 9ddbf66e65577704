// SPDX-License-Identifier: GPL-2.0-only
//! What charts show of a replay beyond its report: distributions, residencies of each CPU, the first periods of a few CPUs.

use std::collections::BTreeMap;

use idlewise_model::{Counted, Entry, IdleTable, Ledger, Outcome, PiecesError, TapeCpu, TickChoice};
use idlewise_platform::Cluster;
use idlewise_recording::candidate::{Book, Candidate};
use idlewise_recording::entries::recorded_entry;
use idlewise_recording::placement::Placement;
use idlewise_recording::{CommandError, Recording};
use idlewise_replay::{Setting, Workload};
use idlewise_report::percent_of;
use idlewise_score::Tally;
use rayon::prelude::*;

use super::spoken::{Spoken, spoken};

/// The recordings of a replay, for charts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayDetail {
    pub recordings: Vec<RecordingDetail>,
    /// What was left out, in sentences.
    pub sampled: Vec<String>,
}

/// What charts show of one recording and of each governor on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordingDetail {
    pub name: String,
    pub lengths: Vec<Lengths>,
    /// In the order of the request.
    pub governors: Vec<GovernorDetail>,
    /// What the kernel chose.
    pub recorded: Vec<ShownPeriod>,
}

/// How long idle periods were, by the part of the machine on which they are replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Lengths {
    pub cluster: String,
    /// From, to (ns), how many.
    pub bins: Vec<(u64, u64, u64)>,
    /// States by name, with their target residency, ns.
    pub targets: Vec<(String, i64)>,
}

/// One governor on one recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GovernorDetail {
    pub governor: String,
    pub residency: Vec<CpuResidency>,
    /// Wakeup latencies, ns, each with the share of wakeups (0 to 1) that have no longer one.
    pub latencies: Vec<(u32, f64)>,
    pub timeline: Vec<ShownPeriod>,
}

/// Time of one CPU in each state.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuResidency {
    pub cpu: u32,
    pub cluster: String,
    /// By state: its name, and its share of the idle time, %.
    pub states: Vec<(String, f64)>,
}

/// One idle period of a timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownPeriod {
    pub cpu: u32,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Number and name of the state that was entered; empty where the table has none.
    pub state: u8,
    pub name: String,
    /// `right`, `too deep`, `too shallow`, `rejected`.
    pub verdict: &'static str,
    pub wake: &'static str,
    /// What was chosen and what it came to, in a sentence.
    pub why: String,
}

/// So many CPUs have a timeline.
const TIMELINES: usize = 4;
/// The timeline of a CPU ends with this wake event.
const TIMELINE_EVENTS: usize = 160;
/// A governor that keeps the tick has more periods until then; no lane has more than this.
const TIMELINE_PERIODS: usize = 600;
/// So many decisions come with their inputs and reasons, over all lanes: a page has room for them.
const EXPLAINED: usize = 3_000;
/// But so many of each lane in any case.
const EXPLAINED_AT_LEAST: usize = 40;
/// Points of a distribution.
const POINTS: usize = 160;
/// Bins of lengths for each factor of ten.
const BINS_PER_DECADE: f64 = 8.0;

/// The first entries of a CPU, until a time.
struct First {
    until_ns: u64,
    entries: Vec<Entry>,
}

impl Ledger for First {
    fn entry(&mut self, e: &Entry) {
        if e.start_ns < self.until_ns && self.entries.len() < TIMELINE_PERIODS {
            self.entries.push(*e);
        }
    }
}

impl Book for First {
    type Pages = Vec<Entry>;
    fn pages(self) -> Vec<Entry> {
        self.entries
    }
}

/// The runs of one governor on the CPUs of a recording; nothing where it failed.
pub(crate) type Tallies<'t> = Option<Vec<(u32, &'t Tally<'t>)>>;

/// What pictures are made of: machines and governors, besides the tallies of the runs.
pub(crate) struct Pictures<'a> {
    pub(crate) placement: &'a Placement,
    pub(crate) candidates: Vec<&'a Candidate>,
    pub(crate) seed: u64,
}

impl Pictures<'_> {
    /// What charts show of `runs`: for each recording those of each candidate.
    pub(crate) fn detail(&self, runs: &[Vec<Tallies<'_>>]) -> Result<ReplayDetail, CommandError> {
        let each = self.placement.recordings.par_iter().zip(runs);
        let cpus = self.placement.recordings.iter().map(|r| r.tape.cpus.len().min(TIMELINES));
        let lanes = cpus.sum::<usize>() * self.candidates.len();
        let explained = (EXPLAINED / lanes.max(1)).clamp(EXPLAINED_AT_LEAST, TIMELINE_PERIODS);
        let recordings: Vec<RecordingDetail> = each
            .map(|(recording, runs)| self.recording_detail(recording, runs, explained))
            .collect::<Result<_, _>>()?;
        let mut sampled = vec![format!(
            "A timeline shows the first {TIMELINE_EVENTS} wake events of at most {TIMELINES} CPUs of a recording."
        )];
        // A lane is one CPU's.
        let longer = |g: &GovernorDetail| {
            g.timeline.chunk_by(|a, b| a.cpu == b.cpu).any(|lane| lane.len() > explained)
        };
        if recordings.iter().flat_map(|r| &r.governors).any(longer) {
            sampled.push(format!(
                "The first {explained} decisions of each governor on a CPU come with its inputs and reasons; idlewise \
                 explain has those of every decision."
            ));
        }
        Ok(ReplayDetail { recordings, sampled })
    }

    fn recording_detail(
        &self,
        recording: &Recording,
        runs: &[Tallies<'_>],
        explained: usize,
    ) -> Result<RecordingDetail, CommandError> {
        let workloads = self.placement.workloads(recording)?;
        let mut shown: Vec<(&Workload, u64)> = Vec::new();
        for workload in workloads.iter().take(TIMELINES) {
            shown.push((workload, end_of_timeline(workload)?));
        }
        let setting = Setting {
            events: TIMELINE_EVENTS,
            ..Setting::new(self.placement.same_machine(recording), self.seed)
        };
        let governor = |(candidate, runs): (&&Candidate, &Tallies<'_>)| {
            let (mut residency, mut latencies, mut timeline) = Default::default();
            if let Some(runs) = runs {
                residency = runs.iter().filter_map(|(cpu, tally)| self.residency(*cpu, tally)).collect();
                latencies = curve(&Counted::ranks(runs.iter().map(|(_, t)| &t.counts.latencies_ns)));
                timeline = self.timeline(candidate, &shown, setting, explained)?;
            }
            Ok(GovernorDetail { governor: candidate.name().to_owned(), residency, latencies, timeline })
        };
        Ok(RecordingDetail {
            name: recording.tape.source.name.clone(),
            lengths: self.lengths(&workloads)?,
            governors: self.candidates.iter().zip(runs).map(governor).collect::<Result<_, CommandError>>()?,
            recorded: recorded(recording, &shown)?,
        })
    }

    fn residency(&self, cpu: u32, tally: &Tally<'_>) -> Option<CpuResidency> {
        let all: u64 = tally.counts.states.iter().map(|s| s.residency_ns).sum();
        let states = tally.table().states().iter().zip(&tally.counts.states);
        Some(CpuResidency {
            cpu,
            cluster: self.placement.place(cpu)?.name.clone(),
            states: states.map(|(s, n)| (s.name.clone(), percent_of(n.residency_ns, all))).collect(),
        })
    }

    fn timeline(
        &self,
        candidate: &Candidate,
        shown: &[(&Workload, u64)],
        setting: Setting,
        explained: usize,
    ) -> Result<Vec<ShownPeriod>, CommandError> {
        let until = |w: &Workload| shown.iter().find(|(s, _)| s.cpu == w.cpu).map_or(0, |(_, until)| *until);
        let mut out = Vec::new();
        for (workload, _) in shown {
            let Some(place) = self.placement.place(workload.cpu) else { continue };
            let open = |w: &Workload, _: &Cluster| First { until_ns: until(w), entries: Vec::new() };
            let (entries, said) = match candidate {
                Candidate::Hosted { governor, limits, .. } => {
                    let setting = Setting { limits: *limits, ..setting };
                    let first = open(workload, place);
                    spoken(governor, workload, place, setting, first, explained)?
                }
                Candidate::Bound(_) => {
                    let runs = candidate.run(&[workload], self.placement, setting, open)?;
                    (runs.cpus.into_iter().flat_map(|ran| ran.pages).collect(), Vec::new())
                }
            };
            // An entry each decision, in their order.
            let mut said = said.into_iter();
            out.extend(entries.iter().map(|e| ShownPeriod::of(e, &place.table, said.next())));
        }
        Ok(out)
    }

    fn lengths(&self, workloads: &[Workload]) -> Result<Vec<Lengths>, PiecesError> {
        let mut out: Vec<(&Cluster, BTreeMap<i32, u64>)> = Vec::new();
        for workload in workloads {
            let Some(place) = self.placement.place(workload.cpu) else { continue };
            let at = out.iter().position(|(cluster, _)| *cluster == place).unwrap_or_else(|| {
                out.push((place, BTreeMap::new()));
                out.len() - 1
            });
            let bins = &mut out[at].1;
            for block in workload.events.blocks() {
                for event in block?.iter() {
                    let length_ns = event.at_ns.saturating_sub(event.start_ns).max(1);
                    *bins
                        .entry(((length_ns as f64).log10() * BINS_PER_DECADE).floor() as i32)
                        .or_default() += 1;
                }
            }
        }
        let edge = |bin: i32| 10_f64.powf(f64::from(bin) / BINS_PER_DECADE).round() as u64;
        let lengths = |(cluster, bins): (&Cluster, BTreeMap<i32, u64>)| Lengths {
            cluster: cluster.name.clone(),
            bins: bins.into_iter().map(|(bin, n)| (edge(bin), edge(bin + 1), n)).collect(),
            targets: cluster.table.states().iter().map(|s| (s.name.clone(), s.target_residency_ns)).collect(),
        };
        Ok(out.into_iter().map(lengths).collect())
    }
}

/// When the last wake event of a timeline comes, ns.
fn end_of_timeline(workload: &Workload) -> Result<u64, PiecesError> {
    let mut last = 0;
    let mut seen = 0;
    for block in workload.events.blocks() {
        for event in block?.iter().take(TIMELINE_EVENTS - seen) {
            last = event.at_ns;
            seen += 1;
        }
        if seen >= TIMELINE_EVENTS {
            break;
        }
    }
    Ok(last)
}

/// What the kernel chose until the end of each timeline, on the machine that was recorded.
fn recorded(recording: &Recording, shown: &[(&Workload, u64)]) -> Result<Vec<ShownPeriod>, PiecesError> {
    let mut out = Vec::new();
    for (workload, until_ns) in shown {
        let cpu = recording.tape.cpus.iter().find(|c| c.cpu == workload.cpu && c.usable == TapeCpu::Usable);
        let Some((cpu, place)) = cpu.and_then(|c| Some((c, recording.machine.cluster_of(c.cpu)?))) else {
            continue;
        };
        let mut first = First { until_ns: *until_ns, entries: Vec::new() };
        'blocks: for block in cpu.pieces.blocks() {
            for piece in block?.iter() {
                let entry = recorded_entry(cpu, piece, &place.table, recording.verdict_of());
                if entry.start_ns >= *until_ns {
                    break 'blocks;
                }
                first.entry(&entry);
            }
        }
        out.extend(first.entries.iter().map(|e| ShownPeriod::of(e, &place.table, None)));
    }
    Ok(out)
}

impl ShownPeriod {
    /// The period of `e`; `said` is what its governor was given and said about the decision.
    fn of(e: &Entry, table: &IdleTable, said: Option<Spoken>) -> Self {
        let verdict = Outcome::VERDICTS[e.outcome.verdict()];
        let state = match e.outcome {
            Outcome::Stayed { entered, .. } => entered,
            Outcome::Rejected => e.selected,
        };
        let about = table.states().get(usize::from(state));
        let name = about.map_or_else(String::new, |s| s.name.clone());
        let asleep_ns = e.wake_ns.max(0).unsigned_abs();
        let late_ns = e.latency_ns.max(0).unsigned_abs();
        let duration = |ns: u64| idlewise_report::duration(ns as f64);
        let tick = match e.tick {
            TickChoice::Kept => "is kept",
            TickChoice::Stopped => "is stopped",
            TickChoice::WasStopped => "was stopped before",
            TickChoice::Unknown => "is not known",
        };
        let target = about.map_or_else(String::new, |s| {
            format!(", which pays from {} on", duration(s.target_residency_ns.max(0).unsigned_abs()))
        });
        let latency = if late_ns == 0 {
            String::new()
        } else {
            format!(", which it answered after {}", duration(late_ns))
        };
        Self {
            cpu: e.cpu,
            start_ns: e.start_ns,
            end_ns: e.start_ns.saturating_add(asleep_ns).saturating_add(late_ns),
            state,
            why: format!(
                "{name}{target}: {verdict}. The CPU slept {} until {} came{latency}. The tick {tick}.{}",
                duration(asleep_ns),
                e.cause.name(),
                said.map_or_else(String::new, |said| said.lines())
            ),
            name,
            verdict,
            wake: e.cause.name(),
        }
    }
}

/// The share of values up to each, 0 to 1, at as many values as a chart can show; the last one has all. `ranks` are different
/// values in order, each with how often it came.
#[must_use]
pub fn curve(ranks: &[(u32, u64)]) -> Vec<(u32, f64)> {
    let all: u64 = ranks.iter().map(|(_, n)| n).sum();
    let mut out: Vec<(u32, f64)> = Vec::new();
    let mut below = 0;
    for (i, (value, n)) in ranks.iter().enumerate() {
        below += n;
        let share = below as f64 / all as f64;
        let step = out.last().is_none_or(|(_, last)| share - last >= 1.0 / POINTS as f64);
        if step || i + 1 == ranks.len() {
            out.push((*value, share));
        }
    }
    out
}
