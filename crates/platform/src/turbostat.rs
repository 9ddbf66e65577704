// SPDX-License-Identifier: GPL-2.0-only
//! What `turbostat` prints: a row for each CPU and one for all, time after time.

use std::collections::BTreeSet;

use crate::idle_log::{IdleLog, LoggedInterval, LoggedState, percent};
use crate::sysfs_line::STATES_MAX;

/// Columns that say which CPU a row is of.
const TOPOLOGY: [&str; 9] = ["Package", "Die", "L3", "Node", "Core", "CPU", "APIC", "X2APIC", "Mod"];
/// Of these there is always one, whatever is hidden.
const ALWAYS: [&str; 6] = ["Avg_MHz", "Busy%", "%Busy", "Bzy_MHz", "TSC_MHz", "CPU"];
/// Shares of time that are no idle state's; nor are `PKG_%` and `RAM_%`, during which a limit of power held.
const NO_STATES: [&str; 3] = ["Busy", "CPUGFX", "Sched"];

/// What the columns are.
struct Columns {
    names: Vec<String>,
    /// By state, in turbostat's order.
    states: Vec<String>,
}

/// Reads a log, of one interval or of several, with rows of CPUs or with summaries alone. The columns of idle states are
/// the kernel's counts: `C1` the entries, `C1%` the share of time, `C1-` those that were too deep (above), `C1+` those
/// too shallow (below). All other columns of the row of all CPUs are kept as they are: hardware's residencies
/// (`CPU%c6`), powers, clocks.
pub(crate) fn parse(text: &str) -> Option<IdleLog> {
    let mut log = IdleLog::new("turbostat");
    let mut columns: Option<Columns> = None;
    let mut clock_s: Option<f64> = None;
    let mut command_s: Option<f64> = None;
    // How many cells the rows under these columns have.
    let mut widths = BTreeSet::new();
    let mut rest = text.lines().peekable();
    while let Some(line) = rest.next() {
        let cells: Vec<&str> = line.trim_start_matches(['>', ' ']).split_whitespace().collect();
        if let Some(found) = Columns::of(&cells) {
            widths = BTreeSet::from([found.names.len()]);
            columns = Some(found);
            log.intervals.push(LoggedInterval::default());
            continue;
        }
        if let [seconds, "sec"] = cells.as_slice() {
            command_s = seconds.parse().ok().filter(|s: &f64| s.is_finite() && *s > 0.0);
            continue;
        }
        let Some(columns) = columns.as_ref().filter(|c| c.is_row(&cells)) else {
            log.foreign_lines += usize::from(!cells.is_empty());
            continue;
        };
        let is_last = rest.peek().is_none() && !text.ends_with('\n');
        if is_last && !widths.contains(&cells.len()) {
            log.cut_off = true;
            continue;
        }
        widths.insert(cells.len());
        if columns.is_one_of_unnamed(&cells) {
            continue;
        }
        let get =
            |name: &str| columns.names.iter().position(|n| n == name).and_then(|at| cells.get(at).copied());
        let cpu = get("CPU").and_then(|c| c.parse::<u32>().ok());
        let again = |i: &LoggedInterval| i.cpus.contains_key(&cpu);
        if log.intervals.last().is_none_or(again) {
            log.intervals.push(LoggedInterval::default());
        }
        let Some(interval) = log.intervals.last_mut() else { continue };
        if cpu.is_none() {
            let now: Option<f64> = get("Time_Of_Day_Seconds").and_then(|s| s.parse().ok());
            interval.seconds = now.zip(clock_s).map(|(now, before)| now - before).filter(|s| *s > 0.0);
            clock_s = now;
            interval.others = columns.others(&cells);
        }
        interval.add(cpu, columns.states.iter().map(|name| state(name, get)).collect());
    }
    log.leave_out_the_end();
    if let [only] = log.intervals.as_mut_slice() {
        only.seconds = only.seconds.or(command_s);
    }
    log.some()
}

fn state<'a>(name: &str, get: impl Fn(&str) -> Option<&'a str>) -> LoggedState {
    let count = |column: &str| get(column).and_then(|c| c.parse().ok());
    LoggedState {
        name: name.to_owned(),
        usage: count(name),
        time_pct: get(&format!("{name}%")).and_then(percent),
        above: count(&format!("{name}-")),
        below: count(&format!("{name}+")),
    }
}

impl Columns {
    /// The columns that a line names; nothing where it is something else, or names no idle state.
    fn of(cells: &[&str]) -> Option<Self> {
        let is_name = |c: &&str| c.starts_with(|c: char| c.is_ascii_alphabetic() || c == '%');
        if cells.len() < 2 || !cells.iter().all(is_name) || !cells.iter().any(|c| ALWAYS.contains(c)) {
            return None;
        }
        let is_state = |name: &str| {
            let digit = name.strip_prefix('C').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
            !name.contains('%') && !NO_STATES.contains(&name) && (name == "POLL" || digit)
        };
        let mut states: Vec<String> = Vec::new();
        for cell in cells {
            let name = cell.trim_end_matches(['%', '+', '-']);
            let is_throttling = name.ends_with('_');
            let no_state = name.contains('%') || is_throttling || NO_STATES.contains(&name);
            let share = cell.ends_with('%') && !no_state;
            if (share || is_state(name)) && !states.iter().any(|s| s == name) {
                states.push(name.to_owned());
            }
        }
        let names = cells.iter().map(|c| (*c).to_owned()).collect();
        (!states.is_empty() && states.len() <= STATES_MAX).then_some(Self { names, states })
    }

    /// Whether the cells are numbers under these names: rows of a core's second thread end early.
    fn is_row(&self, cells: &[&str]) -> bool {
        let number =
            |c: &&str| *c == "-" || c.parse::<f64>().is_ok() || c.starts_with("0x") || c.contains("***");
        !cells.is_empty() && cells.len() <= self.names.len() && cells.iter().all(number)
    }

    /// Whether a row is of a CPU whose number is hidden: that of all together has a dash in place of a package or the like.
    fn is_one_of_unnamed(&self, cells: &[&str]) -> bool {
        let of_topology = |(name, _): &(&String, &&str)| TOPOLOGY.contains(&name.as_str());
        let mut places = self.names.iter().zip(cells).filter(of_topology).map(|(_, cell)| *cell).peekable();
        !self.names.iter().any(|name| name == "CPU")
            && places.peek().is_some()
            && places.all(|cell| cell != "-")
    }

    /// What a row has besides states and the place of a CPU.
    fn others(&self, cells: &[&str]) -> Vec<(String, f64)> {
        let of_state = |name: &str| self.states.iter().any(|s| s == name.trim_end_matches(['%', '+', '-']));
        let others = self
            .names
            .iter()
            .zip(cells)
            .filter(|(name, _)| !TOPOLOGY.contains(&name.as_str()) && !of_state(name));
        let value = |(name, cell): (&String, &&str)| {
            Some((name.clone(), cell.parse().ok().filter(|v: &f64| v.is_finite())?))
        };
        others.filter_map(value).collect()
    }
}
