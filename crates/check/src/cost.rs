// SPDX-License-Identifier: GPL-2.0-only
//! What decisions cost, next to those of `teo` in the same run.

use idlewise_governor::{Governor, GovernorError, Loader, Spec};

use crate::Property;
use crate::draw::Draw;
use crate::hunt::Found;
use crate::machine::Machine;
use crate::step::Step;
use crate::world::{Decision, World};

/// The governor to compare with.
const REFERENCE: &str = "teo";
/// A decision may take so many times the reference's longest.
const MOST: u64 = 10;
/// Steps that are timed.
const STEPS: usize = 1_000;
/// Each is timed so often; the shortest time counts, since what disturbs a measurement makes it longer.
const ROUNDS: usize = 25;

/// The decision that takes too long, if there is one.
pub(crate) fn too_expensive(
    loader: &Loader<'_>,
    machine: &Machine,
    seed: u64,
) -> Result<Option<Found>, GovernorError> {
    let reference = Governor::find(&Spec::new(REFERENCE))?;
    let mut world = World::new(loader, machine)?;
    let mut other = World::new(&loader.of(&reference), machine)?;
    let mut draw = Draw::new(machine, seed, 0);
    let mut steps: Vec<Step> = Vec::with_capacity(STEPS);
    for _ in 0..STEPS {
        let step = draw.step(1);
        draw.saw(&world.step(&step));
        steps.push(step);
    }
    let (mut own_ns, mut others_ns) = (vec![u64::MAX; STEPS], vec![u64::MAX; STEPS]);
    let mut decisions: Vec<Decision> = Vec::new();
    for _ in 0..ROUNDS {
        decisions = time(&mut world, &steps, &mut own_ns);
        time(&mut other, &steps, &mut others_ns);
    }
    let Some(longest_ns) = others_ns.into_iter().max() else { unreachable!("{STEPS} steps were timed") };
    let slowest = own_ns.into_iter().enumerate().max_by_key(|(_, ns)| *ns);
    let Some((at, slowest_ns)) = slowest else { unreachable!("{STEPS} steps were timed") };
    // A clock may be too coarse to see the reference at work.
    let longest_ns = longest_ns.max(1);
    if slowest_ns <= MOST * longest_ns {
        return Ok(None);
    }
    let what = format!(
        "a decision takes {slowest_ns} ns, {} times the longest of {REFERENCE} ({longest_ns} ns)",
        slowest_ns / longest_ns
    );
    Ok(Some(Found {
        property: Property::Cost,
        what,
        place: None,
        steps: vec![steps[at].clone()],
        decisions: vec![decisions[at]],
    }))
}

fn time(world: &mut World<'_>, steps: &[Step], shortest_ns: &mut [u64]) -> Vec<Decision> {
    world.restart();
    let mut decisions = Vec::with_capacity(steps.len());
    for (step, shortest_ns) in steps.iter().zip(shortest_ns) {
        let (decision, spent_ns) = world.timed_step(step);
        *shortest_ns = spent_ns.min(*shortest_ns);
        decisions.push(decision);
    }
    decisions
}
