// SPDX-License-Identifier: GPL-2.0-only
use idlewise_platform::{CounterSum, StateCounters};

/// How far `/proc/stat` and cpuidle may differ and still mean the same, us: two steps of the former.
const SAME_US: u64 = 20_000;

/// What some CPUs did in the time between two looks.
///
/// The kernel counts a stay when it ends. A CPU that slept all the time has counted nothing; one that woke after ten
/// seconds counts them all at once. `/proc/stat` knows how long a CPU was idle, so that time is split: into what ended
/// stays account for, by state; what belongs to a stay that goes on; and the rest, which is work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share {
    /// The kernel's counts of the time between.
    pub counters: CounterSum,
    /// CPUs times time, us.
    pub cpu_us: u64,
    /// Time in each state, us: never more than passed.
    pub states_us: Vec<u64>,
    /// Time in stays that have not ended, in a state that the kernel has not told yet, us.
    pub asleep_us: u64,
    /// Time at work, us.
    pub busy_us: u64,
}

impl Share {
    /// One CPU; `idle_us` is the time that it was idle by `/proc/stat`, where that is known.
    pub(super) fn of_cpu<'a>(
        counters: &[StateCounters],
        elapsed_us: u64,
        idle_us: Option<u64>,
        name: impl Fn(usize) -> &'a str,
    ) -> Self {
        let mut sum = CounterSum::default();
        sum.add(counters, |state| Some(name(state)));
        // Every kernel with idle states shows their times (`reader.rs`).
        let time_us = |us: Option<u64>| us.unwrap_or(0);
        let counted = time_us(sum.time_us());
        let idle = match idle_us {
            Some(idle) if idle.abs_diff(counted) > SAME_US => idle,
            _ => counted,
        };
        let idle = idle.min(elapsed_us);
        // More was counted than passed: part of it was before.
        let part = |us: u64| {
            let scaled = u128::from(us) * u128::from(idle) / u128::from(counted.max(1));
            if counted > idle { u64::try_from(scaled).unwrap_or(idle) } else { us }
        };
        Self {
            cpu_us: elapsed_us,
            states_us: counters.iter().map(|c| part(time_us(c.time_us))).collect(),
            asleep_us: idle.saturating_sub(counted),
            busy_us: elapsed_us - idle,
            counters: sum,
        }
    }

    /// Adds what other CPUs did in the same time; `counters` are those of the one CPU that is `other`.
    pub(super) fn add<'a>(
        &mut self,
        other: &Self,
        counters: &[StateCounters],
        name: impl Fn(usize) -> &'a str,
    ) {
        self.counters.add(counters, |state| Some(name(state)));
        self.cpu_us += other.cpu_us;
        self.asleep_us += other.asleep_us;
        self.busy_us += other.busy_us;
        self.states_us.resize(self.states_us.len().max(other.states_us.len()), 0);
        for (mine, theirs) in self.states_us.iter_mut().zip(&other.states_us) {
            *mine += theirs;
        }
    }
}
