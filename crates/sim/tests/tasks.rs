// SPDX-License-Identifier: GPL-2.0-only
//! What tasks can do, one thing at a time, on a machine whose kernel costs nothing.

use crate::common;

use common::{Log, MS, Nobody, US, platform, run, run_with, setting, sleep, task, work, workload};
use idlewise_governor::{Instance, Spec};
use idlewise_model::Counted;
use idlewise_parts::{Costs, HrtimerOf, Machine, SimEvent};
use idlewise_platform::Platform;
use idlewise_sim::{Outcome, Setting, Signal, simulate};
use idlewise_workload::{
    Arrivals, Completion, Device, DeviceId, Distribution, Event, Frame, FrameId, IrqCpu, Policy, Resource,
    ResourceId, ResourceKind, Sched, SleepTimer, Source, SourceId, Task, TimerMode, Workload,
};

fn plain(platform: &Platform) -> Machine<'_> {
    Machine { costs: Costs::NONE, slack_ns: 0, ..Machine::new(platform, 250, None) }
}

fn play(load: &Workload, cpus: u32, ms: u64) -> (Outcome, Log) {
    let platform = platform(cpus);
    run(&plain(&platform), load, "shallow", ms)
}

/// Why the run came to no end.
fn failed(load: &Workload, cpus: u32, ms: u64) -> String {
    let platform = platform(cpus);
    let machine = plain(&platform);
    let mut governor = Instance::load(&Spec::new("shallow"), machine.grid.period_ns).unwrap();
    simulate(&machine, load, &setting(ms), &mut governor, &mut Nobody).unwrap_err().to_string()
}

fn with(mut load: Workload, kinds: &[ResourceKind]) -> Workload {
    load.resources = kinds.iter().map(|kind| Resource { name: "r".to_owned(), kind: *kind }).collect();
    load
}

fn scheduled(policy: Policy, t: Task) -> Task {
    Task { sched: Sched { policy, ..Sched::default() }, ..t }
}

fn times(t: Task, loops: u64) -> Task {
    Task { loops: Some(loops), ..t }
}

fn ranks(times: &Counted) -> Vec<(u32, u64)> {
    Counted::ranks([times].into_iter())
}

/// Times at which a task begins to run, us.
fn begins(log: &Log, of: u32) -> Vec<u64> {
    let next = |(at_ns, _, what): &(u64, u32, SimEvent)| match what {
        SimEvent::Switch { next: Some(next), .. } if *next == of => Some(at_ns / US),
        _ => None,
    };
    log.seen.iter().filter_map(next).collect()
}

#[test]
fn a_workload_ends_when_its_tasks_have() {
    let load = workload(vec![times(task("a", vec![work(3 * MS), sleep(2 * MS)]), 4)]);
    let (out, _) = play(&load, 1, 1000);
    let ms = out.finished_ns.unwrap() / MS;
    assert_eq!((ms, out.tasks[0].run_ns / MS), (20, 12));
    assert_eq!(out.end_ns, out.finished_ns.unwrap());
}

#[test]
fn a_period_that_is_missed_is_caught_up_with_or_forgotten() {
    let timer = ResourceId(0);
    let long_then_short = |mode| {
        let period = Event::Timer { timer, period_ns: 10 * MS, mode };
        let events = vec![work(25 * MS), period.clone(), work(MS), period.clone(), work(MS), period];
        with(workload(vec![times(task("a", events), 1)]), &[ResourceKind::TaskTimer])
    };
    // Two periods were missed: it goes on at once, twice, and the third is at 30 ms.
    let (out, _) = play(&long_then_short(TimerMode::Absolute), 1, 1000);
    assert_eq!(out.finished_ns.unwrap() / MS, 30);
    // Late at 25 ms, the next period ends at 35, the one after at 45.
    let (out, _) = play(&long_then_short(TimerMode::Relative), 1, 1000);
    assert_eq!(out.finished_ns.unwrap() / MS, 45);
}

#[test]
fn a_mutex_goes_to_who_waited_longest() {
    let mutex = ResourceId(0);
    let takes = |name: &str| {
        task(name, vec![Event::Lock { mutex }, work(10 * MS), Event::Unlock { mutex }, sleep(100 * MS)])
    };
    let load = with(workload(vec![takes("a"), takes("b"), takes("c")]), &[ResourceKind::Mutex]);
    let (out, _) = play(&load, 3, 95);
    // Each ran once, one after the other, though there is a CPU for each.
    assert!(out.tasks.iter().all(|t| (9..=11).contains(&(t.run_ns / MS))), "{:?}", out.tasks);
    assert_eq!(out.busy_ns.iter().sum::<u64>() / MS, 30);
}

#[test]
fn a_mutex_that_its_owner_takes_again_is_an_error_that_says_so() {
    let mutex = ResourceId(0);
    let (lock, unlock) = (Event::Lock { mutex }, Event::Unlock { mutex });
    let keeps = task("keeps", vec![work(MS), lock.clone(), work(MS), sleep(MS)]);
    let twice = task("twice", vec![lock.clone(), work(MS), lock.clone(), unlock.clone(), sleep(MS)]);
    let takes = |name: &str| task(name, vec![work(MS), lock.clone(), work(MS), unlock.clone(), sleep(MS)]);
    for (first, at) in [(keeps, "0.00"), (twice, "0.00")] {
        let name = first.name.clone();
        let load = with(workload(vec![first, takes("b"), takes("c"), takes("d")]), &[ResourceKind::Mutex]);
        for cpus in [1, 4] {
            let said = failed(&load, cpus, 1000);
            let words = [format!("task {name} takes mutex"), format!("at {at}"), "unlock".to_owned()];
            assert!(words.iter().all(|w| said.contains(w)), "{said}");
        }
    }
}

#[test]
fn all_meet_at_a_barrier() {
    let barrier = ResourceId(0);
    let comes = |ms: u64| times(task("t", vec![work(ms * MS), Event::Barrier { barrier }, work(MS)]), 1);
    let load = with(workload(vec![comes(5), comes(20), comes(11)]), &[ResourceKind::Barrier { parties: 3 }]);
    let (out, _) = play(&load, 3, 1000);
    assert_eq!(out.finished_ns.unwrap() / MS, 21);
}

#[test]
fn who_waits_with_a_mutex_has_it_again_when_called() {
    let (queue, mutex) = (ResourceId(0), ResourceId(1));
    let waits =
        vec![Event::Lock { mutex }, Event::Wait { queue, mutex }, work(2 * MS), Event::Unlock { mutex }];
    let calls = vec![
        sleep(10 * MS),
        Event::Lock { mutex },
        Event::Broadcast { queue },
        work(5 * MS),
        Event::Unlock { mutex },
    ];
    let tasks =
        vec![times(task("w1", waits.clone()), 1), times(task("w2", waits), 1), times(task("c", calls), 1)];
    let load = with(workload(tasks), &[ResourceKind::Queue, ResourceKind::Mutex]);
    let (out, _) = play(&load, 3, 1000);
    // Called at 10 ms, the mutex is free at 15; one works to 17, the other to 19.
    assert_eq!(out.finished_ns.unwrap() / MS, 19);
}

#[test]
fn a_real_time_task_runs_at_once_and_equals_take_turns() {
    let fair = task("fair", vec![work(MS)]);
    let fifo = scheduled(Policy::Fifo { priority: 10 }, task("fifo", vec![sleep(10 * MS), work(3 * MS)]));
    let (out, _) = play(&workload(vec![fair, fifo]), 1, 1000);
    assert_eq!(ranks(&out.tasks[1].wakeup_latency_ns), [(0, out.tasks[1].wakeups)]);
    let rr = |name: &str| scheduled(Policy::RoundRobin { priority: 5 }, task(name, vec![work(MS)]));
    let (out, log) = play(&workload(vec![rr("a"), rr("b")]), 1, 1000);
    assert!(out.tasks.iter().all(|t| (400..=600).contains(&(t.run_ns / MS))), "{:?}", out.tasks);
    assert!((8..=12).contains(&(begins(&log, 0).len() + begins(&log, 1).len())));
    let fifo = |name: &str| scheduled(Policy::Fifo { priority: 5 }, task(name, vec![work(MS)]));
    let (out, _) = play(&workload(vec![fifo("a"), fifo("b")]), 1, 1000);
    assert!(out.tasks[0].run_ns > 999 * MS, "{:?}", out.tasks);
}

#[test]
fn a_deadline_task_has_its_time_in_each_period_and_no_more() {
    let ms = |n: u64| n * MS;
    let policy = Policy::Deadline { runtime_ns: ms(3), deadline_ns: ms(10), period_ns: ms(10) };
    let greedy = scheduled(policy, task("greedy", vec![work(MS)]));
    let (out, _) = play(&workload(vec![greedy, task("fair", vec![work(MS)])]), 1, 1000);
    let share = |i: usize| out.tasks[i].run_ns / MS;
    assert!((295..=305).contains(&share(0)) && (690..=705).contains(&share(1)), "{:?}", out.tasks);
}

#[test]
fn a_sleep_on_the_wheel_ends_with_a_tick() {
    let slow = Event::Sleep { time: Distribution::Constant(50 * MS), timer: SleepTimer::Wheel };
    let load = workload(vec![task("slow", vec![work(US), slow])]);
    let (_, log) = play(&load, 1, 1000);
    let at = begins(&log, 0);
    assert!(at.len() > 10 && at[1..].iter().all(|us| us % 4000 < 10), "{at:?}");
    // 50 ms are 13 jiffies of 4 ms, counted from the next one.
    assert!(at.windows(2).skip(1).all(|w| w[1] - w[0] == 56_000), "{at:?}");
}

#[test]
fn a_device_works_on_as_many_requests_as_it_can() {
    let device = DeviceId(0);
    let reader = |n: usize| task(&format!("r{n}"), vec![Event::Read { device, bytes: 4096 }]);
    let mut load = workload((0..4).map(reader).collect());
    let mut spec = Device {
        name: "disk".to_owned(),
        latency: Distribution::Constant(MS),
        irq_cpu: IrqCpu::Task,
        depth: Some(1),
        completion: Completion::Irq,
        iowait: true,
    };
    load.devices = vec![spec.clone()];
    let answered = |load: &Workload| {
        let (out, _) = play(load, 4, 1000);
        ranks(&out.devices[0]).iter().map(|(_, n)| n).sum::<u64>()
    };
    assert!((980..=1000).contains(&answered(&load)));
    spec.depth = Some(2);
    load.devices = vec![spec.clone()];
    assert!((1960..=2000).contains(&answered(&load)));
    // A timer of the wheel answers with a tick: 1 ms becomes 8 at HZ 250, its own jiffy counted from the next.
    spec.completion = Completion::WheelTimer;
    load.devices = vec![spec];
    assert!((240..=270).contains(&answered(&load)), "{}", answered(&load));
}

#[test]
fn only_who_waits_for_io_counts_as_waiting_for_it() {
    let device = DeviceId(0);
    let mut load = workload(vec![task("reader", vec![Event::Read { device, bytes: 4096 }, work(100 * US)])]);
    let platform = platform(1);
    let machine = plain(&platform);
    let deep = |iowait: bool, load: &mut Workload| {
        load.devices = vec![Device {
            name: "disk".to_owned(),
            latency: Distribution::Constant(2 * MS),
            irq_cpu: IrqCpu::Task,
            depth: None,
            completion: Completion::Irq,
            iowait,
        }];
        let (_, log) = run(&machine, load, "menu-6.1", 1000);
        let entered = |(_, _, what): &(u64, u32, SimEvent)| match what {
            SimEvent::IdleEntered { state } => Some(*state > 0),
            _ => None,
        };
        let all: Vec<bool> = log.seen.iter().filter_map(entered).collect();
        all.iter().filter(|deep| **deep).count() * 100 / all.len()
    };
    // To menu a task that waits for I/O makes what an exit may take eleven times shorter, while the tick runs.
    let (io, other) = (deep(true, &mut load), deep(false, &mut load));
    assert!(io + 10 < other, "{io} % and {other} % deep");
}

#[test]
fn a_task_limits_how_deep_cpus_sleep() {
    let platform = platform(2);
    let wants = vec![
        sleep(500 * MS),
        Event::LatencyLimit { limit_ns: Some(50 * US) },
        sleep(200 * MS),
        Event::LatencyLimit { limit_ns: Some(5000 * US) },
        sleep(300 * MS),
    ];
    let ends = vec![sleep(100 * MS), Event::LatencyLimit { limit_ns: Some(50 * US) }, sleep(100 * MS)];
    let load = workload(vec![times(task("wants", wants), 1), times(task("ends", ends), 1)]);
    let (_, log) = run(&plain(&platform), &load, "menu-6.1", 990);
    let (mut limited, mut free) = (0, 0);
    for (at_ns, _, what) in &log.seen {
        if let SimEvent::IdleEntered { state } = what {
            let ms = at_ns / MS;
            if (100..200).contains(&ms) || (500..700).contains(&ms) {
                limited += 1;
                assert_eq!(*state, 0, "at {ms} ms");
            } else {
                free += u32::from(*state > 0);
            }
        }
    }
    // A change wakes the CPUs: each begins its stay anew, shallow when the limit comes and deep when it goes.
    assert!(limited >= 2 && free >= 6, "{limited} {free}");
    let woken = |ms: u64| {
        log.seen.iter().any(|(at, _, what)| at / MS == ms && matches!(what, SimEvent::IdleEntered { .. }))
    };
    assert!([100, 200, 500, 700].iter().all(|ms| woken(*ms)));
}

#[test]
fn requests_come_open_and_closed() {
    let source = SourceId(0);
    let server = |ms: u64| task("s", vec![Event::Take { source }, work(ms * MS), Event::Done { source }]);
    let of = |arrivals| Source { name: "net".to_owned(), arrivals, irq_cpu: IrqCpu::Cpu(0), resume: None };
    let mut load = workload(vec![server(2)]);
    // Every 10 ms, 2 ms of work: none waits.
    load.sources = vec![of(Arrivals::Open { gap: Distribution::Constant(10 * MS) })];
    let (out, _) = play(&load, 1, 1000);
    let all = ranks(&out.requests[0]);
    assert!((98..=100).contains(&all.iter().map(|(_, n)| n).sum::<u64>()));
    assert!(all.iter().all(|(ns, _)| (2_000_000..2_010_000).contains(ns)), "{all:?}");
    // Bursts of three: the last waits for the first two.
    load.sources = vec![of(Arrivals::Bursts {
        every: Distribution::Constant(20 * MS),
        requests: 3,
        gap: Distribution::Constant(0),
    })];
    let (out, _) = play(&load, 1, 1000);
    let all = ranks(&out.requests[0]);
    assert_eq!(all.iter().map(|(ns, _)| (ns + 5_000) / 1_000_000).collect::<Vec<_>>().last(), Some(&6));
    // Two clients that think for 8 ms: the server works 2 ms for each, never for more than two.
    load.sources = vec![of(Arrivals::Closed { clients: 2, think: Distribution::Constant(8 * MS) })];
    let (out, _) = play(&load, 1, 1000);
    let n: u64 = ranks(&out.requests[0]).iter().map(|(_, n)| n).sum();
    assert!((160..=200).contains(&n), "{n}");
}

#[test]
fn requests_that_nobody_answers_have_a_limit_over_all_sources() {
    let sources = |n: usize| -> Vec<Source> {
        let gap = Distribution::Constant(100);
        let of = |i| Source {
            name: format!("net{i}"),
            arrivals: Arrivals::Open { gap: gap.clone() },
            irq_cpu: IrqCpu::Cpu(0),
            resume: None,
        };
        (0..n).map(of).collect()
    };
    let events =
        (0..8).map(SourceId).flat_map(|source| [Event::Take { source }, work(MS), Event::Done { source }]);
    let mut load = workload(vec![task("s", events.collect())]);
    load.sources = sources(8);
    let said = failed(&load, 1, 10_000);
    assert!(
        said.starts_with(&format!("workload `{}`: 4194304 requests of its sources", load.name)),
        "{said}"
    );
    assert!(said.contains("are not answered at 0.05") && said.contains("source `net"), "{said}");
    assert!(said.contains("expected no more") && said.contains("come less often"), "{said}");
    // Where no task takes them, or answers them, they are not kept.
    load.tasks = vec![task("s", vec![work(MS)])];
    load.sources = sources(1);
    play(&load, 1, 600);
}

#[test]
fn frames_that_never_end_have_a_limit() {
    let frame = FrameId(0);
    let mut load = workload(vec![task("ui", vec![Event::FrameBegin { frame }, work(10)])]);
    load.frames = vec![Frame { name: "ui".to_owned(), period_ns: 16 * MS, deadline_ns: 16 * MS }];
    let said = failed(&load, 1, 100_000);
    assert!(
        said.contains("1048576 frames have begun and not ended at") && said.contains("kind `ui`"),
        "{said}"
    );
}

#[test]
fn a_frame_counts_from_what_its_task_waited_for() {
    let frame = FrameId(0);
    let timer = ResourceId(0);
    let period = Event::Timer { timer, period_ns: 16 * MS, mode: TimerMode::Absolute };
    let events = vec![period, Event::FrameBegin { frame }, work(5 * MS), Event::FrameEnd { frame }];
    let mut load = with(workload(vec![task("ui", events)]), &[ResourceKind::TaskTimer]);
    load.frames = vec![Frame { name: "ui".to_owned(), period_ns: 16 * MS, deadline_ns: 16 * MS }];
    let platform = platform(1);
    let (out, _) = run(&plain(&platform), &load, "deepest", 1000);
    // 5 ms of work after 300 us on the way out of the state.
    let all = ranks(&out.frames[0]);
    assert!(all.iter().all(|(ns, _)| (5_300_000..5_301_000).contains(ns)), "{all:?}");
}

#[test]
fn a_loop_in_which_no_time_passes_is_stopped() {
    let frame = FrameId(0);
    let mut load = workload(vec![task("mad", vec![Event::FrameBegin { frame }, Event::FrameEnd { frame }])]);
    load.frames = vec![Frame { name: "f".to_owned(), period_ns: MS, deadline_ns: MS }];
    let (out, _) = play(&load, 1, 100);
    assert_eq!(out.stuck, [0]);
}

#[test]
fn forked_tasks_run_beside_who_made_them() {
    let child = Task { instances: 0, ..times(task("child", vec![work(10 * MS)]), 1) };
    let fork = Event::Fork { task: idlewise_workload::TaskId(1) };
    let parent = times(task("parent", vec![fork.clone(), fork, work(10 * MS)]), 1);
    let (out, _) = play(&workload(vec![parent, child]), 3, 1000);
    assert_eq!((out.finished_ns.unwrap() / MS, out.tasks[1].run_ns / MS), (10, 20));
}

#[test]
fn tasks_that_fork_without_end_are_refused() {
    let child = task("child", vec![work(US), Event::Fork { task: idlewise_workload::TaskId(0) }]);
    let said = failed(&workload(vec![child]), 2, 10_000);
    assert!(
        said.starts_with("task child forks at 0.") && said.contains("when 8193 tasks are alive"),
        "{said}"
    );
    assert!(said.contains("began with 1: expected 8192 more at most; let forked tasks end"), "{said}");
    // As many one after the other are no trouble.
    let child = Task { instances: 0, ..times(task("child", vec![work(US)]), 1) };
    let fork = Event::Fork { task: idlewise_workload::TaskId(1) };
    let parent = times(task("parent", vec![fork, sleep(10 * US)]), 10_000);
    let (out, _) = play(&workload(vec![parent, child]), 2, 10_000);
    assert_eq!((out.finished_ns.is_some(), out.tasks[1].run_ns / MS), (true, 10));
}

#[test]
fn tasks_that_fork_one_and_end_without_end_are_refused() {
    let child = Task { instances: 0, ..times(task("child", vec![work(US)]), 1) };
    let fork = Event::Fork { task: idlewise_workload::TaskId(1) };
    let parent = task("parent", vec![fork, sleep(US)]);
    let said = failed(&workload(vec![parent, child]), 2, 100_000);
    assert!(said.starts_with("task parent forks at "), "{said}");
    assert!(said.contains("forks have made 262144 tasks: expected no more"), "{said}");
}

#[test]
fn work_without_end_is_no_trouble() {
    let (out, _) = play(&workload(vec![task("long", vec![work(idlewise_workload::MAX_TIME_NS)])]), 1, 1000);
    assert_eq!(out.tasks[0].run_ns, 1000 * MS);
}

#[test]
fn a_sleep_begins_before_its_call_is_over_and_a_call_that_only_wakes_is_shorter() {
    let platform = platform(1);
    let costs = Costs { syscall_ns: 10 * US, block_ns: 8 * US, ..Costs::NONE };
    let machine = Machine { costs, ..plain(&platform) };
    let meets = Event::Barrier { barrier: ResourceId(0) };
    let wakes = task("wakes", vec![work(100 * US), meets, sleep(5 * MS)]);
    let load = with(workload(vec![wakes]), &[ResourceKind::Barrier { parties: 1 }]);
    let (out, log) = run(&machine, &load, "shallow", 100);
    assert_eq!(out.tasks[0].run_ns / out.tasks[0].runs, 112 * US);
    let asked = log.seen.iter().find_map(|(at_ns, _, what)| match what {
        SimEvent::TimerSet { timer: HrtimerOf::Task(0), soft_ns, .. } => Some(soft_ns - at_ns),
        _ => None,
    });
    assert_eq!(asked, Some(5 * MS - 8 * US));
}

#[test]
fn a_deadline_task_that_waits_for_its_next_period_is_in_one_place_at_a_time() {
    let platform = platform(8);
    let machine = Machine {
        costs: Costs { irq_exit_ns: 14_000, ..Costs::default() },
        ..Machine::new(&platform, 1000, None)
    };
    let dl = |runtime: u32| format!(r#""policy":"SCHED_DEADLINE","dl-runtime":{runtime},"dl-period":10000"#);
    for (tasks, signal) in [
        (
            format!(r#""t":{{"instance":3,{},"run":100,"lock":"b","run":100,"unlock":"b"}}"#, dl(500)),
            Signal::Pelt,
        ),
        (
            format!(
                r#""r":{{"sleep":100,"resume":"q"}},"t":{{"instance":20,{},"run":100,"suspend":"q"}}"#,
                dl(500)
            ),
            Signal::Pelt,
        ),
        (
            format!(r#""t":{{"instance":20,{},"run":100,"sleep":500}}"#, dl(2000)),
            Signal::Walt(idlewise_signal::walt::Config::android()),
        ),
    ] {
        let load = Workload::from_text("dl.json", &format!(r#"{{"tasks":{{{tasks}}}}}"#)).unwrap();
        for seed in 1..=4 {
            let asked = Setting { seed, signal, stagger_ns: 100_000, ..setting(1000) };
            let (out, _) = run_with(&machine, &load, "menu", &asked);
            // Each gets what it asked for at most, and the last of its time is charged when it has run.
            let share = out.tasks.last().unwrap().run_ns as f64 / out.end_ns as f64;
            assert!(share > 0.05 && share < 20.0 * 0.22, "{tasks}: {share}");
        }
    }
}
