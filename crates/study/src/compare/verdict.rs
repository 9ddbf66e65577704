// SPDX-License-Identifier: GPL-2.0-only
//! What a comparison comes to, in words that a sceptical reader can check against the tables.

pub use idlewise_answer::{SMALL_LATENCY_NS, SMALL_PCT};
use idlewise_model::{Note, NoteId, number_of};
use idlewise_report::{percent, percent_of, signed_duration, signed_percent};
use idlewise_score::measure::{ENERGY, LATENCY_MEAN, LATENCY_P99};
use idlewise_score::{Measure, Unit};

use super::change::MeasureChange;
use super::parting::{Cost, FJ_PER_UNIT};
use super::report::{
    CompareReport, Comparison, Direction, Range, Spread, TraceComparison, Verdict, WaitCounts,
};

/// Fewer waits than this are an anecdote.
const FEW: u64 = 100;

impl Direction {
    /// The way that `change` goes, where it is worth naming.
    pub(crate) fn of(change: &MeasureChange) -> Self {
        let small = change.change_pct.is_some_and(|pct| pct.abs() < SMALL_PCT)
            || (change.measure.unit == Unit::Time && change.change.abs() < SMALL_LATENCY_NS);
        match change.change {
            c if c.is_nan() => Self::Unknown,
            _ if small => Self::Same,
            c if c < 0.0 => Self::Lower,
            _ => Self::Higher,
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Same, way) | (way, Self::Same) => way,
            _ => Self::Mixed,
        }
    }
}

impl Comparison {
    fn latency(&self) -> Direction {
        let of = |m: &'static Measure| Direction::of(&self.change(m));
        of(LATENCY_MEAN).and(of(LATENCY_P99))
    }

    fn energy(&self) -> Direction {
        let of = |change: &MeasureChange| Direction::of(change);
        let assumed = of(&self.change(ENERGY));
        match &self.energy_in_equal_steps {
            Some(other) if of(other) != assumed => Direction::Mixed,
            _ => assumed,
        }
    }

    fn same_decisions(&self) -> bool {
        self.waits.same + self.waits.neither == self.waits.all
    }

    fn numbers(&self, energy_grade: &str) -> String {
        let latency = self.change(LATENCY_MEAN);
        let p99 = self.change(LATENCY_P99);
        let otherwise = self
            .energy_in_equal_steps
            .as_ref()
            .map_or_else(String::new, |c| format!("; {} if state powers fell in equal steps", c.relative()));
        format!(
            "{}; wakeup latency {} mean (p99 {}), idle energy {} ({energy_grade}{otherwise})",
            self.waits.words(),
            latency.relative(),
            if p99.change == 0.0 { "the same".to_owned() } else { p99.words() },
            self.change(ENERGY).relative(),
        )
    }
}

impl WaitCounts {
    /// How often the first choice is another.
    fn words(&self) -> String {
        let share = |n: u64| percent(percent_of(n, self.all));
        let parts = [
            (self.other_state, "another state in"),
            (self.other_tick, "the same state but another tick choice in"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|p| p.0 > 0).map(|(n, what)| format!("{what} {} %", share(*n))).collect();
        let parts =
            if parts.is_empty() { "the same first choice in all".to_owned() } else { parts.join(", ") };
        format!("{parts} of {}", number_of(self.all, "wake event"))
    }
}

impl Verdict {
    pub(crate) fn new(r: &CompareReport) -> Self {
        let Some(all) = r.all() else { return Self::default() };
        let (latency, energy) = (all.latency(), all.energy());
        let same_decisions = all.same_decisions();
        let (a, b) = (&r.a, &r.b);
        let text = if same_decisions {
            format!("{b} against {a}: same decisions at all {} wake events", all.waits.all)
        } else {
            let grade = r.energy_grades.join("; ");
            format!("{b} against {a}: {}: {}", all.numbers(&grade), conclusion(latency, energy))
        };
        let text = match r.assumption() {
            Some(assumption) => format!("{text}, if {assumption}"),
            None => text,
        };
        let notes = if same_decisions { Vec::new() } else { notes(r, all) };
        Self { same_decisions, latency, energy, text, notes }
    }
}

fn conclusion(latency: Direction, energy: Direction) -> String {
    use Direction::{Higher, Lower, Mixed, Same, Unknown};
    match (latency, energy) {
        (Unknown, Unknown) => "neither latency nor energy is known".to_owned(),
        (Unknown, energy) => format!("latency is not known, {}", energy_words(energy)),
        (latency, Unknown) => format!("{}, energy is not known", latency_words(latency)),
        (Lower, Lower) => "better in both".to_owned(),
        (Higher, Higher) => "worse in both".to_owned(),
        (Same, Same) => "no relevant difference".to_owned(),
        (Lower, Higher) => "trades energy for latency".to_owned(),
        (Higher, Lower) => "trades latency for energy".to_owned(),
        (Lower, Same) => "lower latency at the same energy".to_owned(),
        (Higher, Same) => "higher latency at the same energy".to_owned(),
        (Same, Lower) => "less energy at the same latency".to_owned(),
        (Same, Higher) => "more energy at the same latency".to_owned(),
        (Mixed, energy) => format!("mean and p99 latency disagree, {}", energy_words(energy)),
        (latency, Mixed) => format!("{}, {}", latency_words(latency), energy_words(Mixed)),
    }
}

fn latency_words(latency: Direction) -> &'static str {
    match latency {
        Direction::Lower => "lower latency",
        Direction::Same => "the same latency",
        Direction::Higher => "higher latency",
        Direction::Mixed => "mean and p99 latency disagree",
        Direction::Unknown => "latency is not known",
    }
}

fn energy_words(energy: Direction) -> &'static str {
    match energy {
        Direction::Lower => "less energy",
        Direction::Same => "the same energy",
        Direction::Higher => "more energy",
        Direction::Mixed => "and what that means for energy depends on the assumed state powers",
        Direction::Unknown => "energy is not known",
    }
}

fn notes(r: &CompareReport, all: &Comparison) -> Vec<Note> {
    let mut out = Vec::new();
    let other = all.waits.all - all.waits.same - all.waits.neither;
    if other < FEW {
        let words = format!("this depends on {other} wake events: another recording may give another result");
        out.push(NoteId::FewWakeEvents.note(words));
    }
    let latency = |c: &Cost| c.latency_ns();
    out.extend(cancelling(all, (NoteId::LatencyCancels, "latency"), all.latency(), latency, |ns| {
        signed_duration(ns as f64)
    }));
    let unit = &all.a.score.energy_unit;
    let shown = |fj: i128| format!("{:+.4} {unit}", fj as f64 / FJ_PER_UNIT);
    out.extend(cancelling(all, (NoteId::EnergyCancels, "energy"), all.energy(), Cost::energy_fj, shown));
    out.extend(r.traces.iter().filter_map(below_fidelity));
    if let Some(across) = &r.across_traces {
        out.push(NoteId::AcrossTraces.note(across.words("traces", true)));
    }
    for trace in &r.traces {
        let Some(across) = &trace.across_cpus else { continue };
        let name = if r.traces.len() > 1 { format!("{}: ", trace.head.name) } else { String::new() };
        out.push(NoteId::AcrossCpus.note(format!("{name}{}", across.words("CPUs", false))));
    }
    out
}

/// Where a difference is what remains of larger ones in both directions.
fn cancelling(
    all: &Comparison,
    (id, what): (NoteId, &str),
    way: Direction,
    of: impl Fn(&Cost) -> i128,
    shown: impl Fn(i128) -> String,
) -> Option<Note> {
    let rows = || all.partings.iter().map(|p| of(&p.cost));
    let up: i128 = rows().filter(|d| *d > 0).sum();
    let down: i128 = rows().filter(|d| *d < 0).sum();
    let mostly_cancelled = 2 * (up + down).abs() < up - down;
    (way != Direction::Same && mostly_cancelled).then(|| {
        id.note(format!(
            "the {what} is the difference of {} in some rows and {} in others: another recording may give \
             another result",
            shown(up),
            shown(down)
        ))
    })
}

/// Where replay parts from the kernel more often than B from A.
fn below_fidelity(trace: &TraceComparison) -> Option<Note> {
    let unlike = 100.0 - trace.fidelity.as_ref().ok()?.same_state_pct?;
    let waits = &trace.comparison.waits;
    let differ = percent_of(waits.other_state, waits.all);
    (differ < unlike).then(|| {
        NoteId::BelowFidelity.note(format!(
            "{}: another state is chosen at {} % of the wake events, but replay itself differs from {} % of \
             the kernel's choices",
            trace.head.name,
            percent(differ),
            percent(unlike)
        ))
    })
}

impl Spread {
    /// Of several parts; nothing of fewer than two.
    pub(crate) fn of(parts: &[&Comparison]) -> Option<Self> {
        let range = |m: &'static Measure| Range::of(&parts.iter().map(|p| p.change(m)).collect::<Vec<_>>());
        (parts.len() > 1).then(|| Self {
            parts: parts.len(),
            latency_mean: range(LATENCY_MEAN),
            energy: range(ENERGY),
        })
    }

    fn words(&self, of: &str, limits: bool) -> String {
        let latency = self.latency_mean.words(limits);
        format!("of {} {of}: mean latency {latency}; energy {}", self.parts, self.energy.words(limits))
    }
}

impl Range {
    fn of(changes: &[MeasureChange]) -> Self {
        let pct = || changes.iter().filter_map(|c| c.change_pct).filter(|pct| !pct.is_nan());
        let count = |way: Direction| changes.iter().filter(|c| Direction::of(c) == way).count();
        Self {
            min_pct: pct().reduce(f64::min),
            max_pct: pct().reduce(f64::max),
            lower: count(Direction::Lower),
            same: count(Direction::Same),
            higher: count(Direction::Higher),
            unknown: count(Direction::Unknown),
        }
    }

    fn words(&self, limits: bool) -> String {
        let ways = [
            (self.lower, "lower"),
            (self.higher, "higher"),
            (self.same, "the same"),
            (self.unknown, "not known"),
        ];
        let ways: Vec<String> =
            ways.iter().filter(|w| w.0 > 0).map(|(n, way)| format!("{way} in {n}")).collect();
        let opposed = if self.lower > 0 && self.higher > 0 { " (the sign differs)" } else { "" };
        let limits = match self.min_pct.zip(self.max_pct) {
            Some((min, max)) if limits => format!("{} to {}, ", signed_percent(min), signed_percent(max)),
            _ => String::new(),
        };
        format!("{limits}{}{opposed}", ways.join(", "))
    }
}
