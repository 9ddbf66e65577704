// SPDX-License-Identifier: GPL-2.0-only
use std::convert::Infallible;

use idlewise_counterexample::{Period, shrink};

/// The CPU is plainly busy for so long, ns.
const PLAIN_BUSY_NS: u64 = 1_000_000;
/// Idle periods that are played, at most.
const MOST: usize = 1_000_000;

#[test]
fn only_what_matters_is_left() {
    let period = |n: u64| Period {
        busy_ns: 12_345 + n,
        woken_ns: 54_321 + n,
        timer_ns: Some(99_999 + n),
        util: 7,
        iowait: 1,
    };
    // One that is longer than 54.4 us, and later one that is shorter, with a use of the CPU.
    let mut shows = |all: &[Period]| {
        let long = all.iter().position(|p| p.woken_ns > 54_400);
        let short = all.iter().rposition(|p| p.woken_ns < 54_400 && p.util > 0);
        Ok::<bool, Infallible>(long.zip(short).is_some_and(|(a, b)| a < b))
    };
    let mut all: Vec<Period> = (0..200).map(period).collect();
    all.extend((0..20).map(period));
    let left = shrink(all, 1, &mut shows).unwrap();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.iter().all(|p| p.is_timer() && p.busy_ns == PLAIN_BUSY_NS && p.iowait == 0));
    assert_eq!((left[0].util, left[1].woken_ns, left[1].util), (0, 50_000, 512));
}

#[test]
fn what_stays_long_ends() {
    let period =
        |n: u64| Period { busy_ns: 12_345, woken_ns: 54_321 + n, timer_ns: None, util: 7, iowait: 1 };
    let all: Vec<Period> = (0..200).map(period).collect();
    let mut played = 0;
    // Any two hundred show it, so that all that can be tried is to make each plain.
    let mut shows = |tried: &[Period]| {
        played += 20 * tried.len();
        Ok::<bool, Infallible>(tried.len() == 200 && tried.iter().all(|p| p.util > 0))
    };
    let left = shrink(all, 20, &mut shows).unwrap();
    assert_eq!(left.len(), 200);
    assert!((MOST - 4_000..=MOST).contains(&played), "{played}");
}
