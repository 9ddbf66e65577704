// SPDX-License-Identifier: GPL-2.0-only
//! What is on the screen, drawn from what is known; nothing is read here.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::time::Duration;

use idlewise_live::watch::{Row, Snapshot};
use idlewise_report::one_line;
use idlewise_view::{Grouping, power_words};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use crate::bar::{ASLEEP, BUSY, asleep_style, bar, busy_style, state_sign, state_style};
use crate::help::KEYS;

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    Name,
    Wakeups,
    TooDeep,
    TooShallow,
    Rejected,
    Busy,
}

impl Column {
    pub(crate) const ALL: [Self; 6] =
        [Self::Name, Self::Wakeups, Self::TooDeep, Self::TooShallow, Self::Rejected, Self::Busy];

    fn head(self, group: Grouping) -> &'static str {
        match self {
            Self::Name if group == Grouping::Cpu => "CPU",
            Self::Name => "",
            Self::Wakeups => "wakeups/s",
            Self::TooDeep => "deep %",
            Self::TooShallow => "shal %",
            Self::Rejected => "rej/s",
            Self::Busy => "busy %",
        }
    }

    fn value(self, row: &Row) -> Option<f64> {
        match self {
            Self::Name => None,
            Self::Wakeups => Some(row.wakeups_per_s),
            Self::TooDeep => row.too_deep_pct,
            Self::TooShallow => row.too_shallow_pct,
            Self::Rejected => row.rejected_per_s,
            Self::Busy => Some(row.busy_pct),
        }
    }

    fn width(self) -> usize {
        match self {
            Self::Name => NAME,
            Self::Wakeups => 10,
            _ => 8,
        }
    }
}

/// Width of a row's name.
const NAME: usize = 15;
/// A column for the share of a state, shown where the bar keeps this width.
const STATE: usize = 7;
const BAR_MIN: usize = 30;

/// What the view knows.
pub(crate) struct Screen {
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) interval: Duration,
    pub(crate) cost: Duration,
    pub(crate) group: Grouping,
    pub(crate) sort: Column,
    pub(crate) reversed: bool,
    pub(crate) frozen: bool,
    pub(crate) help: bool,
    pub(crate) no_colour: bool,
    /// The first row shown.
    pub(crate) scroll: usize,
    /// How many rows there was place for.
    pub(crate) page: usize,
}

impl Screen {
    pub(crate) fn new(interval: Duration, group: Grouping) -> Self {
        Self {
            snapshot: None,
            interval,
            cost: Duration::ZERO,
            group,
            sort: Column::Name,
            reversed: false,
            frozen: false,
            help: false,
            no_colour: false,
            scroll: 0,
            page: 0,
        }
    }

    /// The rows in the order asked for. Numbers fall, names rise; what is not known comes last. CPUs in their own order
    /// stand below the sum of the part that they belong to.
    fn rows<'a>(&self, s: &'a Snapshot) -> Vec<(&'a Row, bool)> {
        let mut rows: Vec<(&Row, bool)> = match self.group {
            Grouping::Machine => Vec::new(),
            Grouping::Cluster => s.clusters.iter().map(|r| (r, true)).collect(),
            Grouping::Cpu if self.sort == Column::Name && s.clusters.len() > 1 => {
                let of = |i| s.cpus.iter().filter(move |r| r.cluster == Some(i)).map(|r| (r, false));
                let with_sum = |(i, c)| std::iter::once((c, true)).chain(of(i));
                s.clusters.iter().enumerate().filter(|(_, c)| c.cpus > 0).flat_map(with_sum).collect()
            }
            Grouping::Cpu => s.cpus.iter().map(|r| (r, false)).collect(),
        };
        if self.sort == Column::Name {
            if self.reversed {
                rows.reverse();
            }
            return rows;
        }
        rows.sort_by(|(a, _), (b, _)| match (self.sort.value(a), self.sort.value(b)) {
            (Some(a), Some(b)) if self.reversed => a.total_cmp(&b),
            (Some(a), Some(b)) => b.total_cmp(&a),
            (a, b) => b.is_some().cmp(&a.is_some()).then(Ordering::Equal),
        });
        rows
    }
}

/// Draws everything. Where rows begin, and how many there is place for, is kept for the keys.
pub(crate) fn draw(frame: &mut Frame<'_>, screen: &mut Screen) {
    let area = frame.area();
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let mut lines = vec![title(screen, width)];
    if let Some(s) = &screen.snapshot {
        lines.extend(about(s, screen.no_colour));
        let columns = state_columns(s, width);
        let rows = screen.rows(s);
        // Above the rows stand their head and the sum, below them the keys.
        let page = height.saturating_sub(lines.len() + 3);
        let scroll = screen.scroll.min(rows.len().saturating_sub(page));
        let shown = match rows.len() {
            all if all > page => format!("rows {}-{} of {all}", scroll + 1, (scroll + page).min(all)),
            _ => "time, by state".to_owned(),
        };
        lines.push(head(screen, s, columns, &shown));
        lines.push(row_line(&s.machine, true, false, s, columns, width, screen));
        let indent = rows.iter().any(|r| r.1) && screen.group == Grouping::Cpu;
        for (row, sum) in rows.iter().skip(scroll).take(page) {
            lines.push(row_line(row, *sum, indent, s, columns, width, screen));
        }
        (screen.scroll, screen.page) = (scroll, page);
        lines.resize(height.saturating_sub(1).max(lines.len().min(height)), Line::default());
        lines.push(foot(screen));
    } else {
        let wait = format!("the first numbers appear after {} s", screen.interval.as_secs_f64());
        lines.push(Line::from(wait));
    }
    frame.render_widget(Paragraph::new(lines), area);
    if screen.help {
        help(frame, area);
    }
    show_what_is_hidden(frame.buffer_mut());
}

/// Names come from the machine's firmware and drivers, or from a folder that was given: a terminal must not obey
/// them.
fn show_what_is_hidden(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if let Cow::Owned(_) = one_line(cell.symbol()) {
            cell.set_symbol("?");
        }
    }
}

const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
const MARKED: Style = Style::new().add_modifier(Modifier::REVERSED);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);

fn title(screen: &Screen, width: usize) -> Line<'static> {
    let left = match &screen.snapshot {
        Some(s) => {
            let clusters =
                if s.clusters.len() > 1 { format!(" in {}", s.clusters.len()) } else { String::new() };
            format!("idlewise top   Linux {}   {} CPUs{clusters}", s.kernel, s.machine.cpus)
        }
        None => "idlewise top".to_owned(),
    };
    let state = if screen.frozen { "FROZEN " } else { "" };
    let cost = screen.cost.as_secs_f64() * 1e3;
    let right = format!("{state}every {} s, a sample {cost:.1} ms", screen.interval.as_secs_f64());
    // Where both do not fit, the machine is of more interest than our name.
    let left = if left.len() + right.len() >= width { left.replace("idlewise top   ", "") } else { left };
    let gap = width.saturating_sub(left.len() + right.len()).max(1);
    let style = if screen.frozen { MARKED } else { DIM };
    Line::from(vec![Span::styled(left, STRONG), Span::raw(" ".repeat(gap)), Span::styled(right, style)])
}

/// Governor, meters, notes, and what the signs of the bars mean.
fn about(s: &Snapshot, no_colour: bool) -> Vec<Line<'static>> {
    let or = |text: &str| if text.is_empty() { "not known".to_owned() } else { text.to_owned() };
    let none = if s.power.is_empty() { "   power not measured here" } else { "" };
    let mut lines = vec![Line::from(vec![
        Span::raw("governor "),
        Span::styled(or(&s.governor), STRONG),
        Span::raw(format!("   driver {}{none}", or(&s.driver))),
    ])];
    if !s.power.is_empty() {
        lines.push(Line::from(format!("power {}", power_words(s))));
    }
    let held = |limited| if limited == Some(true) { MARKED } else { Style::new() };
    lines.extend(s.limiting.iter().map(|l| Line::styled(format!("limits {}", l.verdict()), held(l.limited))));
    lines.extend(s.notes.iter().take(2).map(|n| Line::styled(format!("note: {n}"), MARKED)));
    let mut legend = Vec::new();
    for (i, state) in s.machine.states.iter().enumerate() {
        let off = if state.disabled { " (off)" } else { "" };
        legend.push(Span::styled(state_sign(i).to_string(), state_style(i, no_colour)));
        legend.push(Span::raw(format!(" {}{off}  ", state.name)));
    }
    legend.push(Span::styled(ASLEEP.to_string(), asleep_style(no_colour)));
    legend.push(Span::raw(" still asleep  "));
    legend.push(Span::styled(BUSY.to_string(), busy_style(no_colour)));
    legend.push(Span::raw(" busy"));
    lines.push(Line::from(legend));
    lines
}

/// How many states have a column of their own.
fn state_columns(s: &Snapshot, width: usize) -> usize {
    let fixed: usize = Column::ALL.iter().map(|c| c.width()).sum();
    let states = s.machine.states.len();
    if width >= fixed + 1 + states * STATE + BAR_MIN { states } else { 0 }
}

fn head(screen: &Screen, s: &Snapshot, states: usize, shown: &str) -> Line<'static> {
    let mut spans = Vec::new();
    for column in Column::ALL {
        let mark = if column == screen.sort { if screen.reversed { "^" } else { "v" } } else { "" };
        let text = format!("{}{mark}", column.head(screen.group));
        let cell = match column {
            Column::Name => format!("{text:<width$}", width = column.width()),
            _ => format!("{text:>width$}", width = column.width()),
        };
        spans.push(Span::styled(cell, if column == screen.sort { MARKED } else { STRONG }));
    }
    for (i, state) in s.machine.states.iter().take(states).enumerate() {
        let name: String = format!("{i} {}", state.name).chars().take(STATE - 1).collect();
        spans.push(Span::styled(format!("{name:>STATE$}"), STRONG));
    }
    spans.push(Span::styled(format!(" {shown}"), STRONG));
    Line::from(spans)
}

fn row_line(
    row: &Row,
    sum: bool,
    indent: bool,
    s: &Snapshot,
    states: usize,
    width: usize,
    screen: &Screen,
) -> Line<'static> {
    let name = match row.cpu {
        Some(cpu) if indent => format!("  {cpu}"),
        // A flat list tells where a CPU belongs.
        Some(cpu) => match row.cluster.and_then(|c| s.places.get(c)).filter(|_| s.places.len() > 1) {
            Some(place) => format!("{cpu} {}", place.name),
            None => cpu.to_string(),
        },
        None => row.name.clone(),
    };
    let name: String = name.chars().take(NAME - 1).collect();
    let mut spans = vec![Span::styled(format!("{name:<NAME$}"), if sum { STRONG } else { Style::new() })];
    let mut used = NAME;
    for column in Column::ALL.into_iter().skip(1) {
        let digits = if column == Column::Wakeups { 1 } else { 2 };
        let text = column.value(row).map_or_else(|| "-".to_owned(), |v| number(v, digits));
        spans.push(Span::raw(format!("{text:>width$}", width = column.width())));
        used += column.width();
    }
    for state in row.states.iter().take(states) {
        spans.push(Span::raw(format!("{:>STATE$}", number(state.time_pct, 2))));
    }
    used += states * STATE;
    // A row of a kind that has fewer states.
    let missing = states.saturating_sub(row.states.len());
    spans.push(Span::raw(format!("{:>1$}", "", missing * STATE + 1)));
    spans.extend(bar(row, width.saturating_sub(used + 1), screen.no_colour));
    Line::from(spans)
}

/// A number that keeps its column: large ones lose their decimals.
fn number(value: f64, digits: usize) -> String {
    if value >= 1_000.0 { format!("{value:.0}") } else { format!("{value:.digits$}") }
}

fn foot(screen: &Screen) -> Line<'static> {
    let freeze = if screen.frozen { "go on" } else { "freeze" };
    let keys =
        [("q", "quit"), ("h", "help"), ("space", freeze), ("g", "group"), ("s", "sort"), ("+-", "interval")];
    let mut spans = Vec::new();
    for (key, what) in keys {
        spans.push(Span::styled(format!(" {key} "), MARKED));
        spans.push(Span::raw(format!(" {what}  ")));
    }
    Line::from(spans)
}

fn help(frame: &mut Frame<'_>, area: Rect) {
    const MEANING: [&str; 5] = [
        "wakeups/s  entries into idle states, per second",
        "deep %     too deep: woken before the target residency (above/usage)",
        "shal %     too shallow: a deeper state would save energy (below/usage)",
        "rej/s      entries that the driver or firmware refused, per second",
        "busy %     time that was not idle",
    ];
    let keys = KEYS.iter().map(|(key, what)| format!("{key:<18} {what}"));
    let lines: Vec<Line<'_>> = keys
        .chain(std::iter::once(String::new()))
        .chain(MEANING.map(str::to_owned))
        .map(Line::from)
        .collect();
    let size = (74.min(area.width), (lines.len() as u16 + 2).min(area.height));
    let place = Rect {
        x: area.x + (area.width - size.0) / 2,
        y: area.y + (area.height - size.1) / 2,
        width: size.0,
        height: size.1,
    };
    frame.render_widget(Clear, place);
    let block = Block::bordered().title(" idlewise top ").title_bottom(" any key closes this ");
    frame.render_widget(Paragraph::new(lines).block(block), place);
}
