// SPDX-License-Identifier: GPL-2.0-only
//! Advice on one page.

use idlewise_ab::Verdict;
use idlewise_live::limits::Limiting;
use idlewise_report::{
    Line, Report, Table, duration, number, percent, percent_of, share, signed_duration, signed_percent,
};

use crate::Layout;
use crate::cells::shown_or_unknown;

use super::ab::{between, change_pct, or_dash, p_value};
use idlewise_machine::advise::{AbBasis, Advice, Compared, Recommendation, ReplayBasis, Replayed, Row};

/// Inputs that are guessed for less than this are not told, %.
const WORTH_TELLING: f64 = 5.0;

/// Advice as one page: the answer, the evidence, what to try.
#[must_use]
pub fn advise(a: &Advice) -> Report {
    let mut out = Report { data: Some(idlewise_data::advise(a)), ..Report::default() };
    let top = &mut out.preamble;
    top.push(Line::new("advice", answer(a)));
    top.push(Line::new("because", &a.answer.because));
    top.extend(a.machine_warnings.iter().map(|w| Line::new("WARNING", w)));
    list(top, "worth", worth(a));
    list(top, "how sure", sure(a));
    if let Some(setting) = &a.setting {
        list(top, "set now", setting.now.clone());
        list(top, "at boot", setting.at_boot.clone());
    }
    for t in &a.trying {
        let label = if t.in_kernel == Some(true) { "may try" } else { "may build" };
        top.push(Line::new(label, format!("{}: {} ({})", t.governor, t.because, t.how.join("; "))));
    }
    top.push(Line::new("machine", machine(a)));
    list(top, "limits", a.situation.limiting.iter().flat_map(Limiting::words).collect());
    top.push(Line::new("load", &a.load));
    top.extend(a.warnings.iter().map(|w| Line::new("warning", w)));
    if a.rows.iter().any(|r| r.replay.is_some()) {
        out.tables.push(replayed(a));
    }
    if a.rows.iter().any(|r| !r.compared.is_empty()) {
        out.tables.push(compared(a));
    }
    let untested = a.untested.iter().map(|u| format!("{}: {}", u.what, u.why)).collect();
    list(&mut out.footer, "untested", untested);
    list(&mut out.footer, "kept", a.kept.clone());
    out
}

/// The advice in a few lines: what to do, why, what it is worth, and what a replay comes to.
#[must_use]
pub fn advise_answer(a: &Advice, layout: &Layout) -> Report {
    let mut out = match &a.replayed {
        Some(replayed) => crate::answer(replayed, layout),
        None => Report { width: Some(layout.width), ..Report::default() },
    };
    let warnings = a.machine_warnings.iter().chain(&a.warnings).map(|w| Line::new("WARNING", w));
    let mut top: Vec<Line> = warnings.collect();
    top.push(Line::new("advice", answer(a)));
    top.push(Line::new("because", &a.answer.because));
    list(&mut top, "worth", worth(a));
    if let Some(setting) = &a.setting {
        list(&mut top, "set now", setting.now.clone());
        list(&mut top, "at boot", setting.at_boot.clone());
    }
    top.extend(a.situation.limiting.iter().map(|l| Line::new("limits", l.verdict())));
    top.extend(a.trying.first().map(|t| Line::new("may try", format!("{}: {}", t.governor, t.because))));
    if a.replayed.is_some() {
        top.push(Line::plain(""));
    }
    top.append(&mut out.preamble);
    out.preamble = top;
    // A recording that was given is where it was.
    if a.kept.len() > 1 {
        out.footer.push(Line::plain(format!("kept: {}", a.kept.join(", "))));
    }
    if a.replayed.is_none() {
        list(&mut out.footer, "how sure", sure(a));
        out.footer.extend((!layout.mail).then(|| Line::plain("-v: everything")));
    }
    out
}

/// Lines of which the first has the label.
fn list(out: &mut Vec<Line>, label: &str, lines: Vec<String>) {
    out.extend(lines.into_iter().enumerate().map(|(i, l)| Line::new(if i == 0 { label } else { "" }, l)));
}

fn answer(a: &Advice) -> String {
    let governor = &a.answer.governor;
    match a.answer.what {
        Recommendation::Switch => format!("change to {governor}"),
        Recommendation::Keep => format!("leave it as it is: {governor}"),
        Recommendation::Try => format!("try {governor}; nothing is proven yet"),
        Recommendation::Nothing => "none".to_owned(),
    }
}

fn machine(a: &Advice) -> String {
    let s = &a.situation;
    let mut out =
        if s.kernel.is_empty() { "kernel not known".to_owned() } else { format!("Linux {}", s.kernel) };
    out += &s.driver.as_ref().map_or_else(String::new, |d| format!(", driver {d}"));
    out += &s.governor.as_ref().map_or_else(String::new, |g| format!(", governor {g}"));
    let offers = s.available.as_ref().filter(|a| !a.is_empty());
    out += &offers.map_or_else(String::new, |a| format!(" (offers {})", a.join(", ")));
    out
}

/// What the answer is worth: of a change its own effects, of keeping the largest that were looked for.
fn worth(a: &Advice) -> Vec<String> {
    let mut out = Vec::new();
    let of_answer = |r: &&Row| r.governor == a.answer.governor;
    if matches!(a.answer.what, Recommendation::Switch) {
        out.extend(a.rows.iter().filter(of_answer).flat_map(|r| &r.compared).map(|c| effect(c, "")));
    } else {
        let others = a.rows.iter().flat_map(|r| r.compared.iter().filter(|c| c.first).map(move |c| (r, c)));
        out.extend(others.map(|(r, c)| effect(c, &r.governor)));
    }
    if matches!(a.answer.what, Recommendation::Switch | Recommendation::Try) {
        let row = a.rows.iter().filter(of_answer).filter_map(|r| r.replay.as_ref()?.as_ref().ok());
        out.extend(row.map(in_replay));
    }
    out
}

fn in_replay(r: &Replayed) -> String {
    let unit = if r.energy_unit == "rel" { ", relative" } else { "" };
    format!(
        "in the replay: latency of idle states {} ({}) on average, energy {}{unit}",
        signed_duration(r.latency_change_ns),
        signed_percent(r.latency_change_pct),
        signed_percent(r.energy_change_pct)
    )
}

/// `timer p50 under menu: -8.20 us (-9.10 .. -7.50), -17.3 % (-19.0 % .. -15.1 %), better (p <0.0001)`.
fn effect(c: &Compared, governor: &str) -> String {
    let mut out = format!("{} {}", c.benchmark, c.metric);
    if !governor.is_empty() {
        out += &format!(" under {governor}");
    }
    if let Some(d) = &c.difference {
        let signed = |v: f64| if v > 0.0 { format!("+{}", number(v)) } else { number(v) };
        let unit = if c.unit.is_empty() || c.unit.starts_with('/') {
            c.unit.clone()
        } else {
            format!(" {}", c.unit)
        };
        let interval = d.interval.map_or_else(String::new, |i| format!(" ({})", between(i, signed)));
        out += &format!(": {}{unit}{interval}", signed(d.estimate));
    }
    if let Some(change) = &c.change {
        let interval = change.interval.map_or_else(String::new, |i| format!(" ({})", between(i, change_pct)));
        out += &format!(", {}{interval}", change_pct(change.relative));
    }
    let p = c.p.map_or_else(String::new, |p| format!(" (p {})", p_value(p).replace('<', "< ")));
    format!("{out}: {}{p}", c.verdict.map_or_else(|| "not compared".to_owned(), verdict))
}

fn verdict(v: Verdict) -> String {
    match v {
        Verdict::Same => "the same within the margin (proven)".to_owned(),
        Verdict::NotWorse => "not worse by the margin (proven)".to_owned(),
        other => other.words(0),
    }
}

fn sure(a: &Advice) -> Vec<String> {
    let mut out = Vec::new();
    if let Ok(ab) = &a.ab {
        out.push(of_ab(ab, a));
    }
    if let Ok(replay) = &a.replay {
        out.extend(of_replay(replay));
    }
    out
}

fn of_ab(ab: &AbBasis, a: &Advice) -> String {
    let settle =
        a.rows.iter().flat_map(|r| &r.compared).filter(|c| c.first).filter_map(|c| c.runs_to_settle).max();
    let settle = settle.map_or_else(String::new, |n| {
        format!(
            "; about {n} runs of each would resolve the unclear \
            results"
        )
    });
    format!(
        "compared on this kernel: {} runs of each, alternating, {} repeated because of foreign load; 95 % \
         intervals, p corrected for all comparisons, margin {} %{settle}",
        ab.runs,
        ab.made_again,
        f64::from(ab.margin_permille) / 10.0
    )
}

fn of_replay(r: &ReplayBasis) -> Vec<String> {
    let mut out = Vec::new();
    out.push(match &r.fidelity {
        Ok(f) => format!(
            "replay: repeats {1} % of the choices that {0} made on this kernel{2}",
            f.governor.split(':').next().unwrap_or_default(),
            shown_or_unknown(f.same_state_pct, percent),
            f.same_tick_pct
                .map_or_else(String::new, |pct| format!(", keep or stop the tick {} %", percent(pct)))
        ),
        Err(why) => format!("replay: how many of the kernel's choices it repeats is {why}"),
    });
    let guessed: Vec<String> = r
        .guessed
        .iter()
        .filter(|(_, pct)| *pct >= WORTH_TELLING)
        .map(|(name, pct)| format!("{name} {} %", share(*pct, 0)))
        .collect();
    if !guessed.is_empty() {
        out.push(format!("replay: inputs that the recording bounds or lacks: {}", guessed.join(", ")));
    }
    let swaps: Vec<String> = r
        .sensitivity
        .metrics
        .iter()
        .flat_map(|m| m.swaps.iter().map(move |s| format!("{} of {}", m.metric, s.join(" and "))))
        .collect();
    if !swaps.is_empty() {
        out.push(format!(
            "replay: the order depends on sleep lengths that are not certain: {}",
            swaps.join("; ")
        ));
    }
    out
}

fn replayed(a: &Advice) -> Table {
    let unit = a.rows.iter().find_map(|r| Some(r.replay.as_ref()?.as_ref().ok()?.energy_unit.clone()));
    let energy = format!("energy [{}]", unit.unwrap_or_default());
    let head = [
        "governor",
        "in kernel",
        "wakeups",
        "too deep %",
        "too shallow %",
        "tick stopped %",
        "latency mean",
        "p99",
        &energy,
    ];
    let mut table = Table::new("replay of the recording", head.map(str::to_owned).into());
    table.text_columns = 2;
    for row in &a.rows {
        let in_kernel = match row.in_kernel {
            Some(true) => "yes",
            Some(false) => "no",
            None => "-",
        };
        let Some(Ok(r)) = &row.replay else {
            let mut cells = vec![row.governor.clone(), in_kernel.to_owned()];
            cells.resize(head.len(), "-".to_owned());
            table.rows.push(cells);
            continue;
        };
        let ticks = r.ticks_kept.zip(r.ticks_stopped).filter(|(kept, stopped)| kept + stopped > 0);
        let change = |shown: String, pct: f64| {
            if a.rows.first().is_some_and(|f| f.governor == row.governor) {
                shown
            } else {
                format!("{shown} ({})", signed_percent(pct))
            }
        };
        table.rows.push(vec![
            row.governor.clone(),
            in_kernel.to_owned(),
            r.wakeups.to_string(),
            percent(r.too_deep_pct),
            percent(r.too_shallow_pct),
            or_dash(ticks.map(|(kept, stopped)| percent(percent_of(stopped, kept + stopped)))),
            change(duration(r.latency_mean_ns), r.latency_change_pct),
            duration(r.latency_p99_ns as f64),
            change(format!("{:.3}", r.energy), r.energy_change_pct),
        ]);
    }
    table
}

fn compared(a: &Advice) -> Table {
    let head = ["benchmark", "metric", "governor", "median", "change", "interval", "p", "shown"];
    let current = a.rows.first().map_or("", |r| r.governor.as_str());
    let mut table =
        Table::new(format!("compared on this kernel, against {current}"), head.map(str::to_owned).into());
    table.text_columns = 3;
    for row in &a.rows {
        for c in &row.compared {
            let change = c.change.as_ref();
            table.rows.push(vec![
                c.benchmark.clone(),
                if c.unit.is_empty() { c.metric.clone() } else { format!("{}, {}", c.metric, c.unit) },
                row.governor.clone(),
                or_dash(c.median.map(number)),
                or_dash(change.map(|c| change_pct(c.relative))),
                or_dash(change.and_then(|c| c.interval).map(|i| between(i, change_pct))),
                or_dash(c.p.map(p_value)),
                or_dash(c.verdict.map(|v| v.words(a.ab.as_ref().map_or(0, |ab| ab.margin_permille)))),
            ]);
        }
    }
    table
}
