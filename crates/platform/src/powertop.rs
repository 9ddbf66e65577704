// SPDX-License-Identifier: GPL-2.0-only
//! What `powertop --csv` writes of idle states.

use crate::idle_log::{IdleLog, LoggedInterval, LoggedState, percent};
use crate::sysfs_line::STATES_MAX;

/// Reads the tables of CPUs under "Processor Idle State Report": the share of time in each state. A row has a state's
/// name, then a share for each CPU with the mean time of an idle period beside it, which is left out.
pub(crate) fn parse(text: &str) -> Option<IdleLog> {
    let mut log = IdleLog::new("powertop");
    let mut inside = false;
    let mut cpus: Vec<u32> = Vec::new();
    for line in text.lines() {
        let title = line.trim().trim_matches(['*', ' ', '_']);
        if title.eq_ignore_ascii_case("Processor Idle State Report") {
            (inside, cpus) = (true, Vec::new());
            log.intervals.push(LoggedInterval::default());
            continue;
        }
        // Another section.
        inside &= !(line.contains("*  *  *") || line.trim_start().starts_with("**"));
        if !inside {
            continue;
        }
        let cells: Vec<&str> = line.split(';').map(str::trim).collect();
        let numbers: Vec<u32> =
            cells.iter().filter_map(|c| c.strip_prefix("CPU")?.trim().parse().ok()).collect();
        if !numbers.is_empty() {
            cpus = numbers;
            continue;
        }
        // Tables of packages and cores are the hardware's.
        if ["Package", "Core"].iter().any(|t| cells.iter().any(|c| c.starts_with(t))) {
            cpus.clear();
            continue;
        }
        let mut filled = cells.iter().filter(|c| !c.is_empty());
        let (Some(name), Some(interval)) = (filled.next(), log.intervals.last_mut()) else { continue };
        let shares: Vec<f64> = filled.filter(|c| c.ends_with('%')).filter_map(|c| percent(c)).collect();
        // "C0 active" is work.
        if shares.len() != cpus.len() || name.starts_with("C0") {
            continue;
        }
        for (cpu, share) in cpus.iter().zip(shares) {
            let states = interval.cpus.entry(Some(*cpu)).or_default();
            if states.len() < STATES_MAX && !states.iter().any(|s| s.name == **name) {
                states.push(LoggedState { time_pct: Some(share), ..LoggedState::named(name) });
            }
        }
    }
    log.some()
}
