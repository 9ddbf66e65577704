// SPDX-License-Identifier: GPL-2.0-only
//! Which sequence makes a foreign governor crash. Each is tried in a process of its own.

use idlewise_governor::{Governor, GovernorError};

use crate::Property;
use crate::hunt::{Found, LENGTH, Sequences, beginning};
use crate::machine::Machine;
use crate::shrink::shrink_within;
use crate::step::Step;
use crate::world::World;

/// Processes that are started to shorten a sequence, at most.
const TRIES: usize = 400;

/// The violation that `error` is, with the shortest sequence that leads to it, from `sequences` on `cpus` CPUs.
pub(crate) fn crash(
    governor: &Governor,
    machine: &Machine,
    sequences: Sequences,
    cpus: u64,
    error: &GovernorError,
) -> Found {
    let found = |steps, what: String| Found {
        property: Property::Crash,
        what,
        place: None,
        steps,
        decisions: Vec::new(),
    };
    // One that does not return is waited for each time.
    let is_stuck = matches!(error, GovernorError::Stuck { .. });
    let (governor, tries) = if is_stuck { (&governor.with_patience(1), 4) } else { (governor, TRIES) };
    let plays = |n: u64, played: usize| {
        governor.run(|loader| beginning(loader, machine, sequences.seed, n, (played, cpus)))
    };
    let numbers = sequences.first..sequences.first + sequences.count;
    let Some(n) = numbers.into_iter().find(|n| plays(*n, LENGTH).is_err()) else {
        return found(Vec::new(), error.to_string());
    };
    // The number of steps that it survives: `low` is known to pass, `high` is not.
    let (mut low, mut high) = (0, LENGTH);
    let mut steps = match plays(n, 0) {
        Ok(steps) => steps,
        // It does not even come to the first step.
        Err(e) => return found(Vec::new(), e.to_string()),
    };
    while high - low > 1 {
        let middle = low.midpoint(high);
        match plays(n, middle) {
            Ok(more) => (low, steps) = (middle, more),
            Err(_) => high = middle,
        }
    }
    let fails = |steps: &[Step]| {
        governor.run(|loader| {
            World::new(loader, machine)?.play(steps);
            Ok(())
        })
    };
    let least = shrink_within(tries, steps, &mut |steps| fails(steps).is_err());
    let what = fails(&least).err().unwrap_or_else(|| error.clone()).to_string();
    // What it chose before it crashed.
    let before = least.split_last().map_or(&[][..], |(_, before)| before);
    let decisions = governor.run(|loader| Ok(World::new(loader, machine)?.play(before)));
    Found { decisions: decisions.unwrap_or_default(), ..found(least, what) }
}
