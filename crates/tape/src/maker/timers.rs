// SPDX-License-Identifier: GPL-2.0-only
//! Which timers are armed, and the next one that a CPU waits for.

use idlewise_model::{Confidence, Event, EventKind, NEVER_NS};

use super::Maker;

/// A timer this long overdue was cancelled unseen, ns.
const STALE_NS: i64 = 20_000_000;

/// What a CPU waits for, times on the trace clock, ns.
pub(super) struct NextTimers {
    pub(super) hrtimer_at: i64,
    pub(super) wheel_at: i64,
    pub(super) confidence: Confidence,
}

impl Maker<'_> {
    /// A timer is armed, cancelled or fires.
    pub(super) fn timer(&mut self, e: &Event) {
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
            _ => {}
        }
    }

    pub(super) fn arm_hrtimer(&mut self, id: u64, cpu: u32, expires: i64) {
        match self.facts.hrtimer_on_trace_clock(expires) {
            Some(at) => self.hrtimers.arm(id, cpu, at),
            None => {
                self.hrtimers.disarm(id);
            }
        }
    }

    pub(super) fn hrtimer_fired(&mut self, e: &Event, hrtimer: u64, function: u64, now: i64) {
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

    /// Forgets timers of `cpu` that are long overdue at `ts_ns`.
    pub(super) fn forget_stale(&mut self, cpu: u32, ts_ns: u64) {
        let stale = (ts_ns as i64).saturating_sub(STALE_NS);
        self.hrtimers.forget_before(cpu, stale);
        self.local.forget_before(cpu, stale);
        self.global.forget_before(cpu, stale);
    }

    pub(super) fn next_timers(&self, cpu: u32, ts_ns: u64, stopped: bool) -> NextTimers {
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

    pub(super) fn others_idle(&self, cpu: u32) -> bool {
        self.cpus.iter().all(|(other, c)| *other == cpu || c.in_visit)
    }
}
