// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_model::{
    Breach, Counted, Entry, IdleTable, Ledger, MAX_STATES, Miss, Outcome, TickChoice, WakeCause,
};
use idlewise_platform::EnergyTable;
use serde::{Deserialize, Serialize};

/// What was counted in one idle state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateTally {
    /// Stays, refused entries not among them.
    pub entries: u64,
    /// Time in the state as the kernel measures it, ns.
    pub residency_ns: u64,
    /// "Too deep" verdicts.
    pub above: u64,
    /// "Too shallow" verdicts.
    pub below: u64,
    /// Refused entries.
    pub rejected: u64,
}

/// How many choices the core carried out although something was wrong with them ([`idlewise_model::Breach`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaches {
    /// Of a state that was switched off, although another was on.
    pub disabled: u64,
    /// Of a state above the latency limit, although one that was on kept it.
    pub over_limit: u64,
    /// Of no state of the table; the nearest was taken.
    pub no_state: u64,
}

impl Breaches {
    fn add(&mut self, b: Breach) {
        self.disabled += u64::from(b.disabled);
        self.over_limit += u64::from(b.over_limit);
        self.no_state += u64::from(b.no_state);
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.disabled += other.disabled;
        self.over_limit += other.over_limit;
        self.no_state += other.no_state;
    }
}

/// Idle periods in a state that the table does not have, or that nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unplaced {
    /// How many.
    pub entries: u64,
    /// How long together, ns.
    pub residency_ns: u64,
}

/// Counts of one CPU's ledger, which can travel without the tables that they were counted by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// By entered state; refused entries count with the selected one.
    pub states: [StateTally; MAX_STATES],
    /// Stays by what ended them, in the order of [`WakeCause::ALL`].
    pub causes: [u64; WakeCause::ALL.len()],
    /// Stays by what became of the tick at their entry; these four add up to the stays. Here it went on running.
    pub ticks_kept: u64,
    /// It was stopped.
    pub ticks_stopped: u64,
    /// It had been stopped at an earlier entry of the visit.
    pub ticks_stopped_before: u64,
    /// Stays of which nobody knows what became of the tick.
    pub ticks_unknown: u64,
    /// Choices with which something was wrong.
    pub breaches: Breaches,
    /// Time from refused entries to the refusal, ns.
    pub rejected_ns: u64,
    /// By state: what is in none of the other counts, since nothing can judge it.
    pub unplaced: BTreeMap<u8, Unplaced>,
    /// Energy of the stays, of refused entries and of being awake for the tick alone, fJ or the table's relative
    /// equivalent.
    pub energy_fj: u128,
    /// Wakeup latency of every wake that was not the tick or the poll limit, and of events that came during an exit, ns.
    pub latencies_ns: Counted,
    /// Events that came while the CPU was still on its way out of a state.
    pub overtaken: u64,
}

/// Counts the ledger of one CPU.
#[derive(Clone, Debug)]
pub struct Tally<'t> {
    table: &'t IdleTable,
    energy: &'t EnergyTable,
    /// What was counted.
    pub counts: Counts,
}

impl<'t> Tally<'t> {
    /// An empty tally of a CPU with these states.
    #[must_use]
    pub fn new(table: &'t IdleTable, energy: &'t EnergyTable) -> Self {
        Self { table, energy, counts: Counts::default() }
    }

    /// The CPU's idle table.
    #[must_use]
    pub fn table(&self) -> &'t IdleTable {
        self.table
    }

    /// The CPU's energy table.
    #[must_use]
    pub fn energy(&self) -> &'t EnergyTable {
        self.energy
    }
}

/// Energy of one stay and of being awake for the tick alone after it, fJ or the table's relative equivalent. A CPU whose
/// entry is refused runs until then.
#[inline]
#[must_use]
pub fn entry_fj(table: &IdleTable, energy: &EnergyTable, e: &Entry) -> u128 {
    let Outcome::Stayed { entered, .. } = e.outcome else {
        return energy.active_fj(e.wake_ns.max(0).unsigned_abs());
    };
    let entered = usize::from(entered);
    let entry_ns = table.states().get(entered).map_or(0, |s| s.entry_ns.unsigned_abs());
    energy.stay_fj(entered, e.wake_ns.max(0).unsigned_abs(), entry_ns)
        + energy.active_fj(e.tick_ns.max(0).unsigned_abs())
}

/// A latency as it is counted: one of more than 4.29 s, which a recording may well have, as that.
fn counted(latency_ns: u64) -> u32 {
    u32::try_from(latency_ns).unwrap_or(u32::MAX)
}

impl Ledger for Tally<'_> {
    #[inline]
    fn entry(&mut self, e: &Entry) {
        let state = match e.outcome {
            Outcome::Stayed { entered, .. } => entered,
            Outcome::Rejected => e.selected,
        };
        if usize::from(state) >= self.table.len() {
            let unplaced = self.counts.unplaced.entry(state).or_default();
            unplaced.entries += 1;
            unplaced.residency_ns += e.residency_ns.max(0).unsigned_abs();
            return;
        }
        self.counts.breaches.add(e.breach);
        let (entered, miss) = match e.outcome {
            Outcome::Stayed { entered, miss } => (usize::from(entered), miss),
            Outcome::Rejected => {
                if let Some(s) = self.counts.states.get_mut(usize::from(e.selected)) {
                    s.rejected += 1;
                }
                self.counts.rejected_ns += e.wake_ns.max(0).unsigned_abs();
                self.counts.energy_fj += entry_fj(self.table, self.energy, e);
                return;
            }
        };
        match e.tick {
            TickChoice::Kept => self.counts.ticks_kept += 1,
            TickChoice::Stopped => self.counts.ticks_stopped += 1,
            TickChoice::WasStopped => self.counts.ticks_stopped_before += 1,
            TickChoice::Unknown => self.counts.ticks_unknown += 1,
        }
        self.counts.causes[e.cause as usize] += 1;
        if let Some(s) = self.counts.states.get_mut(entered) {
            s.entries += 1;
            s.residency_ns += e.residency_ns.max(0).unsigned_abs();
            match miss {
                Miss::None => {}
                Miss::Above => s.above += 1,
                Miss::Below => s.below += 1,
            }
        }
        self.counts.energy_fj += entry_fj(self.table, self.energy, e);
        if !matches!(e.cause, WakeCause::Tick | WakeCause::PollLimit) {
            assert!(
                e.latency_ns >= 0,
                "CPU {} at {} ns: awake {} ns before its wake",
                e.cpu,
                e.start_ns,
                -e.latency_ns
            );
            self.counts.latencies_ns.push(counted(e.latency_ns.unsigned_abs()));
        }
    }

    #[inline]
    fn overtaken(&mut self, latency_ns: u64) {
        self.counts.overtaken += 1;
        self.counts.latencies_ns.push(counted(latency_ns));
    }
}
