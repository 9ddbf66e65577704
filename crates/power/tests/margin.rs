// SPDX-License-Identifier: GPL-2.0-only
//! Is the clock that idle power buys what the formula says, worked out by hand?

use idlewise_power::Budget;

#[test]
fn a_tenth_of_what_follows_the_clock_buys_a_tenth_over_the_exponent() {
    let budget = Budget { limit_w: 6.0, idle_w: 0.5, package_w: 1.5 };
    assert_eq!(budget.clocked_w(), Some([4.0, 5.5]));
    // (1 + 0.4 / 4)^(1 / 2.5) and (1 + 0.4 / 5.5)^(1 / 3.5).
    let [least, most] = budget.clock_pct(0.4).unwrap();
    assert!((most - 3.886).abs() < 0.001 && (least - 2.026).abs() < 0.001, "{least} {most}");
    // At the margin a share over the exponent.
    let [least, most] = budget.clock_pct(0.004).unwrap();
    assert!((most - 0.04).abs() < 1e-4 && (least - 0.4 / 5.5 / 3.5).abs() < 1e-4, "{least} {most}");
    let [least, most] = budget.clock_pct(-0.4).unwrap();
    assert!(least < most && most < 0.0, "{least} {most}");
    assert_eq!(budget.clock_pct(0.0), Some([0.0, 0.0]));
}

#[test]
fn a_limit_that_leaves_nothing_to_the_clock_has_no_answer() {
    let budget = Budget { limit_w: 2.0, idle_w: 0.5, package_w: 1.5 };
    assert_eq!((budget.clocked_w(), budget.clock_pct(0.1)), (None, None));
}

#[test]
fn a_shallow_state_is_worth_it_for_short_work_and_not_for_long() {
    let budget = Budget { limit_w: 6.0, idle_w: 0.5, package_w: 1.5 };
    let of = |saved_us, extra_w, share| budget.break_even_work_us(saved_us, extra_w, share);
    assert_eq!(of(1000.0, 0.5, 1.0), Some([20_000.0, 38_500.0]));
    // Twice the power, or half of the time at the limit.
    assert_eq!(of(1000.0, 1.0, 1.0), Some([10_000.0, 19_250.0]));
    assert_eq!(of(1000.0, 0.5, 0.5), Some([40_000.0, 77_000.0]));
    for none in [of(1000.0, 0.0, 1.0), of(1000.0, 0.5, 0.0)] {
        assert_eq!(none, None);
    }
    assert_eq!(Budget { limit_w: 2.0, ..budget }.break_even_work_us(1.0, 1.0, 1.0), None);
}
