// SPDX-License-Identifier: GPL-2.0-only
//! What decisions cost, next to those of `teo`: how many basic blocks of its code a governor executes for one, which is the same in
//! every run.

use idlewise_governor::{Build, Governor, GovernorError, Loader, Spec};

use crate::Property;
use crate::draw::Draw;
use crate::hunt::Found;
use crate::machine::Machine;
use crate::step::Step;
use crate::world::{Decision, World};

/// The governor to compare with.
const REFERENCE: &str = "teo";
/// A decision may execute so many times the basic blocks of the reference's costliest.
const MOST: u64 = 10;
/// Steps that are counted.
const STEPS: usize = 1_000;

/// The decision that takes too long, if there is one; `loader` has a [`Build::Counted`] governor.
pub(crate) fn too_expensive(
    loader: &Loader<'_>,
    machine: &Machine,
    seed: u64,
) -> Result<Option<Found>, GovernorError> {
    let reference = Governor::find(&Spec::new(REFERENCE))?.built(Build::Counted)?;
    let mut world = World::new(loader, machine)?;
    let mut draw = Draw::new(machine, seed, 0);
    let mut steps: Vec<Step> = Vec::with_capacity(STEPS);
    for _ in 0..STEPS {
        let step = draw.step(1);
        draw.saw(&world.step(&step));
        steps.push(step);
    }
    let own = counted(&mut world, &steps)?;
    let others = reference.run(|loader| counted(&mut World::new(loader, machine)?, &steps))?;
    let most = others.into_iter().map(|(_, blocks)| blocks).max();
    let costliest = own.into_iter().enumerate().max_by_key(|(_, (_, blocks))| *blocks);
    let Some(((at, (decision, blocks)), most)) = costliest.zip(most) else {
        unreachable!("{STEPS} steps were counted")
    };
    if blocks <= MOST.saturating_mul(most) {
        return Ok(None);
    }
    let what = format!(
        "a decision executes {blocks} basic blocks, {} times the most of {REFERENCE} ({most})",
        blocks / most.max(1)
    );
    Ok(Some(Found {
        property: Property::Cost,
        what,
        place: None,
        steps: vec![steps[at].clone()],
        decisions: vec![decision],
    }))
}

/// Decisions of `steps`, each with the basic blocks that it executes.
fn counted(world: &mut World<'_>, steps: &[Step]) -> Result<Vec<(Decision, u64)>, GovernorError> {
    world.restart();
    let step = |step| {
        let before = world.instance.executed_blocks()?;
        let decision = world.step(step);
        Ok((decision, world.instance.executed_blocks_since(before)?))
    };
    steps.iter().map(step).collect()
}
