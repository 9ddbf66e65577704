// SPDX-License-Identifier: GPL-2.0-only
//! What it costs to ask a frequency governor: a call of the hook, of sched-freq's events, of interactive's timer, on a clock
//! that four CPUs share, with utilisation that wanders. The figures depend on the machine; the hash is of the clocks chosen and
//! does not.
//!
//! `cargo bench -p idlewise-freq --bench asking`

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark looks at the clock, prints, and stops where something is wrong"
)]

use std::time::Instant;

use idlewise_freq::{Change, Driver, Event, Hook, Limits, Need, Policy, Setup, Signals, Table, list};

const ROUNDS: usize = 7;
const CALLS: u64 = 1_000_000;

/// Four CPUs whose utilisation wanders with time.
struct Wander(u64);

impl Wander {
    fn at(&self, cpu: u32) -> u64 {
        let x = (self.0 / 3_000_000).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(cpu * 16);
        x >> 54
    }
}

impl Signals for Wander {
    fn capacity(&self, _: u32) -> u64 {
        1024
    }
    fn need(&self, cpu: u32) -> Need {
        Need { util: self.at(cpu), min: 0, max: 1024 }
    }
    fn freq_util(&self, cpu: u32) -> u64 {
        self.at(cpu)
    }
    fn util(&self, cpu: u32) -> u64 {
        self.at(cpu)
    }
    fn idle_calls(&self, _: u32) -> u64 {
        self.0 >> 22
    }
    fn idle_ns(&self, cpu: u32, now_ns: u64) -> u64 {
        now_ns / (u64::from(cpu) + 2)
    }
}

fn policy(id: &str) -> Policy {
    let driver =
        Driver { transition_latency_ns: 500_000, fast_switch: true, any_cpu: true, ..Driver::default() };
    let table = Table::new((1..=20).map(|k| k * 140_000).collect()).unwrap();
    let setup = Setup {
        cpus: (0..4).collect(),
        table,
        limits: Limits::NONE,
        start_khz: 140_000,
        driver,
        tick_ns: 4_000_000,
    };
    let text = if id == "fixed" { "fixed:khz=1000000" } else { id };
    Policy::new(setup, &text.parse().unwrap()).unwrap()
}

/// The hash of the clocks chosen.
fn play(id: &str) -> u64 {
    let mut p = policy(id);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let _ = p.start(0, &Wander(0));
    for k in 0..CALLS {
        let (t_ns, cpu) = (k * 100_000, (k % 4) as u32);
        let said = Wander(t_ns);
        let answer = match id {
            "sched-freq" | "sched-freq-4.4" => p.event(cpu, t_ns, Event::Wake, &said),
            "interactive" => p.timer(cpu, t_ns, &said),
            _ => p.hook(&Hook::fair(cpu, t_ns), &said),
        };
        let khz = match answer.change {
            Change::None => continue,
            Change::Now { khz } => khz,
            Change::Start { khz, .. } => {
                let _ = p.transition_done(t_ns, &said);
                khz
            }
        };
        hash = (hash ^ u64::from(khz)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

fn main() {
    println!("ns a call, best of {ROUNDS}; hash of the clocks");
    for governor in list() {
        let mut best = f64::MAX;
        let mut hash = 0;
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            hash = play(governor.id);
            best = best.min(begin.elapsed().as_secs_f64() * 1e9 / CALLS as f64);
        }
        println!("{:<22} {best:>6.1}  {hash:016x}", governor.id);
    }
}
