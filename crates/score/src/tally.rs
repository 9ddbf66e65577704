// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_model::{Breach, Counted, Entry, IdleTable, Ledger, MAX_STATES, Miss, Outcome, WakeCause};
use idlewise_platform::EnergyTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was counted in one idle state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateTally {
    /// Idle periods by the core's verdict, in the order of [`Miss`]; refused entries are not among them.
    pub verdicts: [u64; 3],
    /// Time in the state as the kernel measures it, ns.
    pub residency_ns: u64,
    /// Time that costs the state's power, ns: from each entry to the wake, the way in at the least.
    pub powered_ns: u64,
    pub rejected: u64,
}

impl StateTally {
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.verdicts.iter().sum()
    }

    #[must_use]
    pub fn above(&self) -> u64 {
        self.verdicts[Miss::Above as usize]
    }

    #[must_use]
    pub fn below(&self) -> u64 {
        self.verdicts[Miss::Below as usize]
    }
}

/// How many choices the core carried out although something was wrong with them ([`idlewise_model::Breach`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Breaches {
    /// Of a state that was switched off, although another was on.
    pub disabled: u64,
    /// Of a state above the latency limit, although one that was on kept it.
    pub over_limit: u64,
    /// Of no state of the table; the nearest was taken.
    pub no_state: u64,
}

impl Breaches {
    #[cold]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Unplaced {
    pub entries: u64,
    /// How long together, ns.
    pub residency_ns: u64,
}

/// Counts of one CPU's ledger, which can travel without the tables that they were counted by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// By entered state; refused entries count with the selected one.
    pub states: [StateTally; MAX_STATES],
    /// Idle periods by what ended them, in the order of [`WakeCause::ALL`].
    pub causes: [u64; WakeCause::ALL.len()],
    /// Idle periods by what became of the tick at their entry, in the order of [`idlewise_model::TickChoice`].
    pub ticks: [u64; 4],
    /// Choices with which something was wrong.
    pub breaches: Breaches,
    /// Time from refused entries to the refusal, ns.
    pub rejected_ns: u64,
    /// By state: what is in none of the other counts, since nothing can judge it.
    pub unplaced: BTreeMap<u8, Unplaced>,
    /// Time awake for the tick alone, ns.
    pub tick_ns: u64,
    /// Time that CPUs ran for the idle loop alone, ns.
    pub loop_ns: u64,
    /// Wakeup latency of every wake that was not the tick or the poll limit, and of events that came during an exit, ns.
    pub latencies_ns: Counted,
    /// Events that came while the CPU was still on its way out of a state.
    pub overtaken: u64,
}

impl Counts {
    /// Energy by `energy` of what was counted, fJ or the table's relative equivalent.
    #[must_use]
    pub fn energy_fj(&self, energy: &EnergyTable) -> u128 {
        let periods = energy.states.iter().zip(&self.states).map(|(costs, s)| {
            u128::from(costs.transition_fj) * u128::from(s.entries())
                + u128::from(costs.power_uw) * u128::from(s.powered_ns)
        });
        periods.sum::<u128>() + energy.active_fj(self.tick_ns + self.rejected_ns + self.loop_ns)
    }
}

/// Counts the ledger of one CPU.
#[derive(Clone, Debug)]
pub struct Tally<'t> {
    table: &'t IdleTable,
    energy: &'t EnergyTable,
    /// How many states there are.
    len: usize,
    /// The way into each, ns; not below 0.
    entry_ns: [i64; MAX_STATES],
    pub counts: Counts,
}

impl<'t> Tally<'t> {
    /// An empty tally of a CPU with these states.
    #[must_use]
    pub fn new(table: &'t IdleTable, energy: &'t EnergyTable) -> Self {
        let mut entry_ns = [0; MAX_STATES];
        for (to, state) in entry_ns.iter_mut().zip(table.states()) {
            *to = state.entry_ns.max(0);
        }
        Self { table, energy, len: table.len(), entry_ns, counts: Counts::default() }
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

    /// Energy of the idle periods, of refused entries, of the idle loop and of being awake for the tick alone, fJ or the table's relative
    /// equivalent: the sum of [`entry_fj`] of all entries.
    #[must_use]
    pub fn energy_fj(&self) -> u128 {
        self.counts.energy_fj(self.energy)
    }
}

/// Energy of one idle period, of the idle loop around it and of being awake for the tick alone after it, fJ or the table's relative
/// equivalent. A CPU whose entry is refused runs until then.
#[inline]
#[must_use]
pub fn entry_fj(table: &IdleTable, energy: &EnergyTable, e: &Entry) -> u128 {
    let loop_ns = u64::from(e.loop_ns);
    let Outcome::Stayed { entered, .. } = e.outcome else {
        return energy.active_fj(e.wake_ns.max(0).unsigned_abs() + loop_ns);
    };
    let entered = usize::from(entered);
    let entry_ns = table.states().get(entered).map_or(0, |s| s.entry_ns.unsigned_abs());
    energy.stay_fj(entered, e.wake_ns.max(0).unsigned_abs(), entry_ns)
        + energy.active_fj(e.tick_ns.max(0).unsigned_abs() + loop_ns)
}

/// A latency as it is counted: one of more than 4.29 s, which a recording may well have, as that.
fn counted(latency_ns: u64) -> u32 {
    latency_ns.min(u32::MAX.into()) as u32
}

impl Tally<'_> {
    #[cold]
    fn unplaced(&mut self, state: u8, residency_ns: i64) {
        let unplaced = self.counts.unplaced.entry(state).or_default();
        unplaced.entries += 1;
        unplaced.residency_ns += residency_ns.max(0).unsigned_abs();
    }

    #[cold]
    fn rejected(&mut self, e: &Entry) {
        if usize::from(e.selected) >= self.table.len() {
            return self.unplaced(e.selected, e.residency_ns);
        }
        self.counts.breaches.add(e.breach);
        self.counts.states[usize::from(e.selected)].rejected += 1;
        self.counts.rejected_ns += e.wake_ns.max(0).unsigned_abs();
        self.counts.loop_ns += u64::from(e.loop_ns);
    }
}

impl Ledger for Tally<'_> {
    /// In line with the loop, most of an entry is never written down.
    #[inline(always)]
    fn entry(&mut self, e: &Entry) {
        let Outcome::Stayed { entered, miss } = e.outcome else { return self.rejected(e) };
        let entered = usize::from(entered);
        if entered >= self.len {
            return self.unplaced(entered as u8, e.residency_ns);
        }
        let counts = &mut self.counts;
        if e.breach != Breach::default() {
            counts.breaches.add(e.breach);
        }
        counts.loop_ns += u64::from(e.loop_ns);
        counts.ticks[e.tick as usize] += 1;
        counts.causes[e.cause as usize] += 1;
        let s = &mut counts.states[entered];
        s.verdicts[miss as usize] += 1;
        s.residency_ns += e.residency_ns.max(0).unsigned_abs();
        s.powered_ns += e.wake_ns.max(self.entry_ns[entered]).cast_unsigned();
        match e.cause {
            WakeCause::Tick => counts.tick_ns += e.tick_ns.max(0).unsigned_abs(),
            WakeCause::PollLimit => {}
            _ => {
                assert!(
                    e.latency_ns >= 0,
                    "CPU {} at {} ns: awake {} ns before its wake",
                    e.cpu,
                    e.start_ns,
                    -e.latency_ns
                );
                counts.latencies_ns.push(counted(e.latency_ns.unsigned_abs()));
            }
        }
    }

    #[inline]
    fn overtaken(&mut self, latency_ns: u64) {
        self.counts.overtaken += 1;
        self.counts.latencies_ns.push(counted(latency_ns));
    }
}
