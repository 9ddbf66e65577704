// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{Entry, Ledger};
use idlewise_parts::{Machine, Watch};
use idlewise_score::{Counts, Tally};

/// A tally for each CPU of a simulated machine.
pub(crate) struct Books<'m> {
    tallies: Vec<Tally<'m>>,
    /// The place of each CPU number; that of a number which no CPU has is none.
    places: Vec<usize>,
}

impl<'m> Books<'m> {
    pub(crate) fn new(machine: &Machine<'m>) -> Self {
        let tally = |c: &idlewise_parts::CpuSpec<'m>| {
            // Idle energy is counted by the simulator, at the clock of the moment; this is of the table.
            Tally::new(c.table, &machine.clusters[c.cluster].energy)
        };
        let most = machine.cpus.iter().map(|c| c.number as usize + 1).max().unwrap_or(0);
        let mut places = vec![usize::MAX; most];
        for (place, cpu) in machine.cpus.iter().enumerate() {
            places[cpu.number as usize] = place;
        }
        Self { tallies: machine.cpus.iter().map(tally).collect(), places }
    }

    /// What was counted, by place.
    pub(crate) fn counts(self) -> Vec<Counts> {
        let counts = |mut t: Tally<'_>| {
            t.counts.latencies_ns.settle();
            t.counts
        };
        self.tallies.into_iter().map(counts).collect()
    }
}

impl Ledger for Books<'_> {
    #[inline]
    fn entry(&mut self, entry: &Entry) {
        self.tallies[self.places[entry.cpu as usize]].entry(entry);
    }
}

impl Watch for Books<'_> {}
