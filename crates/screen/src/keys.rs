// SPDX-License-Identifier: GPL-2.0-only

use std::time::Duration;

use idlewise_view::Grouping;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::screen::{Column, Screen};

/// What a key asks of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    None,
    /// Begin a new interval.
    Anew,
    Quit,
}

/// The intervals that + and - go through, ms.
const INTERVALS_MS: [u64; 11] =
    [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 600_000, 3_600_000];

pub(crate) fn press(screen: &mut Screen, key: KeyEvent) -> Action {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if screen.help && !(control || key.code == KeyCode::Char('q')) {
        screen.help = false;
        return Action::None;
    }
    let page = screen.page.max(1);
    match key.code {
        KeyCode::Char('c') if control => return Action::Quit,
        KeyCode::Char('q') | KeyCode::Esc => return Action::Quit,
        KeyCode::Char(' ' | 'f') => {
            screen.frozen = !screen.frozen;
            if !screen.frozen {
                return Action::Anew;
            }
        }
        KeyCode::Char('g') => {
            screen.group = match screen.group {
                Grouping::Cpu => Grouping::Cluster,
                Grouping::Cluster => Grouping::Machine,
                Grouping::Machine => Grouping::Cpu,
            };
            screen.scroll = 0;
        }
        KeyCode::Char('s') => sort(screen, 1),
        KeyCode::Char('S') => sort(screen, Column::ALL.len() - 1),
        KeyCode::Char('n') => {
            (screen.sort, screen.reversed, screen.scroll) = (Column::Name, false, 0);
        }
        KeyCode::Char('r') => screen.reversed = !screen.reversed,
        KeyCode::Char('+' | '=') => return step(screen, true),
        KeyCode::Char('-' | '_') => return step(screen, false),
        KeyCode::Char('h' | '?') => screen.help = true,
        KeyCode::Up | KeyCode::Char('k') => screen.scroll = screen.scroll.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => screen.scroll += 1,
        KeyCode::PageUp => screen.scroll = screen.scroll.saturating_sub(page),
        KeyCode::PageDown => screen.scroll += page,
        KeyCode::Home => screen.scroll = 0,
        KeyCode::End => screen.scroll = usize::MAX / 2,
        _ => {}
    }
    Action::None
}

fn sort(screen: &mut Screen, by: usize) {
    let at = Column::ALL.iter().position(|c| *c == screen.sort).unwrap_or(0);
    screen.sort = Column::ALL.get((at + by) % Column::ALL.len()).copied().unwrap_or(Column::Name);
    screen.scroll = 0;
}

fn step(screen: &mut Screen, longer: bool) -> Action {
    let now = screen.interval.as_millis();
    let next = if longer {
        INTERVALS_MS.iter().find(|ms| u128::from(**ms) > now)
    } else {
        INTERVALS_MS.iter().rev().find(|ms| u128::from(**ms) < now)
    };
    let Some(ms) = next else { return Action::None };
    screen.interval = Duration::from_millis(*ms);
    if screen.frozen { Action::None } else { Action::Anew }
}
