// SPDX-License-Identifier: GPL-2.0-only
//! Which timers are armed at any time of a recording, and the next one that a CPU waits for.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::{Confidence, Event, EventKind, NEVER_NS, TimerFlags, Vector};

use crate::facts::Facts;
use crate::timers::{Cancelled, Pending};
use crate::unseen::Expires;

/// A timer this long overdue was cancelled unseen, ns.
const STALE_NS: i64 = 2_000_000;
/// No CPU that enters an idle state has kept interrupts off for so long as a rule, ns.
const OVERDUE_NS: i64 = 100_000;
/// What was seen of a CPU's timers, or of its tick, is in doubt where it was refuted so often, and at one in so many of its idle
/// entries.
pub(crate) const REFUTED: u64 = 3;
pub(crate) const REFUTED_OF: u64 = 50;
/// Two times of one clock event differ by less, ns.
const SAME_NS: i64 = 1_000;
/// The number of a timer that no event names.
const UNKNOWN_TIMER: u64 = 0;

/// The armed timers of all CPUs.
pub(crate) struct Armed<'a> {
    facts: &'a Facts,
    hrtimers: Pending,
    /// Pinned wheel timers, and on kernels without timer migration all.
    local: Pending,
    /// Wheel timers that another CPU may run.
    global: Pending,
    /// Each CPU's tick timer, where it was seen to be armed.
    ticks: BTreeMap<u32, Tick>,
    /// Hrtimers whose expiry is known only from above, or that fired long after what they were armed for.
    upper: BTreeSet<u64>,
    /// Hrtimers whose expiry follows from those after it.
    by_period: BTreeSet<u64>,
    /// Timers that an idle CPU may not wait for: wheel timers of unknown kind, which from 6.9 on another may look after, too, and
    /// whatever was armed before lines are missing.
    doubtful: BTreeSet<u64>,
    /// Hrtimers on `CLOCK_REALTIME`.
    realtime: BTreeSet<u64>,
    /// How often the offset of the trace clock has changed, and by how much in all, ns.
    changes: usize,
    moved_ns: i64,
    next_unseen: usize,
    /// By CPU: how often its timers were refuted, and its idle entries.
    refuted: BTreeMap<u32, (u64, u64)>,
    /// By CPU, timer interrupts since the last event of an hrtimer.
    unexplained: BTreeMap<u32, u64>,
    /// By CPU, when hrtimers that nobody was seen to arm will be cancelled, ns: they are due after that.
    unknown: BTreeMap<u32, BTreeSet<u64>>,
    /// Hrtimers that were cancelled, and for when they were armed, ns on the trace clock.
    cancelled: Cancelled<i64>,
    /// By CPU, expiries of hrtimers, ticks among them, that were cancelled or moved while its clock event stays programmed for
    /// them (since 7.0), ns on the trace clock.
    lingering: BTreeMap<u32, BTreeSet<i64>>,
    /// What each CPU's clock event was last seen to be programmed for, ns on the trace clock.
    programmed: BTreeMap<u32, i64>,
    /// The first timer that each CPU handed on when it went idle, ns on the trace clock.
    handed_on: BTreeMap<u32, i64>,
}

/// The timer of a CPU's tick.
#[derive(Clone, Copy, Debug)]
struct Tick {
    id: u64,
    /// Its expiry, ns on the trace clock.
    at: Option<i64>,
    /// It was armed for something beyond the next tick, or cancelled: the tick is stopped.
    off: bool,
    /// It was armed for something later before, or for nothing.
    nearer: bool,
}

/// What a CPU waits for, times on the trace clock, ns.
pub(crate) struct NextTimers {
    pub(crate) hrtimer_at: i64,
    pub(crate) wheel_at: i64,
    /// What the clock event is still programmed for, though that timer was cancelled, or [`NEVER_NS`].
    pub(crate) stale_event_at: i64,
    /// How well the two are known together.
    pub(crate) confidence: Confidence,
    /// They are upper limits.
    pub(crate) at_most: bool,
    /// How well it is known what the CPU's clock is programmed for.
    pub(crate) programmed: Confidence,
}

/// A timer that fired, and when it was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fired {
    Tick(Option<Due>),
    Hrtimer(Option<Due>),
    Wheel,
}

/// When a timer was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// Ns on the trace clock.
    pub(crate) at_ns: u64,
    /// Recorded where the event shows that armed it, derived where its period does, bounded where it is the time that its
    /// handler was given: it was due no later.
    pub(crate) confidence: Confidence,
}

impl<'a> Armed<'a> {
    pub(crate) fn new(facts: &'a Facts) -> Self {
        Self {
            facts,
            hrtimers: Pending::default(),
            local: Pending::default(),
            global: Pending::default(),
            ticks: BTreeMap::new(),
            upper: BTreeSet::new(),
            by_period: BTreeSet::new(),
            doubtful: BTreeSet::new(),
            realtime: BTreeSet::new(),
            changes: 0,
            moved_ns: 0,
            next_unseen: 0,
            refuted: BTreeMap::new(),
            unexplained: BTreeMap::new(),
            unknown: BTreeMap::new(),
            cancelled: Cancelled::default(),
            lingering: BTreeMap::new(),
            programmed: BTreeMap::new(),
            handed_on: BTreeMap::new(),
        }
    }

    /// Time goes on to `ts_ns`; says whether the trace clock has jumped against the timers' since. What is armed keeps
    /// its expiry on its own clock.
    pub(crate) fn clock_jumps(&mut self, ts_ns: u64) -> bool {
        let before = self.changes;
        while let Some(at) = self.facts.offsets.change_ns(self.changes + 1).filter(|at| *at <= ts_ns) {
            // Those that were armed unseen are known by now.
            self.arm_unseen(at);
            self.changes += 1;
            let by_ns = self.facts.offsets.moved_ns(self.changes).saturating_sub(self.moved_ns);
            self.moved_ns = self.moved_ns.saturating_add(by_ns);
            self.hrtimers.shift(by_ns, &self.realtime);
            self.local.shift(by_ns, &BTreeSet::new());
            self.global.shift(by_ns, &BTreeSet::new());
            let ticks = self.ticks.values_mut().filter_map(|t| t.at.as_mut());
            let handed_on = self.handed_on.values_mut().chain(self.programmed.values_mut());
            let handed_on = handed_on.filter(|at| **at != NEVER_NS);
            ticks.chain(handed_on).for_each(|at| *at = at.saturating_add(by_ns));
        }
        self.changes > before
    }

    /// An hrtimer's expiry on the trace clock as it is now, ns.
    fn hrtimer_at(&self, expires: i64) -> Option<i64> {
        let at = self.facts.hrtimer_on_trace_clock(expires)?;
        Some(if Facts::is_realtime(expires) { at } else { at.saturating_add(self.moved_ns) })
    }

    /// A wheel timer's expiry on the trace clock as it is now, ns.
    fn jiffy_at(&self, cpu: u32, jiffy: u64) -> i64 {
        self.facts.jiffies_on_trace_clock(cpu, jiffy).saturating_add(self.moved_ns)
    }

    /// A timer is armed, cancelled or fires.
    pub(crate) fn event(&mut self, e: &Event) -> Option<Fired> {
        self.arm_unseen(e.ts_ns);
        if !self.unexplained.is_empty()
            && let EventKind::HrtimerStart { .. }
            | EventKind::HrtimerExpireEntry { .. }
            | EventKind::HrtimerRearm { .. } = e.kind
        {
            self.unexplained.remove(&e.cpu);
        }
        match e.kind {
            EventKind::HrtimerStart { hrtimer, function, expires, .. } => {
                let _ = self.cancelled.take(e, hrtimer);
                self.doubtful.remove(&hrtimer);
                if self.facts.is_tick(function) {
                    let at = self.hrtimer_at(expires);
                    let off = at.is_none_or(|at| at > self.facts.latest_tick_ns(e.cpu, e.ts_ns));
                    let before = self.ticks.get(&e.cpu).map(|tick| tick.at);
                    let nearer = before.zip(at).is_some_and(|(before, at)| at < before.unwrap_or(NEVER_NS));
                    self.ticks.insert(e.cpu, Tick { id: hrtimer, at, off, nearer });
                    self.moves(e.cpu, before.flatten(), at);
                } else {
                    let cpu = self.facts.moved.get(&(hrtimer, e.ts_ns)).copied().unwrap_or(e.cpu);
                    if self.facts.late.contains(&(hrtimer, e.ts_ns)) {
                        self.upper.insert(hrtimer);
                    } else {
                        self.upper.remove(&hrtimer);
                    }
                    self.by_period.remove(&hrtimer);
                    let before = self.hrtimers.disarm(hrtimer).map(|(_, expires)| expires);
                    self.moves(e.cpu, before, self.hrtimer_at(expires));
                    self.arm_hrtimer(hrtimer, cpu, expires);
                }
            }
            EventKind::HrtimerCancel { hrtimer } => self.cancel_hrtimer(e, hrtimer),
            EventKind::HrtimerExpireEntry { hrtimer, function, now } => {
                return Some(self.hrtimer_fired(e, hrtimer, function, now));
            }
            EventKind::TimerStart { timer, expires, bucket_expiry, now, flags, .. } => {
                let jiffy = bucket_expiry.unwrap_or_else(|| self.facts.kernel.bucket(expires, now));
                self.arm_wheel(timer, flags.cpu(), jiffy, flags);
                if !self.facts.kinds_known {
                    self.doubtful.insert(timer);
                }
            }
            EventKind::TimerCancel { timer } => self.disarm_wheel(timer),
            EventKind::TimerExpireEntry { timer, .. } => {
                self.disarm_wheel(timer);
                return Some(Fired::Wheel);
            }
            EventKind::HrtimerRearm { next_event, .. } => {
                let first = Some(next_event).filter(|at| *at != i64::MAX);
                let at = first.and_then(|at| self.hrtimer_at(at)).unwrap_or(NEVER_NS);
                self.programmed.insert(e.cpu, at);
                if let Some(of) = self.lingering.get_mut(&e.cpu) {
                    of.retain(|expires| expires.abs_diff(at) <= SAME_NS.unsigned_abs());
                }
            }
            EventKind::VectorEntry { vector: Vector::LocalTimer } => {
                // Its interrupt programs the clock event for the next one.
                self.lingering.remove(&e.cpu);
            }
            EventKind::TmigrCpuIdle { cpu, nextevt, .. } => {
                let first = i64::try_from(nextevt).ok().filter(|at| *at != NEVER_NS);
                let at = first.and_then(|at| self.hrtimer_at(at));
                self.handed_on.insert(cpu, at.unwrap_or(NEVER_NS));
            }
            _ => {}
        }
        None
    }

    /// The first time at which a timer of unknown expiry may be due on `cpu`, as of `ts_ns`, ns, or [`NEVER_NS`].
    fn unknown_from(&mut self, cpu: u32, ts_ns: u64) -> i64 {
        let Some(unknown) = self.unknown.get_mut(&cpu) else { return NEVER_NS };
        while unknown.first().is_some_and(|cancelled_ns| *cancelled_ns <= ts_ns) {
            unknown.pop_first();
        }
        unknown.first().map_or(NEVER_NS, |cancelled_ns| cancelled_ns.cast_signed())
    }

    /// `cpu` looks after its own timers again.
    pub(crate) fn awake(&mut self, cpu: u32) {
        self.handed_on.remove(&cpu);
    }

    /// Arms what nobody was seen to arm before `ts_ns`.
    fn arm_unseen(&mut self, ts_ns: u64) {
        while let Some(u) = self.facts.unseen.get(self.next_unseen).filter(|u| u.since_ns < ts_ns) {
            self.next_unseen += 1;
            match u.expires {
                Expires::At(at) => {
                    self.by_period.insert(u.id);
                    self.arm_hrtimer(u.id, u.cpu, at);
                }
                Expires::By(by) => {
                    self.upper.insert(u.id);
                    self.arm_hrtimer(u.id, u.cpu, by);
                }
                Expires::After(cancelled_ns) => {
                    self.unknown.entry(u.cpu).or_default().insert(cancelled_ns);
                }
                Expires::Jiffy { jiffy, kind: Some(flags) } => {
                    self.arm_wheel(u.id, u.cpu, jiffy, flags);
                    if !self.facts.kinds_known {
                        self.doubtful.insert(u.id);
                    }
                }
                Expires::Jiffy { jiffy, kind: None } => {
                    self.local.arm(u.id, u.cpu, self.jiffy_at(u.cpu, jiffy));
                    self.doubtful.insert(u.id);
                }
            }
        }
    }

    fn arm_hrtimer(&mut self, id: u64, cpu: u32, expires: i64) {
        if Facts::is_realtime(expires) {
            self.realtime.insert(id);
        } else {
            self.realtime.remove(&id);
        }
        match self.hrtimer_at(expires) {
            Some(at) => self.hrtimers.arm(id, cpu, at),
            None => {
                self.hrtimers.disarm(id);
            }
        }
    }

    fn arm_wheel(&mut self, id: u64, cpu: u32, jiffy: u64, flags: TimerFlags) {
        self.disarm_wheel(id);
        if flags.deferrable() {
            return;
        }
        let migrates = (self.facts.timer_migration || !self.facts.migration_known) && !flags.pinned();
        let at = self.jiffy_at(cpu, jiffy);
        let base = if migrates { &mut self.global } else { &mut self.local };
        base.arm(id, cpu, at);
    }

    fn disarm_wheel(&mut self, id: u64) {
        self.local.disarm(id);
        self.global.disarm(id);
        self.doubtful.remove(&id);
    }

    fn hrtimer_fired(&mut self, e: &Event, hrtimer: u64, function: u64, now: i64) -> Fired {
        let handed = self.hrtimer_at(now);
        // Its interrupt programs the clock event for the next one.
        self.lingering.remove(&e.cpu);
        let cancelled = self.cancelled.take(e, hrtimer).map(|(_, expires)| expires);
        let tick = self.facts.is_tick(function);
        let armed = if tick {
            let at = self.ticks.get_mut(&e.cpu).and_then(|t| t.at.take());
            if at.is_none() && cancelled.is_none() && self.ticks.get(&e.cpu).is_some_and(|t| t.off) {
                // Who started it again was not recorded.
                self.ticks.remove(&e.cpu);
            }
            at
        } else {
            self.hrtimers.disarm(hrtimer).map(|(_, expires)| expires)
        };
        let armed = armed.or(cancelled);
        let (upper, by_period) = (self.upper.remove(&hrtimer), self.by_period.remove(&hrtimer));
        let confidence = match armed {
            None => Confidence::Bounded,
            Some(_) if upper => Confidence::Bounded,
            Some(_) if by_period => Confidence::Derived,
            Some(_) => Confidence::Recorded,
        };
        let due =
            armed.or(handed).and_then(|at| u64::try_from(at).ok()).map(|at_ns| Due { at_ns, confidence });
        if tick { Fired::Tick(due) } else { Fired::Hrtimer(due) }
    }

    /// A timer is armed on `cpu` for `at` that was armed for `before`. The clock event is programmed for what comes first.
    fn moves(&mut self, cpu: u32, before: Option<i64>, at: Option<i64>) {
        if self.facts.kernel.cancels_lazily() {
            let of = self.lingering.entry(cpu).or_default();
            of.extend(before);
            of.retain(|expires| at.is_none_or(|at| *expires < at));
        }
    }

    /// A timer is cancelled, or on older kernels about to expire.
    fn cancel_hrtimer(&mut self, e: &Event, hrtimer: u64) {
        if self.facts.no_cancels.contains(&(hrtimer, e.ts_ns)) {
            return;
        }
        let tick = self.ticks.get_mut(&e.cpu).filter(|t| t.id == hrtimer).and_then(|t| {
            t.off = true;
            t.at.take()
        });
        let other = self.hrtimers.disarm(hrtimer).map(|(_, expires)| expires);
        if let Some(expires) = tick.or(other) {
            self.cancelled.hold(e, hrtimer, expires);
        }
        if let Some(expires) = tick.or(other).filter(|_| self.facts.kernel.cancels_lazily()) {
            self.lingering.entry(e.cpu).or_default().insert(expires);
        }
    }

    /// Whether the tick of `cpu` is stopped by what its timer was last armed for; `None` where that was not seen.
    pub(crate) fn tick_off(&self, cpu: u32) -> Option<bool> {
        self.ticks.get(&cpu).map(|t| t.off)
    }

    /// Whether the timer of a tick that is stopped was last armed for something nearer, since this was asked last. The idle loop does so
    /// when the governor has answered: it was given what the clock event was programmed for before.
    pub(crate) fn came_nearer(&mut self, cpu: u32) -> bool {
        self.ticks.get_mut(&cpu).is_some_and(|tick| std::mem::take(&mut tick.nearer))
    }

    /// Where expiries are not recorded: what is due on `cpu` when its timers are seen to be looked after, at `ts_ns`.
    pub(crate) fn due(&mut self, cpu: u32, ts_ns: u64) -> Vec<Fired> {
        let now = ts_ns as i64;
        let due = |at: i64, known| Some(Due { at_ns: u64::try_from(at).ok()?, confidence: known });
        let mut fired = Vec::new();
        if let Some(tick) = self.ticks.get_mut(&cpu)
            && let Some(at) = tick.at.take_if(|at| *at <= now)
        {
            fired.push(Fired::Tick(due(at, Confidence::Derived)));
        }
        while let (at, id) = self.hrtimers.first(cpu)
            && at <= now
        {
            self.hrtimers.disarm(id);
            let upper = self.upper.remove(&id);
            fired
                .push(Fired::Hrtimer(due(at, if upper { Confidence::Bounded } else { Confidence::Derived })));
        }
        fired
    }

    /// The tick of `cpu` is stopped. Where cancels are not recorded, its timer is gone unless it is armed for something else next.
    pub(crate) fn tick_stops(&mut self, cpu: u32) {
        if self.facts.cancels == 0
            && let Some(tick) = self.ticks.get_mut(&cpu)
        {
            tick.at = None;
        }
    }

    /// Lines are missing up to `to_ns`: what was due before is gone, and the others may be.
    pub(crate) fn hole(&mut self, to_ns: u64) {
        let to_ns = to_ns.cast_signed();
        for timers in [&mut self.hrtimers, &mut self.local, &mut self.global] {
            timers.forget_all_before(to_ns);
            self.doubtful.extend(timers.ids());
        }
        self.ticks.retain(|_, tick| tick.at.is_some_and(|at| at >= to_ns));
        self.lingering.clear();
        self.programmed.clear();
        self.handed_on.clear();
    }

    /// The kernel stops the tick of `cpu`. Whether it was off by what was seen of it: then not all that starts it is recorded.
    pub(crate) fn stops_again(&mut self, cpu: u32) -> bool {
        let again = self.ticks.get(&cpu).is_some_and(|tick| tick.off);
        if again {
            self.ticks.remove(&cpu);
            self.refuted.entry(cpu).or_default().0 += 1;
        }
        again
    }

    /// A timer interrupt came to `cpu` for which no timer was seen to be armed. Since 7.0 a clock event that stays programmed for one
    /// that is gone brings some, but then hrtimers are armed in between.
    pub(crate) fn unexplained(&mut self, cpu: u32) {
        if !self.facts.hrtimers() {
            return;
        }
        if self.facts.kernel.cancels_lazily() {
            *self.unexplained.entry(cpu).or_default() += 1;
        } else {
            self.refuted.entry(cpu).or_default().0 += 1;
        }
    }

    /// Forgets timers of `cpu` that must have fired by `ts_ns`: where that is recorded those that are long overdue, else all
    /// that are due.
    fn forget_stale(&mut self, cpu: u32, ts_ns: u64) {
        let (now, stale) = (ts_ns as i64, (ts_ns as i64).saturating_sub(STALE_NS));
        if self.facts.expiries == 0 {
            let _ = self.due(cpu, ts_ns);
        }
        let forgotten = self.hrtimers.forget_before(cpu, stale);
        self.refuted.entry(cpu).or_default().0 += forgotten;
        let all_seen = self.facts.wheel_cancels + self.facts.wheel_expiries > 0;
        let stale = if all_seen { stale } else { now };
        self.local.forget_before(cpu, stale);
        self.global.forget_before(cpu, stale);
    }

    /// What `cpu` waits for at `ts_ns`, its tick stopped or not; `last_awake` where all other CPUs sleep.
    pub(crate) fn next(&mut self, cpu: u32, ts_ns: u64, stopped: bool, last_awake: bool) -> NextTimers {
        self.arm_unseen(ts_ns);
        self.forget_stale(cpu, ts_ns);
        let (refuted, entries) = self.refuted.entry(cpu).or_default();
        *entries += 1;
        let doubted = *refuted >= REFUTED && refuted.saturating_mul(REFUTED_OF) > *entries
            || self.unexplained.get(&cpu).is_some_and(|times| *times >= REFUTED);
        let unknown_from = self.unknown_from(cpu, ts_ns);
        if let Some(at) = self.programmed.get(&cpu).filter(|at| **at != NEVER_NS) {
            // The clock event is programmed for the first of them: what was due before is gone.
            self.hrtimers.forget_before(cpu, at.saturating_sub(SAME_NS));
        }
        let (hrtimer_at, id) = self.hrtimers.first(cpu);
        if !self.facts.hrtimers() {
            let (confidence, programmed) = (Confidence::Assumed, Confidence::Assumed);
            let (wheel_at, stale_event_at) = (NEVER_NS, NEVER_NS);
            return NextTimers {
                hrtimer_at,
                wheel_at,
                stale_event_at,
                confidence,
                at_most: false,
                programmed,
            };
        }
        let mut known = self.facts.hrtimers_known().max(self.facts.stops_known(cpu));
        if doubted || hrtimer_at < (ts_ns as i64).saturating_sub(OVERDUE_NS) {
            known = known.max(Confidence::Bounded);
        }
        let (wheel_at, confidence) = self.wheel(cpu, ts_ns, stopped, last_awake);
        let tick_at = if stopped { wheel_at } else { self.facts.grid(cpu).after(ts_ns) as i64 };
        let lingering = self.lingering.get(&cpu);
        let lingers = |at: i64| {
            lingering.is_some_and(|of| {
                of.range(at.saturating_sub(SAME_NS)..=at.saturating_add(SAME_NS)).next().is_some()
            })
        };
        let tick_due = self.ticks.get(&cpu).and_then(|t| t.at);
        let mut stale_event_at = NEVER_NS;
        let (hrtimer_at, id) = match self.programmed.get(&cpu) {
            Some(&at) if at < hrtimer_at.min(tick_at).saturating_sub(SAME_NS) => {
                if lingers(at) {
                    stale_event_at = at;
                    (hrtimer_at, id)
                } else if tick_due.is_some_and(|due| due.abs_diff(at) <= SAME_NS.unsigned_abs()) {
                    // For a tick that came due since the governor was asked.
                    (hrtimer_at, id)
                } else {
                    // For one that nobody was seen to arm.
                    (at, UNKNOWN_TIMER)
                }
            }
            _ => (hrtimer_at, id),
        };
        let first = lingering.and_then(|of| of.range(ts_ns as i64 + 1..).next());
        if let Some(&first) = first.filter(|at| self.facts.rearms == 0 && **at < hrtimer_at.min(tick_at)) {
            known = known.max(Confidence::Bounded);
            stale_event_at = first;
        }
        // The value is that of a CPU that waits for a timer of unknown kind: if it does not, it waits longer.
        let (own_wheel_at, own_wheel) = self.local.first(cpu).min(self.global.first(cpu));
        let of_wheel = own_wheel_at < hrtimer_at;
        let unsure = if of_wheel {
            !(stopped && self.ticks.contains_key(&cpu)) && self.doubtful.contains(&own_wheel)
        } else {
            self.doubtful.contains(&id)
        };
        let from_above = |other: i64| hrtimer_at < other && self.upper.contains(&id);
        let worst = |known: Confidence, other: i64| {
            let sooner = unknown_from < hrtimer_at.min(other);
            if sooner || from_above(other) { known.max(Confidence::Bounded) } else { known }
        };
        let of_tick = if hrtimer_at < tick_at { Confidence::Recorded } else { self.facts.grid_known(cpu) };
        let confidence = worst(confidence.max(known), wheel_at);
        let confidence = if unsure { confidence.max(Confidence::Bounded) } else { confidence };
        NextTimers {
            hrtimer_at,
            wheel_at,
            stale_event_at,
            confidence,
            at_most: confidence == Confidence::Bounded && !unsure,
            programmed: worst(known.max(of_tick), tick_at),
        }
    }

    fn wheel(&self, cpu: u32, ts_ns: u64, stopped: bool, last_awake: bool) -> (i64, Confidence) {
        // A stopped tick's timer is armed for the wheel's next expiry, or cancelled: the kernel's own answer.
        if let Some(tick) = self.ticks.get(&cpu).filter(|_| stopped) {
            return (tick.at.unwrap_or(NEVER_NS), Confidence::Recorded);
        }
        let known = self.facts.wheel_known();
        if self.facts.wheel_timers == 0 {
            return (NEVER_NS, known);
        }
        let local = self.local.earliest(cpu);
        let own_global = self.global.earliest(cpu);
        let grid = self.facts.grid(cpu);
        let next_tick = grid.at_or_before(ts_ns) + grid.period_ns;
        let soon = local.min(own_global) <= next_tick as i64;
        let wheel_at = if soon || !self.facts.timer_migration {
            local.min(own_global)
        } else if last_awake {
            // The last CPU awake takes over everybody's timers that may move (since 6.9).
            let ahead = self.handed_on.values().filter(|at| **at >= ts_ns as i64);
            let handed_on = ahead.min().copied().unwrap_or(NEVER_NS);
            local.min(own_global).min(self.global.earliest_elsewhere(cpu)).min(handed_on)
        } else {
            local
        };
        // Who else is awake is a guess where visits are; whose timers count is one where the kernel is not known.
        let moves = own_global.min(self.global.earliest_elsewhere(cpu)) < local;
        let guess = if self.facts.migration_known {
            self.facts.timer_migration && self.facts.switches == 0
        } else {
            moves && self.facts.cpus.len() > 1
        };
        let guess = guess && !soon;
        (wheel_at, if guess { known.max(Confidence::Bounded) } else { known })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cpu_awake_waits_for_what_the_others_handed_on_before_they_were_recorded() {
        let mut facts =
            Facts { armings: 1, expiries: 1, wheel_timers: 1, timer_migration: true, ..Facts::default() };
        facts.grids.insert(0, idlewise_model::TickGrid { period_ns: 4_000_000, phase_ns: 0 });
        let mut armed = Armed::new(&facts);
        let event = |kind| Event { ts_ns: 1_000, cpu: 1, pid: 0, kind };
        let handed_on = |nextevt| event(EventKind::TmigrCpuIdle { cpu: 1, nextevt, wakeup: u64::MAX });
        armed.event(&handed_on(20_000_000));
        assert_eq!(armed.next(0, 2_000, false, true).wheel_at, 20_000_000);
        assert_eq!(armed.next(0, 2_000, false, false).wheel_at, NEVER_NS, "somebody else is awake");
        assert_eq!(armed.next(0, 20_000_001, false, true).wheel_at, NEVER_NS, "long done");
        armed.event(&handed_on(u64::MAX));
        assert_eq!(armed.next(0, 2_000, false, true).wheel_at, NEVER_NS);
        armed.event(&handed_on(20_000_000));
        armed.awake(1);
        assert_eq!(armed.next(0, 2_000, false, true).wheel_at, NEVER_NS, "it looks after its own again");
    }
}
