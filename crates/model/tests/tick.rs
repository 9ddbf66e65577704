// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::TickGrid;

#[test]
fn the_next_tick_is_strictly_later_and_on_the_grid() {
    let grid = TickGrid { period_ns: 4_000_000, phase_ns: 1_500 };
    assert_eq!(grid.after(0), 1_500);
    assert_eq!(grid.after(1_499), 1_500);
    assert_eq!(grid.after(1_500), 4_001_500);
    assert_eq!(grid.after(4_001_499), 4_001_500);
    assert_eq!(grid.at_or_before(4_001_500), 4_001_500);
    assert_eq!(grid.at_or_before(4_001_499), 1_500);
}

#[test]
fn periods_are_the_kernels() {
    let periods: Vec<u64> = [100, 250, 300, 1000].map(TickGrid::period_of).to_vec();
    assert_eq!(periods, [10_000_000, 4_000_000, 3_333_333, 1_000_000]);
}
