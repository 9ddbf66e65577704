// SPDX-License-Identifier: GPL-2.0-only
//! Looks for violations on one machine.

use idlewise_governor::{Fault, FaultKind, GovernorError, Loader};
use serde::{Deserialize, Serialize};

use crate::Property;
use crate::draw::Draw;
use crate::judge::{violates, words};
use crate::machine::Machine;
use crate::shrink::shrink;
use crate::step::Step;
use crate::world::{CPUS, Decision, World};

/// Steps of a sequence.
pub(crate) const LENGTH: usize = 2_500;
/// Faults of the code that are reported, at most; the rest are mostly their consequences.
const MOST_FAULTS: usize = 8;

/// The sequences of a machine that are tried: numbers of a seed's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequences {
    pub(crate) seed: u64,
    pub(crate) first: u64,
    pub(crate) count: u64,
}

impl Sequences {
    fn numbers(self) -> impl Iterator<Item = u64> {
        self.first..self.first + self.count
    }
}

/// A violation, with the shortest sequence that leads to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) property: Property,
    /// What the governor did.
    pub(crate) what: String,
    /// File and line of the code, where a sanitizer found it.
    pub(crate) place: Option<(String, u32)>,
    pub(crate) steps: Vec<Step>,
    /// What was decided in each step; nothing for those that were not finished.
    pub(crate) decisions: Vec<Decision>,
}

/// What came of looking for violations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Hunt {
    /// How many decisions were made to find something; those made to shorten a sequence do not count.
    pub(crate) decisions: u64,
    pub(crate) found: Vec<Found>,
}

/// What single choices show of `wanted`.
pub(crate) fn choices(
    loader: &Loader<'_>,
    machine: &Machine,
    sequences: Sequences,
    wanted: &[Property],
) -> Result<Hunt, GovernorError> {
    let mut world = World::new(loader, machine)?;
    let mut again = World::new(loader, machine)?;
    let mut hunt = Hunt::default();
    for n in sequences.numbers() {
        world.restart();
        let mut draw = Draw::new(machine, sequences.seed, n);
        let mut steps = Vec::with_capacity(LENGTH);
        for _ in 0..LENGTH {
            let step = draw.step(1);
            let decision = world.step(&step);
            draw.saw(&decision);
            hunt.decisions += 1;
            steps.push(step);
            let Some(step) = steps.last() else { unreachable!("a step was pushed") };
            let news = wanted.iter().filter(|p| violates(**p, machine, step, &decision));
            let news: Vec<Property> =
                news.copied().filter(|p| hunt.found.iter().all(|f| f.property != *p)).collect();
            for property in news {
                let shown = |steps: &[Step], decisions: &[Decision]| {
                    steps.iter().zip(decisions).position(|(s, d)| violates(property, machine, s, d))
                };
                let least = shrink(steps.clone(), &mut |steps| shown(steps, &again.play(steps)).is_some());
                let decisions = again.play(&least);
                // A governor that does not repeat its choices may not do it again.
                let at = shown(&least, &decisions).map_or((step, &decision), |i| (&least[i], &decisions[i]));
                let what = words(property, machine, at.0, at.1);
                hunt.found.push(Found { property, what, place: None, steps: least, decisions });
            }
        }
    }
    Ok(hunt)
}

/// Two copies of a governor that should choose the same.
pub(crate) struct Pair<'m> {
    pub(crate) property: Property,
    pub(crate) one: World<'m>,
    pub(crate) other: World<'m>,
    /// The other has only CPU 0.
    pub(crate) alone: bool,
}

impl Pair<'_> {
    /// The first choices that are not the same in `steps`, which made `chosen` on the one.
    fn difference(&mut self, steps: &[Step], chosen: &[Decision]) -> Option<(usize, Decision, Decision)> {
        self.other.restart();
        steps.iter().zip(chosen).enumerate().find_map(|(at, (step, one))| {
            if self.alone && step.cpu != 0 {
                return None;
            }
            let other = self.other.step(step);
            (one.choice() != other.choice()).then_some((at, *one, other))
        })
    }

    fn play(&mut self, steps: &[Step]) -> Option<(Decision, Decision)> {
        let chosen = self.one.play(steps);
        self.difference(steps, &chosen).map(|(_, one, other)| (one, other))
    }

    /// The first sequence in which they differ, made short. One of them plays a whole sequence before the other: to change between two
    /// governors at each step would take longer than what they do.
    pub(crate) fn differ(&mut self, sequences: Sequences) -> Hunt {
        let machine = self.one.machine;
        let mut hunt = Hunt::default();
        for n in sequences.numbers() {
            self.one.restart();
            let mut draw = Draw::new(machine, sequences.seed, n);
            let (mut steps, mut chosen) = (Vec::with_capacity(LENGTH), Vec::with_capacity(LENGTH));
            for _ in 0..LENGTH {
                let step = draw.step(if self.alone { CPUS as u64 } else { 1 });
                let decision = self.one.step(&step);
                draw.saw(&decision);
                steps.push(step);
                chosen.push(decision);
            }
            let Some((at, one, other)) = self.difference(&steps, &chosen) else {
                hunt.decisions += LENGTH as u64;
                continue;
            };
            hunt.decisions += at as u64 + 1;
            steps.truncate(at + 1);
            let least = shrink(steps, &mut |steps| self.play(steps).is_some());
            let (one, other) = self.play(&least).unwrap_or((one, other));
            let decisions = self.one.play(&least);
            let what = self.words(&one, &other);
            hunt.found.push(Found { property: self.property, what, place: None, steps: least, decisions });
            return hunt;
        }
        hunt
    }

    fn words(&self, one: &Decision, other: &Decision) -> String {
        let choice = |d: &Decision| {
            let tick = if d.stop_tick { "stop" } else { "keep" };
            let name = self.one.machine.table.index(d.answer.into());
            let name = name.map_or("none", |i| self.one.machine.table.states()[i.get()].name.as_str());
            format!("state {} ({name}), {tick} the tick", d.answer)
        };
        let [first, second] = match self.property {
            Property::Uninitialised => ["zeros in local variables", "other bytes in them"],
            Property::Independent => ["CPU 1 in use", "CPU 0 alone"],
            _ => ["one copy of it", "another copy"],
        };
        format!("with {first} it chose {}; with {second} {}", choice(one), choice(other))
    }
}

/// What the sanitizers find of `wanted`, but for `known` places in the code.
pub(crate) fn faults(
    loader: &Loader<'_>,
    machine: &Machine,
    sequences: Sequences,
    wanted: &[Property],
    known: &[(String, u32)],
) -> Result<Hunt, GovernorError> {
    let mut world = World::new(loader, machine)?;
    let mut again = World::new(loader, machine)?;
    let mut hunt = Hunt::default();
    // One fault of a place is enough: others there are its consequences.
    let mut seen: Vec<Fault> = Vec::new();
    let same = |a: &Fault, b: &Fault| (a.kind, &a.file, a.line) == (b.kind, &b.file, b.line);
    for n in sequences.numbers() {
        world.restart();
        let mut draw = Draw::new(machine, sequences.seed, n);
        let mut steps = Vec::with_capacity(LENGTH);
        for _ in 0..LENGTH {
            // What enabling leaves is found before the first step.
            for fault in world.instance.take_faults() {
                let property = property_of(fault.kind);
                let is_known = known.iter().any(|(file, line)| (file, *line) == (&fault.file, fault.line));
                if is_known
                    || seen.iter().any(|s| same(s, &fault))
                    || !wanted.contains(&property)
                    || hunt.found.len() == MOST_FAULTS
                {
                    continue;
                }
                let least = shrink(steps.clone(), &mut |steps| faults_of(&mut again, steps).contains(&fault));
                let decisions = again.play(&least);
                let place = (!fault.file.is_empty()).then(|| (fault.file.clone(), fault.line));
                hunt.found.push(Found { property, what: fault.what.clone(), place, steps: least, decisions });
                seen.push(fault);
            }
            let step = draw.step(CPUS as u64);
            let decision = world.step(&step);
            draw.saw(&decision);
            hunt.decisions += 1;
            steps.push(step);
        }
    }
    Ok(hunt)
}

fn faults_of(world: &mut World<'_>, steps: &[Step]) -> Vec<Fault> {
    world.instance.take_faults();
    world.restart();
    let mut found = world.instance.take_faults();
    for step in steps {
        world.step(step);
        found.extend(world.instance.take_faults());
    }
    found
}

fn property_of(kind: FaultKind) -> Property {
    match kind {
        FaultKind::Arithmetic => Property::Arithmetic,
        FaultKind::Memory => Property::Memory,
        FaultKind::OtherCpu => Property::OtherCpu,
    }
}

/// The steps of a sequence up to the one with which the governor fails, which is the last; all where it does not.
pub(crate) fn until_it_fails(
    loader: &Loader<'_>,
    machine: &Machine,
    (seed, n): (u64, u64),
    cpus: u64,
    steps: &mut Vec<Step>,
) -> Result<(), GovernorError> {
    let mut world = World::new(loader, machine)?;
    let mut draw = Draw::new(machine, seed, n);
    while steps.len() < LENGTH && !loader.has_failed() {
        let step = draw.step(cpus);
        let decision = world.step(&step);
        world.settle();
        draw.saw(&decision);
        steps.push(step);
    }
    Ok(())
}
