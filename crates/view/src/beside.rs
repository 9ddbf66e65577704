// SPDX-License-Identifier: GPL-2.0-only
use idlewise_report::{
    Line, Report, Table, UNKNOWN, duration, percent, signed_duration, signed_percent, signed_points,
};

use idlewise_experiment::beside::{
    AgainstMenu, BesideReport, Cell, Pair, STAY_LIMITS_NS, TaskMeasures, TraceMeasures,
};
use idlewise_stats::Summary;

/// Real and simulated runs side by side: a table for each recording where each is of another governor, one of the gaps, and one
/// of the differences to menu.
#[must_use]
pub fn beside(r: &BesideReport) -> Report {
    let mut out = Report { data: Some(idlewise_data::beside(r)), ..Report::default() };
    out.preamble.push(Line::new("workload", format!("{}, seed {}", r.workload, r.seed)));
    out.preamble.extend(r.notes.iter().map(|n| Line::new("note", n)));
    if r.cells.len() == r.pairs.len() {
        out.tables.extend(r.pairs.iter().map(table));
    }
    out.tables.push(gaps(r));
    out.tables.extend(against(r));
    out.footer.extend(near(r));
    out.footer.push(Line::new(
        "window",
        "both runs from 0.1 s after the first task's start to the last one's end; the same code reads both traces",
    ));
    out.footer.push(Line::new("gaps", "causes: docs/validation/simulation-against-real-runs.md"));
    out
}

/// Gaps of each cell; where it has several recordings, with the interval of their mean, and how far lengths of idle periods are
/// apart.
fn gaps(r: &BesideReport) -> Table {
    let several = r.cells.len() < r.pairs.len();
    let mut head = vec!["simulated minus real", "too deep", "too shallow"];
    head.push(if several { "runs" } else { "wakeups" });
    if several {
        head.extend(["lengths", "real runs"]);
    }
    let mut t = Table::new("", head.into_iter().map(str::to_owned).collect());
    for c in &r.cells {
        let mut row = vec![format!("{} on {}", c.governor, c.platform)];
        row.extend([&c.too_deep, &c.too_shallow].map(|share| points(&share.gap)));
        if several {
            let apart = |pct: Option<f64>| pct.map_or_else(|| "-".to_owned(), |pct| percent(pct) + " %");
            row.extend([c.recordings.to_string(), apart(c.lengths_apart_pct), apart(c.recordings_apart_pct)]);
        } else if let Some(p) = r.pairs.iter().find(|p| p.governor == c.governor && p.platform == c.platform)
        {
            row.push(change(p.real.wakeups_per_s, p.simulated.wakeups_per_s));
        }
        t.rows.push(row);
    }
    t
}

/// A mean, and its 95 % interval where there is one.
fn points(s: &Summary) -> String {
    let mean = signed_points(s.mean);
    s.half_width.map_or_else(|| mean.clone(), |half| format!("{mean} +-{half:.1}"))
}

/// Each governor's difference to menu, real and simulated.
fn against(r: &BesideReport) -> Option<Table> {
    let all: Vec<(&Cell, &AgainstMenu)> =
        r.cells.iter().filter_map(|c| Some((c, c.against_menu.as_ref()?))).collect();
    if all.is_empty() {
        return None;
    }
    let head =
        ["against menu", "too deep, real", "simulated", "gap", "too shallow, real", "simulated", "gap"];
    let mut t = Table::new("", head.map(str::to_owned).to_vec());
    for (c, a) in all {
        let mut row = vec![format!("{} on {}", c.governor, c.platform)];
        for (i, gap) in a.gap().into_iter().enumerate() {
            row.extend([a.real[i], a.simulated[i], gap].map(signed_points));
        }
        t.rows.push(row);
    }
    Some(t)
}

/// So near the goal is, percentage points.
const NEAR: f64 = 2.0;

/// How many shares, and differences to menu, are near, and how far the rest is off. What is 0 in both is left out.
fn near(r: &BesideReport) -> Vec<Line> {
    let names = ["too deep", "too shallow"];
    let shares = r.cells.iter().flat_map(|c| {
        let of = [&c.too_deep, &c.too_shallow];
        of.into_iter()
            .zip(names)
            .filter(|(s, _)| s.real.mean != 0.0 || s.simulated.mean != 0.0)
            .map(move |(s, what)| (s.gap.mean.abs(), format!("{what} of {} on {}", c.governor, c.platform)))
    });
    let differences =
        r.cells.iter().filter_map(|c| Some((c, c.against_menu.as_ref()?))).flat_map(|(c, a)| {
            (0..2)
                .filter(|i| a.real[*i] != 0.0 || a.simulated[*i] != 0.0)
                .map(|i| (a.gap()[i].abs(), format!("{} of {} on {}", names[i], c.governor, c.platform)))
        });
    let count = |what: &str, of: &str, mut all: Vec<(f64, String)>| {
        all.retain(|(gap, _)| !gap.is_nan());
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (median, (worst, whose)) = (all.get(all.len() / 2)?.0, all.last()?);
        let n = all.iter().filter(|(gap, _)| *gap <= NEAR).count();
        let words = format!(
            "{n} of {} {of} within {NEAR} points; median {median:.2}, most {worst:.2} ({whose})",
            all.len()
        );
        Some(Line::new(what, words))
    };
    let lines = [
        count("gap", "shares that are not 0 in both", shares.collect()),
        count("menu", "differences to menu", differences.collect()),
    ];
    lines.into_iter().flatten().collect()
}

fn change(real: f64, simulated: f64) -> String {
    if real == 0.0 { "-".to_owned() } else { signed_percent((simulated - real) * 100.0 / real) }
}

fn rate_words(rate: f64) -> String {
    if rate.is_nan() { UNKNOWN.to_owned() } else { format!("{rate:.1}") }
}

fn table(p: &Pair) -> Table {
    let title = format!("{} on {}, Linux {}: {}", p.governor, p.platform, p.kernel, p.recording);
    let head = ["", "real", "simulated", "difference"].map(str::to_owned).to_vec();
    let mut t = Table::new(title, head);
    let (real, simulated) = (&p.real, &p.simulated);
    let mut rate = |name: &str, get: &dyn Fn(&TraceMeasures) -> f64| {
        let (a, b) = (get(real), get(simulated));
        t.rows.push(vec![name.to_owned(), rate_words(a), rate_words(b), change(a, b)]);
    };
    rate("wakeups/s", &|l| l.wakeups_per_s);
    rate("tick wakes/s", &|l| l.ticks_per_s);
    let mut share = |name: &str, get: &dyn Fn(&TraceMeasures) -> f64| {
        let (a, b) = (get(real), get(simulated));
        t.rows.push(vec![name.to_owned(), percent(a), percent(b), signed_points(b - a)]);
    };
    share("too deep %", &|l| l.too_deep_pct);
    share("too shallow %", &|l| l.too_shallow_pct);
    for (i, (name, _)) in real.states.iter().enumerate() {
        share(&format!("{name} % of idle"), &|l| l.states.get(i).map_or(0.0, |s| s.1));
    }
    for i in 0..=STAY_LIMITS_NS.len() {
        let words = |ns: &u64| duration(*ns as f64);
        let name = match (i.checked_sub(1).and_then(|i| STAY_LIMITS_NS.get(i)), STAY_LIMITS_NS.get(i)) {
            (None, Some(to)) => format!("idle periods below {} %", words(to)),
            (Some(from), Some(to)) => format!("idle periods {} to {} %", words(from), words(to)),
            (from, None) => format!("idle periods from {} on %", from.map(words).unwrap_or_default()),
        };
        share(&name, &|l| l.stays_pct[i]);
    }
    for task in &real.tasks {
        let other = simulated.tasks.iter().find(|s| s.name == task.name);
        tasks(&mut t, task, other);
    }
    t
}

fn tasks(t: &mut Table, real: &TaskMeasures, simulated: Option<&TaskMeasures>) {
    let Some(simulated) = simulated else {
        t.rows.push(vec![
            format!("{} wakeups/s", real.name),
            format!("{:.1}", real.wakeups_per_s),
            "-".to_owned(),
            "-".to_owned(),
        ]);
        return;
    };
    let (a, b) = (real.wakeups_per_s, simulated.wakeups_per_s);
    t.rows.push(vec![format!("{} wakeups/s", real.name), format!("{a:.1}"), format!("{b:.1}"), change(a, b)]);
    let mut time = |name: &str, a: f64, b: f64| {
        t.rows.push(vec![format!("{} {name}", real.name), duration(a), duration(b), signed_duration(b - a)]);
    };
    time("wakeup latency", real.latency_mean_ns, simulated.latency_mean_ns);
    time("wakeup latency p99", real.latency_p99_ns as f64, simulated.latency_p99_ns as f64);
}
