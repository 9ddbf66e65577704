// SPDX-License-Identifier: GPL-2.0-only
//! Machines, and the lives of CPUs on them, good and absurd.
#![allow(unreachable_pub, reason = "every test uses its part")]

use idlewise_governor::{Choice, Inputs, Instance, Slot, Spec};
use idlewise_model::{IdleState, IdleTable, NO_LATENCY_LIMIT_NS};

pub const TICK_NS: u64 = 4_000_000;

/// Values at which arithmetic goes wrong if it can.
pub const EDGES: [i64; 16] = [
    0,
    1,
    -1,
    -1_000_000_000,
    i64::MIN,
    i64::MIN + 1,
    i64::MAX,
    i64::MAX - 1,
    1 << 31,
    1 << 32,
    1 << 51,
    15_000,
    2_000_000,
    3_999_999,
    4_000_000,
    50_000_000,
];

/// A seeded source of anything.
pub struct Chance(u64);

impl Chance {
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        (self.draw() >> 16) % limit
    }

    /// Mostly a plausible time, of any magnitude up to ten seconds, at times an edge.
    pub fn time(&mut self) -> i64 {
        if self.below(8) == 0 {
            return EDGES[self.below(EDGES.len() as u64) as usize];
        }
        let magnitude = 10_u64.pow(self.below(11) as u32);
        self.below(magnitude).cast_signed()
    }
}

pub fn state(exit_us: i64, residency_us: i64) -> IdleState {
    IdleState {
        name: format!("S{residency_us}"),
        exit_latency_ns: exit_us * 1000,
        target_residency_ns: residency_us * 1000,
        entry_ns: 0,
        polling: residency_us == 0,
        disabled: false,
    }
}

pub fn table(states: &[(i64, i64)]) -> IdleTable {
    IdleTable::new(states.iter().map(|s| state(s.0, s.1)).collect()).unwrap()
}

pub fn tables() -> Vec<IdleTable> {
    vec![
        table(&[(1, 1)]),
        table(&[(0, 0)]),
        table(&[(0, 0), (1, 1)]),
        table(&[(1, 1), (300, 1200)]),
        table(&[(1, 1), (370, 900), (900, 2000)]),
        table(&[
            (0, 0),
            (2, 2),
            (10, 20),
            (70, 100),
            (85, 200),
            (124, 800),
            (200, 800),
            (480, 5000),
            (890, 5000),
        ]),
        table(&[(5, 100), (5, 100), (5, 100), (5, 100)]),
        table(&[
            (0, 0),
            (1, 1),
            (2, 4),
            (3, 9),
            (10, 40),
            (50, 200),
            (100, 900),
            (400, 3000),
            (900, 9000),
            (3000, 90_000),
        ]),
    ]
}

/// One step in the life of a CPU.
#[derive(Clone)]
pub struct Step {
    pub inputs: Inputs,
    pub disabled: u16,
    pub stay_ns: i64,
    pub got_tick: bool,
    pub poll_time_limit: bool,
    pub rejected: bool,
    pub demoted: bool,
}

pub fn story(seed: u64, steps: usize) -> Vec<Step> {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut now_ns = 0_u64;
    let mut disabled = 0;
    let mut step = || {
        let c = &mut chance;
        now_ns = now_ns.wrapping_add_signed(c.time());
        if c.below(16) == 0 {
            disabled = match c.below(3) {
                0 => 0,
                1 => u16::MAX,
                _ => c.draw() as u16,
            };
        }
        let limits = [NO_LATENCY_LIMIT_NS, NO_LATENCY_LIMIT_NS, 0, 8_000, 300_000];
        Step {
            inputs: Inputs {
                now_ns,
                sleep_length_ns: c.time(),
                delta_tick_ns: c.time(),
                latency_limit_ns: limits[c.below(limits.len() as u64) as usize],
                util: c.below(1025) as u32,
                iowait: c.below(4) as u32,
                random: c.draw() as u32,
                tick_stopped: c.below(4) == 0,
            },
            disabled,
            stay_ns: c.time(),
            got_tick: c.below(5) == 0,
            poll_time_limit: c.below(5) == 0,
            rejected: c.below(20) == 0,
            demoted: c.below(10) == 0,
        }
    };
    (0..steps).map(|_| step()).collect()
}

pub fn live(governor: &mut Instance, slot: Slot, step: &Step) -> Choice {
    governor.set_disabled(slot, step.disabled);
    let choice = governor.select(slot, &step.inputs);
    let device = governor.device(slot);
    device.got_tick |= step.got_tick;
    device.poll_time_limit = step.poll_time_limit;
    device.last_residency_ns = if step.rejected { 0 } else { step.stay_ns };
    if !step.rejected {
        let entered = if step.demoted { 0 } else { usize::try_from(choice.index).unwrap_or(0) };
        governor.reflect(slot, entered, step.inputs.now_ns.wrapping_add_signed(step.stay_ns));
    }
    choice
}

pub fn live_all(governor: &mut Instance, slot: Slot, story: &[Step]) -> Vec<Choice> {
    story.iter().map(|s| live(governor, slot, s)).collect()
}

pub fn load(id: &str) -> Instance {
    Instance::load(&Spec::new(id), TICK_NS).unwrap_or_else(|e| panic!("{id}: {e}"))
}
