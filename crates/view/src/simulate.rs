// SPDX-License-Identifier: GPL-2.0-only
use idlewise_report::{Line, Report, Table, duration, percent, signed_percent, signed_points};

use crate::head::foreign_line;
use idlewise_experiment::simulate::{
    Combination, FactSummary, FactUnit, Meters, PackageMeter, SimulateReport,
};

/// The tables of a simulation: numbers down, combinations across. Of tasks, two numbers each, or with `tasks` all.
#[must_use]
pub fn simulate(r: &SimulateReport, tasks: bool) -> Report {
    let mut out = Report { data: Some(idlewise_data::simulate(r)), ..Report::default() };
    let seconds = r.duration_ns as f64 / 1e9;
    out.preamble.push(Line::new("workload", format!("{} for {seconds} s", r.request.workload)));
    let machine = format!("{}, {} CPUs, HZ {}, Linux {}", r.platform.id, r.cpus, r.hz, r.request.kernel);
    out.preamble.push(Line::new("machine", machine));
    let off = |words: &String| Line::new("states", format!("{words}; the simulation leaves it off"));
    out.preamble.extend(r.platform.not_entered.iter().map(off));
    out.preamble.extend(same_for_all(r));
    if r.request.repeat <= 1 {
        let text = "one run: no interval; --repeat N makes N runs of each, each with the next seed";
        out.preamble.push(Line::new("runs", text));
    } else {
        let last = r.request.seed.wrapping_add(r.request.repeat - 1);
        let text = format!(
            "{} runs of each, seeds {} to {last}; \u{b1} is the 95 % interval of the mean",
            r.request.repeat, r.request.seed
        );
        out.preamble.push(Line::new("runs", text));
    }
    out.preamble.extend(r.notes.iter().map(|n| Line::new("note", n)));
    out.preamble.extend(r.foreign.iter().map(foreign_line));
    out.preamble.extend(energy_lines(r));
    for c in &r.combinations {
        out.footer.extend(c.failure.iter().map(|why| Line::new("failed", why)));
        out.footer.extend(c.notes.iter().map(|n| Line::new("note", format!("{}: {n}", r.name(c)))));
    }
    let mut about: Vec<&str> = Vec::new();
    for fact in r.combinations.iter().flat_map(|c| &c.facts) {
        if !about.contains(&fact.about.as_str()) {
            about.push(&fact.about);
        }
    }
    let is_task = |about: &&str| about.starts_with(TASK);
    let (of_tasks, others): (Vec<&str>, Vec<&str>) = about.into_iter().partition(is_task);
    out.tables.extend(others.into_iter().filter_map(|about| table(r, about)));
    if tasks {
        out.tables.extend(of_tasks.into_iter().filter_map(|about| table(r, about)));
    } else {
        let brief = |what: &&str| task_table(r, what, &of_tasks);
        out.tables.extend(["wakeup latency mean", "response mean"].iter().filter_map(brief));
    }
    if r.combinations.len() > 1 {
        let base = r.combinations.get(r.baseline).map_or_else(String::new, |c| r.name(c));
        let interval = match r.request.repeat {
            0 | 1 => "",
            _ => ", run by run of the same seed; \u{b1} there is the 95 % interval of this change",
        };
        out.footer.push(Line::plain(format!("in brackets: against {base}{interval}")));
    }
    if r.combinations.iter().flat_map(|c| &c.facts).any(|f| f.modes.is_some()) {
        let text = "a number with `=`: the runs form two groups; after the sign are the number of runs and \
                    the value of each; the mean before the sign is near neither";
        out.footer.push(Line::plain(text));
    }
    out
}

/// What does not differ between the combinations stands at the top.
fn same_for_all(r: &SimulateReport) -> Vec<Line> {
    let mut out = Vec::new();
    let mut line = |name: &str, all: &[String]| {
        if let [only] = all {
            out.push(Line::new(name, only));
        }
    };
    line("governor", &r.request.governors);
    line("cpufreq", &r.request.cpufreq);
    line("signal", &r.request.signals);
    line("limits", r.request.power_limit.as_slice());
    if let Some(own) = &r.own_limits {
        line("limits", &[format!("{own}, the platform's own")]);
    }
    out
}

/// What facts about a task begin with.
const TASK: &str = "task ";

/// One number of all tasks that have it.
fn task_table(r: &SimulateReport, what: &str, of_tasks: &[&str]) -> Option<Table> {
    let mut t = Table::new("", heads(r, &format!("task: {what}")));
    for about in of_tasks {
        let fact = |c: &Combination| c.fact(about, what).cloned();
        t.rows.extend(row(r, about.strip_prefix(TASK).unwrap_or(about), fact));
    }
    (!t.rows.is_empty()).then_some(t)
}

fn energy_lines(r: &SimulateReport) -> Vec<Line> {
    let counted = "counted at the CPU clock of each moment; power that clusters share is counted separately, if it is \
         published";
    let mut out = vec![Line::new("energy", format!("{}; {counted}", r.energy_grade))];
    out.extend(meter_lines(&r.meters));
    out.push(Line::new(
        "model",
        "closed loop: a late wakeup delays the work after it (docs/concepts/simulation.md)",
    ));
    out
}

/// What the tables `rapl` and `battery` are, or why there are none.
fn meter_lines(m: &Meters) -> Vec<Line> {
    let mut out = Vec::new();
    let name = |p: &PackageMeter| format!("{} (CPUs {})", p.name, p.cpus);
    let shown: Vec<&PackageMeter> = m.packages.iter().filter(|p| p.none.is_none()).collect();
    if let Some(weakest) = shown.first() {
        let names: Vec<String> = shown.iter().map(|p| name(p)).collect();
        let text = format!(
            "{}: as powercap would show them, in counts of {:.3} uJ, brought up to date every ms; {}",
            names.join(", "),
            m.count_uj,
            weakest.grade
        );
        out.push(Line::new("rapl", text));
    }
    let mut silent: Vec<(&str, &str, Vec<String>)> = Vec::new();
    for p in &m.packages {
        let Some(why) = &p.none else { continue };
        match silent.iter_mut().find(|(_, grade, _)| *grade == p.grade) {
            Some((_, _, names)) => names.push(name(p)),
            None => silent.push((why, &p.grade, vec![name(p)])),
        }
    }
    for (why, grade, names) in silent {
        out.push(Line::new("rapl", format!("{}: {why} ({grade})", names.join(", "))));
    }
    let battery = m.battery.as_ref().map(|b| match &b.none {
        Some(why) => format!("{why} ({})", b.grade),
        None => format!(
            "{} mV; {}; the mean of every {} ms in steps of {} uA; {}",
            b.voltage_mv,
            match b.base_from.as_str() {
                "platform" => format!("{} mW outside the CPUs", b.base_mw),
                "request" => format!("{} mW outside the CPUs, as asked", b.base_mw),
                _ => "power outside the CPUs is not known and not counted".to_owned(),
            },
            b.sample_ms,
            b.step_ua,
            b.grade
        ),
    });
    out.extend(battery.map(|text| Line::new("battery", text)));
    out
}

fn heads(r: &SimulateReport, first: &str) -> Vec<String> {
    let mut head = vec![first.to_owned()];
    head.extend(r.combinations.iter().map(|c| r.name(c)));
    head
}

fn table(r: &SimulateReport, about: &str) -> Option<Table> {
    let there = r.combinations.iter().find(|c| c.failure.is_none())?;
    let mut t = Table::new("", heads(r, about));
    for fact in there.facts.iter().filter(|f| f.about == about) {
        let name = match fact.unit {
            FactUnit::Energy => format!("{} [{}]", fact.name, if r.energy_measured { "mW" } else { "rel" }),
            FactUnit::Milliwatt => format!("{} [mW]", fact.name),
            FactUnit::Millijoule => format!("{} [mJ]", fact.name),
            FactUnit::Celsius => format!("{} [degrees C]", fact.name),
            FactUnit::Milliampere => format!("{} [mA]", fact.name),
            FactUnit::MilliampereHour => format!("{} [mAh]", fact.name),
            _ => fact.name.clone(),
        };
        t.rows.extend(row(r, &name, |c| c.fact(about, &fact.name).cloned()));
    }
    (!t.rows.is_empty()).then_some(t)
}

/// A number of every combination; nothing where none has it.
fn row(
    r: &SimulateReport,
    name: &str,
    fact: impl Fn(&Combination) -> Option<FactSummary>,
) -> Option<Vec<String>> {
    let all: Vec<Option<FactSummary>> =
        r.combinations.iter().map(|c| fact(c).filter(|f| f.summary.mean.is_finite())).collect();
    all.iter().any(Option::is_some).then(|| {
        let cells = all.iter().map(|f| f.as_ref().map_or_else(|| "-".to_owned(), cell));
        std::iter::once(name.to_owned()).chain(cells).collect()
    })
}

fn cell(fact: &FactSummary) -> String {
    let s = &fact.summary;
    let value = |v: f64| match fact.unit {
        FactUnit::Count | FactUnit::Microjoule => format!("{v:.0}"),
        FactUnit::Percent => percent(v),
        FactUnit::Ns => duration(v),
        FactUnit::Energy
        | FactUnit::Milliwatt
        | FactUnit::Millijoule
        | FactUnit::Milliampere
        | FactUnit::MilliampereHour => format!("{v:.3}"),
        FactUnit::PerSecond | FactUnit::Celsius => format!("{v:.1}"),
        FactUnit::Khz => format!("{:.0} MHz", v / 1000.0),
    };
    let mut text = value(s.mean);
    // Without chance all runs are the same.
    let spread = |half: Option<f64>| half.filter(|half| *half > 0.0);
    match (&fact.modes, spread(s.half_width)) {
        (Some([low, high]), _) => {
            text += &format!(" = {}x {}, {}x {}", low.n, value(low.mean), high.n, value(high.mean));
        }
        (None, Some(half)) => text += &format!(" \u{b1} {}", value(half)),
        (None, None) => {}
    }
    let Some(change) = &fact.change else { return text };
    let (middle, half) = match (fact.unit, change.relative) {
        (FactUnit::Percent, _) => (signed_points(change.difference), change.half_width),
        (_, Some(relative)) => {
            (signed_percent(100.0 * relative), change.relative_half_width.map(|half| 100.0 * half))
        }
        (_, None) => return text,
    };
    let half = spread(half).map_or_else(String::new, |half| format!(" \u{b1} {half:.2}"));
    text + &format!(" ({middle}{half})")
}
