// SPDX-License-Identifier: GPL-2.0-only
//! Differences of counters as people mail them: no line is longer than a mail's.

use idlewise_report::{Line, Report, Table, percent, signed_percent, signed_points};

use idlewise_machine::diff::{DiffReport, Meaning, Part, Run, StatePart};
use idlewise_recording::placement::Per;

/// As long as a line of a mail may be and still be quoted.
const MAIL: usize = 78;
/// A state's name, cut here in text, so that a table keeps its width.
const NAME: usize = 17;
/// More CPUs than this are shown when they are asked for.
const FEW_CPUS: usize = 16;

/// The tables of a difference.
#[must_use]
pub fn diff(r: &DiffReport, per: Per) -> Report {
    let mut out = Report { width: Some(MAIL), data: Some(idlewise_data::diff(r)), ..Report::default() };
    match (r.meaning, r.runs.as_slice()) {
        (Meaning::Runs, [a, b]) => {
            out.preamble.push(Line::new("what", format!("two runs, B against A ({})", r.because)));
            out.preamble.extend([("A", a), ("B", b)].map(|(name, run)| Line::new(name, about(run))));
            compare(a, b, per, &mut out);
        }
        (_, runs) => {
            let files = match r.files.as_slice() {
                [a, b] => format!("what happened from {a} to {b} ({})", r.because),
                files => format!("what happened in {} ({})", files.concat(), r.because),
            };
            out.preamble.push(Line::new("what", files));
            for run in runs {
                out.preamble.push(Line::new("machine", about(run)));
                alone(run, per, &mut out);
            }
        }
    }
    out.preamble.extend(r.notes.iter().map(|n| Line::new("note", n)));
    let words = "above: too deep, the wakeup came before the target residency; below: too shallow, a deeper \
        state would have saved energy; each in % of usage";
    out.footer.push(Line::plain(words));
    out
}

/// A run in a line.
fn about(run: &Run) -> String {
    let cpus = match run.all.cpus {
        1 => "1 CPU".to_owned(),
        n => format!("{n} CPUs"),
    };
    let mut words: Vec<String> = Vec::new();
    if run.name != "between" {
        words.extend([run.name.clone(), run.basis.to_owned()]);
    }
    words.push(cpus);
    words.extend(run.driver.iter().map(|d| format!("driver {d}")));
    words.extend(run.governor.iter().map(|g| format!("governor {g}")));
    if let Some(seconds) = run.seconds {
        let rate = if seconds > 0.0 { run.all.usage as f64 / seconds } else { 0.0 };
        words.push(format!("{seconds:.3} s, {rate:.1} wakeups/s"));
    }
    words.join(", ")
}

fn alone(run: &Run, per: Per, out: &mut Report) {
    let refused = run.all.rejected.is_some_and(|n| n > 0);
    out.tables.push(states(&title(&run.all), &run.all, refused));
    if per == Per::State {
        return;
    }
    out.tables.extend(run.clusters.iter().map(|c| states(&title(c), c, refused)));
    if per == Per::Cpu {
        out.tables.extend(run.cpus.iter().map(|c| states(&title(c), c, refused)));
    } else if per == Per::All && run.cpus.len() > 1 {
        if run.cpus.len() <= FEW_CPUS {
            out.tables.push(totals(run, refused));
        } else {
            out.footer.push(Line::plain(format!("--per cpu shows each of the {} CPUs", run.cpus.len())));
        }
    }
}

fn title(part: &Part) -> String {
    match part.cpus {
        1 if part.name == "all" => "the CPU".to_owned(),
        n if part.name == "all" => format!("all {n} CPUs"),
        1 => part.name.clone(),
        n => format!("{} ({n} CPUs)", part.name),
    }
}

/// A row for each state of a part, and one for all of them.
fn states(title: &str, part: &Part, refused: bool) -> Table {
    let mut head = vec!["state", "usage", "time [s]", "% idle", "above %", "below %"];
    head.extend(refused.then_some("rejected"));
    let mut t = Table::new(title, head.into_iter().map(str::to_owned).collect());
    let row = |name: String, usage, time_us, idle, above, below, rejected: Option<u64>| {
        let mut cells =
            vec![name, u64::to_string(&usage), seconds(time_us), pct(idle), pct(above), pct(below)];
        cells.extend(refused.then(|| rejected.map_or_else(String::new, |n| n.to_string())));
        cells
    };
    for (i, s) in part.states.iter().enumerate() {
        let name = cut(&format!("{i} {}", s.name));
        t.rows.push(row(name, s.usage, s.time_us, s.idle_pct, s.above_pct, s.below_pct, s.rejected));
    }
    let all = Some(100.0).filter(|_| part.time_us > 0);
    let name = "all".to_owned();
    t.rows.push(row(name, part.usage, part.time_us, all, part.above_pct, part.below_pct, part.rejected));
    t
}

/// A row for each CPU.
fn totals(run: &Run, refused: bool) -> Table {
    let mut head = vec!["CPU", "usage", "time [s]", "above %", "below %"];
    head.extend(refused.then_some("rejected"));
    head.push("% idle by state");
    let mut t = Table::new("by CPU", head.into_iter().map(str::to_owned).collect());
    for c in &run.cpus {
        let shares = c.states.iter().map(|s| s.idle_pct.map_or("-".to_owned(), |p| format!("{p:.0}")));
        let mut cells = vec![
            c.name.trim_start_matches("cpu ").to_owned(),
            c.usage.to_string(),
            seconds(c.time_us),
            pct(c.above_pct),
            pct(c.below_pct),
        ];
        cells.extend(refused.then(|| c.rejected.map_or_else(String::new, |n| n.to_string())));
        cells.push(shares.collect::<Vec<_>>().join("/"));
        t.rows.push(cells);
    }
    t
}

fn compare(a: &Run, b: &Run, per: Per, out: &mut Report) {
    out.tables.push(pair(&title(&b.all), (a, &a.all), (b, &b.all)));
    if per == Per::State {
        return;
    }
    let paired = |of: fn(&Run) -> &Vec<Part>, out: &mut Report| {
        for part in of(b) {
            if let Some(other) = of(a).iter().find(|p| p.name == part.name) {
                out.tables.push(pair(&title(part), (a, other), (b, part)));
            }
        }
    };
    paired(|r| &r.clusters, out);
    if per == Per::Cpu {
        paired(|r| &r.cpus, out);
    } else if per == Per::All && b.cpus.len() > 1 {
        if b.cpus.len() <= FEW_CPUS {
            out.tables.push(cpus(a, b));
        } else {
            out.footer.push(Line::plain(format!("--per cpu shows each of the {} CPUs", b.cpus.len())));
        }
    }
}

/// What is compared, A, B, the change.
fn pair(title: &str, (ra, a): (&Run, &Part), (rb, b): (&Run, &Part)) -> Table {
    let mut t = Table::new(title, ["", "A", "B", "B - A"].map(str::to_owned).to_vec());
    let mut row = |name: String, a: String, b: String, change: String| t.rows.push(vec![name, a, b, change]);
    let relative = |a: f64, b: f64| if a > 0.0 { signed_percent(100.0 * (b - a) / a) } else { String::new() };
    let points =
        |a: Option<f64>, b: Option<f64>| a.zip(b).map_or_else(String::new, |(a, b)| signed_points(b - a));
    let mut count = |name: &str, a: u64, b: u64| {
        row(name.to_owned(), a.to_string(), b.to_string(), relative(a as f64, b as f64));
    };
    count("usage", a.usage, b.usage);
    if let (Some(x), Some(y)) = (a.rejected, b.rejected)
        && x + y > 0
    {
        count("rejected", x, y);
    }
    if let (Some(x), Some(y)) = (ra.seconds.filter(|s| *s > 0.0), rb.seconds.filter(|s| *s > 0.0)) {
        let (x, y) = (a.usage as f64 / x, b.usage as f64 / y);
        row("wakeups/s".to_owned(), format!("{x:.1}"), format!("{y:.1}"), relative(x, y));
    }
    let times = (a.time_us as f64, b.time_us as f64);
    row("idle [s]".to_owned(), seconds(a.time_us), seconds(b.time_us), relative(times.0, times.1));
    let mut share = |name: String, a: Option<f64>, b: Option<f64>| row(name, pct(a), pct(b), points(a, b));
    share("above %".to_owned(), a.above_pct, b.above_pct);
    share("below %".to_owned(), a.below_pct, b.below_pct);
    let none = StatePart::default();
    for i in 0..a.states.len().max(b.states.len()) {
        let (x, y) = (a.states.get(i).unwrap_or(&none), b.states.get(i).unwrap_or(&none));
        if x.usage == 0 && y.usage == 0 {
            continue;
        }
        let name = cut(&format!("{i} {}", if y.name.is_empty() { &x.name } else { &y.name }));
        share(format!("{name} % of usage"), x.usage_pct, y.usage_pct);
        share(format!("{name} % of idle"), x.idle_pct, y.idle_pct);
        share(format!("{name} above %"), x.above_pct, y.above_pct);
        share(format!("{name} below %"), x.below_pct, y.below_pct);
    }
    t
}

/// A row for each CPU that both runs have.
fn cpus(a: &Run, b: &Run) -> Table {
    let head = ["CPU", "usage A", "B", "above % A", "B", "below % A", "B"];
    let mut t = Table::new("by CPU", head.map(str::to_owned).to_vec());
    for y in &b.cpus {
        let Some(x) = a.cpus.iter().find(|x| x.name == y.name) else { continue };
        t.rows.push(vec![
            y.name.trim_start_matches("cpu ").to_owned(),
            x.usage.to_string(),
            y.usage.to_string(),
            pct(x.above_pct),
            pct(y.above_pct),
            pct(x.below_pct),
            pct(y.below_pct),
        ]);
    }
    t
}

fn seconds(us: u64) -> String {
    format!("{:.3}", us as f64 / 1e6)
}

fn pct(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), percent)
}

fn cut(name: &str) -> String {
    if name.chars().count() <= NAME {
        return name.to_owned();
    }
    name.chars().take(NAME - 1).chain(['~']).collect()
}
