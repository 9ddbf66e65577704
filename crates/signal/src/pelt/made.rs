// SPDX-License-Identifier: GPL-2.0-only
//! What C makes of PELT's structures, or finds in them.

use super::{Avg, Clock, Config, HalfLife, Limits, Rq, Speed, Task};
use crate::c::pelt as c;

impl Config {
    /// PELT as the kernel of that version has it; nothing for kernels before 4.3, which had another one.
    #[must_use]
    pub fn kernel(major: u32, minor: u32) -> Option<Self> {
        c::kernel(major, minor)
    }

    /// The same with another half-life, chosen when a kernel is compiled.
    #[must_use]
    pub fn with_half_life(self, half_life: HalfLife) -> Self {
        c::with_half_life(self, half_life)
    }

    /// Whether every field is in its range and goes with the others.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        c::valid(self)
    }
}

impl Avg {
    /// Whether nothing is left to decay.
    #[must_use]
    pub fn is_faded(&self) -> bool {
        c::faded(self)
    }
}

impl Clock {
    /// The time up to which the averages were updated, ns.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        c::clock_now(self)
    }
}

impl Task {
    /// A task that was made and has not been woken up yet. A `weight` is 1024 for nice 0, and at least 2.
    #[must_use]
    pub fn new(weight: u32) -> Self {
        c::task(weight)
    }
}

impl Rq {
    /// An idle CPU at full speed on which nothing has happened; its clocks begin at 0. A `capacity` is taken into 1 to 1024.
    #[must_use]
    pub fn new(capacity: u32) -> Self {
        c::rq(capacity)
    }

    /// The CPU has changed its speed. Time since the last [`Pelt::pass`](super::Pelt::pass) will count at the new one.
    #[inline]
    pub fn set_speed(&mut self, speed: Speed) {
        c::set_speed(self, speed);
    }
}

impl Limits {
    /// With a bandwidth of deadline tasks: the sum of run time by period of those that are active, times 2^20.
    #[must_use]
    pub fn with_running_bandwidth(self, running_bw: u64) -> Self {
        Self { deadline_bandwidth: c::deadline_bandwidth(running_bw), ..self }
    }
}
