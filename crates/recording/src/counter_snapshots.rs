// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's counters of idle states before and after a recording.

use std::collections::BTreeMap;
use std::path::PathBuf;

use idlewise_model::{Note, NoteId};
use idlewise_platform::{CounterDiff, PlatformError, StateCounters, SysfsCounters, diff};

/// The kernel's counters at two times: when each CPU's were read, ns on the trace's clock, and what was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterSnapshots {
    /// The file that they come from.
    pub name: PathBuf,
    /// The first time, by CPU, and the counters then.
    pub before: (BTreeMap<u32, u64>, SysfsCounters),
    pub after: (BTreeMap<u32, u64>, SysfsCounters),
}

impl CounterSnapshots {
    /// What was counted between the two times. A CPU that began to count again meanwhile, as it does when it comes online, is left
    /// out with a note.
    ///
    /// # Errors
    /// As [`diff`], but for counters that went back.
    pub fn difference(&self) -> Result<CounterDiff, PlatformError> {
        let (mut before, after) = (self.before.1.clone(), &self.after.1);
        let mut back = Vec::new();
        before.cpus.retain(|cpu, old| {
            let note = after.cpus.get(cpu).and_then(|new| set_back(*cpu, old, new));
            let kept = note.is_none();
            back.extend(note);
            kept
        });
        let known = |cpu: &u32| before.cpus.contains_key(cpu) || !self.before.1.cpus.contains_key(cpu);
        let cpus = after.cpus.iter().filter(|(cpu, _)| known(cpu)).map(|(cpu, s)| (*cpu, s.clone()));
        let after = SysfsCounters { cpus: cpus.collect() };
        let mut out = diff(&before, &after)?;
        out.notes.extend(back);
        Ok(out)
    }
}

/// A note where a CPU counted less at the end than at the beginning.
fn set_back(cpu: u32, old: &[StateCounters], new: &[StateCounters]) -> Option<Note> {
    let both = |a: Option<u64>, b: Option<u64>| Some((a?, b?));
    old.iter().zip(new).enumerate().find_map(|(state, (a, b))| {
        let counts = [
            ("usage", both(a.usage, b.usage)),
            ("time", both(a.time_us, b.time_us)),
            ("above", both(a.above, b.above)),
            ("below", both(a.below, b.below)),
            ("rejected", both(a.rejected, b.rejected)),
        ];
        let went_back = |(name, count): (&str, Option<(u64, u64)>)| {
            let (from, to) = count.filter(|(from, to)| to < from)?;
            Some(NoteId::CountersBack.note(format!(
                "CPU {cpu}: `{name}` of state {state} goes back from {from} to {to}: the CPU was offline meanwhile, and its \
                 counters are not compared"
            )))
        };
        counts.into_iter().find_map(went_back)
    })
}
