// SPDX-License-Identifier: GPL-2.0-only
use std::borrow::Borrow;

use idlewise_idle::{
    Chooser, Entered, IdleCpu, Left, Limits, Moment, NEVER_AT_NS, SleepQuery, TickAhead, Timers, choosable,
    foresee,
};
use idlewise_model::{IdleTable, Ledger, LoopCosts, PiecesError, Prices, RunDecision, TickChoice, WakeCause};

use serde::{Deserialize, Serialize};

use crate::event::WorkloadEvent;
use crate::events::{Ahead, Window};
use crate::workload::{Refusal, Workload};

/// How a run is set up beside governor and workload.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The table is that of the machine that was recorded: a wake out of the recorded state takes as long as recorded.
    /// Otherwise, and from every other state, it takes what the table declares.
    pub same_machine: bool,
    /// Seed of the random numbers that a governor may ask for.
    pub seed: u64,
    /// What is taken from the governor beside what the recording tells.
    pub limits: Limits,
    /// The run ends after so many events of the workload.
    pub events: usize,
    /// What idle periods and the idle loop cost. Without it the idle loop takes no time, and to the oracle the deepest state that pays by
    /// its target residency is best.
    pub prices: Option<Prices>,
}

impl Setting {
    /// A governor from which nothing is taken, to the end of the workload, in an idle loop that takes no time.
    #[must_use]
    pub const fn new(same_machine: bool, seed: u64) -> Self {
        Self { same_machine, seed, limits: Limits::NONE, events: usize::MAX, prices: None }
    }
}

/// What a run counts beside its ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCounts {
    /// Times the governor was asked.
    pub decisions: u64,
    /// Answers that were no state of the table; the nearest was taken.
    pub out_of_range: u64,
    /// The first of them.
    pub first_out_of_range: Option<OutOfRange>,
    /// Events that came while the CPU was still on its way out of a state or in the tick's handlers: nobody was asked.
    pub overtaken: u64,
}

/// An answer that is no state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutOfRange {
    pub cpu: u32,
    /// Which of the CPU's decisions, from 0.
    pub decision: u64,
    pub answer: i32,
}

impl RunCounts {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.decisions += other.decisions;
        self.out_of_range += other.out_of_range;
        self.first_out_of_range = self.first_out_of_range.or(other.first_out_of_range);
        self.overtaken += other.overtaken;
    }
}

/// Runs `workload` on a CPU with the states of `table` and the given `capacity` (1..=1024) under `chooser`; every entry
/// goes to `ledger`.
///
/// # Errors
/// [`PiecesError`] when the events are not in memory and cannot be read.
#[inline]
pub fn run<C: Chooser, L: Ledger>(
    workload: &Workload,
    table: &IdleTable,
    capacity: u32,
    setting: Setting,
    chooser: &mut C,
    ledger: &mut L,
) -> Result<RunCounts, PiecesError> {
    match workload.events.prepared(workload.grid) {
        Some(all) => play(workload, all, table, capacity, setting, chooser, ledger),
        None => play(workload, Window::new(&workload.events), table, capacity, setting, chooser, ledger),
    }
}

#[inline]
fn play<E: Ahead, C: Chooser, L: Ledger>(
    workload: &Workload,
    events: E,
    table: &IdleTable,
    capacity: u32,
    setting: Setting,
    chooser: &mut C,
    ledger: &mut L,
) -> Result<RunCounts, PiecesError> {
    let default_mask = table.disabled_by_default() | setting.limits.disabled;
    let refusals = if setting.same_machine { workload.refusals.as_slice() } else { &[] };
    let refused_ns = if table.refused() == 0 { 0 } else { workload.refused_ns() };
    let mut player = Player {
        idle: IdleCpu::new(workload.cpu, table, workload.grid),
        chooser,
        ledger,
        workload,
        events,
        capacity,
        setting,
        random: setting.seed ^ u64::from(workload.cpu) << 32,
        latency_ns: setting.limits.latency_ns,
        changes: Changes::new(workload, default_mask),
        counts: RunCounts::default(),
        exit_at_ns: 0,
        refusals,
        refused_ns,
        may_refuse: refused_ns > 0 || !refusals.is_empty(),
        ticks_pay_to: 0,
    };
    player.idle.set_costs(setting.prices.map_or(LoopCosts::NONE, |prices| prices.costs));
    player.idle.set_disabled(player.chooser, default_mask);
    player.go_through()?;
    Ok(player.counts)
}

/// A CPU that waits for an event, awake before it asks.
#[derive(Clone, Copy)]
struct Waiting {
    /// Number of the event.
    event: usize,
    /// When the CPU is ready to ask, ns.
    ready_ns: u64,
    since: Since,
}

/// What was before a question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Since {
    /// The event before came, and its handlers are done.
    Awake,
    /// The polling loop was left at its limit; events came in it.
    StillIdle,
    /// Something that was not the event.
    Asked,
}

struct Player<'a, E, C, L> {
    idle: IdleCpu<'a>,
    chooser: &'a mut C,
    ledger: &'a mut L,
    workload: &'a Workload,
    events: E,
    capacity: u32,
    setting: Setting,
    random: u64,
    latency_ns: i64,
    changes: Changes<'a>,
    counts: RunCounts,
    /// When the last state was left, ns.
    exit_at_ns: u64,
    /// The recording's refused entries still to come, on the machine that was recorded.
    refusals: &'a [Refusal],
    /// How long an entry takes that is always refused, ns.
    refused_ns: u64,
    /// There are such entries, or refusals to come when the run began.
    may_refuse: bool,
    /// Before this event it does not pay to stop the tick.
    ticks_pay_to: usize,
}

impl<E: Ahead, C: Chooser, L: Ledger> Player<'_, E, C, L> {
    /// Each round is one question and what follows from it.
    #[inline]
    fn go_through(&mut self) -> Result<(), PiecesError> {
        let mut waiting = Waiting { event: 0, ready_ns: 0, since: Since::Awake };
        while waiting.event < self.setting.events
            && let Some(event) = self.events.now(waiting.event)?
        {
            let event: &WorkloadEvent = event.borrow();
            let mut as_recorded = false;
            if waiting.since != Since::Asked {
                (waiting.ready_ns, as_recorded) = self.begin(event, &waiting);
            }
            waiting = self.wait(event, &waiting, as_recorded)?;
        }
        Ok(())
    }

    /// The CPU begins to wait for `event`; gives when it is ready to ask, and whether it comes from another task just then,
    /// as recorded.
    #[inline]
    fn begin(&mut self, event: &WorkloadEvent, waiting: &Waiting) -> (u64, bool) {
        self.ledger.waits_for(waiting.event);
        if event.start_ns >= self.changes.next_at_ns {
            self.apply_changes(event.start_ns);
        }
        if !event.visit_start {
            // Where it is still idle, nothing was to do before the next question.
            let still_idle = waiting.since == Since::StillIdle;
            let ready_ns = if still_idle { waiting.ready_ns } else { waiting.ready_ns.max(event.start_ns) };
            return (ready_ns, false);
        }
        // Between visits it is restarted, but where it was off under a task.
        self.idle.force_tick(event.tick_off);
        if waiting.ready_ns > event.start_ns {
            // A slow exit can reach into the next wait, which then begins later; a CPU is not idle twice at a time.
            self.idle.begin_visit(event.now_ns(waiting.ready_ns));
            return (waiting.ready_ns, false);
        }
        self.idle.begin_visit(event.now_ns(event.start_ns));
        (event.start_ns, true)
    }

    /// Asks, and sleeps until `event` is met or something else comes before it.
    #[inline]
    fn wait(
        &mut self,
        event: &WorkloadEvent,
        waiting: &Waiting,
        as_recorded: bool,
    ) -> Result<Waiting, PiecesError> {
        let &Waiting { event: n, ready_ns, .. } = waiting;
        if ready_ns > event.at_ns {
            self.overtaken(event);
            return Ok(Waiting { event: n + 1, ready_ns, since: Since::Awake });
        }
        let entered = self.ask(n, event, ready_ns, as_recorded)?;
        if self.may_refuse
            && let Some(took_ns) = self.refusal(entered.state, ready_ns)
        {
            return Ok(Waiting { event: n, ready_ns: self.refuse(ready_ns, took_ns), since: Since::Asked });
        }
        let limit_ns = entered.poll_until_ns;
        if limit_ns != NEVER_AT_NS {
            if limit_ns > event.at_ns.min(entered.tick_due_ns) {
                return self.poll(n, &entered);
            }
            // Nothing comes until the limit.
            self.leave_poll(entered.state, limit_ns, limit_ns, limit_ns, WakeCause::PollLimit);
            return Ok(Waiting { event: n, ready_ns: limit_ns, since: Since::Asked });
        }
        let tick_ns = entered.tick_due_ns;
        if tick_ns < event.at_ns {
            let ready_ns = self.woken_by_tick(entered.state, ready_ns, tick_ns);
            return Ok(Waiting { event: n, ready_ns, since: Since::Asked });
        }
        let ready_ns = self.woken_by(event, entered.state, ready_ns, tick_ns);
        Ok(Waiting { event: n + 1, ready_ns, since: Since::Awake })
    }

    #[cold]
    fn overtaken(&mut self, event: &WorkloadEvent) {
        self.counts.overtaken += 1;
        // Behind the tick's handlers it would have waited in any case.
        if self.exit_at_ns > event.at_ns {
            self.ledger.overtaken(self.exit_at_ns - event.at_ns);
        }
    }

    #[inline]
    fn ask(
        &mut self,
        n: usize,
        event: &WorkloadEvent,
        start_ns: u64,
        as_recorded: bool,
    ) -> Result<Entered, PiecesError> {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut moment = Moment {
            start_ns,
            timers: pending(event, start_ns),
            latency_limit_ns: self.latency_ns,
            util: (u32::from(event.util) * self.capacity) >> 10,
            iowait: event.iowait.into(),
            random: (self.random >> 32) as u32,
            wake_at_ns: event.at_ns,
            stop_pays: true,
        };
        if C::FORESEES || L::DECISIONS {
            moment.stop_pays = self.stop_pays(n, event, start_ns)?;
        }
        let known = if as_recorded { self.events.first_query(n) } else { None };
        let query = known.copied().unwrap_or_else(|| self.idle.query(&moment.timers));
        let entered = self.idle.enter_asked(self.chooser, &moment, &query);
        if entered.breach.no_state {
            self.out_of_range(&entered);
        }
        self.counts.decisions += 1;
        if L::DECISIONS {
            self.ledger.decision(&self.decided(event, &moment, &query, &entered));
        }
        Ok(entered)
    }

    /// Whether stopping the tick now, before event number `first`, costs less than all ticks from `start_ns` to the end of the visit.
    /// Where it does, it is best stopped at once: later it costs the same and saves less.
    fn stop_pays(&mut self, first: usize, event: &WorkloadEvent, start_ns: u64) -> Result<bool, PiecesError> {
        let Some(prices) = self.setting.prices else { return Ok(true) };
        if self.idle.tick_stopped() || first < self.ticks_pay_to {
            return Ok(false);
        }
        let among = choosable(self.idle.table(), self.idle.disabled(), self.latency_ns);
        let grid = self.workload.grid;
        let price_fj = prices.active_fj(prices.costs.tick_stop_ns.into());
        let of_ticks = |start_ns: u64, wake_ns: u64, due_ns: u64| {
            prices.of_ticks(among, start_ns, wake_ns, due_ns, grid.period_ns, self.workload.tick_handler_ns)
        };
        let mut all_fj = of_ticks(start_ns, event.at_ns, self.idle.tick_due_ns());
        let done_ns = |e: &WorkloadEvent| e.at_ns + u64::from(e.handler_ns);
        let (mut n, mut awake_ns) = (first, done_ns(event));
        while all_fj <= price_fj {
            n += 1;
            let later = self.events.later(n)?;
            let Some(e) = later.as_ref().map(E::Event::borrow).filter(|e| !e.visit_start) else {
                self.ticks_pay_to = n;
                return Ok(false);
            };
            // The tick that is due is the first after the handlers before, and may be overdue when the CPU asks.
            all_fj += of_ticks(e.start_ns, e.at_ns, grid.after(awake_ns));
            awake_ns = done_ns(e);
        }
        Ok(true)
    }

    /// What the governor was asked at `moment` and answered, and what the oracle would have.
    fn decided(
        &self,
        event: &WorkloadEvent,
        moment: &Moment,
        query: &SleepQuery,
        entered: &Entered,
    ) -> RunDecision {
        let was_stopped = entered.tick == TickChoice::WasStopped;
        let due_ns = if was_stopped { NEVER_AT_NS } else { query.tick_at_ns };
        let tick = TickAhead { due_ns, may_stop: query.may_stop };
        let prices = self.setting.prices.as_ref();
        let oracle = foresee(self.idle.table(), prices, self.idle.disabled(), moment, tick);
        RunDecision {
            start_ns: moment.start_ns,
            sleep_length_ns: query.sleep_length_ns,
            delta_tick_ns: query.delta_tick_ns,
            timers: event.timers,
            tick_stopped: was_stopped,
            latency_limit_ns: moment.latency_limit_ns,
            util: moment.util,
            iowait: moment.iowait,
            disabled: self.idle.disabled(),
            stop_tick: entered.stop_tick,
            asked_sleep_length: entered.asked_sleep_length,
            oracle_state: oracle.index as u8,
            oracle_stop_tick: oracle.stop_tick,
        }
    }

    /// How long it takes until the entry into `state` at `start_ns` is refused, ns, where it is: always on this machine, or
    /// at that time in the recording.
    fn refusal(&mut self, state: usize, start_ns: u64) -> Option<u64> {
        if self.refused_ns > 0 && self.idle.refuses(state) {
            return Some(self.refused_ns);
        }
        while let Some((next, rest)) = self.refusals.split_first()
            && next.at_ns <= start_ns.saturating_add(next.took_ns)
        {
            let at_that_time = next.at_ns.abs_diff(start_ns) <= next.took_ns;
            if at_that_time && usize::from(next.state) != state {
                return None;
            }
            self.refusals = rest;
            if at_that_time {
                return Some(next.took_ns.max(1));
            }
        }
        None
    }

    /// The entry at `start_ns` is refused after `took_ns`; gives when the CPU asks again. What comes meanwhile is handled
    /// then.
    #[cold]
    fn refuse(&mut self, start_ns: u64, took_ns: u64) -> u64 {
        let refused_ns = start_ns.saturating_add(took_ns);
        self.idle.reject(self.chooser, refused_ns, self.ledger);
        self.exit_at_ns = refused_ns;
        if self.idle.tick_due_ns() >= refused_ns {
            return refused_ns;
        }
        self.idle.tick_ran(self.chooser);
        let handled_ns = refused_ns.saturating_add(self.workload.tick_handler_ns);
        self.idle.interrupt_done(handled_ns);
        handled_ns
    }

    #[cold]
    fn out_of_range(&mut self, entered: &Entered) {
        let (cpu, decision, answer) = (self.workload.cpu, self.counts.decisions, entered.answer);
        self.counts.out_of_range += 1;
        self.counts.first_out_of_range.get_or_insert(OutOfRange { cpu, decision, answer });
    }

    #[inline]
    fn woken_by_tick(&mut self, state: usize, start_ns: u64, tick_ns: u64) -> u64 {
        let wake_at_ns = tick_ns.max(start_ns);
        let exit_at_ns = self.idle.exit_at_ns(state, start_ns, wake_at_ns);
        let handled_at_ns = exit_at_ns + self.workload.tick_handler_ns;
        let cause = WakeCause::Tick;
        let running_at_ns = exit_at_ns;
        let left = Left {
            entered: state,
            wake_at_ns,
            exit_at_ns,
            running_at_ns,
            handled_at_ns,
            cause,
            tick_ran: true,
        };
        self.exit_at_ns = left.exit_at_ns;
        self.idle.leave(self.chooser, &left, self.ledger);
        handled_at_ns
    }

    #[inline]
    fn woken_by(&mut self, event: &WorkloadEvent, state: usize, start_ns: u64, tick_ns: u64) -> u64 {
        let (exit_at_ns, running_at_ns) = self.as_recorded(event, state).unwrap_or_else(|| {
            let declared = self.idle.exit_at_ns(state, start_ns, event.at_ns);
            (declared, declared)
        });
        let left = Left {
            entered: state,
            wake_at_ns: event.at_ns,
            exit_at_ns,
            running_at_ns,
            handled_at_ns: exit_at_ns + u64::from(event.handler_ns),
            cause: event.cause,
            // A tick that fell due during the exit is handled with the event; wheel timers are run by the tick's handler.
            tick_ran: (tick_ns <= exit_at_ns) | matches!(event.cause, WakeCause::Wheel | WakeCause::Tick),
        };
        self.exit_at_ns = left.exit_at_ns;
        self.idle.leave(self.chooser, &left, self.ledger);
        left.handled_at_ns
    }

    /// When the recorded machine had left `state`, and when it ran the first instruction, where it met `event` in it.
    #[inline]
    fn as_recorded(&self, event: &WorkloadEvent, state: usize) -> Option<(u64, u64)> {
        let recorded = self.setting.same_machine && usize::from(event.state) == state;
        recorded.then(|| {
            let after = |lag_ns: u32| event.at_ns + u64::from(lag_ns);
            (after(event.exit_lag_ns), after(event.response_ns))
        })
    }

    /// The polling loop: interrupts are handled inside it, and those that wake nobody do not end it; it ends with the
    /// visit or at its limit (`governor-behaviour.md` 1.4, 1.6).
    #[inline(never)]
    fn poll(&mut self, first: usize, entered: &Entered) -> Result<Waiting, PiecesError> {
        let mut n = first;
        // The loop looks at the clock again when the last handler is done.
        let mut handled_ns = 0;
        loop {
            let event = self.events.later(n)?;
            let event = event.as_ref().map(E::Event::borrow).filter(|e| n == first || !e.visit_start);
            let event_ns = event.map_or(NEVER_AT_NS, |e| e.at_ns);
            let tick_ns = self.idle.tick_due_ns();
            let limit_ns = entered.poll_until_ns.max(handled_ns);
            if tick_ns <= event_ns && tick_ns < limit_ns {
                self.idle.tick_ran(self.chooser);
                handled_ns = tick_ns.max(handled_ns).saturating_add(self.workload.tick_handler_ns);
                self.idle.interrupt_done(handled_ns);
            } else if let Some(e) = event.filter(|e| e.at_ns < limit_ns) {
                let done_ns = e.at_ns.max(handled_ns).saturating_add(e.handler_ns.into());
                if e.visit_end {
                    let (exit_at_ns, running_at_ns) =
                        self.as_recorded(e, entered.state).unwrap_or((done_ns, e.at_ns));
                    self.leave_poll(entered.state, e.at_ns, running_at_ns, exit_at_ns, e.cause);
                    let ready_ns = exit_at_ns.max(done_ns);
                    return Ok(Waiting { event: n + 1, ready_ns, since: Since::Awake });
                }
                handled_ns = done_ns;
                self.idle.interrupt_done(handled_ns);
                n += 1;
            } else {
                self.leave_poll(entered.state, limit_ns, limit_ns, limit_ns, WakeCause::PollLimit);
                let since = if n == first { Since::Asked } else { Since::StillIdle };
                return Ok(Waiting { event: n, ready_ns: limit_ns, since });
            }
        }
    }

    #[inline]
    fn leave_poll(
        &mut self,
        state: usize,
        wake_at_ns: u64,
        running_at_ns: u64,
        exit_at_ns: u64,
        cause: WakeCause,
    ) {
        let left = Left {
            entered: state,
            wake_at_ns,
            exit_at_ns,
            running_at_ns,
            handled_at_ns: exit_at_ns,
            cause,
            tick_ran: cause == WakeCause::Wheel,
        };
        self.exit_at_ns = left.exit_at_ns;
        self.idle.leave(self.chooser, &left, self.ledger);
    }

    fn apply_changes(&mut self, now_ns: u64) {
        if let Some(value) = self.changes.latency(now_ns) {
            self.latency_ns = value.min(self.setting.limits.latency_ns);
        }
        if let Some(mask) = self.changes.disabled(now_ns) {
            self.idle.set_disabled(self.chooser, mask);
        }
    }
}

/// The timers of a CPU that asks at `now_ns`.
#[inline]
fn pending(event: &WorkloadEvent, now_ns: u64) -> Timers {
    // Asked again, with a timer's time gone by and nothing come of it: it was not this CPU's to handle.
    let again = now_ns > event.start_ns;
    let pending = |at_ns: u64| if again && at_ns < now_ns { NEVER_AT_NS } else { at_ns };
    Timers::Pending {
        hrtimer_at_ns: pending(event.hrtimer_at_ns),
        wheel_at_ns: pending(event.wheel_at_ns),
        stale_event_at_ns: pending(event.stale_event_at_ns),
        tick_needed: now_ns < event.start_ns + u64::from(event.tick_needed_ns),
    }
}

/// The changes of latency limit and disabled states still to come.
struct Changes<'a> {
    workload: &'a Workload,
    default_mask: u16,
    latency: usize,
    disabled: usize,
    next_at_ns: u64,
}

impl<'a> Changes<'a> {
    fn new(workload: &'a Workload, default_mask: u16) -> Self {
        let mut c = Self { workload, default_mask, latency: 0, disabled: 0, next_at_ns: 0 };
        c.find_next();
        c
    }

    fn latency(&mut self, now_ns: u64) -> Option<i64> {
        let ahead = &self.workload.latency[self.latency..];
        let n = ahead.partition_point(|c| c.at_ns <= now_ns);
        self.latency += n;
        self.find_next();
        ahead.get(n.checked_sub(1)?).map(|c| c.value)
    }

    fn disabled(&mut self, now_ns: u64) -> Option<u16> {
        let ahead = &self.workload.disabled[self.disabled..];
        let n = ahead.partition_point(|c| c.at_ns <= now_ns);
        self.disabled += n;
        self.find_next();
        ahead.get(n.checked_sub(1)?).map(|c| c.value | self.default_mask)
    }

    fn find_next(&mut self) {
        let latency = self.workload.latency.get(self.latency).map_or(u64::MAX, |c| c.at_ns);
        let disabled = self.workload.disabled.get(self.disabled).map_or(u64::MAX, |c| c.at_ns);
        self.next_at_ns = latency.min(disabled);
    }
}
