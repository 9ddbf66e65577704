// SPDX-License-Identifier: GPL-2.0-only
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use idlewise_model::{Note, NoteId};
use idlewise_platform::{
    CounterDiff, OtherMachine, PlatformError, StateCounters, SysfsDump, diff, diff_pasted,
};

use super::part::Parts;
use super::report::Run;

/// The counters of a CPU are read one after the other, and it may be idle meanwhile, ms.
const SLACK_MS: u64 = 100;

/// What happened between two snapshots of one machine.
pub(super) fn between(a: &SysfsDump, b: &SysfsDump, notes: &mut Vec<Note>) -> Result<Run, PlatformError> {
    if let Some(OtherMachine::Table(why)) = a.other_machine(b) {
        return Err(PlatformError::Counters {
            what: format!("the tables of idle states differ: {why}"),
            hint: "counters of different states cannot be subtracted; to compare two machines or kernels: --as runs"
                .to_owned(),
        });
    }
    let CounterDiff { counters, notes: doubts } = diff_pasted(&a.counters(), &b.counters(), b.open_end)?;
    if counters.cpus.is_empty() {
        return Err(PlatformError::Counters {
            what: "the snapshots have no CPU in common".to_string(),
            hint: "are they of the same machine?".to_string(),
        });
    }
    notes.extend(doubts);
    if a.governor != b.governor {
        let name = |d: &SysfsDump| d.governor.clone().unwrap_or_else(|| "one not known".to_owned());
        let words = format!("the governor changed from {} to {}", name(a), name(b));
        notes.push(NoteId::GovernorChanged.note(words));
    }
    let elapsed_ns = |cpu: &u32| b.at_ns.get(cpu)?.checked_sub(*a.at_ns.get(cpu)?);
    let seconds = b.at_ns.keys().filter_map(elapsed_ns).max().map(|ns| ns as f64 / 1e9);
    notes.extend(counters.cpus.iter().find_map(|(cpu, states)| implausible(*cpu, states, elapsed_ns(cpu))));
    let parts = Parts::of_dump(b, &counters);
    let name = match (a.origin.name(), b.origin.name()) {
        (from, to) if from == to || from.is_empty() || to.is_empty() => "between".to_owned(),
        (from, to) => format!("{from} to {to}"),
    };
    parts.run(&name, "two snapshots", seconds, b.driver.clone(), b.governor.clone())
}

/// The note about what differs between two snapshots.
pub(super) fn other(differ: &OtherMachine, whose: &str) -> Note {
    let id = if matches!(differ, OtherMachine::Boot(_)) { NoteId::OtherBoot } else { NoteId::OtherMachine };
    id.note(format!("{whose}: {}", differ.why()))
}

/// Whether no counter is less in `b` than in `a`, of what both have.
pub(super) fn goes_on(a: &SysfsDump, b: &SysfsDump) -> bool {
    !matches!(a.other_machine(b), Some(OtherMachine::Table(_)))
        && diff(&a.counters(), &b.counters()).is_ok_and(|d| !d.counters.cpus.is_empty())
}

/// What no machine counts on a CPU in `elapsed_ns`, where that is known.
fn implausible(cpu: u32, states: &[StateCounters], elapsed_ns: Option<u64>) -> Option<Note> {
    let missed = states.iter().enumerate().find_map(|(n, state)| {
        let missed = state.above?.checked_add(state.below?)?;
        let usage = state.usage?;
        (missed > usage)
            .then(|| format!("state{n}: above and below are {missed} together, and usage {usage}"))
    });
    let idle_us = states.iter().filter_map(|s| s.time_us).fold(0, u64::saturating_add);
    let too_long = elapsed_ns.filter(|ns| idle_us / 1000 > ns / 1_000_000 + SLACK_MS).map(|ns| {
        format!(
            "{:.3} s idle in {:.3} s: an idle period counts whole when it ends, also one that began before the \
             first snapshot; or the snapshots are not of one run",
            idle_us as f64 / 1e6,
            ns as f64 / 1e9
        )
    });
    missed.or(too_long).map(|why| NoteId::Implausible.note(format!("WARNING: cpu{cpu}: {why}")))
}

/// What happened since the machine was started.
pub(super) fn since_boot(look: &SysfsDump) -> Result<Run, PlatformError> {
    let parts = Parts::of_dump(look, &look.counters());
    parts.run(&look.origin.name(), "counters since boot", None, look.driver.clone(), look.governor.clone())
}

/// The snapshots of each machine, kernel and boot, in the order of the text.
pub(super) fn by_machine(dumps: &[SysfsDump]) -> Vec<Vec<&SysfsDump>> {
    let mut machines: Vec<Vec<&SysfsDump>> = Vec::new();
    for dump in dumps {
        let same = |m: &&mut Vec<&SysfsDump>| m.last().is_some_and(|last| last.other_machine(dump).is_none());
        match machines.iter_mut().find(same) {
            Some(machine) => machine.push(dump),
            None => machines.push(vec![dump]),
        }
    }
    machines
}

/// What `dump` says too little about: counters, states, lines.
pub(super) fn doubts(dump: &SysfsDump, name: &str, notes: &mut Vec<Note>) {
    /// Of so many damaged values there are notes.
    const DAMAGED_SHOWN: usize = 3;
    for d in dump.damaged.iter().take(DAMAGED_SHOWN) {
        let place =
            Path::new(&d.place).file_name().map_or(Cow::Borrowed(d.place.as_str()), |p| p.to_string_lossy());
        notes.push(NoteId::OddLines.note(format!("{place}: {}: left out", d.what)));
    }
    let more = dump.damaged.len().saturating_sub(DAMAGED_SHOWN);
    if more > 0 {
        notes.push(NoteId::OddLines.note(format!("{name}: more damaged values, left out: {more}")));
    }
    let states = || dump.cpus.values().flat_map(|states| states.values());
    type Get = fn(&idlewise_platform::SysfsState) -> Option<u64>;
    let counters: [(&str, Get); 5] = [
        ("usage", |s| s.usage),
        ("time", |s| s.time_us),
        ("above", |s| s.above),
        ("below", |s| s.below),
        ("rejected", |s| s.rejected),
    ];
    let lacks = |(_, get): &&(&str, Get)| states().all(|s| get(s).is_none());
    let missing: Vec<&str> = counters.iter().filter(lacks).map(|(name, _)| *name).collect();
    // A kernel before 5.10 does not count refused entries.
    if !missing.is_empty() && missing != ["rejected"] {
        notes.push(
            NoteId::CountersMissing
                .note(format!("{name} does not have {}, which is unknown (?)", missing.join(", "))),
        );
    }
    let holes = dump.cpus.iter().find_map(|(cpu, states)| {
        let last = *states.keys().next_back()?;
        let states_of_all = dump.announced.get(cpu).map_or(last, |all| *all.max(&last));
        let missing: Vec<String> =
            (0..states_of_all).filter(|n| !states.contains_key(n)).map(|n| n.to_string()).collect();
        let what = if missing.len() == 1 { "state" } else { "states" };
        (!missing.is_empty()).then(|| format!("{what} {}", missing.join(", ")))
    });
    if let Some(holes) = holes {
        let words = format!("{name} does not have {holes}; shares are those among the others");
        notes.push(NoteId::CountersMissing.note(words));
    }
    let cpus = dump.cpus.len();
    let numbers: BTreeSet<usize> = dump.cpus.values().flat_map(|states| states.keys().copied()).collect();
    for number in numbers {
        let of = || dump.cpus.values().filter_map(|states| states.get(&number));
        let off = of().filter(|s| s.disable.is_some_and(|d| d != 0)).count();
        let Some(state) = of().find(|_| off > 0) else { continue };
        let cpus = if off == cpus { String::new() } else { format!(" on {off} of {cpus} CPUs") };
        let words =
            format!("{name}: state {number} {} is disabled{cpus}", state.name.as_deref().unwrap_or("?"));
        notes.push(NoteId::StateOff.note(words));
    }
}
