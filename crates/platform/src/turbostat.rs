// SPDX-License-Identifier: GPL-2.0-only
//! What `turbostat` prints: a row for each CPU and one for all, time after time.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::dump_origin::Around;
use crate::idle_log::{IdleLog, LoggedState, decimal, percent};
use crate::sysfs_line::STATES_MAX;

/// Columns that say which CPU a row is of.
const TOPOLOGY: [&str; 9] = ["Package", "Die", "L3", "Node", "Core", "CPU", "APIC", "X2APIC", "Mod"];
/// Of these there is always one, whatever is hidden.
const ALWAYS: [&str; 6] = ["Avg_MHz", "Busy%", "%Busy", "Bzy_MHz", "TSC_MHz", "CPU"];
/// Shares of time that are no idle state's; nor are `PKG_%` and `RAM_%`, during which a limit of power held.
const NO_STATES: [&str; 3] = ["Busy", "CPUGFX", "Sched"];

/// The share of time at work, in new versions and in old ones.
const BUSY: [&str; 2] = ["Busy%", "%Busy"];
/// Columns behind those of states, in turbostat's order of some version: where a tab is missing between two, they look like one.
const BEHIND: [&str; 34] = [
    "CPU%c1", "CPU%c3", "CPU%c6", "CPU%c7", "Mod%c6", "CoreTmp", "CoreThr", "PkgTmp", "GFX%rc6", "GFXMHz",
    "GFXAMHz", "SAM%mc6", "SAMMHz", "Totl%C0", "Any%C0", "GFX%C0", "CPUGFX%", "Pkg%pc2", "Pkg%pc3",
    "Pkg%pc6", "Pkg%pc7", "Pkg%pc8", "Pkg%pc9", "Pk%pc10", "CPU%LPI", "SYS%LPI", "PkgWatt", "CorWatt",
    "GFXWatt", "RAMWatt", "Pkg_J", "Cor_J", "PKG_%", "RAM_%",
];

/// What the columns are.
struct Columns {
    names: Vec<String>,
    /// By state, in turbostat's order.
    states: Vec<String>,
    /// Those of an entry count, and how many columns there are up to the last one of a state.
    counts: Vec<usize>,
    needed: usize,
}

/// What cells are under columns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    /// Something else than a row of this table.
    None,
    /// A row, with all columns of states.
    Whole,
    /// A row whose cells cannot be the columns'.
    Damaged,
}

/// Reads a log, of one interval or of several, with rows of CPUs or with summaries alone. The columns of idle states are
/// the kernel's counts: `C1` the entries, `C1%` the share of time, `C1-` those that were too deep (above), `C1+` those
/// too shallow (below). All other columns of the row of all CPUs are kept as they are: hardware's residencies
/// (`CPU%c6`), powers, clocks.
pub(crate) fn parse(text: &str) -> Option<IdleLog> {
    let mut log = IdleLog::new("turbostat");
    let mut columns: Option<Columns> = None;
    let mut around = Around::default();
    let mut clock_s: Option<f64> = None;
    let mut lengths = Vec::new();
    // How many cells the rows under these columns have.
    let mut widths = BTreeSet::new();
    let mut rest = text.lines().peekable();
    while let Some(line) = rest.next() {
        let mut words: Vec<&str> = line.trim_start_matches(['>', ' ']).split_whitespace().collect();
        // A row that somebody gave a name.
        if words.first().is_some_and(|w| w.ends_with(':') && is_name(w)) && words.len() > 1 {
            words.remove(0);
        }
        if let Some(found) = Columns::of(&words) {
            widths = BTreeSet::from([found.names.len()]);
            columns = Some(found);
            log.begin(&around.origin.host);
            continue;
        }
        if let [seconds, "sec"] = words.as_slice() {
            lengths.extend(decimal(seconds).filter(|s| *s > 0.0));
            continue;
        }
        let cells: Vec<&str> = words.iter().flat_map(|word| values_of(word)).collect();
        let row = columns.as_ref().map(|c| (c, c.row(&cells))).filter(|(_, row)| *row != Row::None);
        let Some((columns, row)) = row else {
            around.hear(line);
            log.foreign_lines += usize::from(!words.is_empty());
            continue;
        };
        let is_last = rest.peek().is_none() && !text.ends_with('\n');
        if is_last && !widths.contains(&cells.len()) && cells.len() < columns.names.len() {
            log.cut_off = true;
            continue;
        }
        if row == Row::Damaged {
            log.damaged_rows += 1;
            continue;
        }
        widths.insert(cells.len());
        if columns.is_one_of_unnamed(&cells) {
            continue;
        }
        let get =
            |name: &str| columns.names.iter().position(|n| n == name).and_then(|at| cells.get(at).copied());
        let cpu = get("CPU").and_then(|c| c.parse::<u32>().ok());
        if log.intervals.last().is_none_or(|i| i.cpus.contains_key(&cpu)) {
            log.begin(&around.origin.host);
        }
        let Some(interval) = log.intervals.last_mut() else { continue };
        if cpu.is_none() {
            let now = get("Time_Of_Day_Seconds").and_then(decimal);
            interval.seconds = now.zip(clock_s).map(|(now, before)| now - before).filter(|s| *s > 0.0);
            clock_s = now;
            interval.others = columns.others(&cells);
        }
        let states: Vec<LoggedState> = columns.states.iter().map(|name| state(name, get)).collect();
        let busy = BUSY.iter().find_map(|name| get(name)).and_then(decimal);
        log.partial |= !shows_all(&states, busy);
        interval.add(cpu, states);
    }
    log.timed(&lengths);
    log.leave_out_the_end();
    log.leave_out_all_of_more();
    log.some()
}

/// Whether the idle states of a row and the time at work are about all of its time, % of which it has.
fn shows_all(states: &[LoggedState], busy: Option<f64>) -> bool {
    const ALMOST_ALL: f64 = 90.0;
    let idle: Option<f64> = states.iter().map(|s| s.time_pct).sum();
    idle.is_none_or(|idle| busy.map_or(idle, |busy| idle + busy) >= ALMOST_ALL)
}

/// The values of a word: some versions of turbostat lack a tab, so that two make one. A number has two places then, or is a
/// 0 that others follow.
fn values_of(word: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = word;
    loop {
        let zero = rest.len() > 1 && rest.starts_with('0') && rest.bytes().all(|b| b.is_ascii_digit());
        let point = rest.find('.').filter(|_| rest.matches('.').count() > 1);
        let length = if zero { Some(1) } else { point.map(|at| at + 3) };
        let Some((value, behind)) = length.and_then(|n| rest.split_at_checked(n)) else { break };
        if decimal(value).is_none() || decimal(behind.split('.').next().unwrap_or(behind)).is_none() {
            return vec![word];
        }
        out.push(value);
        rest = behind;
    }
    out.push(rest);
    out
}

/// The text with the lines of tables joined that a mailer broke; nothing where none is broken. A line goes on in the next one
/// where the next one's first word would not have fitted on it.
///
/// # Errors
/// Rows that are joined so do not fit the columns: what is wrong with them.
pub(crate) fn joined(text: &str) -> Result<Option<String>, String> {
    let lines: Vec<Vec<&str>> =
        text.lines().map(|l| l.trim_start_matches(['>', ' ']).split_whitespace().collect()).collect();
    if let Some(joined) = paragraphs(&lines) {
        return Ok(Some(joined));
    }
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
        // A few cells behind many that are not all are the end of their row, however wide the blanks were that the mailer took away.
        let ends = |cells: &[&str], at: usize| {
            let next = lines.get(at + 1).map_or(usize::MAX, Vec::len);
            columns.is_some_and(|n| cells.len().saturating_add(next) <= n && next <= cells.len() / 2)
        };
        while same(of, at) && (goes_on(at) || ends(&cells, at)) && !full(&cells) {
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

/// The text with the lines joined of a table that is broken at no width: a header of several lines, and rows of as many cells.
fn paragraphs(lines: &[Vec<&str>]) -> Option<String> {
    let is_head = |cells: &Vec<&str>| !cells.is_empty() && cells.iter().all(is_name);
    let is_values = |cells: &Vec<&str>| !cells.is_empty() && cells.iter().all(is_value);
    let mut out = String::new();
    let mut write = |cells: &[&str]| out.extend([&cells.join(" "), "\n"]);
    let mut columns = None;
    let mut rest = lines;
    while let Some(first) = rest.first() {
        let heads = rest.iter().take_while(|cells| is_head(cells)).count();
        let values = rest.iter().take_while(|cells| is_values(cells)).count();
        let (block, behind) = rest.split_at(heads.max(values).max(1));
        rest = behind;
        let next = behind.iter().find(|cells| !cells.is_empty());
        // What is above an unbroken header is prose.
        let alone = block
            .last()
            .is_some_and(|last| Columns::of(last).is_some() && next.map(Vec::len) == Some(last.len()));
        if values > 0
            && let Some(columns) = columns
        {
            let mut row: Vec<&str> = Vec::new();
            for cells in block {
                row.extend(cells);
                match row.len().cmp(&columns) {
                    Ordering::Less => {}
                    Ordering::Equal => write(&std::mem::take(&mut row)),
                    Ordering::Greater => return None,
                }
            }
            if !row.is_empty() {
                return None;
            }
        } else if heads > 1 && !alone && Columns::of(&block.concat()).is_some() {
            let head = block.concat();
            columns = Some(head.len());
            write(&head);
        } else {
            columns = columns.filter(|_| Columns::of(first).is_none());
            block.iter().for_each(|cells| write(cells));
        }
    }
    columns.map(|_| out)
}

/// The columns that a word of a header names.
fn names_of(word: &str) -> Vec<&str> {
    let both = |name: &&str| word.strip_prefix(*name).is_some_and(|rest| BEHIND.contains(&rest));
    let first = BEHIND.iter().find(|name| both(name)).map_or(0, |name| name.len());
    let (first, rest) = word.split_at(first);
    if first.is_empty() { vec![word] } else { vec![first, rest] }
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
        if states.is_empty() || states.len() > STATES_MAX {
            return None;
        }
        let names: Vec<String> = cells.iter().flat_map(|c| names_of(c)).map(str::to_owned).collect();
        let is_of = |name: &String| states.iter().any(|s| s == name.trim_end_matches(['%', '+', '-']));
        let needed = names.iter().rposition(is_of).map_or(0, |at| at + 1);
        let counts = names.iter().enumerate().filter(|(_, name)| states.contains(name)).map(|(at, _)| at);
        Some(Self { counts: counts.collect(), names, states, needed })
    }

    /// What cells under these names are. Rows of a core's second thread end early, behind the states: those are counted by thread.
    fn row(&self, cells: &[&str]) -> Row {
        let shown = cells.get(..self.needed.min(cells.len())).unwrap_or(cells);
        let values = shown.iter().filter(|cell| is_value(cell)).count();
        if !shown.first().is_some_and(is_value) || 2 * values < self.needed {
            return Row::None;
        }
        let is_count = |at: &usize| cells.get(*at).is_some_and(|cell| !cell.contains(['.', ',']));
        let fits =
            cells.len() <= self.names.len() && values == self.needed && self.counts.iter().all(is_count);
        if fits { Row::Whole } else { Row::Damaged }
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
