// SPDX-License-Identifier: GPL-2.0-only
//! The answer first: what was compared, how far it can be trusted, the numbers that decide, a sentence for each governor.

use std::collections::BTreeSet;

use idlewise_answer::{Answer, Cell, Column, Contender, Group, MissCounts, Quantity, Role, Shown, Spread};
use idlewise_report::{Line, Report, Table, Tone, UNKNOWN, duration, number, share, signed};
use idlewise_stats::Interval;

/// How an answer is laid out.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Characters in a line.
    pub width: usize,
    /// The column by which governors are sorted, by name; in the order asked if there is none.
    pub sort: Option<String>,
    /// For a mailing list: with the counts that postings have.
    pub mail: bool,
}

/// An answer as text.
#[must_use]
pub fn answer(a: &Answer, layout: &Layout) -> Report {
    let mut out = Report { width: Some(layout.width), ..Report::default() };
    out.preamble.extend(a.warnings.iter().map(|w| Line::new("WARNING", w)));
    out.preamble.push(subject(a, layout.width));
    out.preamble.push(trust(a, layout.width));
    let names =
        a.verdicts.iter().map(|v| v.governor.chars().count()).fold(0, usize::max).min(layout.width / 3);
    out.label = Some(names + 2);
    let mut left_out: Vec<String> = Vec::new();
    let mut show = |make: &dyn Fn(Cut) -> Table| {
        let (table, missing) = fitting(layout.width, make);
        left_out.extend(missing.into_iter().filter(|m| !left_out.contains(m)).collect::<Vec<_>>());
        out.tables.push(table);
    };
    match a.groups.as_slice() {
        [] => {}
        [one] => show(&|cut| governors(a, one, layout, cut)),
        _ => {
            show(&|cut| over_recordings(a, layout, cut));
            for (title, picks) in by_recording(a) {
                show(&|cut| one_by_recording(a, &title, &picks, cut));
            }
        }
    }
    if layout.mail && a.groups.iter().flat_map(|g| &g.contenders).any(|c| c.counts.is_some()) {
        show(&|cut| counts(a, cut));
    }
    out.footer.extend(a.verdicts.iter().map(|v| Line::new(&shortened(&v.governor, names), &v.words)));
    if !left_out.is_empty() {
        out.footer.push(Line::plain(format!("no room for {}", left_out.join(", "))));
    }
    out.footer.push(Line::plain(caption(a, layout)));
    out
}

/// Idle periods, misses, their share, too shallow, too deep: as postings count them.
pub(crate) fn count_cells(n: MissCounts) -> [String; 5] {
    let ratio = share(idlewise_report::percent_of(n.misses(), n.idles), 2) + "%";
    [n.idles.to_string(), n.misses().to_string(), ratio, n.belows.to_string(), n.aboves.to_string()]
}

/// Idle periods and misses, a row for each recording and governor.
fn counts(a: &Answer, cut: Cut) -> Table {
    let several = a.groups.len() > 1;
    let mut head = vec!["governor", "idles", "misses", "ratio", "belows", "aboves"];
    if several {
        head.insert(0, "recording");
    }
    head.truncate(cut.columns.saturating_add(1));
    let mut t = Table::new("", head.iter().map(|h| (*h).to_owned()).collect());
    t.text_columns = if several { 2 } else { 1 };
    for (g, c) in a.groups.iter().flat_map(|g| g.contenders.iter().map(move |c| (g, c))) {
        let Some(n) = c.counts else { continue };
        let names = several.then(|| shortened(&g.name, cut.name)).into_iter().chain([title(c, cut.name)]);
        t.rows.push(names.chain(count_cells(n)).take(head.len()).collect());
    }
    t
}

fn subject(a: &Answer, width: usize) -> Line {
    let all = format!("{} on {}", a.governors.join(", "), a.on);
    let text = if all.chars().count() <= width {
        all
    } else {
        let n = a.governors.len();
        format!("{n} governor{} on {}", if n == 1 { "" } else { "s" }, a.on)
    };
    Line::plain(text)
}

/// The grade and as many of its reasons as a line holds; the worst come first.
fn trust(a: &Answer, width: usize) -> Line {
    let mut text = format!("trust: {}", a.trust.grade.word());
    for (i, reason) in a.trust.reasons.iter().enumerate() {
        let joined = format!("{text}{}{}", if i == 0 { " (" } else { "; " }, reason.words);
        // Two lines say enough.
        if i > 0 && joined.chars().count() >= 2 * width - 10 {
            break;
        }
        text = joined;
    }
    Line::plain(if a.trust.reasons.is_empty() { text } else { text + ")" })
}

fn caption(a: &Answer, layout: &Layout) -> String {
    let mut parts = Vec::new();
    let named = |direction: Option<f64>| -> Vec<&str> {
        a.columns.iter().filter(|c| c.direction() == direction).map(|c| c.label.as_str()).collect()
    };
    let (more, neither) = (named(Some(-1.0)), named(None));
    parts.push("less is better".to_owned());
    if !more.is_empty() {
        parts.push(format!("more is better in {}", more.join(", ")));
    }
    if !neither.is_empty() {
        parts.push(format!("neither is in {}", neither.join(", ")));
    }
    if a.groups.len() > 1 {
        parts.push(format!("changes against {}", a.baseline));
        let shown = a.spreads.iter().filter_map(|s| s.shown);
        let marks = match shown.clone().next() {
            None => "too few to show anything of others",
            Some(_) => "~ nothing shown, = at most 1 % shown",
        };
        parts.push(marks.to_owned());
    } else {
        if a.governors.len() > 1 {
            parts.push("* best".to_owned());
            parts.push(format!("changes against {}", a.baseline));
        }
    }
    if !layout.mail {
        parts.push("-v: everything".to_owned());
    }
    parts.join("; ")
}

/// What a table gives up to fit.
#[derive(Clone, Copy)]
pub(crate) struct Cut {
    /// Characters of a name.
    pub(crate) name: usize,
    /// Columns from the left.
    pub(crate) columns: usize,
}

/// The first table that fits, with shorter and shorter names as long as they tell rows apart, then with fewer and fewer columns;
/// and the heads of the columns for which there is no room.
pub(crate) fn fitting(width: usize, make: &dyn Fn(Cut) -> Table) -> (Table, Vec<String>) {
    let names = [48, 32, 24, 18, 14, 10];
    let whole = make(Cut { name: usize::MAX, columns: usize::MAX });
    let columns = std::iter::once(usize::MAX).chain((1..whole.head.len().saturating_sub(1)).rev());
    let mut last = Table::default();
    for (columns, name) in columns.flat_map(|columns| names.map(|name| (columns, name))) {
        last = make(Cut { name, columns });
        if different_names(&last) < different_names(&whole) {
            continue;
        }
        for compact in [false, true] {
            last.compact = compact;
            if last.width() <= width {
                let missing = whole.head.into_iter().skip(last.head.len()).collect();
                return (last, missing);
            }
        }
    }
    (last, Vec::new())
}

fn different_names(t: &Table) -> usize {
    t.rows.iter().map(|row| row.iter().take(t.text_columns).collect()).collect::<BTreeSet<Vec<_>>>().len()
}

/// A name with its middle left out if it is longer than `most`.
pub(crate) fn shortened(name: &str, most: usize) -> String {
    let n = name.chars().count();
    if n <= most || most < 4 {
        return name.to_owned();
    }
    let head = (most - 1) * 2 / 3;
    let tail = most - 1 - head;
    let start: String = name.chars().take(head).collect();
    let end: String = name.chars().skip(n - tail).collect();
    format!("{start}…{end}")
}

fn title(c: &Contender, most: usize) -> String {
    match c.role {
        Role::Bound => format!("{} (bound)", shortened(&c.governor, most)),
        _ => shortened(&c.governor, most),
    }
}

/// Governors down, measures across.
fn governors(a: &Answer, group: &Group, layout: &Layout, cut: Cut) -> Table {
    let columns: Vec<&Column> = a.columns.iter().take(cut.columns).collect();
    let mut head = vec!["governor".to_owned()];
    head.extend(columns.iter().map(|c| short_label(c)));
    let mut t = Table::new("", head);
    let mut order: Vec<&Contender> = group.contenders.iter().collect();
    if let Some(at) = layout.sort.as_ref().and_then(|s| a.columns.iter().position(|c| c.name == *s)) {
        let way = a.columns[at].direction().unwrap_or(1.0);
        let value = |c: &&Contender| c.cells.get(at).map_or(f64::NAN, |cell| cell.value * way);
        order.sort_by(|x, y| value(x).total_cmp(&value(y)));
    }
    for c in order {
        let mut row = vec![title(c, cut.name)];
        let mut tones = vec![if c.role == Role::Bound { Tone::Dim } else { Tone::Plain }];
        for (i, column) in columns.iter().enumerate() {
            let Some(cell) = c.cells.get(i) else { continue };
            let best = is_best(group, i, column, c);
            row.push(format!("{}{}", words(column, cell, c), if best { "*" } else { " " }));
            tones.push(tone(column, cell, c, best));
        }
        t.rows.push(row);
        t.tones.push(tones);
    }
    t
}

fn tone(column: &Column, cell: &Cell, c: &Contender, best: bool) -> Tone {
    let Some(sign) = column.direction() else { return Tone::Plain };
    match (cell.change * sign).partial_cmp(&0.0) {
        _ if c.role == Role::Bound => Tone::Dim,
        _ if best => Tone::Best,
        Some(std::cmp::Ordering::Less) => Tone::Better,
        Some(std::cmp::Ordering::Greater) => Tone::Worse,
        _ => Tone::Plain,
    }
}

/// Whether no governor has a better value; where all have the same, none is the best.
fn is_best(group: &Group, column: usize, about: &Column, contender: &Contender) -> bool {
    if contender.role == Role::Bound {
        return false;
    }
    if group.contenders.iter().all(|c| c.role == Role::Baseline) {
        return false;
    }
    let Some(sign) = about.direction() else { return false };
    let values = group.contenders.iter().filter(|c| c.role != Role::Bound && c.failure.is_none());
    let values: Vec<f64> =
        values.filter_map(|c| Some(c.cells.get(column)?.value * sign)).filter(|v| v.is_finite()).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    // What is no shown change is no best value either.
    // Nor is the baseline where that of another is none.
    let unclear = |c: &Contender| c.cells.get(column).is_some_and(Cell::is_unclear);
    if contender.role == Role::Baseline && group.contenders.iter().any(unclear) {
        return false;
    }
    let own = contender.cells.get(column).filter(|c| !c.is_unclear()).map(|c| c.value * sign);
    own == Some(least) && values.iter().any(|v| *v > least)
}

/// `idle energy`, `latency`, `p99`: what stands over a column of cells that say their unit.
pub(crate) fn short_label(c: &Column) -> String {
    match c.label.strip_prefix("latency ") {
        Some("mean") => "latency".to_owned(),
        Some(rest) => rest.to_owned(),
        None if c.unit == "rel" && c.quantity == Quantity::Power => "power [rel]".to_owned(),
        None if c.unit == "rel" => "energy [rel]".to_owned(),
        None => c.label.clone(),
    }
}

/// The value of the baseline, the change of the others.
fn words(column: &Column, cell: &Cell, c: &Contender) -> String {
    if c.failure.is_some() {
        return "-".to_owned();
    }
    if c.role == Role::Baseline || cell.change.is_nan() {
        return value_words(column, cell.value);
    }
    if cell.is_unclear() { "~".to_owned() } else { change_words(column, cell.change) }
}

pub(crate) fn value_words(column: &Column, value: f64) -> String {
    if value.is_nan() {
        return UNKNOWN.to_owned();
    }
    match column.quantity {
        Quantity::Count => format!("{value:.0}"),
        Quantity::Rate => format!("{}/s", number(value)),
        Quantity::Share => format!("{}%", share(value, 1)),
        Quantity::Time => duration(value),
        Quantity::Energy | Quantity::Power if column.unit == "rel" => format!("{value:.3}"),
        Quantity::Energy | Quantity::Power => format!("{} {}", number(value), column.unit),
    }
}

/// `+1.9%`, `-46%`, `-4.4pp`.
fn change_words(column: &Column, change: f64) -> String {
    if change.is_nan() {
        return UNKNOWN.to_owned();
    }
    let unit = if column.quantity == Quantity::Share { "pp" } else { "%" };
    if change == 0.0 {
        return "same".to_owned();
    }
    // What is nearly all is not all.
    let decimals = usize::from(change.abs() < 9.95 || (99.5..100.0).contains(&change.abs()));
    format!("{}{unit}", signed(change, decimals))
}

/// What several recordings show together: governors down, measures across.
fn over_recordings(a: &Answer, layout: &Layout, cut: Cut) -> Table {
    let columns: Vec<&Column> = a.columns.iter().take(cut.columns).collect();
    let mut head = vec![format!("mean of {}", a.groups.len())];
    head.extend(columns.iter().map(|c| short_label(c)));
    let mut t = Table::new("", head);
    let mut contenders: Vec<(&str, Role)> = Vec::new();
    for s in &a.spreads {
        if !contenders.iter().any(|(g, _)| *g == s.governor) {
            contenders.push((&s.governor, s.role));
        }
    }
    if let Some(by) = &layout.sort {
        let way = a.columns.iter().find(|c| c.name == *by).and_then(Column::direction).unwrap_or(1.0);
        let mean = |g: &str| {
            a.spreads.iter().find(|s| s.governor == g && s.column == *by).map_or(f64::NAN, |s| s.mean * way)
        };
        contenders.sort_by(|x, y| mean(x.0).total_cmp(&mean(y.0)));
    }
    for (governor, role) in contenders {
        let name = shortened(governor, cut.name);
        let mut row = vec![if role == Role::Bound { format!("{name} (bound)") } else { name }];
        let mut tones = vec![if role == Role::Bound { Tone::Dim } else { Tone::Plain }];
        for column in &columns {
            let spread = a.spreads.iter().find(|s| s.governor == governor && s.column == column.name);
            row.push(spread.map_or_else(|| UNKNOWN.to_owned(), |s| spread_words(column, s)));
            let sign = column.direction().filter(|_| role != Role::Bound);
            tones.push(match (sign, spread.and_then(|s| s.shown)) {
                _ if role == Role::Bound => Tone::Dim,
                (Some(1.0), Some(Shown::Falls)) | (Some(-1.0), Some(Shown::Rises)) => Tone::Better,
                (Some(1.0), Some(Shown::Rises)) | (Some(-1.0), Some(Shown::Falls)) => Tone::Worse,
                _ => Tone::Plain,
            });
        }
        t.rows.push(row);
        t.tones.push(tones);
    }
    t
}

/// `-46%`, `-2.1% ~` where nothing is shown, `+0.2% =` where equivalence is.
fn spread_words(column: &Column, s: &Spread) -> String {
    let mark = match s.shown {
        Some(Shown::Nothing) => " ~",
        Some(Shown::Equivalent) => " =",
        _ => "  ",
    };
    format!("{}{mark}", change_words(column, s.mean))
}

/// A column of a table by recording: a governor and a measure, by their places, and what stands above it.
struct Pick<'a> {
    contender: usize,
    governor: &'a str,
    at: usize,
    column: &'a Column,
    head: String,
}

/// Of one governor all measures in a table; of several a table for each of the two measures that weigh most.
fn by_recording(a: &Answer) -> Vec<(String, Vec<Pick<'_>>)> {
    let Some(first) = a.groups.first() else { return Vec::new() };
    let others = first.contenders.iter().enumerate().filter(|(_, c)| c.role != Role::Baseline);
    let others: Vec<(usize, &str)> = others.map(|(i, c)| (i, c.governor.as_str())).collect();
    let pick = |(contender, governor), (at, column), head| Pick { contender, governor, at, column, head };
    let columns = || a.columns.iter().enumerate();
    match others.as_slice() {
        [only] => {
            let picks = columns().map(|c| pick(*only, c, short_label(c.1))).collect();
            vec![(only.1.to_owned(), picks)]
        }
        _ => {
            let table = |c: (usize, &'_ Column)| {
                let c = (c.0, &a.columns[c.0]);
                (c.1.label.clone(), others.iter().map(|o| pick(*o, c, o.1.to_owned())).collect())
            };
            columns().take(2).map(table).collect()
        }
    }
}

/// A row for each recording, then mean, median, range, which way, interval.
fn one_by_recording(a: &Answer, what: &str, picks: &[Pick<'_>], cut: Cut) -> Table {
    let picks: Vec<&Pick<'_>> = picks.iter().take(cut.columns).collect();
    let mut head = vec!["by recording".to_owned()];
    // Of a measure no letter can be spared.
    head.extend(picks.iter().map(|p| shortened(&p.head, cut.name.clamp(12, 16))));
    let mut t = Table::new(what, head);
    let unknown = || UNKNOWN.to_owned();
    for group in &a.groups {
        let cell = |p: &&Pick<'_>| group.contenders.get(p.contender)?.cells.get(p.at);
        let cells = picks.iter().map(|p| cell(p).map_or_else(unknown, |c| change_words(p.column, c.change)));
        t.rows.push(std::iter::once(shortened(&group.name, cut.name.min(28))).chain(cells).collect());
    }
    let spread =
        |p: &Pick<'_>| a.spreads.iter().find(|s| s.governor == p.governor && s.column == p.column.name);
    let mut row = |name: &str, of: &dyn Fn(&Column, &Spread) -> String| {
        let cells = picks.iter().map(|p| spread(p).map_or_else(unknown, |s| of(p.column, s)));
        t.rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    };
    row("geometric mean", &|c, s| change_words(c, s.mean));
    row("median", &|c, s| change_words(c, s.median));
    row("least", &|c, s| change_words(c, s.range[0]));
    row("greatest", &|c, s| change_words(c, s.range[1]));
    row("fell:same:rose", &|_, s| format!("{}:{}:{}", s.fell, s.same, s.rose));
    let end = |of: fn(Interval) -> f64| {
        move |c: &Column, s: &Spread| s.interval.map_or_else(unknown, |i| change_words(c, of(i)))
    };
    if picks.iter().any(|p| spread(p).is_some_and(|s| s.interval.is_some())) {
        row("95 % from", &end(|i| i.low));
        row("95 % to", &end(|i| i.high));
    }
    t
}
