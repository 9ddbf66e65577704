// SPDX-License-Identifier: GPL-2.0-only
//! Booted kernels: what each governor chose there, and how far replay repeats it.

use idlewise_answer::{Answer, Column as Measured, Contender, Group, Role, USUAL, verdict};
use idlewise_chart::{Cell, Column, Hash, Kind, PageData, Table};
use idlewise_machine::boot::{BootReport, Cell as Booted};
use idlewise_model::Note;
use idlewise_score::measure::DECIDING;
use idlewise_score::{Measure, Score};
use idlewise_study::replay::GovernorResult;

use crate::{Source, answer, call, put_first};

/// The page of booted runs.
#[must_use]
pub fn boot(r: &BootReport, of: Source<'_>) -> PageData {
    let answer = judged(r);
    let on: Vec<String> = r.cells.iter().map(name).collect();
    let mut out = of.page(Kind::Boot, &format!("{} under Linux {}", on.join(", "), r.kernel));
    out.hashes = vec![Hash { name: format!("kernel {}", r.kernel), hash: r.kernel_id.clone() }];
    out.warnings = r.cells.iter().flat_map(|c| Note::words(&c.complaints)).collect();
    out.verdicts = r.cells.iter().filter_map(agreement).collect();
    out.verdicts.extend(answer.verdicts.iter().map(|v| format!("{}: {}", v.governor, v.words)));
    let mut tables = answer::tables(&answer);
    tables.extend([residency(r), agreements(r), latencies(r)]);
    put_first(&mut out, tables);
    call(&mut out, "recording", "machine and load");
    out
}

fn name(c: &Booted) -> String {
    let start = c.start.map_or_else(String::new, |n| format!(", start {n}"));
    format!("{} on {}{start}", c.workload, c.platform)
}

fn known(g: &GovernorResult) -> Option<&Score> {
    (g.failure.is_none() && !g.score.is_nothing()).then_some(&g.score)
}

fn judged(r: &BootReport) -> Answer {
    let measures: Vec<&'static Measure> = DECIDING.to_vec();
    let unit = r.cells.iter().flat_map(|c| &c.governors).filter_map(known).map(|s| s.energy_unit.as_str());
    let columns = Measured::deciding(unit.into_iter().next().unwrap_or("rel"));
    let group = |c: &Booted| {
        let base = c.governors.iter().find(|g| g.governor == r.baseline).and_then(known);
        let contender = |g: &GovernorResult| {
            let role = if g.governor == r.baseline { Role::Baseline } else { Role::Governor };
            Contender::of(&g.governor, role, g.failure.as_ref(), &measures, [base, known(g)])
        };
        Group {
            name: name(c),
            machine: c.platform.clone(),
            contenders: c.governors.iter().map(contender).collect(),
        }
    };
    let groups: Vec<Group> = r.cells.iter().map(group).collect();
    let sentences = |g: &Group| {
        let Some(base) = g.contenders.iter().find(|c| c.role == Role::Baseline) else { return Vec::new() };
        let others = g.contenders.iter().filter(|c| c.role != Role::Baseline);
        others.map(|c| verdict(&columns, USUAL, c, base, None)).collect()
    };
    // A sentence for each governor of each of many cells is no answer.
    let verdicts = match groups.as_slice() {
        [one] => sentences(one),
        _ => Vec::new(),
    };
    Answer { columns, groups, verdicts, baseline: r.baseline.clone(), ..Answer::default() }
}

/// How often the governors in user space choose what the kernel's chose.
fn agreement(c: &Booted) -> Option<String> {
    let counts = c.checks.iter().filter_map(|check| check.parity.as_ref()?.result.as_ref().ok());
    let (same, of) = counts.fold((0, 0), |(same, of), n| (same + n.same, of + n.decisions));
    (of > 0).then(|| {
        format!("{}: of {of} choices of the kernel's governors, {same} are the same in user space", name(c))
    })
}

fn residency(r: &BootReport) -> Table {
    let mut t = Table::of_charts("residency");
    for c in &r.cells {
        for g in &c.governors {
            let groups = g.groups.iter().map(|part| {
                let cpu = part.name.strip_prefix("cpu ").and_then(|n| n.parse::<u32>().ok());
                (part.name.as_str(), cpu, &part.score)
            });
            let all = known(g).into_iter().map(|s| ("all CPUs", None, s));
            for (part, cpu, score) in all.chain(groups) {
                for (i, s) in score.states.iter().enumerate() {
                    t.rows.push(vec![
                        name(c).into(),
                        g.governor.as_str().into(),
                        if cpu.is_some() { "all CPUs" } else { part }.into(),
                        cpu.into(),
                        s.name.as_str().into(),
                        (i as u64).into(),
                        s.residency_pct.into(),
                    ]);
                }
            }
        }
    }
    t
}

/// The kernel's choices against those in user space.
fn agreements(r: &BootReport) -> Table {
    let columns = vec![
        Column::text("recording", "machine and load"),
        Column::text("governor", "governor"),
        Column::integer("decisions", "choices of the kernel", ""),
        Column::integer("same", "the same from true inputs", ""),
        Column::number("same_state_pct", "the same from stock events", "%"),
        Column::text("counters", "trace and counters"),
    ];
    let mut rows = Vec::new();
    for c in &r.cells {
        for check in &c.checks {
            let counts = check.parity.as_ref().and_then(|p| p.result.as_ref().ok());
            let counters = check.counters.as_ref().map(|c| if c.same() { "equal" } else { "differ" });
            rows.push(vec![
                name(c).into(),
                check.governor.as_str().into(),
                counts.map(|n| n.decisions).into(),
                counts.map(|n| n.same).into(),
                check.fidelity.as_ref().ok().map(|f| f.same_state_pct).into(),
                counters.into(),
            ]);
        }
    }
    Table {
        name: "agreement".to_owned(),
        title: "The kernel\u{2019}s choices and ours".to_owned(),
        columns,
        rows,
    }
}

/// The percentiles that are known of wakeup latency.
fn latencies(r: &BootReport) -> Table {
    let mut t = Table {
        name: "percentiles".to_owned(),
        title: "Wakeup latency".to_owned(),
        columns: vec![
            Column::text("recording", "machine and load"),
            Column::text("governor", "governor"),
            Column::integer("wakes", "wakeups that waited", ""),
            Column::number("mean_ns", "mean", "ns"),
            Column::integer("p50_ns", "median", "ns"),
            Column::integer("p99_ns", "p99", "ns"),
            Column::integer("max_ns", "greatest", "ns"),
        ],
        rows: Vec::new(),
    };
    for c in &r.cells {
        for (g, score) in c.governors.iter().filter_map(|g| Some((g, known(g)?))) {
            let l = &score.latency;
            let whole = |ns: u64| -> Cell { l.known(ns).into() };
            t.rows.push(vec![
                name(c).into(),
                g.governor.as_str().into(),
                l.wakes.into(),
                l.known(l.mean_ns).into(),
                whole(l.p50_ns),
                whole(l.p99_ns),
                whole(l.max_ns),
            ]);
        }
    }
    t
}
