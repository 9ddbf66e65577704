// SPDX-License-Identifier: GPL-2.0-only
//! A run as a list of numbers, the same list for each run of a request.

use idlewise_model::Counted;
use idlewise_parts::Machine;
use idlewise_score::measure::TOO_SHALLOW;
use idlewise_score::{Counts, Measure, Place, Score, Tally, Unit};
use idlewise_sim::Outcome;
use idlewise_workload::Workload;

use super::clusters::ClusterTime;
use super::fact::{Fact, FactUnit, Facts};
use super::meters::Meters;
use super::ramps::Ramp;

/// The numbers of a run.
pub(crate) fn facts(
    machine: &Machine<'_>,
    workload: &Workload,
    meters: &Meters,
    out: &Outcome,
    counts: &[Counts],
    ramps: &[Ramp],
) -> Vec<Fact> {
    let mut f = Facts::default();
    let seconds = out.end_ns as f64 / 1e9;
    let score = score(machine, counts);
    idle(&mut f, &score, seconds);
    energy(&mut f, machine, out, seconds);
    meters.facts(&mut f, out);
    clocks(&mut f, machine, out, ramps);
    performance(&mut f, workload, out, seconds);
    limits(&mut f, machine, workload, out);
    f.into_all()
}

/// What held clocks down, and what work costs then. Nothing where no ceiling can hold them.
fn limits(f: &mut Facts, machine: &Machine<'_>, workload: &Workload, out: &Outcome) {
    let Some(seen) = &out.power else { return };
    let share = |ns: u64| ns as f64 * 100.0 / out.end_ns.max(1) as f64;
    let at = |ns: Option<u64>| ns.map_or(f64::NAN, |ns| ns as f64);
    f.add("limit", "limited %", FactUnit::Percent, share(seen.held_ns));
    for limit in &seen.limits {
        let mut add = |what: &str, unit: FactUnit, value: f64| {
            f.add("limit", &format!("{} {what}", limit.name), unit, value)
        };
        add("limited %", FactUnit::Percent, share(limit.cause.held_ns));
        add("first limited", FactUnit::Ns, at(limit.cause.first_ns));
        add("last limited", FactUnit::Ns, at(limit.cause.last_ns));
        // Of a trip the average is the temperature.
        if limit.name != "trip" {
            add("average at the end", FactUnit::Milliwatt, limit.average_uw as f64 / 1e3);
            add("average max", FactUnit::Milliwatt, limit.peak_uw as f64 / 1e3);
        }
        add("average above %", FactUnit::Percent, share(limit.above_ns));
        add("at the lowest clock and above %", FactUnit::Percent, share(limit.helpless_ns));
    }
    if let Some(turbo) = seen.turbo {
        f.add("limit", "turbo limited %", FactUnit::Percent, share(turbo.held_ns));
    }
    if let Some(heat) = seen.heat {
        f.add("limit", "temperature at the end", FactUnit::Celsius, heat.now_mc as f64 / 1e3);
        f.add("limit", "temperature max", FactUnit::Celsius, heat.peak_mc as f64 / 1e3);
    }
    // Seconds of work of the fastest CPU at its highest clock.
    let work_s = out.work as f64 / f64::from(1 << 20) / 1e9;
    f.add("work", "throughput ms/s", FactUnit::PerSecond, work_s * 1e12 / out.end_ns.max(1) as f64);
    if machine.clocks.iter().flat_map(|c| &c.points).any(|p| !p.energy.grade.in_watts()) {
        return;
    }
    let mj = out.energy.sum_fj() as f64 / 1e12;
    f.add("work", "energy of a second of work", FactUnit::Millijoule, mj / work_s);
    let mut each = |about: String, times: &Counted| {
        let n: u64 = Counted::ranks(std::iter::once(times)).iter().map(|(_, n)| n).sum();
        f.add(&about, "energy each", FactUnit::Millijoule, mj / n as f64);
    };
    for (frame, times) in workload.frames.iter().zip(&out.frames) {
        each(format!("frames {}", frame.name), times);
    }
    for (device, times) in workload.devices.iter().zip(&out.devices) {
        each(format!("device {}", device.name), times);
    }
    for (source, times) in workload.sources.iter().zip(&out.requests) {
        each(format!("requests {}", source.name), times);
    }
}

/// The score of all CPUs.
pub(crate) fn score(machine: &Machine<'_>, counts: &[Counts]) -> Score {
    let mut tallies = Vec::new();
    for (cpu, counts) in machine.cpus.iter().zip(counts) {
        let mut tally = Tally::new(cpu.table, &machine.clusters[cpu.cluster].energy);
        tally.counts = counts.clone();
        tallies.push(tally);
    }
    Score::of(&tallies.iter().collect::<Vec<_>>())
}

/// Each cluster by itself, as plots of phones show it. Shares of wakeups are of those of the whole machine, so that they add up.
pub(crate) fn clusters(
    machine: &Machine<'_>,
    out: &Outcome,
    counts: &[Counts],
    times: &[ClusterTime],
) -> Vec<Fact> {
    let mut f = Facts::default();
    let seconds = out.end_ns as f64 / 1e9;
    let all = score(machine, counts).wakeups as f64;
    let e = &out.energy;
    for (i, (cluster, time)) in machine.clusters.iter().zip(times).enumerate() {
        let about = format!("cluster {}", cluster.name);
        let own = |c: &(usize, &idlewise_parts::CpuSpec<'_>)| c.1.cluster == i;
        let cpus: Vec<usize> = machine.cpus.iter().enumerate().filter(own).map(|(place, _)| place).collect();
        let share = |ns: u64| ns as f64 * 100.0 / out.end_ns.max(1) as f64;
        f.add(&about, "active %", FactUnit::Percent, share(time.active_ns));
        for (state, ns) in cluster.table.states().iter().zip(&time.states_ns) {
            f.add(&about, &format!("{} %", state.name), FactUnit::Percent, share(*ns));
        }
        let mut tally = Vec::new();
        for place in &cpus {
            let mut own = Tally::new(machine.cpus[*place].table, &cluster.energy);
            own.counts = counts[*place].clone();
            tally.push(own);
        }
        let s = Score::of(&tally.iter().collect::<Vec<_>>());
        let wakeups = s.wakeups as f64;
        f.add(&about, "wakeups/s", FactUnit::PerSecond, wakeups / seconds);
        let of_all = |pct: f64| if wakeups > 0.0 { pct * wakeups / all } else { wakeups / all };
        f.add(&about, "too deep % of all", FactUnit::Percent, of_all(s.too_deep_pct));
        f.add(&about, "too shallow % of all", FactUnit::Percent, of_all(s.too_shallow_pct));
        let shared =
            machine.clocks.iter().zip(&e.shared_fj).filter(|(c, _)| c.cluster == i).map(|(_, fj)| fj);
        let fj = cpus.iter().map(|c| e.running_fj[*c] + e.idle_fj[*c]).sum::<u128>() + shared.sum::<u128>();
        f.add(&about, "power", FactUnit::Energy, fj as f64 / 1e12 / seconds);
        let clocks: Vec<_> = machine.clocks.iter().filter(|c| c.cluster == i).collect();
        if let [clock] = clocks.as_slice()
            && clock.points.len() > 1
        {
            let mean = time.khz_ns as f64 / out.end_ns.max(1) as f64;
            f.add(&about, "clock mean", FactUnit::Khz, mean);
        }
    }
    f.into_all()
}

fn idle(f: &mut Facts, s: &Score, seconds: f64) {
    for m in Measure::all_in(Place::Simulated) {
        let value = m.value(s);
        match m.unit {
            Unit::Count => f.add("idle", &format!("{}/s", m.label), FactUnit::PerSecond, value / seconds),
            Unit::Share => f.add("idle", m.label, FactUnit::Percent, value),
            Unit::Time => f.add("idle", &format!("exit {}", m.label), FactUnit::Ns, value),
            Unit::Span | Unit::Energy => unreachable!("{}: sums over a run are no fact about idle", m.name),
        }
        if m == TOO_SHALLOW {
            let entries: u64 = s.states.iter().map(|state| state.entries).sum();
            for state in &s.states {
                f.add("idle", &format!("{} % of idle", state.name), FactUnit::Percent, state.residency_pct);
                let share = 100.0 * state.entries as f64 / entries as f64;
                f.add("idle", &format!("{} % of entries", state.name), FactUnit::Percent, share);
            }
        }
    }
}

fn energy(f: &mut Facts, machine: &Machine<'_>, out: &Outcome, seconds: f64) {
    // fJ a second are 10^-12 mW.
    let power = |fj: u128| fj as f64 / 1e12 / seconds;
    let sum = |all: &[u128]| all.iter().sum::<u128>();
    let e = &out.energy;
    let parts = [sum(&e.running_fj), sum(&e.idle_fj), sum(&e.shared_fj), e.package_fj];
    f.add("energy", "power", FactUnit::Energy, power(parts.iter().sum()));
    f.add("energy", "running", FactUnit::Energy, power(parts[0]));
    f.add("energy", "idle", FactUnit::Energy, power(parts[1]));
    if machine.clocks.iter().any(|c| c.points.iter().any(|p| p.shared.is_some())) {
        f.add("energy", "shared", FactUnit::Energy, power(parts[2]));
    }
    if machine.package.is_some() {
        f.add("energy", "package", FactUnit::Energy, power(parts[3]));
    }
    let busy: u64 = out.busy_ns.iter().sum();
    let all = out.end_ns as f64 * machine.cpus.len() as f64;
    f.add("energy", "busy %", FactUnit::Percent, busy as f64 * 100.0 / all.max(1.0));
}

fn clocks(f: &mut Facts, machine: &Machine<'_>, out: &Outcome, ramps: &[Ramp]) {
    for ((clock, at), ramp) in machine.clocks.iter().zip(&out.energy.at_point_ns).zip(ramps) {
        if clock.points.len() < 2 {
            continue;
        }
        let name = match clock.cpus.as_slice() {
            [only] => format!("clock cpu{}", machine.cpus[*only].number),
            _ => format!("clock {}", machine.clusters[clock.cluster].name),
        };
        let all: u64 = at.iter().sum();
        let cycles: f64 = clock.points.iter().zip(at).map(|(p, ns)| f64::from(p.khz) * *ns as f64).sum();
        f.add(&name, "mean while running", FactUnit::Khz, cycles / all as f64);
        let top = at.last().copied().unwrap_or(0);
        f.add(&name, "at the highest %", FactUnit::Percent, top as f64 * 100.0 / all as f64);
        f.times(&name, "ramp", &ramp.total_ns, &[]);
        f.times(&name, "climb", &ramp.climb_ns, &[]);
        f.times(&name, "decay", &ramp.decay_ns, &[]);
    }
}

fn performance(f: &mut Facts, workload: &Workload, out: &Outcome, seconds: f64) {
    f.add("run", "time", FactUnit::Ns, out.finished_ns.map_or(f64::NAN, |ns| ns as f64));
    for (frame, times) in workload.frames.iter().zip(&out.frames) {
        let about = format!("frames {}", frame.name);
        let ranks = Counted::ranks(std::iter::once(times));
        let n: u64 = ranks.iter().map(|(_, n)| n).sum();
        let late = |(ns, _): &&(u32, u64)| u64::from(*ns) > frame.deadline_ns;
        let janks: u64 = ranks.iter().filter(late).map(|(_, n)| n).sum();
        f.add(&about, "frames/s", FactUnit::PerSecond, n as f64 / seconds);
        f.times(&about, "time", times, &[50, 90, 95, 99, 100]);
        f.add(&about, "jank %", FactUnit::Percent, janks as f64 * 100.0 / n as f64);
    }
    for (device, times) in workload.devices.iter().zip(&out.devices) {
        let about = format!("device {}", device.name);
        let n: u64 = Counted::ranks(std::iter::once(times)).iter().map(|(_, n)| n).sum();
        f.add(&about, "IOPS", FactUnit::PerSecond, n as f64 / seconds);
        f.times(&about, "latency", times, &[50, 99]);
    }
    for (source, times) in workload.sources.iter().zip(&out.requests) {
        let about = format!("requests {}", source.name);
        let n: u64 = Counted::ranks(std::iter::once(times)).iter().map(|(_, n)| n).sum();
        f.add(&about, "answered/s", FactUnit::PerSecond, n as f64 / seconds);
        f.times(&about, "latency", times, &[50, 99, 100]);
    }
    for (task, seen) in workload.tasks.iter().zip(&out.tasks) {
        let about = format!("task {}", task.name);
        f.add(&about, "wakeups/s", FactUnit::PerSecond, seen.wakeups as f64 / seconds);
        f.add(&about, "running %", FactUnit::Percent, seen.run_ns as f64 * 100.0 / out.end_ns.max(1) as f64);
        f.times(&about, "wakeup latency", &seen.wakeup_latency_ns, &[50, 99, 100]);
        f.times(&about, "response", &seen.response_ns, &[50, 99, 100]);
    }
}
