// SPDX-License-Identifier: GPL-2.0-only
//! The inputs of a tape, which are derived, compared with recorded ones, where the trace has these too.

use std::collections::BTreeMap;

use idlewise_governor::Inputs;
use idlewise_model::{Asked, Confidence, CpuTape, NEVER_NS, PieceFlags, PiecesError, Tape, TapeCpu};
use idlewise_platform::Cluster;
use schemars::JsonSchema;
use serde::Serialize;

use crate::decision::Decision;
use crate::decision_table::DecisionTable;
use crate::own_table::is_of_another;
use crate::tape_decisions::TapeDecisions;
use idlewise_recording::decisions::Decided;
use idlewise_recording::sidecar::InputsBeside;
use idlewise_recording::{CommandError, Recording};

/// A decision belongs to the entry that follows this soon, ns.
const BEFORE_ENTRY_NS: u64 = 2_000_000;
/// Times closer than this count as the same: the tape does not know to the us when the governor was asked.
const NEAR_NS: u64 = 50_000;
/// Utilisations closer than this, of 1024, count as the same.
const NEAR_UTIL: u64 = 8;

/// One input of governors: how right the tape's values are.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct InputAccuracy {
    pub name: String,
    /// Decisions for which the kernel's governor had asked for it, and whose entry the tape has; of utilisation those that owe nothing to
    /// what ran before the recording.
    pub compared: u64,
    /// Of these, those that are the same in the sense of `how`.
    pub same: u64,
    /// What counts as the same.
    pub how: String,
    /// Of the compared, those that the tape grades recorded or derived.
    pub graded: u64,
    /// Of these, those that are wrong: times by more than 50 us, utilisation by more than 8 of 1024, others at all.
    pub graded_wrong: u64,
    /// The tape's value less the true one: percentiles 1, 50 and 99. Times in ns, utilisation of 1024.
    pub off: [i64; 3],
}

/// What governors are given in a replay at each idle period of `cpu`, in order.
///
/// # Errors
/// [`PiecesError`] when the tape cannot be read.
pub fn taped(cpu: &CpuTape, cluster: &Cluster) -> Result<Vec<Inputs>, PiecesError> {
    TapeDecisions::new(cpu, cluster, None)?.decisions().map(|d| Ok(d?.inputs)).collect()
}

/// Compares every input of every decision of `recording` with the true ones in the trace, or in the table next to it; nothing where
/// there are none.
///
/// # Errors
/// [`CommandError`] when the tape or the table cannot be read.
pub fn compare(recording: &Recording) -> Result<Vec<InputAccuracy>, CommandError> {
    let mut known = match &recording.inputs {
        Some(table) if table.file.exists() => of_table(table, recording)?,
        _ => BTreeMap::new(),
    };
    let mut graded = NAMES.map(|(name, _)| recording.tape.weakest(name) < Confidence::Bounded);
    graded[STOPPED] = stops_are_graded(&recording.tape)?;
    let mut comparison = Comparison { graded, ..Comparison::default() };
    for cpu in recording.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable) {
        let Some(cluster) = recording.machine.cluster_of(cpu.cpu) else { continue };
        let truths = known.entry(cpu.cpu).or_default();
        truths.extend(recording.decisions.decided_on(cpu.cpu).map(Truth::from));
        truths.sort_by_key(|t| t.at_ns);
        let mut before_ns = 0;
        for taped in TapeDecisions::new(cpu, cluster, None)?.doubting_util(&recording.tape).decisions() {
            let taped = taped?;
            let n = truths.partition_point(|t| t.at_ns <= taped.at_ns);
            let last = n.checked_sub(1).and_then(|i| truths.get(i)).filter(|t| t.at_ns > before_ns);
            if let Some(truth) = last.filter(|t| taped.at_ns - t.at_ns < BEFORE_ENTRY_NS) {
                comparison.add(&taped, truth, cpu.tick.period_ns);
            }
            before_ns = taped.at_ns;
        }
    }
    Ok(comparison.finish())
}

/// Whether the tape says entry by entry how well it is known that the tick was stopped: no other values are bounded or assumed.
fn stops_are_graded(tape: &Tape) -> Result<bool, PiecesError> {
    let (stops, _) = NAMES[STOPPED];
    let counts = tape.inputs.iter().find(|i| i.name == stops).map_or([0; 4], |i| i.counts);
    let mut unknown = 0;
    for block in tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable).flat_map(|c| c.pieces.blocks()) {
        unknown += block?.iter().filter(|p| !p.flags.has(PieceFlags::TICK_KNOWN)).count() as u64;
    }
    Ok(counts[Confidence::Bounded as usize] + counts[Confidence::Assumed as usize] == unknown)
}

/// What the kernel's governor was given at an entry.
struct Truth {
    /// When it was asked, or when the state was entered, ns.
    at_ns: u64,
    /// Those of `inputs` that are known; the next event with the tick is apart.
    known: Asked,
    next_event_known: bool,
    inputs: Inputs,
}

impl From<&Decided> for Truth {
    fn from(d: &Decided) -> Self {
        let inputs = Inputs {
            now_ns: d.clock_ns,
            sleep_length_ns: d.sleep_length_ns,
            delta_tick_ns: d.delta_tick_ns,
            latency_limit_ns: d.latency_limit_ns,
            util: d.util,
            iowait: d.iowait,
            random: 0,
            tick_stopped: d.tick_stopped,
        };
        Self { at_ns: d.at_ns, known: d.asked, next_event_known: d.asked.has(Asked::SLEEP_LENGTH), inputs }
    }
}

/// Decisions of a table by CPU, without choices that were taken back, which no tape has; empty where it is of another recording, or
/// cannot be read.
fn of_table(table: &InputsBeside, recording: &Recording) -> Result<BTreeMap<u32, Vec<Truth>>, CommandError> {
    let mut known: BTreeMap<u32, Vec<Truth>> = BTreeMap::new();
    let Ok(parts) = DecisionTable::read_parts(&table.file, &recording.machine, None) else {
        return Ok(known);
    };
    if is_of_another(table, &recording.tape, &parts)?.is_some() {
        return Ok(known);
    }
    for part in parts {
        let rows = part.rows.iter().filter(|row| row.given_up != Some(true));
        known.entry(part.cpu).or_default().extend(rows.map(|row| Truth {
            at_ns: row.start_ns,
            known: Asked(
                Asked::LATENCY
                    | if row.sleep_length_ns.is_some() { Asked::SLEEP_LENGTH } else { 0 }
                    | if row.iowait.is_some() { Asked::IOWAIT } else { 0 },
            ),
            next_event_known: true,
            inputs: row.inputs(part.grid),
        }));
    }
    Ok(known)
}

/// What is compared, in this order.
const NAMES: [(&str, &str); 6] = [
    ("sleep length", "on the same side of the tick"),
    ("next event with the tick", "within 50 us"),
    ("tick stopped", "the same"),
    ("utilisation", "within 8 of 1024"),
    ("iowait", "the same"),
    ("latency limit", "the same"),
];
/// Place in [`NAMES`] of the input that is known or not entry by entry, besides timers.
const STOPPED: usize = 2;

#[derive(Default)]
struct Comparison {
    /// Whether the tape grades all values of the input recorded or derived, or says entry by entry which.
    graded: [bool; NAMES.len()],
    counts: [Counts; NAMES.len()],
}

/// The comparison of one input.
#[derive(Default)]
struct Counts {
    same: u64,
    graded: u64,
    graded_wrong: u64,
    off: Vec<i64>,
}

impl Comparison {
    fn add(&mut self, taped: &Decision, truth: &Truth, tick_period_ns: u64) {
        let tick_ns = tick_period_ns as i64;
        let (tape, kernel) = (&taped.inputs, &truth.inputs);
        let timers = !taped.doubts.unsure_timers;
        let [_, _, stopped, util, iowait, latency] = self.graded;
        let near =
            |ours: i64, theirs: i64| ours.abs_diff(theirs) <= NEAR_NS || ours.min(theirs) > NEVER_NS / 2;
        if truth.known.has(Asked::SLEEP_LENGTH) {
            let (ours, theirs) = (tape.sleep_length_ns, kernel.sleep_length_ns);
            let side = (ours >= tick_ns) == (theirs >= tick_ns);
            self.note(0, [ours, theirs], side, timers.then_some(near(ours, theirs)));
        }
        if truth.next_event_known {
            let (ours, theirs) = (tape.delta_tick_ns, kernel.delta_tick_ns);
            let same = near(ours, theirs);
            self.note(1, [ours, theirs], same, timers.then_some(same));
        }
        let mut note = |input, ours: i64, theirs: i64, within: u64, graded: bool| {
            let same = ours.abs_diff(theirs) <= within;
            self.note(input, [ours, theirs], same, graded.then_some(same));
        };
        let stopped = stopped && taped.kernel.stop_tick.is_some();
        note(STOPPED, tape.tick_stopped.into(), kernel.tick_stopped.into(), 0, stopped);
        // What ran before the recording is not known.
        if truth.known.has(Asked::UTIL) && taped.doubts.util_off == 0 {
            note(3, tape.util.into(), kernel.util.into(), NEAR_UTIL, util);
        }
        if truth.known.has(Asked::IOWAIT) {
            note(4, tape.iowait.into(), kernel.iowait.into(), 0, iowait);
        }
        if truth.known.has(Asked::LATENCY) {
            note(5, tape.latency_limit_ns, kernel.latency_limit_ns, 0, latency);
        }
    }

    /// `right` where the tape grades this value recorded or derived.
    fn note(&mut self, input: usize, [ours, theirs]: [i64; 2], same: bool, right: Option<bool>) {
        if let Some(counts) = self.counts.get_mut(input) {
            counts.off.push(ours.saturating_sub(theirs));
            counts.same += u64::from(same);
            counts.graded += u64::from(right.is_some());
            counts.graded_wrong += u64::from(right == Some(false));
        }
    }

    fn finish(self) -> Vec<InputAccuracy> {
        let accuracy = |((name, how), mut counts): ((&str, &str), Counts)| {
            let off = &mut counts.off;
            off.sort_unstable();
            let rank =
                |percent: usize| off.get(off.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0);
            InputAccuracy {
                name: name.to_owned(),
                compared: off.len() as u64,
                same: counts.same,
                how: how.to_owned(),
                graded: counts.graded,
                graded_wrong: counts.graded_wrong,
                off: [rank(1), rank(50), rank(99)],
            }
        };
        NAMES.into_iter().zip(self.counts).map(accuracy).filter(|a| a.compared > 0).collect()
    }
}
