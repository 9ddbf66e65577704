// SPDX-License-Identifier: GPL-2.0-only
//! The terminal: taken, drawn on, given back whatever happens.

use std::io;
use std::process;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use idlewise_live::LiveError;
use idlewise_live::watch::{CounterSample, Snapshot};
use idlewise_view::Grouping;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::terminal::size;
use thiserror::Error;

use crate::keys::{Action, press};
use crate::screen::{Screen, draw};
use crate::watched::Watched;

/// Why the machine is not shown any longer.
#[derive(Debug, Error)]
pub enum ScreenError {
    /// The terminal cannot be used.
    #[error("terminal: {0}")]
    Terminal(#[from] io::Error),
    /// The machine cannot be watched.
    #[error(transparent)]
    Machine(#[from] LiveError),
}

/// Held while something is drawn, so that a signal does not give the terminal back in the middle of it.
static DRAWING: Mutex<()> = Mutex::new(());
/// Exit status of a command that a signal ended, as shells have it for SIGINT.
const INTERRUPTED: i32 = 130;
/// While frozen nothing is looked at; only keys count.
const FOREVER: Duration = Duration::from_secs(24 * 3600);

/// Gives the terminal back. A panic does so before its message, by a hook of ratatui.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        let _ = ratatui::try_restore();
    }
}

/// How many characters a line of the terminal has; nothing where there is none.
#[must_use]
pub fn columns() -> Option<usize> {
    size().ok().map(|(columns, _)| columns.into())
}

/// Shows the machine until `q`, a new sample every `interval`. A signal ends the process, with the terminal given back.
///
/// # Errors
/// [`ScreenError`] when the terminal or the machine cannot be read.
pub fn run(mut watched: Watched, interval: Duration, group: Grouping) -> Result<(), ScreenError> {
    let before = watched.look()?;
    let mut screen = Screen::new(interval, group);
    screen.no_colour = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    // Where no handler can be set, a signal ends the command without it.
    let _ = ctrlc::set_handler(|| {
        // The lock is kept: nothing is drawn between this and the end.
        let _drawing = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = ratatui::try_restore();
        process::exit(INTERRUPTED);
    });
    let mut terminal = ratatui::try_init()?;
    let _restored = Restored;
    let mut next = before.at + interval;
    let mut last = before;
    loop {
        show(&mut terminal, &mut screen)?;
        let wait = if screen.frozen { FOREVER } else { next.saturating_sub(watched.elapsed()) };
        if event::poll(wait)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => match press(&mut screen, key) {
                    Action::Quit => return Ok(()),
                    // What passed meanwhile is not of interest: the next numbers are of the next interval.
                    Action::Anew => {
                        last = watched.look()?;
                        next = last.at + screen.interval;
                    }
                    Action::None => {}
                },
                _ => {}
            }
        } else if !screen.frozen {
            last = sample(&mut watched, last, &mut screen)?;
            next = last.at + screen.interval;
        }
    }
}

fn sample(
    watched: &mut Watched,
    last: CounterSample,
    screen: &mut Screen,
) -> Result<CounterSample, LiveError> {
    let now = watched.look()?;
    screen.snapshot = Some(Snapshot::between(&last, &now));
    screen.cost = watched.cost;
    Ok(now)
}

fn show(terminal: &mut DefaultTerminal, screen: &mut Screen) -> io::Result<()> {
    let _drawing = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
    terminal.draw(|frame| draw(frame, screen)).map(|_| ())
}
