// SPDX-License-Identifier: GPL-2.0-only
//! Second pass over a trace: follows each CPU's idle task and writes down its stays.

use std::collections::BTreeMap;

use idlewise_model::{
    Change, Confidence, CpuTape, Event, EventKind, Health, HealthKind, IdleTable, Miss, NEVER_NS,
    NO_LATENCY_LIMIT_NS, Piece, PieceFlags, Source, Tape, TapeCpu, TapeInput, TickGrid, Vector, WakeCause,
};
use idlewise_platform::Platform;

use crate::causes::{Evidence, IrqClass};
use crate::pelt::Pelt;
use crate::survey::Facts;
use crate::timers::Pending;

/// Without sched events: idle again this soon after the last handler means that no task ran in between.
const SAME_VISIT_NS: u64 = 20_000;
/// How far a wake may lie behind a tick, beyond the state's exit latency, and still be the tick's, ns.
const TICK_SLACK_NS: u64 = 50_000;
/// No CPU sleeps longer than this: the clock has jumped (which the reader counts), ns.
const LONGEST_STAY_NS: u64 = 3_600_000_000_000;
/// A timer this long overdue was cancelled unseen, ns.
const STALE_NS: i64 = 20_000_000;
/// RCU's request for its softirq follows the tick this soon, ns.
const RCU_AFTER_TICK_NS: u64 = 1_000_000;
/// The tick's handlers take this long where the recording does not show it, ns.
const TICK_HANDLER_NS: u32 = 5_000;
/// The softirq that runs wheel timers.
const TIMER_SOFTIRQ: u32 = 1;
/// The softirq of RCU.
const RCU_SOFTIRQ: u32 = 9;
/// `prev_state` of a task that sleeps uninterruptibly (`TASK_UNINTERRUPTIBLE` and nothing else).
const UNINTERRUPTIBLE: u64 = 2;
/// Global latency limit that means none, us (`governors.md` 1.7).
const NO_LIMIT_US: i32 = 2_000_000_000;

/// Makes a tape from the events of a trace in order of time.
pub(crate) struct Maker<'a> {
    facts: &'a Facts,
    machine: &'a Platform,
    cpus: BTreeMap<u32, Cpu>,
    hrtimers: Pending,
    /// Pinned wheel timers, and on kernels without timer migration all.
    local: Pending,
    /// Wheel timers that another CPU may run.
    global: Pending,
    /// Where each CPU's tick timer is armed: expiry, ns on the trace clock, and its id.
    tick_timers: BTreeMap<u32, (u64, Option<i64>)>,
    uninterruptible: BTreeMap<i32, u32>,
    latency: Vec<Change<i64>>,
    health: Health,
}

#[derive(Default)]
struct Cpu {
    pieces: Vec<Piece>,
    in_visit: bool,
    first_of_visit: bool,
    /// The kernel's `idle_entrytime`, ns, where the trace shows it.
    now_ns: Option<u64>,
    stopped: bool,
    stopped_at_ns: u64,
    stopped_before: bool,
    gap: bool,
    stay: Option<Stay>,
    pelt: Pelt,
    iowait: u16,
    tick_handlers: Vec<u32>,
    /// When RCU asked for its softirq, ns.
    rcu_raised: Vec<u64>,
}

impl Cpu {
    /// What was known of the visit does not hold any more: events were lost, or the clock jumped.
    fn forget(&mut self) {
        self.gap = true;
        self.stay = None;
        self.in_visit = false;
        self.stopped = false;
        self.stopped_before = false;
        self.now_ns = None;
    }
}

/// A stay that is not written down yet: its end or what followed is still to come.
struct Stay {
    piece: Piece,
    exit_ns: Option<u64>,
    seen: Evidence,
}

impl<'a> Maker<'a> {
    pub(crate) fn new(facts: &'a Facts, machine: &'a Platform) -> Self {
        let mut maker = Self {
            facts,
            machine,
            cpus: facts.cpus.keys().map(|cpu| (*cpu, Cpu::default())).collect(),
            hrtimers: Pending::default(),
            local: Pending::default(),
            global: Pending::default(),
            tick_timers: BTreeMap::new(),
            uninterruptible: BTreeMap::new(),
            latency: Vec::new(),
            health: Health::default(),
        };
        for &(id, cpu, expires) in &facts.early_hrtimers {
            maker.arm_hrtimer(id, cpu, expires);
        }
        for &(id, cpu, jiffies) in &facts.early_wheel {
            maker.local.arm(id, cpu, facts.jiffies_on_trace_clock(cpu, jiffies));
        }
        maker
    }

    pub(crate) fn event(&mut self, e: &Event) {
        match e.kind {
            EventKind::CpuIdle { cpu, state: Some(state) } => self.entry(cpu, e.ts_ns, state),
            EventKind::CpuIdle { cpu, state: None } => self.exit(cpu, e.ts_ns),
            EventKind::CpuIdleMiss { cpu, below, .. } => self.miss(cpu, e.ts_ns, below),
            EventKind::SchedSwitch { prev_pid, prev_state, next_pid, .. } => {
                self.switch(e, prev_pid, prev_state, next_pid);
            }
            EventKind::SchedWaking { pid, target_cpu } => self.waking(e, pid, target_cpu),
            EventKind::SchedWakeup { pid, target_cpu, .. } => self.waking(e, pid, target_cpu),
            EventKind::SchedWakeIdleWithoutIpi { cpu } => self.remote_wake(cpu),
            EventKind::TickStop { success: true, .. } => {
                let c = self.cpu(e.cpu);
                c.stopped = true;
                c.stopped_at_ns = e.ts_ns;
            }
            EventKind::PmQosUpdateTarget { curr_value } => self.latency_limit(e.ts_ns, curr_value),
            EventKind::Lost { .. } => self.lost(e.cpu),
            _ => self.timer_or_interrupt(e),
        }
        if e.pid != 0 && self.facts.switches == 0 {
            self.task_seen(e.cpu, e.ts_ns);
        }
    }

    fn timer_or_interrupt(&mut self, e: &Event) {
        match e.kind {
            EventKind::HrtimerStart { hrtimer, function, expires, .. } => {
                if self.is_tick(function) {
                    let at = self.facts.hrtimer_on_trace_clock(expires);
                    self.tick_timers.insert(e.cpu, (hrtimer, at));
                } else {
                    self.arm_hrtimer(hrtimer, e.cpu, expires);
                }
            }
            EventKind::HrtimerCancel { hrtimer } => {
                self.hrtimers.disarm(hrtimer);
                if let Some(tick) = self.tick_timers.get_mut(&e.cpu).filter(|t| t.0 == hrtimer) {
                    tick.1 = None;
                }
            }
            EventKind::HrtimerExpireEntry { hrtimer, function, now } => {
                self.hrtimer_fired(e, hrtimer, function, now)
            }
            EventKind::TimerStart { timer, expires, bucket_expiry, flags, .. } => {
                self.local.disarm(timer);
                self.global.disarm(timer);
                if !flags.deferrable() {
                    let cpu = flags.cpu();
                    let at = self.facts.jiffies_on_trace_clock(cpu, bucket_expiry.unwrap_or(expires));
                    let migrates = self.facts.timer_migration && !flags.pinned();
                    let base = if migrates { &mut self.global } else { &mut self.local };
                    base.arm(timer, cpu, at);
                }
            }
            EventKind::TimerCancel { timer } => {
                self.local.disarm(timer);
                self.global.disarm(timer);
            }
            EventKind::TimerExpireEntry { .. } => self.see(e, |seen, _| seen.wheel = true),
            EventKind::SoftirqEntry { vec } => {
                let runs_wheel = vec == TIMER_SOFTIRQ && self.facts.wheel_timers == 0;
                self.see(e, |seen, _| seen.wheel |= runs_wheel);
            }
            EventKind::SoftirqRaise { vec: RCU_SOFTIRQ } => self.cpu(e.cpu).rcu_raised.push(e.ts_ns),
            EventKind::VectorEntry { vector } => {
                let cause = match vector {
                    Vector::LocalTimer => WakeCause::Timer,
                    Vector::Other => WakeCause::Irq,
                    _ => WakeCause::Ipi,
                };
                self.see(e, |seen, ts| seen.interrupt(cause, ts));
            }
            EventKind::IrqEntry { irq } => {
                let cause = match self.facts.irqs.get(&irq) {
                    Some(IrqClass::Timer) => WakeCause::Timer,
                    Some(IrqClass::Ipi) => WakeCause::Ipi,
                    _ => WakeCause::Irq,
                };
                self.see(e, |seen, ts| seen.interrupt(cause, ts));
            }
            EventKind::IpiEntry { ipi } => {
                let broadcast = ipi == idlewise_model::Ipi::TimerBroadcast;
                let cause = if broadcast { WakeCause::Timer } else { WakeCause::Ipi };
                self.see(e, |seen, ts| seen.interrupt(cause, ts));
            }
            EventKind::VectorExit { .. }
            | EventKind::IrqExit { .. }
            | EventKind::IpiExit { .. }
            | EventKind::SoftirqExit { .. } => self.handled(e),
            _ => {}
        }
    }

    fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        self.cpus.entry(cpu).or_default()
    }

    fn is_tick(&self, function: u64) -> bool {
        self.facts.tick_functions.get(&function).copied().unwrap_or(false)
    }

    fn table(&self, cpu: u32) -> Option<&'a IdleTable> {
        self.machine.cluster_of(cpu).map(|c| &c.table)
    }

    fn arm_hrtimer(&mut self, id: u64, cpu: u32, expires: i64) {
        match self.facts.hrtimer_on_trace_clock(expires) {
            Some(at) => self.hrtimers.arm(id, cpu, at),
            None => {
                self.hrtimers.disarm(id);
            }
        }
    }

    fn hrtimer_fired(&mut self, e: &Event, hrtimer: u64, function: u64, now: i64) {
        let fallback = self.facts.hrtimer_on_trace_clock(now);
        if self.is_tick(function) {
            let armed = self.tick_timers.get_mut(&e.cpu).and_then(|t| t.1.take());
            let at = armed.or(fallback).and_then(|t| u64::try_from(t).ok());
            self.see(e, |seen, _| {
                seen.tick = true;
                seen.tick_at_ns = at;
            });
            return;
        }
        let armed = self.hrtimers.disarm(hrtimer).map(|(_, expires)| expires);
        let at = armed.or(fallback).and_then(|t| u64::try_from(t).ok());
        self.see(e, |seen, ts| {
            let at = at.unwrap_or(ts);
            seen.hrtimer_at_ns = Some(seen.hrtimer_at_ns.map_or(at, |t| t.min(at)));
        });
    }

    /// Notes something that was seen while the CPU is idle or just woken.
    fn see(&mut self, e: &Event, note: impl FnOnce(&mut Evidence, u64)) {
        if let Some(stay) = self.cpu(e.cpu).stay.as_mut() {
            note(&mut stay.seen, e.ts_ns);
            stay.seen.handled(e.ts_ns);
        }
    }

    fn handled(&mut self, e: &Event) {
        let cpu = self.cpu(e.cpu);
        if cpu.in_visit || cpu.stay.is_some() {
            cpu.now_ns = Some(e.ts_ns);
        }
        if let Some(stay) = cpu.stay.as_mut() {
            stay.seen.handled(e.ts_ns);
        }
    }

    fn remote_wake(&mut self, cpu: u32) {
        if let Some(stay) = self.cpu(cpu).stay.as_mut().filter(|s| s.exit_ns.is_none()) {
            stay.seen.remote_wake = true;
        }
    }

    fn waking(&mut self, e: &Event, pid: i32, target_cpu: u32) {
        if let Some(cpu) = self.uninterruptible.remove(&pid) {
            let waiting = &mut self.cpu(cpu).iowait;
            *waiting = waiting.saturating_sub(1);
        }
        if e.cpu != target_cpu {
            self.remote_wake(target_cpu);
        }
    }

    fn latency_limit(&mut self, ts_ns: u64, us: i32) {
        let none = !(0..NO_LIMIT_US).contains(&us);
        let value = if none { NO_LATENCY_LIMIT_NS } else { i64::from(us) * 1000 };
        self.latency.push(Change { at_ns: ts_ns, value });
    }

    fn lost(&mut self, cpu: u32) {
        let c = self.cpu(cpu);
        c.forget();
    }

    fn switch(&mut self, e: &Event, prev_pid: i32, prev_state: u64, next_pid: i32) {
        if prev_pid == 0 {
            self.visit_over(e.cpu, e.ts_ns);
        } else if prev_state == UNINTERRUPTIBLE && self.uninterruptible.insert(prev_pid, e.cpu).is_none() {
            let waiting = &mut self.cpu(e.cpu).iowait;
            *waiting = waiting.saturating_add(1);
        }
        if next_pid == 0 && prev_pid != 0 {
            let c = self.cpu(e.cpu);
            c.pelt.update(e.ts_ns, true);
            c.in_visit = true;
            c.first_of_visit = true;
            c.stopped = false;
            c.stopped_before = false;
            c.now_ns = Some(e.ts_ns);
        }
    }

    /// Without sched events, any event of a task shows that the idle task was switched out.
    fn task_seen(&mut self, cpu: u32, ts_ns: u64) {
        if self.cpu(cpu).stay.as_ref().is_some_and(|s| s.exit_ns.is_some()) {
            self.visit_over(cpu, ts_ns);
        }
    }

    fn visit_over(&mut self, cpu: u32, ts_ns: u64) {
        self.write_down(cpu, true);
        let c = self.cpu(cpu);
        c.pelt.update(ts_ns, false);
        c.in_visit = false;
        c.stopped = false;
        c.now_ns = None;
    }

    fn entry(&mut self, cpu: u32, ts_ns: u64, state: u32) {
        if self.cpu(cpu).stay.as_ref().is_some_and(|s| s.exit_ns.is_none()) {
            self.health.add(HealthKind::EntryWithoutExit, 1, || place(cpu, ts_ns));
            self.cpu(cpu).stay = None;
        }
        if self.facts.switches == 0 {
            self.guess_visit(cpu, ts_ns);
        }
        self.write_down(cpu, false);
        if self.cpu(cpu).pieces.last().is_some_and(|p| ts_ns.saturating_sub(p.exit_at_ns()) > LONGEST_STAY_NS)
        {
            self.cpu(cpu).forget();
        }
        let n = self.table(cpu).map_or(idlewise_model::MAX_STATES, IdleTable::len);
        if state as usize >= n {
            self.health
                .add(HealthKind::StateOutOfTable, 1, || format!("state {state}, {}", place(cpu, ts_ns)));
        }
        let stopped_after = self.cpu(cpu).stopped;
        let stale = (ts_ns as i64).saturating_sub(STALE_NS);
        self.hrtimers.forget_before(cpu, stale);
        self.local.forget_before(cpu, stale);
        self.global.forget_before(cpu, stale);
        let timers = self.next_timers(cpu, ts_ns, stopped_after);
        let stops_known = self.facts.tick_stops > 0;
        let c = self.cpu(cpu);
        if !c.in_visit {
            // The visit began before the recording, or its first switch was lost.
            c.in_visit = true;
            c.first_of_visit = true;
            c.stopped_before = false;
        }
        let mut flags = PieceFlags::default();
        flags.set(PieceFlags::VISIT_START, c.first_of_visit);
        flags.set(PieceFlags::STOPPED_BEFORE, c.stopped_before);
        flags.set(PieceFlags::STOPPED_AFTER, stopped_after);
        flags.set(PieceFlags::TICK_KNOWN, stops_known);
        flags.set(PieceFlags::AFTER_GAP, c.gap);
        flags.set_timer_confidence(timers.confidence);
        c.first_of_visit = false;
        c.gap = false;
        let since = |at: i64| if at == NEVER_NS { NEVER_NS } else { at.saturating_sub(ts_ns as i64) };
        let piece = Piece {
            start_ns: ts_ns,
            wake_ns: 0,
            hrtimer_ns: since(timers.hrtimer_at),
            wheel_ns: since(timers.wheel_at),
            exit_lag_ns: 0,
            response_ns: 0,
            handler_ns: 0,
            entry_lag_ns: c.now_ns.map_or(0, |now| clip(ts_ns.saturating_sub(now))),
            util: c.pelt.util(),
            iowait: c.iowait,
            state: u8::try_from(state).unwrap_or(Piece::NO_STATE),
            cause: WakeCause::Unknown,
            flags,
        };
        c.stay = Some(Stay { piece, exit_ns: None, seen: Evidence::default() });
    }

    fn exit(&mut self, cpu: u32, ts_ns: u64) {
        let open = self.cpu(cpu).stay.as_mut().filter(|s| s.exit_ns.is_none());
        match open {
            Some(stay) => stay.exit_ns = Some(ts_ns),
            None => self.health.add(HealthKind::ExitWithoutEntry, 1, || place(cpu, ts_ns)),
        }
        let c = self.cpu(cpu);
        c.stopped_before = c.stopped;
    }

    fn miss(&mut self, cpu: u32, ts_ns: u64, below: bool) {
        let bit = if below { PieceFlags::MISS_BELOW } else { PieceFlags::MISS_ABOVE };
        match self.cpu(cpu).stay.as_mut().filter(|s| s.exit_ns.is_some()) {
            Some(stay) => stay.piece.flags.set(bit, true),
            None => self.health.add(HealthKind::MissWithoutStay, 1, || place(cpu, ts_ns)),
        }
    }

    /// Without sched events a visit is over when the CPU stayed awake longer than its interrupt handlers did.
    fn guess_visit(&mut self, cpu: u32, ts_ns: u64) {
        let Some(stay) = &self.cpu(cpu).stay else { return };
        let Some(exit_ns) = stay.exit_ns else { return };
        let busy_from = exit_ns.max(stay.seen.handled_ns);
        let same = ts_ns.saturating_sub(busy_from) <= SAME_VISIT_NS;
        if !same {
            self.visit_over(cpu, exit_ns);
            let c = self.cpu(cpu);
            c.pelt.update(ts_ns, true);
            // A stop since the exit belongs to the visit that begins now.
            c.stopped = c.stopped_at_ns > exit_ns;
            c.stopped_before = false;
        }
    }

    fn next_timers(&self, cpu: u32, ts_ns: u64, stopped: bool) -> NextTimers {
        let hrtimer_at = self.hrtimers.earliest(cpu);
        if self.facts.hrtimers == 0 {
            return NextTimers { hrtimer_at, wheel_at: NEVER_NS, confidence: Confidence::Assumed };
        }
        // A stopped tick's timer is armed for the wheel's next expiry, or cancelled: the kernel's own answer.
        if let Some((_, at)) = self.tick_timers.get(&cpu).filter(|_| stopped) {
            return NextTimers {
                hrtimer_at,
                wheel_at: at.unwrap_or(NEVER_NS),
                confidence: Confidence::Recorded,
            };
        }
        if self.facts.wheel_timers == 0 {
            return NextTimers { hrtimer_at, wheel_at: NEVER_NS, confidence: Confidence::Bounded };
        }
        let local = self.local.earliest(cpu);
        let own_global = self.global.earliest(cpu);
        let grid = self.facts.grid(cpu);
        let next_tick = grid.at_or_before(ts_ns) + grid.period_ns;
        let soon = local.min(own_global) <= next_tick as i64;
        let wheel_at = if soon || !self.facts.timer_migration {
            local.min(own_global)
        } else if self.others_idle(cpu) {
            // The last CPU awake takes over everybody's timers that may move (since 6.9).
            local.min(own_global).min(self.global.earliest_elsewhere(cpu))
        } else {
            local
        };
        NextTimers { hrtimer_at, wheel_at, confidence: Confidence::Derived }
    }

    fn others_idle(&self, cpu: u32) -> bool {
        self.cpus.iter().all(|(other, c)| *other == cpu || c.in_visit)
    }

    /// Writes down the stay that is over, if there is one.
    fn write_down(&mut self, cpu: u32, visit_end: bool) {
        let Some(stay) = self.cpu(cpu).stay.take() else { return };
        if stay.exit_ns.is_some_and(|exit_ns| exit_ns.saturating_sub(stay.piece.start_ns) > LONGEST_STAY_NS) {
            self.cpu(cpu).forget();
            return;
        }
        let Some(exit_ns) = stay.exit_ns else {
            self.health.add(HealthKind::EntryWithoutExit, 1, || place(cpu, stay.piece.start_ns));
            return;
        };
        let mut piece = stay.piece;
        let grid = self.facts.grid(cpu);
        let table = self.table(cpu);
        let state = table.and_then(|t| t.states().get(usize::from(piece.state)));
        let polling = state.is_some_and(|s| s.polling);
        let stay_ns = exit_ns.saturating_sub(piece.start_ns);
        let declared_ns = state.map_or(0, |s| s.exit_ns().unsigned_abs());
        let seen = &stay.seen;
        piece.cause = seen.cause();
        if piece.cause == WakeCause::Unknown && polling && !visit_end {
            piece.cause = WakeCause::PollLimit;
        }
        let inside = seen.first.map(|(_, ts)| ts).filter(|ts| *ts <= exit_ns);
        let shown_ns = inside.unwrap_or(exit_ns).saturating_sub(piece.start_ns);
        // Menu's own estimate of the part of a stay that is exit latency (`governors.md` 4.2).
        let share_ns = if shown_ns > 2 * declared_ns { declared_ns } else { shown_ns / 2 };
        let by_latency = piece.start_ns + (shown_ns - share_ns);
        let by_timer = match piece.cause {
            WakeCause::Hrtimer => seen.hrtimer_at_ns,
            WakeCause::Tick | WakeCause::Wheel => seen.tick_at_ns,
            _ => None,
        };
        let mut wake_at = by_timer.unwrap_or(by_latency).clamp(piece.start_ns, exit_ns);
        if by_timer.is_none() && matches!(piece.cause, WakeCause::Timer | WakeCause::Wheel) {
            let latest = seen.first.map_or(exit_ns, |(_, ts)| ts);
            if let Some(tick) = tick_behind(grid, piece.start_ns, latest, declared_ns) {
                wake_at = tick.clamp(piece.start_ns, exit_ns);
                if piece.cause == WakeCause::Timer {
                    piece.cause = WakeCause::Tick;
                }
            }
        }
        piece.wake_ns = wake_at - piece.start_ns;
        piece.exit_lag_ns = clip(exit_ns - wake_at);
        piece.response_ns = clip(inside.unwrap_or(exit_ns).saturating_sub(wake_at));
        piece.handler_ns = clip(seen.handled_ns.saturating_sub(exit_ns));
        let tick_ran = seen.tick || matches!(piece.cause, WakeCause::Tick);
        piece.flags.set(PieceFlags::TICK_RAN, tick_ran);
        piece.flags.set(PieceFlags::VISIT_END, visit_end);
        let verdict = table
            .map_or(Miss::None, |t| t.verdict(piece.state.into(), stay_ns as i64, t.disabled_by_default()));
        let uncounted = verdict == Miss::Above && !piece.flags.has(PieceFlags::MISS_ABOVE);
        piece.flags.set(PieceFlags::REJECTED, self.facts.misses > 0 && uncounted);
        let late_ns = grid.after(piece.start_ns).saturating_add(declared_ns + TICK_SLACK_NS);
        let spanned = late_ns < wake_at;
        if !piece.flags.has(PieceFlags::TICK_KNOWN) {
            piece.flags.set(PieceFlags::STOPPED_AFTER, spanned);
        }
        let c = self.cpu(cpu);
        if piece.cause == WakeCause::Tick {
            let from = inside.unwrap_or(exit_ns);
            let took = seen.handled_ns.saturating_sub(from);
            if took > 0 {
                c.tick_handlers.push(clip(took));
            }
        }
        c.pieces.push(piece);
        if !visit_end && c.now_ns.is_none() {
            c.now_ns = Some(exit_ns.max(seen.handled_ns));
        }
    }

    pub(crate) fn finish(mut self, source: Source, mut health: Health) -> Tape {
        let numbers: Vec<u32> = self.cpus.keys().copied().collect();
        for cpu in &numbers {
            self.close(*cpu);
        }
        let mut cpus = Vec::new();
        for (cpu, c) in std::mem::take(&mut self.cpus) {
            let mut tape = CpuTape {
                cpu,
                usable: self.usable(cpu),
                tick: self.facts.grid(cpu),
                tick_handler_ns: median(c.tick_handlers),
                pieces: c.pieces,
                latency: self.latency.clone(),
                disabled: Vec::new(),
            };
            if self.facts.hrtimers == 0 {
                bound_timers(&mut tape);
            }
            mark_rcu(&mut tape, &c.rcu_raised);
            cpus.push(tape);
        }
        health.merge(&self.health);
        let inputs = self.inputs(&cpus);
        Tape { source, inputs, notes: self.notes(), health, cpus }
    }

    /// What is open at the end of the recording.
    fn close(&mut self, cpu: u32) {
        let Some(stay) = &self.cpu(cpu).stay else { return };
        let (start_ns, ended) = (stay.piece.start_ns, stay.exit_ns.is_some());
        if ended {
            self.write_down(cpu, true);
        } else {
            self.health.add(HealthKind::EntryWithoutExit, 1, || place(cpu, start_ns));
        }
    }

    fn usable(&self, cpu: u32) -> TapeCpu {
        let seen = self.facts.cpus.get(&cpu).cloned().unwrap_or_default();
        let why = if seen.idle_entries > 0 && seen.idle_exits > 0 {
            return TapeCpu::Usable;
        } else if seen.switches_to_idle > 0 {
            format!(
                "no idle events, though it switched to its idle task {} times: the recording leaves them out",
                seen.switches_to_idle
            )
        } else {
            format!("no idle events ({} other events): never idle, or not recorded", seen.events)
        };
        TapeCpu::Unusable(why)
    }

    fn inputs(&self, cpus: &[CpuTape]) -> Vec<TapeInput> {
        let f = self.facts;
        let pieces = || cpus.iter().filter(|c| c.usable == TapeCpu::Usable).flat_map(|c| &c.pieces);
        let all = pieces().count() as u64;
        let graded = |c: Confidence| {
            let mut counts = [0; 4];
            counts[c as usize] = all;
            counts
        };
        let mut timers = [0; 4];
        let mut wakes = [0; 4];
        for p in pieces() {
            timers[p.timer_confidence() as usize] += 1;
            wakes[wake_confidence(p, f) as usize] += 1;
        }
        let input =
            |name: &str, counts: [u64; 4], how: String| TapeInput { name: name.to_owned(), counts, how };
        let visits = if f.switches > 0 {
            (Confidence::Recorded, "switches to and from the idle task".to_owned())
        } else {
            let how = format!(
                "no sched events: idle again within {} us of the last handler counts as the same visit",
                SAME_VISIT_NS / 1000
            );
            (Confidence::Bounded, how)
        };
        let tick_stop = if f.tick_stops > 0 {
            (Confidence::Recorded, "tick_stop events".to_owned())
        } else {
            (Confidence::Bounded, "no tick_stop events: stopped where a stay spans a tick".to_owned())
        };
        let util = if f.switches > 0 { Confidence::Derived } else { Confidence::Bounded };
        let iowait = if f.switches > 0 { Confidence::Bounded } else { Confidence::Assumed };
        let limits = if f.qos_changes > 0 { Confidence::Recorded } else { Confidence::Assumed };
        vec![
            input("wake", wakes, self.wake_words()),
            input("sleep length", timers, self.timer_words()),
            input("visits", graded(visits.0), visits.1),
            input("tick grid", graded(f.grid_confidence.unwrap_or(Confidence::Assumed)), f.grid_how.clone()),
            input("tick stopped", graded(tick_stop.0), tick_stop.1),
            input(
                "utilisation",
                graded(util),
                "PELT (32 ms) of the CPU's busy time; frequency, migration, RT and interrupts are not considered".into(),
            ),
            input(
                "iowait",
                graded(iowait),
                if f.switches > 0 { "tasks in uninterruptible sleep".into() } else { "no sched events: 0".into() },
            ),
            input(
                "latency limit",
                graded(limits),
                if f.qos_changes > 0 { "pm_qos events; none before the first" } else { "no pm_qos events: none" }.into(),
            ),
            input("disabled states", graded(Confidence::Assumed), "the platform's defaults".into()),
        ]
    }

    fn wake_words(&self) -> String {
        let timers = if self.facts.hrtimers > 0 { "timer expiries, else " } else { "" };
        format!("{timers}the exit minus the state's exit latency, at most half of the stay")
    }

    fn timer_words(&self) -> String {
        let f = self.facts;
        if f.hrtimers == 0 {
            return "no hrtimer events: the timer that woke the CPU, else the next that was seen to, else none"
                .to_owned();
        }
        let wheel = match (f.wheel_timers > 0, f.timer_migration) {
            (true, true) => "timer events, migration between CPUs guessed from who is idle",
            (true, false) => "timer events",
            (false, _) => "not recorded: taken as empty while the tick runs",
        };
        let rcu = if f.softirqs > 0 { "; a tick kept for RCU by the softirq that it asked for" } else { "" };
        format!("hrtimer events; timer wheel: the stopped tick's own timer, else {wheel}{rcu}")
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.facts.misses > 0 {
            notes.push(
                "rejected entries are told by the missing cpu_idle_miss: a stay below the target residency \
                 that the kernel did not count was refused by the driver"
                    .to_owned(),
            );
        }
        notes
    }
}

struct NextTimers {
    hrtimer_at: i64,
    wheel_at: i64,
    confidence: Confidence,
}

/// Without hrtimer events: the next timer at an entry is the one that ended the wait, or, where something else did,
/// the next timer that was seen to end one on this CPU. It was certainly not earlier.
fn bound_timers(tape: &mut CpuTape) {
    let mut next_at = NEVER_NS;
    for piece in tape.pieces.iter_mut().rev() {
        let wake_at = piece.start_ns.saturating_add(piece.wake_ns) as i64;
        let timer = piece.cause.is_timer() && piece.cause != WakeCause::Tick;
        if timer {
            next_at = wake_at;
        }
        let rel = if next_at == NEVER_NS { NEVER_NS } else { next_at.saturating_sub(piece.start_ns as i64) };
        if piece.cause == WakeCause::Wheel || next_at == NEVER_NS {
            piece.wheel_ns = rel;
        } else {
            piece.hrtimer_ns = rel;
        }
        piece.flags.set_timer_confidence(match (timer, next_at) {
            (true, _) => Confidence::Derived,
            (false, NEVER_NS) => Confidence::Assumed,
            (false, _) => Confidence::Bounded,
        });
    }
}

/// A CPU with RCU callbacks keeps its tick (`governors.md` 1.8, step 3). No event says so at the entry, but the tick
/// that was kept for it asks for RCU's softirq.
fn mark_rcu(tape: &mut CpuTape, raised: &[u64]) {
    for piece in &mut tape.pieces {
        if piece.flags.has(PieceFlags::STOPPED_AFTER) {
            continue;
        }
        let next = raised.partition_point(|t| *t <= piece.start_ns);
        let tick_ns = tape.tick.after(piece.start_ns.saturating_sub(piece.entry_lag_ns.into()));
        let needed = raised.get(next).is_some_and(|t| *t < tick_ns.saturating_add(RCU_AFTER_TICK_NS));
        piece.flags.set(PieceFlags::TICK_NEEDED, needed);
    }
}

fn wake_confidence(p: &Piece, f: &Facts) -> Confidence {
    match p.cause {
        WakeCause::Hrtimer => Confidence::Recorded,
        WakeCause::Tick | WakeCause::Wheel if f.hrtimers > 0 => Confidence::Recorded,
        WakeCause::Tick | WakeCause::Wheel | WakeCause::PollLimit => Confidence::Derived,
        _ if p.stay_ns() < 2 * u64::from(p.exit_lag_ns) + 2 => Confidence::Bounded,
        _ => Confidence::Derived,
    }
}

/// The tick that a wake at `latest_ns` can belong to: the last one in the stay, not further back than the state takes
/// to leave.
fn tick_behind(grid: TickGrid, start_ns: u64, latest_ns: u64, declared_ns: u64) -> Option<u64> {
    let tick = grid.at_or_before(latest_ns);
    (tick >= start_ns && latest_ns - tick <= declared_ns + TICK_SLACK_NS).then_some(tick)
}

fn median(mut values: Vec<u32>) -> u32 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(TICK_HANDLER_NS)
}

fn clip(ns: u64) -> u32 {
    u32::try_from(ns).unwrap_or(u32::MAX)
}

fn place(cpu: u32, ts_ns: u64) -> String {
    format!("CPU {cpu} at {}.{:09} s", ts_ns / 1_000_000_000, ts_ns % 1_000_000_000)
}
