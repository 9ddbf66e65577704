// SPDX-License-Identifier: GPL-2.0-only
use crate::clock::{Clock, Moving, Setup};
use crate::governor::{Answer, Governor};
use crate::{Config, Event, FreqError, Hook, Limits, Signals, Table};

/// One clock, the CPUs that share it, and the governor that sets it.
///
/// The caller owns time. It says what happens, does what the answer says, and asks [`Policy::next_timer`] after any call
/// whose answer has `timers`. Every call is cheap and allocates nothing; calls about a CPU of another policy do nothing.
#[derive(Debug)]
pub struct Policy {
    clock: Clock,
    governor: Box<dyn Governor>,
    id: &'static str,
}

impl Policy {
    /// The policy before its governor started.
    ///
    /// # Errors
    /// If the setup makes no sense.
    pub fn new(setup: Setup, config: &Config) -> Result<Self, FreqError> {
        let clock = Clock::new(setup)?;
        let info = config.info();
        let governor = (info.new)(config.params(), &clock);
        Ok(Self { clock, governor, id: info.id })
    }

    /// The governor takes over. To be called once, before anything else.
    pub fn start(&mut self, t_ns: u64, signals: &dyn Signals) -> Answer {
        self.governor.start(&mut self.clock, t_ns, signals)
    }

    /// The scheduler's utilisation hook. Read by schedutil of all kernels and by the samplers.
    #[inline]
    pub fn hook(&mut self, hook: &Hook, signals: &dyn Signals) -> Answer {
        self.governor.hook(&mut self.clock, hook, signals).into()
    }

    /// Something that only `sched-freq` listens to.
    #[inline]
    pub fn event(&mut self, cpu: u32, t_ns: u64, event: Event, signals: &dyn Signals) -> Answer {
        let Some(at) = self.clock.index(cpu) else { return Answer::default() };
        self.governor.event(&mut self.clock, at, t_ns, event, signals)
    }

    /// A CPU stops idling. Only `interactive` listens.
    #[inline]
    pub fn idle_end(&mut self, cpu: u32, t_ns: u64, signals: &dyn Signals) -> Answer {
        let Some(at) = self.clock.index(cpu) else { return Answer::default() };
        self.governor.idle_end(&mut self.clock, at, t_ns, signals)
    }

    /// When the governor next wants [`Policy::timer`] for this CPU, ns. With `idle` only timers that wake an idle CPU
    /// count; others wait until it wakes up by itself, and [`Policy::idle_end`] makes up for them.
    ///
    /// `interactive` has a timer on each CPU that waits while it idles, and above the lowest clock a later one that does
    /// not. `sched-freq`'s thread sleeps on a timer that is the policy's first CPU's.
    #[must_use]
    pub fn next_timer(&self, cpu: u32, idle: bool) -> Option<u64> {
        self.governor.next_timer(self.clock.index(cpu)?, idle)
    }

    /// The time that [`Policy::next_timer`] returned has come. Coming early does no harm.
    pub fn timer(&mut self, cpu: u32, t_ns: u64, signals: &dyn Signals) -> Answer {
        let Some(at) = self.clock.index(cpu) else { return Answer::default() };
        self.governor.timer(&mut self.clock, at, t_ns, signals)
    }

    /// The switch that [`Change::Start`](crate::Change::Start) began is over. Another may begin at once.
    pub fn transition_done(&mut self, t_ns: u64, signals: &dyn Signals) -> Answer {
        if self.clock.moving.is_none() {
            return Answer::default();
        }
        self.governor.transition_done(&mut self.clock, t_ns, signals)
    }

    /// New limits, see [`Table::fit`]. With fast switching schedutil follows at its next hook only; all else at once.
    pub fn set_limits(&mut self, limits: Limits, t_ns: u64) -> Answer {
        self.clock.limits = self.clock.table.fit(limits);
        self.governor.limits(&mut self.clock, t_ns).into()
    }

    /// User space reports a touch. Only `interactive` listens (`boostpulse`).
    pub fn boost_pulse(&mut self, t_ns: u64) -> Answer {
        self.governor.boost_pulse(&mut self.clock, t_ns).into()
    }

    /// User space writes a clock. Only `fixed` listens.
    pub fn set_speed(&mut self, khz: u32, t_ns: u64) -> Answer {
        self.governor.set_speed(&mut self.clock, khz, t_ns).into()
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

    #[must_use]
    pub fn table(&self) -> &Table {
        &self.clock.table
    }

    /// The CPUs of the policy, ascending.
    #[must_use]
    pub fn cpus(&self) -> &[u32] {
        &self.clock.cpus
    }

    #[must_use]
    pub fn governor(&self) -> &'static str {
        self.id
    }
}
