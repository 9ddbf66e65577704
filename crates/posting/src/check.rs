// SPDX-License-Identifier: GPL-2.0-only
//! What `idlewise check` found: the properties, then a story for each violation.

use std::collections::BTreeMap;
use std::path::Path;

use idlewise_check::{CheckReport, RowEnd, RowTick, StoryRow, Verdict, Violation};
use idlewise_report::{Line, Report, Table};

/// The verdicts in a table, then for each violation the machine and the idle periods that lead to it, in the columns of stories
/// (tests/stories/README.md).
#[must_use]
pub fn check(r: &CheckReport) -> Report {
    let mut out = Report { data: Some(idlewise_data::check(r)), ..Report::default() };
    let violated = r.properties.iter().filter(|p| p.verdict == Verdict::Violated).count();
    let verdict = match violated {
        0 => "no violation found".to_owned(),
        n => format!("violates {n} of {} properties", r.properties.len()),
    };
    out.preamble.push(Line::plain(format!("{}: {verdict}", r.governor)));
    out.preamble.push(Line::plain(format!(
        "{} decisions on {} made machines, seed {}",
        r.decisions, r.machines, r.seed
    )));
    out.tables.push(properties(r));
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for p in r.properties.iter().filter(|p| p.verdict == Verdict::NotChecked) {
        let Some(why) = &p.why else { unreachable!("{} was not checked, and nobody knows why", p.property) };
        reasons.entry(why).or_default().push(p.property.name());
    }
    out.footer.extend(
        reasons
            .iter()
            .map(|(why, names)| Line::new("note", format!("not checked: {}: {why}", names.join(", ")))),
    );
    for finding in &r.findings {
        out.tables.extend(story(finding));
    }
    if r.kunit.is_some() {
        out.footer.push(Line::new(
            "kernel",
            "--kunit FILE writes a patch that adds a KUnit test of this to a kernel tree",
        ));
    }
    out
}

/// What to know of the file that has the KUnit test: how a kernel runs it. One on standard output is not there to be applied.
#[must_use]
pub fn kunit_written(file: &Path, is_stdout: bool) -> Vec<String> {
    let file = file.display();
    let mut out = vec![format!("KUnit test: {file}")];
    if !is_stdout {
        out.extend([
            format!("apply it: git -C TREE apply $(realpath {file})"),
            "run it: idlewise boot overlay TREE, then idlewise boot self-test --kernel-tree TREE".to_owned(),
            "or build TREE with CONFIG_KUNIT=y and CONFIG_CPU_IDLE=y, and boot it with kunit.enable=1"
                .to_owned(),
        ]);
    }
    out
}

fn properties(r: &CheckReport) -> Table {
    let mut t = table("", &["property", "verdict", "what it asks for"]);
    for p in &r.properties {
        let verdict = match p.verdict {
            Verdict::Held => "held",
            Verdict::Violated => "VIOLATED",
            Verdict::NotChecked => "not checked",
        };
        t.rows.push(vec![p.property.name().to_owned(), verdict.to_owned(), p.requirement.to_owned()]);
    }
    t
}

fn table(title: &str, head: &[&str]) -> Table {
    let mut t = Table::new(title, head.iter().map(|h| (*h).to_owned()).collect());
    t.text_columns = head.len();
    t
}

fn story(finding: &Violation) -> Vec<Table> {
    let place = finding.place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
    let title = format!("== {}: {place}{}", finding.property, finding.what);
    let machine = &finding.machine;
    let mut states = table(
        &format!("the machine: {}, HZ {}", machine.name, machine.hz),
        &["state", "target residency", "exit latency"],
    );
    states.text_columns = 1;
    for (i, s) in machine.states.iter().enumerate() {
        let times = [s.target_residency_ns, s.exit_latency_ns].map(exact);
        states.rows.push([format!("{i} {}", s.name)].into_iter().chain(times).collect());
    }
    let mut out = vec![Table::new(title, Vec::new()), states];
    if finding.story.is_empty() {
        out.push(Table::new("at the start, before the first idle period", Vec::new()));
    } else {
        out.push(rows(&finding.story));
    }
    out
}

/// A column of a story: its head, and a row's cell.
type Column = (&'static str, fn(&StoryRow) -> String);

/// Those that say nothing in a story are left out of it.
const COLUMNS: [Column; 13] = [
    ("times", |r| if r.times == 1 { String::new() } else { r.times.to_string() }),
    ("CPU", |r| if r.cpu == 0 { String::new() } else { r.cpu.to_string() }),
    ("timer in", |r| r.timer_ns.map_or_else(|| "never".to_owned(), exact)),
    ("woken after", woken),
    ("tick in", |r| r.tick_in_ns.map_or_else(String::new, exact)),
    ("util", |r| number(r.util)),
    ("I/O", |r| number(r.iowait)),
    ("random", |r| number(r.random)),
    ("limit", |r| r.limit_ns.map_or_else(String::new, exact)),
    ("disabled", |r| r.disabled.join(" ")),
    ("then", |r| if r.idle_again { "idle again" } else { "" }.to_owned()),
    ("chosen", |r| match (&r.chosen, r.state) {
        (Some(name), _) => name.clone(),
        (None, Some(state)) => format!("{state}, no state"),
        (None, None) => "does not return".to_owned(),
    }),
    ("tick", |r| {
        match r.tick {
            RowTick::Keep => "keep",
            RowTick::Stop => "stop",
            RowTick::IsOff => "is off",
            RowTick::None => "",
        }
        .to_owned()
    }),
];

fn rows(story: &[StoryRow]) -> Table {
    let columns: Vec<&Column> =
        COLUMNS.iter().filter(|(_, cell)| story.iter().any(|row| !cell(row).is_empty())).collect();
    let heads: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    let mut t = table("the idle periods, from a fresh start", &heads);
    t.rows = story.iter().map(|row| columns.iter().map(|(_, cell)| cell(row)).collect()).collect();
    t
}

fn woken(row: &StoryRow) -> String {
    let after = row.woken_ns.and_then(|ns| i64::try_from(ns).ok()).map_or_else(String::new, exact);
    match row.end {
        RowEnd::Interrupt => after,
        RowEnd::Tick => format!("{after} (tick)"),
        RowEnd::PollLimit => format!("{after} (poll limit)"),
        RowEnd::Rejected => "refused".to_owned(),
        RowEnd::Aborted => "rescheduled".to_owned(),
        RowEnd::None => String::new(),
    }
}

fn number(n: u32) -> String {
    if n == 0 { String::new() } else { n.to_string() }
}

/// A time with all its digits.
fn exact(ns: i64) -> String {
    match ns {
        _ if ns % 1_000_000_000 == 0 && ns != 0 => format!("{} s", ns / 1_000_000_000),
        _ if ns % 1_000_000 == 0 && ns != 0 => format!("{} ms", ns / 1_000_000),
        _ if ns % 1000 == 0 && ns != 0 => format!("{} us", ns / 1000),
        _ if ns.abs() < 100_000 => format!("{ns} ns"),
        // As short as it is exact.
        _ => format!("{} us", ns as f64 / 1000.0),
    }
}
