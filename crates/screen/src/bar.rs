// SPDX-License-Identifier: GPL-2.0-only
//! Time as a bar: each state's share in its colour, with its number, so that it can be read without colours.

use idlewise_live::watch::Row;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;

/// The kernel has at most ten states (`CPUIDLE_STATE_MAX`); from shallow to deep.
const COLOURS: [Color; 10] = [
    Color::Yellow,
    Color::Cyan,
    Color::Green,
    Color::Blue,
    Color::Magenta,
    Color::LightCyan,
    Color::LightGreen,
    Color::LightBlue,
    Color::LightMagenta,
    Color::Gray,
];

/// What stands for work, and for a stay that goes on.
pub(crate) const BUSY: char = '#';
pub(crate) const ASLEEP: char = 'z';

pub(crate) fn state_style(index: usize, no_colour: bool) -> Style {
    let colour = COLOURS.get(index).copied().unwrap_or(Color::White);
    if no_colour { Style::new() } else { Style::new().fg(Color::Black).bg(colour) }
}

pub(crate) fn busy_style(no_colour: bool) -> Style {
    if no_colour { Style::new() } else { Style::new().fg(Color::Red).add_modifier(Modifier::BOLD) }
}

pub(crate) fn asleep_style(no_colour: bool) -> Style {
    if no_colour { Style::new() } else { Style::new().fg(Color::DarkGray) }
}

/// What a state is drawn with: its number.
pub(crate) fn state_sign(index: usize) -> char {
    u32::try_from(index).ok().and_then(|i| char::from_digit(i % 10, 10)).unwrap_or('*')
}

/// The time of a row: deep states to the left, then shallower ones, stays that go on, work.
pub(crate) fn bar(row: &Row, width: usize, no_colour: bool) -> Vec<Span<'static>> {
    let states = row.states.iter().enumerate().rev();
    let mut parts: Vec<(f64, char, Style)> =
        states.map(|(i, s)| (s.time_pct, state_sign(i), state_style(i, no_colour))).collect();
    parts.push((row.asleep_pct, ASLEEP, asleep_style(no_colour)));
    parts.push((row.busy_pct, BUSY, busy_style(no_colour)));
    let (mut spans, mut sum, mut drawn) = (Vec::new(), 0.0, 0);
    for (share, sign, style) in parts {
        sum += share;
        // Ends are rounded, not lengths: so they add up to the width.
        let end = ((sum / 100.0 * width as f64).round() as usize).min(width);
        if end > drawn {
            spans.push(Span::styled(sign.to_string().repeat(end - drawn), style));
            drawn = end;
        }
    }
    if drawn < width {
        spans.push(Span::raw(" ".repeat(width - drawn)));
    }
    spans
}
