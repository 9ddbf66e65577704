// SPDX-License-Identifier: GPL-2.0-only
//! Makes a sequence minimal: delta debugging (Zeller, Hildebrandt 2002) over its idle periods, then over what stands in each of them.

use crate::period::Period;

/// Idle periods that are played, at most. A class of Python needs some seconds for so many.
pub(crate) const MOST: usize = 1_000_000;
/// The CPU is plainly busy for so long, ns.
const PLAIN_BUSY_NS: u64 = 1_000_000;

/// Each makes one thing of an idle period plain.
const PLAINER: [fn(&mut Period); 9] = [
    |p| p.util = 0,
    |p| p.iowait = 0,
    |p| p.busy_ns = PLAIN_BUSY_NS,
    |p| p.busy_ns = rounded(p.busy_ns),
    // The timer is the wakeup: no interrupt is needed.
    |p| p.timer_ns = Some(p.woken_ns),
    |p| p.timer_ns = None,
    |p| {
        let was_timer = p.is_timer();
        p.woken_ns = rounded(p.woken_ns);
        if was_timer {
            p.timer_ns = Some(p.woken_ns);
        }
    },
    |p| p.timer_ns = p.timer_ns.map(rounded),
    |p| p.util = if p.util > 512 { 1024 } else { 512 },
];

/// A test whether a sequence still shows it, with the idle periods that may still be played.
struct Test<'f, E> {
    shows: &'f mut dyn FnMut(&[Period]) -> Result<bool, E>,
    times: usize,
    left: usize,
    /// Whether all idle periods are plausible, and so have to stay.
    plausible: bool,
}

impl<'f, E> Test<'f, E> {
    fn new(periods: &[Period], times: usize, shows: &'f mut dyn FnMut(&[Period]) -> Result<bool, E>) -> Self {
        Self { shows, times, left: MOST, plausible: periods.iter().all(Period::is_plausible) }
    }

    fn holds(&mut self, periods: &[Period]) -> Result<bool, E> {
        let played = periods.len() * self.times;
        let implausible = self.plausible && !periods.iter().all(Period::is_plausible);
        if played > self.left || periods.is_empty() || implausible {
            return Ok(false);
        }
        self.left -= played;
        (self.shows)(periods)
    }
}

/// The shortest and plainest sequence found that still `shows` it when it is played `times` times over, from one that does. A
/// million idle periods are played at most.
///
/// # Errors
/// The error of `shows`.
pub fn shrink<E>(
    mut periods: Vec<Period>,
    times: usize,
    shows: &mut dyn FnMut(&[Period]) -> Result<bool, E>,
) -> Result<Vec<Period>, E> {
    let mut test = Test::new(&periods, times, shows);
    loop {
        let before = periods.clone();
        remove(&mut periods, &mut test)?;
        simplify(&mut periods, &mut test)?;
        if periods == before {
            return Ok(periods);
        }
    }
}

/// Leaves out as many of `periods` as possible, as [`shrink`] begins.
pub(crate) fn shorten<E>(
    mut periods: Vec<Period>,
    times: usize,
    shows: &mut dyn FnMut(&[Period]) -> Result<bool, E>,
) -> Result<Vec<Period>, E> {
    let mut test = Test::new(&periods, times, shows);
    remove(&mut periods, &mut test)?;
    Ok(periods)
}

/// Leaves out as many idle periods as possible.
fn remove<E>(periods: &mut Vec<Period>, test: &mut Test<'_, E>) -> Result<(), E> {
    let mut length = periods.len().div_ceil(2);
    while length > 0 {
        let mut from = 0;
        let mut removed = false;
        while from < periods.len() {
            let mut fewer = periods.clone();
            fewer.drain(from..(from + length).min(periods.len()));
            if test.holds(&fewer)? {
                *periods = fewer;
                removed = true;
            } else {
                from += length;
            }
        }
        if !removed || length > periods.len() {
            length = if length == 1 { 0 } else { length.div_ceil(2) };
        }
    }
    Ok(())
}

/// Puts plain values into all idle periods, then into each, and makes it equal to the one before.
fn simplify<E>(periods: &mut Vec<Period>, test: &mut Test<'_, E>) -> Result<(), E> {
    for plain in PLAINER {
        let mut others = periods.clone();
        others.iter_mut().for_each(plain);
        if others != *periods && test.holds(&others)? {
            *periods = others;
        }
    }
    for i in 0..periods.len() {
        if i > 0 && periods[i] != periods[i - 1] {
            let mut same = periods.clone();
            same[i] = periods[i - 1];
            if test.holds(&same)? {
                *periods = same;
                continue;
            }
        }
        for plain in PLAINER {
            let mut other = periods.clone();
            plain(&mut other[i]);
            // Back and forth would never end.
            if plainness(&other[i]) < plainness(&periods[i]) && test.holds(&other)? {
                *periods = other;
            }
        }
    }
    Ok(())
}

/// How plain an idle period is to read: less is plainer.
pub(crate) fn plainness(p: &Period) -> u32 {
    let digits = |n: u64| n.to_string().trim_end_matches('0').len() as u32;
    let timer = match p.timer_ns {
        _ if p.is_timer() => 0,
        None => 1,
        Some(ns) => 1 + digits(ns),
    };
    let busy = if p.busy_ns == PLAIN_BUSY_NS { 0 } else { 1 + digits(p.busy_ns) };
    let util = if p.util == 0 { 0 } else { 1 + digits(u64::from(p.util % 512)) };
    timer + busy + util + digits(p.woken_ns) + u32::from(p.iowait)
}

/// The first digit of a time, and zeros.
fn rounded(ns: u64) -> u64 {
    let Some(digits) = ns.checked_ilog10() else { return 0 };
    let unit = 10_u64.pow(digits);
    ns / unit * unit
}
