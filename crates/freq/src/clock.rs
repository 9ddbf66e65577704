// SPDX-License-Identifier: GPL-2.0-only
use crate::{FreqError, Limits, Relation, Table};

/// How the driver sets the clock, and what the machine says about it (signal-behaviour.md C1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    /// How long a slow switch takes, ns.
    pub transition_latency_ns: u64,
    /// The least time between two switches that the driver asks for, us; else each kernel derives one from the latency.
    pub transition_delay_us: Option<u64>,
    /// Whether schedutil and sched-freq may set the clock from within the hook. All else goes the slow way.
    pub fast_switch: bool,
    /// Whether utilisation is scaled by the clock, so that it means work and not time.
    pub invariant: bool,
    /// The clock that capacity 1024 stands for, kHz, where the architecture says one (arm64, riscv: the table's highest).
    /// Read by `schedutil` only.
    pub reference_khz: Option<u32>,
    /// `dvfs_possible_from_any_cpu`: a CPU of another policy may make the call.
    pub any_cpu: bool,
    /// The driver wants to hear of new limits even if the clock stays (`CPUFREQ_NEED_UPDATE_LIMITS`).
    pub updates_on_limits: bool,
    /// schedutil hands over the utilisation, not a clock, as to intel_pstate and amd-pstate. Counts only with fast
    /// switching, invariance and a clock for each CPU; the driver is taken to choose the lowest clock that is enough.
    pub adjust_perf: bool,
}

impl Default for Driver {
    /// A driver that sleeps for a time that is not known, on a machine that accounts for its clock.
    fn default() -> Self {
        Self {
            transition_latency_ns: 0,
            transition_delay_us: None,
            fast_switch: false,
            invariant: true,
            reference_khz: None,
            any_cpu: false,
            updates_on_limits: false,
            adjust_perf: false,
        }
    }
}

/// One clock and the CPUs that share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The CPUs, each once.
    pub cpus: Vec<u32>,
    pub table: Table,
    /// Limits at the start; see [`Table::fit`].
    pub limits: Limits,
    /// The clock at the start, kHz, an entry of the table.
    pub start_khz: u32,
    pub driver: Driver,
    /// The scheduler's tick, ns.
    pub tick_ns: u64,
}

/// What the caller has to do about the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub enum Change {
    #[default]
    None,
    /// The clock is `khz` from now on.
    Now {
        /// kHz.
        khz: u32,
    },
    /// A switch to `khz` began. The old clock runs until `ends_ns`, when the caller says
    /// [`transition_done`](crate::Policy::transition_done).
    Start {
        /// kHz.
        khz: u32,
        /// When it ends, ns.
        ends_ns: u64,
    },
}

/// A switch under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moving {
    /// The clock that it leads to, kHz.
    pub khz: u32,
    /// When it ends, ns.
    pub ends_ns: u64,
}

/// The core's side of a policy: what a governor may ask of it.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    pub(crate) cpus: Vec<u32>,
    pub(crate) table: Table,
    pub(crate) limits: Limits,
    pub(crate) driver: Driver,
    pub(crate) tick_ns: u64,
    pub(crate) cur: u32,
    pub(crate) moving: Option<Moving>,
    /// Asked for while the driver was at work; the latest counts.
    queued: Option<(u32, Relation)>,
}

impl Clock {
    pub(crate) fn new(setup: Setup) -> Result<Self, FreqError> {
        let Setup { mut cpus, table, limits, start_khz, driver, tick_ns } = setup;
        cpus.sort_unstable();
        if cpus.is_empty() || cpus.windows(2).any(|two| two.first() == two.last()) {
            return Err(FreqError::Cpus(cpus));
        }
        if table.khz().binary_search(&start_khz).is_err() {
            return Err(FreqError::Start { khz: start_khz, known: table.khz().to_vec() });
        }
        if tick_ns == 0 {
            return Err(FreqError::Tick);
        }
        let limits = table.fit(limits);
        Ok(Self { cpus, table, limits, driver, tick_ns, cur: start_khz, moving: None, queued: None })
    }

    /// Where a CPU stands among the policy's.
    pub(crate) fn index(&self, cpu: u32) -> Option<usize> {
        self.cpus.binary_search(&cpu).ok()
    }

    pub(crate) fn shared(&self) -> bool {
        self.cpus.len() > 1
    }

    /// Whether a CPU may make a call about this policy.
    pub(crate) fn hears(&self, from: u32) -> bool {
        self.driver.any_cpu || self.index(from).is_some()
    }

    pub(crate) fn resolve(&self, khz: u32, relation: Relation) -> u32 {
        self.table.resolve(khz, relation, self.limits)
    }

    /// The clock once everything under way is done.
    pub(crate) fn heading(&self) -> u32 {
        self.moving.map_or(self.cur, |m| m.khz)
    }

    /// Whether the driver is at work or has something to do.
    pub(crate) fn busy(&self) -> bool {
        self.moving.is_some() || self.queued.is_some()
    }

    /// Sets the clock at once if the driver can, else as [`Clock::drive`].
    pub(crate) fn switch(&mut self, t_ns: u64, khz: u32) -> Change {
        if !self.driver.fast_switch {
            return self.drive(t_ns, khz, Relation::Low);
        }
        let khz = self.resolve(khz, Relation::Low);
        if khz == self.cur {
            return Change::None;
        }
        self.cur = khz;
        Change::Now { khz }
    }

    /// Asks the driver, which sleeps until the clock is set; while it does, the latest request waits.
    pub(crate) fn drive(&mut self, t_ns: u64, khz: u32, relation: Relation) -> Change {
        if self.moving.is_some() {
            self.queued = Some((khz, relation));
            return Change::None;
        }
        let khz = self.resolve(khz, relation);
        if khz == self.cur {
            return Change::None;
        }
        let ends_ns = t_ns.saturating_add(self.driver.transition_latency_ns);
        self.moving = Some(Moving { khz, ends_ns });
        Change::Start { khz, ends_ns }
    }

    /// The switch under way is over; what waited begins.
    pub(crate) fn done(&mut self, t_ns: u64) -> Change {
        if let Some(moving) = self.moving.take() {
            self.cur = moving.khz;
        }
        match self.queued.take() {
            Some((khz, relation)) => self.drive(t_ns, khz, relation),
            None => Change::None,
        }
    }

    /// Brings the clock within the limits, as most governors have the core do when limits change.
    pub(crate) fn apply_limits(&mut self, t_ns: u64) -> Change {
        let Limits { min_khz, max_khz } = self.limits;
        let heading = self.heading();
        if heading > max_khz {
            self.drive(t_ns, max_khz, Relation::HighEfficient)
        } else if heading < min_khz {
            self.drive(t_ns, min_khz, Relation::LowEfficient)
        } else {
            // What waited was asked for under the old limits; it is resolved anew when it begins.
            Change::None
        }
    }
}

/// Which kernel's rule makes a rate limit of the driver's latency (signal-behaviour.md C1, `D`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateRule {
    /// 6.12: one and a half times the latency, 1 ms if it is not known.
    Kernel6_12,
    /// About 4.14 to 6.8: a thousand times the latency, 10 ms at most; 1 ms if it is not known.
    Kernel6_1,
    /// 4.7 to 4.13: a thousand times the latency, without bound; 1 ms if it is below 1 us.
    Kernel4_7,
}

impl RateRule {
    /// The rate limit in us.
    #[must_use]
    pub fn limit_us(self, driver: &Driver) -> u64 {
        if let Some(us) = driver.transition_delay_us {
            return us;
        }
        let latency_us = driver.transition_latency_ns / 1000;
        match (self, latency_us) {
            (Self::Kernel6_12 | Self::Kernel6_1, 0) => 1000,
            (Self::Kernel6_12, us) => us.saturating_add(us / 2),
            (Self::Kernel6_1, us) => us.saturating_mul(1000).min(10_000),
            (Self::Kernel4_7, us) => us.max(1).saturating_mul(1000),
        }
    }
}

/// Time since `then` as the kernel compares it: signed, so that a clock that went back is not "long ago".
pub(crate) fn since(now_ns: u64, then_ns: u64) -> i64 {
    now_ns.wrapping_sub(then_ns).cast_signed()
}

/// Whether at least `least_ns` passed since `then`.
pub(crate) fn passed(now_ns: u64, then_ns: u64, least_ns: u64) -> bool {
    since(now_ns, then_ns) >= i64::try_from(least_ns).unwrap_or(i64::MAX)
}
