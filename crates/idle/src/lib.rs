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
mod hindsight;
mod limits;
mod moment;
mod oracle;
mod states;
mod ticks;

pub use chooser::{Chooser, Hosted, TickAhead};
pub use hindsight::{Hindsight, Lesson};
pub use limits::Limits;
pub use moment::{Moment, NEVER_AT_NS, Timers};
pub use oracle::{Oracle, choosable, foresee};
pub use ticks::{SleepQuery, Ticks};

use idlewise_governor::Inputs;
use idlewise_model::{
    Breach, Entry, IdleTable, Ledger, LoopCosts, NO_LATENCY_LIMIT_NS, Outcome, TickChoice, TickGrid,
    WakeCause,
};

use states::States;

/// How long a refused entry takes where nothing recorded it, ns. No kernel bounds it; those of a MediaTek MT8196 take 34 us at
/// most.
pub const REFUSED_NS: u64 = 20_000;

/// A state was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    /// The state that the governor chose, made a valid index.
    pub state: usize,
    /// When a polling state gives up, ns; [`NEVER_AT_NS`] for a state that sleeps.
    pub poll_until_ns: u64,
    /// What happened to the tick.
    pub tick: TickChoice,
    /// When it is due next, ns; [`NEVER_AT_NS`] while it is stopped.
    pub tick_due_ns: u64,
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
    ticks: Ticks,
    /// The kernel's `idle_entrytime`: "now" of the sleep length query. The tick due next is the first on the grid after it.
    now_ns: u64,
    /// Reading, at time 0 here, of the clock that a governor reads, ns.
    clock_ns: u64,
    tick_stopped: bool,
    disabled: u16,
    costs: LoopCosts,
    stay: Stay,
    /// What the polling loop found when it last began: time-limit flag and limit, ns.
    before_polling: Option<(bool, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Stay {
    start_ns: u64,
    selected: u8,
    tick: TickChoice,
    asked_sleep_length: bool,
    /// What is wrong with the choice, if anything is.
    breach: Option<Breach>,
}

impl<'t> IdleCpu<'t> {
    /// A CPU with the states of `table` and ticks on `grid`, not idle yet, tick running.
    #[must_use]
    pub fn new(cpu: u32, table: &'t IdleTable, grid: TickGrid) -> Self {
        let stay = Stay {
            start_ns: 0,
            selected: 0,
            tick: TickChoice::Kept,
            asked_sleep_length: false,
            breach: None,
        };
        Self {
            cpu,
            table,
            states: States::new(table, 0, NO_LATENCY_LIMIT_NS),
            ticks: Ticks::new(grid),
            now_ns: 0,
            clock_ns: 0,
            tick_stopped: false,
            disabled: 0,
            costs: LoopCosts::NONE,
            stay,
            before_polling: None,
        }
    }

    /// The same CPU, where the clock that a governor reads shows `clock_ns` at time 0 here. Times here do not change, but that clock
    /// ends at `KTIME_MAX`, and the sleep length without a timer is the time to its end.
    #[must_use]
    pub fn with_clock_at(mut self, clock_ns: u64) -> Self {
        self.clock_ns = clock_ns;
        self.ticks = self.ticks.ending_at(NEVER_AT_NS - clock_ns);
        self
    }

    /// Entries of the ledger tell from now on what the idle loop itself takes; without this, nothing.
    pub fn set_costs(&mut self, costs: LoopCosts) {
        self.costs = costs;
    }

    /// Sets the disabled states, bit i for state i.
    pub fn set_disabled<C: Chooser>(&mut self, chooser: &mut C, mask: u16) {
        if mask != self.disabled {
            self.disabled = mask;
            self.states = States::new(self.table, mask, self.states.limit_ns());
            chooser.set_disabled(mask);
        }
    }

    /// The disabled states, bit i for state i.
    #[must_use]
    pub fn disabled(&self) -> u16 {
        self.disabled
    }

    #[must_use]
    pub fn table(&self) -> &'t IdleTable {
        self.table
    }

    /// The idle task is switched in at `now_ns`.
    #[inline]
    pub fn begin_visit(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    /// The idle task is switched out; a stopped tick is restarted on its grid.
    #[inline]
    pub fn end_visit(&mut self) {
        self.tick_stopped = false;
    }

    /// Interrupt handlers that ran in the idle task were done at `now_ns` and woke nobody.
    #[inline]
    pub fn interrupt_done(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
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
        if self.tick_stopped { NEVER_AT_NS } else { self.ticks.after(self.now_ns) }
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
        let s = self.states.get(self.states.there(state));
        wake_at_ns.max(start_ns + s.entry_ns) + s.exit_ns
    }

    /// One iteration's first half: asks the governor, stops or keeps the tick, enters the state
    /// (`governor-behaviour.md` 1.2, 1.3, 1.8).
    #[inline(always)]
    pub fn enter<C: Chooser>(&mut self, chooser: &mut C, moment: &Moment) -> Entered {
        let query = self.query(&moment.timers);
        self.enter_asked(chooser, moment, &query)
    }

    /// What the sleep length query answers where `timers` are pending.
    #[inline]
    #[must_use]
    pub fn query(&self, timers: &Timers) -> SleepQuery {
        self.ticks.query(self.now_ns, self.tick_stopped, timers)
    }

    /// As [`IdleCpu::enter`], where it is known what [`IdleCpu::query`] answers for the moment's timers.
    #[inline(always)]
    pub fn enter_asked<C: Chooser>(
        &mut self,
        chooser: &mut C,
        moment: &Moment,
        query: &SleepQuery,
    ) -> Entered {
        debug_assert_eq!(*query, self.query(&moment.timers));
        self.states.set_limit(moment.latency_limit_ns);
        let was_stopped = self.tick_stopped;
        let inputs = Inputs {
            now_ns: moment.start_ns + self.clock_ns,
            sleep_length_ns: query.sleep_length_ns,
            delta_tick_ns: query.delta_tick_ns,
            latency_limit_ns: moment.latency_limit_ns,
            util: moment.util,
            iowait: moment.iowait,
            random: moment.random,
            tick_stopped: was_stopped,
        };
        let due_ns = |stopped: bool| if stopped { NEVER_AT_NS } else { query.tick_at_ns };
        let tick = TickAhead { due_ns: due_ns(was_stopped), may_stop: query.may_stop };
        let choice = chooser.select(&inputs, moment, tick);
        let stops = choice.stop_tick & query.may_stop;
        self.tick_stopped = was_stopped | stops;
        let tick = if stops { TickChoice::Stopped } else { TickChoice::Kept };
        let tick = if was_stopped { TickChoice::WasStopped } else { tick };
        self.stay.start_ns = moment.start_ns;
        self.stay.tick = tick;
        self.stay.asked_sleep_length = choice.asked_sleep_length;
        self.stay.breach = None;
        let mut state = choice.index as u32 as usize;
        let (mut poll_until_ns, mut breach) = (NEVER_AT_NS, Breach::default());
        if state > self.states.last() || self.states.get(state).wrong {
            (state, breach) = self.wrong(choice.index);
        }
        if self.states.get(state).polling {
            poll_until_ns = self.start_polling(chooser, moment.start_ns);
        }
        self.stay.selected = state as u8;
        Entered {
            state,
            poll_until_ns,
            tick,
            tick_due_ns: due_ns(self.tick_stopped),
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
        let state = self.states.there(left.entered);
        let device = chooser.device();
        device.last_residency_ns = residency_ns;
        device.got_tick |= left.tick_ran;
        let entered = self.states.get(state);
        if entered.polling {
            device.poll_time_limit = left.cause == WakeCause::PollLimit;
        }
        let miss = entered.verdict(residency_ns);
        let entry = Entry {
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
            loop_ns: self.costs.of(self.stay.asked_sleep_length, self.stay.tick, left.cause),
            selected: self.stay.selected,
            outcome: Outcome::Stayed { entered: state as u8, miss },
            cause: left.cause,
            tick: self.stay.tick,
            breach: Breach::default(),
        };
        match self.stay.breach {
            None => ledger.entry(&entry),
            Some(breach) => wrong(ledger, &Entry { breach, ..entry }),
        }
        chooser.reflect(state, left.handled_at_ns + self.clock_ns);
        if left.handled_at_ns > left.exit_at_ns || left.cause != WakeCause::PollLimit {
            self.now_ns = left.handled_at_ns;
        }
    }

    /// A reschedule came between the governor's answer and the entry: nothing was entered, nobody is notified.
    pub fn abort<C: Chooser>(&mut self, chooser: &mut C) {
        let device = chooser.device();
        device.last_residency_ns = 0;
        let polls = self.states.get(self.stay.selected.into()).polling;
        if let Some((poll_time_limit, poll_limit_ns)) = self.before_polling.take_if(|_| polls) {
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
            loop_ns: self.costs.of(self.stay.asked_sleep_length, self.stay.tick, WakeCause::Unknown),
            selected: self.stay.selected,
            outcome: Outcome::Rejected,
            cause: WakeCause::Unknown,
            tick: self.stay.tick,
            breach: self.stay.breach.unwrap_or(Breach::NONE),
        });
    }

    /// Something is wrong with the answer `index`: gives the nearest state, and what is wrong.
    #[cold]
    #[inline(never)]
    fn wrong(&mut self, index: i32) -> (usize, Breach) {
        let breach = self.states.breach(index);
        self.stay.breach = Some(breach);
        (self.states.nearest(index), breach)
    }

    /// The polling loop begins: the flag is cleared and the limit cached, as the kernel does (`governor-behaviour.md` 1.6).
    #[inline]
    fn start_polling<C: Chooser>(&mut self, chooser: &mut C, start_ns: u64) -> u64 {
        let device = chooser.device();
        self.before_polling = Some((device.poll_time_limit, device.poll_limit_ns));
        device.poll_time_limit = false;
        if device.poll_limit_ns == 0 {
            device.poll_limit_ns = self.poll_limit_ns();
        }
        start_ns.saturating_add(device.poll_limit_ns).min(NEVER_AT_NS)
    }

    #[cold]
    fn poll_limit_ns(&self) -> u64 {
        self.table.poll_limit_ns(self.disabled, self.ticks.period_ns())
    }
}

/// A stay that was not chosen well. Its own function: where nothing is wrong, nothing is said about it.
#[cold]
#[inline(never)]
fn wrong<L: Ledger>(ledger: &mut L, entry: &Entry) {
    ledger.entry(entry);
}

/// Ns from one moment to a later one.
#[inline]
fn since(earlier_ns: u64, later_ns: u64) -> i64 {
    if earlier_ns > later_ns {
        too_early(earlier_ns, later_ns);
    }
    i64::try_from(later_ns - earlier_ns).unwrap_or(i64::MAX)
}

#[cold]
#[inline(never)]
fn too_early(earlier_ns: u64, later_ns: u64) {
    assert!(earlier_ns <= later_ns, "a task ran at {later_ns} ns, before its wake at {earlier_ns} ns");
}
