// SPDX-License-Identifier: GPL-2.0-only
use idlewise_ab::{AbReport, ArmPowerLimit, BenchmarkReport, Cell, Found, MetricReport};
use idlewise_live::limits::Limiting;
use idlewise_report::{Line, Report, Table, number, percent, share, signed};
use idlewise_stats::{Interval, Median};

use super::compare::check_lines;
use super::wakeups;
use idlewise_machine::ab::AbAnswer;

/// More runs than this are not listed, only kept.
const LISTED: usize = 40;

/// The tables of an A/B comparison; `every` run in a row of its own, however many they are.
#[must_use]
pub fn ab(answer: &AbAnswer, every: bool) -> Report {
    let r = &answer.report;
    let mut out = Report { data: Some(idlewise_data::ab(r)), ..Report::default() };
    out.preamble.push(Line::new("machine", &r.machine));
    out.preamble.push(Line::new("arms", r.arms.join(", ")));
    out.preamble.push(Line::new("order", &r.order));
    out.preamble.extend(wakeups::traced(r));
    out.preamble.push(Line::new("limits", limited(r)));
    out.preamble.extend(r.warnings.iter().map(|w| Line::new("warning", w)));
    let margin = r.head.request.margin_permille;
    for benchmark in &r.benchmarks {
        out.tables.push(metrics(benchmark, margin));
        out.tables.push(idle(benchmark));
        out.tables.extend(limits(benchmark));
        out.tables.extend(wakeups::spread(r, &benchmark.name));
    }
    if !r.together.is_empty() {
        out.tables.push(together(r));
    }
    if every || r.runs.len() <= LISTED {
        out.tables.push(runs(r));
    } else {
        let many = format!("{} runs are in the session's folder; --every lists them", r.runs.len());
        out.footer.push(Line::plain(many));
    }
    if let Some(found) = &r.aa {
        out.footer.push(Line::new("A/A", aa(found)));
    }
    out.footer.push(Line::plain(format!(
        "change: from {}'s run of the same round, with the 95 % interval; p: Wilcoxon's signed ranks of the \
         rounds, \
         corrected for {} questions (Holm); wins: in how many rounds a run beats the baseline's; to settle: rounds, \
         estimated from the spread so far",
        r.arms.first().map_or("", String::as_str),
        questions(r)
    )));
    out.footer.extend(check_lines(&answer.checks));
    out
}

fn aa(found: &[Found]) -> String {
    if found.is_empty() {
        "no difference found, as expected: both arms are the same".to_owned()
    } else {
        let what: Vec<String> = found.iter().map(|f| format!("{}: {}", f.benchmark, f.metric)).collect();
        let what = what.join(", ");
        format!(
            "a difference was found where there is none ({what}): do not trust comparisons made like this one"
        )
    }
}

fn cells(r: &AbReport) -> impl Iterator<Item = (&BenchmarkReport, &MetricReport, &Cell)> {
    r.benchmarks
        .iter()
        .flat_map(|b| b.metrics.iter().flat_map(move |m| m.cells.iter().map(move |c| (b, m, c))))
}

fn questions(r: &AbReport) -> usize {
    cells(r).filter(|(.., c)| c.p.is_some()).count()
}

pub(super) fn or_dash(v: Option<String>) -> String {
    v.unwrap_or_else(|| "-".to_owned())
}

pub(super) fn between(i: Interval, shown: impl Fn(f64) -> String) -> String {
    format!("{} .. {}", shown(i.low), shown(i.high))
}

pub(super) fn change_pct(v: f64) -> String {
    // Beyond a doubling, a factor says more.
    if v >= 1.0 { format!("x{:.2}", v + 1.0) } else { format!("{} %", signed(100.0 * v, 1)) }
}

pub(super) fn p_value(p: f64) -> String {
    if p < 0.0001 { "<0.0001".to_owned() } else { format!("{p:.4}") }
}

fn metrics(b: &BenchmarkReport, margin: u32) -> Table {
    let head = [
        "metric",
        "arm",
        "runs",
        "median",
        "interval",
        "change",
        "interval",
        "p",
        "wins",
        "shown",
        "to settle",
    ];
    let mut table = Table::new(b.name.clone(), head.map(str::to_owned).into());
    table.text_columns = 2;
    for m in &b.metrics {
        let name = if m.unit.is_empty() { m.name.clone() } else { format!("{}, {}", m.name, m.unit) };
        for (i, c) in m.cells.iter().enumerate() {
            let middle = c.median.as_ref();
            let interval = |m: &Median| m.interval.map(|i| between(i, number));
            let difference = || {
                let d = c.difference?;
                Some((format!("{:+.3}", d.estimate), d.interval.map(|i| between(i, |v| format!("{v:+.3}")))))
            };
            let (change, its) = match (&c.change, i) {
                (_, 0) => (None, None),
                (Some(change), _) => {
                    (Some(change_pct(change.relative)), change.interval.map(|i| between(i, change_pct)))
                }
                (None, _) => difference().map_or((None, None), |(d, i)| (Some(d), i)),
            };
            let blank = |v: Option<String>| if i == 0 { String::new() } else { or_dash(v) };
            table.rows.push(vec![
                if i == 0 { name.clone() } else { String::new() },
                c.arm.clone(),
                c.values.len().to_string(),
                or_dash(middle.map(|m| number(m.median))),
                or_dash(middle.and_then(interval)),
                blank(change),
                blank(its),
                blank(c.p_corrected.map(p_value)),
                blank(c.superiority.map(|s| format!("{} %", share(100.0 * s, 0)))),
                if i == 0 { "baseline".to_owned() } else { or_dash(c.verdict.map(|v| v.words(margin))) },
                blank(c.runs_to_settle.map(|n| n.to_string())),
            ]);
        }
    }
    table
}

fn idle(b: &BenchmarkReport) -> Table {
    let head = ["arm", "wakeups/s", "too deep %", "too shallow %"];
    let mut table = Table::new(format!("{}: idle states, medians", b.name), head.map(str::to_owned).into());
    let states: Vec<String> = b
        .idle
        .iter()
        .map(|s| &s.states)
        .max_by_key(|s| s.len())
        .into_iter()
        .flatten()
        .map(|s| s.name.clone())
        .collect();
    for state in &states {
        table.head.push(format!("{state}/s"));
        table.head.push(format!("{state}, % of time"));
    }
    for s in &b.idle {
        let mut row = vec![
            s.arm.clone(),
            or_dash(s.wakeups_per_s.map(|v| format!("{v:.0}"))),
            or_dash(s.too_deep_pct.map(percent)),
            or_dash(s.too_shallow_pct.map(percent)),
        ];
        for i in 0..states.len() {
            let state = s.states.get(i);
            row.push(or_dash(state.map(|s| format!("{:.0}", s.entries_per_s))));
            row.push(or_dash(state.map(|s| percent(s.time_pct))));
        }
        table.rows.push(row);
    }
    table
}

/// In how many runs something limited the machine, or that nothing can show it.
fn limited(r: &AbReport) -> String {
    let measured: Vec<&Limiting> = r.runs.iter().filter_map(|run| run.limiting.as_ref()).collect();
    let held = measured.iter().filter(|l| l.limited == Some(true)).count();
    let known = measured.iter().filter(|l| l.limited.is_some()).count();
    match measured.last() {
        None => "not measured in this session".to_owned(),
        Some(last) if known == 0 => last.verdict(),
        Some(_) => format!("of power or heat: {held} of {known} runs were limited"),
    }
}

/// Power against limits and throttled time, by arm; nothing where nothing counts them.
fn limits(b: &BenchmarkReport) -> Option<Table> {
    let head = [
        "arm",
        "limit",
        "W",
        "mean power, W",
        "% of it",
        "average at most, W",
        "held clocks, % of time",
        "not known, %",
        "limited runs",
        "throttled, % of time",
    ];
    let mut table =
        Table::new(format!("{}: limits of power and heat", b.name), head.map(str::to_owned).into());
    table.text_columns = 2;
    for a in &b.limits {
        let of_arm = [format!("{} of {}", a.limited, a.runs), or_dash(a.throttled_pct.map(percent))];
        let row = |p: &ArmPowerLimit| {
            let mut row = vec![a.arm.clone(), p.limit.clone(), format!("{:.2}", p.limit_w)];
            row.push(or_dash(p.mean_w.map(|w| format!("{w:.2}"))));
            row.push(or_dash(p.mean_w.map(|w| percent(100.0 * w / p.limit_w))));
            row.push(or_dash(p.average_most_w.map(|w| format!("{w:.2}"))));
            row.extend([percent(p.acting_pct), percent(p.unknown_pct)]);
            row.extend(of_arm.clone());
            row
        };
        table.rows.extend(a.power.iter().map(row));
        if a.power.is_empty() && a.throttled_pct.is_some() {
            let mut row = vec![a.arm.clone()];
            row.resize(head.len() - of_arm.len(), "-".to_owned());
            row.extend(of_arm);
            table.rows.push(row);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn together(r: &AbReport) -> Table {
    let head = ["arm", "better by", "interval"];
    let title = "all benchmarks, geometric mean of the first metric of each";
    let mut table = Table::new(title, head.map(str::to_owned).into());
    for (arm, mean, interval) in &r.together {
        let interval = or_dash(interval.map(|i| between(i, change_pct)));
        table.rows.push(vec![arm.clone(), change_pct(*mean), interval]);
    }
    table
}

fn runs(r: &AbReport) -> Table {
    let mut names: Vec<&String> = r.runs.iter().flat_map(|run| run.values.keys()).collect();
    names.sort();
    names.dedup();
    let mut head: Vec<String> = ["run", "benchmark", "arm"].map(str::to_owned).into();
    head.extend(names.iter().map(|n| (*n).clone()));
    let limits = r.runs.iter().filter_map(|run| run.limiting.as_ref());
    let (powercap, heat) = limits.fold((false, false), |(power, heat), l| {
        (power || !l.power.is_empty(), heat || l.throttling.is_some())
    });
    head.extend(powercap.then(|| "at limit %".to_owned()));
    head.extend(heat.then(|| "throttled %".to_owned()));
    head.extend(["wakeups/s", "foreign %", "steal %", "left out"].map(str::to_owned));
    let mut table = Table::new("runs in the order of time", head);
    table.text_columns = 3;
    for run in &r.runs {
        let mut row = vec![run.number.to_string(), run.benchmark.clone()];
        row.push(r.arms.get(run.arm).cloned().unwrap_or_default());
        row.extend(names.iter().map(|n| or_dash(run.values.get(*n).map(|v| number(*v)))));
        let own = run.limiting.as_ref();
        row.extend(powercap.then(|| or_dash(own.and_then(at_limit).map(percent))));
        let throttled = own.and_then(|l| l.throttling.as_ref()).map(|t| percent(t.longest_pct()));
        row.extend(heat.then(|| or_dash(throttled)));
        row.push(format!("{:.0}", run.wakeups_per_s));
        row.push(format!("{:.1}", run.foreign_pct));
        row.push(format!("{:.1}", run.steal_pct));
        row.push(run.left_out.clone().unwrap_or_default());
        table.rows.push(row);
    }
    table
}

/// The share of a run in which a limit held clocks down, %; nothing where whether one did is not known.
fn at_limit(l: &Limiting) -> Option<f64> {
    let held = l.power.iter().map(|p| p.acting_pct).reduce(f64::max)?;
    let known = l.power.iter().all(|p| p.unknown_pct == 0.0);
    (held > 0.0 || known).then_some(held)
}
