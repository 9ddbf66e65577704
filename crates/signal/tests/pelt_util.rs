// SPDX-License-Identifier: GPL-2.0-only
//! Are estimates and utilisations as signal-behaviour.md, A13 and A14, have them? The numbers are worked out by hand.

use idlewise_signal::pelt::{Config, Leave, Limits, Need, Next, Pelt, Place, Rq, Speed, Task};

const MS: u64 = 1_000_000;
const PERIOD: u64 = 1_048_576;

fn kernel(major: u32, minor: u32) -> Pelt {
    Pelt::kernel(major, minor).unwrap()
}

/// A task that slept for `sleep_ms` and then runs for `run_ms`, with a tick a millisecond; then it sleeps.
fn round(pelt: &Pelt, rq: &mut Rq, task: &mut Task, sleep_ms: u64, run_ms: u64) {
    let begin = rq.clock().wall_ns + sleep_ms * MS;
    pelt.pass(rq, begin, 0, 0);
    pelt.enqueue(rq, task);
    pelt.switch(rq, None, Next::Fair(task));
    for ms in 1..=run_ms {
        pelt.pass(rq, begin + ms * MS, 0, 0);
        pelt.tick(rq, Some(task));
    }
    pelt.dequeue(rq, task, Leave::Sleeps);
    pelt.switch(rq, Some(task), Next::Idle);
}

fn util(task: &Task) -> u32 {
    u32::try_from(task.avg().util).unwrap()
}

#[test]
fn before_4_17_nothing_is_remembered() {
    let (pelt, mut rq, mut task) = (kernel(4, 16), Rq::new(1024), Task::new(1024));
    round(&pelt, &mut rq, &mut task, 1, 20);
    assert!(task.avg().util > 100);
    assert_eq!((pelt.estimate(&task), pelt.task_util(&task)), (0, task.avg().util));
}

#[test]
fn more_is_remembered_at_once_and_less_by_a_quarter() {
    for pelt in [kernel(6, 8), kernel(6, 12)] {
        let (mut rq, mut task) = (Rq::new(1024), Task::new(1024));
        round(&pelt, &mut rq, &mut task, 1, 40);
        let before = util(&task);
        assert_eq!(pelt.estimate(&task), before);
        // Asleep for long, then a short run: the estimate stays large and follows down slowly.
        round(&pelt, &mut rq, &mut task, 400, 10);
        let (now, est) = (util(&task), pelt.estimate(&task));
        assert!(now < before / 2);
        assert_eq!(est, (before * 4 - (before - now)) / 4);
        assert_eq!(pelt.task_util(&task), u64::from(est));
        assert_eq!(rq.estimate(), 0, "only those on the queue are added up");
        round(&pelt, &mut rq, &mut task, 1, 60);
        assert_eq!(pelt.estimate(&task), util(&task));
    }
}

#[test]
fn a_change_below_one_per_cent_is_not_worth_it() {
    let (pelt, mut rq, mut task) = (kernel(6, 12), Rq::new(1024), Task::new(1024));
    round(&pelt, &mut rq, &mut task, 1, 40);
    let before = pelt.estimate(&task);
    // 2 ms asleep and 2 ms awake cost it a few of its 600.
    round(&pelt, &mut rq, &mut task, 2, 2);
    assert!(util(&task) < before && before - util(&task) < 10, "{before} {}", util(&task));
    assert_eq!(pelt.estimate(&task), before);
}

#[test]
fn what_waited_for_a_cpu_does_not_learn_downwards() {
    let pelt = kernel(6, 12);
    let (mut rq, mut task) = (Rq::new(1024), Task::new(1024));
    round(&pelt, &mut rq, &mut task, 1, 40);
    let before = pelt.estimate(&task);
    // Another runs for 20 ms while this one waits.
    let begin = rq.clock().wall_ns + 100 * MS;
    pelt.pass(&mut rq, begin, 0, 0);
    pelt.enqueue(&mut rq, &mut task);
    assert_eq!(rq.estimate(), before);
    pelt.switch(&mut rq, None, Next::RealTime);
    pelt.pass(&mut rq, begin + 20 * MS, 0, 0);
    pelt.switch(&mut rq, None, Next::Fair(&mut task));
    pelt.pass(&mut rq, begin + 22 * MS, 0, 0);
    pelt.tick(&mut rq, Some(&mut task));
    pelt.dequeue(&mut rq, &mut task, Leave::Sleeps);
    assert!(task.avg().runnable > task.avg().util + 10 && util(&task) + 10 < before);
    assert_eq!(pelt.estimate(&task), before);
}

#[test]
fn more_than_a_cpu_can_do_is_no_measure() {
    let pelt = kernel(6, 12);
    let (mut big, mut small, mut task) = (Rq::new(1024), Rq::new(160), Task::new(1024));
    round(&pelt, &mut big, &mut task, 1, 200);
    let before = pelt.estimate(&task);
    let end = big.clock().wall_ns;
    pelt.remove(&mut big, &mut task, end + 30 * MS);
    pelt.pass(&mut small, end + 30 * MS, 0, 0);
    round(&pelt, &mut small, &mut task, 0, 2);
    assert!(util(&task) + 10 < before && task.avg().util > 160);
    assert_eq!(pelt.estimate(&task), before);
}

#[test]
fn two_fields_hold_the_last_one_and_the_average() {
    for (pelt, up_at_once) in [(kernel(5, 4), false), (kernel(6, 1), true)] {
        let (mut rq, mut task) = (Rq::new(1024), Task::new(1024));
        round(&pelt, &mut rq, &mut task, 1, 40);
        let first = util(&task);
        assert_eq!(pelt.estimate(&task), first & !u32::from(pelt.config().estimate_flag == 1));
        round(&pelt, &mut rq, &mut task, 400, 10);
        let second = util(&task);
        // The average was all of the first where it follows at once, else a quarter; now it loses or gains a quarter.
        let average = if up_at_once { first } else { first / 4 };
        let gained = i64::from(second) - i64::from(average);
        assert!(gained.abs() >= 10 && !(up_at_once && gained > 0), "{first} {second}");
        let average = u32::try_from((i64::from(average) * 4 + gained) >> 2).unwrap();
        let last = second & !u32::from(pelt.config().estimate_flag == 1);
        assert_eq!(pelt.estimate(&task), average.max(last), "{first} {second}");
    }
}

#[test]
fn since_6_12_the_estimate_is_renewed_before_the_last_update() {
    let course = |pelt: &Pelt| {
        let (mut rq, mut task) = (Rq::new(1024), Task::new(1024));
        pelt.pass(&mut rq, PERIOD, 0, 0);
        pelt.enqueue(&mut rq, &mut task);
        pelt.switch(&mut rq, None, Next::Fair(&mut task));
        pelt.pass(&mut rq, 11 * PERIOD, 0, 0);
        pelt.tick(&mut rq, Some(&mut task));
        let at_tick = util(&task);
        pelt.pass(&mut rq, 13 * PERIOD, 0, 0);
        pelt.dequeue(&mut rq, &mut task, Leave::Sleeps);
        (pelt.estimate(&task), at_tick, util(&task))
    };
    let (estimate, at_tick, at_last) = course(&kernel(6, 12));
    assert!(estimate == at_tick && at_tick < at_last);
    let (estimate, _, at_last) = course(&kernel(6, 8));
    assert_eq!(estimate, at_last);
}

/// A CPU of `capacity` whose averages are what comes of so many periods of each class.
fn mixed(pelt: &Pelt, capacity: u32) -> Rq {
    let mut rq = Rq::new(capacity);
    let mut task = Task::new(1024);
    let mut now_ns = 0;
    let mut spend = |rq: &mut Rq, periods: u64, irq_ns| {
        now_ns += periods * PERIOD;
        pelt.pass(rq, now_ns, irq_ns, 0);
    };
    pelt.enqueue(&mut rq, &mut task);
    pelt.switch(&mut rq, None, Next::Fair(&mut task));
    spend(&mut rq, 20, 0);
    pelt.switch(&mut rq, Some(&mut task), Next::RealTime);
    spend(&mut rq, 10, 0);
    pelt.switch(&mut rq, None, Next::Deadline);
    spend(&mut rq, 6, PERIOD);
    pelt.switch(&mut rq, None, Next::Fair(&mut task));
    pelt.dequeue(&mut rq, &mut task, Leave::Sleeps);
    pelt.switch(&mut rq, Some(&mut task), Next::Idle);
    pelt.age(&mut rq);
    rq
}

#[test]
fn a_cpu_is_as_full_as_its_averages_or_the_estimates_of_its_queue_say() {
    let (pelt, mut rq, mut task) = (kernel(6, 12), Rq::new(1024), Task::new(1024));
    round(&pelt, &mut rq, &mut task, 1, 40);
    let est = u64::from(pelt.estimate(&task));
    let end = rq.clock().wall_ns + 100 * MS;
    pelt.pass(&mut rq, end, 0, 0);
    pelt.age(&mut rq);
    pelt.sync(&rq, &mut task);
    let faded = rq.fair().util;
    assert!(faded < est / 4);
    assert_eq!(pelt.cpu_util(&rq), faded, "asleep it counts with what is left of it");
    let here = |is_here, goes_here| pelt.cpu_util_with(&rq, &task, Place { is_here, goes_here }, false);
    assert_eq!(here(true, true), est, "woken up here it would count with its estimate");
    assert_eq!(here(true, false), 0);
    assert_eq!(here(false, true), est.max(faded * 2));
    assert_eq!(here(false, false), faded);
    pelt.enqueue(&mut rq, &mut task);
    assert_eq!(pelt.cpu_util(&rq), est);
    // It is queued: elsewhere, it takes its estimate along.
    let gone = Place { is_here: true, goes_here: false };
    assert_eq!(pelt.cpu_util_with(&rq, &task, gone, false), 0);
    let mut small = Rq::new(100);
    pelt.pass(&mut small, end, 0, 0);
    let there = Place { is_here: false, goes_here: true };
    assert_eq!(pelt.cpu_util_with(&small, &task, there, false), 100, "no more than there is");
}

#[test]
fn tasks_that_wait_count_where_the_boost_is_asked_for() {
    let (pelt, mut rq) = (
        Pelt::new(Config { estimate: idlewise_signal::pelt::Estimate::None, ..*kernel(6, 12).config() })
            .unwrap(),
        Rq::new(1024),
    );
    let (mut a, mut b) = (Task::new(1024), Task::new(1024));
    for task in [&mut a, &mut b] {
        pelt.enqueue(&mut rq, task);
    }
    pelt.switch(&mut rq, None, Next::Fair(&mut a));
    pelt.pass(&mut rq, 10 * PERIOD, 0, 0);
    pelt.tick(&mut rq, Some(&mut a));
    let (util, runnable) = (rq.fair().util, rq.fair().runnable);
    assert!(runnable.abs_diff(2 * util) <= 1);
    assert_eq!((pelt.cpu_util(&rq), pelt.cpu_util_boost(&rq)), (util, runnable));
}

#[test]
fn a_frequency_is_for_all_classes_and_interrupts_on_top() {
    let pelt = kernel(6, 12);
    let rq = mixed(&pelt, 1024);
    let (fair, rt, dl, irq) = (rq.fair().util, rq.real_time().util, rq.deadline().util, rq.irq().util);
    assert!(fair > 100 && rt > 100 && dl > 50 && irq > 10, "{fair} {rt} {dl} {irq}");
    let x = fair + rt + dl;
    let all = x * (1024 - irq) / 1024 + irq;
    assert_eq!(pelt.busy(&rq), all);
    let plain = Limits::default();
    assert_eq!(pelt.need(&rq, fair, &plain), Need { util: all, min: irq, max: 1024 });
    let promised = plain.with_running_bandwidth(1 << 18);
    assert_eq!(promised.deadline_bandwidth, 256);
    assert_eq!(pelt.need(&rq, fair, &promised).min, irq + 256);
    let real_time = Limits { real_time: true, ..plain };
    assert_eq!(pelt.need(&rq, fair, &real_time), Need { util: all, min: 1024, max: 1024 });
    let clamped = Limits { clamps: true, clamp_min: 300, clamp_max: 400, real_time: true, ..plain };
    assert_eq!(pelt.need(&rq, fair, &clamped), Need { util: all, min: 300, max: 400 });
    assert_eq!(pelt.need(&rq, 1024 - rt - dl, &plain).util, 1024);
}

#[test]
fn before_6_8_limits_were_within_the_utilisation() {
    let pelt = kernel(6, 1);
    let rq = mixed(&pelt, 1024);
    let (fair, rt, dl, irq) = (rq.fair().util, rq.real_time().util, rq.deadline().util, rq.irq().util);
    let scaled = |x: u64| x * (1024 - irq) / 1024 + irq;
    let plain = Limits::default();
    let util = |limits: &Limits| pelt.need(&rq, fair, limits);
    assert_eq!(util(&plain), Need { util: scaled(fair + rt), min: 0, max: 1024 });
    let promised = Limits { deadline_bandwidth: 256, ..plain };
    assert_eq!(util(&promised).util, (scaled(fair + rt) + 256).min(1024));
    assert_eq!(util(&Limits { real_time: true, ..plain }).util, 1024);
    let clamped = Limits { clamps: true, clamp_min: 0, clamp_max: 200, real_time: true, ..plain };
    assert_eq!(util(&clamped).util, scaled(200));
    let clamped = Limits { clamps: true, clamp_min: 700, ..clamped };
    assert_eq!(util(&Limits { clamp_max: 1024, ..clamped }).util, scaled(700.max(fair + rt)));
    assert_eq!(pelt.need(&rq, 1024 - rt - dl, &plain).util, 1024, "full with the deadline tasks");
    assert_eq!(pelt.busy(&rq), scaled(fair + rt + dl));
}

#[test]
fn interrupts_can_fill_a_cpu() {
    let (new, old) = (kernel(6, 12), kernel(6, 1));
    let mut rq = Rq::new(64);
    rq.set_speed(Speed { capacity: 64, frequency: 1024 });
    for t in 1..=500 {
        new.pass(&mut rq, t * PERIOD, PERIOD, 0);
    }
    assert!(rq.irq().util >= 60, "{}", rq.irq().util);
    let limits = Limits::default();
    if rq.irq().util >= 64 {
        assert_eq!(new.need(&rq, 0, &limits), Need { util: 64, min: 64, max: 64 });
        assert_eq!(old.need(&rq, 0, &limits).util, 64);
    }
    assert!(new.busy(&rq) >= 60);
}
