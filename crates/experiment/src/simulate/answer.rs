// SPDX-License-Identifier: GPL-2.0-only
//! What a simulation comes to.

use idlewise_answer::{
    Answer, Cell, Column, Contender, FEW_WAKEUPS, Grade, Group, Quantity, Reason, ReasonId, Role, Subjects,
    Trust, verdict,
};
use idlewise_model::NoteId;
use idlewise_score::Better;
use idlewise_stats::{Interval, PairedChange};

use super::fact::FactUnit;
use super::report::{Combination, FactSummary, SimulateReport};

/// What facts of the machine rather than of the work are about.
const MACHINE: [&str; 7] = ["idle", "energy", "cluster", "rapl", "battery", "clock", "limit"];
/// Facts of the machine that decide.
const IDLE: [&str; 3] = ["too deep %", "too shallow %", "wakeups/s"];
/// How many facts of the work are shown.
const WORK: usize = 2;

/// What `r` comes to: power, what the work itself reports, how well idle states fit.
pub(super) fn answer(r: &SimulateReport) -> Answer {
    let there = r.combinations.iter().find(|c| c.failure.is_none());
    let facts: Vec<&FactSummary> = there.map_or_else(Vec::new, |c| deciding(r, c));
    let columns: Vec<Column> = facts.iter().map(|f| column(r, f)).collect();
    let contenders: Vec<Contender> =
        r.combinations.iter().enumerate().map(|(i, c)| contender(r, i, c, &facts)).collect();
    let base = contenders.iter().find(|c| c.role == Role::Baseline);
    let name = |n: usize| columns.get(n).map_or("", |c| c.name.as_str());
    let of_machine = facts.iter().filter(|f| MACHINE.contains(&f.about.as_str())).count();
    let work = columns.len().saturating_sub(of_machine);
    let subjects = Subjects {
        latency: if work > 0 { name(1) } else { "" },
        tail: if work > 1 { name(2) } else { "" },
        energy: name(0),
    };
    let others = contenders.iter().filter(|c| c.role != Role::Baseline);
    let verdicts =
        base.map_or_else(Vec::new, |b| others.map(|c| verdict(&columns, subjects, c, b, None)).collect());
    Answer {
        governors: contenders.iter().map(|c| c.governor.clone()).collect(),
        on: format!(
            "{} on {} ({} CPUs, {} s)",
            r.request.workload,
            r.platform.id,
            r.cpus,
            r.duration_ns as f64 / 1e9
        ),
        trust: trust(r, &facts),
        warnings: r
            .combinations
            .iter()
            .filter_map(|c| Some(NoteId::GovernorFailed.note(c.failure.as_ref()?)))
            .collect(),
        baseline: base.map_or_else(String::new, |b| b.governor.clone()),
        groups: vec![Group { name: r.request.workload.clone(), machine: r.platform.id.clone(), contenders }],
        columns,
        spreads: Vec::new(),
        verdicts,
    }
}

/// What happens to the subject of a fact of the work, and the fact that counts it.
const EVENTS: [(&str, &str); 4] =
    [("wakeup", "wakeups/s"), ("frame", "frames/s"), ("answer", "answered/s"), ("answer", "IOPS")];

/// How often it happens to the subject of `f` in each run of `c`, on average, and its name; `None` where nothing is counted.
fn events(r: &SimulateReport, c: &Combination, f: &FactSummary) -> Option<(f64, &'static str)> {
    // A run may end before its time, when all tasks have ended.
    let ended_ns = c.fact("run", "time").map(|time| time.summary.mean).filter(|ns| ns.is_finite());
    let seconds = ended_ns.unwrap_or(r.duration_ns as f64) / 1e9;
    EVENTS.iter().find_map(|(event, rate)| Some((c.fact(&f.about, rate)?.summary.mean * seconds, *event)))
}

/// A mean or a percentile of fewer events in a run says nothing.
const LEAST_EVENTS: f64 = 2.0;

/// What speaks against a fact of few events, in all runs together.
fn few(r: &SimulateReport, c: &Combination, f: &FactSummary) -> Option<Reason> {
    let (n, event) = events(r, c, f)?;
    (n * (r.request.repeat.max(1) as f64) < FEW_WAKEUPS as f64).then(|| {
        let n = n.round();
        let s = if n == 1.0 { "" } else { "s" };
        let words = format!("{}: only {n} {event}{s} in each run", f.about);
        Reason::new(Grade::Poor, ReasonId::FewWakeups, words)
    })
}

fn trust(r: &SimulateReport, facts: &[&FactSummary]) -> Trust {
    let mut reasons =
        vec![Reason::new(Grade::Fair, ReasonId::Model, "simulated: a model of machine and kernel")];
    reasons.push(match r.request.repeat {
        0 | 1 => Reason::new(Grade::Poor, ReasonId::Runs, "one run of each: no interval"),
        n => Reason::new(Grade::Good, ReasonId::Runs, format!("{n} runs of each, paired by seed")),
    });
    reasons.extend(r.platform.energy_doubt.map(|d| Reason::new(Grade::Fair, ReasonId::Energy, d)));
    let there = r.combinations.iter().filter(|c| c.failure.is_none());
    reasons.extend(there.flat_map(|c| facts.iter().filter_map(|f| few(r, c, f))));
    reasons.extend(r.notes.iter().map(|n| Reason::new(Grade::Fair, ReasonId::Workload, &**n)));
    Trust::from(reasons)
}

/// The facts that decide: power, those of the work, those of idle states.
fn deciding<'c>(r: &SimulateReport, c: &'c Combination) -> Vec<&'c FactSummary> {
    let is_work = |f: &&FactSummary| {
        let first = f.about.split(' ').next().unwrap_or(&f.about);
        !MACHINE.contains(&first) && matches!(f.unit, FactUnit::Ns | FactUnit::Percent | FactUnit::PerSecond)
    };
    // A subject to which next to nothing happens does not come first.
    let seldom = |f: &FactSummary| few(r, c, f).is_some();
    // What a user waits for comes before what it waits for: frames and requests, devices, tasks.
    let kind = |f: &FactSummary| match f.about.split(' ').next() {
        Some("frames" | "requests") => 0,
        Some("task") => 2,
        _ => 1,
    };
    let weight = |f: &&FactSummary| {
        let within = match (kind(f), f.name.as_str()) {
            (2, name) if name.ends_with("mean") => 0,
            (2, name) if name.ends_with("p99") => 1,
            (2, _) => 2,
            (_, name) if name.ends_with("p99") => 0,
            (_, name) if name.ends_with('%') => 1,
            (_, name) if name.ends_with("/s") => 2,
            _ => 3,
        };
        (seldom(f), kind(f), within)
    };
    let mut work: Vec<&FactSummary> = c.facts.iter().filter(is_work).collect();
    work.sort_by_key(weight);
    work.truncate(WORK);
    let power = c.facts.iter().filter(|f| f.about == "energy" && f.name == "power");
    let idle = IDLE.iter().filter_map(|name| c.facts.iter().find(|f| f.about == "idle" && f.name == *name));
    let limited = c.facts.iter().filter(|f| f.about == "limit" && f.name == "limited %");
    power.chain(work).chain(limited).chain(idle).collect()
}

fn column(r: &SimulateReport, f: &FactSummary) -> Column {
    let (quantity, unit) = match f.unit {
        FactUnit::Percent => (Quantity::Share, ""),
        FactUnit::Ns => (Quantity::Time, ""),
        FactUnit::PerSecond => (Quantity::Rate, ""),
        FactUnit::Energy => (Quantity::Power, if r.energy_measured { "mW" } else { "rel" }),
        _ => (Quantity::Count, ""),
    };
    let of_work = !MACHINE.contains(&f.about.as_str());
    // Of work more is better of what comes each second: frames, requests.
    let better = if of_work && f.unit == FactUnit::PerSecond { Better::More } else { Better::Less };
    let what = f.name.trim_end_matches(" %").trim_end_matches("/s");
    let label = match f.about.split_once(' ') {
        Some((kind, _)) if of_work => format!("{} {what}", kind.trim_end_matches('s')),
        _ => what.to_owned(),
    };
    Column { name: format!("{}.{}", f.about, f.name), label, quantity, unit: unit.to_owned(), better }
}

fn contender(r: &SimulateReport, at: usize, c: &Combination, facts: &[&FactSummary]) -> Contender {
    let role = if at == r.baseline { Role::Baseline } else { Role::Governor };
    let known = |f: &FactSummary| {
        f.unit == FactUnit::PerSecond || events(r, c, f).is_none_or(|(n, _)| n >= LEAST_EVENTS)
    };
    let own = |f: &FactSummary| c.fact(&f.about, &f.name).filter(|_| known(f));
    let cells = facts.iter().map(|f| own(f).map_or(UNKNOWN, |own| cell(own, role)));
    Contender { governor: r.name(c), role, failure: c.failure.clone(), cells: cells.collect(), counts: None }
}

const UNKNOWN: Cell = Cell { value: f64::NAN, change: f64::NAN, interval: None };

fn cell(f: &FactSummary, role: Role) -> Cell {
    let value = f.summary.mean;
    let Some(change) = f.change.filter(|_| role != Role::Baseline) else {
        return Cell { value, ..UNKNOWN };
    };
    let (middle, half) = in_units(f.unit, &change);
    let interval = half.map(|h| Interval { low: middle - h, high: middle + h });
    // Runs that are all alike have an interval without width: what it holds is no chance.
    Cell { value, change: middle, interval: interval.filter(|i| i.high > i.low) }
}

/// The change in percentage points or %, and half its interval.
fn in_units(unit: FactUnit, c: &PairedChange) -> (f64, Option<f64>) {
    if unit == FactUnit::Percent {
        return (c.difference, c.half_width);
    }
    (c.relative.map_or(f64::NAN, |r| r * 100.0), c.relative_half_width.map(|h| h * 100.0))
}
