// SPDX-License-Identifier: GPL-2.0-only
//! How signals and clocks follow a load that jumps and one that grows: of each signal of a request by itself, as it counts a
//! CPU at full speed, and of each frequency governor for the fastest CPU of the request's
//! machine, simulated.

use std::fmt::Write as _;

use idlewise_governor::{GovernorError, Loader};
use idlewise_model::{Entry, Ledger};
use idlewise_parts::SimError;
use idlewise_parts::{Machine, SimEvent, Watch};
use idlewise_recording::candidate::Candidate;
use idlewise_signal::pelt::{Avg, Speed};
use idlewise_signal::walt::{self, CpuSpec, Walt, WaltError};
use idlewise_sim::{Setting, Signal};
use idlewise_workload::Workload;

use super::kernel::Kernel;
use super::{Named, SimulateRequest, candidates, frequency_governors, hz, machine, signals};
use crate::ExperimentError;

/// How one signal, or one clock, follows one load.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The signal, or the frequency governor; with the signal that it reads where the request has several.
    pub subject: String,
    /// `step` or `ramp`.
    pub load: &'static str,
    /// `MHz` of a clock; nothing for a utilisation, 0 to 1024.
    pub unit: &'static str,
    /// Since the load began, ns, and the value from then on.
    pub points: Vec<(u64, f64)>,
}

const MS: u64 = 1_000_000;
/// A signal is read so often, ns.
const READ_NS: u64 = 2 * MS;
/// The loads begin after this, ns: clocks are at their lowest then.
const BEFORE_NS: u64 = 200 * MS;
/// Before that the task runs so many times for a moment.
const SHORT_RUNS: u64 = 20;

/// A load: times of running and of sleeping in turn, ns.
struct Load {
    name: &'static str,
    turns: Vec<(u64, u64)>,
}

impl Load {
    /// Runs without a break, then sleeps; runs a growing share of each 20 ms, then sleeps.
    fn all() -> [Self; 2] {
        let grows = (1..=24).map(|n| (n * 20 * MS / 25, 20 * MS - n * 20 * MS / 25));
        [
            Self { name: "step", turns: vec![(300 * MS, 300 * MS)] },
            Self { name: "ramp", turns: grows.chain([(20 * MS, 200 * MS)]).collect() },
        ]
    }

    fn duration_ns(&self) -> u64 {
        self.turns.iter().map(|(runs, sleeps)| runs + sleeps).sum()
    }

    /// When it begins to run and to sleep, with whether it runs.
    fn edges(&self) -> Vec<(u64, bool)> {
        let mut at_ns = 0;
        let mut out = Vec::new();
        for (runs, sleeps) in &self.turns {
            out.extend([(at_ns, true), (at_ns + runs, false)]);
            at_ns += runs + sleeps;
        }
        out
    }

    /// When signals are read, ns.
    fn reads(&self) -> impl Iterator<Item = u64> {
        (0..=self.duration_ns() / READ_NS).map(|n| n * READ_NS)
    }

    /// The same as the workload of one task that stays on `cpu`: as much work as that does in these times at its highest clock.
    fn workload(&self, cpu: usize) -> Result<Workload, ExperimentError> {
        // A new task is taken for half of a CPU until it was seen to run short a few times.
        let mut phases = format!(
            "\"before\" : {{ \"loop\" : {SHORT_RUNS}, \"run\" : 10, \"sleep\" : {} }}",
            BEFORE_NS / 1000 / SHORT_RUNS
        );
        for (i, (runs, sleeps)) in self.turns.iter().enumerate() {
            let (runs, sleeps) = (runs / 1000, sleeps / 1000);
            let Ok(()) = write!(phases, ", \"turn{i}\" : {{ \"run\" : {runs}, \"sleep\" : {sleeps} }}")
            else {
                unreachable!("a text takes what is written to it")
            };
        }
        let text = format!(
            "{{ \"tasks\" : {{ \"load\" : {{ \"cpus\" : [{cpu}], \"loop\" : 1, \"phases\" : {{ {phases} }} }} }}, \
             \"global\" : {{ \"calibration\" : \"CPU{cpu}\" }} }}"
        );
        Ok(Workload::from_text(self.name, &text)?)
    }
}

/// The result of a run.
type Played = Result<Vec<(u64, f64)>, String>;

/// The responses of the signals and of the frequency governors of `request`, under its first idle governor.
///
/// # Errors
/// As [`super::simulate`].
pub fn responses(request: &SimulateRequest) -> Result<Vec<Response>, ExperimentError> {
    let kernel = Kernel::parse(&request.kernel)?;
    let platform = idlewise_platform::find(&request.platform)?.changed(&request.changes)?;
    let hz = hz(request, &platform)?;
    let machine = machine(request, &platform, kernel, hz);
    let signals = signals(request, kernel)?;
    let tick_ns = machine.grid.period_ns;
    let mut out = Vec::new();
    for load in Load::all() {
        for signal in &signals {
            let points = signal_points(signal, &load, tick_ns)?;
            out.push(Response { subject: signal.name.clone(), load: load.name, unit: "", points });
        }
    }
    let candidates = candidates(request)?;
    let Some(Candidate::Hosted { governor, limits, .. }) = candidates.first() else { return Ok(out) };
    if machine.clocks.iter().all(|c| c.points.len() < 2) {
        return Ok(out);
    }
    let cpufreq = frequency_governors(request)?;
    let Some((fastest, _)) = machine.cpus.iter().enumerate().max_by_key(|(_, c)| c.capacity) else {
        return Ok(out);
    };
    for load in Load::all() {
        let workload = load.workload(fastest)?;
        for (name, config) in &cpufreq {
            for signal in &signals {
                let setting = Setting {
                    duration_ns: BEFORE_NS + load.duration_ns(),
                    seed: request.seed,
                    pelt: signal.pelt,
                    signal: signal.signal,
                    frequency: config.clone(),
                    stagger_ns: 0,
                };
                let mut machine = machine.clone();
                machine.limits = *limits;
                let play = |loader: &Loader<'_>| -> Result<Played, GovernorError> {
                    let mut instance = loader.load(tick_ns)?;
                    let mut clocks = Clocks::new(&machine, fastest);
                    match idlewise_sim::simulate(&machine, &workload, &setting, &mut instance, &mut clocks) {
                        Ok(_) => Ok(Ok(clocks.points(load.duration_ns()))),
                        Err(SimError::Governor(e)) => Err(e),
                        Err(e) => Ok(Err(e.to_string())),
                    }
                };
                let points = governor.run(play)?;
                let subject =
                    if signals.len() > 1 { format!("{name}, {}", signal.name) } else { name.clone() };
                let points = points.map_err(ExperimentError::Run)?;
                out.push(Response { subject, load: load.name, unit: "MHz", points });
            }
        }
    }
    Ok(out)
}

/// The utilisation of a CPU at full speed under `load`.
fn signal_points(signal: &Named, load: &Load, tick_ns: u64) -> Result<Vec<(u64, f64)>, ExperimentError> {
    match signal.signal {
        Signal::Pelt => {
            let mut avg = Avg::default();
            let mut runs = false;
            let mut edges = load.edges().into_iter().peekable();
            let mut pass = |now_ns: u64, runs: bool| {
                let one = u64::from(runs);
                if signal.pelt.update(&mut avg, Speed::FULL, now_ns, one, one, runs) {
                    signal.pelt.publish(&mut avg, 1);
                }
                avg.util as f64
            };
            Ok(load
                .reads()
                .map(|at_ns| {
                    while let Some((edge_ns, next)) = edges.next_if(|(edge_ns, _)| *edge_ns <= at_ns) {
                        pass(edge_ns, runs);
                        runs = next;
                    }
                    (at_ns, pass(at_ns, runs))
                })
                .collect())
        }
        Signal::Walt(config) => {
            walt_points(config, load, tick_ns).map_err(|e| ExperimentError::Run(e.to_string()))
        }
    }
}

fn walt_points(config: walt::Config, load: &Load, tick_ns: u64) -> Result<Vec<(u64, f64)>, WaltError> {
    let mut walt = Walt::new(config, &[CpuSpec { capacity: 1024, max_freq_khz: 1_000_000 }])?;
    let task = walt.add_task(0, None)?;
    walt.start(0)?;
    // In the order of time; at one time first the load, then the tick, then a read.
    let edges = load.edges().into_iter().map(|(at_ns, runs)| (at_ns, 0, runs));
    let ticks = (1..=load.duration_ns() / tick_ns).map(|n| (n * tick_ns, 1, false));
    let reads = load.reads().map(|at_ns| (at_ns, 2, false));
    let mut all: Vec<(u64, u8, bool)> = edges.chain(ticks).chain(reads).collect();
    all.sort_unstable();
    let mut out = Vec::new();
    for (at_ns, what, runs) in all {
        match (what, runs) {
            (0, true) => {
                walt.wake(task, 0, at_ns)?;
                walt.switch(0, task, false, at_ns)?;
            }
            (0, false) => walt.switch_to_idle(0, true, at_ns)?,
            (1, _) => walt.tick(0, at_ns)?,
            _ => {
                let Some(util) = walt.frequency_util(0) else { unreachable!("CPU 0 is the only one") };
                out.push((at_ns, f64::from(util)));
            }
        }
    }
    Ok(out)
}

/// The clock of the CPU that the load is on, since it began to run.
struct Clocks {
    /// That CPU, by place, and those that share its clock.
    cpu: u32,
    cpus: Vec<usize>,
    khz: u32,
    began_ns: Option<u64>,
    changes: Vec<(u64, u32)>,
}

impl Clocks {
    fn new(machine: &Machine<'_>, cpu: usize) -> Self {
        let clock = &machine.clocks[machine.cpus[cpu].clock];
        let Ok(place) = u32::try_from(cpu) else { unreachable!("CPU {cpu}") };
        let khz = clock.points.first().map_or(0, |p| p.khz);
        Self { cpu: place, cpus: clock.cpus.clone(), khz, began_ns: None, changes: Vec::new() }
    }

    /// Each change with the value before it, so that lines have steps, and the last value until `end_ns`.
    fn points(self, end_ns: u64) -> Vec<(u64, f64)> {
        let mut out: Vec<(u64, f64)> = Vec::new();
        let last = self.changes.last().map(|(_, khz)| (end_ns, *khz));
        for (at_ns, khz) in self.changes.into_iter().filter(|(at_ns, _)| *at_ns < end_ns).chain(last) {
            let mhz = f64::from(khz) / 1000.0;
            out.extend(out.last().filter(|(_, before)| *before != mhz).map(|(_, before)| (at_ns, *before)));
            out.push((at_ns, mhz));
        }
        out
    }
}

impl Ledger for Clocks {
    fn entry(&mut self, _: &Entry) {}
}

impl Watch for Clocks {
    fn seen(&mut self, at_ns: u64, cpu: u32, what: SimEvent) {
        match what {
            // What runs before is the task's own way into its first sleep.
            SimEvent::Switch { next: Some(_), .. }
                if cpu == self.cpu && at_ns >= BEFORE_NS && self.began_ns.is_none() =>
            {
                self.began_ns = Some(at_ns);
                self.changes.push((0, self.khz));
            }
            SimEvent::Clock { khz } if self.cpus.contains(&(cpu as usize)) => {
                self.khz = khz;
                let since = self.began_ns.map(|began_ns| at_ns.saturating_sub(began_ns));
                self.changes.extend(since.map(|since_ns| (since_ns, khz)));
            }
            _ => {}
        }
    }
}
