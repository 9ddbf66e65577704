// SPDX-License-Identifier: GPL-2.0-only
//! Timers that fire or are cancelled although the recording does not show who armed them: they were armed before it began, in a
//! gap, or by a task whose own events are not recorded. The first pass finds them by their end, for the second to know.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::{Event, EventKind, TimerFlags};

use crate::timers::Cancelled;

/// A timer's handler gets a time this much behind its expiry at the most, ns.
pub(crate) const LATEST_NS: i64 = 2_000_000;
/// A cancel so shortly before an expiry of the same timer on the same CPU is part of it whatever the CPU did in between,
/// ns.
const AT_ONCE_NS: u64 = 20_000;

/// One arming that no event shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unseen {
    pub(crate) id: u64,
    pub(crate) cpu: u32,
    /// It was not armed before this time, ns on the trace's clock.
    pub(crate) since_ns: u64,
    pub(crate) expires: Expires,
}

/// For when it was armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expires {
    /// An hrtimer, for this time on its clock, ns.
    At(i64),
    /// An hrtimer, for this time or a little earlier: the clock when its handler ran.
    By(i64),
    /// An hrtimer, for some time after this one, ns on the trace's clock: then it was cancelled.
    After(u64),
    /// A wheel timer, for this jiffy. Its kind, where another arming shows it; the CPU in it is that arming's.
    Jiffy { jiffy: u64, kind: Option<TimerFlags> },
}

/// What armings that were recorded show of the kinds of wheel timers. A timer keeps its kind: who sets it up decides it.
#[derive(Debug, Default)]
struct Kinds {
    /// By timer: its function, and the kind.
    timers: BTreeMap<u64, (u64, TimerFlags)>,
    /// By function: the kind of all its timers, nothing where they differ.
    functions: BTreeMap<u64, Option<TimerFlags>>,
    /// Unseen armings of each timer and function whose kind is not known yet.
    open: BTreeMap<(u64, u64), Vec<usize>>,
}

/// Follows all timers through a recording.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    timers: BTreeMap<u64, Seen>,
    /// When each task was last switched in or out, ns.
    ran: BTreeMap<i32, u64>,
    /// By CPU: the handler that runs there belongs to an unseen arming.
    handling: BTreeMap<u32, usize>,
    found: Vec<Unseen>,
    /// Hrtimers that nobody was seen to arm, by timer and time of their cancel, ns.
    cancels: BTreeMap<(u64, u64), Unseen>,
    /// The ids of timers that are ticks of CPUs.
    ticks: BTreeSet<u64>,
    stopped_ticks: StoppedTicks,
    /// What stopped ticks show of wheel timers that nobody was seen to arm, by their place in `found`.
    waited_for: BTreeMap<usize, TimerFlags>,
    kinds: Kinds,
    /// Hrtimers that fired on another CPU than they were armed on: id and time of arming, then the CPU that they fired
    /// on.
    moved: BTreeMap<(u64, u64), u32>,
    /// Hrtimers that were cancelled a moment ago.
    cancelled: Cancelled<Before>,
    /// Cancels that were none although the CPU went idle or changed its task before the expiry: timer and time.
    no_cancels: BTreeSet<(u64, u64)>,
    late: BTreeMap<(u64, u64), i64>,
}

/// What was known of a timer before it was cancelled.
#[derive(Debug)]
struct Before {
    armed: Option<(u64, u32)>,
    last_ns: u64,
    /// The CPU has gone idle or changed its task since, which no kernel does between the two events of an expiry.
    went_on: bool,
}

/// What the first pass finds.
#[derive(Debug)]
pub(crate) struct Found {
    /// The unseen armings in order of time.
    pub(crate) unseen: Vec<Unseen>,
    /// Hrtimers that fired elsewhere than armed: id and time of arming, ns, then the CPU that they fired on.
    pub(crate) moved: BTreeMap<(u64, u64), u32>,
    /// Cancels that were part of an expiry and do not look so: timer and time, ns.
    pub(crate) no_cancels: BTreeSet<(u64, u64)>,
    /// How much later than they were armed for hrtimers fired, ns, by timer and time of arming, where that was late: they were armed
    /// again unseen, the machine stood still, or the CPU took so long to leave its idle state.
    pub(crate) late: BTreeMap<(u64, u64), i64>,
}

/// What was last seen of a timer.
#[derive(Debug, Default)]
struct Seen {
    armed: Option<(u64, u32)>,
    /// For when an hrtimer was armed last, on its clock, ns.
    expires: Option<i64>,
    last_ns: u64,
    /// A wheel timer that nobody was seen to arm was cancelled on this CPU; an expiry follows at once, or it really was.
    cancelled: Option<u32>,
    repeats: Option<Repeats>,
    /// An hrtimer has fired; it was armed again and had not.
    fired: bool,
    missed: bool,
}

/// A timer that may be periodic: then its next two expiries give away the unseen one.
#[derive(Debug)]
struct Repeats {
    index: usize,
    /// When its handler ran, ns.
    now: i64,
    next: Option<i64>,
}

impl Finder {
    pub(crate) fn event(&mut self, e: &Event) {
        match e.kind {
            EventKind::HrtimerStart { hrtimer, expires, .. } => {
                let _ = self.cancelled.take(e, hrtimer);
                let seen = self.timers.entry(hrtimer).or_default();
                seen.missed |= seen.armed.is_some();
                seen.arm(e);
                seen.expires = Some(expires);
                if let Some((index, expires)) = seen.period(expires)
                    && let Some(found) = self.found.get_mut(index)
                {
                    found.expires = expires;
                }
            }
            EventKind::HrtimerCancel { hrtimer: id } => {
                let seen = self.timers.entry(id).or_default();
                let before = Before { armed: seen.armed, last_ns: seen.last_ns, went_on: false };
                if seen.armed.is_none() {
                    let unseen =
                        Unseen { id, cpu: e.cpu, since_ns: seen.last_ns, expires: Expires::After(e.ts_ns) };
                    self.cancels.insert((id, e.ts_ns), unseen);
                }
                seen.disarm(e);
                self.cancelled.hold(e, id, before);
            }
            EventKind::TimerStart { timer, function, flags, .. } => {
                self.timers.entry(timer).or_default().arm(e);
                self.kinds.armed(timer, function, flags, &mut self.found);
            }
            EventKind::TimerCancel { timer } => {
                let seen = self.timers.entry(timer).or_default();
                seen.cancelled = seen.armed.is_none().then_some(e.cpu);
                // What it was armed since counts until the expiry that may follow.
                seen.armed = None;
                if seen.cancelled.is_none() {
                    seen.last_ns = e.ts_ns;
                }
            }
            EventKind::TimerExpireEntry { timer, function, now } => {
                let seen = self.timers.entry(timer).or_default();
                if let Some(cpu) = seen.cancelled.take() {
                    let kind = self.kinds.of(timer, function, self.found.len());
                    let expires = Expires::Jiffy { jiffy: now, kind };
                    let waited_for = self.stopped_ticks.waited_for(e, cpu, seen.last_ns);
                    self.waited_for.extend(waited_for.map(|flags| (self.found.len(), flags)));
                    self.handling.insert(e.cpu, self.found.len());
                    self.found.push(Unseen { id: timer, cpu, since_ns: seen.last_ns, expires });
                }
                seen.disarm(e);
            }
            EventKind::HrtimerExpireExit { .. }
            | EventKind::TimerExpireExit { .. }
            | EventKind::IrqExit { .. }
            | EventKind::VectorExit { .. }
                if !self.handling.is_empty() =>
            {
                self.handling.remove(&e.cpu);
            }
            EventKind::CpuIdle { cpu, state: Some(_) } => self.went_on(cpu, e.ts_ns),
            EventKind::Lost { .. } => self.went_on(e.cpu, e.ts_ns),
            EventKind::SchedSwitch { prev_pid, next_pid, .. } => {
                self.went_on(e.cpu, e.ts_ns);
                self.handling.remove(&e.cpu);
                self.ran.insert(prev_pid, e.ts_ns);
                self.ran.insert(next_pid, e.ts_ns);
            }
            EventKind::SchedWaking { pid, .. } => self.wakes(e, pid),
            _ => {}
        }
    }

    /// An hrtimer expires: if it was cancelled for that, what was known of it before.
    fn cancelled_to_expire(&mut self, e: &Event, id: u64) -> Option<Before> {
        let (ts_ns, before) = self.cancelled.take(e, id)?;
        let at_once = e.ts_ns.saturating_sub(ts_ns) <= AT_ONCE_NS;
        if at_once && before.went_on {
            self.no_cancels.insert((id, ts_ns));
        }
        let expires = at_once || !before.went_on;
        if expires {
            self.cancels.remove(&(id, ts_ns));
        }
        expires.then_some(before)
    }

    /// Hrtimers that are armed and will be seen to fire, and for when on their clock, ns: ticks, and those that have fired each time.
    /// Others may do so on a CPU that is not recorded.
    pub(crate) fn armed(&self) -> impl Iterator<Item = (u64, i64)> {
        let fires = |(id, seen): &(&u64, &Seen)| self.ticks.contains(id) || seen.fired && !seen.missed;
        let armed = self.timers.iter().filter(|(_, seen)| seen.armed.is_some()).filter(fires);
        armed.filter_map(|(id, seen)| seen.expires.map(|expires| (*id, expires)))
    }

    /// A tick's timer fired: the tick is periodic, so nobody needs to be seen to arm it.
    pub(crate) fn tick_fired(&mut self, e: &Event, id: u64) {
        self.ticks.insert(id);
        let _ = self.cancelled_to_expire(e, id);
    }

    /// A tick's timer was armed for `expires`.
    pub(crate) fn tick_armed(&mut self, e: &Event, id: u64, expires: i64) {
        self.ticks.insert(id);
        self.stopped_ticks.armed(e, expires);
    }

    /// An hrtimer's handler was given this time, ns on the timers' clock.
    pub(crate) fn clock(&mut self, e: &Event, now: i64) {
        self.stopped_ticks.clock_offset = Some(now.saturating_sub(e.ts_ns.cast_signed()));
    }

    /// An hrtimer other than a tick's fired.
    pub(crate) fn hrtimer_fired(&mut self, e: &Event, id: u64, now: i64) {
        let before = self.cancelled_to_expire(e, id);
        let seen = self.timers.entry(id).or_default();
        seen.fired = true;
        if let Some(before) = before {
            seen.armed = before.armed;
            seen.last_ns = before.last_ns;
        }
        if let (Some((ts_ns, _)), Some(expires)) = (seen.armed, seen.expires)
            && let late_ns = now.saturating_sub(expires)
            && late_ns > LATEST_NS
        {
            self.late.insert((id, ts_ns), late_ns);
        }
        match seen.armed {
            Some((_, cpu)) if cpu == e.cpu => {}
            Some((ts_ns, _)) => {
                self.moved.insert((id, ts_ns), e.cpu);
            }
            None => {
                let index = self.found.len();
                let expires = Expires::By(now);
                self.found.push(Unseen { id, cpu: e.cpu, since_ns: seen.last_ns, expires });
                self.handling.insert(e.cpu, index);
                seen.repeats = Some(Repeats { index, now, next: None });
            }
        }
        seen.disarm(e);
    }

    /// The timer whose handler runs on `cpu` was armed by another than whom it wakes: a worker, say, takes up anybody's work.
    pub(crate) fn armed_by_another(&mut self, cpu: u32) {
        self.handling.remove(&cpu);
    }

    /// A timer's handler that wakes a task was most likely armed by that task, when it ran last.
    fn wakes(&mut self, e: &Event, pid: i32) {
        let Some(unseen) = self.handling.get(&e.cpu).and_then(|i| self.found.get_mut(*i)) else { return };
        let ran = self.ran.get(&pid).copied().unwrap_or(0);
        unseen.since_ns = unseen.since_ns.max(ran);
    }

    /// `cpu` goes idle, changes its task or has lost events.
    fn went_on(&mut self, cpu: u32, ts_ns: u64) {
        self.cancelled.keep(cpu, |at_ns, before| {
            before.went_on = true;
            ts_ns.saturating_sub(at_ns) <= AT_ONCE_NS
        });
    }

    pub(crate) fn finish(mut self) -> Found {
        self.kinds.by_function(&mut self.found);
        for (n, flags) in self.waited_for {
            if let Some(Unseen { expires: Expires::Jiffy { kind, .. }, .. }) = self.found.get_mut(n) {
                kind.get_or_insert(flags);
            }
        }
        let ticks = self.ticks;
        self.found.extend(self.cancels.into_values().filter(|u| !ticks.contains(&u.id)));
        self.found.sort_by_key(|u| u.since_ns);
        Found { unseen: self.found, moved: self.moved, no_cancels: self.no_cancels, late: self.late }
    }
}

/// For when each CPU's tick was armed while it was stopped: the next wheel timer that it waits for.
#[derive(Debug, Default)]
struct StoppedTicks {
    /// The timers' clock less the trace's, ns, once it was seen.
    clock_offset: Option<i64>,
    /// By CPU, when it was armed, ns, and for when on the timers' clock: only those that none behind them goes beyond.
    farthest: BTreeMap<u32, Vec<(u64, i64)>>,
}

/// No tick that goes on is armed for so long ahead, ns.
const STOPPED_NS: i64 = 10_500_000;

impl StoppedTicks {
    fn armed(&mut self, e: &Event, expires: i64) {
        let now = self.clock_offset.map(|offset| e.ts_ns.cast_signed().saturating_add(offset));
        if now.is_some_and(|now| expires > now.saturating_add(STOPPED_NS)) {
            let of = self.farthest.entry(e.cpu).or_default();
            while of.pop_if(|(_, before)| *before <= expires).is_some() {}
            of.push((e.ts_ns, expires));
        }
    }

    /// Whether `cpu` waited for a timer that was armed from `since_ns` on, and is run by `e`. It did if its stopped tick was armed for just
    /// that time, and not if for later; then any CPU may look after the timer.
    fn waited_for(&self, e: &Event, cpu: u32, since_ns: u64) -> Option<TimerFlags> {
        let of = self.farthest.get(&cpu)?;
        let (_, farthest) = of.get(of.partition_point(|(at_ns, _)| *at_ns < since_ns))?;
        let now = e.ts_ns.cast_signed().saturating_add(self.clock_offset?);
        match now.saturating_sub(*farthest) {
            ..0 => Some(TimerFlags::default()),
            0..STOPPED_NS => Some(TimerFlags::PINNED),
            _ => None,
        }
    }
}

impl Kinds {
    /// `timer` is armed with `flags`: so it was each time that nobody was seen to arm it.
    fn armed(&mut self, timer: u64, function: u64, flags: TimerFlags, found: &mut [Unseen]) {
        self.timers.insert(timer, (function, flags));
        let of_all = self.functions.entry(function).or_insert(Some(flags));
        *of_all = of_all.filter(|all| all.same_kind(flags));
        for n in self.open.remove(&(timer, function)).unwrap_or_default() {
            set_kind(found, n, flags);
        }
    }

    /// The kind of `timer`, whose unseen arming is the `n`th.
    fn of(&mut self, timer: u64, function: u64, n: usize) -> Option<TimerFlags> {
        let known = self.timers.get(&timer).filter(|(of, _)| *of == function).map(|(_, kind)| *kind);
        if known.is_none() {
            self.open.entry((timer, function)).or_default().push(n);
        }
        known
    }

    /// What the timers show that were armed for the same function, for those that were never seen to be armed themselves.
    fn by_function(self, found: &mut [Unseen]) {
        for ((_, function), these) in self.open {
            if let Some(kind) = self.functions.get(&function).copied().flatten() {
                these.into_iter().for_each(|n| set_kind(found, n, kind));
            }
        }
    }
}

fn set_kind(found: &mut [Unseen], n: usize, of: TimerFlags) {
    if let Some(Unseen { expires: Expires::Jiffy { kind, .. }, .. }) = found.get_mut(n) {
        *kind = Some(of);
    }
}

impl Seen {
    fn arm(&mut self, e: &Event) {
        self.armed = Some((e.ts_ns, e.cpu));
        self.cancelled = None;
        self.last_ns = e.ts_ns;
    }

    fn disarm(&mut self, e: &Event) {
        self.armed = None;
        self.last_ns = e.ts_ns;
    }

    /// A periodic timer goes on from where it expired, not from when its handler ran: of two expiries on such a grid the
    /// one before them follows.
    fn period(&mut self, expires: i64) -> Option<(usize, Expires)> {
        let repeats = self.repeats.as_mut()?;
        let Some(next) = repeats.next else {
            repeats.next = Some(expires);
            return None;
        };
        let (index, now) = (repeats.index, repeats.now);
        self.repeats = None;
        let before = next.checked_sub(expires.checked_sub(next)?)?;
        let fits = before < next && before <= now && now.saturating_sub(before) <= LATEST_NS;
        fits.then_some((index, Expires::At(before)))
    }
}
