// SPDX-License-Identifier: GPL-2.0-only
//! What one decision (select and reflect) costs, for each governor: ns, median of several rounds.
#![expect(clippy::print_stdout, reason = "the output is the result")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]
#![expect(clippy::unwrap_used, reason = "a broken set-up shall stop it")]

use std::time::Instant;

use idlewise_governor::{Inputs, Instance, Spec, catalog};
use idlewise_model::{IdleState, IdleTable, NO_LATENCY_LIMIT_NS};

const TICK_NS: u64 = 4_000_000;
const STEPS: usize = 4096;
const REPEAT: usize = 50;
const ROUNDS: usize = 9;

/// Exit latency and target residency of each state, us; (0, 0) polls.
fn table(states: &[(i64, i64)]) -> IdleTable {
    let state = |(exit, residency): &(i64, i64)| IdleState {
        name: format!("S{residency}"),
        exit_latency_ns: exit * 1000,
        target_residency_ns: residency * 1000,
        entry_ns: 0,
        polling: *residency == 0,
        disabled: false,
    };
    IdleTable::new(states.iter().map(state).collect()).unwrap()
}

/// A step: what the governor may ask, and how long the CPU then sleeps, ns.
fn steps() -> Vec<(Inputs, i64)> {
    let mut seed = 1_u64;
    let mut draw = |limit: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 33) % limit).cast_signed()
    };
    let mut now_ns = 0;
    let mut step = || {
        let magnitude = 10 + draw(16);
        let sleep = draw(1 << magnitude);
        let stay = if draw(3) == 0 { draw(sleep.unsigned_abs() + 1) } else { sleep };
        let util = u32::try_from(draw(64)).unwrap();
        let iowait = u32::from(draw(8) == 0);
        now_ns += 20_000_000;
        let inputs = Inputs {
            now_ns,
            sleep_length_ns: sleep,
            delta_tick_ns: sleep.min(draw(TICK_NS)),
            latency_limit_ns: NO_LATENCY_LIMIT_NS,
            util,
            iowait,
            random: 0,
            tick_stopped: false,
        };
        (inputs, stay)
    };
    (0..STEPS).map(|_| step()).collect()
}

/// One round, ns a decision, and a sum that depends on every choice.
fn round(id: &str, table: &IdleTable, steps: &[(Inputs, i64)]) -> (f64, u64) {
    let mut governor = Instance::load(&Spec::new(id), TICK_NS).unwrap();
    let slot = governor.add_cpu(0, table, 1024).unwrap();
    let mut sum = 0_u64;
    let start = Instant::now();
    for _ in 0..REPEAT {
        for (inputs, stay) in steps {
            let choice = governor.select(slot, inputs);
            sum = sum
                .wrapping_mul(31)
                .wrapping_add(u64::from(choice.index.unsigned_abs()) * 2 + u64::from(choice.stop_tick));
            governor.device(slot).last_residency_ns = *stay;
            governor.reflect(slot, choice.index.unsigned_abs() as usize, inputs.now_ns + stay.unsigned_abs());
        }
    }
    (start.elapsed().as_nanos() as f64 / (REPEAT * steps.len()) as f64, sum)
}

fn main() {
    let rk3399 = table(&[(1, 1), (370, 900), (900, 2000)]);
    let nine = table(&[
        (0, 0),
        (2, 2),
        (10, 20),
        (70, 100),
        (85, 200),
        (124, 800),
        (200, 800),
        (480, 5000),
        (890, 5000),
    ]);
    let steps = steps();
    for (name, table) in [("3 states (rk3399-like)", &rk3399), ("9 states (client-like)", &nine)] {
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); catalog().len()];
        let mut sums = vec![0; catalog().len()];
        // Interleaved, so that a slow phase of the machine hits all alike.
        for _ in 0..ROUNDS {
            for ((times, sum), info) in times.iter_mut().zip(&mut sums).zip(catalog()) {
                let (ns, s) = round(info.id, table, &steps);
                times.push(ns);
                *sum = s;
            }
        }
        let medians: Vec<f64> = times
            .iter_mut()
            .map(|t| {
                t.sort_by(f64::total_cmp);
                t[ROUNDS / 2]
            })
            .collect();
        let base = catalog().iter().zip(&medians).find(|(i, _)| i.id == "teo-6.1").map_or(1.0, |(_, m)| *m);
        println!("{name}: select + reflect, median of {ROUNDS} rounds of {} decisions", REPEAT * STEPS);
        println!(
            "{:<12} {:>8} {:>8} {:>12} {:>18}",
            "governor", "ns", "million/s", "vs teo-6.1", "hash of choices"
        );
        for ((info, median), sum) in catalog().iter().zip(&medians).zip(&sums) {
            println!(
                "{:<12} {median:>8.1} {:>8.1} {:>12.2} {sum:>18x}",
                info.id,
                1000.0 / median,
                median / base
            );
        }
    }
    let start = Instant::now();
    for _ in 0..200 {
        let _ = Instance::load(&Spec::new("teo-6.1"), TICK_NS).unwrap();
    }
    println!("load and drop an instance: {:.1} us", start.elapsed().as_nanos() as f64 / 200.0 / 1000.0);
}
