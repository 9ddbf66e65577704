// SPDX-License-Identifier: GPL-2.0-only
//! CPUs that take turns on one thread of a host, and what a kernel and a program take beside a task's work.

use crate::common;

use common::{Log, MS, US, platform, run, sleep, task, work, workload};
use idlewise_model::Counted;
use idlewise_parts::{Costs, HrtimerOf, Machine, SimEvent};
use idlewise_platform::Platform;
use idlewise_workload::{Task, Workload};

fn on_one_thread(cpus: u32) -> Platform {
    Platform { one_thread: true, ..platform(cpus) }
}

fn machine(platform: &Platform) -> Machine<'_> {
    let mut machine = Machine::new(platform, 1000, None);
    machine.costs = Costs::NONE;
    machine.slack_ns = 0;
    machine
}

fn pinned(name: &str, cpu: u32, events: Vec<idlewise_workload::Event>) -> Task {
    Task { cpus: Some(vec![cpu]), ..task(name, events) }
}

/// Each works once for so many ms, on a CPU of its own.
fn once(ms: &[u64]) -> Workload {
    let tasks =
        (0..).zip(ms).map(|(cpu, ms)| Task { loops: Some(1), ..pinned("t", cpu, vec![work(ms * MS)]) });
    workload(tasks.collect())
}

fn values(counted: &Counted) -> Vec<u32> {
    Counted::ranks(std::iter::once(counted)).into_iter().map(|(ns, _)| ns).collect()
}

/// When each task was gone, ns.
fn ends(log: &Log) -> Vec<u64> {
    let gone = |(at_ns, _, seen): &(u64, u32, SimEvent)| match seen {
        SimEvent::Switch { prev: Some(task), prev_sleeps: true, .. } => Some((*task, *at_ns)),
        _ => None,
    };
    let mut ends: Vec<_> = log.seen.iter().filter_map(gone).collect();
    ends.sort_unstable();
    ends.into_iter().map(|(_, at_ns)| at_ns).collect()
}

#[test]
fn cpus_that_work_at_once_share_the_thread() {
    let (own, shared) = (platform(4), on_one_thread(4));
    let (_, log) = run(&machine(&own), &once(&[10, 10]), "shallow", 100);
    assert!(ends(&log).iter().all(|ns| (10 * MS..11 * MS).contains(ns)), "{:?}", ends(&log));
    let (out, log) = run(&machine(&shared), &once(&[10, 10]), "shallow", 100);
    let both = ends(&log);
    // The first CPU loses its turn when it sets the next tick, so the other one is done first.
    let [first, second] = both[..] else { panic!("{both:?}") };
    assert!((20 * MS..=20 * MS + 100 * US).contains(&first), "{both:?}");
    assert!((15 * MS..=20 * MS).contains(&second), "{both:?}");
    // To the scheduler they ran all that time.
    assert_eq!(out.busy_ns.get(..2), Some(&both[..]));
    // The long one has the thread for itself when the other one is gone.
    let (_, log) = run(&machine(&shared), &once(&[5, 20]), "shallow", 100);
    let [short, long] = ends(&log)[..] else { panic!("{:?}", ends(&log)) };
    assert!((8 * MS..=14 * MS).contains(&short), "{short}");
    assert!((25 * MS..=25 * MS + 100 * US).contains(&long), "{long}");
}

#[test]
fn a_cpu_alone_is_as_fast_as_ever() {
    let load = workload(vec![pinned("t", 0, vec![work(700 * US), sleep(2_310 * US)])]);
    let (own, shared) = (platform(1), on_one_thread(1));
    for governor in ["shallow", "teo"] {
        let (a, log_a) = run(&machine(&own), &load, governor, 300);
        let (b, log_b) = run(&machine(&shared), &load, governor, 300);
        assert_eq!((&a.tasks, &a.busy_ns, &a.energy), (&b.tasks, &b.busy_ns, &b.energy), "{governor}");
        assert_eq!(log_a.entries, log_b.entries, "{governor}");
    }
}

#[test]
fn the_way_out_of_a_state_costs_the_others_little_and_no_time_itself() {
    let shared = on_one_thread(2);
    let sleeper = pinned("sleeper", 1, vec![work(US), sleep(1_500 * US)]);
    let worker = Task { loops: Some(1), ..pinned("worker", 0, vec![work(40 * MS)]) };
    let (_, log) = run(&machine(&shared), &workload(vec![worker, sleeper]), "deepest", 200);
    let end_ns = ends(&log)[0];
    // Every 1.8 ms it spins for 300 us, looking at the clock for some us a turn.
    assert!((40 * MS..42 * MS).contains(&end_ns), "{end_ns}");
    // It takes as long as ever, but for the ends of others' turns: half a tick at most, before and after.
    let latencies: Vec<i64> = log.entries.iter().filter(|e| e.cpu == 1).map(|e| e.latency_ns).collect();
    assert!(latencies.len() > 20, "{latencies:?}");
    assert!(latencies.iter().all(|ns| (300_000..=1_300_000).contains(ns)), "{latencies:?}");
    assert_eq!(latencies.iter().rev().nth(3), Some(&300_000), "nothing else runs by then");
}

#[test]
fn a_waking_cpu_waits_for_a_part_of_the_time_to_the_next_timer() {
    let shared = on_one_thread(4);
    let sleeper = pinned("sleeper", 3, vec![work(US), sleep(1_730 * US)]);
    let worker = pinned("worker", 0, vec![work(1000 * MS)]);
    let (out, _) = run(&machine(&shared), &workload(vec![worker, sleeper]), "shallow", 900);
    let all = values(&out.tasks[1].response_ns);
    // A tick of 1 ms in four parts; the sleeper's CPU waits once for its state's end, once for its task.
    assert!(all.iter().all(|ns| *ns <= 510_000), "{:?}", all.iter().max());
    assert!(all.iter().any(|ns| *ns > 100_000), "it never waited: {all:?}");
}

#[test]
fn what_a_program_does_itself_is_run_time_that_interrupts_come_between() {
    let own = platform(1);
    let mut machine = machine(&own);
    machine.costs = Costs { user_ns: 20 * US, loop_ns: 50 * US, ..Costs::NONE };
    let load = workload(vec![pinned("t", 0, vec![work(100 * US), sleep(700 * US)])]);
    let (out, log) = run(&machine, &load, "shallow", 500);
    let rounds = out.tasks[0].runs;
    let each_ns = out.tasks[0].run_ns / rounds;
    assert!((169 * US..=171 * US).contains(&each_ns), "{each_ns}");
    // Of 500 ticks, one of five or six finds the task at work.
    let ticks = log
        .seen
        .iter()
        .filter(|(.., s)| matches!(s, SimEvent::TimerExpired { timer: HrtimerOf::Tick }))
        .count();
    assert!(ticks > 50, "{ticks}");
}

#[test]
fn a_task_is_woken_before_the_interrupt_is_left() {
    let own = platform(1);
    let mut machine = machine(&own);
    machine.costs = Costs { irq_ns: 8 * US, irq_exit_ns: 5 * US, ..Costs::NONE };
    let load = workload(vec![pinned("t", 0, vec![work(100 * US), sleep(3_330 * US)])]);
    let (out, _) = run(&machine, &load, "shallow", 100);
    let latencies = values(&out.tasks[0].wakeup_latency_ns);
    assert!(latencies.contains(&5_000), "{latencies:?}");
    let slow = values(&out.tasks[0].response_ns);
    assert!(slow.contains(&9_000), "1 us out of the state, 8 us of interrupt: {slow:?}");
}
