// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_model::{Note, NoteId};

use crate::{PlatformError, SysfsDump, SysfsState};

/// The kernel's own counts for one state of one CPU. Those that the kernel or a dump lacks are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounters {
    pub usage: Option<u64>,
    /// Total residency, us.
    pub time_us: Option<u64>,
    /// Entries that were too deep (kernels since 5.0).
    pub above: Option<u64>,
    /// Entries that were too shallow (kernels since 5.0).
    pub below: Option<u64>,
    /// Entries that the hardware refused (kernels since 5.10).
    pub rejected: Option<u64>,
    pub s2idle_usage: Option<u64>,
    /// Residency during suspend-to-idle, us.
    pub s2idle_time_us: Option<u64>,
    /// The state was off: by the user (bit 0) or the driver (bit 1). In a difference: at the end.
    pub disable: Option<u64>,
}

/// Counters of a machine, by CPU and state index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SysfsCounters {
    /// By CPU; one entry per state, by its number. A state that a dump does not have is [`StateCounters::default`].
    pub cpus: BTreeMap<u32, Vec<StateCounters>>,
}

/// What happened between two looks at a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterDiff {
    /// Counts of the time between.
    pub counters: SysfsCounters,
    /// What makes them doubtful: CPUs in one look only, states switched on or off between.
    pub notes: Vec<Note>,
}

impl SysfsDump {
    /// The counters of this snapshot; a count that is not in it is `None`. Paths that name no CPU count as CPU 0.
    #[must_use]
    pub fn counters(&self) -> SysfsCounters {
        let mut cpus = BTreeMap::new();
        for (cpu, states) in &self.cpus {
            let last = states.keys().next_back().map_or(0, |n| n + 1);
            let counters =
                (0..last).map(|n| states.get(&n).map_or_else(StateCounters::default, StateCounters::of));
            cpus.entry(cpu.unwrap_or(0)).or_insert_with(|| counters.collect());
        }
        SysfsCounters { cpus }
    }
}

impl StateCounters {
    fn of(s: &SysfsState) -> Self {
        Self {
            usage: s.usage,
            time_us: s.time_us,
            above: s.above,
            below: s.below,
            rejected: s.rejected,
            s2idle_usage: s.s2idle_usage,
            s2idle_time_us: s.s2idle_time_us,
            disable: s.disable,
        }
    }
}

/// `after` minus `before`, per CPU and state. CPUs that are in one of them only are left out, with a note.
///
/// # Errors
/// [`PlatformError::Counters`] when a counter ran backwards or a CPU has another number of states.
pub fn diff(before: &SysfsCounters, after: &SysfsCounters) -> Result<CounterDiff, PlatformError> {
    let mut out = CounterDiff::default();
    for cpu in after.cpus.keys().filter(|c| !before.cpus.contains_key(c)) {
        out.notes.push(NoteId::CpusChanged.note(format!("cpu{cpu} is only in the later dump: left out")));
    }
    for (cpu, old) in &before.cpus {
        let Some(new) = after.cpus.get(cpu) else {
            out.notes
                .push(NoteId::CpusChanged.note(format!("cpu{cpu} is only in the earlier dump: left out")));
            continue;
        };
        for (state, (a, b)) in old.iter().zip(new).enumerate() {
            if let (Some(a), Some(b)) = (a.disable, b.disable)
                && a != b
            {
                let words =
                    format!("cpu{cpu} state{state}: `disable` went from {a} to {b} between the dumps");
                out.notes.push(NoteId::StateSwitched.note(words));
            }
        }
        let states = diff_cpu(*cpu, old, new)?;
        out.counters.cpus.insert(*cpu, states);
    }
    Ok(out)
}

/// [`diff`] of one CPU.
///
/// # Errors
/// As [`diff`].
pub fn diff_cpu(
    cpu: u32,
    before: &[StateCounters],
    after: &[StateCounters],
) -> Result<Vec<StateCounters>, PlatformError> {
    if before.len() != after.len() {
        return Err(PlatformError::Counters {
            what: format!("cpu{cpu} has {} states before and {} after", before.len(), after.len()),
            hint: "the dumps are of different machines or kernels, or one is cut short".to_string(),
        });
    }
    before.iter().zip(after).enumerate().map(|(state, (a, b))| subtract(cpu, state, a, b)).collect()
}

fn subtract(
    cpu: u32,
    state: usize,
    a: &StateCounters,
    b: &StateCounters,
) -> Result<StateCounters, PlatformError> {
    let minus = |a: u64, b: u64, what: &str| {
        b.checked_sub(a).ok_or_else(|| PlatformError::Counters {
            what: format!("cpu{cpu} state{state}: `{what}` goes back from {a} to {b}"),
            hint: "are the dumps swapped, or was the machine rebooted between them?".to_string(),
        })
    };
    let both = |a: Option<u64>, b: Option<u64>, what: &str| match (a, b) {
        (Some(a), Some(b)) => minus(a, b, what).map(Some),
        _ => Ok(None),
    };
    Ok(StateCounters {
        usage: both(a.usage, b.usage, "usage")?,
        time_us: both(a.time_us, b.time_us, "time")?,
        above: both(a.above, b.above, "above")?,
        below: both(a.below, b.below, "below")?,
        rejected: both(a.rejected, b.rejected, "rejected")?,
        s2idle_usage: both(a.s2idle_usage, b.s2idle_usage, "s2idle/usage")?,
        s2idle_time_us: both(a.s2idle_time_us, b.s2idle_time_us, "s2idle/time")?,
        disable: b.disable,
    })
}
