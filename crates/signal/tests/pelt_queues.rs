// SPDX-License-Identifier: GPL-2.0-only
//! Does each rule of signal-behaviour.md, A3 to A8, hold by itself? The numbers are worked out by hand.

use idlewise_signal::pelt::{Avg, Config, Leave, Next, Pelt, Rq, Speed, Task};

const MS: u64 = 1_000_000;
const PERIOD: u64 = 1_048_576;
const MIN_DIV: u64 = 46_718;

fn kernel(major: u32, minor: u32) -> Pelt {
    Pelt::kernel(major, minor).unwrap()
}

fn new() -> Pelt {
    kernel(6, 12)
}

/// A CPU that runs one task from `now_ns` on, queued for the first time without being started: all its sums are 0.
fn running(pelt: &Pelt, rq: &mut Rq, now_ns: u64) -> Task {
    let mut task = Task::new(1024);
    pelt.pass(rq, now_ns, 0, 0);
    pelt.enqueue(rq, &mut task);
    pelt.switch(rq, None, Next::Fair(&mut task));
    task
}

fn tick(pelt: &Pelt, rq: &mut Rq, task: &mut Task, now_ns: u64) -> bool {
    pelt.pass(rq, now_ns, 0, 0);
    pelt.tick(rq, Some(task))
}

fn sleep(pelt: &Pelt, rq: &mut Rq, task: &mut Task, now_ns: u64) {
    pelt.pass(rq, now_ns, 0, 0);
    pelt.dequeue(rq, task, Leave::Sleeps);
    pelt.switch(rq, Some(task), Next::Idle);
}

#[test]
fn less_than_a_unit_is_kept_for_the_next_update_since_4_13() {
    for (pelt, last_ns) in [(new(), 1024), (kernel(4, 12), 1500)] {
        let mut avg = Avg::default();
        assert!(!pelt.update(&mut avg, Speed::FULL, 1023, 1, 1, true));
        assert_eq!((avg.last_ns, avg.load_sum), (0, 0), "no unit has passed");
        pelt.update(&mut avg, Speed::FULL, 1500, 1, 1, true);
        assert_eq!((avg.last_ns, avg.load_sum, avg.frac), (last_ns, 1, 1));
    }
}

#[test]
fn time_that_runs_backwards_moves_the_mark_and_nothing_else() {
    let (pelt, mut avg) = (new(), Avg::at(5000 * 1024));
    avg.util_sum = 77;
    assert!(!pelt.update(&mut avg, Speed::FULL, 1000, 1, 1, true));
    assert_eq!(avg, Avg { last_ns: 1000, util_sum: 77, ..Avg::default() });
}

#[test]
fn without_load_nothing_ran_or_waited() {
    let (pelt, mut avg) = (new(), Avg::default());
    pelt.update(&mut avg, Speed::FULL, PERIOD, 0, 3, true);
    assert_eq!((avg.load_sum, avg.runnable_sum, avg.util_sum, avg.frac), (0, 0, 0, 0));
}

#[test]
fn averages_change_when_a_period_ends_and_are_shares_of_the_time_covered() {
    let (pelt, mut avg) = (new(), Avg { util_sum: 47_741 * 1024, frac: 1022, ..Avg::default() });
    assert!(!pelt.update(&mut avg, Speed::FULL, 1024, 1, 1, true));
    // One unit more, and the divider is 46718 + 1023.
    assert_eq!((avg.util, avg.util_sum, pelt.divider(&avg)), (0, 47_742 * 1024, 47_741));
    assert!(pelt.update(&mut avg, Speed::FULL, 2048, 1, 1, true));
    pelt.publish(&mut avg, 2);
    assert_eq!((avg.frac, pelt.divider(&avg)), (0, 46_718));
    assert_eq!(avg.util, u64::from(avg.util_sum) / MIN_DIV);
    assert_eq!(kernel(4, 12).divider(&avg), 47_742);
}

#[test]
fn weight_makes_load_of_a_task_and_is_in_the_sum_of_a_queue() {
    let (pelt, mut task, mut queue) = (new(), Avg::default(), Avg::default());
    pelt.update(&mut task, Speed::FULL, PERIOD, 1, 1, false);
    pelt.publish(&mut task, 3000);
    pelt.update(&mut queue, Speed::FULL, PERIOD, 3000, 1, false);
    pelt.publish(&mut queue, 1);
    // decay(1024, 1) = 1001 of the period that closed, and 1 less for the rounding of 2^32 - 1.
    assert_eq!(task.load_sum, 1002);
    assert_eq!((queue.load_sum, queue.load, task.load), (3_006_000, 64, 64));
    assert_eq!((task.util, task.runnable), (0, 21));
}

/// signal-behaviour.md A12: 4.12 adds the closing piece before it decays, then whole periods from a table, and
/// divides by 47742.
#[test]
fn a_kernel_before_4_13_adds_in_another_order() {
    let (pelt, mut avg) = (kernel(4, 12), Avg::default());
    assert!(pelt.update(&mut avg, Speed::FULL, 3 * PERIOD + 512 * 1024, 1, 1, true));
    // decay(1024, 3) = 959, K(2) = 1982, and 512 units of the open period.
    assert_eq!((avg.load_sum, avg.frac), (959 + 1982 + 512, 512));
    let scaled = pelt.decay(1024 << 10, 3) + ((1982 + 512) << 10);
    assert_eq!(u64::from(avg.util_sum), scaled);
    pelt.publish(&mut avg, 1);
    assert_eq!(avg.util, scaled / 47_742);
    assert_eq!(avg.runnable_sum, 0, "not kept then");
    // From 345 whole periods on the table has the limit; 40 of them go through the table twice.
    let whole = |periods: u64| {
        let mut avg = Avg::default();
        pelt.update(&mut avg, Speed::FULL, (periods + 1) * PERIOD, 1, 1, true);
        avg.load_sum - pelt.decay(1024, periods + 1)
    };
    assert_eq!(whole(345), 47_742);
    assert_eq!(whole(32), 23_371);
    assert_eq!(whole(40), pelt.decay(23_371, 8) + 7437);
    assert_eq!(whole(0), 0);
}

#[test]
fn always_running_reads_1002_at_the_end_of_a_period_until_4_12() {
    let (pelt, mut avg) = (kernel(4, 12), Avg::default());
    for t in 1..=400 {
        if pelt.update(&mut avg, Speed::FULL, t * PERIOD, 1, 1, true) {
            pelt.publish(&mut avg, 1);
        }
    }
    assert_eq!(avg.util, 1002);
}

#[test]
fn before_5_1_a_slow_clock_and_a_small_cpu_made_contributions_less() {
    for pelt in [kernel(4, 12), kernel(5, 0)] {
        let mut avg = Avg::default();
        let half = Speed { capacity: 256, frequency: 512 };
        pelt.update(&mut avg, half, 1000 * 1024, 1024, 1, true);
        assert_eq!((avg.load_sum, avg.util_sum), (1024 * 500, 500 * 256));
        let mut rq = Rq::new(1024);
        rq.set_speed(Speed { capacity: 1024, frequency: 512 });
        let mut task = running(&pelt, &mut rq, 0);
        for ms in 1..1000 {
            tick(&pelt, &mut rq, &mut task, ms * MS);
        }
        assert!(
            rq.fair().util.abs_diff(505) <= 10,
            "a full CPU at half speed reads a half: {}",
            rq.fair().util
        );
        assert_eq!(rq.clock().now_ns(), 999 * MS, "time is real");
    }
}

#[test]
fn interrupts_and_the_hypervisor_take_time_from_tasks_but_no_more_than_there_was() {
    let (pelt, mut rq) = (new(), Rq::new(1024));
    pelt.switch(&mut rq, None, Next::RealTime);
    pelt.pass(&mut rq, MS, 300_000, 200_000);
    assert_eq!((rq.clock().wall_ns, rq.clock().task_ns, rq.clock().now_ns()), (MS, 500_000, 500_000));
    pelt.pass(&mut rq, 2 * MS, 900_000, 900_000);
    assert_eq!((rq.clock().wall_ns, rq.clock().task_ns), (2 * MS, 500_000), "of 1 ms 900 us and the rest");
    pelt.pass(&mut rq, MS, 5, 5);
    assert_eq!((rq.clock().wall_ns, rq.clock().task_ns), (2 * MS, 500_000), "backwards");
}

#[test]
fn an_interrupt_is_taken_as_just_over_at_the_speed_of_the_cpu() {
    let (pelt, mut rq) = (new(), Rq::new(512));
    rq.set_speed(Speed { capacity: 512, frequency: 512 });
    pelt.pass(&mut rq, 1024 * 1000, 1024 * 400, 0);
    // A quarter of 400 units, at the end of what passed.
    assert_eq!((rq.irq().util_sum, rq.irq().frac, rq.irq().last_ns), (100 << 10, 1000, 1024 * 1000));
    pelt.pass(&mut rq, 100 * MS, 0, 0);
    assert_eq!(rq.irq().util_sum, 100 << 10, "it ages when others age it");
    pelt.age(&mut rq);
    assert!(rq.irq().util_sum < 100 << 10);
}

#[test]
fn what_running_slowly_took_is_given_back_when_the_cpu_idles() {
    let (pelt, mut rq) = (new(), Rq::new(1024));
    rq.set_speed(Speed { capacity: 1024, frequency: 512 });
    let mut task = running(&pelt, &mut rq, 0);
    pelt.pass(&mut rq, 10 * MS, 0, 0);
    assert_eq!(rq.clock().now_ns(), 5 * MS);
    sleep(&pelt, &mut rq, &mut task, 10 * MS);
    assert_eq!((rq.clock().now_ns(), rq.clock().lost_ns), (10 * MS, 0));
    let before = rq.fair().util;
    pelt.age(&mut rq);
    assert!(rq.fair().util < before, "5 ms have passed at once");
    pelt.pass(&mut rq, 12 * MS, 0, 0);
    assert_eq!(rq.clock().now_ns(), 12 * MS, "idle time is real");
    assert_eq!((rq.clock().idle_wall_ns, rq.clock().idle_now_ns), (12 * MS, 12 * MS));
}

#[test]
fn a_full_cpu_does_not_get_it_back() {
    let (pelt, mut rq) = (new(), Rq::new(1024));
    rq.set_speed(Speed { capacity: 1024, frequency: 512 });
    let mut task = running(&pelt, &mut rq, 0);
    for ms in 1..=1000 {
        tick(&pelt, &mut rq, &mut task, ms * MS);
    }
    sleep(&pelt, &mut rq, &mut task, 1000 * MS);
    assert_eq!((rq.clock().now_ns(), rq.clock().lost_ns), (500 * MS, 500 * MS));
    let before = rq.fair().util;
    pelt.age(&mut rq);
    assert_eq!(rq.fair().util, before, "no jump");
    pelt.pass(&mut rq, 1001 * MS, 0, 0);
    assert_eq!(rq.clock().now_ns(), 501 * MS);
}

#[test]
fn the_first_task_of_an_idle_cpu_is_half_of_it_and_more_share_the_rest() {
    let (pelt, mut rq) = (new(), Rq::new(1024));
    let mut first = Task::new(1024);
    assert_eq!((first.avg().load, first.avg().util), (1024, 0));
    pelt.start(&rq, &mut first);
    assert_eq!((first.avg().util, first.avg().runnable), (512, 512));
    assert!(pelt.enqueue(&mut rq, &mut first));
    assert_eq!((rq.fair().util, rq.fair().load, rq.weight(), rq.runnable_tasks()), (512, 1024, 1024, 1));
    // (1024 - 512) / 2 is left, 512 * 1024 / 1025 is what another of its weight has.
    let mut second = Task::new(1024);
    pelt.start(&rq, &mut second);
    assert_eq!(second.avg().util, 256);
    // 512 * 100 / 1025
    let mut light = Task::new(100);
    pelt.start(&rq, &mut light);
    assert_eq!(light.avg().util, 49);
    let small = Rq::new(160);
    pelt.start(&small, &mut light);
    assert_eq!(light.avg().util, 80);
    // More than full: nothing is left, and nothing is expected.
    pelt.enqueue(&mut rq, &mut second);
    let mut tiny = Rq::new(160);
    let mut late = Task::new(1024);
    for _ in 0..8 {
        let mut filler = first;
        pelt.remove(&mut rq, &mut filler, 0);
        filler = Task::new(1024);
        pelt.start(&tiny, &mut filler);
        pelt.enqueue(&mut tiny, &mut filler);
    }
    pelt.start(&tiny, &mut late);
    assert!(late.avg().util <= 1, "{}", late.avg().util);
}

#[test]
fn a_task_is_attached_with_its_averages_on_the_phase_of_the_queue() {
    let (pelt, mut rq) = (new(), Rq::new(1024));
    pelt.pass(&mut rq, 700 * 1024, 0, 0);
    pelt.age(&mut rq);
    let mut task = Task::new(512);
    pelt.start(&rq, &mut task);
    pelt.enqueue(&mut rq, &mut task);
    let (avg, divider) = (task.avg(), MIN_DIV + 700);
    assert_eq!((avg.last_ns, avg.frac), (700 * 1024, 700));
    assert_eq!(u64::from(avg.util_sum), 512 * divider);
    // Load is 512 at a weight of 512: the whole sum.
    assert_eq!((avg.load_sum, rq.fair().load_sum), (divider, divider * 512));
    assert_eq!((rq.fair().util_sum, rq.fair().runnable_sum), (avg.util_sum, avg.runnable_sum));
}

#[test]
fn a_queued_task_that_migrates_takes_its_part_along_at_once() {
    let (pelt, mut from, mut to) = (new(), Rq::new(1024), Rq::new(1024));
    let mut task = running(&pelt, &mut from, 0);
    for ms in 1..=40 {
        tick(&pelt, &mut from, &mut task, ms * MS);
    }
    pelt.switch(&mut from, Some(&mut task), Next::Idle);
    let util = task.avg().util;
    assert_eq!(from.fair().util, util);
    assert!(pelt.dequeue(&mut from, &mut task, Leave::Migrates));
    assert!(!task.is_attached() && !task.is_queued());
    assert_eq!((from.fair().util, from.fair().load, from.weight(), from.runnable_tasks()), (0, 0, 0, 0));
    assert_eq!(from.fair().util_sum, 0);
    pelt.pass(&mut to, 40 * MS + 333_333, 0, 0);
    assert!(pelt.enqueue(&mut to, &mut task));
    assert_eq!((to.fair().util, task.avg().util), (util, util));
    assert_eq!(
        (task.avg().last_ns >> 10) & 1023,
        u64::from(task.avg().frac),
        "the phase is the other queue's"
    );
}

#[test]
fn a_sleeping_task_that_migrates_is_subtracted_at_the_next_update() {
    let (pelt, mut from, mut to) = (new(), Rq::new(1024), Rq::new(1024));
    let mut task = running(&pelt, &mut from, 0);
    for ms in 1..=40 {
        tick(&pelt, &mut from, &mut task, ms * MS);
    }
    sleep(&pelt, &mut from, &mut task, 40 * MS);
    let util = from.fair().util;
    // Its CPU idles since 40 ms and was not asked; 32 periods later half is left of the task.
    pelt.remove(&mut from, &mut task, 40 * MS + 32 * PERIOD);
    assert!(task.avg().util.abs_diff(util / 2) <= 1, "{} of {util}", task.avg().util);
    assert_eq!(from.fair().util, util);
    pelt.pass(&mut to, 80 * MS, 0, 0);
    pelt.enqueue(&mut to, &mut task);
    assert_eq!(to.fair().util, task.avg().util);
    assert!(pelt.age(&mut from), "it counts as a change, though no period has ended");
    assert_eq!((from.fair().util, from.fair().load, from.fair().runnable), (0, 0, 0));
    assert!(!pelt.age(&mut from));
    // What is queued is not removed.
    pelt.remove(&mut to, &mut task, 90 * MS);
    assert!(task.is_attached());
}

#[test]
fn a_task_asleep_in_place_stays_in_the_queue_and_decays_there() {
    let (pelt, mut rq) = (new(), Rq::new(1024));
    let mut task = running(&pelt, &mut rq, 0);
    for ms in 1..=40 {
        tick(&pelt, &mut rq, &mut task, ms * MS);
    }
    sleep(&pelt, &mut rq, &mut task, 40 * MS);
    let (before, own) = (rq.fair().util, task.avg().util);
    pelt.pass(&mut rq, 40 * MS + 32 * PERIOD, 0, 0);
    assert_eq!(rq.fair().util, before, "nobody aged it");
    assert!(pelt.age(&mut rq));
    assert!(rq.fair().util.abs_diff(before / 2) <= 1);
    assert_eq!(task.avg().util, own, "nobody looked at it");
    pelt.sync(&rq, &mut task);
    assert_eq!((task.avg().util, task.avg().last_ns), (rq.fair().util, rq.fair().last_ns));
    for _ in 0..200 {
        let now_ns = rq.clock().wall_ns + 32 * PERIOD;
        pelt.pass(&mut rq, now_ns, 0, 0);
        pelt.age(&mut rq);
    }
    assert!(rq.fair().is_faded());
}

#[test]
fn waiting_is_runnable_but_no_utilisation_and_two_tasks_share_a_cpu() {
    let (pelt, mut rq) = (new(), Rq::new(1024));
    let mut a = running(&pelt, &mut rq, 0);
    let mut b = Task::new(1024);
    pelt.enqueue(&mut rq, &mut b);
    for ms in 1..=600 {
        pelt.pass(&mut rq, ms * MS, 0, 0);
        let (on, off) = if ms % 2 == 0 { (&mut a, &mut b) } else { (&mut b, &mut a) };
        pelt.switch(&mut rq, Some(off), Next::Fair(on));
    }
    for task in [&a, &b] {
        assert!(task.avg().util.abs_diff(512) < 16, "{}", task.avg().util);
        assert!(task.avg().runnable > 1000);
    }
    assert!(rq.fair().util > 1000 && rq.fair().runnable > 2000 && rq.fair().load > 2000);
    assert_eq!((rq.weight(), rq.runnable_tasks()), (2048, 2));
}

#[test]
fn a_task_that_lags_loads_its_queue_but_does_not_wait() {
    let (pelt, mut rq) = (new(), Rq::new(1024));
    let mut task = running(&pelt, &mut rq, 0);
    pelt.pass(&mut rq, 10 * MS, 0, 0);
    pelt.dequeue(&mut rq, &mut task, Leave::Lags);
    pelt.switch(&mut rq, Some(&mut task), Next::Idle);
    assert_eq!((task.is_queued(), rq.weight(), rq.runnable_tasks()), (true, 1024, 0));
    let (load, runnable) = (task.avg().load_sum, task.avg().runnable_sum);
    pelt.pass(&mut rq, 20 * MS, 0, 0);
    pelt.dequeue(&mut rq, &mut task, Leave::Sleeps);
    // It began with all the load that it can have, and keeps it; 9 periods leave 82 % of the rest.
    assert!(task.avg().load_sum > load * 98 / 100, "{} {load}", task.avg().load_sum);
    assert!(task.avg().runnable_sum < runnable * 83 / 100);
    assert_eq!((task.is_queued(), rq.weight(), rq.runnable_tasks()), (false, 0, 0));
    // Woken up before: it counts again, once.
    pelt.enqueue(&mut rq, &mut task);
    pelt.dequeue(&mut rq, &mut task, Leave::Lags);
    pelt.enqueue(&mut rq, &mut task);
    assert!(!pelt.enqueue(&mut rq, &mut task), "it is queued already");
    assert_eq!((rq.weight(), rq.runnable_tasks()), (1024, 1));
}

#[test]
fn classes_beside_the_fair_one_have_averages_of_their_own() {
    let (pelt, mut rq) = (new(), Rq::new(1024));
    pelt.switch(&mut rq, None, Next::RealTime);
    for (now_ns, next) in [(PERIOD, Next::Deadline), (3 * PERIOD, Next::Idle)] {
        pelt.pass(&mut rq, now_ns, 0, 0);
        pelt.switch(&mut rq, None, next);
    }
    // One period: 1002 units; it aged with the next look at it only. Two periods: 2030109 of A15 (c) without the first's rounding.
    assert_eq!((rq.real_time().util, rq.real_time().util_sum), (21, 1_026_048));
    assert_eq!(rq.deadline().util, 43);
    assert_eq!(rq.fair().util_sum, 0);
    pelt.pass(&mut rq, 35 * PERIOD, 0, 0);
    assert!(pelt.age(&mut rq));
    assert_eq!((rq.real_time().util, rq.deadline().util), (10, 21));
}

#[test]
fn capacity_that_heat_takes_is_a_load_on_unscaled_time() {
    let (pelt, mut rq) = (new(), Rq::new(512));
    rq.set_speed(Speed { capacity: 512, frequency: 100 });
    pelt.switch(&mut rq, None, Next::RealTime);
    for t in 1..=32 {
        pelt.pass(&mut rq, t * PERIOD, 0, 0);
        assert!(pelt.lose_capacity(&mut rq, 200));
    }
    assert_eq!(rq.hardware().load, 100, "half of it after a half-life, however slow the CPU");
}

#[test]
fn the_flag_in_an_estimate_goes_when_the_average_is_renewed() {
    let pelt = Pelt::new(Config { estimate_first: false, ..*new().config() }).unwrap();
    let mut rq = Rq::new(1024);
    let mut task = running(&pelt, &mut rq, 0);
    sleep(&pelt, &mut rq, &mut task, 10 * MS + 1);
    let stored = pelt.estimate(&task);
    assert_eq!(stored, u32::try_from(task.avg().util).unwrap());
    // Awake and asleep again within a period: the average is the same, and so is the estimate.
    pelt.enqueue(&mut rq, &mut task);
    assert_eq!(rq.estimate(), stored);
    pelt.switch(&mut rq, None, Next::Fair(&mut task));
    sleep(&pelt, &mut rq, &mut task, 10 * MS + 2000);
    assert_eq!((pelt.estimate(&task), rq.estimate()), (stored, 0));
}
