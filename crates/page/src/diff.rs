// SPDX-License-Identifier: GPL-2.0-only
//! Counters: what each run did, and what differs between two, as bars.

use idlewise_answer::{Answer, Cell as Value, Column, Contender, Group, Quantity, Role};
use idlewise_chart::{Cell, Kind, PageData, Table};
use idlewise_machine::diff::{DiffReport, Meaning, Part, Run};
use idlewise_model::Note;
use idlewise_score::Better;

use crate::{Source, answer, call, put_first};

/// The page of a difference of counters.
#[must_use]
pub fn diff(r: &DiffReport, of: Source<'_>) -> PageData {
    let pair = match (r.meaning, r.runs.as_slice()) {
        (Meaning::Runs, [a, b]) => Some((a, b)),
        _ => None,
    };
    let title = match pair {
        Some(_) => format!("{} against {}", name(r, 1), name(r, 0)),
        None => format!("What happened in {}", r.files.join(" to ")),
    };
    let mut out = of.page(Kind::Diff, &title);
    out.warnings = Note::words(&r.notes);
    out.notes.retain(|n| !out.warnings.contains(&n.text));
    out.verdicts = pair.map_or_else(Vec::new, |(a, b)| verdict(a, b));
    let mut tables = answer::tables(&measured(r));
    tables.extend(pair.map(|(a, b)| changes(a, b)));
    let (residency, left_out) = residency(r);
    tables.push(residency);
    out.sampled.extend(left_out);
    put_first(&mut out, tables);
    call(&mut out, "recording", "part");
    call(&mut out, "governor", "run");
    out
}

/// A run by its name; of two snapshots there is one run, which needs none.
fn name(r: &DiffReport, i: usize) -> String {
    let run = &r.runs[i];
    match r.meaning {
        Meaning::Runs => format!("{} {}", ["A", "B"][i], run.name),
        Meaning::Looks => run.governor.clone().unwrap_or_else(|| "the run".to_owned()),
    }
}

fn title(part: &Part) -> String {
    match part.cpus {
        0 | 1 => part.name.clone(),
        n => format!("{} ({n} CPUs)", part.name),
    }
}

/// All CPUs, and each part of a machine that has several.
fn parts(run: &Run) -> impl Iterator<Item = &Part> {
    std::iter::once(&run.all).chain(&run.clusters)
}

/// The greatest change of a share of the idle time, and how the misses changed.
fn verdict(a: &Run, b: &Run) -> Vec<String> {
    let mut out = Vec::new();
    let states = a.all.paired(&b.all).into_iter();
    let moved = states.filter_map(|(x, y)| Some((y?.name.as_str(), x?.idle_pct?, y?.idle_pct?)));
    let most = moved.max_by(|x, y| (x.2 - x.1).abs().total_cmp(&(y.2 - y.1).abs()));
    if let Some((state, from, to)) = most {
        out.push(format!("{state}: {from:.1} % of the idle time in A, {to:.1} % in B"));
    }
    let share = |what: &str, from: Option<f64>, to: Option<f64>| {
        let (from, to) = from.zip(to)?;
        Some(format!("{what}: {from:.2} % of idle periods in A, {to:.2} % in B"))
    };
    out.extend(share("too deep", a.all.above_pct, b.all.above_pct));
    out.extend(share("too shallow", a.all.below_pct, b.all.below_pct));
    out
}

/// What is compared of a part: name, label, quantity, unit, direction, value.
type Counted = (&'static str, &'static str, Quantity, &'static str, Better, fn(&Run, &Part) -> Option<f64>);

const COUNTED: [Counted; 6] = [
    ("usage", "usage", Quantity::Count, "", Better::Neither, |_, p| p.usage.map(|n| n as f64)),
    ("wakeups", "wakeups", Quantity::Rate, "", Better::Less, |r, p| {
        Some(p.usage? as f64 / r.seconds.filter(|s| *s > 0.0)?)
    }),
    ("idle", "idle", Quantity::Energy, "s", Better::Neither, |_, p| p.time_us.map(|us| us as f64 / 1e6)),
    ("above", "too deep", Quantity::Share, "", Better::Less, |_, p| p.above_pct),
    ("below", "too shallow", Quantity::Share, "", Better::Less, |_, p| p.below_pct),
    ("rejected", "rejected", Quantity::Count, "", Better::Less, |_, p| p.rejected.map(|n| n as f64)),
];

fn measured(r: &DiffReport) -> Answer {
    let counted = |c: &&Counted| r.runs.iter().any(|run| parts(run).any(|p| c.5(run, p).is_some()));
    let counted: Vec<&Counted> = COUNTED.iter().filter(counted).collect();
    let column = |c: &&Counted| Column {
        name: c.0.to_owned(),
        label: c.1.to_owned(),
        quantity: c.2,
        unit: c.3.to_owned(),
        better: c.4,
    };
    let columns: Vec<Column> = counted.iter().map(column).collect();
    let of_part = |run: &Run, part: &str| -> Option<Vec<f64>> {
        let part = parts(run).find(|p| p.name == part)?;
        Some(counted.iter().map(|c| c.5(run, part).unwrap_or(f64::NAN)).collect())
    };
    let group = |part: &Part| {
        let base = r.runs.first().and_then(|run| of_part(run, &part.name));
        let contender = |(i, run): (usize, &Run)| {
            let values = of_part(run, &part.name)?;
            let change = |(n, v): (usize, &f64)| {
                let change = base.as_ref().map_or(f64::NAN, |b| columns[n].change(b[n], *v));
                if change.is_finite() { change } else { f64::NAN }
            };
            Some(Contender {
                governor: name(r, i),
                role: if i == 0 && r.runs.len() > 1 { Role::Baseline } else { Role::Governor },
                failure: None,
                cells: values
                    .iter()
                    .enumerate()
                    .map(|(n, v)| Value { value: *v, change: change((n, v)), interval: None })
                    .collect(),
                counts: None,
            })
        };
        Group {
            name: title(part),
            machine: String::new(),
            contenders: r.runs.iter().enumerate().filter_map(contender).collect(),
        }
    };
    let groups = r.runs.last().into_iter().flat_map(parts).map(group).collect();
    Answer { columns: columns.clone(), groups, ..Answer::default() }
}

/// B against A, of each state in points of its shares.
fn changes(a: &Run, b: &Run) -> Table {
    let mut t = Table::of_charts("changes");
    for part in parts(b) {
        let Some(other) = parts(a).find(|p| p.name == part.name) else { continue };
        let mut row = |series: &str, group: &str, from: Option<f64>, to: Option<f64>| {
            let Some((from, to)) = from.zip(to) else { return };
            t.rows.push(vec![
                title(part).into(),
                series.into(),
                group.into(),
                (to - from).into(),
                Cell::Unknown,
                Cell::Unknown,
                Cell::Unknown,
                "pp".into(),
                Cell::Unknown,
                format!("{from:.2} % in A, {to:.2} % in B").into(),
            ]);
        };
        let states = other.paired(part);
        let states = || states.iter().filter_map(|(x, y)| Some(((*x)?, (*y)?)));
        for (x, y) in states() {
            row("share of the idle time, B - A", &y.label(), x.idle_pct, y.idle_pct);
        }
        for (x, y) in states() {
            row("share of idle periods, B - A", &y.label(), x.usage_pct, y.usage_pct);
        }
        row("misses, B - A", "too deep", other.above_pct, part.above_pct);
        row("misses, B - A", "too shallow", other.below_pct, part.below_pct);
    }
    t
}

/// So many states of CPUs have room in a page.
const MOST: usize = 16_000;

/// All CPUs together, clusters where the machine has several, and each CPU; what is left out of a large machine, in a
/// sentence.
fn residency(r: &DiffReport) -> (Table, Option<String>) {
    let states: usize = r.runs.iter().map(|run| run.all.states.len() * run.cpus.len()).sum();
    let cpus_have_room = states <= MOST;
    let mut t = Table::of_charts("residency");
    for (n, run) in r.runs.iter().enumerate() {
        let clusters = parts(run).map(|p| (p, None));
        let number = |p: &Part| p.name.trim_start_matches("cpu ").parse::<u32>().ok();
        let cpus = run.cpus.iter().filter(|_| cpus_have_room).filter_map(|p| Some((p, Some(number(p)?))));
        for (part, cpu) in clusters.chain(cpus) {
            for (i, s) in part.states.iter().enumerate() {
                t.rows.push(vec![
                    if cpu.is_some() { title(&run.all) } else { title(part) }.into(),
                    name(r, n).into(),
                    if cpu.is_some() { "all" } else { part.name.as_str() }.into(),
                    cpu.into(),
                    s.name.as_str().into(),
                    (s.state.unwrap_or(i) as u64).into(),
                    s.idle_pct.into(),
                ]);
            }
        }
    }
    let left_out = || "The residencies of single CPUs, which --format json has.".to_owned();
    (t, (!cpus_have_room).then(left_out))
}
