// SPDX-License-Identifier: GPL-2.0-only
//! A counter-example as a story: the machine, then the idle periods with both governors' choices.

use idlewise_counterexample::{Choice, Counterexample, Found, StoryRow};
use idlewise_report::{Line, Report, Table, duration, number, signed};

use crate::corpus::many;

/// The verdict, the machine's states, the story.
#[must_use]
pub fn counterexample(c: &Counterexample) -> Report {
    let mut out = Report { data: Some(idlewise_data::counterexample(c)), ..Report::default() };
    let Some(found) = &c.found else {
        let (by, unit) = (number(c.by), unit(c));
        out.preamble.push(Line::plain(format!(
            "no sequence found on which {} is worse than {} by {by} {unit} in {}",
            c.a, c.b, c.label
        )));
        out.preamble.push(Line::plain(format!("{} sequences tried; that proves nothing", c.tried)));
        return out;
    };
    let round = many(found.idle_periods / found.times.max(1), "idle period");
    let rounds =
        if found.times > 1 { format!(" over {} rounds together", found.times) } else { String::new() };
    out.preamble.push(Line::plain(format!(
        "{} is worse than {} by {} {} in {}{rounds}: {round} on {}",
        c.a,
        c.b,
        signed(found.worse, 1).trim_start_matches('+'),
        unit(c),
        c.label.trim_end_matches(" %"),
        found.machine.id
    )));
    out.preamble.push(Line::plain(format!(
        "{}: {}, {}: {}; made minimal from {} ({} tried)",
        c.a,
        value(found, found.a),
        c.b,
        value(found, found.b),
        found.source,
        c.tried
    )));
    out.tables.push(states(found));
    out.tables.push(rows(c, found));
    if found.story.iter().all(|row| (&row.a.chosen, &row.a.tick) == (&row.b.chosen, &row.b.tick)) {
        let why = "both choose the same here; what differs is what the idle loop itself takes for a choice";
        out.footer.push(Line::new("note", why));
    }
    out.footer.push(Line::new("energy", &found.machine.energy_basis));
    out.footer.push(Line::new("open loop", "a late wakeup delays nothing; --tape FILE writes it for replay"));
    out
}

fn unit(c: &Counterexample) -> &'static str {
    if c.label.ends_with('%') { "percentage points" } else { "%" }
}

fn value(found: &Found, v: f64) -> String {
    if found.unit == "ns" {
        duration(v)
    } else {
        format!("{} {}", number(v), found.unit).trim_end().to_owned()
    }
}

fn table(title: String, head: &[&str]) -> Table {
    let mut t = Table::new(title, head.iter().map(|h| (*h).to_owned()).collect());
    t.text_columns = head.len();
    t
}

fn states(found: &Found) -> Table {
    let m = &found.machine;
    let title = format!("the machine: {}, {}, HZ {}", m.id, m.cluster, m.hz);
    let mut t = table(title, &["state", "target residency", "exit latency"]);
    t.text_columns = 1;
    for (i, s) in m.states.iter().enumerate() {
        let times = [s.target_residency_ns, s.exit_latency_ns].map(|ns| exact(ns.unsigned_abs()));
        t.rows.push([format!("{i} {}", s.name)].into_iter().chain(times).collect());
    }
    t
}

/// A column of a story: its head, and a row's cell.
type Column<'c> = (String, Box<dyn Fn(&StoryRow) -> String + 'c>);

/// Columns that say nothing are left out.
fn rows(c: &Counterexample, found: &Found) -> Table {
    let energy = |choice: &Choice| format!("{} {}", number(choice.energy), found.machine.energy_unit);
    let words = |c: &Choice| match c.chosen.as_str() {
        // The idle period was over while a deep state before it was being left.
        "" => "-".to_owned(),
        chosen => format!("{chosen}, {}", c.tick),
    };
    let own = |of: fn(&StoryRow) -> &Choice| move |r: &StoryRow| words(of(r));
    let all: Vec<Column<'_>> = vec![
        ("times".to_owned(), Box::new(|r| if r.times == 1 { String::new() } else { r.times.to_string() })),
        ("busy".to_owned(), Box::new(|r| exact(r.busy_ns))),
        ("timer in".to_owned(), Box::new(|r| r.timer_ns.map_or_else(|| "never".to_owned(), exact))),
        (
            "woken after".to_owned(),
            Box::new(|r| if r.by_timer { "timer".to_owned() } else { exact(r.woken_ns) }),
        ),
        ("util".to_owned(), Box::new(|r| nonzero(r.util))),
        ("I/O".to_owned(), Box::new(|r| nonzero(r.iowait))),
        (c.a.clone(), Box::new(own(|r| &r.a))),
        ("energy".to_owned(), Box::new(move |r| energy(&r.a))),
        (c.b.clone(), Box::new(own(|r| &r.b))),
        ("energy".to_owned(), Box::new(move |r| energy(&r.b))),
    ];
    let used: Vec<&Column<'_>> =
        all.iter().filter(|(_, cell)| found.story.iter().any(|r| !cell(r).is_empty())).collect();
    let heads: Vec<&str> = used.iter().map(|(head, _)| head.as_str()).collect();
    let title = match found.times {
        1 => "the idle periods, from a fresh start: state and tick".to_owned(),
        n => format!("the idle periods, {n} times over, the last round: state and tick"),
    };
    let mut t = table(title, &heads);
    t.rows = found.story.iter().map(|r| used.iter().map(|(_, cell)| cell(r)).collect()).collect();
    t
}

fn nonzero(n: u16) -> String {
    if n == 0 { String::new() } else { n.to_string() }
}

/// A time with all its digits.
fn exact(ns: u64) -> String {
    match ns {
        _ if ns != 0 && ns.is_multiple_of(1_000_000_000) => format!("{} s", ns / 1_000_000_000),
        _ if ns != 0 && ns.is_multiple_of(1_000_000) => format!("{} ms", ns / 1_000_000),
        _ if ns != 0 && ns.is_multiple_of(1000) => format!("{} us", ns / 1000),
        _ if ns < 100_000 => format!("{ns} ns"),
        // As short as it is exact.
        _ => format!("{} us", ns as f64 / 1000.0),
    }
}
