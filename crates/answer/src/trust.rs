// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{NotKnown, Note, NoteId, number_of};
use idlewise_recording::trace_head::InputHead;
use idlewise_recording::{FidelityHead, TraceHead};
use idlewise_report::share;
use schemars::JsonSchema;
use serde::Serialize;

/// How far numbers can be trusted, in a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    #[default]
    Good,
    Fair,
    Poor,
}

/// How far numbers can be trusted, and why.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Trust {
    pub grade: Grade,
    /// What speaks against them, the worst first, then what speaks for them.
    pub reasons: Vec<Reason>,
}

/// What a reason is about, whatever its numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonId {
    /// How many of the kernel's choices its governor repeats.
    Fidelity,
    /// The machine is not the recorded one.
    WhatIf,
    /// Sleep lengths are uncertain.
    SleepLength,
    /// The recording names another machine than is assumed.
    MachineContradicted,
    /// The recorded machine is assumed.
    MachineAssumed,
    /// There are warnings to read.
    Warnings,
    /// Events or time are lost.
    Lost,
    /// CPUs are left out.
    LeftOut,
    /// Idle entries are into states that the machine lacks.
    LackingStates,
    /// Latencies follow from declared exit latencies for the most part.
    Wakes,
    /// Whether the order of governors holds for all sleep lengths.
    Sensitivity,
    /// There are few wakeups.
    FewWakeups,
    /// Recorded choices are not repeated.
    Parity,
    /// How many verdicts agree with the kernel's own.
    Verdicts,
    /// The run is simulated, not recorded.
    Model,
    /// How many runs there are.
    Runs,
    /// Energy has no unit, or powers are fitted or assumed.
    Energy,
    /// A part of the workload is not modelled, or only roughly.
    Workload,
}

/// Why a grade is what it is.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Reason {
    pub id: ReasonId,
    /// The best grade that it allows.
    pub grade: Grade,
    pub words: String,
    /// How much speaks against the numbers: of several reasons alike the worst is kept.
    #[serde(skip)]
    weight: f64,
}

/// A replay that repeats at least so many of the kernel's choices, %, saw what the governor saw.
const REPEATS_GOOD_PCT: f64 = 98.0;
/// One that repeats fewer says nothing about that kernel.
const REPEATS_FAIR_PCT: f64 = idlewise_recording::trace_head::LEAST_AGREEMENT_PCT;
/// So many sleep lengths may be known from one side only, %.
const BOUNDED_GOOD_PCT: f64 = 5.0;
const BOUNDED_FAIR_PCT: f64 = 25.0;

/// So many ends of idle periods may be known within limits only, %, before latencies say more of the declared exit latencies than of
/// the recording.
const WAKES_GOOD_PCT: f64 = 25.0;

/// Fewer wakeups than this say nothing about a governor.
pub const FEW_WAKEUPS: u64 = 100;

impl Grade {
    /// As tables and JSON name it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Fair => "fair",
            Self::Poor => "poor",
        }
    }
}

impl Reason {
    /// A reason for a grade no better than `grade`.
    #[must_use]
    pub fn new(grade: Grade, id: ReasonId, words: impl Into<String>) -> Self {
        Self { id, grade, words: words.into(), weight: 0.0 }
    }

    /// The same with so much against the numbers, in a measure that reasons of this name share.
    fn weighing(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// What speaks against a run of so few wakeups.
    #[must_use]
    pub fn of_wakeups(wakeups: u64) -> Option<Self> {
        let words = || format!("only {}", number_of(wakeups, "wakeup"));
        (wakeups < FEW_WAKEUPS)
            .then(|| Self::new(Grade::Poor, ReasonId::FewWakeups, words()).weighing(-(wakeups as f64)))
    }
}

impl Trust {
    /// The grade that `reasons` leave. Reasons are sorted, and of several alike one is kept.
    #[must_use]
    pub fn from(mut reasons: Vec<Reason>) -> Self {
        reasons.sort_by(|a, b| b.grade.cmp(&a.grade).then(b.weight.total_cmp(&a.weight)));
        let mut kept: Vec<Reason> = Vec::new();
        for reason in reasons {
            if !kept.iter().any(|k| k.id == reason.id) {
                kept.push(reason);
            }
        }
        let grade = kept.first().map_or(Grade::Good, |r| r.grade);
        Self { grade, reasons: kept }
    }

    /// The grade of several recordings: of reasons alike the worst is kept, with the recordings that have it.
    #[must_use]
    pub fn of_several(recordings: &[(&str, Vec<Reason>)]) -> Self {
        let places = |r: &Reason| -> Vec<&str> {
            let alike = |own: &Reason| own.id == r.id && own.words == r.words;
            let there = recordings.iter().filter(|(_, all)| all.iter().any(alike));
            there.map(|(name, _)| *name).collect()
        };
        let placed = |r: &Reason| {
            let words = match places(r).as_slice() {
                all if all.len() == recordings.len() => r.words.clone(),
                [one] => format!("{} in {one}", r.words),
                [first, more @ ..] => format!("{} in {first} and {} more", r.words, more.len()),
                [] => r.words.clone(),
            };
            Reason { words, ..r.clone() }
        };
        Self::from(recordings.iter().flat_map(|(_, all)| all).map(placed).collect())
    }

    /// That of a replay of the recording `head`; `same_machine` if the machine is the recorded one.
    #[must_use]
    pub fn of_replay(
        head: &TraceHead,
        same_machine: bool,
        fidelity: &Result<FidelityHead, NotKnown>,
    ) -> Self {
        let mut reasons = Vec::new();
        if !same_machine {
            let words = format!("what-if from {}", head.recorded_on);
            reasons.push(Reason::new(Grade::Fair, ReasonId::WhatIf, words));
        }
        reasons.push(repeats(fidelity));
        // What uncertain sleep lengths change is among the choices that differ, and counted there.
        let measured = fidelity
            .as_ref()
            .is_ok_and(|f| f.beats_constants() && f.same_pct().is_some_and(|pct| pct >= REPEATS_FAIR_PCT));
        reasons.extend(Self::of_recording(head));
        let uncertain = head.inputs.iter().find(|i| i.name == "sleep length").map(uncertain_pct);
        reasons.extend(uncertain.and_then(|pct| of_sleep_lengths(pct, measured)));
        Self::from(reasons)
    }

    /// What speaks against the latencies of the recording `head` on its own machine.
    #[must_use]
    pub fn of_wakes(head: &TraceHead) -> Option<Reason> {
        let pct = head.inputs.iter().find(|i| i.name == "wake").map(uncertain_pct)?;
        let words = format!("{pct:.0} % of latencies follow from declared exit latencies");
        (pct > WAKES_GOOD_PCT).then(|| Reason::new(Grade::Fair, ReasonId::Wakes, words).weighing(pct))
    }

    /// What speaks against a recording whatever is done with it.
    #[must_use]
    pub fn of_recording(head: &TraceHead) -> Vec<Reason> {
        let mut out = Vec::new();
        if head.machine_contradicted.is_some() {
            out.push(Reason::new(
                Grade::Poor,
                ReasonId::MachineContradicted,
                "the recording names another machine",
            ));
        } else if head.machine_assumed {
            out.push(Reason::new(
                Grade::Fair,
                ReasonId::MachineAssumed,
                format!("recorded on {}, as assumed", head.recorded_on),
            ));
        }
        if !head.warnings.is_empty() {
            // What is left out is in no number; a machine that is idle for long may just be so.
            let plausible = |w: &Note| {
                use NoteId::{LongIdlePeriod, MissingLines, StoodStill, SwitchedCpus};
                matches!(w.id, StoodStill | SwitchedCpus | MissingLines | LongIdlePeriod)
            };
            let grade = if head.warnings.iter().all(plausible) { Grade::Fair } else { Grade::Poor };
            out.push(Reason::new(grade, ReasonId::Warnings, "see the warnings"));
        }
        let lost: u64 =
            head.health.iter().filter(|h| LOSSES.contains(&h.kind.as_str())).map(|h| h.count).sum();
        if lost > 0 {
            // Of a hundred thousand events one may be lost and no number changes in its third digit.
            let grade = if lost.saturating_mul(1000) > head.events { Grade::Poor } else { Grade::Fair };
            let words = if lost == 1 {
                "1 event or gap lost".to_owned()
            } else {
                format!("{lost} events or gaps lost")
            };
            out.push(Reason::new(grade, ReasonId::Lost, words).weighing(lost as f64));
        }
        let lacking = head.health.iter().find(|h| h.kind == LACKING).map_or(0, |h| h.count);
        if lacking > 0 {
            let words =
                format!("{} into states that {} lacks", number_of(lacking, "idle entry"), head.recorded_on);
            out.push(Reason::new(Grade::Poor, ReasonId::LackingStates, words).weighing(lacking as f64));
        }
        if !head.left_out.is_empty() {
            let words = match head.left_out.as_slice() {
                [one] => format!("CPU {} left out", one.cpu),
                several => format!("{} of {} CPUs left out", several.len(), several.len() + head.cpus.len()),
            };
            out.push(Reason::new(Grade::Fair, ReasonId::LeftOut, words));
        }
        out
    }
}

/// Kinds of health counters that mean lost or doubtful time.
const LOSSES: [&str; 5] = ["lost-events", "clock-backwards", "clock-jump", "bad-event", "bad-page"];

/// The kind that means entries into states that the machine lacks.
const LACKING: &str = "state-out-of-table";

/// How many of the kernel's own choices a replay of its governor repeats.
fn repeats(fidelity: &Result<FidelityHead, NotKnown>) -> Reason {
    let id = ReasonId::Fidelity;
    let Some((f, pct)) = fidelity.as_ref().ok().and_then(|f| Some((f, f.same_pct()?))) else {
        return Reason::new(Grade::Fair, id, "fidelity not known");
    };
    let grade = match pct {
        p if p >= REPEATS_GOOD_PCT && f.beats_constants() => Grade::Good,
        p if p >= REPEATS_FAIR_PCT => Grade::Fair,
        _ => Grade::Poor,
    };
    let shown = |pct: f64| if pct == 100.0 { "100".to_owned() } else { share(pct, 1) };
    let mut words = format!("fidelity {} %", shown(pct));
    if f.usable_states <= 1 {
        words += ", which shows nothing: one state is usable";
    } else if let Some(constant) = f.constant.as_ref().filter(|_| !f.beats_constants()) {
        words += &format!(", no better than always {} ({} %)", constant.state, shown(constant.same_pct));
    }
    if let Some(other) = &f.better_version {
        words += &format!(", {} repeats {} %", other.governor, shown(other.same_pct));
    }
    Reason::new(grade, id, words).weighing(-pct)
}

/// What speaks against a recording `pct` % of whose sleep lengths are uncertain; `measured` where fidelity shows what that changes.
fn of_sleep_lengths(pct: f64, measured: bool) -> Option<Reason> {
    let grade = match pct {
        p if p <= BOUNDED_GOOD_PCT => return None,
        p if p <= BOUNDED_FAIR_PCT || measured => Grade::Fair,
        _ => Grade::Poor,
    };
    let words = format!("{pct:.0} % of sleep lengths are uncertain");
    Some(Reason::new(grade, ReasonId::SleepLength, words).weighing(pct))
}

fn uncertain_pct(input: &InputHead) -> f64 {
    let all = input.recorded + input.derived + input.bounded + input.assumed;
    idlewise_report::percent_of(input.bounded + input.assumed, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncertain_sleep_lengths_are_fair_where_fidelity_shows_what_they_change() {
        let grade = |pct, measured| of_sleep_lengths(pct, measured).map(|r| r.grade);
        for (pct, without, with) in [
            (5.0, None, None),
            (25.0, Some(Grade::Fair), Some(Grade::Fair)),
            (60.0, Some(Grade::Poor), Some(Grade::Fair)),
        ] {
            assert_eq!((grade(pct, false), grade(pct, true)), (without, with), "{pct} %");
        }
    }

    #[test]
    fn the_worst_reason_is_the_grade_and_comes_first() {
        let reasons = vec![
            Reason::new(Grade::Good, ReasonId::Fidelity, "99 %"),
            Reason::new(Grade::Fair, ReasonId::WhatIf, "a what-if"),
            Reason::new(Grade::Poor, ReasonId::Lost, "7 lost"),
            Reason::new(Grade::Fair, ReasonId::WhatIf, "another what-if"),
        ];
        let trust = Trust::from(reasons);
        assert_eq!(trust.grade, Grade::Poor);
        let ids: Vec<ReasonId> = trust.reasons.iter().map(|r| r.id).collect();
        assert_eq!(ids, [ReasonId::Lost, ReasonId::WhatIf, ReasonId::Fidelity]);
        assert_eq!(Trust::from(Vec::new()).grade, Grade::Good);
    }
}
