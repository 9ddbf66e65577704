// SPDX-License-Identifier: GPL-2.0-only
//! What do the candidates for HWP make of the time that CPUs are awake?

use crate::common;

use common::{Cpu, I7, MS, Said, fast, idled, policy, setup};
use idlewise_freq::{Change, Limits, Policy};

/// Evaluates every ms a load of so many %, from a time on; the clock after each, MHz.
fn clocks(p: &mut Policy, from_ms: u64, idle_ns: &mut u64, loads: &[u64]) -> Vec<u32> {
    let mut out = Vec::new();
    for (ms, load) in (from_ms + 1..).zip(loads) {
        *idle_ns += MS / 100 * (100 - load);
        assert_eq!(p.next_timer(0, true), Some(ms * MS), "an idle CPU does not stop it");
        let answer = p.timer(0, ms * MS, &idled(*idle_ns));
        assert!(answer.timers);
        if let Change::Now { khz } = answer.change {
            assert_eq!(khz, p.cur_khz());
        }
        out.push(p.cur_khz() / 1000);
    }
    out
}

fn started(governor: &str) -> Policy {
    let mut p = policy(setup(1, &I7, fast()), governor);
    assert!(p.start(0, &idled(0)).timers);
    p
}

#[test]
fn a_full_load_climbs_in_proportion_and_falls_when_the_window_has_passed() {
    let mut p = started("hwp-window:window_us=3000");
    let mut idle_ns = 0;
    // Each ms a load of 1 at the clock over the aim of 768 / 1024: a third more, to the next point.
    let up = clocks(&mut p, 0, &mut idle_ns, &[100, 100, 100, 100]);
    assert_eq!(up, [2200, 3000, 3401, 3401]);
    // The demands of three periods count: 3401, then that of its last ms, and none.
    assert_eq!(clocks(&mut p, 4, &mut idle_ns, &[0, 0, 0, 0]), [3401, 3401, 1600, 1600]);
}

#[test]
fn a_mean_rises_with_one_time_constant_and_falls_with_another() {
    let mut p = started("hwp-ewma:up_us=3000,down_us=20000");
    let mut idle_ns = 0;
    let up = clocks(&mut p, 0, &mut idle_ns, &[100; 30]);
    assert!(up.windows(2).all(|w| w[0] <= w[1]), "{up:?}");
    assert!(up[2] < 2000 && up[29] == 3401, "{up:?}");
    let down = clocks(&mut p, 30, &mut idle_ns, &[0; 30]);
    assert!(down.windows(2).all(|w| w[0] >= w[1]), "{down:?}");
    assert!(down[2] > 2900 && down[29] < 1700, "{down:?}");
}

#[test]
fn a_preference_for_performance_rises_at_once_and_aims_at_half_a_load() {
    let mut idle_ns = 0;
    assert_eq!(
        clocks(&mut started("hwp-ewma:epp=0"), 0, &mut idle_ns, &[100]),
        [3300],
        "twice 1600, to the next point"
    );
    let mut idle_ns = 0;
    let mut energy = started("hwp-window:epp=255");
    assert_eq!(clocks(&mut energy, 0, &mut idle_ns, &[100, 99, 90]), [1700, 1700, 1700]);
}

#[test]
fn a_range_and_new_limits_bound_the_clock() {
    let mut idle_ns = 0;
    let mut pinned = started("hwp-ewma:min_khz=2500000,max_khz=2500000");
    assert_eq!(pinned.cur_khz(), 2_500_000);
    assert_eq!(clocks(&mut pinned, 0, &mut idle_ns, &[0, 100]), [2500, 2500]);
    let answer = pinned.set_limits(Limits { min_khz: 0, max_khz: 2_000_000 }, 5 * MS);
    assert_eq!(answer.change, Change::Now { khz: 2_000_000 });
    let why = "hwp-window:min_khz=3000000,max_khz=2000000".parse::<idlewise_freq::Config>().unwrap_err();
    assert!(why.to_string().contains("min_khz=3000000 must not be above max_khz=2000000"), "{why}");
}

#[test]
fn the_busiest_cpu_of_a_shared_clock_counts() {
    let mut p = policy(setup(2, &I7, fast()), "hwp-window");
    let said = |idle: [u64; 2]| Said(idle.map(|idle_ns| Cpu { idle_ns, ..Cpu::default() }).to_vec());
    let _ = p.start(0, &said([0, 0]));
    assert_eq!(p.next_timer(1, false), None, "one timer for all");
    assert_eq!(p.timer(0, MS, &said([MS, MS / 10])).change, Change::Now { khz: 2_000_000 });
}
