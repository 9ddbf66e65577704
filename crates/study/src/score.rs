// SPDX-License-Identifier: GPL-2.0-only
//! The choices that the kernel itself made, judged: `idlewise score`.

use std::path::Path;

use idlewise_answer::{
    Answer, Column, Contender, Grade, Group as Rows, Reason, ReasonId, Role, Trust, Verdict,
};
use idlewise_model::{Ledger, Note, NoteId, Piece, PiecesError, TapeCpu};
use idlewise_report::{percent, percent_of};
use idlewise_score::measure::DECIDING;
use idlewise_score::{Measure, Score, Tally};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::on;
use crate::breaches::breach_words;
use crate::doomed::Doomed;
use crate::replay::Group;
use idlewise_recording::counters::CounterCheck;
pub use idlewise_recording::entries::VerdictCheck;
use idlewise_recording::entries::{VerdictOf, recorded_entry, with_loop};
use idlewise_recording::placement::Per;
use idlewise_recording::refused;
use idlewise_recording::{CommandError, Recording, RecordingOptions, TraceHead};

/// Version of the JSON that a score gives.
pub const SCHEMA: &str = "idlewise.score/2";

/// The scores of the choices that the kernel itself made.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ScoreReport {
    /// [`SCHEMA`].
    pub schema: String,
    pub version: String,
    pub head: TraceHead,
    /// The kernel's idle governor, empty where nobody said.
    pub governor: String,
    /// States that no governor can enter, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_entered: Vec<String>,
    pub score: Score,
    /// What it comes to.
    pub answer: Answer,
    /// The score broken down.
    pub groups: Vec<Group>,
    /// Entries that could not last.
    pub doomed: Doomed,
    /// How verdicts by the table agree with the kernel's own, where the trace has these: then the score has them.
    pub agreement: Option<VerdictCheck>,
    /// Without the kernel's own, idle periods whose verdict depends on the 500 ns by which events and the kernel's reads of the clock
    /// differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsure_verdicts: Option<u64>,
    /// How the trace agrees with the kernel's counters, where these were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<CounterCheck>,
}

/// Judges the recording at `path`. `counters` are the files of the kernel's counters before and after, if there are; else
/// those of the side-car are taken, where it has some.
///
/// # Errors
/// [`CommandError`] when the recording, its machine or the counters cannot be read.
pub fn score(
    path: &Path,
    options: &RecordingOptions,
    per: Per,
    counters: Option<[&Path; 2]>,
) -> Result<ScoreReport, CommandError> {
    let recording = judged(path, options)?;
    let machine = &recording.machine;
    let missing = |cpu: u32| {
        machine.cluster_of(cpu).is_none().then(|| format!("platform {} has no CPU {cpu}", machine.id))
    };
    let head = TraceHead::new(&recording, missing);
    let tallies = tally(&recording)?;
    if tallies.is_empty() {
        return Err(head.no_cpu_left(path, "scored"));
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
    let mut report = ScoreReport {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        governor: recording.tape.source.governor.clone(),
        not_entered: refused::words(&recording.machine),
        score: Score::of(&all),
        groups,
        doomed: Doomed::of(&recording)?,
        agreement: recording.machine_check.agreement,
        unsure_verdicts: unsure_verdicts(&recording)?,
        counters,
        head,
        answer: Answer::default(),
    };
    report.answer = answer(&report, &DECIDING);
    Ok(report)
}

/// What the judgement of a kernel's own choices comes to in `measures`.
#[must_use]
pub fn answer(r: &ScoreReport, measures: &[&'static Measure]) -> Answer {
    let governor = if r.governor.is_empty() { "the kernel" } else { r.governor.as_str() };
    let column = Column::of(measures.iter().copied(), &r.score.energy_unit);
    let row = |name: &str, score| Contender::of(name, Role::Baseline, None, measures, [None, Some(score)]);
    let groups = r.groups.iter().map(|g| row(&g.name, &g.score));
    let contenders =
        groups.chain([row(if r.groups.is_empty() { governor } else { "all" }, &r.score)]).collect();
    let mut reasons = Trust::of_recording(&r.head);
    reasons.extend(r.agreement.as_ref().map(agreement));
    reasons.extend(r.unsure_verdicts.and_then(|unsure| unsure_reason(unsure, r.score.wakeups)));
    reasons.extend(Trust::of_wakes(&r.head));
    reasons.extend(Reason::of_wakeups(r.score.wakeups));
    let who = format!(
        "the kernel's own choices{}",
        if r.governor.is_empty() { String::new() } else { format!(" ({governor})") }
    );
    let mut warnings = r.head.warnings.clone();
    let said = breach_words(&r.score.breaches, r.score.wakeups + r.score.rejected);
    warnings.extend(said.into_iter().map(|w| w.about(format!("{governor} "))));
    Answer {
        governors: vec![who],
        on: on([&r.head].into_iter(), &r.head.recorded_on, true),
        trust: Trust::from(reasons),
        warnings,
        baseline: governor.to_owned(),
        columns: column,
        groups: vec![Rows { name: r.head.name.clone(), machine: r.head.recorded_on.clone(), contenders }],
        spreads: Vec::new(),
        verdicts: vec![Verdict { governor: governor.to_owned(), words: score_words(&r.score) }],
    }
}

/// How the recomputed verdicts agree with the kernel's own, which the score has: another machine's table is doubted, not they.
fn agreement(a: &VerdictCheck) -> Reason {
    let grade = if a.disagree * 100 <= a.missed { Grade::Good } else { Grade::Poor };
    Reason::new(
        grade,
        ReasonId::Verdicts,
        format!("the kernel and the table differ on {} of {} misses", a.disagree, a.missed),
    )
}

/// Nothing where the shares of a score are known to a percentage point.
fn unsure_reason(unsure: u64, wakeups: u64) -> Option<Reason> {
    let matters = unsure * 100 > wakeups;
    matters.then(|| Reason::new(Grade::Fair, ReasonId::Verdicts, unsure_words(unsure, wakeups)))
}

/// What [`ScoreReport::unsure_verdicts`] says of a score.
#[must_use]
pub fn unsure_words(unsure: u64, wakeups: u64) -> String {
    format!(
        "{} % of verdicts depend on 0.5 us between events and the kernel's clock reads",
        percent(percent_of(unsure, wakeups))
    )
}

/// As [`ScoreReport::unsure_verdicts`].
fn unsure_verdicts(recording: &Recording) -> Result<Option<u64>, PiecesError> {
    let of = recording.verdict_of();
    let mut unsure = 0;
    for cpu in recording.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable) {
        let Some(place) = recording.machine.cluster_of(cpu.cpu) else { continue };
        for block in cpu.pieces.blocks() {
            unsure += block?.iter().filter(|p| of.is_unsure(p, &place.table)).count() as u64;
        }
    }
    Ok((of == VerdictOf::Table).then_some(unsure))
}

/// `in C6 for 71 % of the idle time; 2.4 % of wakeups too shallow, 6.0 % too deep`.
fn score_words(s: &Score) -> String {
    let most = s.states.iter().max_by_key(|state| state.residency_ns);
    let most = most
        .filter(|state| state.residency_ns > 0)
        .map(|state| format!("in {} for {} % of its idle time; ", state.name, percent(state.residency_pct)));
    format!(
        "{}{} % of wakeups too deep, {} % too shallow",
        most.unwrap_or_default(),
        percent(s.too_deep_pct),
        percent(s.too_shallow_pct)
    )
}

/// What each CPU of a recording did, by the kernel's own choices.
pub struct ByCpu {
    /// The kernel's idle governor, empty where nobody said.
    pub governor: String,
    /// From first to last event, ns.
    pub span_ns: u64,
    /// CPU, the part of the machine that it belongs to, its score.
    pub cpus: Vec<(u32, String, Score)>,
    /// CPUs that are left out, and why.
    pub left_out: Vec<String>,
    /// What was assumed about the recording by hand.
    pub assumption: Option<String>,
    /// What speaks against its machine.
    pub warnings: Vec<Note>,
}

/// Judges the recording at `path`, CPU by CPU.
///
/// # Errors
/// As [`score`].
pub fn by_cpu(path: &Path, options: &RecordingOptions) -> Result<ByCpu, CommandError> {
    let recording = judged(path, options)?;
    let head = TraceHead::new(&recording, |_| None);
    let tallies = tally(&recording)?;
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
fn judged(path: &Path, options: &RecordingOptions) -> Result<Recording, CommandError> {
    // What a trace lacks against the counters is part of the judgement.
    let options = RecordingOptions { whatever_counted: true, ..options.clone() };
    let recording = Recording::open(path, &options)?;
    if recording.tells_states()? { Ok(recording) } else { Err(not_scored(path, &recording)?) }
}

/// A tally of each CPU that can be used, with the name of its part of the machine.
fn tally(recording: &Recording) -> Result<Vec<(u32, &str, Tally<'_>)>, PiecesError> {
    let mut tallies = Vec::new();
    for cpu in recording.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable) {
        let Some(place) = recording.machine.cluster_of(cpu.cpu) else { continue };
        let mut tally = Tally::new(&place.table, &place.energy);
        for block in cpu.pieces.blocks() {
            let tallied = |piece| {
                tally.entry(&with_loop(recorded_entry(cpu, piece, &place.table, recording.verdict_of())))
            };
            block?.iter().for_each(tallied);
        }
        tallies.push((cpu.cpu, place.name.as_str(), tally));
    }
    Ok(tallies)
}

/// What a recording without the kernel's states leaves open, and what it tells all the same.
fn not_scored(path: &Path, recording: &Recording) -> Result<CommandError, PiecesError> {
    let usable = || recording.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable);
    let stays: usize = usable().map(|c| c.pieces.len()).sum();
    let mut idle_ns = 0;
    for block in usable().flat_map(|c| c.pieces.blocks()) {
        idle_ns += block?.iter().map(Piece::stay_ns).sum::<u64>();
    }
    let none = recording.tape.notes.iter().any(|note| note.id == NoteId::NoIdleEvents);
    let lacks = if none { "no cpu_idle events" } else { "no cpu_idle event of a state of this machine" };
    let why = format!(
        "{lacks}, so the kernel's choices cannot be scored: residency by state, too deep, too shallow, \
         energy. The trace shows {stays} idle periods of the idle task on {} CPUs, {:.3} s together. \
         `idlewise replay` needs no more, because governors choose the states there",
        usable().count(),
        idle_ns as f64 / 1e9
    );
    Ok(CommandError::input(path, why))
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
