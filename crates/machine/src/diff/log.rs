// SPDX-License-Identifier: GPL-2.0-only
//! What tools measured, as runs: counts and shares of time, as far as each tool has them.

use std::collections::BTreeMap;

use idlewise_model::{Note, NoteId};
use idlewise_platform::{
    COUNTER_MAX, IdleLog, LoggedInterval, LoggedState, SysfsDump, SysfsState, share_pct,
};
use idlewise_trace::CpuidleSample;

use super::report::{LoggedValue, Part, Run, StatePart};

/// What happened in an interval of `log`.
pub(super) fn run(log: &IdleLog, interval: &LoggedInterval) -> Run {
    let cpus: Vec<(&u32, &Vec<LoggedState>)> =
        interval.cpus.iter().filter_map(|(cpu, states)| Some((cpu.as_ref()?, states))).collect();
    let part = |(cpu, states): &(&u32, &Vec<LoggedState>)| {
        part(log, format!("cpu {cpu}"), 1, states, interval.seconds)
    };
    let measured =
        interval.others.iter().map(|(name, value)| LoggedValue { name: name.clone(), value: *value });
    Run {
        name: String::new(),
        basis: log.tool,
        driver: None,
        governor: None,
        seconds: interval.seconds,
        measured: measured.collect(),
        all: self::part(log, "all".to_owned(), cpus.len(), &interval.all(), interval.seconds),
        clusters: Vec::new(),
        cpus: cpus.iter().map(part).collect(),
    }
}

/// What some CPUs did; their states' shares are means.
fn part(log: &IdleLog, name: String, cpus: usize, states: &[LoggedState], seconds: Option<f64>) -> Part {
    let sum = |get: fn(&LoggedState) -> Option<u64>| {
        states
            .iter()
            .try_fold(0_u64, |sum, s| sum.checked_add(get(s)?))
            .filter(|_| !states.is_empty() && !log.partial)
    };
    let (usage, above, below) = (sum(|s| s.usage), sum(|s| s.above), sum(|s| s.below));
    let idle_pct: Option<f64> = states.iter().map(|s| s.time_pct).sum();
    // Of all time, where not all idle states are shown.
    let whole = if log.partial { Some(100.0) } else { idle_pct.filter(|pct| *pct > 0.0) };
    let time_us = |pct: Option<f64>| {
        let seconds = seconds.filter(|_| cpus > 0)?;
        let us = pct? * 1e4 * seconds * cpus as f64;
        (us <= COUNTER_MAX as f64).then_some(us.round() as u64)
    };
    let state = |s: &LoggedState| StatePart {
        state: None,
        name: s.name.clone(),
        latency_us: None,
        residency_us: None,
        disabled: None,
        usage: s.usage,
        usage_pct: share_pct(s.usage, usage),
        time_us: time_us(s.time_pct),
        idle_pct: s.time_pct.zip(whole).map(|(own, all)| 100.0 * own / all),
        above: s.above,
        above_pct: share_pct(s.above, s.usage),
        below: s.below,
        below_pct: share_pct(s.below, s.usage),
        rejected: None,
    };
    Part {
        name,
        cpus,
        usage,
        time_us: time_us(idle_pct.filter(|_| !log.partial)),
        above,
        above_pct: share_pct(above, usage),
        below,
        below_pct: share_pct(below, usage),
        rejected: None,
        states: states.iter().map(state).collect(),
    }
}

/// What a log does not show.
pub(super) fn doubts(log: &IdleLog, name: &str) -> Vec<Note> {
    let mut notes = Vec::new();
    if log.foreign_lines > 0 {
        notes.push(
            NoteId::OddLines.note(format!("{name}: lines about something else: {}", log.foreign_lines)),
        );
    }
    if log.damaged_rows > 0 {
        notes.push(NoteId::OddLines.note(format!(
            "{name}: rows of CPUs that do not fit the columns, and are left out: {}",
            log.damaged_rows
        )));
    }
    if log.some_cpus {
        notes.push(NoteId::LeftOut.note(format!(
            "{name}: the row of all CPUs counts more than the CPUs that the text has: all are those that are there, and \
             what is measured is the whole machine's"
        )));
    }
    if log.cut_off {
        notes.push(
            NoteId::CutOff.note(format!("{name}: the text ends within an interval, which is left out")),
        );
    }
    let unsteady = log.unsteady();
    if let Some((cpu, times)) = unsteady.first_key_value() {
        let more = if unsteady.len() > 1 {
            format!(", and {} more CPUs not in all", unsteady.len() - 1)
        } else {
            String::new()
        };
        notes.push(NoteId::CpusChanged.note(format!(
            "{name}: CPU {cpu} is in {times} of {} intervals{more}: not shown by itself, and in what the tool shows of all together",
            log.intervals.len()
        )));
    }
    type Shown = fn(&LoggedState) -> bool;
    let all: [(&str, Shown); 4] = [
        ("usage", |s| s.usage.is_some()),
        ("shares of time", |s| s.time_pct.is_some()),
        ("above", |s| s.above.is_some()),
        ("below", |s| s.below.is_some()),
    ];
    let states = || log.intervals.iter().flat_map(|i| i.cpus.values().flatten());
    let mut lacks: Vec<&str> =
        all.iter().filter(|(_, shown)| !states().any(shown)).map(|(what, _)| *what).collect();
    lacks.push("exit latency and target residency");
    if log.intervals.iter().any(|i| i.seconds.is_none()) {
        lacks.push("the length of an interval");
    }
    let shares = if log.partial {
        "not all idle states are shown, so that % idle are shares of all time"
    } else {
        "% idle are shares among the idle states"
    };
    notes.push(NoteId::CountersMissing.note(format!(
        "{name}: {} does not show {}, which is unknown (?); {shares}",
        log.tool,
        lacks.join(", ")
    )));
    notes
}

/// A sample of the kernel's times as a snapshot. The first of `all` says in which order the states of a CPU are.
pub(super) fn dump(sample: &CpuidleSample, all: &[CpuidleSample]) -> SysfsDump {
    let order = |cpu: &u32| -> Vec<&str> {
        let first = all.iter().find_map(|s| s.cpus.get(cpu));
        first.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
    };
    let states = |(cpu, states): (&u32, &Vec<(String, u64)>)| {
        let order = order(cpu);
        let mut numbered: BTreeMap<usize, SysfsState> = BTreeMap::new();
        for (at, (name, us)) in states.iter().enumerate() {
            // Names may repeat; one that the first sample does not have comes behind.
            let same = order.iter().enumerate().filter(|(_, n)| **n == name.as_str()).map(|(at, _)| at);
            let free = same.into_iter().find(|at| !numbered.contains_key(at)).unwrap_or(order.len() + at);
            let time_us = Some(*us).filter(|us| *us <= COUNTER_MAX);
            numbered.insert(free, SysfsState { name: Some(name.clone()), time_us, ..SysfsState::default() });
        }
        (Some(*cpu), numbered)
    };
    SysfsDump {
        cpus: sample.cpus.iter().map(states).collect(),
        at_ns: sample.cpus.keys().map(|cpu| (*cpu, sample.at_ns)).collect(),
        unnumbered: true,
        ..SysfsDump::default()
    }
}
