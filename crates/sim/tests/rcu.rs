// SPDX-License-Identifier: GPL-2.0-only
//! Callbacks of RCU: the CPU where they wait keeps its tick in idle, and the kernel's thread sees to their end.

use crate::common;

use common::{MS, US, platform, run, sleep, task, work, workload};
use idlewise_model::{TickChoice, WakeCause};
use idlewise_parts::{Costs, Machine, SimEvent};
use idlewise_workload::{Event, Task};

/// A task on CPU 0 that works every 50 ms, and may leave a callback; nothing else but RCU's thread.
fn load(leaves: bool, loops: Option<u64>) -> idlewise_workload::Workload {
    let mut events = vec![work(100 * US), sleep(50 * MS)];
    if leaves {
        events.insert(1, Event::CallRcu);
    }
    workload(vec![Task { cpus: Some(vec![0]), loops, ..task("one", events) }])
}

#[test]
fn the_tick_runs_in_idle_until_a_grace_period_has_passed() {
    let platform = platform(2);
    let machine = Machine { costs: Costs::NONE, ..Machine::new(&platform, 1000, None) };
    let run = |leaves| run(&machine, &load(leaves, None), "deepest", 1000);
    let ticks = |log: &common::Log, cpu| {
        let kept = |e: &&idlewise_model::Entry| e.cpu == cpu && e.tick == TickChoice::Kept;
        log.entries.iter().filter(kept).filter(|e| e.cause == WakeCause::Tick).count()
    };
    let (out, log) = run(true);
    // Of 20 times: its tick asks, two looks follow, each four ticks later, and one more tick ends it.
    let (on_it, elsewhere) = (ticks(&log, 0), ticks(&log, 1));
    assert!((20 * 8..=20 * 11).contains(&on_it), "{on_it}");
    assert_eq!(elsewhere, 0);
    let softirqs = log.seen.iter().filter(|(.., what)| *what == SimEvent::RcuRuns).count();
    assert!((20 * 2..=20 * 4).contains(&softirqs), "{softirqs}");
    let woken: u64 = out.tasks.iter().map(|t| t.wakeups).sum();
    assert!((20 * 3..=20 * 4 + 2).contains(&woken), "{woken}");
    let (_, without) = run(false);
    assert_eq!(ticks(&without, 0), 0);
    assert!(without.seen.iter().all(|(.., what)| *what != SimEvent::RcuRuns));
}

#[test]
fn the_run_does_not_wait_for_the_thread() {
    let platform = platform(2);
    let (out, _) = run(&Machine::new(&platform, 1000, None), &load(true, Some(3)), "menu", 5000);
    assert!(out.finished_ns.is_some_and(|ns| ns < 200 * MS), "{:?}", out.finished_ns);
}
