// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{Note, NoteId};
use idlewise_platform::{CounterDiff, PlatformError, SysfsDump, diff as subtract};

use super::part::Parts;
use super::report::Run;

/// What happened between two looks at one machine.
pub(super) fn between(a: &SysfsDump, b: &SysfsDump, notes: &mut Vec<Note>) -> Result<Run, PlatformError> {
    let CounterDiff { counters, notes: doubts } = subtract(&a.counters(), &b.counters())?;
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
    let times = b.at_ns.iter().filter_map(|(cpu, at)| at.checked_sub(*a.at_ns.get(cpu)?));
    let seconds = times.max().map(|ns| ns as f64 / 1e9);
    let parts = Parts::of_dump(b, &counters);
    parts.run("between", "two snapshots", seconds, b.driver.clone(), b.governor.clone())
}

/// What happened since the machine was started.
pub(super) fn since_boot(look: &SysfsDump) -> Result<Run, PlatformError> {
    let parts = Parts::of_dump(look, &look.counters());
    parts.run("", "counters since boot", None, look.driver.clone(), look.governor.clone())
}
