// SPDX-License-Identifier: GPL-2.0-only
use crate::clock::{Change, Clock, Moving, Setup};
use crate::schedutil::{Kernel, Schedutil};
use crate::schedutil_old::OldSchedutil;
use crate::steady::Steady;
use crate::{Config, Event, FreqError, Hook, Limits, Signals, Table};

/// One clock, the CPUs that share it, and the governor that sets it.
///
/// The caller owns time. It says what happens, does what the answer says, and asks [`Policy::next_timer`] after any call
/// whose answer has `timers`. Every call is cheap and allocates nothing; calls about a CPU of another policy do nothing.
#[derive(Clone, Debug)]
pub struct Policy {
    clock: Clock,
    governor: Governor,
    id: &'static str,
}

/// What the caller has to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Answer {
    /// About the clock.
    pub change: Change,
    /// Timers may have moved: ask [`Policy::next_timer`] again.
    pub timers: bool,
}

impl From<Change> for Answer {
    fn from(change: Change) -> Self {
        Self { change, timers: false }
    }
}

#[derive(Clone, Debug)]
enum Governor {
    Steady(Steady),
    Schedutil(Schedutil),
    OldSchedutil(OldSchedutil),
}

impl Policy {
    /// The policy before its governor started.
    ///
    /// # Errors
    /// If the setup makes no sense.
    pub fn new(setup: Setup, config: &Config) -> Result<Self, FreqError> {
        let clock = Clock::new(setup)?;
        let id = config.info().id;
        let governor = match id {
            "performance" => Governor::Steady(Steady::Highest),
            "powersave" => Governor::Steady(Steady::Lowest),
            "fixed" => Governor::Steady(Steady::At(config.khz("khz").unwrap_or(0))),
            "schedutil-6.1" | "sched-pixel" => {
                Governor::Schedutil(Schedutil::new(Kernel::V6_1, config, &clock))
            }
            "schedutil-4.8" => Governor::OldSchedutil(OldSchedutil::new(false, config, &clock)),
            "schedutil-android-4.4" => Governor::OldSchedutil(OldSchedutil::new(true, config, &clock)),
            _ => Governor::Schedutil(Schedutil::new(Kernel::V6_12, config, &clock)),
        };
        Ok(Self { clock, governor, id })
    }

    /// The governor takes over. To be called once, before anything else.
    pub fn start(&mut self, t_ns: u64, signals: &impl Signals) -> Answer {
        let _ = signals;
        match &mut self.governor {
            Governor::Steady(g) => g.limits(&mut self.clock, t_ns).into(),
            _ => Answer::default(),
        }
    }

    /// The scheduler's utilisation hook. Read by schedutil of all kernels and by the samplers.
    #[inline]
    pub fn hook(&mut self, hook: &Hook, signals: &impl Signals) -> Answer {
        match &mut self.governor {
            Governor::Schedutil(g) => g.hook(&mut self.clock, hook, signals).into(),
            Governor::OldSchedutil(g) => g.hook(&mut self.clock, hook, signals).into(),
            Governor::Steady(_) => Answer::default(),
        }
    }

    /// Something that only `sched-freq` listens to.
    #[inline]
    pub fn event(&mut self, cpu: u32, t_ns: u64, event: Event, signals: &impl Signals) -> Answer {
        let _ = (cpu, t_ns, event, signals);
        Answer::default()
    }

    /// A CPU stops idling. Only `interactive` listens.
    #[inline]
    pub fn idle_end(&mut self, cpu: u32, t_ns: u64, signals: &impl Signals) -> Answer {
        let _ = (cpu, t_ns, signals);
        Answer::default()
    }

    /// When the governor next wants [`Policy::timer`] for this CPU, ns. With `idle` only timers that wake an idle CPU
    /// count; others wait until it wakes up by itself, and [`Policy::idle_end`] makes up for them.
    #[must_use]
    pub fn next_timer(&self, cpu: u32, idle: bool) -> Option<u64> {
        let _ = (cpu, idle);
        None
    }

    /// The time that [`Policy::next_timer`] said has come. Coming early does no harm.
    pub fn timer(&mut self, cpu: u32, t_ns: u64, signals: &impl Signals) -> Answer {
        let _ = (cpu, t_ns, signals);
        Answer::default()
    }

    /// The switch that [`Change::Start`] began is over. Another may begin at once.
    pub fn transition_done(&mut self, t_ns: u64, signals: &impl Signals) -> Answer {
        let _ = signals;
        self.clock.done(t_ns).into()
    }

    /// New limits, see [`Table::fit`]. With fast switching schedutil follows at its next hook only; all else at once.
    pub fn set_limits(&mut self, limits: Limits, t_ns: u64, signals: &impl Signals) -> Answer {
        let _ = signals;
        self.clock.limits = self.clock.table.fit(limits);
        match &mut self.governor {
            Governor::Steady(g) => g.limits(&mut self.clock, t_ns).into(),
            Governor::Schedutil(g) => g.limits(&mut self.clock, t_ns).into(),
            Governor::OldSchedutil(g) => g.limits(&mut self.clock, t_ns).into(),
        }
    }

    /// User space writes a clock. Only `fixed` listens.
    pub fn set_speed(&mut self, khz: u32, t_ns: u64) -> Answer {
        match &mut self.governor {
            Governor::Steady(g @ Steady::At(_)) => {
                *g = Steady::At(khz);
                g.limits(&mut self.clock, t_ns).into()
            }
            _ => Answer::default(),
        }
    }

    /// The clock now, kHz.
    #[must_use]
    pub fn cur_khz(&self) -> u32 {
        self.clock.cur
    }

    /// The switch under way.
    #[must_use]
    pub fn moving(&self) -> Option<Moving> {
        self.clock.moving
    }

    /// The limits in force.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.clock.limits
    }

    /// The operating points.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.clock.table
    }

    /// The CPUs, ascending.
    #[must_use]
    pub fn cpus(&self) -> &[u32] {
        &self.clock.cpus
    }

    /// The governor's id.
    #[must_use]
    pub fn governor(&self) -> &'static str {
        self.id
    }
}
