// SPDX-License-Identifier: GPL-2.0-only
use idlewise_report::{
    Line, Report, Table, UNKNOWN, duration, percent, signed_duration, signed_percent, signed_points,
};

use idlewise_experiment::beside::{BesideReport, Pair, STAY_LIMITS_NS, TaskMeasures, TraceMeasures};

/// Real and simulated runs side by side: a table for each recording, and one of the gaps.
#[must_use]
pub fn beside(r: &BesideReport) -> Report {
    let mut out = Report { data: Some(idlewise_data::beside(r)), ..Report::default() };
    out.preamble.push(Line::new("workload", format!("{}, seed {}", r.workload, r.seed)));
    out.preamble.extend(r.notes.iter().map(|n| Line::new("note", n)));
    out.tables.extend(r.pairs.iter().map(table));
    out.tables.push(gaps(r));
    out.footer.extend(near(r));
    out.footer.push(Line::new(
        "window",
        "both runs from the first task's start to the last one's end; the same code reads both traces",
    ));
    out.footer.push(Line::new("gaps", "causes: docs/validation/simulation-against-real-runs.md"));
    out
}

fn gaps(r: &BesideReport) -> Table {
    let head = ["simulated minus real", "too deep", "too shallow", "wakeups"].map(str::to_owned).to_vec();
    let mut t = Table::new("", head);
    for p in &r.pairs {
        let [deep, shallow] = p.gap();
        t.rows.push(vec![
            format!("{} on {}", p.governor, p.platform),
            signed_points(deep),
            signed_points(shallow),
            change(p.real.wakeups_per_s, p.simulated.wakeups_per_s),
        ]);
    }
    t
}

/// So near the goal is, percentage points.
const NEAR: f64 = 2.0;

/// How many shares are near, and how far the rest is off.
fn near(r: &BesideReport) -> Option<Line> {
    let name = |p: &Pair, what: &str| format!("{what} of {}", p.governor);
    let of = |p: &Pair| {
        let [deep, shallow] = p.gap();
        [(deep.abs(), name(p, "too deep")), (shallow.abs(), name(p, "too shallow"))]
    };
    let mut all: Vec<(f64, String)> = r.pairs.iter().flat_map(of).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (median, (worst, whose)) = (all.get(all.len() / 2)?.0, all.last()?);
    let n = all.iter().filter(|(gap, _)| *gap <= NEAR).count();
    Some(Line::new(
        "gap",
        format!(
            "{n} of {} shares within {NEAR} points; median {median:.2}, most {worst:.2} ({whose})",
            all.len()
        ),
    ))
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
