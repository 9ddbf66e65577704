// SPDX-License-Identifier: GPL-2.0-only
//! Makes a failing sequence minimal: delta debugging (Zeller, Hildebrandt: "Simplifying and Isolating Failure-Inducing Input",
//! IEEE TSE 2002) over its steps, then over what stands in each of them.

use idlewise_model::{NEVER_NS, NO_LATENCY_LIMIT_NS};

use crate::step::{End, Step};

/// Sequences that are tried, at most.
const TRIES: usize = 6_000;
/// Steps of a sequence that are simplified one by one, at most.
const SIMPLIFIED: usize = 48;

/// A test whether a sequence still fails, with the tries that are left.
struct Test<'f> {
    fails: &'f mut dyn FnMut(&[Step]) -> bool,
    left: usize,
}

impl Test<'_> {
    fn holds(&mut self, steps: &[Step]) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        (self.fails)(steps)
    }
}

/// The shortest and plainest sequence found that still `fails`, from one that does.
pub(crate) fn shrink(steps: Vec<Step>, fails: &mut dyn FnMut(&[Step]) -> bool) -> Vec<Step> {
    shrink_within(TRIES, steps, fails)
}

/// The same with `tries` tries.
pub(crate) fn shrink_within(
    tries: usize,
    mut steps: Vec<Step>,
    fails: &mut dyn FnMut(&[Step]) -> bool,
) -> Vec<Step> {
    let mut test = Test { fails, left: tries };
    loop {
        let before = steps.clone();
        remove(&mut steps, &mut test);
        simplify_all(&mut steps, &mut test);
        if steps.len() <= SIMPLIFIED {
            simplify_each(&mut steps, &mut test);
        }
        if steps == before {
            return steps;
        }
    }
}

/// Leaves out as many steps as possible, with some tries left to make plain what stays long.
fn remove(steps: &mut Vec<Step>, test: &mut Test<'_>) {
    let mut length = steps.len().div_ceil(2);
    while length > 0 {
        let mut from = 0;
        let mut removed = false;
        while from < steps.len() {
            if steps.len() > SIMPLIFIED && test.left <= PLAINER.len() {
                return;
            }
            let mut fewer = steps.clone();
            fewer.drain(from..(from + length).min(steps.len()));
            if test.holds(&fewer) {
                *steps = fewer;
                removed = true;
            } else {
                from += length;
            }
        }
        if !removed || length > steps.len() {
            length = if length == 1 { 0 } else { length.div_ceil(2) };
        }
    }
}

/// Puts plain values into all steps at once.
fn simplify_all(steps: &mut Vec<Step>, test: &mut Test<'_>) {
    for plain in PLAINER {
        let mut others = steps.clone();
        others.iter_mut().for_each(plain);
        if others != *steps && test.holds(&others) {
            *steps = others;
        }
    }
}

/// Puts plain values into each step, and makes it equal to the one before.
fn simplify_each(steps: &mut Vec<Step>, test: &mut Test<'_>) {
    for i in 0..steps.len() {
        if i > 0 && steps[i] != steps[i - 1] {
            let mut same = steps.clone();
            same[i] = steps[i - 1].clone();
            if test.holds(&same) {
                *steps = same;
                continue;
            }
        }
        for plain in PLAINER {
            let mut other = steps.clone();
            plain(&mut other[i]);
            if other[i] != steps[i] && test.holds(&other) {
                *steps = other;
            }
        }
        for state in (0..u16::BITS).filter(|state| steps[i].disabled >> state & 1 == 1).collect::<Vec<_>>() {
            let mut other = steps.clone();
            other[i].disabled &= !(1 << state);
            if test.holds(&other) {
                *steps = other;
            }
        }
    }
}

/// Each makes one thing of a step plain.
const PLAINER: [fn(&mut Step); 13] = [
    |s| s.cpu = 0,
    |s| s.disabled = 0,
    |s| s.limit_ns = NO_LATENCY_LIMIT_NS,
    |s| s.util = 0,
    |s| s.iowait = 0,
    |s| s.random = 0,
    |s| s.again = false,
    |s| s.timer_ns = NEVER_NS,
    |s| s.timer_ns = round(s.timer_ns),
    |s| s.tick_in_ns = 1_000_000,
    |s| s.tick_in_ns = round(s.tick_in_ns),
    |s| {
        if let End::Woken { tick, .. } = &mut s.end {
            *tick = false;
        } else {
            s.end = End::Woken { after_ns: 1_000, tick: false };
        }
    },
    |s| {
        if let End::Woken { after_ns, .. } = &mut s.end {
            *after_ns = round(after_ns.cast_signed()).unsigned_abs();
        }
    },
];

/// The first digit of a time, and zeros.
fn round(ns: i64) -> i64 {
    let unit = 10_i64.pow(ns.unsigned_abs().checked_ilog10().unwrap_or_default().min(18));
    ns / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(timer_ns: i64) -> Step {
        Step {
            cpu: 0,
            timer_ns,
            tick_in_ns: 123_456,
            limit_ns: 5,
            disabled: 3,
            util: 7,
            iowait: 1,
            random: 9,
            end: End::Rejected,
            again: true,
        }
    }

    #[test]
    fn only_what_matters_is_left() {
        let steps: Vec<Step> = (0..500).map(step).collect();
        // Two of them in this order, one with its limit.
        let mut fails = |s: &[Step]| {
            let first = s.iter().position(|s| s.timer_ns == 77);
            let second = s.iter().rposition(|s| s.timer_ns == 333 && s.limit_ns == 5);
            first.zip(second).is_some_and(|(a, b)| a < b)
        };
        let left = shrink(steps, &mut fails);
        assert_eq!(
            left.iter().map(|s| (s.timer_ns, s.limit_ns)).collect::<Vec<_>>(),
            [(77, NO_LATENCY_LIMIT_NS), (333, 5)]
        );
        assert!(
            left.iter().all(|s| s.disabled == 0 && s.random == 0 && !s.again && s.tick_in_ns == 1_000_000)
        );
    }

    #[test]
    fn only_the_disabled_states_that_matter_are_left() {
        let mut two = step(7);
        two.disabled = 0b1011;
        let left = shrink(vec![two], &mut |s| s.iter().any(|s| s.disabled & 2 == 2));
        assert_eq!(left.iter().map(|s| s.disabled).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn what_stays_long_is_made_plain() {
        let steps: Vec<Step> = (0..2_000).map(step).collect();
        let left = shrink_within(100, steps, &mut |s| s.len() == 2_000);
        assert_eq!(left.len(), 2_000);
        assert!(left.iter().all(|s| *s == left[0]), "{:?}", left.iter().find(|s| **s != left[0]));
    }

    #[test]
    fn times_are_rounded_to_one_digit() {
        assert_eq!(
            [0, 7, 4_837_221, -1_950, i64::MAX].map(round),
            [0, 7, 4_000_000, -1_000, 9 * 10_i64.pow(18)]
        );
    }
}
