// SPDX-License-Identifier: GPL-2.0-only
//! Does WALT keep the accounts of signal-behaviour.md, B11, which were checked against a kernel's own code?

use crate::common;

use common::{GHZ, MS, MS32, android, cpu, task};
use idlewise_signal::walt::Walt;

/// A row of B11: ms; window start in ms; CPU's previous and open window, demand of the queue, the task's open window
/// and demand, its previous and open share, all ns.
struct Row {
    at: u64,
    window: u64,
    prev: u64,
    curr: u64,
    queue: u64,
    sum: u32,
    demand: u32,
    shares: (u32, u32),
}

fn check(walt: &Walt, t: u32, row: &Row, history: [u32; 5]) {
    let (c, p, at) = (cpu(walt, 0), task(walt, t), row.at);
    assert_eq!(c.window_start_ns, row.window * MS, "window start at {at} ms");
    assert_eq!((c.prev_sum_ns, c.curr_sum_ns), (row.prev, row.curr), "busy time at {at} ms");
    assert_eq!(c.demand_sum_ns, row.queue, "demand of the queue at {at} ms");
    assert_eq!((p.sum_ns, p.demand_ns), (row.sum, row.demand), "demand of the task at {at} ms");
    assert_eq!((p.prev_ns, p.curr_ns), row.shares, "shares of the task at {at} ms");
    assert_eq!(p.history_ns, history, "history at {at} ms");
}

#[test]
fn b11_bit_for_bit() {
    let mut walt = android(1);
    let t = walt.add_task(0, None).unwrap();
    let three = [3 * MS32; 5];
    let row = |at, window, prev, curr, queue, sum, demand, shares| Row {
        at,
        window,
        prev,
        curr,
        queue,
        sum,
        demand,
        shares,
    };

    walt.wake(t, 0, 5 * MS).unwrap();
    check(&walt, t, &row(5, 0, 0, 0, 3_000_000, 0, 3_000_000, (0, 0)), three);
    walt.switch(0, t, false, 5 * MS).unwrap();
    check(&walt, t, &row(5, 0, 0, 0, 3_000_000, 0, 3_000_000, (0, 0)), three);
    walt.tick(0, 8 * MS).unwrap();
    check(&walt, t, &row(8, 0, 0, 3_000_000, 3_000_000, 3_000_000, 3_000_000, (0, 3_000_000)), three);
    walt.tick(0, 16 * MS).unwrap();
    check(&walt, t, &row(16, 0, 0, 11_000_000, 3_000_000, 11_000_000, 3_000_000, (0, 11_000_000)), three);
    walt.tick(0, 20 * MS).unwrap();
    let h = [15 * MS32, 3 * MS32, 3 * MS32, 3 * MS32, 3 * MS32];
    check(&walt, t, &row(20, 20, 15_000_000, 0, 15_000_000, 0, 15_000_000, (15_000_000, 0)), h);
    walt.tick(0, 24 * MS).unwrap();
    let shares = (15_000_000, 4_000_000);
    check(&walt, t, &row(24, 20, 15_000_000, 4_000_000, 15_000_000, 4_000_000, 15_000_000, shares), h);
    walt.set_frequency(0, GHZ / 2, 25 * MS).unwrap();
    let shares = (15_000_000, 5_000_000);
    check(&walt, t, &row(25, 20, 15_000_000, 5_000_000, 15_000_000, 5_000_000, 15_000_000, shares), h);
    walt.tick(0, 28 * MS).unwrap();
    let shares = (15_000_000, 6_500_000);
    check(&walt, t, &row(28, 20, 15_000_000, 6_500_000, 15_000_000, 6_500_000, 15_000_000, shares), h);
    walt.switch_to_idle(0, true, 30 * MS).unwrap();
    let shares = (15_000_000, 7_500_000);
    check(&walt, t, &row(30, 20, 15_000_000, 7_500_000, 0, 7_500_000, 15_000_000, shares), h);

    walt.wake(t, 0, 85 * MS).unwrap();
    let h = [7_500_000, 15 * MS32, 3 * MS32, 3 * MS32, 3 * MS32];
    check(&walt, t, &row(85, 80, 0, 0, 7_500_000, 0, 7_500_000, (0, 0)), h);
    walt.switch(0, t, false, 85 * MS).unwrap();
    walt.switch_to_idle(0, true, 88 * MS).unwrap();
    check(&walt, t, &row(88, 80, 0, 1_500_000, 0, 1_500_000, 7_500_000, (0, 1_500_000)), h);
    walt.wake(t, 0, 90 * MS).unwrap();
    walt.switch(0, t, false, 90 * MS).unwrap();
    check(&walt, t, &row(90, 80, 0, 1_500_000, 7_500_000, 1_500_000, 7_500_000, (0, 1_500_000)), h);

    walt.tick(0, 152 * MS).unwrap();
    let h = [10 * MS32, 10 * MS32, 6_500_000, 7_500_000, 15 * MS32];
    let shares = (10_000_000, 6_000_000);
    check(&walt, t, &row(152, 140, 10_000_000, 6_000_000, 10_000_000, 6_000_000, 10_000_000, shares), h);
    walt.tick(0, 160 * MS).unwrap();
    let h = [10 * MS32, 10 * MS32, 10 * MS32, 6_500_000, 7_500_000];
    check(&walt, t, &row(160, 160, 10_000_000, 0, 10_000_000, 0, 10_000_000, (10_000_000, 0)), h);
}
