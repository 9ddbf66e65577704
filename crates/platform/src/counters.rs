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
    for (cpu, old, new) in pairs(before, after, &mut out.notes) {
        out.counters.cpus.insert(cpu, diff_cpu(cpu, old, new)?);
    }
    Ok(out)
}

/// [`diff`] of dumps that somebody pasted, of which a few counters may go back without another boot, each with a note: one
/// of 32 bits that begins at 0 again; a single value that is a little less, which has no difference; a CPU that was
/// taken offline, whose counters begin at 0 again. `open_end` is the CPU in which the later dump ends, in the middle of a
/// line perhaps: where it goes back it is left out.
///
/// # Errors
/// [`PlatformError::Counters`] when more goes back, or a CPU has another number of states.
pub fn diff_pasted(
    before: &SysfsCounters,
    after: &SysfsCounters,
    open_end: Option<u32>,
) -> Result<CounterDiff, PlatformError> {
    let mut out = CounterDiff::default();
    let pairs = pairs(before, after, &mut out.notes);
    let several = pairs.len() > 1;
    let (mut compared, mut odd) = (0_usize, Vec::new());
    let mut restarted: Vec<(u32, PlatformError, &[StateCounters])> = Vec::new();
    for (cpu, old, new) in pairs {
        let why = match diff_cpu(cpu, old, new) {
            Ok(states) => {
                compared += counted(old);
                out.counters.cpus.insert(cpu, states);
                continue;
            }
            Err(why) if old.len() != new.len() => return Err(why),
            Err(why) => why,
        };
        match repaired(cpu, old, new) {
            Some(Repaired { states, mut notes, less }) => {
                compared += counted(old);
                odd.extend(std::iter::repeat_n(why, less));
                out.notes.append(&mut notes);
                out.counters.cpus.insert(cpu, states);
            }
            None if several && open_end == Some(cpu) => out.notes.push(NoteId::CutOff.note(format!(
                "{}; the text ends there, perhaps within a number: cpu{cpu} is left out",
                went(&why)
            ))),
            None => restarted.push((cpu, why, new)),
        }
    }
    // More than one value in eight: another boot.
    if odd.len() * 8 > compared
        && let Some(why) = odd.into_iter().next()
    {
        return Err(why);
    }
    let went_on = out.counters.cpus.len();
    if restarted.len() > went_on
        && let Some((_, why, _)) = restarted.first()
    {
        return Err(why.clone());
    }
    for (cpu, why, new) in restarted {
        let words = format!(
            "{}: its counters began at 0 again, as those of a CPU do that was offline; they are shown since then",
            went(&why)
        );
        out.notes.push(NoteId::CpusChanged.note(words));
        out.counters.cpus.insert(cpu, new.to_vec());
    }
    Ok(out)
}

/// The counters of the CPUs that both have.
type Pair<'a> = (u32, &'a [StateCounters], &'a [StateCounters]);

fn pairs<'a>(before: &'a SysfsCounters, after: &'a SysfsCounters, notes: &mut Vec<Note>) -> Vec<Pair<'a>> {
    for cpu in after.cpus.keys().filter(|c| !before.cpus.contains_key(c)) {
        notes.push(NoteId::CpusChanged.note(format!("cpu{cpu} is only in the later dump: left out")));
    }
    let mut out = Vec::new();
    for (cpu, old) in &before.cpus {
        let Some(new) = after.cpus.get(cpu) else {
            notes.push(NoteId::CpusChanged.note(format!("cpu{cpu} is only in the earlier dump: left out")));
            continue;
        };
        for (state, (a, b)) in old.iter().zip(new).enumerate() {
            if let (Some(a), Some(b)) = (a.disable, b.disable)
                && a != b
            {
                let words =
                    format!("cpu{cpu} state{state}: `disable` went from {a} to {b} between the dumps");
                notes.push(NoteId::StateSwitched.note(words));
            }
        }
        out.push((*cpu, old.as_slice(), new.as_slice()));
    }
    out
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
    let mut out = after.to_vec();
    for (state, (a, b)) in before.iter().zip(&mut out).enumerate() {
        for (what, of) in COUNTERS {
            let (old, new) = (*of(&mut a.clone()), of(b));
            let Some((earlier, later)) = old.zip(*new) else {
                *new = None;
                continue;
            };
            let passed =
                later.checked_sub(earlier).ok_or_else(|| went_back(cpu, state, what, earlier, later))?;
            *new = Some(passed);
        }
    }
    Ok(out)
}

/// The counters of a state, by the names of their files.
type Counter = (&'static str, fn(&mut StateCounters) -> &mut Option<u64>);
const COUNTERS: [Counter; 7] = [
    ("usage", |s| &mut s.usage),
    ("time", |s| &mut s.time_us),
    ("above", |s| &mut s.above),
    ("below", |s| &mut s.below),
    ("rejected", |s| &mut s.rejected),
    ("s2idle/usage", |s| &mut s.s2idle_usage),
    ("s2idle/time", |s| &mut s.s2idle_time_us),
];

fn went_back(cpu: u32, state: usize, what: &str, earlier: u64, later: u64) -> PlatformError {
    PlatformError::Counters {
        what: format!("cpu{cpu} state{state}: `{what}` goes back from {earlier} to {later}"),
        hint: "are the dumps swapped, or was the machine rebooted between them?".to_string(),
    }
}

/// What went back, without a hint.
fn went(why: &PlatformError) -> String {
    if let PlatformError::Counters { what, .. } = why { what.clone() } else { why.to_string() }
}

/// How many counters have counted something.
fn counted(states: &[StateCounters]) -> usize {
    let of = |state: &StateCounters| {
        COUNTERS.iter().filter(|(_, of)| of(&mut state.clone()).is_some_and(|n| n > 0)).count()
    };
    states.iter().map(of).sum()
}

/// A CPU's differences although a few counters went back.
struct Repaired {
    states: Vec<StateCounters>,
    notes: Vec<Note>,
    /// How many values have no difference, because they are a little less.
    less: usize,
}

/// Nothing where so much went back that the counters began at 0 again.
fn repaired(cpu: u32, before: &[StateCounters], after: &[StateCounters]) -> Option<Repaired> {
    const BITS_32: u64 = 1 << 32;
    /// How near to its end a counter of 32 bits was, and how far from its beginning it is.
    const NEAR: u64 = 1 << 30;
    let (mut old, mut notes, mut less) = (before.to_vec(), Vec::new(), 0);
    let mut new = after.to_vec();
    for (state, (a, b)) in old.iter_mut().zip(&mut new).enumerate() {
        for (what, of) in COUNTERS {
            let (a, b) = (of(a), of(b));
            let Some((earlier, later)) = (*a).zip(*b).filter(|(earlier, later)| later < earlier) else {
                continue;
            };
            let back = format!("cpu{cpu} state{state}: `{what}` goes back from {earlier} to {later}");
            if (BITS_32 - NEAR..BITS_32).contains(&earlier) && later < NEAR {
                *b = Some(later + BITS_32);
                notes.push(
                    NoteId::Implausible
                        .note(format!("{back}: taken as a counter of 32 bits that began again")),
                );
            } else if earlier - later <= earlier / 100 {
                (*a, *b) = (None, None);
                less += 1;
                notes.push(NoteId::Implausible.note(format!("{back}: its difference is not known")));
            } else {
                return None;
            }
        }
    }
    let states = diff_cpu(cpu, &old, &new).ok()?;
    Some(Repaired { states, notes, less })
}
