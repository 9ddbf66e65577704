// SPDX-License-Identifier: GPL-2.0-only
//! What a frequency governor is: an entry in the catalogue, which makes it, and the calls that it may answer.

use std::fmt;

use crate::clock::{Change, Clock};
use crate::params::{ParamInfo, Params};
use crate::signals::{Event, Hook, Signals};

/// A frequency governor's catalogue entry.
#[derive(Clone, Copy, Debug)]
pub struct GovernorInfo {
    /// What a [`crate::Config`] calls it.
    pub id: &'static str,
    /// One line: what it does.
    pub summary: &'static str,
    /// Which kernels have it so.
    pub kernel: &'static str,
    /// Which [`Signals`] it reads.
    pub fed_by: &'static str,
    /// When it evaluates them.
    pub evaluates: &'static str,
    /// More about it, for the reference page, in Markdown; empty if there is nothing to add.
    pub notes: &'static str,
    /// It follows the scheduler's utilisation, which the kernel wants before it places tasks by energy.
    pub follows_scheduler: bool,
    /// What may be set.
    pub params: &'static [ParamInfo],
    /// Why values that are each in range do not go together.
    pub(crate) contradiction: Option<fn(&Params) -> Option<String>>,
    /// Makes one, for one clock.
    pub(crate) new: fn(&Params, &Clock) -> Box<dyn Governor>,
}

impl PartialEq for GovernorInfo {
    /// Ids are unique in the catalogue.
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for GovernorInfo {}

/// What the caller has to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Answer {
    pub change: Change,
    /// Timers may have moved: ask [`Policy::next_timer`](crate::Policy::next_timer) again.
    pub timers: bool,
}

impl From<Change> for Answer {
    fn from(change: Change) -> Self {
        Self { change, timers: false }
    }
}

/// A governor of one clock. It keeps its own state and sets the clock through [`Clock`]; the caller owns time.
///
/// Only [`Governor::limits`] must be answered; a governor ignores the other calls unless it says otherwise. `at` is the
/// place of a CPU among `clock.cpus`. Every call is cheap and allocates nothing.
pub(crate) trait Governor: fmt::Debug + Send + Sync {
    /// It takes over, before any other call.
    fn start(&mut self, clock: &mut Clock, t_ns: u64, signals: &dyn Signals) -> Answer {
        let _ = (clock, t_ns, signals);
        Answer::default()
    }

    /// The scheduler's utilisation hook.
    fn hook(&mut self, clock: &mut Clock, hook: &Hook, signals: &dyn Signals) -> Change {
        let _ = (clock, hook, signals);
        Change::None
    }

    /// The scheduler did something, on a kernel without the hook.
    fn event(
        &mut self,
        clock: &mut Clock,
        at: usize,
        t_ns: u64,
        event: Event,
        signals: &dyn Signals,
    ) -> Answer {
        let _ = (clock, at, t_ns, event, signals);
        Answer::default()
    }

    /// A CPU stops idling.
    fn idle_end(&mut self, clock: &mut Clock, at: usize, t_ns: u64, signals: &dyn Signals) -> Answer {
        let _ = (clock, at, t_ns, signals);
        Answer::default()
    }

    /// When it wants [`Governor::timer`] for this CPU, ns; with `idle`, only a timer that wakes an idle CPU up.
    fn next_timer(&self, at: usize, idle: bool) -> Option<u64> {
        let _ = (at, idle);
        None
    }

    /// The time of [`Governor::next_timer`] has come, or a caller asks early.
    fn timer(&mut self, clock: &mut Clock, at: usize, t_ns: u64, signals: &dyn Signals) -> Answer {
        let _ = (clock, at, t_ns, signals);
        Answer::default()
    }

    /// The driver finished the switch under way.
    fn transition_done(&mut self, clock: &mut Clock, t_ns: u64, signals: &dyn Signals) -> Answer {
        let _ = signals;
        clock.done(t_ns).into()
    }

    /// The limits of `clock` have changed; the governor adapts its request at `t_ns`.
    fn limits(&mut self, clock: &mut Clock, t_ns: u64) -> Change;

    /// User space reports a touch.
    fn boost_pulse(&mut self, clock: &mut Clock, t_ns: u64) -> Change {
        let _ = (clock, t_ns);
        Change::None
    }

    /// User space writes a clock.
    fn set_speed(&mut self, clock: &mut Clock, khz: u32, t_ns: u64) -> Change {
        let _ = (clock, khz, t_ns);
        Change::None
    }
}
