// SPDX-License-Identifier: GPL-2.0-only
//! One governor's run cut into waits: what it did, and what that cost, until each of the workload's events came.
//!
//! Two governors ask at different times and different numbers of times, but they wait for the same events. So events
//! are where their runs can be laid side by side.

use idlewise_model::{Entry, IdleTable, Ledger, Miss, Outcome, TickChoice, WakeCause};
use idlewise_platform::EnergyTable;
use idlewise_replay::WorkloadEvent;
use idlewise_score::entry_fj;

/// What a governor did until one event came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Number of its first decision, counted from 0 for each CPU; there are `asks` of them.
    pub(crate) first: u64,
    /// How often it was asked; 0 where the event came during the exit for another one.
    pub(crate) asks: u32,
    /// The state of its first choice.
    pub(crate) state: u8,
    /// The tick went on running after its first choice.
    pub(crate) tick_kept: bool,
    /// "Too deep" verdicts.
    pub(crate) above: u16,
    /// "Too shallow" verdicts.
    pub(crate) below: u16,
    /// How long the event had to wait for the CPU, ns.
    pub(crate) latency_ns: u32,
    /// Energy, fJ or the table's relative equivalent.
    pub(crate) energy_fj: u128,
}

/// Sorts a run's entries by the event that they wait for.
pub(crate) struct Waits<'w> {
    events: &'w [WorkloadEvent],
    table: &'w IdleTable,
    energy: &'w EnergyTable,
    decisions: u64,
    /// One for each event up to the last that was waited for.
    waits: Vec<Wait>,
}

impl<'w> Waits<'w> {
    pub(crate) fn new(events: &'w [WorkloadEvent], table: &'w IdleTable, energy: &'w EnergyTable) -> Self {
        Self { events, table, energy, decisions: 0, waits: Vec::with_capacity(events.len()) }
    }

    /// One for each event.
    pub(crate) fn finish(mut self) -> Vec<Wait> {
        self.waits.resize(self.events.len(), Wait::default());
        self.waits
    }

    /// The wait for the first event that is not over at `at_ns`.
    fn wait_at(&mut self, at_ns: u64) -> Option<&mut Wait> {
        let known = self.waits.len().saturating_sub(1);
        let ahead = self.events.get(known..).unwrap_or_default();
        let skipped = ahead.iter().take_while(|e| e.at_ns < at_ns).count();
        let number = known + skipped;
        if number >= self.events.len() {
            return None;
        }
        self.waits.resize(number + 1, Wait::default());
        self.waits.last_mut()
    }
}

impl Ledger for Waits<'_> {
    fn entry(&mut self, e: &Entry) {
        let energy_fj = entry_fj(self.table, self.energy, e);
        let number = self.decisions;
        self.decisions += 1;
        let Some(wait) = self.wait_at(e.start_ns) else { return };
        if wait.asks == 0 {
            (wait.first, wait.state, wait.tick_kept) = (number, e.selected, e.tick == TickChoice::Kept);
        }
        wait.asks += 1;
        wait.energy_fj += energy_fj;
        match e.outcome {
            Outcome::Stayed { miss: Miss::Above, .. } => wait.above = wait.above.saturating_add(1),
            Outcome::Stayed { miss: Miss::Below, .. } => wait.below = wait.below.saturating_add(1),
            Outcome::Stayed { miss: Miss::None, .. } | Outcome::Rejected => {}
        }
        if !matches!(e.cause, WakeCause::Tick | WakeCause::PollLimit) {
            wait.latency_ns = u32::try_from(e.latency_ns).unwrap_or(u32::MAX);
        }
    }

    fn overtaken(&mut self, latency_ns: u64) {
        // It belongs to the event after the last one that was waited for.
        let next = self.waits.len();
        if next < self.events.len() {
            let latency_ns = u32::try_from(latency_ns).unwrap_or(u32::MAX);
            self.waits.push(Wait { latency_ns, ..Wait::default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use idlewise_governor::{Instance, Spec};
    use idlewise_idle::{Hosted, NEVER_AT_NS};
    use idlewise_model::{IdleState, TickGrid};
    use idlewise_platform::Fall;
    use idlewise_replay::{Setting, Workload, run};

    const TICK_NS: u64 = 4_000_000;

    fn table() -> IdleTable {
        let state = |us: i64| IdleState {
            name: format!("S{us}"),
            exit_latency_ns: us * 300,
            target_residency_ns: us * 1000,
            entry_ns: 0,
            polling: false,
            disabled: false,
        };
        IdleTable::new(vec![state(1), state(1000)]).unwrap()
    }

    /// Each begins 10 us after the one before was over; an interrupt that no timer announced.
    fn workload(waits_ns: &[u64]) -> Workload {
        let mut now_ns = 100_000;
        let event = |wait_ns: &u64| {
            let start_ns = now_ns;
            now_ns += wait_ns + 10_000;
            WorkloadEvent {
                start_ns,
                at_ns: start_ns + wait_ns,
                hrtimer_at_ns: NEVER_AT_NS,
                wheel_at_ns: NEVER_AT_NS,
                exit_lag_ns: 0,
                response_ns: 0,
                handler_ns: 1_000,
                entry_lag_ns: 0,
                util: 0,
                iowait: 0,
                state: 0,
                cause: WakeCause::Irq,
                visit_start: true,
                visit_end: true,
                tick_needed_ns: 0,
            }
        };
        Workload {
            cpu: 0,
            grid: TickGrid::from_hz(250),
            tick_handler_ns: 2_000,
            events: waits_ns.iter().map(event).collect(),
            latency: Vec::new(),
            disabled: Vec::new(),
        }
    }

    fn waits(governor: &str, workload: &Workload) -> Vec<Wait> {
        let table = table();
        let energy = EnergyTable::derived(&table, &[], Fall::Geometric).unwrap();
        let mut instance = Instance::load(&governor.parse::<Spec>().unwrap(), TICK_NS).unwrap();
        let slot = instance.add_cpu(0, &table, 1024).unwrap();
        let mut ledger = Waits::new(&workload.events, &table, &energy);
        let setting = Setting { same_machine: false, seed: 0 };
        run(workload, &table, 1024, setting, &mut Hosted::new(&mut instance, slot), &mut ledger);
        ledger.finish()
    }

    #[test]
    fn every_wait_has_its_asks_and_its_costs() {
        // The third event comes while the deep state is being left for the second.
        let workload = workload(&[20_000_000, 2_000_000, 100_000, 500_000]);
        let deep = waits("deepest", &workload);
        assert_eq!(deep.iter().map(|w| w.asks).collect::<Vec<_>>(), [1, 1, 0, 1]);
        assert_eq!(deep.iter().map(|w| w.first).collect::<Vec<_>>(), [0, 1, 0, 2]);
        assert_eq!((deep[0].latency_ns, deep[0].state, deep[0].tick_kept), (300_000, 1, false));
        assert_eq!((deep[3].above, deep[0].below), (1, 0));
        let ticking = waits("shallow:stop_tick=0", &workload);
        assert_eq!(ticking[0].asks, 6, "five ticks on the way");
        assert!(ticking[0].tick_kept && ticking[0].below > 0);
        assert!(ticking[0].energy_fj > deep[0].energy_fj);
    }
}
