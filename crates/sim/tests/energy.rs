// SPDX-License-Identifier: GPL-2.0-only
//! What meters read of a run: is it what was drawn, at the times at which they look?

use crate::common;

use common::{Log, MS, US, run_with, setting, sleep, task, work, workload};
use idlewise_parts::{Costs, Machine, SimEvent, UPDATE_NS};
use idlewise_platform::{Package, Platform};
use idlewise_sim::Setting;

/// Running draws 100 mW, WFI 10 mW, the deeper state nothing: to enter that costs 10 mW for 1200 us.
const RUNNING_UW: u64 = 100_000;
const TRANSITION_FJ: u64 = 10_000 * 1_200_000;

fn platform() -> Platform {
    let toml = r#"
format = 1
id = "metered"
name = "Metered"

[battery]
voltage_mv = 4000
sample_ms = 250
source = "test"

[[cluster]]
name = "all"
cpus = "0-1"

[[cluster.state]]
name = "WFI"
exit_latency_us = 1
residency_us = 1

[[cluster.state]]
name = "sleep"
exit_latency_us = 300
residency_us = 1200

[cluster.clock]
transition_latency_us = 0
invariant = true
source = "test"

[cluster.power]
unit = "uw"
what = "made up"
source = "test"
at_khz = 1000000
curve = [{ khz = 1000000, active = 100000, states = [10000, 0], shared = 20000 }]
"#;
    Platform::from_toml(toml, "metered").unwrap()
}

fn machine(platform: &Platform) -> Machine<'_> {
    Machine { costs: Costs::NONE, ..Machine::new(platform, 250, None) }
}

/// A run that ends between two updates of the counters.
fn odd() -> Setting {
    Setting { duration_ns: 1000 * MS + 500 * US, ..setting(0) }
}

#[test]
fn counters_and_samples_of_cpus_that_always_run_are_power_times_time() {
    let platform = platform();
    let load = workload(vec![task("a", vec![work(MS)]), task("b", vec![work(MS)])]);
    let (out, _) = run_with(&machine(&platform), &load, "menu", &odd());
    let e = out.energy;
    assert_eq!(out.end_ns, 1000 * MS + 500 * US);
    let drawn = |uw: u64, ns: u64| u128::from(uw) * u128::from(ns);
    assert_eq!(e.counters.cpu_fj[0], drawn(RUNNING_UW, 1000 * MS));
    assert_eq!(e.counters.shared_fj, [drawn(20_000, 1000 * MS)]);
    assert_eq!(e.running_fj[0], drawn(RUNNING_UW, out.end_ns), "the whole run is in the totals");
    assert_eq!(e.shared_fj, [drawn(20_000, out.end_ns)]);
    // The other CPU gets its task a moment after the start; from the second sample on nothing changes.
    assert_eq!(e.samples_fj.len(), 4);
    assert!(e.samples_fj[1..].iter().all(|fj| *fj == drawn(2 * RUNNING_UW + 20_000, 250 * MS)));
}

/// What the first CPU has drawn until `at_ns`, from its log: the way in is paid when a state is entered.
fn drawn_until(log: &Log, at_ns: u64) -> u128 {
    let (mut awake_ns, mut since_ns, mut entries) = (0, Some(0), 0);
    for (t, _, what) in log.seen.iter().filter(|(t, cpu, _)| *cpu == 0 && *t < at_ns) {
        match what {
            SimEvent::IdleEntered { state } => {
                assert_eq!(*state, 1);
                awake_ns += t - since_ns.take().unwrap();
                entries += 1;
            }
            SimEvent::IdleLeft => since_ns = Some(*t),
            _ => {}
        }
    }
    awake_ns += since_ns.map_or(0, |since| at_ns - since);
    u128::from(awake_ns) * u128::from(RUNNING_UW) + entries * u128::from(TRANSITION_FJ)
}

#[test]
fn a_meter_between_two_changes_reads_what_was_drawn_until_then() {
    let mut platform = platform();
    platform.clusters[0].clock.as_mut().unwrap().points[0].shared = None;
    let mut machine = machine(&platform);
    machine.cpus.truncate(1);
    machine.clocks[0].cpus.truncate(1);
    machine.sample_ns = Some(7 * MS);
    let load = workload(vec![task("sleeper", vec![work(100 * US), sleep(10 * MS)])]);
    let (out, log) = run_with(&machine, &load, "deepest", &odd());
    let e = &out.energy;
    assert!(log.entries.len() > 90);
    assert_eq!(e.counters.cpu_fj, [drawn_until(&log, 1000 * MS)]);
    assert_eq!(e.running_fj[0] + e.idle_fj[0], drawn_until(&log, out.end_ns));
    let end_ns = |k: u64| k * 7 * MS;
    let samples = (0..1000 / 7).map(|k| drawn_until(&log, end_ns(k + 1)) - drawn_until(&log, end_ns(k)));
    assert_eq!(e.samples_fj, samples.collect::<Vec<_>>());
}

#[test]
fn a_run_shorter_than_an_update_or_a_sample_reads_nothing() {
    let platform = platform();
    let load = workload(vec![task("a", vec![work(MS)])]);
    let short = Setting { duration_ns: UPDATE_NS - 1, ..setting(0) };
    let (out, _) = run_with(&machine(&platform), &load, "menu", &short);
    assert_eq!(out.energy.counters.cpu_fj, [0, 0]);
    assert!(out.energy.samples_fj.is_empty() && out.energy.running_fj.iter().sum::<u128>() > 0);
}

#[test]
fn a_package_draws_while_any_cpu_keeps_it_awake() {
    let mut platform = platform();
    // While both CPUs sleep.
    let ends = Setting { duration_ns: 1003 * MS + 700 * US, ..setting(0) };
    let awake_uw = 30_000;
    // On its way out of a state a CPU is awake.
    let changes = |log: &Log, from: u8| {
        let mut state_of = [0; 2];
        let mut out = Vec::new();
        for (t, cpu, what) in &log.seen {
            match what {
                SimEvent::IdleEntered { state } => {
                    state_of[*cpu as usize] = *state;
                    out.push((*t, *cpu as usize, *state >= from));
                }
                SimEvent::IdleLeft => {
                    let exit_ns = [US, 300 * US][usize::from(state_of[*cpu as usize])];
                    out.push((t - exit_ns, *cpu as usize, false));
                }
                _ => {}
            }
        }
        out.sort_unstable();
        out
    };
    let awake = |log: &Log, end_ns: u64, from: u8| {
        let (mut deep, mut since_ns, mut awake_ns) = ([false; 2], 0, 0);
        for (t, cpu, now) in changes(log, from) {
            awake_ns += if deep == [true; 2] { 0 } else { t - since_ns };
            deep[cpu] = now;
            since_ns = t;
        }
        awake_ns + if deep == [true; 2] { 0 } else { end_ns - since_ns }
    };
    let sleeper = |work_us: u64| task("sleeper", vec![work(work_us * US), sleep(10 * MS)]);
    let load = workload(vec![sleeper(300), sleeper(700)]);
    let (none, _) = run_with(&machine(&platform), &load, "menu", &ends);
    assert_eq!(none.energy.package_fj, 0);
    for (from, state) in [(None, 0), (Some("sleep"), 1)] {
        let from = from.map(str::to_owned);
        platform.package = Some(Package {
            awake_uw,
            always_uw: 0,
            each_awake_uw: 0,
            from: from.clone(),
            levels: Vec::new(),
            source: String::new(),
        });
        for governor in ["menu", "shallow"] {
            let (out, log) = run_with(&machine(&platform), &load, governor, &ends);
            let e = &out.energy;
            let awake_ns = awake(&log, out.end_ns, state);
            assert_eq!(e.package_fj, u128::from(awake_uw) * u128::from(awake_ns), "{governor} {from:?}");
            assert!(governor == "menu" || state == 0 || awake_ns == out.end_ns, "it never sleeps so deep");
            assert!(awake_ns > 30 * MS && e.counters.package_fj <= e.package_fj);
            if governor == "menu" {
                assert!(awake_ns < out.end_ns / 2, "{awake_ns}");
                assert_eq!(e.running_fj, none.energy.running_fj, "nothing else changes");
                let samples = |e: &idlewise_parts::Energy| e.samples_fj.iter().sum::<u128>();
                let more = samples(e) - samples(&none.energy);
                assert!(more > 0 && more <= e.package_fj, "{more}");
            }
        }
    }
}
