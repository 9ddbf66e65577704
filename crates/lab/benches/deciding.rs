// SPDX-License-Identifier: GPL-2.0-only
//! Decisions per second through the whole replay, beside the bare cost of the same governor's `select` and `reflect`
//! on the same inputs in the same run. The ratio is the claim; absolute figures depend on the machine.
//!
//! `cargo bench -p idlewise-lab --bench replaying [-- TRACE RECORDED_ON]`

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a benchmark looks at the clock, prints, and stops where something is wrong"
)]

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use idlewise_governor::{Inputs, Instance, Slot, Spec, catalog};
use idlewise_idle::{Chooser, Hosted, Moment, TickAhead};
use idlewise_lab::{Recording, RecordingOptions};
use idlewise_model::{Entry, IdleTable, Ledger};
use idlewise_replay::{Setting, Workload, run};
use idlewise_score::Tally;

const ROUNDS: usize = 9;
const DECISIONS_PER_ROUND: u64 = 4_000_000;
const SETTING: Setting = Setting { same_machine: false, seed: 0 };

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let trace = args.next().map_or_else(|| here.join("../../tests/data/mixed.dat"), PathBuf::from);
    let options = RecordingOptions { recorded_on: args.next(), ..RecordingOptions::default() };
    let recording = match Recording::open(&trace, &options) {
        Ok(recording) => recording,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(2);
        }
    };
    let tape = recording.tape.cpus.iter().max_by_key(|c| c.pieces.len()).expect("a recording has CPUs");
    let workload = Workload::new(tape);
    println!(
        "{}: {} events of CPU {}, {ROUNDS} rounds",
        recording.tape.source.name,
        workload.events.len(),
        workload.cpu
    );
    println!(
        "{:<12} {:<14} {:>10} {:>10} {:>12} {:>7}",
        "platform", "governor", "bare ns", "replay ns", "M replay/s", "ratio"
    );
    for platform in ["rk3399", "skylake"] {
        let machine = idlewise_platform::find(platform).expect("shipped");
        let cluster = machine.clusters.first().expect("a platform has clusters");
        for governor in catalog() {
            let spec = Spec::new(governor.id);
            let log = asked(&spec, &workload, &cluster.table, cluster.capacity);
            let mut bare = Vec::new();
            let mut whole = Vec::new();
            // In turns, so that both meet the same machine.
            for _ in 0..ROUNDS {
                bare.push(bare_ns(&spec, &log, &cluster.table, cluster.capacity));
                let mut tally = Tally::new(&cluster.table, &cluster.energy);
                whole.push(replay_ns(&spec, &workload, &cluster.table, cluster.capacity, &mut tally));
            }
            let (bare, whole) = (median(bare), median(whole));
            println!(
                "{platform:<12} {:<14} {bare:>10.1} {whole:>10.1} {:>12.1} {:>7.2}",
                governor.id,
                1e3 / whole,
                whole / bare
            );
        }
    }
}

/// What a governor is asked and told in one replay.
enum Step {
    Asked(Inputs),
    Told { entered: usize, now_ns: u64, residency_ns: i64, got_tick: bool },
}

struct Recorder<'a> {
    governor: Hosted<'a>,
    log: Vec<Step>,
}

impl Chooser for Recorder<'_> {
    fn select(&mut self, inputs: &Inputs, moment: &Moment, tick: TickAhead) -> idlewise_governor::Choice {
        self.log.push(Step::Asked(*inputs));
        self.governor.select(inputs, moment, tick)
    }

    fn reflect(&mut self, entered: usize, now_ns: u64) {
        let device = self.governor.device();
        let (residency_ns, got_tick) = (device.last_residency_ns, device.got_tick);
        self.log.push(Step::Told { entered, now_ns, residency_ns, got_tick });
        self.governor.reflect(entered, now_ns);
    }

    fn device(&mut self) -> &mut idlewise_governor::Device {
        self.governor.device()
    }

    fn set_disabled(&mut self, mask: u16) {
        self.governor.set_disabled(mask);
    }
}

struct Nowhere;

impl Ledger for Nowhere {
    fn entry(&mut self, entry: &Entry) {
        black_box(entry);
    }
}

fn load(spec: &Spec, table: &IdleTable, capacity: u32) -> (Instance, Slot) {
    let mut instance = Instance::load(spec, 4_000_000).expect("our own governor");
    let slot = instance.add_cpu(0, table, capacity).expect("one CPU");
    (instance, slot)
}

fn asked(spec: &Spec, workload: &Workload, table: &IdleTable, capacity: u32) -> Vec<Step> {
    let (mut instance, slot) = load(spec, table, capacity);
    let mut recorder = Recorder { governor: Hosted::new(&mut instance, slot), log: Vec::new() };
    run(workload, table, capacity, SETTING, &mut recorder, &mut Nowhere);
    recorder.log
}

fn bare_ns(spec: &Spec, log: &[Step], table: &IdleTable, capacity: u32) -> f64 {
    let (mut instance, slot) = load(spec, table, capacity);
    let start = Instant::now();
    let mut decisions = 0u64;
    while decisions < DECISIONS_PER_ROUND {
        for step in log {
            match step {
                Step::Asked(inputs) => {
                    black_box(instance.select(slot, inputs));
                    decisions += 1;
                }
                Step::Told { entered, now_ns, residency_ns, got_tick } => {
                    let device = instance.device(slot);
                    device.last_residency_ns = *residency_ns;
                    device.got_tick |= *got_tick;
                    instance.reflect(slot, *entered, *now_ns);
                }
            }
        }
    }
    start.elapsed().as_nanos() as f64 / decisions as f64
}

fn replay_ns(
    spec: &Spec,
    workload: &Workload,
    table: &IdleTable,
    capacity: u32,
    tally: &mut Tally<'_>,
) -> f64 {
    let (mut instance, slot) = load(spec, table, capacity);
    let mut governor = Hosted::new(&mut instance, slot);
    let start = Instant::now();
    let mut decisions = 0;
    while decisions < DECISIONS_PER_ROUND {
        decisions += run(workload, table, capacity, SETTING, &mut governor, tally).decisions;
        tally.counts.latencies_ns.clear();
    }
    let ns = start.elapsed().as_nanos() as f64 / decisions as f64;
    black_box(tally);
    ns
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
