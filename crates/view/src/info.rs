// SPDX-License-Identifier: GPL-2.0-only
//! What a trace holds, as text.

use idlewise_model::number_of;
use idlewise_report::{Line, Report, Table, percent, percent_of, share, signed_duration, span};

use crate::agreement::agreement_lines;
use crate::cells::shown_or_unknown;
use crate::doomed;
use crate::head::{fidelity_lines, head_lines, health_lines, input_lines};
use idlewise_conform::input_accuracy::InputAccuracy;
use idlewise_study::info::{CpuInfo, DecisionCount, Info, InputInfo, Replayed, Verdict};

/// The lines and tables of an info.
#[must_use]
pub fn info(i: &Info) -> Report {
    let mut out = Report { preamble: file_lines(i), data: Some(idlewise_data::info(i)), ..Report::default() };
    out.preamble.extend(health_lines(&i.health));
    out.preamble.extend(i.notes.iter().map(|n| Line::new("note", n)));
    out.preamble.push(verdict_line("score", &i.score));
    out.preamble.push(verdict_line("replay", &i.replay));
    out.preamble.extend(decision_line(i));
    match &i.replayed {
        Some(replayed) => out.preamble.extend(replayed_lines(replayed)),
        None => out.preamble.extend(input_words(i)),
    }
    out.tables.push(cpu_table(&i.cpus));
    out.tables.extend(i.replayed.as_ref().and_then(|r| doomed::table(&r.doomed)));
    let mut events = Table::new("events", vec!["event".into(), "count".into(), "%".into()]);
    for e in &i.counts {
        let share = share(percent_of(e.count, i.events), 1);
        events.rows.push(vec![e.name.clone(), e.count.to_string(), share]);
    }
    out.tables.push(events);
    out
}

fn file_lines(i: &Info) -> Vec<Line> {
    let packed = i.packed.as_ref().map_or_else(String::new, |how| format!(", unpacked from {how}"));
    let mut out =
        vec![Line::new("trace", format!("{}: {}{packed}, {} bytes", i.path.display(), i.format, i.bytes))];
    if !i.kernel.is_empty() {
        out.push(Line::new("machine", format!("Linux {}", i.kernel)));
    }
    if !i.recorder.is_empty() {
        // trace-cmd writes its version only.
        let bare = i.recorder.starts_with(|c: char| c.is_ascii_digit());
        out.push(Line::new("recorder", format!("{}{}", if bare { "trace-cmd " } else { "" }, i.recorder)));
    }
    let clock = if i.clock.is_empty() { "not named" } else { &i.clock };
    let first = format!("{}.{:09}", i.first_ns / 1_000_000_000, i.first_ns % 1_000_000_000);
    let time = match i.events {
        0 => format!("no events; clock {clock}"),
        n => format!("{} from {first} s, clock {clock}; {}", span(i.span_ns), number_of(n, "event")),
    };
    out.push(Line::new("time", time));
    if !i.other_instances.is_empty() {
        out.push(Line::new("instances", format!("not supported: {}", i.other_instances.join(", "))));
    }
    out
}

fn verdict_line(what: &str, v: &Verdict) -> Line {
    Line::new(what, format!("{}, {}", if v.yes { "yes" } else { "no" }, v.words))
}

/// Whose decisions can be made again with their true inputs.
fn decision_line(i: &Info) -> Option<Line> {
    let by = |d: &DecisionCount| {
        let who = if d.governor.is_empty() { "a governor that was enabled earlier" } else { &d.governor };
        format!("{} by {who}", number_of(d.count, "decision"))
    };
    let all: Vec<String> = i.decisions.iter().map(by).collect();
    (!all.is_empty()).then(|| Line::new("parity", format!("yes, true inputs recorded: {}", all.join(", "))))
}

/// How faithfully: as at the top of a replay.
fn replayed_lines(r: &Replayed) -> Vec<Line> {
    let mut out = match r.head.assumption() {
        Some(assumption) => vec![Line::new("assumed", assumption)],
        None => vec![Line::new("", format!("recorded on {}", r.head.recorded_on))],
    };
    // The file's own lines stand above; here follows what making a tape of it found.
    let found = |label| head_lines(&r.head).into_iter().filter(move |l| l.label() == Some(label));
    out.extend(found("WARNING"));
    out.extend(agreement_lines(&r.parity));
    out.extend(fidelity_lines(&r.fidelity));
    out.extend(found("left out"));
    out.extend(input_lines(&r.head, false));
    out.push(doomed::line(&r.doomed, &r.head.clock));
    out.extend(r.true_inputs.iter().enumerate().map(|(n, t)| truth_line(n == 0, t)));
    out
}

/// How right an input is.
fn truth_line(first: bool, t: &InputAccuracy) -> Line {
    let unit = |n: i64| match t.name.as_str() {
        "sleep length" | "next event with the tick" | "latency limit" => signed_duration(n as f64),
        _ => format!("{n:+}"),
    };
    let [least, middle, most] = t.off.map(unit);
    let off = if t.off == [0; 3] {
        String::new()
    } else {
        format!("; off by {least}, {middle}, {most} (p1, p50, p99)")
    };
    let same = percent(percent_of(t.same, t.compared));
    let wrong = if t.graded_wrong == 0 {
        String::new()
    } else {
        format!("; {} of {} graded recorded or derived are wrong", t.graded_wrong, t.graded)
    };
    let words = format!("{}: {} {same} % of {}{wrong}{off}", t.name, t.how, t.compared);
    Line::new(if first { "truth" } else { "" }, words)
}

/// How faithfully, as far as the kinds of events tell.
fn input_words(i: &Info) -> Vec<Line> {
    if !i.replay.yes {
        return Vec::new();
    }
    let hint = "the machine is not known: score and replay need --recorded-on PLATFORM (or --sysfs FILE); \
        with it and --kernel-governor, info also shows how many of the kernel's own choices replay repeats";
    let mut out = vec![Line::new("", hint)];
    let words = |input: &InputInfo| {
        let from = if input.from.is_empty() { "nothing recorded".to_owned() } else { input.from.join(", ") };
        match input.lacks.as_slice() {
            [] => format!("{}: {from}", input.name),
            lacks => {
                format!("{}: {from}; no {}: {}", input.name, lacks.join(", no "), input.instead)
            }
        }
    };
    let line = |(n, input)| Line::new(if n == 0 { "inputs" } else { "" }, words(input));
    out.extend(i.inputs.iter().enumerate().map(line));
    out
}

fn cpu_table(cpus: &[CpuInfo]) -> Table {
    let head =
        ["CPU", "events", "idle entries", "exits", "switches to idle", "gaps", "lost", "longest silence"];
    let mut t = Table::new("CPUs", head.map(str::to_owned).to_vec());
    for c in cpus {
        t.rows.push(vec![
            c.cpu.to_string(),
            c.events.to_string(),
            c.idle_entries.to_string(),
            c.idle_exits.to_string(),
            c.switches_to_idle.to_string(),
            c.gaps.to_string(),
            shown_or_unknown(c.lost, |n| n.to_string()),
            span(c.longest_silence_ns),
        ]);
    }
    t
}
