// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's idle loop around a governor, once (`governor-behaviour.md` 1).
//!
//! [`IdleCpu`] is one CPU in its idle task: it asks the governor, stops or keeps the tick, enters a state, measures
//! the stay as the kernel does, passes the core's verdict and reflects. It does not know what wakes the CPU: replay
//! reads that from a tape, simulation from its event queue. Both drive the same [`IdleCpu`].
//!
//! A *visit* begins when the idle task is switched in ([`IdleCpu::begin_visit`]) and ends when it is switched out
//! ([`IdleCpu::end_visit`]); it holds one or more *iterations*, each an [`IdleCpu::enter`] and an
//! [`IdleCpu::leave`] (or [`IdleCpu::reject`]).

mod chooser;
mod limits;
mod moment;
mod oracle;
mod states;

pub use chooser::{Chooser, Hosted, TickAhead};
pub use limits::Limits;
pub use moment::{Moment, NEVER_AT_NS, Timers};
pub use oracle::Oracle;

use idlewise_governor::Inputs;
use idlewise_model::{Breach, Entry, IdleTable, Ledger, Outcome, TickChoice, TickGrid, WakeCause};

use states::States;

/// A state was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    /// The state that the governor chose, made a valid index.
    pub state: usize,
    /// When a polling state gives up, ns; [`NEVER_AT_NS`] for a state that sleeps.
    pub poll_until_ns: u64,
    /// What happened to the tick.
    pub tick: TickChoice,
    /// Whether the governor asked to stop the tick.
    pub stop_tick: bool,
    /// Whether the governor asked for the sleep length.
    pub asked_sleep_length: bool,
    /// The governor's own answer.
    pub answer: i32,
    /// What is wrong with it.
    pub breach: Breach,
}

/// How a stay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The state that was really entered; a driver may enter a shallower one than selected.
    pub entered: usize,
    /// The wake event, ns.
    pub wake_at_ns: u64,
    /// When the state was left, ns.
    pub exit_at_ns: u64,
    /// When the event's handler began to run, ns: `exit_at_ns`, or earlier where handlers run inside the stay.
    pub running_at_ns: u64,
    /// When the interrupt handlers of the wake were done, ns; equal to `exit_at_ns` where none ran.
    pub handled_at_ns: u64,
    /// What woke the CPU.
    pub cause: WakeCause,
    /// The tick's handler ran.
    pub tick_ran: bool,
}

/// One CPU in its idle task.
#[derive(Clone, Debug)]
pub struct IdleCpu<'t> {
    cpu: u32,
    table: &'t IdleTable,
    states: States,
    grid: TickGrid,
    /// The kernel's `idle_entrytime`: "now" of the sleep length query.
    now_ns: u64,
    tick_stopped: bool,
    /// The tick due next, ns: the first on the grid after `now_ns`.
    tick_at_ns: u64,
    disabled: u16,
    stay: Stay,
    /// What the polling loop of this stay found: time-limit flag and limit, ns.
    before_polling: Option<(bool, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Stay {
    start_ns: u64,
    selected: u8,
    tick: TickChoice,
    breach: Breach,
}

impl<'t> IdleCpu<'t> {
    /// A CPU with the states of `table` and ticks on `grid`, not idle yet, tick running.
    #[must_use]
    pub fn new(cpu: u32, table: &'t IdleTable, grid: TickGrid) -> Self {
        let stay = Stay { start_ns: 0, selected: 0, tick: TickChoice::Kept, breach: Breach::default() };
        Self {
            cpu,
            table,
            states: States::new(table, 0),
            grid,
            now_ns: 0,
            tick_stopped: false,
            tick_at_ns: grid.after(0),
            disabled: 0,
            stay,
            before_polling: None,
        }
    }

    /// Sets the disabled states, bit i for state i.
    pub fn set_disabled<C: Chooser>(&mut self, chooser: &mut C, mask: u16) {
        if mask != self.disabled {
            self.disabled = mask;
            self.states = States::new(self.table, mask);
            chooser.set_disabled(mask);
        }
    }

    /// The idle task is switched in at `now_ns`.
    #[inline]
    pub fn begin_visit(&mut self, now_ns: u64) {
        self.set_now(now_ns);
    }

    /// The idle task is switched out; a stopped tick is restarted on its grid.
    #[inline]
    pub fn end_visit(&mut self) {
        self.tick_stopped = false;
    }

    /// Interrupt handlers that ran in the idle task were done at `now_ns` and woke nobody.
    #[inline]
    pub fn interrupt_done(&mut self, now_ns: u64) {
        self.set_now(now_ns);
    }

    /// The tick's handler ran; menu and teo find out by asking once.
    #[inline]
    pub fn tick_ran<C: Chooser>(&mut self, chooser: &mut C) {
        chooser.device().got_tick = true;
    }

    /// When the next tick is due, ns; [`NEVER_AT_NS`] while it is stopped.
    #[inline]
    #[must_use]
    pub fn tick_due_ns(&self) -> u64 {
        if self.tick_stopped { NEVER_AT_NS } else { self.tick_at_ns }
    }

    /// Whether the tick is stopped.
    #[must_use]
    pub fn tick_stopped(&self) -> bool {
        self.tick_stopped
    }

    /// Puts the tick into the state that a recording shows, where a recording is followed.
    pub fn force_tick(&mut self, stopped: bool) {
        self.tick_stopped = stopped;
    }

    /// When a stay in `state` that began at `start_ns` and met its wake event at `wake_at_ns` is left, ns: a state is
    /// entered completely before it can be left (`governor-behaviour.md` 1.4; the split of the exit latency is the
    /// platform's).
    #[inline]
    #[must_use]
    pub fn exit_at_ns(&self, state: usize, start_ns: u64, wake_at_ns: u64) -> u64 {
        let s = self.states.get(state);
        wake_at_ns.max(start_ns.saturating_add(s.entry_ns)).saturating_add(s.exit_ns)
    }

    /// One iteration's first half: asks the governor, stops or keeps the tick, enters the state
    /// (`governor-behaviour.md` 1.2, 1.3, 1.8).
    #[inline(always)]
    pub fn enter<C: Chooser>(&mut self, chooser: &mut C, moment: &Moment) -> Entered {
        let query = self.sleep_length(&moment.timers);
        let inputs = Inputs {
            now_ns: moment.start_ns,
            sleep_length_ns: query.sleep_length_ns,
            delta_tick_ns: query.delta_tick_ns,
            latency_limit_ns: moment.latency_limit_ns,
            util: moment.util,
            iowait: moment.iowait,
            random: moment.random,
            tick_stopped: self.tick_stopped,
        };
        let tick = TickAhead { due_ns: self.tick_due_ns(), may_stop: query.may_stop };
        let choice = chooser.select(&inputs, moment, tick);
        let tick = if self.tick_stopped {
            TickChoice::WasStopped
        } else if choice.stop_tick && query.may_stop {
            self.tick_stopped = true;
            TickChoice::Stopped
        } else {
            TickChoice::Kept
        };
        let state = self.states.nearest(choice.index);
        let poll_until_ns = if self.states.get(state).polling {
            self.start_polling(chooser, moment.start_ns)
        } else {
            self.before_polling = None;
            NEVER_AT_NS
        };
        let breach = self.states.breach(choice.index, moment.latency_limit_ns);
        self.stay = Stay { start_ns: moment.start_ns, selected: state as u8, tick, breach };
        Entered {
            state,
            poll_until_ns,
            tick,
            stop_tick: choice.stop_tick,
            asked_sleep_length: choice.asked_sleep_length,
            answer: choice.index,
            breach,
        }
    }

    /// The state that was just chosen is entered only at `at_ns`: stopping the tick took so long.
    #[inline]
    pub fn entered_at(&mut self, at_ns: u64) {
        self.stay.start_ns = at_ns;
    }

    /// One iteration's second half: measures the stay, passes the core's verdict, writes the ledger, reflects
    /// (`governor-behaviour.md` 1.4, 1.5).
    #[inline(always)]
    pub fn leave<C: Chooser, L: Ledger>(&mut self, chooser: &mut C, left: &Left, ledger: &mut L) {
        let residency_ns = left.exit_at_ns.wrapping_sub(self.stay.start_ns) as i64;
        let state = self.states.nearest(i32::try_from(left.entered).unwrap_or(i32::MAX));
        let device = chooser.device();
        device.last_residency_ns = residency_ns;
        device.got_tick |= left.tick_ran;
        let entered = self.states.get(state);
        if entered.polling {
            device.poll_time_limit = left.cause == WakeCause::PollLimit;
        }
        let miss = entered.verdict(residency_ns);
        ledger.entry(&Entry {
            cpu: self.cpu,
            start_ns: self.stay.start_ns,
            residency_ns,
            wake_ns: left.wake_at_ns.wrapping_sub(self.stay.start_ns) as i64,
            latency_ns: since(left.wake_at_ns, left.running_at_ns),
            tick_ns: if left.cause == WakeCause::Tick {
                left.handled_at_ns.wrapping_sub(left.exit_at_ns) as i64
            } else {
                0
            },
            selected: self.stay.selected,
            outcome: Outcome::Stayed { entered: state as u8, miss },
            cause: left.cause,
            tick: self.stay.tick,
            breach: self.stay.breach,
        });
        chooser.reflect(state, left.handled_at_ns);
        if left.handled_at_ns > left.exit_at_ns || left.cause != WakeCause::PollLimit {
            self.set_now(left.handled_at_ns);
        }
    }

    /// A reschedule came between the governor's answer and the entry: nothing was entered, nobody is told.
    pub fn abort<C: Chooser>(&mut self, chooser: &mut C) {
        let device = chooser.device();
        device.last_residency_ns = 0;
        if let Some((poll_time_limit, poll_limit_ns)) = self.before_polling.take() {
            // The polling loop did not run.
            device.poll_time_limit = poll_time_limit;
            device.poll_limit_ns = poll_limit_ns;
        }
    }

    /// Whether every entry into `state` is refused.
    #[inline]
    #[must_use]
    pub fn refuses(&self, state: usize) -> bool {
        self.table.refused() >> state & 1 == 1
    }

    /// The driver refused the state at `at_ns`: no stay, no verdict, no reflect.
    pub fn reject<C: Chooser, L: Ledger>(&mut self, chooser: &mut C, at_ns: u64, ledger: &mut L) {
        chooser.device().last_residency_ns = 0;
        let waited = at_ns.wrapping_sub(self.stay.start_ns) as i64;
        ledger.entry(&Entry {
            cpu: self.cpu,
            start_ns: self.stay.start_ns,
            residency_ns: 0,
            wake_ns: waited,
            latency_ns: 0,
            tick_ns: 0,
            selected: self.stay.selected,
            outcome: Outcome::Rejected,
            cause: WakeCause::Unknown,
            tick: self.stay.tick,
            breach: self.stay.breach,
        });
    }

    #[inline]
    fn set_now(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        // The next tick is mostly the same one or the one after it: no need to divide.
        let next = self.tick_at_ns.saturating_add(self.grid.period_ns);
        if now_ns >= self.tick_at_ns && now_ns < next {
            self.tick_at_ns = next;
        } else if now_ns >= next || self.tick_at_ns - now_ns > self.grid.period_ns {
            self.tick_at_ns = self.grid.after(now_ns);
        }
    }

    /// `governor-behaviour.md` 1.8.
    #[inline]
    fn sleep_length(&self, timers: &Timers) -> Query {
        match *timers {
            Timers::Known { sleep_length_ns, delta_tick_ns } => {
                Query { sleep_length_ns, delta_tick_ns, may_stop: true }
            }
            Timers::Pending { hrtimer_at_ns, wheel_at_ns, tick_needed } => {
                let since = |at_ns: u64| at_ns.min(NEVER_AT_NS).wrapping_sub(self.now_ns) as i64;
                // The next tick is one period after the last jiffies update.
                let expiry_ns = if tick_needed { self.tick_at_ns } else { wheel_at_ns };
                let sleep_length_ns = since(expiry_ns.min(hrtimer_at_ns));
                if self.tick_stopped {
                    let delta_tick_ns = since(wheel_at_ns.min(hrtimer_at_ns));
                    return Query { sleep_length_ns, delta_tick_ns, may_stop: true };
                }
                let delta_tick_ns = since(self.tick_at_ns.min(hrtimer_at_ns));
                if expiry_ns <= self.tick_at_ns {
                    return Query { sleep_length_ns: delta_tick_ns, delta_tick_ns, may_stop: false };
                }
                Query { sleep_length_ns, delta_tick_ns, may_stop: true }
            }
        }
    }

    /// The polling loop begins: the flag is cleared and the limit cached, as the kernel does (`governor-behaviour.md`
    /// 1.6).
    fn start_polling<C: Chooser>(&mut self, chooser: &mut C, start_ns: u64) -> u64 {
        let device = chooser.device();
        self.before_polling = Some((device.poll_time_limit, device.poll_limit_ns));
        device.poll_time_limit = false;
        if device.poll_limit_ns == 0 {
            device.poll_limit_ns = self.table.poll_limit_ns(self.disabled, self.grid.period_ns);
        }
        start_ns.saturating_add(device.poll_limit_ns).min(NEVER_AT_NS)
    }
}

#[derive(Clone, Copy)]
struct Query {
    sleep_length_ns: i64,
    delta_tick_ns: i64,
    may_stop: bool,
}

/// Ns from one moment to a later one.
#[inline]
fn since(earlier_ns: u64, later_ns: u64) -> i64 {
    assert!(earlier_ns <= later_ns, "a task ran at {later_ns} ns, before its wake at {earlier_ns} ns");
    i64::try_from(later_ns - earlier_ns).unwrap_or(i64::MAX)
}
