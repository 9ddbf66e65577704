// SPDX-License-Identifier: GPL-2.0-only
//! What it costs to tell WALT an event.
//!
//! Four CPUs and forty tasks; wakeups, switches and ticks of a schedule that is written down before the clock runs. The
//! figures depend on the machine; the hash is of all accounts at the end and does not.
//!
//! `cargo bench -p idlewise-signal --bench telling`

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

use std::time::Instant;

use common::{BIG, Chance, GHZ, started};
use idlewise_signal::walt::{Config, Walt};

const ROUNDS: usize = 9;
const EVENTS: usize = 2_000_000;
const CPUS: u32 = 4;
const TASKS: u32 = 40;

#[derive(Clone, Copy)]
enum Event {
    Tick { cpu: u32 },
    Wake { task: u32, cpu: u32 },
    Switch { cpu: u32, next: u32, sleeps: bool },
    Frequency { cpu: u32, khz: u32 },
}

fn schedule() -> Vec<(u64, Event)> {
    let mut chance = Chance::new(1);
    let mut now_ns = 0;
    (0..EVENTS)
        .map(|_| {
            now_ns += chance.below(100_000);
            let cpu = chance.small(CPUS);
            let task = CPUS + cpu + CPUS * chance.small(TASKS / CPUS);
            let event = match chance.below(20) {
                0..=4 => Event::Tick { cpu },
                5..=9 => Event::Wake { task, cpu },
                10..=14 => Event::Switch { cpu, next: task, sleeps: task % 8 < 6 },
                15..=18 => Event::Switch { cpu, next: cpu, sleeps: true },
                _ => Event::Frequency { cpu, khz: GHZ / 4 * (1 + chance.small(4)) },
            };
            (now_ns, event)
        })
        .collect()
}

fn play(config: Config, schedule: &[(u64, Event)]) -> Walt {
    let mut walt = started(config, &[BIG; CPUS as usize]);
    for task in 0..TASKS {
        walt.add_task(task % CPUS, None).unwrap();
    }
    for (now_ns, event) in schedule {
        match *event {
            Event::Tick { cpu } => walt.tick(cpu, *now_ns),
            Event::Wake { task, cpu } => walt.wake(task, cpu, *now_ns),
            Event::Switch { cpu, next, sleeps } => walt.switch(cpu, next, sleeps, *now_ns),
            Event::Frequency { cpu, khz } => walt.set_frequency(cpu, khz, *now_ns),
        }
        .unwrap();
    }
    walt
}

/// FNV-1a over all accounts as text.
fn hash(walt: &Walt) -> u64 {
    let tasks: Vec<_> = (0..CPUS + TASKS).map(|t| walt.task(t)).collect();
    let text = format!("{:?}{tasks:?}", walt.cpus());
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

fn main() {
    let schedule = schedule();
    for (name, config) in [("android", Config::android()), ("rfc", Config::rfc())] {
        let (mut best, mut end) = (f64::INFINITY, 0);
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            let walt = play(config, &schedule);
            best = best.min(begin.elapsed().as_secs_f64());
            end = hash(&walt);
        }
        let ns = best * 1e9 / EVENTS as f64;
        println!("{name:8} {ns:6.1} ns an event, {:5.1} million a second; accounts {end:016x}", 1e3 / ns);
    }
}
