// SPDX-License-Identifier: GPL-2.0-only
//! How fast time passes in the simulator: events a second and core, simulated seconds a wall second.
//!
//! A machine with two CPUs and a task on each that sleeps for 500 us and works for 100, with and without a kernel's own
//! costs, under governors of different weight. The figures depend on the machine; the hash is of the outcome and does
//! not.
//!
//! `cargo bench -p idlewise-sim --bench simulating`

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark looks at the clock, prints, and stops where something is wrong"
)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use common::{MS, Nobody, US, platform, setting, sleep, task, work, workload};
use idlewise_governor::{Instance, Spec};
use idlewise_sim::{Costs, Machine, simulate};

const ROUNDS: usize = 5;

fn main() {
    println!("two CPUs, two tasks that sleep and work; best of {ROUNDS} rounds of 100 s each\n");
    println!("{:<10} {:<6} {:>12} {:>14} {:>12}  hash", "governor", "costs", "events", "events/s", "s per s");
    for name in ["shallow", "teo-6.1", "menu"] {
        for costs in [Costs::NONE, Costs::default()] {
            measure(name, costs);
        }
    }
}

fn measure(name: &str, costs: Costs) {
    let platform = platform(2);
    let machine = Machine { costs, ..Machine::new(&platform, 250, None) };
    let events = || vec![work(100 * US), sleep(500 * US)];
    let load = workload(vec![task("a", events()), task("b", events())]);
    let setting = setting(100_000);
    let spec: Spec = name.parse().unwrap();
    let mut best = f64::MAX;
    let mut out = None;
    for _ in 0..ROUNDS {
        let mut governor = Instance::load(&spec, machine.grid.period_ns).unwrap();
        let begin = Instant::now();
        let result = simulate(&machine, &load, &setting, &mut governor, &mut Nobody).unwrap();
        best = best.min(begin.elapsed().as_secs_f64());
        out = Some(result);
    }
    let out = out.unwrap();
    let mut hash = DefaultHasher::new();
    (out.events, out.decisions, out.end_ns, &out.busy_ns, &out.energy.idle_fj).hash(&mut hash);
    let costs = if costs == Costs::NONE { "none" } else { "all" };
    println!(
        "{name:<10} {costs:<6} {:>12} {:>14.0} {:>12.0}  {:016x}",
        out.events,
        out.events as f64 / best,
        out.end_ns as f64 / (1000 * MS) as f64 / best,
        hash.finish()
    );
}
