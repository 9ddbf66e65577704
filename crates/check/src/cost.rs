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
/// A decision may take so many times the reference's longest.
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
    let own = counted(&mut world, &steps);
    let most = reference.run(|loader| {
        let others = counted(&mut World::new(loader, machine)?, &steps);
        Ok(others.into_iter().map(|(_, blocks)| blocks).max().unwrap_or_default())
    })?;
    let Some((at, (decision, blocks))) = own.into_iter().enumerate().max_by_key(|(_, (_, blocks))| *blocks)
    else {
        unreachable!("{STEPS} steps were counted")
    };
    if blocks <= MOST * most {
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

/// What is decided in each of `steps`, and how many basic blocks that takes.
fn counted(world: &mut World<'_>, steps: &[Step]) -> Vec<(Decision, u64)> {
    world.restart();
    let mut before = world.blocks();
    let mut out = Vec::with_capacity(steps.len());
    for step in steps {
        let decision = world.step(step);
        let now = world.blocks();
        out.push((decision, now.wrapping_sub(before)));
        before = now;
    }
    out
}
