// SPDX-License-Identifier: GPL-2.0-only
//! The choices that the kernel itself made, judged: `idlewise score`.

use std::path::Path;

use idlewise_model::{
    Breach, CpuTape, Entry, IdleTable, Ledger, Miss, NO_LATENCY_LIMIT_NS, Outcome, Piece, PieceFlags,
    TapeCpu, TickChoice, WakeCause, at,
};
use idlewise_score::{Score, Tally};
use serde::Serialize;

use crate::counters::CounterCheck;
use crate::doomed::Doomed;
use crate::refused;
use crate::replay::{Group, Per};
use crate::{LabError, Recording, RecordingOptions, TraceHead};

/// Version of the JSON that a score gives.
pub const SCHEMA: &str = "idlewise.score/1";

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoreReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of idlewise.
    pub version: String,
    /// The recording.
    pub head: TraceHead,
    /// The kernel's idle governor, empty where nobody said.
    pub governor: String,
    /// States that no governor can enter, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_entered: Vec<String>,
    /// All CPUs together.
    pub score: Score,
    /// The score broken down.
    pub groups: Vec<Group>,
    /// Entries that could not last.
    pub doomed: Doomed,
    /// How the verdicts agree with the kernel's own, where the trace has them.
    pub agreement: Option<Agreement>,
    /// How the trace agrees with the kernel's counters, where these were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<CounterCheck>,
}

/// Recomputed verdicts against the recorded `cpu_idle_miss` events, stay by stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Agreement {
    /// "Too deep" by the kernel.
    pub kernel_above: u64,
    /// "Too deep" recomputed from entry and exit, refused entries included.
    pub recomputed_above: u64,
    /// "Too shallow" by the kernel.
    pub kernel_below: u64,
    /// "Too shallow" recomputed.
    pub recomputed_below: u64,
    /// Stays recomputed as too deep that the kernel did not count: the driver refused the entry.
    pub rejected: u64,
    /// The longest of these, ns; a real stay would not be short.
    pub longest_rejected_ns: u64,
    /// Stays on which the two differ in any other way.
    pub disagree: u64,
    /// How far the farthest of these lies from the limit that was missed, ns: entry and exit events bracket the
    /// kernel's own measurement.
    pub largest_margin_ns: u64,
}

/// Judges the recording at `path`. `counters` are the files of the kernel's counters before and after, if there are; else
/// those of the side-car are taken, where it has some.
///
/// # Errors
/// [`LabError`] when the recording, its machine or the counters cannot be read.
pub fn score(
    path: &Path,
    options: &RecordingOptions,
    per: Per,
    counters: Option<[&Path; 2]>,
) -> Result<ScoreReport, LabError> {
    let recording = judged(path, options)?;
    let machine = &recording.machine;
    let missing = |cpu: u32| {
        machine.cluster_of(cpu).is_none().then(|| format!("platform {} has no CPU {cpu}", machine.id))
    };
    let head = TraceHead::new(&recording, missing);
    let tallies = tally(&recording);
    recording.check()?;
    if tallies.is_empty() {
        let why: Vec<String> = head.left_out.iter().map(|l| format!("CPU {}: {}", l.cpu, l.why)).collect();
        return Err(LabError::Request(format!(
            "{}: no CPU can be scored. {}",
            path.display(),
            why.join("; ")
        )));
    }
    let all: Vec<&Tally<'_>> = tallies.iter().map(|(_, _, t)| t).collect();
    let groups = match per {
        Per::All | Per::State => Vec::new(),
        Per::Cpu => tallies
            .iter()
            .map(|(cpu, _, t)| Group { name: format!("cpu {cpu}"), score: Score::of(&[t]) })
            .collect(),
        Per::Cluster => clusters(&tallies),
    };
    let counters = match counters {
        Some([before, after]) => Some(CounterCheck::of(&recording, before, after)?),
        None => recording.looks.as_ref().map(|looks| CounterCheck::between(&recording, looks)).transpose()?,
    };
    Ok(ScoreReport {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        governor: recording.tape.source.governor.clone(),
        not_entered: refused::words(&recording.machine),
        score: Score::of(&all),
        groups,
        doomed: Doomed::of(&recording),
        agreement: recording.machine_check.agreement,
        counters,
        head,
    })
}

/// What each CPU of a recording did, by the kernel's own choices.
pub(crate) struct ByCpu {
    /// The kernel's idle governor, empty where nobody said.
    pub(crate) governor: String,
    /// From first to last event, ns.
    pub(crate) span_ns: u64,
    /// CPU, the part of the machine that it belongs to, its score.
    pub(crate) cpus: Vec<(u32, String, Score)>,
    /// CPUs that are left out, and why.
    pub(crate) left_out: Vec<String>,
    /// What was assumed about the recording by hand.
    pub(crate) assumption: Option<String>,
    /// What speaks against its machine.
    pub(crate) warnings: Vec<String>,
}

/// Judges the recording at `path`, CPU by CPU.
///
/// # Errors
/// As [`score`].
pub(crate) fn by_cpu(path: &Path, options: &RecordingOptions) -> Result<ByCpu, LabError> {
    let recording = judged(path, options)?;
    let head = TraceHead::new(&recording, |_| None);
    let tallies = tally(&recording);
    recording.check()?;
    Ok(ByCpu {
        governor: recording.tape.source.governor.clone(),
        span_ns: head.span_ns,
        cpus: tallies.iter().map(|(cpu, place, t)| (*cpu, (*place).to_owned(), Score::of(&[t]))).collect(),
        assumption: head.assumption(),
        warnings: head.warnings,
        left_out: head.left_out.iter().map(|l| format!("CPU {} is left out: {}", l.cpu, l.why)).collect(),
    })
}

/// The recording, if it tells what the kernel chose.
fn judged(path: &Path, options: &RecordingOptions) -> Result<Recording, LabError> {
    // What a trace lacks against the counters is part of the judgement.
    let options = RecordingOptions { whatever_counted: true, ..options.clone() };
    let recording = Recording::open(path, &options)?;
    let tells_states = recording.tells_states();
    recording.check()?;
    if tells_states { Ok(recording) } else { Err(LabError::Request(not_scored(path, &recording))) }
}

/// A tally of each CPU that can be used, with the name of its part of the machine.
fn tally(recording: &Recording) -> Vec<(u32, &str, Tally<'_>)> {
    let mut tallies = Vec::new();
    for cpu in recording.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable) {
        let Some(place) = recording.machine.cluster_of(cpu.cpu) else { continue };
        let mut tally = Tally::new(&place.table, &place.energy);
        for piece in &cpu.pieces {
            let entry = recorded_entry(cpu, &piece, &place.table);
            tally.entry(&entry);
        }
        tallies.push((cpu.cpu, place.name.as_str(), tally));
    }
    tallies
}

/// What a recording without the kernel's states leaves open, and what it tells all the same.
fn not_scored(path: &Path, recording: &Recording) -> String {
    let usable = || recording.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable);
    let stays: usize = usable().map(|c| c.pieces.len()).sum();
    let idle_ns: u64 = usable().flat_map(|c| &c.pieces).map(|p| p.stay_ns()).sum();
    format!(
        "{}: no cpu_idle events, so the kernel's choices cannot be scored: residency by state, too deep, too shallow, \
         energy. Known are {stays} idle periods of the idle task on {} CPUs, {:.3} s together. `idlewise replay` needs no more: \
         it lets governors choose",
        path.display(),
        usable().count(),
        idle_ns as f64 / 1e9
    )
}

fn clusters(tallies: &[(u32, &str, Tally<'_>)]) -> Vec<Group> {
    let mut names: Vec<&str> = tallies.iter().map(|(_, name, _)| *name).collect();
    names.dedup();
    let group = |name: &&str| {
        let of: Vec<&Tally<'_>> = tallies.iter().filter(|(_, n, _)| n == name).map(|(_, _, t)| t).collect();
        Group { name: (*name).to_owned(), score: Score::of(&of) }
    };
    names.iter().map(group).collect()
}

/// A recorded stay as a line of the ledger.
pub(crate) fn recorded_entry(cpu: &CpuTape, piece: &Piece, table: &IdleTable) -> Entry {
    let residency_ns = i64::try_from(piece.stay_ns()).unwrap_or(i64::MAX);
    let rejected = piece.flags.has(PieceFlags::REJECTED);
    let stay_ns = residency_ns;
    let outcome = if rejected {
        Outcome::Rejected
    } else {
        Outcome::Stayed {
            entered: piece.state,
            miss: table.verdict(piece.state.into(), residency_ns, table.disabled_by_default()),
        }
    };
    let tick = if !piece.flags.has(PieceFlags::TICK_KNOWN) {
        TickChoice::Unknown
    } else if piece.flags.has(PieceFlags::STOPPED_BEFORE) {
        TickChoice::WasStopped
    } else if piece.flags.has(PieceFlags::STOPPED_AFTER) {
        TickChoice::Stopped
    } else {
        TickChoice::Kept
    };
    let only_tick = piece.cause == WakeCause::Tick && !piece.flags.has(PieceFlags::MORE_CAME);
    Entry {
        cpu: cpu.cpu,
        start_ns: piece.start_ns,
        residency_ns: if rejected { 0 } else { stay_ns },
        wake_ns: if rejected { stay_ns } else { i64::try_from(piece.wake_ns).unwrap_or(i64::MAX) },
        latency_ns: if rejected { 0 } else { piece.response_ns.into() },
        tick_ns: if only_tick && !rejected { handled_ns(piece) } else { 0 },
        selected: piece.state,
        outcome,
        cause: piece.cause,
        tick,
        breach: recorded_breach(cpu, piece, table),
    }
}

/// From the first instruction of the handlers of the interrupt that ended `piece` to their end, ns: before the exit where the
/// machine handles it there (HLT), after it, or both.
fn handled_ns(piece: &Piece) -> i64 {
    let before_exit = piece.exit_lag_ns.saturating_sub(piece.response_ns);
    i64::from(before_exit) + i64::from(piece.handler_ns)
}

/// What is wrong with the kernel's own choice, as far as the recording itself tells: it knows latency limits, but which
/// states are off only where somebody recorded that.
fn recorded_breach(cpu: &CpuTape, piece: &Piece, table: &IdleTable) -> Breach {
    let limit_ns = at(&cpu.latency, piece.start_ns, NO_LATENCY_LIMIT_NS);
    if usize::from(piece.state) >= table.len() {
        return Breach::default();
    }
    let disabled = at(&cpu.disabled, piece.start_ns, 0);
    table.breach(piece.state.into(), disabled, limit_ns)
}

impl Agreement {
    /// Adds an idle period in a state of `table`.
    pub(crate) fn compare(&mut self, piece: &Piece, table: &IdleTable) {
        if usize::from(piece.state) >= table.len() {
            return;
        }
        let ours = table.verdict(
            piece.state.into(),
            i64::try_from(piece.stay_ns()).unwrap_or(i64::MAX),
            table.disabled_by_default(),
        );
        let above = piece.flags.has(PieceFlags::MISS_ABOVE);
        let below = piece.flags.has(PieceFlags::MISS_BELOW);
        self.kernel_above += u64::from(above);
        self.kernel_below += u64::from(below);
        self.recomputed_above += u64::from(ours == Miss::Above);
        self.recomputed_below += u64::from(ours == Miss::Below);
        if piece.flags.has(PieceFlags::REJECTED) {
            self.rejected += 1;
            self.longest_rejected_ns = self.longest_rejected_ns.max(piece.stay_ns());
        } else {
            let same = (ours == Miss::Above) == above && (ours == Miss::Below) == below;
            self.disagree += u64::from(!same);
            if !same {
                let target =
                    table.states().get(usize::from(piece.state)).map_or(0, |s| s.target_residency_ns);
                self.largest_margin_ns =
                    self.largest_margin_ns.max(piece.stay_ns().abs_diff(target.unsigned_abs()));
            }
        }
    }
}
