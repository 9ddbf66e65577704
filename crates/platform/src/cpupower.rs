// SPDX-License-Identifier: GPL-2.0-only
//! What `cpupower idle-info` and `cpupower monitor` print.

use std::collections::BTreeMap;

use crate::dump_origin::Around;
use crate::idle_log::{IdleLog, LoggedInterval, LoggedState, decimal, percent};
use crate::sysfs_line::STATES_MAX;
use crate::{DamagedValue, SysfsDump};

/// Reads `cpupower idle-info`, of one CPU or of several (`-c all`), quoted in a mail or not; nothing where the text is
/// something else. A CPU that is there again begins a new snapshot, and so does another call. Versions before 6.17 do not print residencies; above,
/// below and rejected none does.
pub(crate) fn idle_info<'a>(text: &'a str, name: &str) -> Option<Vec<SysfsDump>> {
    let mut dumps: Vec<SysfsDump> = Vec::new();
    let mut head = SysfsDump::default();
    let mut around = Around::default();
    // The driver comes first, once for each call.
    let mut called = false;
    // The CPU, and the number of its state.
    let mut at: Option<(Option<u32>, Option<usize>)> = None;
    // Markdown makes captions bold.
    let bare = |line: &'a str| {
        line.trim_start_matches(['>', ' ', '\t', '*']).trim_end_matches(['*', ' ', '\t', '\r'])
    };
    let mut rest = text.lines().map(bare).enumerate();
    while let Some((number, line)) = rest.next() {
        let (key, value) = line.split_once(':').map_or((line, ""), |(key, value)| (key.trim(), value.trim()));
        let key = key.trim_end_matches('*');
        if let Some(cpu) = key.strip_prefix("analyzing CPU ") {
            let cpu = cpu.parse().ok();
            let origin = &around.origin;
            let called = std::mem::take(&mut called);
            if called || dumps.last().is_none_or(|d| d.cpus.contains_key(&cpu) || !d.origin.goes_on(origin)) {
                dumps.push(SysfsDump { origin: origin.clone(), ..head.clone() });
            }
            around.interrupt();
            at = Some((cpu, None));
            continue;
        }
        match key {
            "CPUidle driver" => (head.driver, called) = (Some(value.to_owned()), true),
            "CPUidle governor" => head.governor = Some(value.to_owned()),
            _ => around.hear(line),
        }
        let (Some((cpu, state)), Some(dump)) = (&mut at, dumps.last_mut()) else { continue };
        // Other lines that end with a colon are captions.
        let is_state =
            || rest.clone().find(|(_, l)| !l.is_empty()).is_some_and(|(_, l)| l.starts_with("Flags/"));
        let file = match key {
            "Flags/Description" => "desc",
            "Latency" => "latency",
            "Residency" => "residency",
            "Usage" => "usage",
            "Duration" => "time",
            "Number of idle states" => {
                dump.announced.extend(value.parse().ok().map(|n: usize| (*cpu, n.min(STATES_MAX))));
                continue;
            }
            "" | "Available idle states" | "CPUidle driver" | "CPUidle governor" => continue,
            _ if value.is_empty() && line.ends_with(':') && is_state() => {
                let next = state.map_or(0, |n| n + 1);
                if next >= STATES_MAX {
                    continue;
                }
                *state = Some(next);
                let own = dump.cpus.entry(*cpu).or_default().entry(next).or_default();
                let (name, off) =
                    key.strip_suffix("(DISABLED)").map_or((key, 0), |name| (name.trim_end(), 1));
                (own.name, own.disable) = (Some(name.to_owned()), Some(off));
                continue;
            }
            _ => {
                dump.skipped_lines += 1;
                continue;
            }
        };
        let Some(own) = state.and_then(|n| dump.cpus.get_mut(cpu)?.get_mut(&n)) else { continue };
        if let Err(what) = own.take(file, value) {
            let place = format!("{name}:{}", number + 1);
            dump.damaged.push(DamagedValue { place, what: format!("{key} is {what}") });
        }
    }
    for dump in &mut dumps {
        let lacks = |cpu: &Option<u32>| {
            let shown = dump.cpus.get(cpu).map(BTreeMap::len);
            shown.zip(dump.announced.get(cpu)).is_some_and(|(shown, all)| shown < *all)
        };
        dump.cut = at.as_ref().and_then(|(last, _)| *last).filter(|last| lacks(&Some(*last)));
    }
    dumps.retain(|d| !d.cpus.is_empty());
    (!dumps.is_empty()).then_some(dumps)
}

/// Reads `cpupower monitor` with its `Idle_Stats`: the share of time in each state, by CPU. A table that is there again is
/// another interval.
pub(crate) fn monitor(text: &str) -> Option<IdleLog> {
    let mut log = IdleLog::new("cpupower monitor");
    // The group of the states' columns, their names, and the place of the CPU's column among the first.
    let mut columns: Option<(usize, Vec<String>, Option<usize>)> = None;
    let mut group = None;
    let mut lengths = Vec::new();
    for line in text.lines().map(|l| l.trim_start_matches(['>', ' ', '\t'])) {
        let cells = |group: &str| group.split('|').map(|c| c.trim().to_owned()).collect::<Vec<String>>();
        let groups: Vec<Vec<String>> = line.split("||").map(cells).collect();
        if line.contains("Idle_Stats") {
            let of = |g: &Vec<String>| g.iter().any(|c| c == "Idle_Stats");
            (group, columns) = (groups.iter().position(of), None);
        } else if let Some(group) = group.take() {
            let first = groups.first().cloned().unwrap_or_default();
            let cpu = first.iter().position(|c| c == "CPU");
            let topology = first.iter().filter(|c| ["PKG", "CORE", "CPU", ""].contains(&c.as_str())).count();
            let skip = if group == 0 { topology } else { 0 };
            let names = groups.get(group).map(|g| g.iter().skip(skip).cloned().collect::<Vec<_>>());
            columns =
                names.filter(|n| !n.is_empty() && n.len() < STATES_MAX).map(|names| (group, names, cpu));
            if columns.is_some() {
                log.intervals.push(LoggedInterval::default());
            }
        } else if let Some((group, names, cpu)) = &columns
            && let Some(interval) = log.intervals.last_mut()
            && let Some(values) = groups.get(*group).filter(|_| line.contains('|'))
        {
            let number = cpu.and_then(|at| groups.first()?.get(at)?.parse::<u32>().ok());
            let skip = values.len().saturating_sub(names.len());
            let state = |(name, value): (&String, &String)| LoggedState {
                time_pct: percent(value),
                ..LoggedState::named(name)
            };
            let states = names.iter().zip(values.iter().skip(skip)).map(state).collect();
            interval.add(number, states);
        } else if let Some(seconds) = took(line) {
            lengths.push(seconds);
        } else {
            log.foreign_lines += usize::from(!line.trim().is_empty());
        }
    }
    log.timed(&lengths);
    log.some()
}

/// `COMMAND took 5.00123 seconds and exited with status 0`.
fn took(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once(" took ")?;
    let (seconds, rest) = rest.split_once(' ')?;
    decimal(seconds).filter(|s| rest.starts_with("seconds") && *s > 0.0)
}
