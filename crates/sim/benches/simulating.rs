// SPDX-License-Identifier: GPL-2.0-only
//! How fast time passes in the simulator: events a second and core, simulated seconds a wall second.
//!
//! A machine with two CPUs and a task on each that sleeps for 500 us and works for 100, with and without a kernel's own
//! costs, under governors of different weight. The figures depend on the machine; the hash is of the outcome and does
//! not. Beside it the least that any event simulation of it must do, in SimPy (`benches/peers/toy_simpy.py`): Python with
//! the module simpy, `IDLEWISE_PYTHON` or python3.
//!
//! `cargo bench -p idlewise-sim --bench simulating`

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark looks at the clock, prints, and stops where something is wrong"
)]

// No other crate uses it, and a kit with it would make the tests of others wait for this crate.
#[path = "../tests/common.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod common;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;
use std::time::Instant;

use common::{MS, Nobody, US, platform, setting, sleep, task, work, workload};
use idlewise_governor::{Instance, Spec};
use idlewise_parts::{Costs, Machine};
use idlewise_sim::simulate;

const ROUNDS: usize = 5;

fn main() {
    println!("two CPUs, two tasks that sleep and work; best of {ROUNDS} rounds of 100 s each\n");
    println!("{:<10} {:<6} {:>12} {:>14} {:>12}  hash", "governor", "costs", "events", "events/s", "s per s");
    for name in ["shallow", "teo-6.1", "menu"] {
        for costs in [Costs::NONE, Costs::default()] {
            measure(name, costs);
        }
    }
    println!("\n{}", simpy().unwrap_or_else(|| {
        "SimPy: not run; `pip install simpy` for python3, or name an interpreter that has it in IDLEWISE_PYTHON".to_owned()
    }));
}

/// SimPy's figures for its smaller model.
fn simpy() -> Option<String> {
    let python = std::env::var("IDLEWISE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/peers/toy_simpy.py");
    let mut best: Option<(f64, f64)> = None;
    for _ in 0..ROUNDS {
        let out = Command::new(&python).args([model, "20"]).output().ok().filter(|o| o.status.success())?;
        let text = String::from_utf8(out.stdout).ok()?;
        let numbers: Vec<f64> = text.split_whitespace().map(|n| n.parse().unwrap()).collect();
        let [events, end_ns, seconds] = numbers[..] else { return None };
        let new = (events / seconds, end_ns / 1e9 / seconds);
        best = Some(best.map_or(new, |old| if old.0 > new.0 { old } else { new }));
    }
    best.map(|(events, pace)| format!("{:<17} {:>12} {events:>14.0} {pace:>12.0}", "SimPy, toy model", ""))
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
