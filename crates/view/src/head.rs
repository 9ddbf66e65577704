// SPDX-License-Identifier: GPL-2.0-only
//! Lines above the tables: the recording, its machine, what the numbers are worth.

use idlewise_model::{HealthKind, NotKnown, Note, number_of};
use idlewise_recording::governors::ForeignHead;
use idlewise_recording::recording::MACHINE;
use idlewise_recording::trace_head::HealthHead;
use idlewise_recording::{FidelityHead, TraceHead};
use idlewise_report::{Line, percent, percent_of, share, span};
use idlewise_score::Score;
use idlewise_study::breaches::breach_words;
use idlewise_study::replay::PlatformHead;

/// Choices of `who`, of so many, with which something was wrong: they change the meaning of every number below.
pub(crate) fn breach_lines(who: &str, s: &Score, decisions: u64) -> Vec<Line> {
    let line = |note: Note| Line::new("WARNING", note.about(format!("{who} ")));
    breach_words(&s.breaches, decisions).into_iter().map(line).collect()
}

/// Where a governor came from that is none of ours.
pub(crate) fn foreign_line(f: &ForeignHead) -> Line {
    let of_caller = f.kernel.is_none() && !f.file.ends_with(".c");
    let how = match &f.kernel {
        _ if of_caller => "run by the program that called".to_owned(),
        Some(kernel) => format!("compiled as a file of Linux {kernel}"),
        None => "compiled as a file".to_owned(),
    };
    let what = if f.governor == f.file { String::new() } else { format!(" is {}", f.file) };
    let words = format!("{}{what}: a governor from outside idlewise, {how}, source {}", f.governor, f.hash);
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
            format!(
                "{}, {}, CPUs used: {}",
                span(head.span_ns),
                number_of(head.events, "event"),
                cpu_list(&head.cpus)
            ),
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

pub(crate) fn health_lines(health: &[HealthHead]) -> Vec<Line> {
    let line = |h: &HealthHead| {
        // A scrubbed tape says no longer where.
        let first = if h.first.is_empty() { String::new() } else { format!(" (first: {})", h.first) };
        let what =
            HealthKind::from_name(&h.kind).map_or(h.what.as_ref(), |kind| kind.describe_number(h.count));
        Line::new("health", format!("{} {what}{first}", h.count))
    };
    health.iter().map(line).collect()
}

/// What stands at the top about a trace that was replayed.
pub(crate) struct ReplayedTrace<'r> {
    pub(crate) head: &'r TraceHead,
    pub(crate) same_machine: bool,
    pub(crate) fidelity: &'r Result<FidelityHead, NotKnown>,
}

impl ReplayedTrace<'_> {
    pub(crate) fn lines(&self, platform: &PlatformHead, cluster: Option<&str>) -> Vec<Line> {
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
            "{id}{cluster}; recorded on {}{assumed}: a what-if, with wake events and ticks as recorded and \
             exit latencies as declared",
            self.head.recorded_on
        )
    }
}

/// What stands at the top about energies and the kind of model.
pub(crate) fn model_lines(platform: &PlatformHead) -> Vec<Line> {
    let mut out = state_lines(&platform.not_entered);
    out.extend(platform.energy_basis.iter().map(|basis| Line::new("energy", basis)));
    out.push(Line::new("model", "open loop: events do not move in time when a state is slower"));
    out
}

/// States that no governor can enter.
pub(crate) fn state_lines(not_entered: &[String]) -> Vec<Line> {
    not_entered.iter().map(|words| Line::new("states", words)).collect()
}

pub(crate) fn fidelity_lines(f: &Result<FidelityHead, NotKnown>) -> Vec<Line> {
    let f = match f {
        Ok(f) => f,
        Err(unknown) => return vec![Line::new("fidelity", unknown.why())],
    };
    let Some(same_state_pct) = f.same_state_pct else {
        let why = format!(
            "not known: no choice of {} can be compared ({} depend on what came before the \
             recording)",
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
            "replay of {} repeats the kernel's choices: state {} %, {tick} ({} compared; {} more \
             depend on what came before the recording)",
            f.governor,
            percent(same_state_pct),
            number_of(f.decisions, "choice"),
            f.unknown_memory
        ),
    )];
    if f.usable_states <= 1 {
        out.push(Line::new("", "one state is usable: that shows nothing about the governor"));
    } else if let Some(constant) = &f.constant {
        let (state, same) = (&constant.state, percent(constant.same_pct));
        out.push(Line::new("", format!("the best constant choice, always {state}, repeats {same} %")));
    }
    if let Some(of) = &f.by_release {
        let same = if of.same { "makes the choices" } else { "is the most alike here" };
        out.push(Line::new("", format!("{} {same} of {} in Linux {}", f.governor, of.governor, of.kernel)));
    }
    if let Some(other) = &f.better_version {
        let same = percent(other.same_pct);
        out.push(Line::new("", format!("another version, {}, repeats {same} %", other.governor)));
    }
    for (why, n) in &f.partings {
        out.push(Line::new("", format!("{n} differ: {why}")));
    }
    out
}

/// The inputs that the choices of a governor depend on, or (`judging`) those that a verdict on a choice depends on.
pub(crate) fn input_lines(head: &TraceHead, judging: bool) -> Vec<Line> {
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

/// `0-3,6` for CPUs 0, 1, 2, 3, 6.
pub(crate) fn cpu_list(cpus: &[u32]) -> String {
    if cpus.is_empty() { "none".to_owned() } else { idlewise_platform::cpu_list(cpus) }
}
