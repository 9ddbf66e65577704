// SPDX-License-Identifier: GPL-2.0-only
//! Does a governor keep what every governor must keep? `idlewise check`.
//!
//! A governor is driven through the idle loop on made machines, with sequences of thousands of idle periods: timers, interrupts,
//! ticks, changing limits and disabled states, refused entries, times at the edges of what governors tell apart. Some are drawn,
//! others follow what the governor chose. Each choice is judged; copies of the governor are compared with each other; a copy that
//! was compiled with sanitizers shows faults of the code. The sequence of a violation is made short ([`Violation`]).
//!
//! The same seed gives the same result, but for [`Property::Cost`], which measures time.

mod cost;
mod crash;
mod draw;
mod hunt;
mod judge;
mod kunit;
mod machine;
mod property;
mod report;
mod shrink;
mod situation;
mod step;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use idlewise_governor::{Build, Governor, GovernorError};

use hunt::{Found, Hunt, Pair, Sequences};
use machine::Machine;
use world::World;

pub use property::Property;
pub use report::{
    CheckReport, CheckedProperty, MadeMachine, MadeState, RowEnd, RowTick, SCHEMA, StoryRow, Verdict,
    Violation,
};

pub use situation::{Situation, situations};

/// Kernels since this one ask no governor about a machine with one idle state (`governor-behaviour.md` 1.9).
const ASKS_NO_SINGLE_STATE: u32 = 7;
/// The machine on which what a decision executes is counted.
const COUNTED_ON: &str = "four states, one polls";

/// Sequences on each machine in a round, where nobody wants another number.
pub const SEQUENCES: u64 = 8;

/// Which governor is checked, for what, and on how many sequences.
#[derive(Clone, Debug)]
pub struct CheckRequest {
    pub governor: Governor,
    /// The properties to check, each once.
    pub properties: Vec<Property>,
    /// Tells the drawn sequences from those of another run.
    pub seed: u64,
    /// Sequences on each machine in a round, of 2500 idle periods each.
    pub sequences: u64,
}

/// Checks a governor, in rounds of new sequences as long as `more`, which is given the number of rounds done, says so. There is
/// at least one.
///
/// # Errors
/// The governor cannot be loaded, or refuses to work at all.
pub fn check(
    request: &CheckRequest,
    mut more: impl FnMut(u32) -> bool,
) -> Result<CheckReport, GovernorError> {
    let mut search = Search::new(request);
    // What does not even start has no properties.
    request.governor.run(|loader| loader.load(search.machines[0].tick_ns()).map(drop))?;
    let mut round = 0;
    loop {
        search.round(u64::from(round))?;
        round += 1;
        if !more(round) {
            break;
        }
    }
    search.cost()?;
    Ok(search.report())
}

/// A search for violations, and what it found so far.
struct Search<'r> {
    request: &'r CheckRequest,
    machines: Vec<Machine>,
    /// Machines that the governor refuses, or on which it crashed: it is asked there no more.
    left_out: BTreeSet<usize>,
    /// Machines that the governor refuses.
    refused: BTreeSet<usize>,
    decisions: u64,
    /// With the number of the machine.
    found: Vec<(usize, Found)>,
    /// Found in earlier rounds: nobody looks for more of it.
    settled: BTreeSet<Property>,
    /// The same of faults: file and line.
    settled_places: Vec<(String, u32)>,
    not_checked: BTreeMap<Property, String>,
    builds: Builds,
    /// Two copies have not been seen to choose differently.
    repeats: bool,
}

/// The governor, compiled in other ways; nothing where nobody wants it or it cannot be done.
struct Builds {
    sanitized: Option<Governor>,
    zeroed: Option<Governor>,
    patterned: Option<Governor>,
}

/// Properties that single choices show.
const OF_CHOICES: [Property; 5] =
    [Property::Index, Property::Disabled, Property::Latency, Property::Polling, Property::Shallow];
/// Properties that show when two copies are compared.
const OF_PAIRS: [Property; 3] = [Property::Uninitialised, Property::Repeatable, Property::Independent];
/// Properties that sanitizers see.
const OF_CODE: [Property; 3] = [Property::Arithmetic, Property::Memory, Property::OtherCpu];

impl<'r> Search<'r> {
    fn new(request: &'r CheckRequest) -> Self {
        let kernel = request.governor.kernel();
        let major = kernel.as_deref().and_then(|v| v.split('.').next()?.parse::<u32>().ok());
        let single = major.is_none_or(|major| major < ASKS_NO_SINGLE_STATE);
        let machines = Machine::all().into_iter().filter(|m| single || m.table.len() > 1).collect();
        let mut not_checked = BTreeMap::new();
        let mut build = |how: Build, properties: &[Property]| {
            let wanted: Vec<&Property> =
                properties.iter().filter(|p| request.properties.contains(p)).collect();
            if wanted.is_empty() {
                return None;
            }
            match request.governor.built(how) {
                Ok(governor) => Some(governor),
                Err(e) => {
                    wanted.iter().for_each(|p| {
                        not_checked.insert(**p, e.to_string());
                    });
                    None
                }
            }
        };
        let builds = Builds {
            sanitized: build(Build::Sanitized, &OF_CODE),
            zeroed: build(Build::Zeroed, &[Property::Uninitialised]),
            patterned: build(Build::Patterned, &[Property::Uninitialised]),
        };
        Self {
            request,
            machines,
            left_out: BTreeSet::new(),
            refused: BTreeSet::new(),
            decisions: 0,
            found: Vec::new(),
            settled: BTreeSet::new(),
            settled_places: Vec::new(),
            not_checked,
            builds,
            repeats: true,
        }
    }

    /// Those of `properties` that are wanted.
    fn wanted(&self, properties: &[Property]) -> Vec<Property> {
        properties.iter().copied().filter(|p| self.request.properties.contains(p)).collect()
    }

    /// Those of them that are still looked for.
    fn open(&self, properties: &[Property]) -> Vec<Property> {
        self.wanted(properties).into_iter().filter(|p| !self.settled.contains(p)).collect()
    }

    /// New sequences on every machine.
    fn round(&mut self, round: u64) -> Result<(), GovernorError> {
        for at in 0..self.machines.len() {
            // Streams of a seed: no two machines or rounds have one in common.
            let count = self.request.sequences;
            let first = (round * self.machines.len() as u64 + at as u64) * count;
            let sequences = Sequences { seed: self.request.seed, first, count };
            self.choices(at, sequences)?;
            self.pairs(at, sequences)?;
            self.faults(at, sequences)?;
        }
        let of_code = |p: &Property| OF_CODE.contains(p);
        self.settled.extend(self.found.iter().map(|(_, found)| found.property).filter(|p| !of_code(p)));
        self.settled_places = self.found.iter().filter_map(|(_, found)| found.place.clone()).collect();
        Ok(())
    }

    /// Takes what came of a job on the machine number `at`. A crash is a finding.
    fn take(
        &mut self,
        at: usize,
        governor: &Governor,
        (sequences, cpus): (Sequences, u64),
        result: Result<Hunt, GovernorError>,
    ) -> Result<(), GovernorError> {
        match result {
            Ok(hunt) => {
                self.decisions += hunt.decisions;
                self.found.extend(hunt.found.into_iter().map(|found| (at, found)));
            }
            Err(e @ GovernorError::Enable { .. }) => {
                self.left_out.insert(at);
                self.refused.insert(at);
                if self.left_out.len() == self.machines.len() && self.found.is_empty() {
                    return Err(e);
                }
            }
            Err(
                e @ (GovernorError::Crashed { .. }
                | GovernorError::Stuck { .. }
                | GovernorError::Lost { .. }
                | GovernorError::Misbehaved { .. }),
            ) => {
                self.left_out.insert(at);
                if matches!(e, GovernorError::Stuck { .. }) {
                    // It would keep everybody waiting on the others, too.
                    self.left_out.extend(0..self.machines.len());
                }
                // Also where nobody asked: of a governor that does not return nothing else is known.
                let found = crash::crash(governor, &self.machines[at], sequences, cpus, &e);
                self.found.push((at, found));
            }
            Err(e) => return Err(e),
        }
        Ok(())
    }

    fn choices(&mut self, at: usize, sequences: Sequences) -> Result<(), GovernorError> {
        let wanted = self.open(&OF_CHOICES);
        let crash = self.wanted(&[Property::Crash]);
        if self.left_out.contains(&at) || (wanted.is_empty() && crash.is_empty()) {
            return Ok(());
        }
        let (governor, machine) = (&self.request.governor, &self.machines[at]);
        let result = governor.run(|loader| hunt::choices(loader, machine, sequences, &wanted));
        self.take(at, governor, (sequences, 1), result)
    }

    /// Copies of the governor that should choose the same.
    fn pairs(&mut self, at: usize, sequences: Sequences) -> Result<(), GovernorError> {
        let plain = self.request.governor.clone();
        if self.open(&OF_PAIRS).is_empty() {
            return Ok(());
        }
        if self.repeats && self.differ(at, sequences, Property::Repeatable, &plain, &plain)? {
            self.repeats = false;
            self.give_up_on(Property::Independent);
        }
        if self.repeats && !self.open(&[Property::Independent]).is_empty() {
            self.differ(at, sequences, Property::Independent, &plain, &plain)?;
        }
        let Some((zeroed, patterned)) = self.builds.zeroed.clone().zip(self.builds.patterned.clone()) else {
            return Ok(());
        };
        if self.settled.contains(&Property::Uninitialised) {
            return Ok(());
        }
        // What is left on the stack may be why choices do not repeat: then they do with zeros.
        if !self.repeats && self.differ(at, sequences, Property::Repeatable, &zeroed, &zeroed)? {
            self.builds.zeroed = None;
            self.give_up_on(Property::Uninitialised);
            return Ok(());
        }
        self.differ(at, sequences, Property::Uninitialised, &zeroed, &patterned)?;
        Ok(())
    }

    /// Copies choose differently from the same inputs, so nobody knows what else the choices depend on.
    fn give_up_on(&mut self, property: Property) {
        self.found.retain(|(_, found)| found.property != property);
        self.not_checked.insert(property, "its choices are not repeatable".to_owned());
    }

    /// Whether two copies choose differently.
    fn differ(
        &mut self,
        at: usize,
        sequences: Sequences,
        property: Property,
        one: &Governor,
        other: &Governor,
    ) -> Result<bool, GovernorError> {
        if self.left_out.contains(&at) {
            return Ok(false);
        }
        let (machine, alone) = (&self.machines[at], property == Property::Independent);
        let result = one.run(|loader| {
            let (one, other) = (World::new(loader, machine)?, World::new(&loader.of(other), machine)?);
            Ok(Pair { property, one, other, alone }.differ(sequences))
        });
        let differ = result.as_ref().is_ok_and(|hunt| !hunt.found.is_empty());
        self.take(at, other, (sequences, if alone { 2 } else { 1 }), result)?;
        Ok(differ)
    }

    fn faults(&mut self, at: usize, sequences: Sequences) -> Result<(), GovernorError> {
        let Some(sanitized) = self.builds.sanitized.clone() else { return Ok(()) };
        if self.left_out.contains(&at) {
            return Ok(());
        }
        let (wanted, machine) = (self.wanted(&OF_CODE), &self.machines[at]);
        let known = &self.settled_places;
        let result = sanitized.run(|loader| hunt::faults(loader, machine, sequences, &wanted, known));
        self.take(at, &sanitized, (sequences, 2), result)
    }

    fn cost(&mut self) -> Result<(), GovernorError> {
        if self.wanted(&[Property::Cost]).is_empty() {
            return Ok(());
        }
        if self.request.governor.is_of_caller() {
            self.not_checked
                .insert(Property::Cost, "it is not compiled: a call of it costs more than teo".to_owned());
            return Ok(());
        }
        let counted = self.machines.iter().position(|m| m.name == COUNTED_ON);
        let Some(at) = counted else { unreachable!("no machine is called {COUNTED_ON}") };
        if self.left_out.contains(&at) {
            self.not_checked.insert(Property::Cost, "it crashed, or refused the machine".to_owned());
            return Ok(());
        }
        let (machine, seed) = (&self.machines[at], self.request.seed);
        let counted = match self.request.governor.built(Build::Counted) {
            Ok(counted) => counted,
            Err(e) => {
                self.not_checked.insert(Property::Cost, e.to_string());
                return Ok(());
            }
        };
        match counted.run(|loader| cost::too_expensive(loader, machine, seed)) {
            Ok(found) => self.found.extend(found.map(|found| (at, found))),
            Err(e) if e.is_misbehaviour() => {
                self.not_checked.insert(Property::Cost, e.to_string());
            }
            Err(e) => return Err(e),
        }
        Ok(())
    }

    fn report(mut self) -> CheckReport {
        let crashed = self.found.iter().any(|(_, found)| found.property == Property::Crash);
        let wanted = |p: &Property| self.request.properties.contains(p) || (crashed && *p == Property::Crash);
        let wanted: Vec<Property> = Property::ALL.into_iter().filter(wanted).collect();
        if self.left_out.len() == self.machines.len() {
            let unknown = Property::ALL.into_iter().filter(|p| *p != Property::Crash);
            self.not_checked
                .extend(unknown.map(|p| (p, "it crashed or did not return on every machine".to_owned())));
        }
        if !self.refused.is_empty() {
            let names: Vec<&str> = self.refused.iter().map(|at| self.machines[*at].name).collect();
            let why = format!(
                "it refuses {} of {} machines: {}",
                names.len(),
                self.machines.len(),
                names.join("; ")
            );
            for property in Property::ALL.into_iter().filter(|p| *p != Property::Crash) {
                self.not_checked.entry(property).or_insert_with(|| why.clone());
            }
        }
        self.found.retain(|(_, found)| wanted.contains(&found.property));
        self.found = self.shortest();
        let governor = &self.request.governor;
        let file = governor.given_file();
        let verdict = |property: Property| {
            let why = self.not_checked.get(&property).cloned();
            let verdict = if self.found.iter().any(|(_, f)| f.property == property) {
                Verdict::Violated
            } else if why.is_some() {
                Verdict::NotChecked
            } else {
                Verdict::Held
            };
            let why = why.filter(|_| verdict == Verdict::NotChecked);
            CheckedProperty { property, requirement: property.requirement(), verdict, why }
        };
        let findings = self.found.iter().map(|(at, found)| {
            let place =
                found.place.as_ref().map(|(path, line)| format!("{}:{line}", shown(path, file.as_deref())));
            Violation::of(found, &self.machines[*at], place)
        });
        CheckReport {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            governor: governor.label(),
            file: file.clone(),
            source_hash: governor.source_hash(),
            seed: self.request.seed,
            decisions: self.decisions,
            machines: self.machines.len() - self.refused.len(),
            properties: wanted.into_iter().map(verdict).collect(),
            findings: findings.collect(),
            kunit: self.kunit(),
        }
    }

    /// Of the violations of one property, or of one place in the code, the one with the shortest sequence, on the machine with
    /// the fewest states.
    fn shortest(&self) -> Vec<(usize, Found)> {
        let mut least: BTreeMap<_, (_, &(usize, Found))> = BTreeMap::new();
        for entry in &self.found {
            let (at, found) = entry;
            let key = (found.property, found.place.clone());
            let size = (found.steps.len(), self.machines[*at].table.len(), *at);
            match least.get(&key) {
                Some((other, _)) if *other <= size => {}
                _ => {
                    least.insert(key, (size, entry));
                }
            }
        }
        least.into_values().map(|(_, entry)| entry.clone()).collect()
    }

    fn kunit(&self) -> Option<String> {
        let cases = self.found.iter().map(|(at, found)| kunit::Case { found, machine: &self.machines[*at] });
        let cases: Vec<kunit::Case<'_>> = cases.filter(kunit::Case::can_be_shown).collect();
        let governor = &self.request.governor;
        // With parameters the test would run with the defaults.
        if governor.is_of_caller() || !governor.spec().params.is_empty() {
            return None;
        }
        let own = || format!("{}.c", governor.spec().id).into();
        let file = governor.file().map_or_else(own, Path::to_path_buf);
        let makefile = file.parent().and_then(|folder| fs::read_to_string(folder.join("Makefile")).ok());
        kunit::patch(&cases, &file, &governor.source_text()?, makefile.as_deref())
    }
}

/// A path of the code for people: the file as they named it, or the name of a header.
fn shown(path: &str, file: Option<&str>) -> String {
    let name = |path: &str| Path::new(path).file_name().map(|n| n.to_string_lossy().into_owned());
    match file {
        Some(file) if name(file) == name(path) => file.to_owned(),
        _ => name(path).unwrap_or_else(|| path.to_owned()),
    }
}
