// SPDX-License-Identifier: GPL-2.0-only
//! The inputs of a tape, which are derived, compared with recorded ones, where the trace has these too.

use idlewise_governor::Inputs;
use idlewise_model::{Asked, CpuTape, PiecesError, TapeCpu};
use idlewise_platform::Cluster;
use schemars::JsonSchema;
use serde::Serialize;

use crate::decision::Decision;
use crate::tape_decisions::TapeDecisions;
use idlewise_recording::Recording;
use idlewise_recording::decisions::Decided;

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
    /// Decisions for which the kernel's governor had asked for it, and whose entry the tape has.
    pub compared: u64,
    /// Of these, those that are the same in the sense of `how`.
    pub same: u64,
    /// What counts as the same.
    pub how: String,
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

/// Compares every input of every decision of `recording`; nothing where it has no true ones.
///
/// # Errors
/// [`PiecesError`] when the tape cannot be read.
pub fn compare(recording: &Recording) -> Result<Vec<InputAccuracy>, PiecesError> {
    let mut truths = Truths::default();
    for cpu in recording.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable) {
        let Some(cluster) = recording.machine.cluster_of(cpu.cpu) else { continue };
        let mut decided: Vec<&Decided> = recording.decisions.decided_on(cpu.cpu).collect();
        if decided.is_empty() {
            continue;
        }
        decided.sort_by_key(|d| d.at_ns);
        for taped in TapeDecisions::new(cpu, cluster, None)?.decisions() {
            let Decision { at_ns, inputs, .. } = taped?;
            let n = decided.partition_point(|d| d.at_ns <= at_ns);
            let last = n.checked_sub(1).and_then(|i| decided.get(i));
            if let Some(truth) = last.filter(|d| at_ns - d.at_ns < BEFORE_ENTRY_NS) {
                truths.add(&inputs, truth, cpu.tick.period_ns);
            }
        }
    }
    Ok(truths.finish())
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

#[derive(Default)]
struct Truths {
    same: [u64; NAMES.len()],
    off: [Vec<i64>; NAMES.len()],
}

impl Truths {
    fn add(&mut self, tape: &Inputs, truth: &Decided, tick_period_ns: u64) {
        let tick_ns = tick_period_ns as i64;
        if truth.asked.has(Asked::SLEEP_LENGTH) {
            let (ours, theirs) = (tape.sleep_length_ns, truth.sleep_length_ns);
            self.note(0, ours, theirs, (ours >= tick_ns) == (theirs >= tick_ns));
            let (ours, theirs) = (tape.delta_tick_ns, truth.delta_tick_ns);
            self.note(1, ours, theirs, ours.abs_diff(theirs) <= NEAR_NS);
        }
        let (ours, theirs) = (tape.tick_stopped.into(), truth.tick_stopped.into());
        self.note(2, ours, theirs, ours == theirs);
        if truth.asked.has(Asked::UTIL) {
            let (ours, theirs) = (tape.util.into(), truth.util.into());
            self.note(3, ours, theirs, ours.abs_diff(theirs) <= NEAR_UTIL);
        }
        if truth.asked.has(Asked::IOWAIT) {
            let (ours, theirs) = (tape.iowait.into(), truth.iowait.into());
            self.note(4, ours, theirs, ours == theirs);
        }
        if truth.asked.has(Asked::LATENCY) {
            let (ours, theirs) = (tape.latency_limit_ns, truth.latency_limit_ns);
            self.note(5, ours, theirs, ours == theirs);
        }
    }

    fn note(&mut self, input: usize, ours: i64, theirs: i64, same: bool) {
        if let (Some(off), Some(count)) = (self.off.get_mut(input), self.same.get_mut(input)) {
            off.push(ours.saturating_sub(theirs));
            *count += u64::from(same);
        }
    }

    fn finish(self) -> Vec<InputAccuracy> {
        let all = NAMES.iter().zip(self.same).zip(self.off);
        let truth = |((&(name, how), same), mut off): ((&(&str, &str), u64), Vec<i64>)| {
            off.sort_unstable();
            let rank =
                |percent: usize| off.get(off.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0);
            InputAccuracy {
                name: name.to_owned(),
                compared: off.len() as u64,
                same,
                how: how.to_owned(),
                off: [rank(1), rank(50), rank(99)],
            }
        };
        all.map(truth).filter(|t| t.compared > 0).collect()
    }
}
