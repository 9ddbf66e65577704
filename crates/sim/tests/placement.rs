// SPDX-License-Identifier: GPL-2.0-only
//! Do tasks go where Linux would put them, and only where they may?

use crate::common;

use common::{
    Log, MS, US, draws_sleep, draws_work, platform, run, run_with, setting, sleep, task, work, workload,
};
use idlewise_parts::{Machine, Placement, Placing, SimError, SimEvent};
use idlewise_platform::{Platform, find};
use idlewise_sim::{Outcome, Setting, Signal};
use idlewise_workload::{Event, Policy, Sched, Task, Workload};
use proptest::prelude::*;

const LITTLE: std::ops::Range<usize> = 0..4;
const MID: std::ops::Range<usize> = 4..6;
const BIG: std::ops::Range<usize> = 6..8;

/// A Pixel 6 that is placed by its measured powers, as if no supplies were known.
fn pixel6() -> Platform {
    let mut platform = find("pixel6").unwrap();
    platform.clusters.iter_mut().flat_map(|c| &mut c.clock).for_each(|c| c.coefficient = None);
    platform
}

/// A Pixel 6 whose LITTLE power is that much for placement, thousandths. Measured powers make it more expensive than the others.
fn phone(platform: &Platform, little: u32) -> Machine<'_> {
    let placing = Placing { model_scale: vec![little], ..Placing::default() };
    Machine { placing, ..Machine::new(platform, 250, None) }
}

fn under(governor: &str, ms: u64) -> Setting {
    Setting { frequency: governor.parse().unwrap(), ..setting(ms) }
}

fn periodic(work_ns: u64, sleep_ns: u64) -> Task {
    task("periodic", vec![work(work_ns), sleep(sleep_ns)])
}

fn share(out: &Outcome, cpus: std::ops::Range<usize>) -> f64 {
    let all: u64 = out.busy_ns.iter().sum();
    out.busy_ns[cpus].iter().sum::<u64>() as f64 / all as f64
}

/// Where a task was sent at its wakes from that time on.
fn targets(log: &Log, task: u32, from_ns: u64) -> Vec<usize> {
    let of = |(at_ns, _, what): &(u64, u32, SimEvent)| match what {
        SimEvent::Waking { task: t, target } if *t == task && *at_ns >= from_ns => Some(*target as usize),
        _ => None,
    };
    log.seen.iter().filter_map(of).collect()
}

#[test]
fn small_tasks_go_where_they_cost_least() {
    let platform = pixel6();
    let load = workload((0..3).map(|_| periodic(200 * US, 16 * MS)).collect());
    let (out, _) = run_with(&phone(&platform, 200), &load, "teo", &under("schedutil", 2000));
    assert!(share(&out, LITTLE) > 0.95, "{:?}", out.busy_ns);
    // With the powers as measured that is MID.
    let (out, _) = run_with(&phone(&platform, 1000), &load, "teo", &under("schedutil", 2000));
    assert!(share(&out, MID) > 0.8, "{:?}", out.busy_ns);
}

#[test]
fn kernels_of_both_formulas_pack_small_tasks() {
    let platform = pixel6();
    let load = workload((0..3).map(|_| periodic(200 * US, 16 * MS)).collect());
    let old = idlewise_signal::pelt::Pelt::kernel(6, 1).unwrap();
    let setting = Setting { pelt: old, ..under("schedutil-6.1", 2000) };
    let (out, _) = run_with(&phone(&platform, 200), &load, "teo", &setting);
    assert!(share(&out, LITTLE) > 0.95, "{:?}", out.busy_ns);
    let walt = Signal::Walt(idlewise_signal::walt::Config::android());
    let mut machine = phone(&platform, 200);
    machine.placing.by_walt = true;
    let setting = Setting { signal: walt, ..under("schedutil-android-4.4", 2000) };
    let (out, _) = run_with(&machine, &load, "teo", &setting);
    assert!(share(&out, LITTLE) > 0.95, "{:?}", out.busy_ns);
}

#[test]
fn a_task_that_needs_a_large_cpu_gets_one() {
    let platform = pixel6();
    let load = workload(vec![task("hog", vec![work(MS)])]);
    for governor in ["schedutil", "performance"] {
        let (out, _) = run_with(&phone(&platform, 200), &load, "teo", &under(governor, 2000));
        assert!(share(&out, BIG) > 0.9, "{governor}: {:?}", out.busy_ns);
    }
    // And keeps off what it may not use.
    let mut load = load;
    load.tasks[0].cpus = Some(vec![0, 1, 4]);
    let (out, _) = run_with(&phone(&platform, 200), &load, "teo", &under("schedutil", 2000));
    assert!(out.busy_ns[4] > 1900 * MS, "{:?}", out.busy_ns);
}

#[test]
fn energy_does_not_matter_while_a_cpu_has_too_much_to_do() {
    let platform = pixel6();
    let machine = phone(&platform, 1000);
    let mut small = periodic(200 * US, 16 * MS);
    small.delay_ns = 500 * MS;
    let calm = workload(vec![small.clone()]);
    let (_, log) = run_with(&machine, &calm, "teo", &under("schedutil", 1500));
    assert!(targets(&log, 0, 600 * MS).iter().all(|c| MID.contains(c)));
    // Beside a hog it stays where it began.
    let busy = workload(vec![small, task("hog", vec![work(MS)])]);
    let (_, log) = run_with(&machine, &busy, "teo", &under("schedutil", 1500));
    let seen = targets(&log, 0, 600 * MS);
    assert!(seen.len() > 40 && seen.iter().all(|c| LITTLE.contains(c)), "{seen:?}");
    // The hog over, energy matters again.
    let mut hog = task("hog", vec![work(600 * MS)]);
    hog.loops = Some(1);
    let busy = workload(vec![calm.tasks[0].clone(), hog, periodic(300 * US, 9 * MS)]);
    let (_, log) = run_with(&machine, &busy, "teo", &under("schedutil", 3000));
    assert!(targets(&log, 0, 2000 * MS).iter().all(|c| MID.contains(c)));
}

#[test]
fn energy_matters_only_where_the_kernel_minds_it_or_is_told_to() {
    let platform = pixel6();
    let load = workload(vec![periodic(200 * US, 16 * MS)]);
    let mut machine = phone(&platform, 1000);
    // Without schedutil, and where it was switched off, the task stays where it was made.
    let (out, _) = run_with(&machine, &load, "teo", &under("performance", 1000));
    assert!(share(&out, LITTLE) > 0.99, "{:?}", out.busy_ns);
    machine.placing.placement = Placement::Plain;
    let (out, _) = run_with(&machine, &load, "teo", &under("schedutil", 1000));
    assert!(share(&out, LITTLE) > 0.99, "{:?}", out.busy_ns);
    machine.placing.placement = Placement::EnergyAware;
    let (out, _) = run_with(&machine, &load, "teo", &under("performance", 3000));
    assert!(share(&out, MID) > 0.8, "{:?}", out.busy_ns);
    // A machine without a model cannot.
    let plain = common::platform(2);
    let mut machine = Machine::new(&plain, 250, None);
    machine.placing.placement = Placement::EnergyAware;
    let mut governor =
        idlewise_governor::Instance::load(&"teo".parse().unwrap(), machine.grid.period_ns).unwrap();
    let out = idlewise_sim::simulate(&machine, &load, &setting(10), &mut governor, &mut Log::default());
    assert!(matches!(out, Err(SimError::NoEnergyModel { cluster }) if cluster == "all"));
}

/// As Android 3.18 did it, under PELT or under WALT.
fn android(platform: &Platform, walt: bool) -> (Machine<'_>, Setting) {
    let mut machine = phone(platform, 200);
    machine.placing.placement = Placement::Android;
    machine.placing.by_walt = walt;
    let config = idlewise_signal::walt::Config::android();
    let config = idlewise_signal::walt::Config { place_by_busy_time: true, ..config };
    let signal = if walt { Signal::Walt(config) } else { Signal::Pelt };
    let old = idlewise_signal::pelt::Pelt::kernel(4, 4).unwrap();
    (machine, Setting { pelt: old, signal, ..under("sched-freq-4.4", 4000) })
}

#[test]
fn android_chooses_the_smallest_cpus_and_there_a_busy_one_or_the_last() {
    let platform = pixel6();
    let load = workload((0..3).map(|_| periodic(200 * US, 16 * MS)).collect());
    for walt in [false, true] {
        let (machine, setting) = android(&platform, walt);
        let (out, _) = run_with(&machine, &load, "teo", &setting);
        assert!(share(&out, LITTLE) > 0.95, "{walt}: {:?}", out.busy_ns);
    }
    // It comes from BIG again and again; CPU 2 is busy half of the time.
    let (machine, setting) = android(&platform, false);
    let mut resident = periodic(2 * MS, 3 * MS);
    resident.cpus = Some(vec![2]);
    let mut comes = periodic(50 * US, 7 * MS);
    comes.phases.push(comes.phases[0].clone());
    comes.phases[0].cpus = Some(vec![6, 7]);
    comes.phases[1].cpus = Some((0..8).collect());
    let (_, log) = run_with(&machine, &workload(vec![resident, comes]), "teo", &setting);
    let seen: Vec<usize> = targets(&log, 1, 200 * MS).into_iter().filter(|c| !BIG.contains(c)).collect();
    let at = |c: usize| seen.iter().filter(|s| **s == c).count();
    assert!(at(2) > 10 && at(3) > 10 && at(2) + at(3) == seen.len(), "{seen:?}");
}

#[test]
fn android_gives_a_large_task_a_large_cpu_by_its_demand() {
    let platform = pixel6();
    // More than MID gives with its margin.
    let load = workload(vec![periodic(200 * MS, 8 * MS)]);
    for walt in [false, true] {
        let (machine, setting) = android(&platform, walt);
        let (out, _) = run_with(&machine, &load, "teo", &setting);
        assert!(share(&out, BIG) > 0.8, "{walt}: {:?}", out.busy_ns);
    }
    // After a long sleep PELT has forgotten it, and WALT has not.
    let heavy = periodic(400 * MS, 200 * MS);
    let on_big = |walt: bool| {
        let (machine, setting) = android(&platform, walt);
        let (_, log) = run_with(&machine, &workload(vec![heavy.clone()]), "teo", &setting);
        let all = targets(&log, 0, 500 * MS);
        assert!(!all.is_empty());
        all.iter().filter(|c| BIG.contains(*c)).count() as f64 / all.len() as f64
    };
    assert!(on_big(true) > 0.9 && on_big(false) < 0.5, "{} {}", on_big(true), on_big(false));
}

#[test]
fn limits_of_utilisation_move_tasks_and_clocks() {
    let platform = pixel6();
    let machine = phone(&platform, 200);
    // A small task that asks for 600 gets a CPU that can be so fast.
    let mut small = periodic(200 * US, 16 * MS);
    small.sched.util_min = Some(600);
    let (out, _) = run_with(&machine, &workload(vec![small]), "teo", &under("schedutil", 4000));
    assert!(share(&out, BIG) > 0.95, "{:?}", out.busy_ns);
    // A hog that is worth no more than 100 is content with LITTLE.
    let mut hog = task("hog", vec![work(MS)]);
    hog.sched.util_max = Some(100);
    let (out, log) = run_with(&machine, &workload(vec![hog]), "teo", &under("schedutil", 1000));
    assert!(share(&out, LITTLE) > 0.95, "{:?}", out.busy_ns);
    let top = |log: &Log| {
        let of = |(at_ns, cpu, what): &(u64, u32, SimEvent)| match what {
            SimEvent::Clock { khz } if *cpu < 4 && *at_ns > 100 * MS => Some(*khz),
            _ => None,
        };
        log.seen.iter().filter_map(of).max()
    };
    assert!(top(&log) < Some(1_803_000), "{:?}", top(&log));
}

#[test]
fn tasks_spread_over_idle_cpus_and_stay_where_they_were() {
    let platform = platform(4);
    let machine = Machine::new(&platform, 250, None);
    let load = workload((0..4).map(|_| periodic(2 * MS, 3 * MS)).collect());
    let (out, log) = run(&machine, &load, "menu", 1000);
    assert!(out.tasks.iter().all(|t| t.migrations <= 2), "{:?}", out.tasks);
    let last: std::collections::BTreeSet<_> =
        (0..4).filter_map(|t| targets(&log, t, 500 * MS).last().copied()).collect();
    assert_eq!(last.len(), 4);
}

#[test]
fn what_waits_moves_to_cpus_that_have_nothing_to_do() {
    let platform = platform(4);
    let machine = Machine::new(&platform, 250, None);
    // Two CPUs at first, all of them later: the tasks are pulled there.
    let mut load = workload((0..8).map(|_| task("hog", vec![work(MS)])).collect());
    for t in &mut load.tasks[..6] {
        t.cpus = Some(vec![0, 1, 2, 3]);
    }
    let (out, _) = run(&machine, &load, "menu", 2000);
    assert!(out.busy_ns.iter().all(|ns| *ns > 1990 * MS), "{:?}", out.busy_ns);
    // Eight hogs on four CPUs: two each.
    assert!(out.tasks.iter().all(|t| (850 * MS..1150 * MS).contains(&t.run_ns)), "{:?}", out.tasks);
}

fn fifo(priority: u32, events: Vec<Event>) -> Task {
    let sched = Sched { policy: Policy::Fifo { priority }, ..Sched::default() };
    Task { sched, ..task("fifo", events) }
}

#[test]
fn urgent_tasks_go_where_something_less_urgent_runs() {
    let platform = platform(2);
    let machine = Machine::new(&platform, 250, None);
    // The higher one wakes up where the lower one runs, since both began there.
    let mut high = fifo(50, vec![work(MS), sleep(2 * MS)]);
    let low = fifo(10, vec![work(7 * MS), sleep(MS)]);
    let fair = task("fair", vec![work(MS)]);
    high.delay_ns = 3 * MS;
    let (out, _) = run(&machine, &workload(vec![high, low, fair]), "menu", 1000);
    // The low one has a CPU whenever it wants one: 7 of 8 ms.
    assert!(out.tasks[1].run_ns > 870 * MS, "{:?}", out.tasks);
    let worst = |t: usize| {
        idlewise_model::Counted::ranks([&out.tasks[t].wakeup_latency_ns].into_iter()).last().map(|r| r.0)
    };
    assert!(worst(0) < Some(50_000) && worst(1) < Some(50_000), "{:?} {:?}", worst(0), worst(1));
}

#[test]
fn averages_of_idle_cpus_fade_while_another_is_busy() {
    let platform = pixel6();
    let machine = phone(&platform, 200);
    // Busy for a while on one of MID, which a task on the other keeps busy for longer: its clock comes down by ageing.
    let mut burst = task("burst", vec![work(300 * MS)]);
    burst.loops = Some(1);
    burst.cpus = Some(vec![4]);
    let mut small = periodic(500 * US, 4 * MS);
    small.cpus = Some(vec![5]);
    let (_, log) = run_with(&machine, &workload(vec![burst, small]), "teo", &under("schedutil", 3000));
    let of = |(at_ns, cpu, what): &(u64, u32, SimEvent)| match what {
        SimEvent::Clock { khz } if *cpu == 5 => Some((*at_ns, *khz)),
        _ => None,
    };
    let clocks: Vec<(u64, u32)> = log.seen.iter().filter_map(of).collect();
    assert!(clocks.iter().any(|(at_ns, khz)| *at_ns < 1500 * MS && *khz > 2_000_000), "{clocks:?}");
    assert!(clocks.last().is_some_and(|(_, khz)| *khz < 800_000), "{clocks:?}");
}

#[test]
fn a_task_goes_where_its_next_phase_may_run() {
    let platform = platform(4);
    let machine = Machine::new(&platform, 250, None);
    let mut moves = task("moves", vec![work(2 * MS), sleep(MS)]);
    moves.phases.push(moves.phases[0].clone());
    moves.phases[0].cpus = Some(vec![0, 1]);
    moves.phases[1].cpus = Some(vec![2, 3]);
    let (out, _) = run(&machine, &workload(vec![moves]), "menu", 600);
    let (a, b) = (out.busy_ns[..2].iter().sum::<u64>(), out.busy_ns[2..].iter().sum::<u64>());
    assert!(a.abs_diff(b) < 10 * MS && a + b > 350 * MS, "{:?}", out.busy_ns);
}

/// Every task where it may be, on one CPU at a time; gives how often each ran.
fn check(log: &Log, load: &Workload, cpus: usize) -> Result<Vec<u32>, TestCaseError> {
    let mut program = Vec::new();
    let mut on: Vec<Option<u32>> = vec![None; cpus];
    let mut at: Vec<Option<u32>> = Vec::new();
    let mut ran = Vec::new();
    for (at_ns, cpu, what) in &log.seen {
        match *what {
            SimEvent::Made { task, program: p } => {
                program.resize(program.len().max(task as usize + 1), 0);
                program[task as usize] = p;
                at.resize(program.len(), None);
                ran.resize(program.len(), 0);
            }
            SimEvent::Waking { task, target } => at[task as usize] = Some(target),
            SimEvent::Migrated { task, to, .. } => at[task as usize] = Some(to),
            SimEvent::Switch { prev, next, .. } => {
                let c = *cpu as usize;
                prop_assert_eq!(on[c], prev, "CPU {} at {}", c, at_ns);
                if let Some(n) = next {
                    let own = &load.tasks[program[n as usize] as usize].cpus;
                    prop_assert!(own.as_ref().is_none_or(|o| o.contains(cpu)), "task {} on {}", n, cpu);
                    prop_assert!(!on.contains(&next), "task {} runs twice at {}", n, at_ns);
                    prop_assert_eq!(at[n as usize], Some(*cpu));
                    ran[n as usize] += 1;
                }
                on[c] = next;
            }
            _ => {}
        }
    }
    Ok(ran)
}

#[derive(Clone, Debug)]
struct Any {
    work_us: u64,
    sleep_us: u64,
    loops: u64,
    cpus: Option<Vec<u32>>,
    policy: Policy,
    clamps: (Option<u32>, Option<u32>),
}

fn any_task() -> impl Strategy<Value = Any> {
    let policy = prop_oneof![
        6 => (-10..10).prop_map(|nice| Policy::Other { nice, slice_ns: None }),
        1 => Just(Policy::Idle),
        1 => (1_u32..99).prop_map(|priority| Policy::Fifo { priority }),
        1 => (1_u32..99).prop_map(|priority| Policy::RoundRobin { priority }),
    ];
    let cpus = prop::option::of(prop::collection::btree_set(0_u32..8, 1..4));
    let clamps = (prop::option::weighted(0.1, 0_u32..1025), prop::option::weighted(0.1, 0_u32..1025));
    (1_u64..4000, 0_u64..6000, 1_u64..25, cpus, policy, clamps).prop_map(
        |(work_us, sleep_us, loops, cpus, policy, clamps)| Any {
            work_us,
            sleep_us,
            loops,
            cpus: cpus.map(|set| set.into_iter().collect()),
            policy,
            clamps,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_task_is_lost_or_where_it_may_not_be(
        tasks in prop::collection::vec(any_task(), 1..14),
        machine in 0..3,
        governor in prop::sample::select(vec!["schedutil", "schedutil-6.1", "performance"]),
        walt in any::<bool>(),
        android in any::<bool>(),
        seed in 0_u64..1000,
    ) {
        let platform = match machine {
            0 => pixel6(),
            1 => find("rk3399").unwrap(),
            _ => common::platform(8),
        };
        let mut machine = phone(&platform, 200);
        machine.placing.by_walt = walt;
        if android {
            machine.placing.placement = Placement::Android;
        }
        let n = machine.cpus.len() as u32;
        let tasks: Vec<Task> = tasks
            .into_iter()
            .map(|t| {
                let events = vec![draws_work(US, t.work_us * US), draws_sleep(0, t.sleep_us * US)];
                let mut made = task("any", events);
                made.loops = Some(t.loops);
                made.sched = Sched { policy: t.policy, util_min: t.clamps.0, util_max: t.clamps.1 };
                let cpus = t.cpus.map(|set| set.into_iter().filter(|c| *c < n).collect::<Vec<_>>());
                made.cpus = cpus.filter(|set| !set.is_empty());
                made
            })
            .collect();
        let load = workload(tasks);
        let signal = if walt {
            Signal::Walt(idlewise_signal::walt::Config::android())
        } else {
            Signal::Pelt
        };
        let setting = Setting { seed, signal, ..under(governor, 60_000) };
        let (out, log) = run_with(&machine, &load, "menu", &setting);
        prop_assert!(out.finished_ns.is_some(), "{out:?}");
        let ran = check(&log, &load, n as usize)?;
        prop_assert!(ran.iter().all(|times| *times > 0), "{ran:?}");
        prop_assert_eq!(ran.len(), load.tasks.len());
        let (again, log_again) = run_with(&machine, &load, "menu", &setting);
        prop_assert_eq!(out, again);
        prop_assert!(log.seen == log_again.seen);
    }
}
