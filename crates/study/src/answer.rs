// SPDX-License-Identifier: GPL-2.0-only
//! What replayed governors come to: one shape for replays and comparisons.

use idlewise_answer::{
    Answer, Column, Contender, Grade, Group, Reason, ReasonId, Role, Scored, Trust, USUAL, Verdict,
    energy_notes, spreads, verdict, verdicts_over,
};
use idlewise_model::{NotKnown, Note, NoteId};
use idlewise_recording::candidate::is_bound;
use idlewise_recording::{FidelityHead, TraceHead};
use idlewise_report::span;
use idlewise_score::{Measure, Score};

use crate::breaches::breach_words;
use crate::replay::PlatformHead;

/// The unit of energies that were measured.
const MEASURED: &str = "mJ";

/// One recording and what governors did on it.
pub(crate) struct RecordingRuns<'r> {
    pub(crate) head: &'r TraceHead,
    pub(crate) same_machine: bool,
    pub(crate) fidelity: &'r Result<FidelityHead, NotKnown>,
    pub(crate) runs: Vec<GovernorRun<'r>>,
}

impl<'r> RecordingRuns<'r> {
    /// Those that have a score.
    fn scored(&self) -> Scored<'r> {
        self.runs.iter().filter_map(|r| Some((r.governor, r.role, r.known()?))).collect()
    }
}

pub(crate) struct GovernorRun<'r> {
    pub(crate) governor: &'r str,
    pub(crate) role: Role,
    pub(crate) failure: Option<&'r String>,
    pub(crate) score: &'r Score,
    pub(crate) decisions: u64,
}

impl<'r> GovernorRun<'r> {
    /// The score, where there is one.
    fn known(&self) -> Option<&'r Score> {
        (self.failure.is_none() && !self.score.is_nothing()).then_some(self.score)
    }
}

/// What all of `seen` come to, on `machine`.
pub(crate) fn answer(
    seen: &[RecordingRuns<'_>],
    machine: &PlatformHead,
    measures: &[&'static Measure],
) -> Answer {
    let runs = || seen.iter().flat_map(|s| &s.runs).filter(|r| r.failure.is_none());
    let unit = runs().map(|r| r.score.energy_unit.as_str()).next().unwrap_or("rel");
    let columns = Column::of(measures.iter().copied(), unit);
    let groups: Vec<Group> = seen.iter().map(|s| group(s, measures)).collect();
    let reasons = seen.iter().map(|s| {
        let mut reasons = Trust::of_replay(s.head, s.same_machine, s.fidelity).reasons;
        let wakeups = s.runs.iter().filter_map(|r| Some(r.known()?.wakeups)).max();
        reasons.extend(wakeups.and_then(Reason::of_wakeups));
        reasons.extend(machine.energy_doubt.map(|d| Reason::new(Grade::Fair, ReasonId::Energy, d)));
        (s.head.name.as_str(), reasons)
    });
    let spreads = spreads(&columns, &groups);
    let first = seen.first().map_or(&[][..], |s| s.runs.as_slice());
    let same = seen.iter().all(|s| s.same_machine);
    Answer {
        governors: first.iter().map(|r| r.governor.to_owned()).collect(),
        on: on(seen.iter().map(|s| s.head), &machine.id, same),
        trust: Trust::of_several(&reasons.collect::<Vec<_>>()),
        warnings: warnings(seen),
        baseline: first
            .iter()
            .find(|r| r.role == Role::Baseline)
            .map_or_else(String::new, |r| r.governor.to_owned()),
        verdicts: if spreads.is_empty() {
            verdicts(seen, &columns, &groups)
        } else {
            verdicts_over(&columns, &spreads)
        },
        spreads,
        columns,
        groups,
    }
}

/// Recordings and the machine in a few words.
pub(crate) fn on<'h>(
    heads: impl Iterator<Item = &'h TraceHead>,
    machine: &str,
    same_machine: bool,
) -> String {
    let heads: Vec<&TraceHead> = heads.collect();
    let machine = if same_machine { format!("on {machine}") } else { format!("as if on {machine}") };
    match heads.as_slice() {
        [one] => {
            let cpus = one.cpus.len();
            let cpus = if cpus == 1 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") };
            format!("{} ({}, {cpus}) {machine}", one.name, span(one.span_ns))
        }
        several => format!("{} recordings {machine}", several.len()),
    }
}

fn group(s: &RecordingRuns<'_>, measures: &[&'static Measure]) -> Group {
    let base = s.runs.iter().find(|r| r.role == Role::Baseline).and_then(GovernorRun::known);
    let contender =
        |r: &GovernorRun<'_>| Contender::of(r.governor, r.role, r.failure, measures, [base, r.known()]);
    Group {
        name: s.head.name.clone(),
        machine: s.head.recorded_on.clone(),
        contenders: s.runs.iter().map(contender).collect(),
    }
}

/// That of a governor which is not the baseline.
pub(crate) fn role(governor: &str) -> Role {
    if is_bound(governor) { Role::Bound } else { Role::Governor }
}

/// What changes the meaning of numbers.
fn warnings(seen: &[RecordingRuns<'_>]) -> Vec<Note> {
    let place =
        |s: &RecordingRuns<'_>| if seen.len() > 1 { format!("{}: ", s.head.name) } else { String::new() };
    let mut out = TraceHead::warnings(seen.iter().map(|s| s.head));
    for s in seen {
        for r in s.runs.iter().filter(|r| r.failure.is_none()) {
            let said = breach_words(&r.score.breaches, r.decisions);
            out.extend(said.into_iter().map(|w| w.about(format!("{}{} ", place(s), r.governor))));
        }
        out.extend(
            s.runs
                .iter()
                .filter_map(|r| Some(NoteId::GovernorFailed.note(format!("{}{}", place(s), r.failure?)))),
        );
    }
    out.extend(energy_notes(seen.iter().map(RecordingRuns::scored)));
    out.extend(
        TraceHead::assumptions(seen.iter().map(|s| s.head))
            .map(|a| NoteId::Assumption.note(format!("holds if {a}"))),
    );
    out
}

/// A sentence for each governor on the only recording.
fn verdicts(seen: &[RecordingRuns<'_>], columns: &[Column], groups: &[Group]) -> Vec<Verdict> {
    let ([seen], [group]) = (seen, groups) else { return Vec::new() };
    let Some(base) = group.contenders.iter().find(|c| c.role == Role::Baseline) else { return Vec::new() };
    let measured =
        seen.runs.iter().find(|r| r.failure.is_none()).is_some_and(|r| r.score.energy_unit == MEASURED);
    let seconds = seen.head.span_ns as f64 / 1e9 * seen.head.cpus.len() as f64;
    let power = |mj: f64| mj / seconds;
    let power = measured.then_some(&power as &dyn Fn(f64) -> f64);
    let others = group.contenders.iter().filter(|c| c.role != Role::Baseline);
    others.map(|c| verdict(columns, USUAL, c, base, power)).collect()
}
