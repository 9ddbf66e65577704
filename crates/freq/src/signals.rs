// SPDX-License-Identifier: GPL-2.0-only

/// How fast a CPU has to be, on its own capacity's scale (signal-behaviour.md A14, kernels from 6.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// For the work that there is, 0 to its capacity.
    pub util: u64,
    /// No less than this: interrupts, deadline bandwidth, lower clamp.
    pub min: u64,
    /// No more than this: the capacity, or the upper clamp below it.
    pub max: u64,
}

/// What governors read of a CPU. The caller decides what stands behind it: PELT of any kernel, WALT, or numbers of its own.
///
/// Utilisations go from 0 to the CPU's capacity, capacities from 1 to 1024 (the biggest CPU at full speed). A governor
/// reads only what its kernel reads; the text of each method names the readers. Values are taken as of the call, so the
/// caller brings its signal up to date first, as the kernel does.
pub trait Signals {
    /// The capacity at the highest clock, 1 to 1024. Read by: schedutil of all kernels, sched-freq.
    fn capacity(&self, cpu: u32) -> u64;

    /// `effective_cpu_util()` of 6.8 and later, over the fair utilisation with runnable boost (A14). A signal with one
    /// number gives it as `util`, with 0 and the capacity beside it. Read by: `schedutil`.
    fn need(&self, cpu: u32) -> Need;

    /// All classes' utilisation in one number, clamped: `effective_cpu_util()` of type FREQ, up to 6.7 (A14). Read by:
    /// `schedutil-6.1`, `sched-pixel`.
    fn freq_util(&self, cpu: u32) -> u64;

    /// The fair class alone: the root queue's `util_avg`, or WALT's busy time of the last window (B8). Read by:
    /// `schedutil-4.8`, `schedutil-android-4.4`, `sched-freq`.
    fn util(&self, cpu: u32) -> u64;

    /// Whether [`Signals::util`] is WALT's, which counts all classes. Read by: `schedutil-android-4.4`, `sched-freq`.
    fn windowed(&self) -> bool {
        false
    }

    /// The real-time class's utilisation. Read by: `schedutil-android-4.4` with PELT, `sched-freq`.
    fn rt_util(&self, _cpu: u32) -> u64 {
        0
    }

    /// The bandwidth of the active deadline tasks, 0 to 1024 (A14, `dl_bw`). Read by: `schedutil` (its rise passes by the
    /// rate limit), `sched-freq`.
    fn dl_bandwidth(&self, _cpu: u32) -> u64 {
        0
    }

    /// The run queue's utilisation clamps, lower and upper, 0 to 1024. Read by: `schedutil-6.1`, `sched-pixel` (iowait boost).
    fn clamps(&self, _cpu: u32) -> (u64, u64) {
        (0, 1024)
    }

    /// Whether the upper clamp holds the CPU back, so that it may be clocked down although it is busy. Read by: `schedutil`,
    /// `schedutil-6.1`, `sched-pixel`.
    fn capped(&self, _cpu: u32) -> bool {
        false
    }

    /// How often the CPU began to idle; only that it changes matters. Read by: `schedutil`, `schedutil-6.1`, `sched-pixel`.
    fn idle_calls(&self, cpu: u32) -> u64;

    /// Time idle since any fixed moment, without time that tasks waited for I/O, ns. Never falls. Read by: the samplers,
    /// `ondemand`, `conservative`, `interactive`.
    fn idle_ns(&self, cpu: u32, now_ns: u64) -> u64;

    /// Time awake since any fixed moment as hardware counts it, so that polling is being awake, ns. Never falls. Read by: the
    /// candidates for HWP.
    fn awake_ns(&self, cpu: u32, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.idle_ns(cpu, now_ns))
    }

    /// How fast the CPU runs now, of 1024 at its clock's highest, where a ceiling may leave less than was asked for. Read by: the
    /// candidates for HWP.
    fn delivered(&self, _cpu: u32) -> Option<u64> {
        None
    }

    /// Time idle while a task of the CPU waited for I/O, ns. Never falls. Read by: the samplers.
    fn iowait_ns(&self, _cpu: u32, _now_ns: u64) -> u64 {
        0
    }
}

/// A call of the scheduler's utilisation hook (signal-behaviour.md A7 says where they come from).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hook {
    /// The CPU whose utilisation changed.
    pub cpu: u32,
    /// The CPU that makes the call.
    pub from: u32,
    /// The run queue's clock, ns.
    pub t_ns: u64,
    /// A task that waited for I/O wakes up.
    pub iowait: bool,
    /// The call comes from the real-time class. Read by `schedutil-4.8`.
    pub rt: bool,
    /// The call comes from the deadline class. Read by `schedutil-4.8`, `schedutil-android-4.4`.
    pub dl: bool,
}

impl Hook {
    /// A fair update that the CPU makes for itself.
    #[must_use]
    pub fn fair(cpu: u32, t_ns: u64) -> Self {
        Self { cpu, from: cpu, t_ns, ..Self::default() }
    }
}

/// What the scheduler did, for `sched-freq`, which has call sites of its own and no hook (signal-behaviour.md C6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A task woke up or a new one was enqueued.
    Wake,
    /// A task went to sleep, and others remain.
    Sleep,
    /// The last task went to sleep.
    LastSleep,
    Tick,
    /// Load balancing moved tasks.
    Balance,
    /// The real-time class's share was renewed.
    Rt,
    /// The deadline class's bandwidth changed.
    Dl,
}
