// SPDX-License-Identifier: GPL-2.0-only
//! The machines on which governors are checked: made tables of idle states, with what drivers have and what they could have.

use idlewise_model::{IdleState, IdleTable, TickGrid};

/// A CPU's idle states and its kernel's tick.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// What is special about it.
    pub(crate) name: &'static str,
    pub(crate) table: IdleTable,
    pub(crate) hz: u32,
    /// Capacity of its CPUs, 1024 for the biggest of a machine.
    pub(crate) capacity: u32,
}

/// Exit latency and target residency of each state, ns. A first state with 0 for both polls.
type Rows = &'static [(i64, i64)];

/// Name, HZ, capacity, states.
const MACHINES: [(&str, u32, u32, Rows); 12] = [
    ("one state", 250, 1024, &[(1_000, 1_000)]),
    ("one polling state", 250, 1024, &[(0, 0)]),
    ("two states", 250, 1024, &[(1_000, 1_000), (150_000, 900_000)]),
    ("two states, one polls", 250, 1024, &[(0, 0), (1_000, 1_000)]),
    ("three states", 250, 400, &[(1_000, 1_000), (150_000, 900_000), (1_200_000, 6_000_000)]),
    ("four states, one polls", 250, 1024, &[(0, 0), (2_000, 2_000), (33_000, 60_000), (133_000, 600_000)]),
    ("states for short ticks", 1000, 1024, &[(1_000, 1_000), (40_000, 100_000), (230_000, 2_000_000)]),
    ("states for long ticks", 100, 1024, &[(0, 0), (2_000, 2_000), (40_000, 100_000), (500_000, 9_000_000)]),
    (
        "equal residencies",
        250,
        1024,
        &[(0, 0), (2_000, 20_000), (10_000, 20_000), (133_000, 600_000), (200_000, 600_000)],
    ),
    ("all residencies equal", 250, 1024, &[(1_000, 5_000), (2_000, 5_000), (3_000, 5_000)]),
    ("equal latencies", 250, 1024, &[(2_000, 2_000), (2_000, 60_000), (2_000, 6_000_000)]),
    (
        "ten states",
        250,
        1024,
        &[
            (0, 0),
            (1_000, 1_000),
            (2_000, 4_000),
            (10_000, 20_000),
            (33_000, 60_000),
            (70_000, 100_000),
            (133_000, 600_000),
            (200_000, 800_000),
            (900_000, 6_000_000),
            (3_000_000, 20_000_000),
        ],
    ),
];

impl Machine {
    /// The machines of every check, in the order of reports.
    pub(crate) fn all() -> Vec<Self> {
        let machine = |(name, hz, capacity, rows): (&'static str, u32, u32, Rows)| {
            let state = |(i, &(exit_latency_ns, target_residency_ns)): (usize, &(i64, i64))| {
                let polling = i == 0 && exit_latency_ns == 0 && target_residency_ns == 0;
                let name = if polling { "POLL".to_owned() } else { format!("C{i}") };
                IdleState {
                    name,
                    exit_latency_ns,
                    target_residency_ns,
                    entry_ns: exit_latency_ns / 2,
                    polling,
                    disabled: false,
                }
            };
            let table = IdleTable::new(rows.iter().enumerate().map(state).collect());
            let Ok(table) = table else { unreachable!("the states of {name} are in order") };
            Self { name, table, hz, capacity }
        };
        MACHINES.into_iter().map(machine).collect()
    }

    /// The kernel's `TICK_NSEC`.
    pub(crate) fn tick_ns(&self) -> u64 {
        TickGrid::period_of(self.hz)
    }
}
