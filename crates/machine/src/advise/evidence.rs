// SPDX-License-Identifier: GPL-2.0-only
//! What is known of each governor, put side by side.

use std::collections::BTreeSet;

use idlewise_ab::{AbReport, Verdict};
use idlewise_model::{NotKnown, NoteId, Piece, PieceFlags, PiecesError, TapeCpu, known};
use idlewise_score::Score;
use idlewise_score::measure::{ENERGY, LATENCY_MEAN};
use idlewise_stats::{Change, Shift};
use schemars::JsonSchema;
use serde::Serialize;

use super::candidate::Candidate;
use super::situation::Situation;

/// A row depends on states that the kernel never entered where more of its idle time, or of its stays, is in them, %.
const NEVER_ENTERED_PCT: f64 = 1.0;

/// All that is known.
#[derive(Clone, Debug)]
pub struct Evidence<'e> {
    pub situation: Situation,
    /// What ran on it, in words.
    pub load: String,
    /// The governors in question, the one in force first.
    pub candidates: Vec<Candidate>,
    /// The idle states that can be entered, as far as the recording shows it ([`entered`]); nothing without one.
    pub entered: Option<BTreeSet<usize>>,
    /// The replay of a recording of the load, with [`specs`]; why there is none.
    pub replay: Result<&'e ReplayReport, NotKnown>,
    /// The comparison on the running kernel, arms named as the candidates; why there is none.
    pub ab: Result<&'e AbReport, NotKnown>,
}
use idlewise_recording::Recording;
use idlewise_recording::candidate::ORACLE;
use idlewise_study::replay::{GovernorResult, ReplayReport};

/// A governor and the evidence about it.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Row {
    /// It, with what is particular to it, as `idlewise ab` writes it.
    pub governor: String,
    /// Whether the kernel has it; nothing where that is not known.
    pub in_kernel: Option<bool>,
    /// What the replay says of it; why it says nothing.
    #[serde(flatten, serialize_with = "known::replay_if_asked")]
    #[schemars(with = "known::ReplayOrWhy<Replayed>")]
    pub replay: Option<Result<Replayed, NotKnown>>,
    /// What the comparison on the running kernel says, against the governor in force; empty where there was none.
    pub compared: Vec<Compared>,
}

/// A governor in a replay.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Replayed {
    /// The governor that stood for it, with its parameters.
    pub spec: String,
    /// The clairvoyant: a bound, no governor.
    pub oracle: bool,
    pub wakeups: u64,
    /// Too deep, % of wakeups.
    pub too_deep_pct: f64,
    /// Too shallow, % of wakeups.
    pub too_shallow_pct: f64,
    /// Entries at which the tick went on.
    pub ticks_kept: Option<u64>,
    /// Entries at which the tick was stopped.
    pub ticks_stopped: Option<u64>,
    /// Wakeup latency by the idle states' exit latencies, mean, ns.
    pub latency_mean_ns: f64,
    /// The same, 99th percentile, ns.
    pub latency_p99_ns: u64,
    /// Mean latency against the governor in force, ns.
    pub latency_change_ns: f64,
    /// The same, %.
    pub latency_change_pct: f64,
    /// Energy of the idle states.
    pub energy: f64,
    /// `mJ`, or `rel` where no powers were measured.
    pub energy_unit: String,
    /// Energy against the governor in force, %.
    pub energy_change_pct: f64,
    /// Idle states that it enters and that the kernel never entered in the recording, so that it does not rank.
    pub never_entered: Vec<String>,
    /// Whether it or the governor in force takes less energy depends on sleep lengths that the recording leaves open.
    pub unsure: bool,
}

/// A metric of a benchmark under a governor, against the governor in force.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Compared {
    pub benchmark: String,
    pub metric: String,
    /// Its unit; empty where it is not known.
    pub unit: String,
    pub more_is_better: bool,
    /// The benchmark's first metric, for which it was run.
    pub first: bool,
    pub runs: usize,
    /// Median of the runs.
    pub median: Option<f64>,
    pub change: Option<Change>,
    /// In the metric's unit.
    pub difference: Option<Shift>,
    /// Probability of such a difference by accident, corrected for all questions.
    pub p: Option<f64>,
    pub verdict: Option<Verdict>,
    /// Runs of each governor that would settle it.
    pub runs_to_settle: Option<u64>,
}

impl Row {
    pub(super) fn replayed(&self) -> Option<&Replayed> {
        self.replay.as_ref()?.as_ref().ok()
    }

    /// The first metric of each benchmark.
    pub(super) fn firsts(&self) -> impl Iterator<Item = &Compared> {
        self.compared.iter().filter(|c| c.first)
    }

    fn has(&self, verdict: Verdict) -> bool {
        self.compared.iter().any(|c| c.verdict == Some(verdict))
    }

    /// Better in the first metric of a benchmark, unclear in that of none, worse in nothing.
    pub(super) fn wins(&self) -> bool {
        let clear =
            |c: &Compared| matches!(c.verdict, Some(Verdict::Better | Verdict::Same | Verdict::NotWorse));
        self.firsts().any(|c| c.verdict == Some(Verdict::Better))
            && self.firsts().all(clear)
            && !self.has(Verdict::Worse)
    }

    /// Better in something, worse in something else.
    pub(super) fn trades(&self) -> bool {
        self.has(Verdict::Better) && self.has(Verdict::Worse)
    }

    /// How much better in the first metrics, as a sum of logarithms.
    pub(super) fn benefit(&self) -> f64 {
        let benefit = |c: &Compared| {
            let log = c.change.map_or(0.0, |change| change.relative.ln_1p());
            if c.more_is_better { log } else { -log }
        };
        self.firsts().map(benefit).sum()
    }
}

impl Replayed {
    /// How much it is preferred: what it takes less of energy and, at a tenth of its weight, of latency, %.
    pub(super) fn merit(&self) -> f64 {
        // A latency that is not known speaks for nobody.
        let latency_pct = if self.latency_change_pct.is_nan() { 0.0 } else { self.latency_change_pct };
        -self.energy_change_pct - latency_pct / 10.0
    }

    fn of(result: &GovernorResult, base: Option<&GovernorResult>, unsure: bool) -> Self {
        let s = &result.score;
        Self {
            spec: result.governor.clone(),
            oracle: result.governor == ORACLE,
            wakeups: s.wakeups,
            too_deep_pct: s.too_deep_pct,
            too_shallow_pct: s.too_shallow_pct,
            ticks_kept: s.ticks_kept,
            ticks_stopped: s.ticks_stopped,
            latency_mean_ns: mean_ns(s),
            latency_p99_ns: s.latency.p99_ns,
            latency_change_ns: base.map_or(0.0, |b| mean_ns(s) - mean_ns(&b.score)),
            latency_change_pct: result.change.of(LATENCY_MEAN),
            energy: s.energy,
            energy_unit: s.energy_unit.clone(),
            energy_change_pct: result.change.of(ENERGY),
            never_entered: Vec::new(),
            unsure,
        }
    }
}

/// One row for each candidate, in their order, and last the oracle where the replay has it.
pub(super) fn rows(e: &Evidence<'_>) -> Vec<Row> {
    let (replay, ab) = (e.replay.as_deref().ok(), e.ab.as_deref().ok());
    let of_replay = |report: &ReplayReport, spec: &str| of_replay(report, spec, e.entered.as_ref());
    let row = |c: &Candidate| Row {
        governor: c.name.clone(),
        in_kernel: c.in_kernel,
        replay: replay.and_then(|r| of_replay(r, &c.replay)),
        compared: ab.map(|ab| of_comparison(ab, &c.name)).unwrap_or_default(),
    };
    let mut out: Vec<Row> = e.candidates.iter().map(row).collect();
    if let Some(found) = replay.and_then(|r| of_replay(r, ORACLE)) {
        out.push(Row { governor: ORACLE.to_owned(), replay: Some(found), ..Row::default() });
    }
    out
}

/// The idle states, by their numbers, that can be entered as far as `recording` shows it: those that poll, and those that the
/// kernel entered and the driver did not refuse.
///
/// # Errors
/// [`PiecesError`] when the tape cannot be read.
pub fn entered(recording: &Recording) -> Result<BTreeSet<usize>, PiecesError> {
    let mut out = BTreeSet::new();
    for cpu in recording.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable) {
        let states = recording.machine.cluster_of(cpu.cpu).map_or(&[][..], |c| c.table.states());
        out.extend(states.iter().enumerate().filter(|(_, s)| s.polling).map(|(i, _)| i));
        for block in cpu.pieces.blocks() {
            let block = block?;
            let in_earnest = block.iter().filter(|p| !p.flags.has(PieceFlags::REJECTED));
            out.extend(in_earnest.filter_map(Piece::chosen));
        }
    }
    Ok(out)
}

/// The states without which `result` would be another one, and that are not among `entered`.
fn never_entered(result: &GovernorResult, entered: &BTreeSet<usize>) -> Vec<String> {
    let states = || result.score.states.iter().enumerate();
    let stays: u64 = states().map(|(_, s)| s.entries).sum();
    let never = states().filter(|(i, s)| {
        let of_stays = s.entries as f64 * 100.0 / stays.max(1) as f64;
        !entered.contains(i) && (s.residency_pct > NEVER_ENTERED_PCT || of_stays > NEVER_ENTERED_PCT)
    });
    never.map(|(_, s)| s.name.clone()).collect()
}

fn of_replay(
    report: &ReplayReport,
    spec: &str,
    entered: Option<&BTreeSet<usize>>,
) -> Option<Result<Replayed, NotKnown>> {
    let trace = report.traces.first()?;
    let place = report.request.governors.iter().position(|g| g == spec)?;
    let result = trace.governors.get(place)?;
    if let Some(why) = &result.failure {
        return Some(Err(NotKnown::because(NoteId::GovernorFailed, why)));
    }
    let base = trace.governors.first();
    let pair = |swap: &[String; 2]| {
        base.is_some_and(|b| swap.contains(&b.governor)) && swap.contains(&result.governor)
    };
    let unsure =
        trace.sensitivity.metrics.iter().any(|m| m.metric == ENERGY.name && m.swaps.iter().any(pair));
    let never_entered = entered.map_or_else(Vec::new, |entered| never_entered(result, entered));
    Some(Ok(Replayed { never_entered, ..Replayed::of(result, base, unsure) }))
}

fn of_comparison(report: &AbReport, arm: &str) -> Vec<Compared> {
    let mut out = Vec::new();
    for benchmark in &report.benchmarks {
        for (i, metric) in benchmark.metrics.iter().enumerate() {
            let cells = metric.cells.iter().skip(1).filter(|c| c.arm == arm);
            out.extend(cells.map(|c| Compared {
                benchmark: benchmark.name.clone(),
                metric: metric.name.clone(),
                unit: metric.unit.clone(),
                more_is_better: metric.more_is_better,
                first: i == 0,
                runs: c.values.len(),
                median: c.median.as_ref().map(|m| m.median),
                change: c.change,
                difference: c.difference,
                p: c.p_corrected,
                verdict: c.verdict,
                runs_to_settle: c.runs_to_settle,
            }));
        }
    }
    out
}

/// The mean wakeup latency, ns; not a number where no wakeup counts.
fn mean_ns(score: &Score) -> f64 {
    score.latency.known(score.latency.mean_ns).unwrap_or(f64::NAN)
}
