// SPDX-License-Identifier: GPL-2.0-only

use idlewise_data as data;
use idlewise_governor::{OF_AN_OBJECT, Value, Variable};
use idlewise_model::MAX_STATES;
use idlewise_report::{Line, Report, Table, duration, percent};

use crate::compare::waits_words;
use crate::head::{foreign_line, head_lines};
use idlewise_explain::{ExplainReport, Moment, WhyDiffer};
use idlewise_explain::{Explanation, IdleOutcome, InputValue, Other, Unit};

/// Times from here on are the kernel's ways to say never, ns: 36 years.
const NEVER_NS: i128 = 1 << 60;

/// One explained decision as lines and tables.
#[must_use]
pub fn explain(r: &ExplainReport) -> Report {
    let mut out = Report { data: Some(data::explain(r)), ..Report::default() };
    match &r.head {
        Some(head) => out.preamble.extend(head_lines(head)),
        None => out.preamble.push(Line::new("source", &r.source)),
    }
    out.preamble.extend(r.foreign.iter().map(foreign_line));
    let e = &r.explanation;
    out.preamble.push(Line::new("decision", decision_words(e)));
    out.tables = vec![states_table(e), inputs_table(&[e])];
    out.tables.extend(side_tables(e));
    if !e.others.is_empty() {
        out.tables.push(others_table(e));
    }
    if let Some(recorded) = &r.recorded {
        let found = if (recorded.state, recorded.stop_tick) != (e.chosen.state, e.chosen.stop_tick) {
            "NOT the same"
        } else if recorded.asked_sleep_length != e.chosen.asked_sleep_length {
            "the same choice, but only one of them asked for the sleep length"
        } else {
            "the same"
        };
        let words = chosen_words(e, recorded.state, recorded.stop_tick, recorded.asked_sleep_length);
        out.footer.push(Line::new("recorded", format!("{words}: {found}")));
    }
    out
}

/// Where two governors part.
#[must_use]
pub fn why_differ(r: &WhyDiffer) -> Report {
    let [a, b] = &r.governors;
    let mut out =
        Report { preamble: head_lines(&r.head), data: Some(data::why_differ(r)), ..Report::default() };
    out.preamble.extend(r.foreign.iter().map(foreign_line));
    out.preamble.push(Line::new("asked", format!("where {a} and {b} differ, and why")));
    let differ = r.waits.other_state + r.waits.other_tick;
    out.preamble.push(Line::new(
        "answer",
        format!(
            "the first choices before a wake event differ at {differ} of {} events ({} %)",
            r.waits.all,
            percent(r.waits.differ_pct)
        ),
    ));
    out.preamble.push(Line::new("events", waits_words(&r.waits, [a, b])));
    for m in &r.moments {
        out.tables.push(Table::new(moment_words(m, b), Vec::new()));
        out.tables.push(states_table(&m.a));
        out.tables.push(inputs_table(&[&m.a, &m.b]));
        for side in [&m.a, &m.b] {
            out.tables.push(Table::new(decision_words(side), Vec::new()));
            out.tables.extend(side_tables(side));
        }
    }
    out
}

fn moment_words(m: &Moment, b: &str) -> String {
    let more = |positive: bool| if positive { "more" } else { "less" };
    format!(
        "== {}: until the wake event, {b} took {:.6} {} {} energy and {} {} latency",
        m.why,
        m.energy.abs(),
        m.energy_unit,
        more(m.energy >= 0.0),
        duration(m.latency_ns.abs() as f64),
        more(m.latency_ns >= 0)
    )
}

fn decision_words(e: &Explanation) -> String {
    format!(
        "{} on {}: number {} of {} (from 0), at {:.9} s",
        e.governor,
        e.cpu,
        e.decision,
        e.decisions,
        e.at_ns as f64 / 1e9
    )
}

/// What belongs to one governor: memory, reasons, choice and what came of it.
fn side_tables(e: &Explanation) -> Vec<Table> {
    let mut out: Vec<Table> = e.memory.iter().flat_map(|v| memory_tables(v, e.states.len())).collect();
    out.push(reasons_table(e));
    out.push(outcome_table(e));
    out
}

fn table(title: &str, head: &[&str], text_columns: usize) -> Table {
    let mut t = Table::new(title, head.iter().map(|h| (*h).to_owned()).collect());
    t.text_columns = text_columns;
    t
}

/// What governors could ask, side by side where there are several.
fn inputs_table(sides: &[&Explanation]) -> Table {
    let mut t = table("inputs", &["input", "known"], 2);
    t.head.extend(sides.iter().map(|e| e.governor.clone()));
    for (i, g) in sides.first().map(|e| e.inputs.as_slice()).unwrap_or_default().iter().enumerate() {
        let known = g.confidence.unwrap_or("by this run");
        let mut cells = vec![g.name.to_owned(), known.to_owned()];
        cells.extend(sides.iter().map(|e| e.inputs.get(i).map_or_else(String::new, given_words)));
        t.rows.push(cells);
    }
    t
}

fn given_words(g: &InputValue) -> String {
    match g.unit {
        _ if g.is_none() => "none".to_owned(),
        Unit::Ns => duration(g.value as f64),
        Unit::Flag => if g.value == 0 { "no" } else { "yes" }.to_owned(),
        Unit::Count | Unit::State => g.value.to_string(),
    }
}

fn states_table(e: &Explanation) -> Table {
    let mut t = table("the states", &["state", "target residency", "exit latency"], 1);
    for (i, s) in e.states.iter().enumerate() {
        let name = format!("{i} {}{}", s.name, if s.disabled { " (disabled)" } else { "" });
        t.rows.push(vec![name, duration(s.target_residency_ns as f64), duration(s.exit_latency_ns as f64)]);
    }
    t
}

/// A variable as tables: plain members first, then a table for each array of structures.
fn memory_tables(variable: &Variable, states: usize) -> Vec<Table> {
    // Only C has room for more states than there are.
    let states = if variable.name == OF_AN_OBJECT { MAX_STATES } else { states };
    let mut plain =
        table(&format!("its state before the decision: {}", variable.name), &["name", "value"], 2);
    let mut arrays = Vec::new();
    collect(&variable.name, "", &variable.value, states, &mut plain, &mut arrays);
    if let (true, Some(first)) = (plain.rows.is_empty(), arrays.first_mut()) {
        first.title = format!("{}, {}", plain.title, first.title);
    }
    let plain = (!plain.rows.is_empty()).then_some(plain);
    plain.into_iter().chain(arrays).collect()
}

fn collect(root: &str, path: &str, value: &Value, states: usize, plain: &mut Table, arrays: &mut Vec<Table>) {
    let name = if path.is_empty() { root } else { path };
    match value {
        Value::Struct(members) => {
            for m in members {
                let path = if path.is_empty() { m.name.clone() } else { format!("{path}.{}", m.name) };
                collect(root, &path, &m.value, states, plain, arrays);
            }
        }
        Value::Array(elements) => {
            let shown = elements.get(..shown(elements.len(), states)).unwrap_or_default();
            match shown.first() {
                Some(Value::Struct(_)) => arrays.push(structs_table(name, shown)),
                Some(Value::Array(_)) => arrays.push(matrix_table(name, shown, states)),
                _ => plain.rows.push(vec![name.to_owned(), list(name, shown)]),
            }
        }
        Value::Other => {}
        _ => plain.rows.push(vec![name.to_owned(), scalar(name, value)]),
    }
}

/// Of an array with room for the most states there can be, those that the machine has.
fn shown(length: usize, states: usize) -> usize {
    if length == MAX_STATES { states } else { length }
}

fn structs_table(name: &str, elements: &[Value]) -> Table {
    let mut t = table(name, &["of"], 1);
    t.head.extend((0..elements.len()).map(|i| i.to_string()));
    let columns: Vec<Vec<(String, &Value)>> = elements.iter().map(|e| leaves("", e)).collect();
    for (row, (member, _)) in columns.first().into_iter().flatten().enumerate() {
        let cell = |c: &Vec<(String, &Value)>| c.get(row).map_or_else(String::new, |(n, v)| any(n, v));
        let mut cells = vec![member.clone()];
        cells.extend(columns.iter().map(cell));
        t.rows.push(cells);
    }
    t
}

/// What is in a structure and in the structures in it, by path.
fn leaves<'v>(path: &str, value: &'v Value) -> Vec<(String, &'v Value)> {
    let Value::Struct(members) = value else { return vec![(path.to_owned(), value)] };
    let dot = if path.is_empty() { "" } else { "." };
    members.iter().flat_map(|m| leaves(&format!("{path}{dot}{}", m.name), &m.value)).collect()
}

fn matrix_table(name: &str, rows: &[Value], states: usize) -> Table {
    let mut t = table(name, &["row"], 1);
    for (i, row) in rows.iter().enumerate() {
        let Value::Array(cells) = row else { continue };
        let cells = cells.get(..shown(cells.len(), states)).unwrap_or_default();
        if i == 0 {
            t.head.extend((0..cells.len()).map(|c| c.to_string()));
        }
        let mut shown = vec![i.to_string()];
        shown.extend(cells.iter().map(|c| scalar(name, c)));
        t.rows.push(shown);
    }
    t
}

fn any(name: &str, value: &Value) -> String {
    match value {
        Value::Array(elements) => list(name, elements),
        _ => scalar(name, value),
    }
}

/// The elements in a line; a long run of equal ones at the end is counted.
fn list(name: &str, elements: &[Value]) -> String {
    const LONG: usize = 8;
    let run = elements.iter().rev().take_while(|v| Some(*v) == elements.last()).count();
    let shown = if run >= LONG { elements.len() - run } else { elements.len() };
    let mut words: Vec<String> = elements.iter().take(shown).map(|v| scalar(name, v)).collect();
    if let (true, Some(last)) = (run >= LONG, elements.last()) {
        words.push(format!("({run} times {})", scalar(name, last)));
    }
    words.join(" ")
}

/// A number; a time where the name says so, as the field's names do.
fn scalar(name: &str, value: &Value) -> String {
    match value {
        Value::Bool(b) => if *b { "yes" } else { "no" }.to_owned(),
        Value::Number(n) if name.ends_with("_ns") => time(*n),
        Value::Number(n) => n.to_string(),
        Value::Text(text) => text.clone(),
        Value::Struct(_) | Value::Array(_) | Value::Other => "...".to_owned(),
    }
}

fn time(ns: i128) -> String {
    if ns >= NEVER_NS { "never".to_owned() } else { duration(ns as f64) }
}

fn reasons_table(e: &Explanation) -> Table {
    let mut t = table("reasons", &["", ""], 2);
    if e.reasons.is_empty() {
        t.rows.push(vec![
            String::new(),
            "not available: only the governors of this project give \
            reasons"
                .to_owned(),
        ]);
    }
    for (i, reason) in (1..).zip(&e.reasons) {
        t.rows.push(vec![i.to_string(), readable(reason)]);
    }
    t
}

/// A governor's words with their times, which are in ns, as people read them.
#[must_use]
pub fn readable(reason: &str) -> String {
    let words: Vec<&str> = reason.split(' ').collect();
    let mut out: Vec<String> = Vec::new();
    let mut i = 0;
    while let Some(word) = words.get(i) {
        let unit = words.get(i + 1).copied().unwrap_or_default();
        let digits = word.trim_start_matches(['(', '[']);
        match (digits.parse::<i128>(), unit.strip_prefix("ns")) {
            (Ok(ns), Some(after)) if !after.starts_with(char::is_alphanumeric) => {
                let before = word.strip_suffix(digits).unwrap_or_default();
                out.push(format!("{before}{}{after}", time(ns)));
                i += 2;
            }
            _ => {
                out.push((*word).to_owned());
                i += 1;
            }
        }
    }
    out.join(" ")
}

fn outcome_table(e: &Explanation) -> Table {
    let mut t = table("", &["", ""], 2);
    let c = &e.chosen;
    let mut row = |what: &str, words: String| t.rows.push(vec![what.to_owned(), words]);
    row("choice", chosen_words(e, c.state, c.stop_tick, c.asked_sleep_length));
    if let Some(came) = &e.came {
        row("outcome", came_words(came));
    }
    t
}

fn chosen_words(e: &Explanation, state: i32, stop_tick: bool, asked: bool) -> String {
    format!(
        "{}, {}, {}",
        state_name(e, state),
        if stop_tick { "stop the tick" } else { "keep the tick" },
        if asked { "sleep length asked for" } else { "sleep length not asked for" }
    )
}

fn state_name(e: &Explanation, state: i32) -> String {
    let known = usize::try_from(state).ok().and_then(|i| e.states.get(i));
    known.map_or_else(
        || format!("state {state}, which does not exist"),
        |s| format!("state {state} {}", s.name),
    )
}

fn came_words(c: &IdleOutcome) -> String {
    let after = c.wake_ns.map_or_else(String::new, |ns| format!(" after {}", duration(ns as f64)));
    let latency = c.latency_ns.map_or_else(String::new, |ns| format!("; latency {}", duration(ns as f64)));
    let residency = duration(c.residency_ns as f64);
    format!("{}{after}; residency {residency}, {}{latency}; tick {}", c.cause, c.verdict, c.tick)
}

fn others_table(e: &Explanation) -> Table {
    let head =
        ["governor", "asked", "choice", "tick", "woken by", "after", "residency", "verdict", "latency"];
    let shown = if e.others.iter().any(|o| o.came.is_some()) { head.as_slice() } else { &head[..4] };
    let title = if shown.len() > 4 {
        "the other governors, each in its own run"
    } else {
        "the other governors, driven through the same rows"
    };
    let mut t = table(title, shown, 4);
    for o in &e.others {
        t.rows.push(other_row(e, o));
    }
    t
}

fn other_row(e: &Explanation, o: &Other) -> Vec<String> {
    if let Some(why) = &o.failure {
        return vec![o.governor.clone(), "-".to_owned(), why.clone()];
    }
    let before = match o.asked_before_ns {
        0 => "then".to_owned(),
        ns => format!("{} before", duration(ns as f64)),
    };
    let mut row = vec![o.governor.clone(), before, state_name(e, o.state), o.tick.clone()];
    if let Some(came) = &o.came {
        row.push(came.cause.to_owned());
        row.push(came.wake_ns.map_or_else(String::new, |ns| duration(ns as f64)));
        row.push(duration(came.residency_ns as f64));
        row.push(came.verdict.to_owned());
        row.push(came.latency_ns.map_or_else(String::new, |ns| duration(ns as f64)));
    }
    row
}
