// SPDX-License-Identifier: GPL-2.0-only
use crate::clock::{Change, Clock, Moving, Setup};
use crate::conservative::Conservative;
use crate::interactive::Interactive;
use crate::ondemand::Ondemand;
use crate::sched_freq::SchedFreq;
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
    SchedFreq(SchedFreq),
    Ondemand(Ondemand),
    Conservative(Conservative),
    Interactive(Interactive),
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
            "fixed" => {
                let Some(khz) = config.khz("khz") else { unreachable!("{id} is not read without khz") };
                Governor::Steady(Steady::At(khz))
            }
            "schedutil" => Governor::Schedutil(Schedutil::new(Kernel::V6_12, config, &clock)),
            "schedutil-6.1" | "sched-pixel" => {
                Governor::Schedutil(Schedutil::new(Kernel::V6_1, config, &clock))
            }
            "sched-freq" => Governor::SchedFreq(SchedFreq::new(false, config, &clock)),
            "sched-freq-4.4" => Governor::SchedFreq(SchedFreq::new(true, config, &clock)),
            "ondemand" => Governor::Ondemand(Ondemand::new(config, &clock)),
            "conservative" => Governor::Conservative(Conservative::new(config, &clock)),
            "interactive" => Governor::Interactive(Interactive::new(config, &clock)),
            "schedutil-4.8" => Governor::OldSchedutil(OldSchedutil::new(false, config, &clock)),
            "schedutil-android-4.4" => Governor::OldSchedutil(OldSchedutil::new(true, config, &clock)),
            _ => unreachable!("{id} is in the catalogue, and no policy is made for it"),
        };
        Ok(Self { clock, governor, id })
    }

    /// The governor takes over. To be called once, before anything else.
    pub fn start(&mut self, t_ns: u64, signals: &impl Signals) -> Answer {
        match &mut self.governor {
            Governor::Steady(g) => g.limits(&mut self.clock, t_ns).into(),
            Governor::Ondemand(g) => {
                g.sampler.start(&self.clock, t_ns, signals);
                Answer::default()
            }
            Governor::Conservative(g) => {
                g.sampler.start(&self.clock, t_ns, signals);
                Answer::default()
            }
            Governor::Interactive(g) => g.start(&self.clock, t_ns, signals),
            Governor::Schedutil(_) | Governor::OldSchedutil(_) | Governor::SchedFreq(_) => Answer::default(),
        }
    }

    /// The scheduler's utilisation hook. Read by schedutil of all kernels and by the samplers.
    #[inline]
    pub fn hook(&mut self, hook: &Hook, signals: &impl Signals) -> Answer {
        match &mut self.governor {
            Governor::Schedutil(g) => g.hook(&mut self.clock, hook, signals).into(),
            Governor::OldSchedutil(g) => g.hook(&mut self.clock, hook, signals).into(),
            Governor::Ondemand(g) => g.hook(&mut self.clock, hook, signals).into(),
            Governor::Conservative(g) => g.hook(&mut self.clock, hook, signals).into(),
            Governor::Steady(_) | Governor::SchedFreq(_) | Governor::Interactive(_) => Answer::default(),
        }
    }

    /// Something that only `sched-freq` listens to.
    #[inline]
    pub fn event(&mut self, cpu: u32, t_ns: u64, event: Event, signals: &impl Signals) -> Answer {
        match &mut self.governor {
            Governor::SchedFreq(g) => g.event(&mut self.clock, cpu, t_ns, event, signals),
            _ => Answer::default(),
        }
    }

    /// A CPU stops idling. Only `interactive` listens.
    #[inline]
    pub fn idle_end(&mut self, cpu: u32, t_ns: u64, signals: &impl Signals) -> Answer {
        match &self.governor {
            Governor::Interactive(_) => self.timer(cpu, t_ns, signals),
            _ => Answer::default(),
        }
    }

    /// When the governor next wants [`Policy::timer`] for this CPU, ns. With `idle` only timers that wake an idle CPU
    /// count; others wait until it wakes up by itself, and [`Policy::idle_end`] makes up for them.
    ///
    /// `interactive` has a timer on each CPU that waits while it idles, and above the lowest clock a later one that does
    /// not. `sched-freq`'s thread sleeps on a timer that is the policy's first CPU's.
    #[must_use]
    pub fn next_timer(&self, cpu: u32, idle: bool) -> Option<u64> {
        match &self.governor {
            Governor::Interactive(g) => g.next_timer(self.clock.index(cpu)?, idle),
            Governor::SchedFreq(g) => g.next_timer().filter(|_| self.clock.cpus.first() == Some(&cpu)),
            _ => None,
        }
    }

    /// The time that [`Policy::next_timer`] said has come. Coming early does no harm.
    pub fn timer(&mut self, cpu: u32, t_ns: u64, signals: &impl Signals) -> Answer {
        match &mut self.governor {
            Governor::Interactive(g) => match self.clock.index(cpu) {
                Some(at) => g.run(&mut self.clock, at, t_ns, signals),
                None => Answer::default(),
            },
            Governor::SchedFreq(g) => g.run_thread(&mut self.clock, t_ns),
            _ => Answer::default(),
        }
    }

    /// The switch that [`Change::Start`] began is over. Another may begin at once.
    pub fn transition_done(&mut self, t_ns: u64, signals: &impl Signals) -> Answer {
        if self.clock.moving.is_none() {
            return Answer::default();
        }
        match &mut self.governor {
            Governor::SchedFreq(g) => return g.done(&mut self.clock, t_ns),
            Governor::Interactive(g) => g.before_change(&self.clock, t_ns, signals),
            _ => {}
        }
        self.clock.done(t_ns).into()
    }

    /// New limits, see [`Table::fit`]. With fast switching schedutil follows at its next hook only; all else at once.
    pub fn set_limits(&mut self, limits: Limits, t_ns: u64) -> Answer {
        self.clock.limits = self.clock.table.fit(limits);
        match &mut self.governor {
            Governor::Steady(g) => g.limits(&mut self.clock, t_ns).into(),
            Governor::Schedutil(g) => g.limits(&mut self.clock, t_ns).into(),
            Governor::OldSchedutil(g) => g.limits(&mut self.clock, t_ns).into(),
            Governor::SchedFreq(g) => g.limits(&mut self.clock, t_ns).into(),
            Governor::Ondemand(g) => g.limits(&mut self.clock, t_ns).into(),
            Governor::Conservative(g) => g.sampler.limits(&mut self.clock, t_ns).into(),
            Governor::Interactive(g) => g.limits(&mut self.clock, t_ns).into(),
        }
    }

    /// User space reports a touch. Only `interactive` listens (`boostpulse`).
    pub fn boost_pulse(&mut self, t_ns: u64) -> Answer {
        match &mut self.governor {
            Governor::Interactive(g) => g.pulse(&mut self.clock, t_ns).into(),
            _ => Answer::default(),
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
