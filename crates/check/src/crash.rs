// SPDX-License-Identifier: GPL-2.0-only
//! Which sequence makes a foreign governor crash. Each is tried in a process of its own.

use idlewise_governor::{Governor, GovernorError};

use crate::Property;
use crate::hunt::{Found, Sequences, until_it_fails};
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
    let mut steps = Vec::new();
    let failed = (sequences.first..sequences.first + sequences.count).find_map(|n| {
        steps.clear();
        let seed = (sequences.seed, n);
        governor.run(|loader| until_it_fails(loader, machine, seed, cpus, &mut steps)).err()
    });
    match failed {
        None => return found(Vec::new(), error.to_string()),
        // It does not even come to the first step.
        Some(e) if steps.is_empty() => return found(steps, e.to_string()),
        Some(_) => {}
    }
    let fails = |steps: &[Step]| {
        governor.run(|loader| {
            World::new(loader, machine)?.play(steps);
            Ok(())
        })
    };
    let least = shrink_within(tries, steps, &mut |steps| fails(steps).is_err());
    let what = fails(&least).err().unwrap_or_else(|| error.clone()).to_string();
    // What it chose before it failed; where it failed in reflect, also what it was given there.
    let mut decisions = Vec::new();
    let end = governor.run(|loader| {
        let mut world = World::new(loader, machine)?;
        for step in &least {
            decisions.push(world.step(step));
            world.settle();
            if loader.has_failed() {
                break;
            }
        }
        Ok(())
    });
    let answered = match end {
        Ok(()) => true,
        Err(GovernorError::Crashed { at, .. } | GovernorError::Stuck { at, .. }) => at.is_reflect(),
        Err(_) => false,
    };
    if !answered {
        decisions.pop();
    }
    Found { decisions, ..found(least, what) }
}
