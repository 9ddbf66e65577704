// SPDX-License-Identifier: GPL-2.0-only
//! Machines and workloads for the tests.
#![allow(clippy::unwrap_used)]

use idlewise_governor::{Instance, Spec};
use idlewise_model::{Entry, Ledger};
use idlewise_parts::{Machine, SimEvent, Watch};
use idlewise_platform::Platform;
use idlewise_signal::pelt::Pelt;
use idlewise_sim::{Outcome, Setting, Signal, simulate};
use idlewise_workload::{Calibration, Distribution, Event, Global, Phase, Sched, SleepTimer, Task, Workload};

pub(crate) const US: u64 = 1_000;
pub(crate) const MS: u64 = 1_000_000;

/// Two states, 300 us on the way out of the deeper one; `cpus` of capacity 1024.
pub(crate) fn platform(cpus: u32) -> Platform {
    let toml = format!(
        r#"
format = 1
id = "plain"
name = "Plain"
hz = 250
hz_note = "test"
sources = ["test"]

[[cluster]]
name = "all"
cpus = "0-{}"
capacity = 1024
source = "test"

[[cluster.state]]
name = "WFI"
exit_latency_us = 1
residency_us = 1

[[cluster.state]]
name = "sleep"
exit_latency_us = 300
residency_us = 1200
"#,
        cpus - 1
    );
    Platform::from_toml(&toml, "plain").unwrap()
}

pub(crate) fn work(ns: u64) -> Event {
    Event::Run { work: Distribution::Constant(ns) }
}

pub(crate) fn draws_work(low: u64, high: u64) -> Event {
    Event::Run { work: Distribution::Uniform { low, high } }
}

pub(crate) fn sleep(ns: u64) -> Event {
    Event::Sleep { time: Distribution::Constant(ns), timer: SleepTimer::Hrtimer }
}

pub(crate) fn draws_sleep(low: u64, high: u64) -> Event {
    Event::Sleep { time: Distribution::Uniform { low, high }, timer: SleepTimer::Hrtimer }
}

/// A task that does `events` for ever.
pub(crate) fn task(name: &str, events: Vec<Event>) -> Task {
    Task {
        name: name.to_owned(),
        instances: 1,
        delay_ns: 0,
        loops: None,
        sched: Sched::default(),
        cpus: None,
        taskgroup: None,
        phases: vec![Phase {
            name: name.to_owned(),
            loops: Some(1),
            sched: None,
            cpus: None,
            taskgroup: None,
            events,
        }],
    }
}

pub(crate) fn workload(tasks: Vec<Task>) -> Workload {
    Workload {
        name: "test".to_owned(),
        about: String::new(),
        tasks,
        resources: Vec::new(),
        devices: Vec::new(),
        frames: Vec::new(),
        sources: Vec::new(),
        global: Global {
            duration_ns: None,
            calibration: Calibration::Cpu(0),
            io_device: "/dev/null".to_owned(),
            mem_buffer_bytes: 4096,
            priority_inheritance: false,
        },
        notes: Vec::new(),
    }
}

#[derive(Default)]
pub(crate) struct Log {
    pub(crate) entries: Vec<Entry>,
    pub(crate) seen: Vec<(u64, u32, SimEvent)>,
}

impl Ledger for Log {
    fn entry(&mut self, entry: &Entry) {
        self.entries.push(*entry);
    }
}

impl Watch for Log {
    fn seen(&mut self, at_ns: u64, cpu: u32, what: SimEvent) {
        self.seen.push((at_ns, cpu, what));
    }
}

pub(crate) fn setting(ms: u64) -> Setting {
    Setting {
        duration_ns: ms * MS,
        seed: 1,
        pelt: Pelt::default(),
        signal: Signal::Pelt,
        frequency: "performance".parse().unwrap(),
        stagger_ns: 0,
    }
}

pub(crate) fn run_with(
    machine: &Machine<'_>,
    workload: &Workload,
    governor: &str,
    setting: &Setting,
) -> (Outcome, Log) {
    let spec: Spec = governor.parse().unwrap();
    let mut governor = Instance::load(&spec, machine.grid.period_ns).unwrap();
    let mut log = Log::default();
    let out = simulate(machine, workload, setting, &mut governor, &mut log).unwrap();
    (out, log)
}

pub(crate) fn run(machine: &Machine<'_>, workload: &Workload, governor: &str, ms: u64) -> (Outcome, Log) {
    run_with(machine, workload, governor, &setting(ms))
}

/// Looks at nothing.
pub(crate) struct Nobody;

impl Ledger for Nobody {
    fn entry(&mut self, _: &Entry) {}
}

impl Watch for Nobody {}
