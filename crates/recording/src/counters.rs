// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own counters in sysfs, compared with what a trace tells of the same time: `idlewise score --counters`.

use std::collections::BTreeMap;
use std::path::Path;

use idlewise_model::{
    CpuTape, HealthKind, IdleTable, Ledger, MAX_STATES, Note, NoteId, Piece, PieceFlags, PiecesError, TapeCpu,
};
use idlewise_platform::{StateCounters, SysfsDump, SysfsState, diff};
use idlewise_score::{StateTally, Tally};
use schemars::JsonSchema;
use serde::Serialize;

use crate::counter_snapshots::CounterSnapshots;
use crate::entries::{VerdictOf, recorded_entry};
use crate::error::CommandError;
use crate::recording::Recording;

/// A trace that differs from the kernel's counters by no more entries than this, or by no more than one in so many, is
/// taken.
const FEW_ENTRIES: u64 = 2;
const MISCOUNTED_IN: u64 = 100;

/// Two looks at the counters, and the trace in between.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CounterCheck {
    /// CPUs that both snapshots and the trace have.
    pub cpus: Vec<CpuCheck>,
    /// What makes the comparison doubtful.
    pub notes: Vec<Note>,
}

/// One CPU between the two looks at its counters.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CpuCheck {
    pub cpu: u32,
    /// When its counters were read, ns on the trace's clock.
    pub from_ns: u64,
    /// When they were read again.
    pub to_ns: u64,
    pub states: Vec<StateCheck>,
    /// Stays that neither began nor ended between: they belong to one side of a snapshot, but to which is not known. A CPU that is
    /// busy when its counters are read has none.
    pub across: u64,
}

/// One state: what the kernel counted and what the trace tells.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct StateCheck {
    pub name: String,
    pub usage: Both,
    /// Too deep; in the trace by its `cpu_idle_miss` events.
    pub above: Both,
    pub below: Both,
    /// Entries that the driver refused.
    pub rejected: Both,
    /// Too deep by entry and exit, which lie around the kernel's own measurement.
    pub above_by_stay: u64,
    /// Too shallow by entry and exit.
    pub below_by_stay: u64,
    /// Time in the state by the kernel, us (whole ones), where it is known.
    pub time_us: Option<u64>,
    /// From entry to exit, all stays together, ns.
    pub stays_ns: u64,
}

/// The same count from two places. What a kernel does not count, or a trace does not show, is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Both {
    pub kernel: Option<u64>,
    pub trace: Option<u64>,
}

impl Both {
    /// Whether both are the same, as far as both counted.
    #[must_use]
    pub fn same(self) -> bool {
        self.kernel.zip(self.trace).is_none_or(|(kernel, trace)| kernel == trace)
    }
}

impl StateCheck {
    /// Whether all counts are the same, and the kernel's time lies within the events.
    #[must_use]
    pub fn same(&self) -> bool {
        let counts = [self.usage, self.above, self.below, self.rejected];
        counts.into_iter().all(Both::same) && self.time_within()
    }

    /// Whether the kernel's time is no longer than entries and exits allow; it is reported in whole us, at both snapshots.
    #[must_use]
    pub fn time_within(&self) -> bool {
        self.time_us.is_none_or(|us| us <= self.stays_ns / 1000 + 1)
    }

    /// How much longer a stay seems by its events than the kernel measured, ns; nothing without stays.
    #[must_use]
    pub fn longer_ns(&self) -> Option<f64> {
        let longer_ns = self.stays_ns as f64 - self.time_us? as f64 * 1000.0;
        self.usage.trace.filter(|entries| *entries > 0).map(|entries| longer_ns / entries as f64)
    }
}

impl CounterCheck {
    /// CPUs of which the trace has clearly more or fewer entries than the kernel counted, and why that is so. Stays across
    /// a look may belong to either side.
    pub fn miscounted(&self) -> impl Iterator<Item = (u32, String)> {
        self.cpus.iter().filter_map(|c| {
            let sum = |n: u64, more: u64| n.saturating_add(more);
            let kernel: u64 = c.states.iter().filter_map(|s| s.usage.kernel).fold(0, sum);
            let trace: u64 = c.states.iter().filter_map(|s| s.usage.trace).fold(0, sum);
            let differ = kernel.abs_diff(trace).saturating_sub(c.across);
            (differ > FEW_ENTRIES && differ.saturating_mul(MISCOUNTED_IN) > kernel).then(|| {
                let why = format!("the trace has {trace} idle entries where the kernel counted {kernel}");
                (c.cpu, why)
            })
        })
    }

    /// Whether every count is the same.
    #[must_use]
    pub fn same(&self) -> bool {
        self.cpus.iter().all(|c| c.across == 0 && c.states.iter().all(StateCheck::same))
    }

    /// Holds `recording` against the counters in the files `before` and `after`, as `grep -r .` prints them, with a line
    /// `cpuN/at_ns:TIME` for every CPU: when they were read, on the trace's clock.
    ///
    /// # Errors
    /// [`CommandError`] when a file cannot be read or says nothing of the time, the files do not belong together, or no CPU is in
    /// both and in the recording.
    pub fn of(recording: &Recording, before: &Path, after: &Path) -> Result<Self, CommandError> {
        let (old, new) = (look(before)?, look(after)?);
        if let Some(other) = old.other_machine(&new) {
            let why = format!("{} are not of one machine: {}", before.display(), other.why());
            return Err(CommandError::file(after, format!("this file and {why}")));
        }
        for (look, path) in [(&old, before), (&new, after)] {
            let used = recording.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable);
            let mut used = used.map(|c| c.cpu).filter(|c| look.cpus.contains_key(&Some(*c)));
            if let Some(cpu) = used.find(|c| !look.at_ns.contains_key(c)) {
                let why = format!(
                    "no line cpu{cpu}/at_ns: when were its counters read? Add a line cpuN/at_ns:TIME for each CPU, in ns on the \
                     trace's clock, as the recording guide shows"
                );
                return Err(CommandError::file(path, why));
            }
        }
        let looks = CounterSnapshots {
            name: before.to_owned(),
            before: (old.at_ns.clone(), old.counters()),
            after: (new.at_ns.clone(), new.counters()),
        };
        // No CPU goes offline and comes online between the files of all of them.
        if looks.difference()?.counters.cpus.is_empty() {
            diff(&looks.before.1, &looks.after.1)?;
        }
        let mut out = Self::between(recording, &looks)?;
        out.notes.extend(other_states(recording, &new, after));
        Ok(out)
    }

    /// Holds `recording` against `looks`.
    pub fn between(recording: &Recording, looks: &CounterSnapshots) -> Result<Self, CommandError> {
        let difference = looks.difference()?;
        let set_back = difference.notes.iter().any(|note| note.id == NoteId::CountersBack);
        let mut out = Self { cpus: Vec::new(), notes: difference.notes };
        if recording.tape.health.count(HealthKind::LostEvents) > 0 {
            out.notes.push(NoteId::LostEvents.note(
                "events were lost: the trace does not have all entries that the kernel \
                counted",
            ));
        }
        for cpu in recording.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable) {
            let at = |at_ns: &BTreeMap<u32, u64>| at_ns.get(&cpu.cpu).copied();
            let (Some(place), Some(counted), Some(from_ns), Some(to_ns)) = (
                recording.machine.cluster_of(cpu.cpu),
                difference.counters.cpus.get(&cpu.cpu),
                at(&looks.before.0),
                at(&looks.after.0),
            ) else {
                // One that is in both was set back, which a note says.
                if [&looks.before, &looks.after].iter().any(|look| !look.1.cpus.contains_key(&cpu.cpu)) {
                    let words = format!("CPU {} is not in both files: left out", cpu.cpu);
                    out.notes.push(NoteId::CpusChanged.note(words));
                }
                continue;
            };
            if to_ns < from_ns {
                let why = format!(
                    "cpu{}: at_ns goes back from {from_ns} to {to_ns}: the later counters come second",
                    cpu.cpu
                );
                return Err(CommandError::file(&looks.name, why));
            }
            if counted.len() != place.table.len() {
                return Err(CommandError::file(
                    &looks.name,
                    format!(
                        "CPU {} has {} idle states here and {} on platform {}",
                        cpu.cpu,
                        counted.len(),
                        place.table.len(),
                        recording.machine.id
                    ),
                ));
            }
            let mut tally = Tally::new(&place.table, &place.energy);
            let window = Window::between(cpu, from_ns, to_ns, &mut tally, &place.table)?;
            let states = place.table.states().iter().zip(counted).zip(tally.counts.states).zip(window.missed);
            let states = states.map(|(((state, kernel), by_stay), missed)| {
                StateCheck::new(state.name.clone(), kernel, by_stay, missed)
            });
            let states = states.collect();
            out.cpus.push(CpuCheck { cpu: cpu.cpu, from_ns, to_ns, states, across: window.across });
        }
        out.leave_out_misses();
        if out.cpus.is_empty() && !set_back {
            return Err(CommandError::file(
                &looks.name,
                "none of its CPUs is in the recording and in the other file",
            ));
        }
        Ok(out)
    }
}

impl CounterCheck {
    /// Compares no misses where the kernel counted some and the trace has none.
    fn leave_out_misses(&mut self) {
        let states = || self.cpus.iter().flat_map(|cpu| &cpu.states);
        let sum = u64::saturating_add;
        let kernel: u64 = states().flat_map(|s| [s.above.kernel, s.below.kernel]).flatten().fold(0, sum);
        let trace: u64 = states().flat_map(|s| [s.above.trace, s.below.trace]).flatten().fold(0, sum);
        if trace > 0 || kernel <= FEW_ENTRIES {
            return;
        }
        for state in self.cpus.iter_mut().flat_map(|cpu| &mut cpu.states) {
            for both in [&mut state.above, &mut state.below, &mut state.rejected] {
                both.trace = None;
            }
        }
        self.notes.push(NoteId::NoMisses.note(
            "the trace has no cpu_idle_miss events, which Linux has since 6.0: above, below and rejected are \
             not compared",
        ));
    }
}

impl StateCheck {
    fn new(name: String, kernel: &StateCounters, by_stay: StateTally, missed: [u64; 2]) -> Self {
        let both = |kernel: Option<u64>, trace: u64| Both { kernel, trace: Some(trace) };
        let [above, below] = missed;
        Self {
            name,
            usage: both(kernel.usage, by_stay.entries()),
            above: both(kernel.above, above),
            below: both(kernel.below, below),
            rejected: both(kernel.rejected, by_stay.rejected),
            above_by_stay: by_stay.above(),
            below_by_stay: by_stay.below(),
            time_us: kernel.time_us,
            stays_ns: by_stay.residency_ns,
        }
    }
}

/// The stays between two looks.
struct Window {
    /// By state: `cpu_idle_miss` events, above and below.
    missed: [[u64; 2]; MAX_STATES],
    across: u64,
}

impl Window {
    fn between(
        cpu: &CpuTape,
        from_ns: u64,
        to_ns: u64,
        tally: &mut Tally<'_>,
        table: &IdleTable,
    ) -> Result<Self, PiecesError> {
        let mut out = Self { missed: [[0; 2]; MAX_STATES], across: 0 };
        for block in cpu.pieces.blocks() {
            for piece in &*block? {
                let (start_ns, exit_ns) = (piece.start_ns, piece.exit_at_ns());
                if exit_ns < from_ns || start_ns > to_ns {
                    continue;
                }
                if start_ns < from_ns || exit_ns > to_ns {
                    out.across += 1;
                    continue;
                }
                tally.entry(&recorded_entry(cpu, piece, table, VerdictOf::Table));
                out.miss(piece);
            }
        }
        Ok(out)
    }

    fn miss(&mut self, piece: &Piece) {
        if let Some([above, below]) = self.missed.get_mut(usize::from(piece.state)) {
            *above += u64::from(piece.flags.has(PieceFlags::MISS_ABOVE));
            *below += u64::from(piece.flags.has(PieceFlags::MISS_BELOW));
        }
    }
}

/// A note where a state of the recording's machine is another one in `dump`: its counters may be of another machine.
fn other_states(recording: &Recording, dump: &SysfsDump, path: &Path) -> Option<Note> {
    recording.tape.cpus.iter().find_map(|cpu| {
        let place = recording.machine.cluster_of(cpu.cpu)?;
        let states = dump.cpus.get(&Some(cpu.cpu))?;
        let table = SysfsState::of_table(&place.table);
        let (number, theirs) =
            states.iter().find(|(n, s)| table.get(**n).is_some_and(|own| !own.may_be(s)))?;
        Some(NoteId::OtherMachine.note(format!(
            "WARNING: {}: cpu{} state{number} is {}, and {} on {}: are these the counters of that machine?",
            path.display(),
            cpu.cpu,
            theirs.shown(),
            table.get(*number).map(SysfsState::shown).unwrap_or_default(),
            recording.machine.id
        )))
    })
}

fn look(path: &Path) -> Result<SysfsDump, CommandError> {
    let text = idlewise_files::read_made(path).map_err(|e| CommandError::file(path, e))?;
    let mut looks = SysfsDump::parse(&text, &path.display().to_string())?;
    match (looks.pop(), looks.is_empty()) {
        (Some(look), true) => Ok(look),
        _ => Err(CommandError::file(
            path,
            "holds several snapshots of the counters; give each a file of its own",
        )),
    }
}
