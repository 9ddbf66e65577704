// SPDX-License-Identifier: GPL-2.0-only
//! What `turbostat` prints: a row for each CPU and one for all, time after time.

use std::collections::BTreeSet;

use crate::idle_log::{IdleLog, LoggedInterval, LoggedState, decimal, percent};
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
    let mut lengths = Vec::new();
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
            lengths.extend(decimal(seconds).filter(|s| *s > 0.0));
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
            let now = get("Time_Of_Day_Seconds").and_then(decimal);
            interval.seconds = now.zip(clock_s).map(|(now, before)| now - before).filter(|s| *s > 0.0);
            clock_s = now;
            interval.others = columns.others(&cells);
        }
        interval.add(cpu, columns.states.iter().map(|name| state(name, get)).collect());
    }
    log.timed(&lengths);
    log.leave_out_the_end();
    log.partial = log.intervals.iter().any(|i| !shows_all(i));
    log.some()
}

/// Whether the idle states that an interval shows and the time at work are about all of its time, % of which it has.
fn shows_all(interval: &LoggedInterval) -> bool {
    const ALMOST_ALL: f64 = 90.0;
    let busy = interval.others.iter().find(|(name, _)| ["Busy%", "%Busy"].contains(&name.as_str()));
    let idle: Option<f64> = interval.all().iter().map(|s| s.time_pct).sum();
    idle.is_none_or(|idle| idle + busy.map_or(0.0, |(_, busy)| *busy) >= ALMOST_ALL)
}

/// The text with the lines of tables joined that a mailer broke; nothing where none is broken. A line goes on in the next one
/// where the next one's first word would not have fitted on it.
///
/// # Errors
/// Rows that are joined so do not fit the columns: what is wrong with them.
pub(crate) fn joined(text: &str) -> Result<Option<String>, String> {
    let lines: Vec<Vec<&str>> =
        text.lines().map(|l| l.trim_start_matches(['>', ' ']).split_whitespace().collect()).collect();
    let wide = |line: &str| line.chars().fold(0, |at, c| if c == '\t' { at / 8 * 8 + 8 } else { at + 1 });
    let widths: Vec<usize> = text.lines().map(|l| wide(l.trim_end())).collect();
    let heads: Vec<bool> = lines.iter().map(|cells| !cells.is_empty() && cells.iter().all(is_name)).collect();
    let rows: Vec<bool> = lines.iter().map(|cells| !cells.is_empty() && cells.iter().all(is_value)).collect();
    let same = |of: &[bool], at: usize| of.get(at) == Some(&true) && of.get(at + 1) == Some(&true);
    let limit = (0..lines.len())
        .filter(|at| same(&heads, *at) || same(&rows, *at))
        .filter_map(|at| widths.get(at))
        .max();
    let goes_on = |at: usize| {
        let next = lines.get(at + 1).and_then(|cells| cells.first());
        let width = widths.get(at).zip(next).map(|(width, next)| width + 1 + next.len());
        width.zip(limit).is_some_and(|(width, limit)| width > *limit)
    };
    let mut out = String::new();
    let (mut columns, mut broken) = (None, false);
    let mut at = 0;
    while let Some(first) = lines.get(at) {
        let mut cells = first.clone();
        let of = if heads.get(at) == Some(&true) { &heads } else { &rows };
        let is_head = heads.get(at) == Some(&true);
        let full = |cells: &[&str]| !is_head && columns.is_none_or(|n| cells.len() >= n);
        while same(of, at) && goes_on(at) && !full(&cells) {
            at += 1;
            cells.extend(lines.get(at).into_iter().flatten());
        }
        at += 1;
        if is_head && cells.iter().any(|c| ALWAYS.contains(c)) {
            // The line above an unbroken header is prose.
            let last = at.checked_sub(1).and_then(|at| lines.get(at)).map(Vec::len);
            let fits = rows.get(at) == Some(&true) && lines.get(at).map(Vec::len) == last;
            columns = Some(cells.len()).filter(|n| *n > first.len() && !fits);
            broken |= columns.is_some();
        } else if let Some(columns) = columns.filter(|n| !is_head && cells.len() > *n) {
            return Err(format!(
                "the lines of turbostat's table are broken, and a row of {} values does not fit {columns} columns",
                cells.len()
            ));
        }
        out.push_str(&cells.join(" "));
        out.push('\n');
    }
    Ok(broken.then_some(out))
}

/// Whether a cell may be the name of a column.
fn is_name(cell: &&str) -> bool {
    cell.starts_with(|c: char| c.is_ascii_alphabetic() || c == '%')
}

/// Whether a cell may be a value of a row.
fn is_value(cell: &&str) -> bool {
    *cell == "-" || decimal(cell).is_some() || cell.starts_with("0x") || cell.contains("***")
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
        !cells.is_empty() && cells.len() <= self.names.len() && cells.iter().all(is_value)
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
        let value = |(name, cell): (&String, &&str)| Some((name.clone(), decimal(cell)?));
        others.filter_map(value).collect()
    }
}
