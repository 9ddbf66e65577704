// SPDX-License-Identifier: GPL-2.0-only
//! What both governors choose in each idle period of a sequence, and what that costs.

use idlewise_governor::GovernorError;
use idlewise_model::{Entry, Ledger, TickChoice};
use idlewise_score::entry_fj;

use crate::arena::{Arena, Place};
use crate::period::Period;
use crate::report::{Choice, StoryRow};

/// Entries, with the number of the idle period that they belong to.
#[derive(Default)]
struct Told {
    event: usize,
    entries: Vec<(usize, Entry)>,
}

impl Ledger for Told {
    fn entry(&mut self, entry: &Entry) {
        self.entries.push((self.event, *entry));
    }

    fn waits_for(&mut self, event: usize) {
        self.event = event;
    }
}

/// A row for each idle period of the last of `times` rounds; equal ones that follow each other are one.
pub(crate) fn story(
    arena: &mut Arena<'_>,
    place: Place<'_>,
    periods: &[Period],
    times: usize,
) -> Result<Vec<StoryRow>, GovernorError> {
    let mut entries = |side| {
        let mut told = Told::default();
        arena.player(side).play(periods, &mut told)?;
        Ok::<_, GovernorError>(told.entries)
    };
    let entries = [entries(0)?, entries(1)?];
    let mut rows: Vec<StoryRow> = Vec::new();
    let before = periods.len() * (times - 1);
    for (n, period) in (before..).zip(periods) {
        let choice = |entries: &[(usize, Entry)]| {
            let own = entries.iter().filter(|(event, _)| *event == n).map(|(_, e)| *e);
            choice(place, &own.collect::<Vec<_>>())
        };
        let row = StoryRow {
            times: 1,
            busy_ns: period.busy_ns,
            timer_ns: period.timer_ns,
            woken_ns: period.woken_ns,
            by_timer: period.is_timer(),
            util: period.util,
            iowait: period.iowait,
            a: choice(&entries[0]),
            b: choice(&entries[1]),
        };
        match rows.last_mut() {
            Some(last) if StoryRow { times: 1, ..last.clone() } == row => last.times += 1,
            _ => rows.push(row),
        }
    }
    Ok(rows)
}

fn choice(place: Place<'_>, entries: &[Entry]) -> Choice {
    let cluster = place.cluster;
    let name = |e: &Entry| {
        let state = cluster.table.states().get(usize::from(e.selected));
        state.map_or_else(|| e.selected.to_string(), |s| s.name.clone())
    };
    let tick = |e: &Entry| {
        match e.tick {
            TickChoice::Kept => "keep",
            TickChoice::Stopped => "stop",
            TickChoice::WasStopped => "is off",
            TickChoice::Unknown => "?",
        }
        .to_owned()
    };
    let fj: u128 = entries.iter().map(|e| entry_fj(&cluster.table, &cluster.energy, e)).sum();
    Choice {
        chosen: in_turn(entries.iter().map(name)),
        tick: in_turn(entries.iter().map(tick)),
        energy: cluster.energy.in_unit(fj),
        latency_ns: entries.last().map(|e| e.latency_ns),
    }
}

/// `C6`, `3 x C1 then C6`.
fn in_turn(names: impl Iterator<Item = String>) -> String {
    let mut runs: Vec<(String, usize)> = Vec::new();
    for name in names {
        match runs.last_mut() {
            Some((last, n)) if *last == name => *n += 1,
            _ => runs.push((name, 1)),
        }
    }
    let words = runs.into_iter().map(|(name, n)| if n == 1 { name } else { format!("{n} x {name}") });
    words.collect::<Vec<_>>().join(" then ")
}
