// SPDX-License-Identifier: GPL-2.0-only
//! Reports as text: what stands at the top, and the tables.

mod ab;
mod advise;
mod agreement;
mod beside;
mod boot;
mod compare;
mod counters;
mod csv;
mod diff;
mod doomed;
pub mod explain;
mod info;
mod record;
mod reproduce;
mod sensitivity;
mod simulate;
mod top;
mod unknown;
mod wakeups;

use idlewise_model::Piece;
use idlewise_report::{
    Line, Report, Table, UNKNOWN, duration, percent, percent_of, share, signed_percent, signed_points, span,
};
use idlewise_score::measure::{ENERGY, MEASURES, TOO_SHALLOW};
use idlewise_score::{Measure, Place, Score, Unit};

use idlewise_recording::governors::ForeignHead;
use idlewise_recording::placement::Per;
use idlewise_recording::recording::MACHINE;
use idlewise_recording::trace_head::HealthHead;
use idlewise_recording::{FidelityHead, TraceHead};
use idlewise_study::breaches::breach_words;
use idlewise_study::compare::cell;
use idlewise_study::replay::{GovernorResult, PlatformHead, ReplayReport, TraceResult};
use idlewise_study::score::{ScoreReport, VerdictCheck};

pub use ab::ab;
pub use advise::advise;
pub use agreement::words as agreement;
pub use beside::beside;
pub use boot::{boot, self_test};
pub(crate) use compare::waits_words;
pub use compare::{checks, compare};
pub use diff::diff;
pub use info::info;
pub use record::{overhead, record};
pub use reproduce::reproduce;
pub use simulate::simulate;
pub use top::{Grouping, power as power_words, top};

/// The tables of a replay.
#[must_use]
pub fn replay(r: &ReplayReport) -> Report {
    let mut out = Report { data: Some(csv::replay(r)), ..Report::default() };
    let cluster = r.request.cluster.as_deref();
    for trace in &r.traces {
        let t =
            ReplayedTrace { head: &trace.head, same_machine: trace.same_machine, fidelity: &trace.fidelity };
        out.preamble.extend(agreement::agreement_lines(&trace.parity));
        out.preamble.extend(t.lines(&r.platform, cluster));
        out.preamble.extend(sensitivity::lines(&trace.sensitivity));
    }
    out.preamble.extend(r.foreign.iter().map(foreign_line));
    out.preamble.extend(model_lines(&r.platform));
    for trace in &r.traces {
        let place = if r.traces.len() > 1 { format!("{}: ", trace.head.name) } else { String::new() };
        for g in trace.governors.iter().filter(|g| g.failure.is_none()) {
            out.preamble.extend(breach_lines(&format!("{place}{}", g.governor), &g.score, g.decisions));
        }
    }
    let several = r.traces.len() > 1;
    for trace in &r.traces {
        let title = if several { trace.head.name.clone() } else { String::new() };
        out.footer.extend(remarks(&title, &trace.governors));
        out.tables.extend(governor_tables(&title, &trace.governors, &r.baseline, r.request.per));
    }
    if let Some(all) = &r.together {
        let title = format!("all {} traces", r.traces.len());
        out.tables.extend(governor_tables(&title, all, &r.baseline, r.request.per));
    }
    out.footer.extend(r.traces.iter().filter_map(recorded_line));
    let all = r.traces.iter().flat_map(|t| &t.governors).chain(r.together.iter().flatten());
    let scores: Vec<_> = all.filter(|g| g.failure.is_none()).flat_map(scores_of).collect();
    out.footer.extend(unknown::lines(&out.tables, scores));
    out.footer
        .push(Line::plain(format!("in brackets: against {}; regret: energy above the oracle's", r.baseline)));
    out
}

/// Where the recorded numbers are, next to those of the kernel's own governor replayed on its own machine.
fn recorded_line(t: &TraceResult) -> Option<Line> {
    let own = &t.fidelity.as_ref().ok()?.governor;
    let there = t.same_machine && t.governors.iter().any(|g| g.governor == *own);
    let words = || format!("what the kernel itself did, in the same numbers: idlewise score {}", t.head.name);
    there.then(|| Line::new("recorded", words()))
}

/// A governor's score and those of its groups.
fn scores_of(g: &GovernorResult) -> impl Iterator<Item = (&str, &Score)> {
    let of = g.governor.as_str();
    std::iter::once((of, &g.score)).chain(g.groups.iter().map(move |group| (of, &group.score)))
}

/// What went wrong with a governor, and what to know about its result.
fn remarks(trace: &str, results: &[GovernorResult]) -> Vec<Line> {
    let place = if trace.is_empty() { String::new() } else { format!("{trace}: ") };
    let mut out = Vec::new();
    for r in results {
        out.extend(r.failure.iter().map(|why| Line::new("failed", format!("{place}{why}"))));
        out.extend(r.notes.iter().map(|n| Line::new("note", format!("{place}{} {n}", r.governor))));
    }
    out
}

/// The tables of a score.
#[must_use]
pub fn score(r: &ScoreReport, per: Per) -> Report {
    let mut out = Report { preamble: head_lines(&r.head), data: Some(csv::score(r)), ..Report::default() };
    out.preamble.push(Line::new("machine", &r.head.recorded_on));
    out.preamble.extend(state_lines(&r.not_entered));
    let governor = if r.governor.is_empty() { "not named by the recording" } else { &r.governor };
    out.preamble.push(Line::new(
        "governor",
        format!("{governor} (the kernel's own choices are judged; nothing is replayed)"),
    ));
    out.preamble.extend(input_lines(&r.head, true));
    if let Some(a) = &r.agreement {
        out.preamble.extend(verdict_lines(a));
    }
    out.preamble.extend(r.counters.iter().flat_map(counters::lines));
    out.preamble.extend(tick_line(&r.score));
    out.preamble.push(doomed::line(&r.doomed, &r.head.clock));
    out.preamble.extend(no_state_line(&r.score));
    out.preamble.extend(breach_lines("the kernel's governor", &r.score, r.score.wakeups + r.score.rejected));
    let mut total = Table::new("", vec!["CPUs".into()]);
    total.head.extend(Measure::all_in(Place::Recorded).map(|m| m.label.to_owned()));
    for g in &r.groups {
        total.rows.push(score_row(&g.name, &g.score));
    }
    total.rows.push(score_row("all", &r.score));
    out.tables.push(total);
    match per {
        Per::All | Per::State => out.tables.push(state_table("by state", &[("all", &r.score)])),
        Per::Cpu | Per::Cluster => {
            let rows: Vec<(&str, &Score)> = r.groups.iter().map(|g| (g.name.as_str(), &g.score)).collect();
            out.tables.push(state_table("by state", &rows));
        }
    }
    let mut causes = Table::new("woken by", vec!["cause".into(), "wakes".into(), "%".into()]);
    for (cause, n) in &r.score.causes {
        causes.rows.push(vec![cause.clone(), n.to_string(), percent(percent_of(*n, r.score.wakeups))]);
    }
    out.tables.push(causes);
    out.tables.extend(doomed::table(&r.doomed));
    let groups = r.groups.iter().map(|g| (g.name.as_str(), &g.score));
    out.footer.extend(unknown::lines(&out.tables, groups.chain([("all", &r.score)])));
    let counted = r.counters.iter().map(counters::table).collect::<Vec<_>>();
    out.footer.extend(counters::unknown(&counted));
    out.tables.extend(counted);
    out
}

/// `name`, and every measure that the table of a score has.
fn score_row(name: &str, s: &Score) -> Vec<String> {
    let cells = Measure::all_in(Place::Recorded).map(|m| cell(m.unit, m.value(s)));
    std::iter::once(name.to_owned()).chain(cells).collect()
}

/// What a row or column of `measure` is called, where energies are in `energy_unit`.
pub(crate) fn label(measure: &Measure, energy_unit: &str) -> String {
    match measure.unit {
        Unit::Energy => format!("{} [{energy_unit}]", measure.label),
        _ => measure.label.to_owned(),
    }
}

/// A value that may not be known.
pub(crate) fn shown_or_unknown<T>(value: Option<T>, shown: impl Fn(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), shown)
}

/// Of how many entries nobody knows what became of the tick.
fn tick_line(s: &Score) -> Option<Line> {
    let entries = s.wakeups;
    let words = if s.ticks_kept.is_none() {
        "the recording does not show for any entry whether the tick was kept or stopped".to_owned()
    } else {
        format!(
            "the recording does not show for {} of {entries} entries ({} %) whether the tick was kept or stopped: they are \
             in none of the tick's columns",
            s.ticks_unknown,
            percent(percent_of(s.ticks_unknown, entries))
        )
    };
    (s.ticks_unknown > 0).then(|| Line::new("tick", words))
}

/// Idle periods of which the recording does not show the state, next to others of which it does.
fn no_state_line(s: &Score) -> Option<Line> {
    let u = s.unplaced.get(&Piece::NO_STATE)?;
    let words = format!(
        "{} idle periods, {} together, are in no number below: the recording does not show their states",
        u.entries,
        span(u.residency_ns)
    );
    Some(Line::new("WARNING", words))
}

/// Choices of `who`, of so many, with which something was wrong: they change the meaning of every number below.
fn breach_lines(who: &str, s: &Score, decisions: u64) -> Vec<Line> {
    let line = |words: String| Line::new("WARNING", format!("{who} {words}"));
    breach_words(&s.breaches, decisions).into_iter().map(line).collect()
}

fn state_table(title: &str, rows: &[(&str, &Score)]) -> Table {
    let head = ["CPUs", "state", "entries", "residency", "% of idle", "too deep", "too shallow", "rejected"];
    let mut t = Table::new(title, head.map(str::to_owned).to_vec());
    t.text_columns = 2;
    for (name, score) in rows {
        for (i, s) in score.states.iter().enumerate() {
            t.rows.push(vec![
                (*name).to_owned(),
                format!("{i} {}", s.name),
                s.entries.to_string(),
                span(s.residency_ns),
                percent(s.residency_pct),
                s.above.to_string(),
                s.below.to_string(),
                s.rejected.to_string(),
            ]);
        }
    }
    t
}

fn verdict_lines(a: &VerdictCheck) -> Vec<Line> {
    let verdict = format!(
        "too shallow: {} recomputed, {} by the kernel; too deep: {} recomputed, {} by the kernel{}",
        a.recomputed_below,
        a.kernel_below,
        a.recomputed_above,
        a.kernel_above,
        if a.disagree == 0 {
            String::new()
        } else {
            format!(
                "; they differ on {} within {} of the limit",
                a.disagree,
                duration(a.largest_margin_ns as f64)
            )
        }
    );
    let mut out = vec![Line::new("misses", verdict)];
    if a.rejected > 0 {
        let text = format!(
            "{} entries refused by the driver: too deep by the clock but not counted by the kernel; the longest took {}",
            a.rejected,
            duration(a.longest_rejected_ns as f64)
        );
        out.push(Line::new("rejected", text));
    }
    out
}

/// Where a governor came from that is none of ours.
pub(crate) fn foreign_line(f: &ForeignHead) -> Line {
    let kernel = f.kernel.as_ref().map_or_else(String::new, |k| format!(" of Linux {k}"));
    let what = if f.governor == f.file { String::new() } else { format!(" is {}", f.file) };
    let words =
        format!("{}{what}: not of idlewise; compiled as a file{kernel}, source {}", f.governor, f.hash);
    Line::new("foreign", words)
}

pub(crate) fn head_lines(head: &TraceHead) -> Vec<Line> {
    let kernel = if head.kernel.is_empty() { String::new() } else { format!(", {}", head.kernel) };
    let clock = if head.clock.is_empty() { String::new() } else { format!(", clock {}", head.clock) };
    let what = format!("{} ({}{kernel}{clock})", head.name, head.format);
    let mut out = vec![
        Line::new("trace", what),
        Line::new(
            "",
            format!("{}, {} events, CPUs used: {}", span(head.span_ns), head.events, cpu_list(&head.cpus)),
        ),
    ];
    out.extend(head.assumption().map(|a| Line::new("assumed", a)));
    out.extend(head.warnings.iter().map(|w| Line::new("WARNING", w)));
    for left in &head.left_out {
        out.push(Line::new("left out", format!("CPU {}: {}", left.cpu, left.why)));
    }
    out.extend(health_lines(&head.health));
    for note in &head.notes {
        out.push(Line::new("note", note));
    }
    out
}

fn health_lines(health: &[HealthHead]) -> Vec<Line> {
    let line = |h: &HealthHead| Line::new("health", format!("{} {} (first: {})", h.count, h.what, h.first));
    health.iter().map(line).collect()
}

/// What stands at the top about a trace that was replayed.
struct ReplayedTrace<'r> {
    head: &'r TraceHead,
    same_machine: bool,
    fidelity: &'r Result<FidelityHead, String>,
}

impl ReplayedTrace<'_> {
    fn lines(&self, platform: &PlatformHead, cluster: Option<&str>) -> Vec<Line> {
        let mut out = head_lines(self.head);
        out.push(Line::new("machine", self.machine_words(platform, cluster)));
        out.extend(fidelity_lines(self.fidelity));
        out.extend(input_lines(self.head, false));
        out
    }

    fn machine_words(&self, platform: &PlatformHead, cluster: Option<&str>) -> String {
        let id = &platform.id;
        let assumed = if self.head.machine_assumed { ", as assumed" } else { "" };
        if self.same_machine {
            return format!("{id}, where it was recorded{assumed}");
        }
        let cluster = cluster.map_or_else(String::new, |c| format!(", every CPU on its cluster {c}"));
        format!(
            "{id}{cluster}; recorded on {}{assumed}: what if this load ran there (wake events and ticks as recorded, exit latencies as declared)",
            self.head.recorded_on
        )
    }
}

/// What stands at the top about energies and the kind of model.
fn model_lines(platform: &PlatformHead) -> Vec<Line> {
    let mut out = state_lines(&platform.not_entered);
    out.extend(platform.energy_basis.iter().map(|basis| Line::new("energy", basis)));
    out.push(Line::new("model", "open loop: events do not move in time when a state is slower"));
    out
}

/// States that no governor can enter.
fn state_lines(not_entered: &[String]) -> Vec<Line> {
    not_entered.iter().map(|words| Line::new("states", words)).collect()
}

fn fidelity_lines(f: &Result<FidelityHead, String>) -> Vec<Line> {
    let f = match f {
        Ok(f) => f,
        Err(why) => return vec![Line::new("fidelity", why)],
    };
    let Some(same_state_pct) = f.same_state_pct else {
        let why = format!(
            "not known: no choice of {} can be compared ({} depend on the governor's state from before)",
            f.governor, f.unknown_memory
        );
        return vec![Line::new("fidelity", why)];
    };
    let tick = f.same_tick_pct.map_or_else(
        || "tick not recorded".to_owned(),
        |pct| format!("keep or stop the tick {} %", percent(pct)),
    );
    let mut out = vec![Line::new(
        "fidelity",
        format!(
            "{} replayed makes the kernel's choices: state {} %, {tick} ({} choices compared; {} more depend on the governor's state from before)",
            f.governor,
            percent(same_state_pct),
            f.decisions,
            f.unknown_memory
        ),
    )];
    for (why, n) in &f.partings {
        out.push(Line::new("", format!("{n} differ: {why}")));
    }
    out
}

/// The inputs that the choices of a governor hang on, or (`judging`) those that a verdict on a choice hangs on.
fn input_lines(head: &TraceHead, judging: bool) -> Vec<Line> {
    let shown = |i: &&idlewise_recording::trace_head::InputHead| {
        !judging
            || matches!(i.name.as_str(), "wake" | "visits" | "tick stopped" | "disabled states" | MACHINE)
    };
    let input = |(i, input): (usize, &idlewise_recording::trace_head::InputHead)| {
        let counts = [
            (input.recorded, "recorded"),
            (input.derived, "derived"),
            (input.bounded, "bounded"),
            (input.assumed, "assumed"),
        ];
        let all: u64 = counts.iter().map(|c| c.0).sum();
        let used: Vec<_> = counts.iter().filter(|c| c.0 > 0).collect();
        let grades = match used.as_slice() {
            [(_, word)] => (*word).to_owned(),
            several => {
                let part = |(n, word): &&(u64, &str)| format!("{word} {} %", share(percent_of(*n, all), 0));
                several.iter().map(part).collect::<Vec<_>>().join(", ")
            }
        };
        Line::new(if i == 0 { "inputs" } else { "" }, format!("{}: {grades} ({})", input.name, input.how))
    };
    head.inputs.iter().filter(shown).enumerate().map(input).collect()
}

/// Metrics down, governors across: the layout of the mailing lists.
fn governor_tables(title: &str, results: &[GovernorResult], baseline: &str, per: Per) -> Vec<Table> {
    let mut tables = vec![metric_table(title, results, baseline)];
    match per {
        Per::All => {}
        Per::State => {
            let there = results.iter().filter(|r| r.failure.is_none());
            let rows: Vec<(&str, &Score)> = there.map(|r| (r.governor.as_str(), &r.score)).collect();
            let mut t = state_table("by state", &rows);
            if let Some(head) = t.head.first_mut() {
                "governor".clone_into(head);
            }
            tables.push(t);
        }
        Per::Cpu | Per::Cluster => tables.push(group_table(results)),
    }
    tables
}

fn metric_table(title: &str, results: &[GovernorResult], baseline: &str) -> Table {
    let mut head = vec!["metric".to_owned()];
    head.extend(results.iter().map(|r| r.governor.clone()));
    let mut t = Table::new(title, head);
    let mut row = |name: &str, cell: &dyn Fn(&GovernorResult) -> String| {
        let mut cells = vec![name.to_owned()];
        cells.extend(results.iter().map(|r| if r.failure.is_some() { "-".to_owned() } else { cell(r) }));
        t.rows.push(cells);
    };
    let there = || results.iter().filter(|r| r.failure.is_none());
    let compared = there().any(|r| r.governor == baseline);
    let against = |r: &GovernorResult, difference: String| {
        if r.governor == baseline || !compared { String::new() } else { format!(" ({difference})") }
    };
    let unit = there().next().map_or("rel", |r| r.score.energy_unit.as_str());
    for m in &MEASURES {
        if m.is_in(Place::Compared) {
            row(&label(m, unit), &|r| {
                let change =
                    if m.is_in(Place::Baseline) { against(r, change_words(r, m)) } else { String::new() };
                cell(m.unit, m.value(&r.score)) + &change
            });
        } else if is_where_any(m) && there().any(|r| m.value(&r.score) > 0.0) {
            row(m.label, &|r| cell(m.unit, m.value(&r.score)));
        }
        if m == TOO_SHALLOW {
            let states = there().next().map_or(&[][..], |r| r.score.states.as_slice());
            for (i, state) in states.iter().enumerate() {
                row(&format!("{} % of idle", state.name), &|r| {
                    r.score.states.get(i).map_or_else(String::new, |s| percent(s.residency_pct))
                });
            }
        }
        if m == ENERGY && there().any(|r| r.regret_pct.is_finite()) {
            row("regret", &|r| signed_percent(r.regret_pct));
        }
    }
    t
}

/// Whether tables have a row of it only where there is any.
pub(crate) fn is_where_any(measure: &Measure) -> bool {
    measure.is_in(Place::WhereAny) || measure.is_in(Place::Fault)
}

/// The change of `measure` against the baseline.
fn change_words(r: &GovernorResult, measure: &Measure) -> String {
    let change = r.change.of(measure);
    if measure.unit == Unit::Share { signed_points(change) } else { signed_percent(change) }
}

fn group_table(results: &[GovernorResult]) -> Table {
    let mut head = vec!["CPUs".to_owned(), "governor".to_owned()];
    head.extend(Measure::all_in(Place::Parts).map(|m| m.label.to_owned()));
    let mut t = Table::new("", head);
    t.text_columns = 2;
    let groups = results.iter().map(|r| r.groups.len()).max().unwrap_or(0);
    for i in 0..groups {
        for r in results {
            let Some(g) = r.groups.get(i) else { continue };
            let mut row = vec![g.name.clone(), r.governor.clone()];
            row.extend(Measure::all_in(Place::Parts).map(|m| {
                match (m.unit, cell(m.unit, m.value(&g.score))) {
                    (Unit::Energy, value) => format!("{value} {}", g.score.energy_unit),
                    (_, value) => value,
                }
            }));
            t.rows.push(row);
        }
    }
    t
}

/// `0-3,6` for CPUs 0, 1, 2, 3, 6.
fn cpu_list(cpus: &[u32]) -> String {
    if cpus.is_empty() { "none".to_owned() } else { idlewise_platform::cpu_list(cpus) }
}
