// SPDX-License-Identifier: GPL-2.0-only
//! Differences of counters as people mail them: no line is longer than a mail's.

use idlewise_report::{Line, Report, Table, UNKNOWN, number, percent, signed_percent, signed_points};

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
                let measured: Vec<String> =
                    run.measured.iter().map(|m| format!("{} {}", m.name, number(m.value))).collect();
                if !measured.is_empty() {
                    out.preamble.push(Line::new("measured", measured.join(", ")));
                }
                alone(run, runs.len() > 1, per, &mut out);
            }
        }
    }
    out.preamble.extend(r.notes.iter().map(|n| Line::new("note", n)));
    let counts = r.runs.iter().any(|run| in_counts(&run.all));
    let unit = if counts { "as counts, for usage is not known" } else { "each in % of usage" };
    out.footer.push(Line::plain(format!(
        "above: too deep, the wakeup came before the target residency; below: too shallow, a deeper state would \
         have saved energy; {unit}"
    )));
    out
}

/// A run in a line.
fn about(run: &Run) -> String {
    let cpus = match run.all.cpus {
        0 => "CPUs not named".to_owned(),
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
        words.push(format!("{seconds:.3} s"));
        let usage = run.all.usage.filter(|_| seconds > 0.0);
        words.extend(usage.map(|n| format!("{:.1} wakeups/s", n as f64 / seconds)));
    }
    words.join(", ")
}

fn alone(run: &Run, several: bool, per: Per, out: &mut Report) {
    let refused = run.all.rejected.is_some_and(|n| n > 0);
    let title = |part: &Part| if several { format!("{}: {}", run.name, title(part)) } else { title(part) };
    out.tables.push(states(&title(&run.all), &run.all, refused));
    if per == Per::State {
        return;
    }
    out.tables.extend(run.clusters.iter().map(|c| states(&title(c), c, refused)));
    if per == Per::Cpu {
        out.tables.extend(run.cpus.iter().map(|c| states(&title(c), c, refused)));
    } else if per == Per::All && run.cpus.len() > 1 {
        if run.cpus.len() <= FEW_CPUS {
            out.tables.push(totals(
                &if several { format!("{}: by CPU", run.name) } else { "by CPU".to_owned() },
                run,
                refused,
            ));
        } else {
            out.footer.push(Line::plain(format!("--per cpu shows each of the {} CPUs", run.cpus.len())));
        }
    }
}

fn title(part: &Part) -> String {
    match part.cpus {
        0 => "all CPUs".to_owned(),
        1 if part.name == "all" => "the CPU".to_owned(),
        n if part.name == "all" => format!("all {n} CPUs"),
        1 => part.name.clone(),
        n => format!("{} ({n} CPUs)", part.name),
    }
}

/// A row for each state of a part, and one for all of them.
fn states(title: &str, part: &Part, refused: bool) -> Table {
    let counts = in_counts(part);
    let missed = if counts { ["above", "below"] } else { ["above %", "below %"] };
    let mut head = vec!["state", "usage", "time [s]", "% idle", missed[0], missed[1]];
    head.extend(refused.then_some("rejected"));
    let mut t = Table::new(title, head.into_iter().map(str::to_owned).collect());
    for s in &part.states {
        let missed = |n: Option<u64>, share| if counts { count(n) } else { share_of(n, share, s.usage) };
        let mut cells = vec![
            cut(&s.label()),
            count(s.usage),
            seconds(s.time_us),
            share_of(s.time_us, s.idle_pct, part.time_us),
            missed(s.above, s.above_pct),
            missed(s.below, s.below_pct),
        ];
        cells.extend(refused.then(|| count(s.rejected)));
        t.rows.push(cells);
    }
    let missed = |n: Option<u64>, share| if counts { count(n) } else { share_of(n, share, part.usage) };
    let mut cells = vec![
        "all".to_owned(),
        count(part.usage),
        seconds(part.time_us),
        share_of(part.time_us, whole(part), part.time_us),
        missed(part.above, part.above_pct),
        missed(part.below, part.below_pct),
    ];
    cells.extend(refused.then(|| count(part.rejected)));
    t.rows.push(cells);
    t
}

/// 100 % where the states' shares are of the time in all of them, and these are known.
fn whole(part: &Part) -> Option<f64> {
    let shares: f64 = part.states.iter().filter_map(|s| s.idle_pct).sum();
    (shares > 99.0).then_some(100.0)
}

/// Whether misses have no share of the entries, which are not known.
fn in_counts(part: &Part) -> bool {
    part.usage.is_none() && (part.above.is_some() || part.below.is_some())
}

fn count(n: Option<u64>) -> String {
    n.map_or_else(|| UNKNOWN.to_owned(), |n| n.to_string())
}

/// The share that `part` is of `whole`: `?` where one of them is not known, and nothing where there is nothing to share.
fn share_of(part: Option<u64>, share: Option<f64>, whole: Option<u64>) -> String {
    match (share, part.and(whole)) {
        (Some(share), _) => percent(share),
        (None, Some(_)) => "-".to_owned(),
        (None, None) => UNKNOWN.to_owned(),
    }
}

/// A row for each CPU.
fn totals(title: &str, run: &Run, refused: bool) -> Table {
    let counts = in_counts(&run.all);
    let missed = if counts { ["above", "below"] } else { ["above %", "below %"] };
    let mut head = vec!["CPU", "usage", "time [s]", missed[0], missed[1]];
    head.extend(refused.then_some("rejected"));
    head.push("% idle by state");
    let mut t = Table::new(title, head.into_iter().map(str::to_owned).collect());
    for c in &run.cpus {
        let none = if c.time_us.is_some() { "-" } else { UNKNOWN };
        let shares = c.states.iter().map(|s| s.idle_pct.map_or(none.to_owned(), |p| format!("{p:.0}")));
        let missed = |n: Option<u64>, share| if counts { count(n) } else { share_of(n, share, c.usage) };
        let mut cells = vec![
            c.name.trim_start_matches("cpu ").to_owned(),
            count(c.usage),
            seconds(c.time_us),
            missed(c.above, c.above_pct),
            missed(c.below, c.below_pct),
        ];
        cells.extend(refused.then(|| count(c.rejected)));
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

/// A count, its share, and what it is a share of.
type Shared = (Option<u64>, Option<f64>, Option<u64>);
type OfPart = (&'static str, fn(&Part) -> Shared);
type OfState = (&'static str, fn(&StatePart, &Part) -> Shared);

/// What is compared, A, B, the change.
fn pair(title: &str, (ra, a): (&Run, &Part), (rb, b): (&Run, &Part)) -> Table {
    let mut t = Table::new(title, ["", "A", "B", "B - A"].map(str::to_owned).to_vec());
    let mut row = |name: String, a: String, b: String, change: String| t.rows.push(vec![name, a, b, change]);
    let relative = |a: f64, b: f64| if a > 0.0 { signed_percent(100.0 * (b - a) / a) } else { String::new() };
    let points =
        |a: Option<f64>, b: Option<f64>| a.zip(b).map_or_else(String::new, |(a, b)| signed_points(b - a));
    let change = |a: Option<f64>, b: Option<f64>| a.zip(b).map_or_else(String::new, |(a, b)| relative(a, b));
    let mut counts = |name: &str, a: Option<u64>, b: Option<u64>| {
        let float = |n: Option<u64>| n.map(|n| n as f64);
        row(name.to_owned(), count(a), count(b), change(float(a), float(b)));
    };
    counts("usage", a.usage, b.usage);
    if let (Some(x), Some(y)) = (a.rejected, b.rejected)
        && x.max(y) > 0
    {
        counts("rejected", Some(x), Some(y));
    }
    if in_counts(a) || in_counts(b) {
        counts("above", a.above, b.above);
        counts("below", a.below, b.below);
    }
    let rate = |run: &Run, part: &Part| Some(part.usage? as f64 / run.seconds.filter(|s| *s > 0.0)?);
    if let (Some(x), Some(y)) = (rate(ra, a), rate(rb, b)) {
        row("wakeups/s".to_owned(), format!("{x:.1}"), format!("{y:.1}"), relative(x, y));
    }
    let float = |us: Option<u64>| us.map(|us| us as f64);
    row(
        "idle [s]".to_owned(),
        seconds(a.time_us),
        seconds(b.time_us),
        change(float(a.time_us), float(b.time_us)),
    );
    let mut share = |name: String, a: Option<Shared>, b: Option<Shared>| {
        // A run that does not have the state has nothing to show of it.
        let shown =
            |s: Option<Shared>| s.map_or_else(String::new, |(n, share, whole)| share_of(n, share, whole));
        let change = points(a.and_then(|a| a.1), b.and_then(|b| b.1));
        row(name, shown(a), shown(b), change);
    };
    let missed: [OfPart; 2] =
        [("above %", |p| (p.above, p.above_pct, p.usage)), ("below %", |p| (p.below, p.below_pct, p.usage))];
    for (what, of) in missed {
        share(what.to_owned(), Some(of(a)), Some(of(b)));
    }
    let of_state: [OfState; 4] = [
        ("% of usage", |s, p| (s.usage, s.usage_pct, p.usage)),
        ("% of idle", |s, p| (s.time_us, s.idle_pct, p.time_us)),
        ("above %", |s, _| (s.above, s.above_pct, s.usage)),
        ("below %", |s, _| (s.below, s.below_pct, s.usage)),
    ];
    for (x, y) in a.paired(b) {
        let Some(named) = y.or(x) else { continue };
        if [x, y].into_iter().flatten().all(|s| s.usage == Some(0)) {
            continue;
        }
        let name = cut(&format!("{}{}", numbers(x, y), named.name));
        for (what, of) in of_state {
            share(format!("{name} {what}"), x.map(|x| of(x, a)), y.map(|y| of(y, b)));
        }
    }
    t
}

/// The number of a state; both, where the runs number it differently.
fn numbers(a: Option<&StatePart>, b: Option<&StatePart>) -> String {
    match (a, b) {
        (Some(StatePart { state: Some(a), .. }), Some(StatePart { state: Some(b), .. })) if a != b => {
            format!("{a}/{b} ")
        }
        (a, b) => b.or(a).and_then(|s| s.state).map_or_else(String::new, |n| format!("{n} ")),
    }
}

/// A row for each CPU that both runs have.
fn cpus(a: &Run, b: &Run) -> Table {
    let head = ["CPU", "usage A", "B", "above % A", "B", "below % A", "B"];
    let mut t = Table::new("by CPU", head.map(str::to_owned).to_vec());
    for y in &b.cpus {
        let Some(x) = a.cpus.iter().find(|x| x.name == y.name) else { continue };
        t.rows.push(vec![
            y.name.trim_start_matches("cpu ").to_owned(),
            count(x.usage),
            count(y.usage),
            share_of(x.above, x.above_pct, x.usage),
            share_of(y.above, y.above_pct, y.usage),
            share_of(x.below, x.below_pct, x.usage),
            share_of(y.below, y.below_pct, y.usage),
        ]);
    }
    t
}

fn seconds(us: Option<u64>) -> String {
    us.map_or_else(|| UNKNOWN.to_owned(), |us| format!("{:.3}", us as f64 / 1e6))
}

fn cut(name: &str) -> String {
    if name.chars().count() <= NAME {
        return name.to_owned();
    }
    name.chars().take(NAME - 1).chain(['~']).collect()
}
