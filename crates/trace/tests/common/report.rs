// SPDX-License-Identifier: GPL-2.0-only
//! The output of `trace-cmd report -t -R`, line by line.

use std::path::Path;
use std::process::Command;

use idlewise_model::{Event, EventKind, Ipi};
use idlewise_trace::{Events, TraceMeta};

use super::is_called;
use super::output::Output;

/// One event as trace-cmd prints it.
#[derive(Debug)]
pub struct Line {
    /// The trace instance, empty for the top one.
    pub instance: String,
    pub pid: i32,
    pub cpu: u32,
    pub ts_ns: u64,
    pub name: String,
    pub fields: String,
}

impl Line {
    /// Reads "comm-pid [cpu] seconds.nanoseconds: name: fields"; anything else gives `None`.
    pub fn parse(line: &str) -> Option<Self> {
        line.match_indices(" [").find_map(|(at, _)| {
            let (cpu, rest) = line.get(at + 2..)?.split_once("] ")?;
            let cpu = cpu.parse().ok()?;
            let (time, rest) = rest.trim_start().split_once(": ")?;
            let (s, ns) = time.split_once('.').unwrap_or((time, ""));
            let s: u64 = s.parse().ok()?;
            let ts_ns = if ns.is_empty() { s } else { s * 1_000_000_000 + ns.parse::<u64>().ok()? };
            let (task, pid) = line.get(..at)?.trim_end().rsplit_once('-')?;
            let pid = pid.parse().ok()?;
            let instance = task.split_once(": ").map_or("", |(name, _)| name.trim()).to_owned();
            let (name, fields) = rest.split_once(':')?;
            Some(Self { instance, pid, cpu, ts_ns, name: name.to_owned(), fields: fields.trim().to_owned() })
        })
    }

    /// The text of a field; texts may hold spaces, numbers do not.
    pub fn text(&self, key: &str) -> Option<&str> {
        let at = if self.fields.starts_with(&format!("{key}=")) {
            key.len() + 1
        } else {
            self.fields.find(&format!(" {key}="))? + key.len() + 2
        };
        self.fields.get(at..)?.split(' ').next()
    }

    /// The number of a field, decimal or hexadecimal.
    pub fn number(&self, key: &str) -> Option<i128> {
        let text = self.text(key)?;
        match text.strip_prefix("0x") {
            Some(hex) => i128::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        }
    }
}

/// The running reference reader.
pub struct Report(Output);

impl Report {
    pub fn run(path: &Path) -> Self {
        Self(Output::of(Command::new("trace-cmd").args(["report", "-t", "-R", "-N", "-i"]).arg(path)))
    }

    /// All lines. On files of the other byte order trace-cmd 3.1.6 writes the name of the clock behind an
    /// allocation of no bytes (valgrind shows it), so about one run in three hundred dies or prints nothing,
    /// on the same bytes: such a run is made again, and the fifth counts whatever it is.
    pub fn whole(path: &Path) -> Vec<Line> {
        let mut lines = Vec::new();
        for _ in 0..5 {
            let mut report = Self::run(path);
            lines = report.by_ref().collect();
            let status = report.0.wait();
            if status.success() && !lines.is_empty() {
                break;
            }
            println!("trace-cmd ended with {status} after {} lines", lines.len());
        }
        lines
    }
}

impl Iterator for Report {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(line) = Line::parse(&self.0.line()?) {
                return Some(line);
            }
        }
    }
}

/// The next event that a kernel recorded, which a tool may print.
pub fn next_recorded(events: &mut Events<'_>) -> Option<Event> {
    events.by_ref().find(|event| !matches!(event.kind, EventKind::Lost { .. }))
}

/// Asserts that a line is `event`, at `place`: its time, CPU, task, name and numbers; says how many of these were compared.
pub fn assert_same(event: &Event, line: &Line, meta: &TraceMeta, events: &Events<'_>, place: &str) -> u32 {
    assert_eq!(
        (event.ts_ns, event.cpu, event.pid),
        (line.ts_ns, line.cpu, line.pid),
        "{place}: {event:?} against {line:?}"
    );
    assert!(is_called(&event.kind, meta, &line.name), "{place}: {event:?} against {line:?}");
    compare_fields(event, line, meta, events).unwrap_or_else(|e| panic!("{place}: {e}"))
}

/// Compares the numbers of one event with the printed ones; says how many were compared.
pub fn compare_fields(
    event: &Event,
    line: &Line,
    meta: &TraceMeta,
    events: &Events<'_>,
) -> Result<u32, String> {
    let mut n = 0;
    let mut check = |key: &str, ours: i128| {
        n += 1;
        match line.number(key) {
            Some(theirs) if theirs == ours => Ok(()),
            theirs => Err(format!("{key}: {ours} against {theirs:?} in {line:?}")),
        }
    };
    let address = |key: &str, ours: u64| {
        let Some(text) = line.text(key) else { return Err(format!("{key} is not in {line:?}")) };
        let hex = text.strip_prefix("0x").and_then(|h| u64::from_str_radix(h, 16).ok());
        let named = meta.function(ours).or_else(|| events.symbol(ours));
        let same = hex == Some(ours) || named == Some(text);
        if same { Ok(()) } else { Err(format!("{key}: {ours:#x} against {text} in {line:?}")) }
    };
    match event.kind {
        EventKind::CpuIdle { cpu, state } => {
            check("cpu_id", cpu.into())?;
            check("state", state.unwrap_or(u32::MAX).into())?;
        }
        EventKind::CpuIdleMiss { cpu, state, below } => {
            check("cpu_id", cpu.into())?;
            check("state", state.into())?;
            check("below", below.into())?;
        }
        EventKind::CpuFrequency { cpu, khz } => {
            check("cpu_id", cpu.into())?;
            check("state", khz.into())?;
        }
        EventKind::SchedSwitch { prev_pid, prev_prio, prev_state, next_pid, next_prio } => {
            check("prev_pid", prev_pid.into())?;
            check("prev_prio", prev_prio.into())?;
            check("prev_state", prev_state.into())?;
            check("next_pid", next_pid.into())?;
            check("next_prio", next_prio.into())?;
        }
        EventKind::SchedWaking { pid, target_cpu } | EventKind::SchedWakeup { pid, target_cpu, .. } => {
            check("pid", pid.into())?;
            check("target_cpu", target_cpu.into())?;
        }
        EventKind::SchedMigrateTask { pid, orig_cpu, dest_cpu } => {
            check("pid", pid.into())?;
            check("orig_cpu", orig_cpu.into())?;
            check("dest_cpu", dest_cpu.into())?;
        }
        EventKind::IpiRaise { cpus, .. } => {
            let bytes: Vec<u8> = cpus
                .iter()
                .filter(|cpu| *cpu < 64)
                .fold(0, |all, cpu| all | 1u64 << cpu)
                .to_le_bytes()
                .into();
            let bytes: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
            if !line.fields.starts_with(&format!("target_cpus=ARRAY[{}]", bytes.join(", "))) {
                return Err(format!("CPUs {cpus} in {line:?}"));
            }
        }
        EventKind::SchedWakeIdleWithoutIpi { cpu } | EventKind::IpiSendCpu { cpu } => {
            check("cpu", cpu.into())?
        }
        EventKind::IrqEntry { irq } => {
            check("irq", irq.into())?;
            let name = events.irq_name(irq).unwrap_or("");
            if !line.fields.ends_with(&format!("name={name}")) {
                return Err(format!("irq name {name:?} in {line:?}"));
            }
        }
        EventKind::IrqExit { irq } => check("irq", irq.into())?,
        EventKind::SoftirqEntry { vec }
        | EventKind::SoftirqExit { vec }
        | EventKind::SoftirqRaise { vec } => {
            check("vec", vec.into())?;
        }
        EventKind::HrtimerStart { hrtimer, function, expires, softexpires, mode, was_armed } => {
            check("hrtimer", hrtimer.into())?;
            check("expires", expires.into())?;
            check("softexpires", softexpires.into())?;
            address("function", function)?;
            if line.text("mode").is_some() {
                check("mode", mode.0.into())?;
            }
            if let Some(armed) = was_armed {
                check("was_armed", armed.into())?;
            }
        }
        EventKind::HrtimerCancel { hrtimer } | EventKind::HrtimerExpireExit { hrtimer } => {
            check("hrtimer", hrtimer.into())?;
        }
        EventKind::HrtimerExpireEntry { hrtimer, function, now } => {
            check("hrtimer", hrtimer.into())?;
            check("now", now.into())?;
            address("function", function)?;
        }
        EventKind::TimerStart { timer, function, expires, bucket_expiry, now, flags } => {
            check("timer", timer.into())?;
            check("expires", expires.into())?;
            check("now", now.into())?;
            address("function", function)?;
            if let Some(bucket) = bucket_expiry {
                check("bucket_expiry", bucket.into())?;
            }
            if line.text("flags").is_some() {
                check("flags", flags.0.into())?;
            }
        }
        EventKind::TimerCancel { timer } | EventKind::TimerExpireExit { timer } => {
            check("timer", timer.into())?
        }
        EventKind::TimerExpireEntry { timer, function, now } => {
            check("timer", timer.into())?;
            check("now", now.into())?;
            address("function", function)?;
        }
        EventKind::TimerBaseIdle { is_idle, cpu } => {
            check("is_idle", is_idle.into())?;
            check("cpu", cpu.into())?;
        }
        EventKind::TickStop { success, dependency } => {
            check("success", success.into())?;
            if line.text("dependency").is_some() {
                check("dependency", dependency.into())?;
            }
        }
        EventKind::GuestHaltPollNs { grow, new, old } => {
            check("grow", grow.into())?;
            check("new", new.into())?;
            check("old", old.into())?;
        }
        EventKind::IpiEntry { ipi } | EventKind::IpiExit { ipi } => {
            let reason = line.fields.split_once("reason=").map_or("", |r| r.1.trim());
            // An address may stand for any text.
            if reason.starts_with("0x") {
                return Ok(n);
            }
            let expected = match reason {
                "Rescheduling interrupts" => Ipi::Reschedule,
                "Function call interrupts" => Ipi::CallFunction,
                "Timer broadcast interrupts" => Ipi::TimerBroadcast,
                "IRQ work interrupts" => Ipi::IrqWork,
                _ => Ipi::Other,
            };
            if ipi != expected {
                return Err(format!("{ipi:?} in {line:?}"));
            }
            n += 1;
        }
        EventKind::PmQosUpdateTarget { prev_value, curr_value } => {
            check("prev_value", prev_value.into())?;
            check("curr_value", curr_value.into())?;
        }
        _ => {}
    }
    Ok(n)
}
