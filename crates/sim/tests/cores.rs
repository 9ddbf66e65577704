// SPDX-License-Identifier: GPL-2.0-only
//! Do threads of a core share its idle state, its energy and its speed?

use crate::common;

use common::{Log, MS, US, draws_sleep, draws_work, run, run_with, setting, sleep, task, work, workload};
use idlewise_parts::{Costs, Machine, SimEvent};
use idlewise_platform::Platform;
use idlewise_workload::Task;

/// Running draws 100 mW, WFI 10 mW, the deeper state 2 mW: to enter that costs 8 mW for 1200 us.
const RUNNING_UW: u128 = 100_000;
const WFI_UW: u128 = 10_000;
const DEEP_UW: u128 = 2_000;
const DEEP_FJ: u128 = (WFI_UW - DEEP_UW) * 1_200_000;

/// Four CPUs; `keys` are more of their cluster, and the deeper state is left in so many us.
fn platform(keys: &str, exit_us: u32) -> Platform {
    let toml = format!(
        r#"
format = 1
id = "cores"
name = "Cores"

[[cluster]]
name = "all"
cpus = "0-3"
{keys}

[[cluster.state]]
name = "WFI"
exit_latency_us = 0
residency_us = 1

[[cluster.state]]
name = "sleep"
exit_latency_us = {exit_us}
residency_us = 1201

[cluster.power]
unit = "uw"
what = "made up"
source = "test"
at_khz = 1000000
curve = [{{ khz = 1000000, active = 100000, states = [10000, 2000] }}]
"#
    );
    let mut platform = Platform::from_toml(&toml, "cores").unwrap();
    // The break-even of WFI itself is none of this test's.
    let states = &mut platform.clusters[0].energy.states;
    assert_eq!(u128::from(states[1].transition_fj - states[0].transition_fj), (WFI_UW - DEEP_UW) * 1_201_000);
    (states[0].transition_fj, states[1].transition_fj) = (0, DEEP_FJ as u64);
    platform
}

fn machine(platform: &Platform) -> Machine<'_> {
    Machine { costs: Costs::NONE, ..Machine::new(platform, 250, None) }
}

fn pinned(cpu: u32, task: Task) -> Task {
    Task { cpus: Some(vec![cpu]), ..task }
}

/// When a CPU was in an idle state: from, to, ns. Nothing is on its way out where leaving takes no time.
fn asleep(log: &Log, cpu: u32, end_ns: u64) -> Vec<(u64, u64)> {
    let (mut all, mut since) = (Vec::new(), None);
    for (at_ns, _, what) in log.seen.iter().filter(|(_, c, _)| *c == cpu) {
        match what {
            SimEvent::IdleEntered { state } => {
                assert_eq!(*state, 1);
                since = Some(*at_ns);
            }
            SimEvent::IdleLeft => all.extend(since.take().map(|from| (from, *at_ns))),
            _ => {}
        }
    }
    all.extend(since.map(|from| (from, end_ns)));
    all
}

#[test]
fn a_thread_beside_a_busy_one_sleeps_as_shallowly_as_can_be_and_leaves_at_once() {
    let platform = platform("threads = 2", 300);
    let load = workload(vec![
        pinned(0, task("busy", vec![work(MS)])),
        pinned(1, task("sleeper", vec![work(100 * US), sleep(10 * MS)])),
    ]);
    let (out, log) = run(&machine(&platform), &load, "deepest", 1000);
    // No exit latency of the deeper state, which the core was never in; governors go by what they chose all the same.
    let period = 10 * MS + 150 * US + 1;
    assert_eq!(out.tasks[1].wakeups, 1000 * MS / period + 1);
    assert!(log.entries.iter().filter(|e| e.cpu == 1).all(|e| e.selected == 1));
    let slept: u64 = asleep(&log, 1, out.end_ns).iter().map(|(from, to)| to - from).sum();
    assert!(slept > 980 * MS);
    assert_eq!(out.energy.idle_fj[1], u128::from(slept) * WFI_UW);
    // The other core has hardly anybody awake, and is in the deeper state.
    let other: u64 = asleep(&log, 2, out.end_ns).iter().map(|(from, to)| to - from).sum();
    let deep_fj = u128::from(other) * DEEP_UW;
    assert!(other > 990 * MS && (deep_fj..deep_fj * 2).contains(&out.energy.idle_fj[2]), "{:?}", out.energy);
}

/// What CPUs draw awake and asleep, fJ, worked out anew from when each was asleep, and how often cores of so many threads went
/// down. `speeds` are thousandths by how many threads run.
fn formula(log: &Log, threads: usize, speeds: &[u32], end_ns: u64) -> ([u128; 4], [u128; 4], u128) {
    let spans: Vec<_> = (0..4).map(|c| asleep(log, c, end_ns)).collect();
    let mut times: Vec<u64> = spans.iter().flatten().flat_map(|(a, b)| [*a, *b]).collect();
    times.extend([0, end_ns]);
    times.sort_unstable();
    times.dedup();
    let sleeps = |c: usize, from: u64| spans[c].iter().any(|(a, b)| *a <= from && from < *b);
    let (mut idle, mut running, mut downs) = ([0_u128; 4], [0_u128; 4], 0);
    for core in (0..4).step_by(threads).map(|first| first..first + threads) {
        let mut before = false;
        for pair in times.windows(2) {
            let (from, ns) = (pair[0], u128::from(pair[1] - pair[0]));
            let deep = core.clone().all(|c| sleeps(c, from));
            let goes_down = deep && !before;
            downs += u128::from(goes_down);
            before = deep;
            let busy = core.clone().filter(|c| !sleeps(*c, from)).count();
            for c in core.clone() {
                if !sleeps(c, from) {
                    running[c] +=
                        ns * RUNNING_UW * u128::from(speeds.get(busy - 1).map_or(1000, |s| *s)) / 1000;
                } else {
                    idle[c] += ns * if deep { DEEP_UW } else { WFI_UW } + u128::from(goes_down) * DEEP_FJ;
                }
            }
        }
    }
    (running, idle, downs)
}

#[test]
fn a_core_goes_down_with_its_last_thread_and_all_of_them_pay() {
    let platform = platform("threads = 2", 0);
    let load = workload(vec![pinned(0, task("sleeper", vec![work(100 * US), sleep(10 * MS)]))]);
    let (out, log) = run(&machine(&platform), &load, "deepest", 1000);
    let (running, idle, _) = formula(&log, 2, &[], out.end_ns);
    assert_eq!((out.energy.running_fj, out.energy.idle_fj), (running.to_vec(), idle.to_vec()));
    // The thread that has nothing to do pays with each sleep of the other.
    assert!(asleep(&log, 0, out.end_ns).len() > 90 && asleep(&log, 1, out.end_ns).len() < 10);
    assert!(idle[1] > 90 * DEEP_FJ);
}

#[test]
fn energy_of_cores_is_that_of_the_formula_whatever_they_do() {
    let platform = platform("threads = 4\nthread_speed = { 2 = 800, 4 = 500 }", 0);
    let events = |us: u64| vec![draws_work(US, us * US), draws_sleep(US, 4 * us * US)];
    let load = workload((1..7).map(|i| task("any", events(300 * i))).collect());
    let (out, log) = run(&machine(&platform), &load, "deepest", 2000);
    let (running, idle, downs) = formula(&log, 4, &platform.clusters[0].thread_speed, out.end_ns);
    assert!(downs > 100, "{downs}");
    assert_eq!((&out.energy.running_fj[..], &out.energy.idle_fj[..]), (&running[..], &idle[..]));
    let (again, log_again) = run(&machine(&platform), &load, "deepest", 2000);
    assert_eq!(out, again);
    assert!(log.seen == log_again.seen);
}

#[test]
fn a_thread_woken_while_another_takes_the_core_out_waits_for_it() {
    let platform = platform("threads = 2", 300);
    let both = |first: u64| {
        workload(vec![
            pinned(0, task("first", vec![work(10 * US), sleep(first)])),
            pinned(1, task("second", vec![work(10 * US), sleep(20 * MS)])),
        ])
    };
    let (out, _) = run_with(&machine(&platform), &both(20 * MS - 100 * US), "deepest", &setting(30));
    let ranks = idlewise_model::Counted::ranks([&out.tasks[1].response_ns].into_iter());
    assert_eq!(ranks, [(0, 1), (200_000, 1)]);
}

#[test]
fn busy_threads_share_the_speed_of_their_core() {
    let keys = "threads = 2\nthread_speed = { 2 = 600 }";
    let platform = platform(keys, 300);
    let hundred = |cpu: u32| {
        let mut t = pinned(cpu, task("hundred", vec![work(MS)]));
        t.loops = Some(100);
        t
    };
    let ends = |cpus: &[u32]| {
        let load = workload(cpus.iter().map(|c| hundred(*c)).collect());
        run(&machine(&platform), &load, "deepest", 1000).0.finished_ns.unwrap()
    };
    let near = |ns: u64, expected: u64| assert!(ns.abs_diff(expected) < 100 * US, "{ns} and {expected}");
    near(ends(&[0]), 100 * MS);
    near(ends(&[0, 2]), 100 * MS);
    near(ends(&[0, 1]), 100 * MS * 1000 / 600);
}

#[test]
fn waking_tasks_take_cores_that_are_free_as_a_whole_first() {
    let platform = platform("threads = 2", 300);
    let sleeper = |us: u64| task("sleeper", vec![work(2 * MS), sleep(us * US)]);
    let together = |tasks: Vec<Task>| {
        let (out, log) = run(&machine(&platform), &workload(tasks), "deepest", 2000);
        let mut on: Vec<bool> = vec![false; 4];
        let (mut both_ns, mut since_ns) = (0, 0);
        for (at_ns, cpu, what) in &log.seen {
            if let SimEvent::Switch { next, .. } = what {
                let shared = (on[0] && on[1]) || (on[2] && on[3]);
                both_ns += u64::from(shared) * (at_ns - since_ns);
                since_ns = *at_ns;
                on[*cpu as usize] = next.is_some();
            }
        }
        both_ns as f64 / out.end_ns as f64
    };
    let two = together(vec![sleeper(3000), sleeper(3100)]);
    assert!(two < 0.01, "two tasks share a core for {two} of the time");
    let four = together((0..4).map(|i| sleeper(500 + 37 * i)).collect());
    assert!(four > 0.3, "four have to");
}

#[test]
fn a_core_of_one_thread_is_a_cpu() {
    let (plain, one) = (platform("", 300), platform("threads = 1\ncache_cpus = 4", 300));
    let events = |us: u64| vec![draws_work(US, us * US), draws_sleep(US, 4 * us * US)];
    let load = workload((1..6).map(|i| task("any", events(300 * i))).collect());
    let (a, log_a) = run(&machine(&plain), &load, "menu", 2000);
    let (b, log_b) = run(&machine(&one), &load, "menu", 2000);
    assert_eq!(a, b);
    assert!(log_a.seen == log_b.seen && log_a.entries == log_b.entries);
}
