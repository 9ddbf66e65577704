// SPDX-License-Identifier: GPL-2.0-only
//! Times during which the machine stood still: a suspend, a paused guest. No governor chooses there, nothing runs, and what is
//! said per second leaves them out.

use std::collections::BTreeSet;

use idlewise_model::EventKind;

/// While a suspend is under way, no event of any CPU for so long means that the machine stood still, ns.
const SILENCE_NS: u64 = 100_000_000;
/// A suspend whose machine has worked for so long since its last step is over, ns: the events of its end are lost. Slow devices take
/// some seconds between two steps.
const LONGEST_STEP_NS: u64 = 10_000_000_000;
/// A suspend in which programs have gone to sleep so often since its last step is over: it freezes them, and their sleep is another one
/// then. One may do so once before.
const MOST_SLEEPS: u32 = 1;
/// A task that sleeps so waits for an event or a signal (`TASK_INTERRUPTIBLE`).
const INTERRUPTIBLE: u64 = 1;

/// Without an event of any CPU for so long, the machine may have stood still, ns.
pub(crate) const LONG_NS: u64 = 1_000_000_000;

/// Collects such times of all CPUs.
#[derive(Debug, Default)]
pub(crate) struct Standstill {
    /// When the recording begins, ns.
    begin_ns: u64,
    /// Steps of a suspend that have begun and not ended.
    steps: u32,
    /// Time since the last of them in which the machine did not stand still, ns.
    awake_ns: u64,
    /// How often programs have gone to sleep since.
    sleeps: u32,
    /// Last event of any CPU, ns.
    last_ns: u64,
    /// From and to, ns.
    times: Vec<(u64, u64)>,
    /// Silences of at least [`LONG_NS`], from and to, ns.
    silences: Vec<(u64, u64)>,
    /// Silences of suspends so far, ns.
    silent_ns: u64,
    /// Idle periods that are left out for it.
    left_out: u64,
    /// How many times lines are missing, and how long together, ns.
    holes: (u64, u64),
}

impl Standstill {
    pub(crate) fn since(begin_ns: u64) -> Self {
        Self { begin_ns, ..Self::default() }
    }

    /// An event at `ts_ns`.
    pub(crate) fn event(&mut self, ts_ns: u64) {
        let silence_ns = ts_ns.saturating_sub(self.last_ns);
        if silence_ns >= LONG_NS {
            self.silences.push((self.last_ns, ts_ns));
        }
        if self.in_suspend() && silence_ns >= SILENCE_NS {
            self.add(self.last_ns, ts_ns);
            self.silent_ns += silence_ns;
        } else if self.in_suspend() {
            self.awake_ns += silence_ns;
            if self.awake_ns > LONGEST_STEP_NS {
                self.steps = 0;
            }
        }
        self.last_ns = self.last_ns.max(ts_ns);
    }

    /// The longest time between two events of any CPU from `from_ns` to `to_ns`, which is the present, ns; 0 where none is long.
    pub(crate) fn silence_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        let recent = self.silences.iter().rev().take_while(|(_, to)| *to > from_ns);
        recent.map(|(from, to)| to.min(&to_ns).saturating_sub(*from.max(&from_ns))).fold(0, u64::max)
    }

    /// A step of a suspend begins or ends.
    pub(crate) fn step(&mut self, begins: bool) {
        self.steps = if begins { self.steps + 1 } else { self.steps.saturating_sub(1) };
        self.awake_ns = 0;
        self.sleeps = 0;
    }

    /// A program goes to sleep.
    pub(crate) fn program_sleeps(&mut self) {
        self.sleeps += 1;
        if self.sleeps > MOST_SLEEPS {
            self.steps = 0;
        }
    }

    /// Events are lost, which may have been its last ones. A machine that goes on to suspend itself has further steps.
    pub(crate) fn lost(&mut self) {
        self.steps = 0;
    }

    pub(crate) fn in_suspend(&self) -> bool {
        self.steps > 0
    }

    /// `ts_ns` on the scheduler's clock, which suspends stop, as far as averages of load care: from the begin of the recording,
    /// since where periods of averages lie on its clock is not known.
    pub(crate) fn running_ns(&self, ts_ns: u64) -> u64 {
        ts_ns.saturating_sub(self.begin_ns).saturating_sub(self.silent_ns)
    }

    /// An idle period of a CPU that is left out.
    pub(crate) fn leave_out(&mut self, from_ns: u64, to_ns: u64) {
        self.add(from_ns, to_ns);
        self.left_out += 1;
    }

    /// A time of which lines are missing.
    pub(crate) fn hole(&mut self, from_ns: u64, to_ns: u64) {
        self.lost();
        self.add(from_ns, to_ns);
        self.holes.0 += 1;
        self.holes.1 += to_ns - from_ns;
    }

    /// How many times lines are missing, and how long together, ns.
    pub(crate) fn holes(&self) -> (u64, u64) {
        self.holes
    }

    /// One with what it overlaps as a rule: another CPU's.
    fn add(&mut self, from_ns: u64, to_ns: u64) {
        match self.times.last_mut() {
            Some((from, to)) if from_ns <= *to && *from <= to_ns => {
                *from = from_ns.min(*from);
                *to = to_ns.max(*to);
            }
            _ => self.times.push((from_ns, to_ns)),
        }
    }

    /// How many idle periods were left out.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// All of the time, each once whichever CPU showed it, ns.
    pub(crate) fn together_ns(&self) -> u64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        let mut counted_to = 0;
        let each = times.into_iter().map(|(from, to)| {
            let new = to.saturating_sub(from.max(counted_to));
            counted_to = counted_to.max(to);
            new
        });
        each.sum()
    }
}

/// Names of the kernel's threads that suspends do not freeze begin like this, or have a slash.
const KERNELS: [&str; 16] = [
    "card",
    "comp_",
    "gfx",
    "irq",
    "kauditd",
    "kcompactd",
    "kdevtmpfs",
    "khungtaskd",
    "kswapd",
    "kthreadd",
    "mmc",
    "rcu",
    "sdma",
    "spi",
    "sugov",
    "watchdogd",
];

/// Finds the programs that sleep during a suspend, as far as names tell them from the kernel's threads.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    /// A suspend was seen.
    suspends: bool,
    pids: BTreeSet<i32>,
}

impl Programs {
    /// So many are enough to show that a machine runs.
    const MOST: usize = 1000;

    pub(crate) fn event(&mut self, kind: &EventKind) {
        match *kind {
            EventKind::SuspendResume { .. } => self.suspends = true,
            EventKind::SchedSwitch { prev_pid, prev_state, .. }
                if self.suspends && prev_pid > 0 && sleeps(prev_state) && self.pids.len() < Self::MOST =>
            {
                self.pids.insert(prev_pid);
            }
            _ => {}
        }
    }

    /// Their pids; `comm` gives a task's name.
    pub(crate) fn pids<'a>(&self, comm: impl Fn(i32) -> Option<&'a str>) -> BTreeSet<i32> {
        let is_program =
            |name: &str| !name.contains('/') && !KERNELS.iter().any(|start| name.starts_with(start));
        self.pids.iter().copied().filter(|pid| comm(*pid).is_some_and(is_program)).collect()
    }
}

/// Whether a task that is switched out with this state waits for an event or a signal.
pub(crate) fn sleeps(prev_state: u64) -> bool {
    prev_state == INTERRUPTIBLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_several_cpus_stood_still_counts_once() {
        let mut s = Standstill::default();
        for (from, to) in [(10, 50), (5, 20), (60, 70), (12, 15), (70, 71)] {
            s.leave_out(from, to);
        }
        assert_eq!(s.together_ns(), 45 + 11);
        assert_eq!(s.left_out(), 5);
    }

    #[test]
    fn the_longest_silence_of_a_time_is_that_within_it() {
        let mut s = Standstill::since(5 * LONG_NS);
        for at in [5, 6, 9, 10, 12] {
            s.event(at * LONG_NS);
        }
        let silence = |from: u64, to: u64| s.silence_ns(from * LONG_NS, to * LONG_NS) / LONG_NS;
        assert_eq!([silence(5, 12), silence(9, 12), silence(8, 10), silence(12, 12)], [3, 2, 1, 0]);
    }

    #[test]
    fn only_a_silence_in_a_suspend_is_a_standstill() {
        let mut s = Standstill::default();
        s.event(1_000);
        s.event(1_000 + 5 * SILENCE_NS);
        assert_eq!((s.together_ns(), s.running_ns(1 << 60)), (0, 1 << 60));
        s.step(true);
        s.event(1_000 + 6 * SILENCE_NS);
        s.event(1_000 + 7 * SILENCE_NS - 1);
        s.step(false);
        s.event(1_000 + 20 * SILENCE_NS);
        assert_eq!((s.together_ns(), s.running_ns(1 << 60)), (SILENCE_NS, (1 << 60) - SILENCE_NS));
    }
}
