// SPDX-License-Identifier: GPL-2.0-only
//! What decisions cost, next to those of `teo`: the same in every run.

use idlewise_governor::{Build, Governor, GovernorError, Loader};

use crate::Property;
use crate::draw::Draw;
use crate::hunt::Found;
use crate::machine::Machine;
use crate::step::Step;
use crate::world::{Decision, World};

/// The governor to compare with.
pub(crate) const REFERENCE: &str = "teo";
/// A decision may take so many times the reference's longest.
const MOST: u64 = 10;
/// Steps that are counted.
const STEPS: usize = 1_000;

/// The decision that takes too long, if there is one. The loader's governor and `reference` count the basic blocks that they
/// execute.
pub(crate) fn too_expensive(
    loader: &Loader<'_>,
    reference: &Governor,
    machine: &Machine,
    seed: u64,
) -> Result<Option<Found>, GovernorError> {
    let mut draw = Draw::new(machine, seed, 0);
    let (mut world, mut other) = (World::new(loader, machine)?, World::new(&loader.of(reference), machine)?);
    let (mut slowest, mut longest) = (None::<(u64, Step, Decision)>, 1);
    for _ in 0..STEPS {
        let step = draw.step(1);
        let (decision, blocks) = counted(&mut world, &step);
        draw.saw(&decision);
        longest = longest.max(counted(&mut other, &step).1);
        if slowest.as_ref().is_none_or(|(most, ..)| blocks > *most) {
            slowest = Some((blocks, step, decision));
        }
    }
    Ok(slowest.filter(|(blocks, ..)| *blocks > MOST * longest).map(|(blocks, step, decision)| Found {
        property: Property::Cost,
        what: format!(
            "a decision executes {blocks} basic blocks, {} times the longest of {REFERENCE} ({longest})",
            blocks / longest
        ),
        place: None,
        steps: vec![step],
        decisions: vec![decision],
    }))
}

/// What is decided, and the basic blocks that are executed for it.
fn counted(world: &mut World<'_>, step: &Step) -> (Decision, u64) {
    let before = blocks(world);
    let decision = world.step(step);
    (decision, blocks(world).saturating_sub(before))
}

fn blocks(world: &mut World<'_>) -> u64 {
    let count = world.instance.params().into_iter().find(|p| p.name == Build::BLOCKS);
    count.and_then(|p| p.value.parse().ok()).unwrap_or(0)
}
