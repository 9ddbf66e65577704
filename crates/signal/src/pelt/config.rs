// SPDX-License-Identifier: GPL-2.0-only
//! Which kernel's PELT it is, and how fast a CPU is.

/// How fast history fades; a period is 1.048576 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum HalfLife {
    /// By half in 32 periods.
    Ms32,
    /// In 16.
    Ms16,
    /// In 8.
    Ms8,
}

/// How a task's utilisation is remembered while it sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Estimate {
    /// It is not (before 4.17).
    None,
    /// The last one and a moving average of all.
    Two,
    /// The same, and the average follows a larger one at once (5.5).
    TwoUp,
    /// The moving average alone (6.8).
    One,
}

/// Which kernel's PELT this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Config {
    /// What the sum of an always running task converges to.
    pub sum_max: u32,
    /// A table of the compiler's time.
    pub half_life: HalfLife,
    /// How a task's utilisation is remembered.
    pub estimate: Estimate,
    /// Bit of an estimate that says it was stored and not renewed since: the highest, or the lowest (before 5.13).
    pub estimate_flag: u32,
    /// The averages' clock runs `1 << clock_shift` times as fast, 0 to 2.
    pub clock_shift: u32,
    /// Time short of a unit is kept for the next update (4.13).
    pub keep_remainder: bool,
    /// Averages are shares of the time that the sums cover (4.13), not of `sum_max`.
    pub moving_divider: bool,
    /// Whole periods are added from a table after all was decayed, as until 4.12; with [`HalfLife::Ms32`] only.
    pub old_steps: bool,
    /// A slow clock and a small CPU stretch time (5.1); before, they made what is added less.
    pub scale_clock: bool,
    /// Keep the average of running and waiting (5.7).
    pub runnable: bool,
    /// A task's estimate is renewed before its average is, when it goes to sleep (6.12).
    pub estimate_first: bool,
    /// Limits of the frequency are reported separately from the utilisation (6.8).
    pub limits_apart: bool,
}

impl Config {
    pub(crate) const ZERO: Self = Self {
        sum_max: 0,
        half_life: HalfLife::Ms32,
        estimate: Estimate::None,
        estimate_flag: 0,
        clock_shift: 0,
        keep_remainder: false,
        moving_divider: false,
        old_steps: false,
        scale_clock: false,
        runnable: false,
        estimate_first: false,
        limits_apart: false,
    };

    /// The same with a clock that is so much faster, chosen when a kernel runs: half-lives of 32, 16 and 8 ms for 0, 1, 2.
    #[must_use]
    pub fn with_clock_shift(self, clock_shift: u32) -> Self {
        Self { clock_shift, ..self }
    }
}

/// How fast a CPU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Speed {
    /// At its highest frequency, 1 to 1024.
    pub capacity: u32,
    /// Its frequency, 1024 for the highest.
    pub frequency: u32,
}

impl Speed {
    /// The biggest CPU at its highest frequency.
    pub const FULL: Self = Self { capacity: 1024, frequency: 1024 };
}
