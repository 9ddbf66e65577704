// SPDX-License-Identifier: GPL-2.0-only
//! What a recording is good for, in words.

use idlewise_report::{Line, Report};
use idlewise_stats::Summary;

use idlewise_machine::record::overhead::Overhead;
use idlewise_machine::record::{CpuRecorded, InputsRecorded, RecordReport};

/// The report of a recording.
#[must_use]
pub fn record(r: &RecordReport) -> Report {
    let mut out = Report::default();
    let path = r.path.display();
    let size = match r.bytes {
        ..1_000_000 => format!("{} kB", r.bytes / 1000),
        bytes => format!("{:.1} MB", bytes as f64 / 1e6),
    };
    let lost = if r.lost == 0 { "none lost".to_owned() } else { format!("{} lost", r.lost) };
    out.preamble.push(Line::new(
        "recorded",
        format!(
            "{path}: {:.1} s, {} events ({lost}), {size}, {}",
            r.seconds,
            r.events,
            if r.machine_known { "its machine in it" } else { "without a machine" }
        ),
    ));
    if let Some(governor) = &r.governor {
        out.preamble.push(Line::new("governor", governor));
    }
    out.preamble.extend(r.inputs.iter().map(|i| Line::new("inputs", inputs(i))));
    out.preamble.extend(r.cpus.iter().map(|c| {
        let told =
            r.inputs.as_ref().and_then(|i| i.cpus.get(&c.cpu)).filter(|of| !c.usable && of.entered > 0);
        let told = told.map_or_else(String::new, |of| {
            format!("; the governor's inputs include its {} decisions", of.entered)
        });
        Line::new(&format!("CPU {}", c.cpu), cpu(c) + &told)
    }));
    out.preamble.extend(r.notes.iter().map(|n| Line::new("note", n)));
    let next = if r.cpus.iter().any(|c| c.usable) {
        format!(
            "`idlewise replay {path}` compares governors on it, `idlewise score {path}` scores the kernel's \
             own choices"
        )
    } else if r.machine_known || !r.cpus.is_empty() {
        format!("no CPU is usable for replay here; `idlewise info {path}` says what the trace does show")
    } else {
        format!("`idlewise replay {path} --recorded-on PLATFORM` compares governors on it")
    };
    out.preamble.push(Line::new("next", next));
    out
}

fn inputs(i: &InputsRecorded) -> String {
    let name = i.path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let cpus: Vec<String> = i.cpus.iter().map(|(cpu, of)| format!("CPU {cpu} {}", of.entered)).collect();
    let all = &i.counts;
    let dropped = if all.dropped == 0 { "none".to_owned() } else { all.dropped.to_string() };
    format!(
        "{name}: {} decisions with the inputs that the governor was given ({}), {} more were abandoned \
         before the entry, {dropped} dropped",
        all.entered,
        cpus.join(", "),
        all.given_up
    )
}

fn cpu(c: &CpuRecorded) -> String {
    match (&c.why, c.usable) {
        (Some(why), false) => format!("not usable: {why}"),
        (Some(why), true) => format!("usable, though {why}"),
        (None, _) => {
            let states = c.states.iter().flat_map(|s| &s.states);
            let states: Vec<String> =
                states.filter_map(|s| Some(format!("{} {}", s.name, s.usage.trace?))).collect();
            let across = c.states.as_ref().map_or(0, |s| s.across);
            let across = if across == 0 {
                String::new()
            } else {
                format!("; {across} across the snapshots of the counters")
            };
            format!(
                "usable: {} idle entries, as the kernel counted ({}){across}",
                c.traced,
                states.join(", ")
            )
        }
    }
}

/// What recording cost, as lines of text.
#[must_use]
pub fn overhead(o: &Overhead) -> Report {
    let mut out = Report::default();
    for (what, c) in [("run time", &o.wall), ("CPU time", &o.cpu)] {
        let mean = |s: &Summary| format!("{:.3} s [{:.3} .. {:.3}]", s.mean, s.min, s.max);
        let change = c.percent.as_ref().map_or_else(
            || "? % (too short for a clock that counts in steps of 10 ms; a longer COMMAND helps)".to_owned(),
            |p| {
                let interval = p.half_width.map_or_else(
                    || "one block: no interval".to_owned(),
                    |h| format!("95 % interval {:+.2} .. {:+.2} %", p.mean - h, p.mean + h),
                );
                format!("{:+.2} % ({interval})", p.mean)
            },
        );
        let (with, without) = (mean(&c.with_s), mean(&c.without_s));
        let words = format!("{change}: {without} without, {with} with");
        out.preamble.push(Line::new(what, words));
    }
    let rate = o.events as f64 / (o.wall.with_s.mean * o.wall.with_s.n as f64).max(1e-9);
    let lost = if o.lost == 0 { "none lost".to_owned() } else { format!("{} lost", o.lost) };
    out.preamble.push(Line::new("events", format!("{rate:.0} a second, {lost}")));
    // Two of four are without.
    let runs = 2 * o.wall.without_s.n;
    out.preamble.push(Line::new("runs", format!("{runs}, in blocks of four: without, with, with, without")));
    out.preamble.extend(o.notes.iter().map(|n| Line::new("note", n)));
    out
}
