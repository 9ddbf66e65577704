// SPDX-License-Identifier: GPL-2.0-only
//! What a decision costs: each governor bare, through `drive` and through `replay`, and ours beside the kernel's own file.
//!
//! A recording is replayed once under the governor, and what it is asked and told is written down. Bare is `select` and
//! `reflect` alone on that; `drive` gets it as a golden file, in memory; `replay` does it all again. The kernel's files come
//! unmodified from where the tests have them (`IDLEWISE_KERNEL_SOURCES`, else `target/kernel-sources`) and run in this process
//! as ours do. All that is compared is measured in turns; a ratio is the median of the rounds' own, and is the claim. Absolute
//! figures depend on the machine.
//!
//! `cargo bench -p idlewise-conform --bench deciding [-- TRACE RECORDED_ON]`

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a benchmark looks at the clock, prints, and stops where something is wrong"
)]

use std::hint::black_box;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use flate2::{Compression, write::GzEncoder};
use idlewise_conform::golden::drive_golden;
use idlewise_conform::golden_file::GoldenFile;
use idlewise_governor::{
    Choice, Device, Governor, GovernorSource, Inputs, Instance, Slot, Spec, catalog, expand,
};
use idlewise_idle::{Chooser, Hosted, Moment, TickAhead};
use idlewise_model::{Entry, Ledger};
use idlewise_platform::{Cluster, Platform};
use idlewise_recording::{Recording, RecordingOptions};
use idlewise_replay::{Setting, Workload, run};
use idlewise_score::Tally;
use serde_json::json;

const ROUNDS: usize = 15;
const DECISIONS: usize = 500_000;
/// A golden file of so many replays: reading it is not measured, but loading the governor once is.
const REPLAYS_IN_A_FILE: usize = 4;
const TICK_NS: u64 = 4_000_000;
const SETTING: Setting = Setting::new(false, 0);

/// One with 3 states, one with 9 of which the first polls.
const MACHINES: [&str; 2] = ["rk3399", "skylake"];

/// Ours, and the files of kernels that decide the same. The only later change of 6.1.y is in menu, for rejected entries
/// (REJ); a replay has none, but the very first choice looks like one, which can make one difference.
const SAME: [(&str, &str, &str); 4] = [
    ("teo-6.1", "linux-source-6.1", "linux/teo"),
    ("menu-6.1", "linux-source-6.1", "linux/menu"),
    ("ladder", "linux-source-6.12", "linux/ladder"),
    ("haltpoll", "linux-source-6.12", "linux/haltpoll"),
];

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let trace = args
        .next()
        .map_or_else(|| idlewise_testkit::kernel_trees::root().join("tests/data/mixed.dat"), PathBuf::from);
    let options = RecordingOptions { recorded_on: args.next(), ..RecordingOptions::default() };
    let recording = Recording::open(&trace, &options).unwrap_or_else(|e| {
        eprintln!("{e}");
        std::process::exit(2);
    });
    let tape = recording.tape.cpus.iter().max_by_key(|c| c.pieces.len()).expect("a recording has CPUs");
    let workload = Workload::new(tape).expect("its idle periods can be read");
    let machines = MACHINES.map(|id| idlewise_platform::find(id).expect("shipped"));
    println!(
        "{}: {} events of CPU {}; medians of {ROUNDS} rounds of {DECISIONS} decisions",
        recording.tape.source.name,
        workload.events.len(),
        workload.cpu
    );
    let benches = machines.iter().map(|machine| Bench::new(&workload, machine));
    let benches: Vec<Bench<'_>> = benches.collect();
    each_governor(&benches);
    beside_the_kernels(&benches);
    if let [bench, ..] = benches.as_slice() {
        let load = || drop(black_box(bench.load(&Spec::new("teo-6.1"))));
        println!("\nload an instance, add a CPU, drop both: {:.1} us", ns(200, load) / 1e3);
    }
}

fn each_governor(benches: &[Bench<'_>]) {
    println!(
        "\n{:<8} {:<13} {:>8} {:>8} {:>8} {:>9} {:>11} {:>12}  {:<16}",
        "machine",
        "governor",
        "bare ns",
        "drive",
        "replay",
        "M/s bare",
        "drive/bare",
        "replay/bare",
        "hash of choices"
    );
    for bench in benches {
        for governor in catalog() {
            let spec = Spec::new(governor.id);
            let log = bench.log(&spec, 1);
            assert_eq!(bench.differing(&spec, &log), 0, "{}: bare and replay decide alike", governor.id);
            let golden = bench.golden(&spec);
            let [bare, drive, replay] =
                in_turns([&|| bench.bare_ns(&spec, &log), &|| drive_ns(&spec, &golden), &|| {
                    bench.replay_ns(&spec)
                }]);
            println!(
                "{:<8} {:<13} {:>8.1} {:>8.1} {:>8.1} {:>9.1} {:>11.2} {:>12.2}  {:016x}",
                bench.machine,
                governor.id,
                median(&bare),
                median(&drive),
                median(&replay),
                1e3 / median(&bare),
                ratio(&drive, &bare),
                ratio(&replay, &bare),
                hash(&log)
            );
        }
    }
}

fn beside_the_kernels(benches: &[Bench<'_>]) {
    println!(
        "\n{:<8} {:<10} {:<22} {:>8} {:>8} {:>11} {:>8} {:>8} {:>11}",
        "machine", "ours", "beside", "bare ns", "its", "ours/its", "replay", "its", "ours/its"
    );
    for bench in benches {
        // What such a ratio is worth here and now.
        bench.beside(&Spec::new("teo-6.1"), &Spec::new("teo-6.1"));
        for (ours, tree, kernels) in SAME {
            let Some(tree) = idlewise_testkit::kernel_trees::tree(tree) else { continue };
            let found = expand(&Spec::new(kernels), &[tree]).expect("a kernel tree has it");
            bench.beside(&Spec::new(ours), found.first().expect("one").spec());
        }
    }
}

/// One decision: what a governor was asked, what it said, what it was given.
struct Step {
    inputs: Inputs,
    choice: Choice,
    entered: usize,
    now_ns: u64,
    residency_ns: i64,
    got_tick: bool,
    poll_time_limit: bool,
    poll_limit_ns: u64,
}

struct Recorder<'a> {
    governor: Hosted<'a>,
    asked: Option<(Inputs, Choice)>,
    log: Vec<Step>,
}

impl Chooser for Recorder<'_> {
    fn select(&mut self, inputs: &Inputs, moment: &Moment, tick: TickAhead) -> Choice {
        let choice = self.governor.select(inputs, moment, tick);
        self.asked = Some((*inputs, choice));
        choice
    }

    fn reflect(&mut self, entered: usize, now_ns: u64) {
        let (inputs, choice) = self.asked.take().expect("replays reject no entry");
        let &mut Device { last_residency_ns, got_tick, poll_time_limit, poll_limit_ns, .. } =
            self.governor.device();
        self.log.push(Step {
            inputs,
            choice,
            entered,
            now_ns,
            residency_ns: last_residency_ns,
            got_tick,
            poll_time_limit,
            poll_limit_ns,
        });
        self.governor.reflect(entered, now_ns);
    }

    fn device(&mut self) -> &mut Device {
        self.governor.device()
    }

    fn set_disabled(&mut self, mask: u16) {
        self.governor.set_disabled(mask);
    }
}

struct Nowhere;

impl Ledger for Nowhere {
    fn entry(&mut self, _: &Entry) {}
}

fn source(spec: &Spec) -> GovernorSource {
    GovernorSource::named_by_user(spec.clone())
}

/// One recorded CPU on one machine.
struct Bench<'a> {
    workload: &'a Workload,
    machine: &'a str,
    cluster: &'a Cluster,
}

impl<'a> Bench<'a> {
    fn new(workload: &'a Workload, machine: &'a Platform) -> Self {
        let cluster = machine.clusters.first().expect("a platform has clusters");
        Self { workload, machine: &machine.id, cluster }
    }

    fn load(&self, spec: &Spec) -> (Instance, Slot) {
        let mut instance = Instance::open(&source(spec), TICK_NS).expect("it loads");
        let slot = instance.add_cpu(0, &self.cluster.table, self.cluster.capacity).expect("one CPU");
        (instance, slot)
    }

    fn run(&self, chooser: &mut impl Chooser, ledger: &mut impl Ledger) -> usize {
        let Cluster { table, capacity, .. } = self.cluster;
        run(self.workload, table, *capacity, SETTING, chooser, ledger)
            .expect("the events are in memory")
            .decisions as usize
    }

    /// What happens in so many replays, one after the other.
    fn log(&self, spec: &Spec, replays: usize) -> Vec<Step> {
        let (mut instance, slot) = self.load(spec);
        let mut recorder =
            Recorder { governor: Hosted::new(&mut instance, slot), asked: None, log: Vec::new() };
        for _ in 0..replays {
            self.run(&mut recorder, &mut Nowhere);
        }
        recorder.log
    }

    fn golden(&self, spec: &Spec) -> GoldenFile {
        let folder = tempfile::tempdir().expect("a folder for files that last a moment");
        let file = folder.path().join("replay.csv.gz");
        write_golden(&file, self.cluster, &self.log(spec, REPLAYS_IN_A_FILE)).expect("it is written");
        GoldenFile::read(&file).expect("it is read")
    }

    /// Choices of `spec` that are not those of the log.
    fn differing(&self, spec: &Spec, log: &[Step]) -> usize {
        let (mut instance, slot) = self.load(spec);
        log.iter().filter(|step| decide(&mut instance, slot, step) != step.choice).count()
    }

    fn bare_ns(&self, spec: &Spec, log: &[Step]) -> f64 {
        let (mut instance, slot) = self.load(spec);
        ns_each(log.len(), || {
            for step in log {
                black_box(decide(&mut instance, slot, step));
            }
        })
    }

    fn replay_ns(&self, spec: &Spec) -> f64 {
        let (mut instance, slot) = self.load(spec);
        let mut governor = Hosted::new(&mut instance, slot);
        let mut tally = Tally::new(&self.cluster.table, &self.cluster.energy);
        let decisions = self.run(&mut governor, &mut tally);
        let ns = ns_each(decisions, || {
            tally.counts.latencies_ns.clear();
            self.run(&mut governor, &mut tally);
        });
        black_box(tally);
        ns
    }

    /// One line about two governors that decide the same.
    fn beside(&self, ours: &Spec, other: &Spec) {
        let log = self.log(ours, 1);
        let [bare, its_bare, replay, its_replay] = in_turns([
            &|| self.bare_ns(ours, &log),
            &|| self.bare_ns(other, &log),
            &|| self.replay_ns(ours),
            &|| self.replay_ns(other),
        ]);
        let name = Governor::open(&source(other)).expect("it was loaded").name().to_owned();
        let differ = match self.differing(other, &log) {
            0 => String::new(),
            n => format!("  {n} choices of {} DIFFER", log.len()),
        };
        println!(
            "{:<8} {:<10} {name:<22} {:>8.1} {:>8.1} {:>11.2} {:>8.1} {:>8.1} {:>11.2}{differ}",
            self.machine,
            ours.id,
            median(&bare),
            median(&its_bare),
            ratio(&bare, &its_bare),
            median(&replay),
            median(&its_replay),
            ratio(&replay, &its_replay),
        );
    }
}

#[inline(always)]
fn decide(instance: &mut Instance, slot: Slot, step: &Step) -> Choice {
    let choice = instance.select(slot, &step.inputs);
    let device = instance.device(slot);
    device.last_residency_ns = step.residency_ns;
    device.got_tick |= step.got_tick;
    device.poll_time_limit = step.poll_time_limit;
    device.poll_limit_ns = step.poll_limit_ns;
    instance.reflect(slot, step.entered, step.now_ns);
    choice
}

fn drive_ns(spec: &Spec, golden: &GoldenFile) -> f64 {
    let governor = Governor::find(spec).expect("ours");
    let drive = || {
        let done = drive_golden(&governor, golden).expect("it is driven");
        assert_eq!(done.diverging(), 0, "{spec}: {:?}", done.first.first());
        done.decisions as usize
    };
    ns_each(drive(), || {
        drive();
    })
}

/// As `golden/README.md` has it.
fn write_golden(file: &Path, cluster: &Cluster, log: &[Step]) -> std::io::Result<()> {
    let mut to = GzEncoder::new(std::fs::File::create(file)?, Compression::fast());
    writeln!(
        to,
        "step,disabled_mask,latency_req_ns,tick_stopped,sleep_length_ns,delta_tick_ns,busy_ns,sel_idx,stop_tick,\
         n_sleep_calls,entered_idx,residency_ns,poll_hit,tick_ran,ovh_ns,util,nr_iowait,rnd_u32"
    )?;
    let states = cluster.table.states();
    let mut clock_ns = 0u64;
    for (n, step) in log.iter().enumerate() {
        let Inputs {
            now_ns,
            sleep_length_ns,
            delta_tick_ns,
            latency_limit_ns,
            util,
            iowait,
            random,
            tick_stopped,
        } = step.inputs;
        let polls = states.get(step.entered).is_some_and(|s| s.polling);
        let poll_hit = if polls { i32::from(step.poll_time_limit) } else { -1 };
        let left_ns = now_ns.wrapping_add_signed(step.residency_ns);
        writeln!(
            to,
            "{n},0,{latency_limit_ns},{},{sleep_length_ns},{delta_tick_ns},{},{},{},{},{},{},{poll_hit},{},{},{util},{iowait},{random}",
            u8::from(tick_stopped),
            now_ns.wrapping_sub(clock_ns).cast_signed(),
            step.choice.index,
            u8::from(step.choice.stop_tick),
            u8::from(step.choice.asked_sleep_length),
            step.entered,
            step.residency_ns,
            u8::from(step.got_tick),
            step.now_ns.wrapping_sub(left_ns).cast_signed(),
        )?;
        clock_ns = step.now_ns;
    }
    to.finish()?;
    let state = |s: &idlewise_model::IdleState| {
        json!({
            "name": s.name,
            "exit_latency_ns": s.exit_latency_ns,
            "target_residency_ns": s.target_residency_ns,
            "polling": s.polling,
        })
    };
    let car = json!({
        "tick_nsec": TICK_NS,
        "cpu_capacity": cluster.capacity,
        "states": states.iter().map(state).collect::<Vec<_>>(),
    });
    std::fs::write(file.with_file_name("replay.json"), car.to_string())
}

/// Measures in rounds; every second one begins at the other end, should it matter who comes first.
fn in_turns<const N: usize>(measures: [&dyn Fn() -> f64; N]) -> [Vec<f64>; N] {
    let mut times = std::array::from_fn(|_| Vec::new());
    for round in 0..ROUNDS {
        for n in 0..N {
            let n = if round % 2 == 0 { n } else { N - 1 - n };
            if let (Some(times), Some(measure)) = (times.get_mut(n), measures.get(n)) {
                times.push(measure());
            }
        }
    }
    times
}

/// What one of the `size` parts of a job takes.
fn ns_each(size: usize, job: impl FnMut()) -> f64 {
    ns(DECISIONS.div_ceil(size), job) / size as f64
}

/// What a job takes, after one go that does not count.
fn ns(times: usize, mut job: impl FnMut()) -> f64 {
    job();
    let start = Instant::now();
    for _ in 0..times {
        job();
    }
    start.elapsed().as_nanos() as f64 / times as f64
}

/// Median of the ratios of each round.
fn ratio(a: &[f64], b: &[f64]) -> f64 {
    median(&a.iter().zip(b).map(|(a, b)| a / b).collect::<Vec<_>>())
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Depends on every choice.
fn hash(log: &[Step]) -> u64 {
    log.iter().fold(0, |sum: u64, step| {
        let choice = u64::from(step.choice.index.unsigned_abs()) * 2 + u64::from(step.choice.stop_tick);
        sum.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(choice)
    })
}
