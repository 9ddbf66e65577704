// SPDX-License-Identifier: GPL-2.0-only
//! The deadline server of fair tasks: what idle CPUs see of it.

use crate::common;

use common::{MS, US, platform, run, sleep, task, work, workload};
use idlewise_model::WakeCause;
use idlewise_parts::{Costs, HrtimerOf, Machine, SimEvent};
use idlewise_workload::{Policy, Sched, Task};

/// When the timer of CPU 0's server was set to expire and when it did, by when that was known, ms.
fn timers(log: &common::Log) -> (Vec<(u64, u64)>, Vec<u64>) {
    let own = || log.seen.iter().filter(|(_, cpu, _)| *cpu == 0);
    let set = own().filter_map(|(at_ns, _, what)| match what {
        SimEvent::TimerSet { timer: HrtimerOf::FairServer, hard_ns, .. } => Some((at_ns / MS, hard_ns / MS)),
        _ => None,
    });
    let expired =
        own().filter(|(.., what)| matches!(what, SimEvent::TimerExpired { timer: HrtimerOf::FairServer }));
    (set.collect(), expired.map(|(at_ns, ..)| at_ns / MS).collect())
}

fn machine(platform: &idlewise_platform::Platform) -> Machine<'_> {
    Machine { costs: Costs::NONE, ..Machine::new(platform, 250, None) }
}

fn on(cpu: u32, task: Task) -> Task {
    Task { cpus: Some(vec![cpu]), ..task }
}

#[test]
fn while_fair_tasks_run_now_and_then_its_timer_is_always_pending_and_never_fires() {
    let platform = platform(1);
    let load = workload(vec![task("sleeper", vec![work(100 * US), sleep(10 * MS)])]);
    let (_, log) = run(&machine(&platform), &load, "deepest", 2000);
    let (set, expired) = timers(&log);
    assert!(expired.is_empty(), "{expired:?}");
    // 50 ms are used up by running and by idling, and a new period begins.
    assert!((30..=40).contains(&set.len()), "{set:?}");
    assert!(set.iter().all(|(at, due)| due - at == 950), "{set:?}");
    assert!(set.windows(2).all(|two| two[1].0 - two[0].0 <= 61), "{set:?}");
    let none = Machine { fair_server: false, ..machine(&platform) };
    assert!(timers(&run(&none, &load, "deepest", 2000).1).0.is_empty());
}

#[test]
fn in_idle_it_stops_at_the_end_of_its_period() {
    let platform = platform(2);
    let once = Task { loops: Some(1), ..task("once", vec![work(MS)]) };
    let other = on(1, task("other", vec![work(MS), sleep(100 * MS)]));
    let (_, log) = run(&machine(&platform), &workload(vec![on(0, once), other]), "deepest", 5000);
    let (set, expired) = timers(&log);
    // It fires 50 ms before the period's end; idling has used these up, so it waits until then, and stops.
    assert_eq!((set, expired), (vec![(0, 950), (950, 1000)], vec![950, 1000]));
    let woken = log.entries.iter().filter(|e| e.cpu == 0 && e.cause == WakeCause::Hrtimer).count();
    assert_eq!(woken, 2);
}

#[test]
fn real_time_tasks_have_none() {
    let platform = platform(1);
    let sched = Sched { policy: Policy::Fifo { priority: 10 }, ..Sched::default() };
    let load = workload(vec![Task { sched, ..task("sound", vec![work(100 * US), sleep(10 * MS)]) }]);
    assert!(timers(&run(&machine(&platform), &load, "deepest", 500).1).0.is_empty());
}
