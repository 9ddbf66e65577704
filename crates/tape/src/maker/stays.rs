// SPDX-License-Identifier: GPL-2.0-only
//! From what was seen of a stay to what the tape keeps of it.

use idlewise_model::{Confidence, HealthKind, Miss, Piece, PieceFlags, TickGrid, WakeCause};

use super::cpu::{Longest, Stay};
use super::{Maker, clip, place, rcu};
use crate::armed::Due;
use crate::check::{LONGEST_STAY_NS, LONGEST_TOGETHER_NS, reach_ns};

/// How far a wake may lie behind a tick, beyond the state's exit latency, and still be the tick's, ns.
const TICK_SLACK_NS: u64 = 50_000;
/// Of the timers that are no ticks, one in so many may be taken for one at the most.
const FEW_BY_CHANCE: u64 = 10;
/// A driver refuses an entry at once: those of a MediaTek MT8196, on which firmware refuses a state, take 34 us at most. What
/// lasts longer than this was an idle period, ns.
const LONGEST_REFUSAL_NS: u64 = 100_000;
/// A timer that fires so much later than it was due did so because the machine stood still: a suspend, a paused guest, ns.
/// The longest that hosts were seen to keep a guest from its timer is 100 ms.
const STANDSTILL_NS: u64 = 1_000_000_000;
/// What fires so much later than it was due, beyond the state's exit latency, was not woken for when it was due, ns.
const LATE_NS: u64 = 2_000_000;
/// The longest that another CPU's interrupt is on its way to a CPU that enters an idle state, ns. On a MediaTek MT8196 such an
/// entry ends within 2 us; one that lasts 90 us or more is ended by another interrupt.
const IPI_ARRIVES_NS: u64 = 10_000;

impl Maker<'_> {
    /// Writes down the stay that is over, if there is one.
    pub(super) fn write_down(&mut self, cpu: u32, visit_end: bool) {
        let Some(mut stay) = self.cpu(cpu).stay.take() else { return };
        stay.seen = stay.told.unwrap_or(stay.seen);
        let start_ns = stay.piece.start_ns;
        // The clock went back or jumped meanwhile, which the reader counts: how long the stay was is not known.
        if stay.exit_ns.is_some_and(|at| at < start_ns || at - start_ns > LONGEST_STAY_NS) {
            self.cpu(cpu).forget();
            return;
        }
        // What happened then is recorded already; stays one after the other do not overlap.
        if start_ns < self.cpu(cpu).told_to_ns {
            self.health.add(HealthKind::Ignored, 1, || {
                format!("a stay on {}, before the end of the last one", place(cpu, start_ns))
            });
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
        // Interrupts that end polling are handled within it.
        let outlasts = table
            .is_some_and(|t| stay_ns >= t.poll_limit_ns(t.disabled_by_default(), grid.period_ns))
            && seen.first.is_some_and(|(_, ts)| ts > exit_ns);
        if polling && (piece.cause == WakeCause::Unknown && !visit_end || outlasts) {
            piece.cause = WakeCause::PollLimit;
        }
        let inside = seen.first.map(|(_, ts)| ts).filter(|ts| *ts <= exit_ns);
        let shown_ns = inside.unwrap_or(exit_ns).saturating_sub(piece.start_ns);
        // Menu's own estimate of the part of a stay that is exit latency (`governor-behaviour.md` 4.2).
        let share_ns = if shown_ns > 2 * declared_ns { declared_ns } else { shown_ns / 2 };
        let by_latency = piece.start_ns + (shown_ns - share_ns);
        let by_timer = match piece.cause {
            WakeCause::Hrtimer => seen.hrtimer_due,
            WakeCause::Tick | WakeCause::Wheel => seen.tick_due,
            _ => None,
        };
        let overdue = by_timer.is_some_and(|due| due.at_ns.saturating_add(STANDSTILL_NS) < exit_ns);
        if overdue || stay.in_suspend {
            self.standstill.leave_out(start_ns, exit_ns);
            self.cpu(cpu).forget();
            return;
        }
        if stay.switched {
            self.switched.0 += 1;
            self.switched.1 = self.switched.1.saturating_add(exit_ns.saturating_sub(start_ns));
            self.cpu(cpu).forget();
            return;
        }
        // So late a timer was armed again unseen, or the host kept its guest waiting: that is no exit latency.
        let late = by_timer.is_some_and(|due| due.at_ns.saturating_add(LATE_NS + declared_ns) < exit_ns);
        let by_timer = by_timer.filter(|_| !late);
        if piece.cause == WakeCause::Timer {
            self.armed.unexplained(cpu);
        }
        let by_caller = match piece.cause {
            WakeCause::Ipi => stay.called_by(),
            _ => None,
        };
        let by_event = by_timer.or(by_caller);
        let mut wake_at = by_event.map_or(by_latency, |due| due.at_ns).clamp(piece.start_ns, exit_ns);
        let mut wake_known = by_event.map(|due| self.facts.at_best(due.confidence));
        if late {
            wake_known = Some(Confidence::Bounded);
        } else if by_timer.is_none() && matches!(piece.cause, WakeCause::Timer | WakeCause::Wheel) {
            let latest = seen.first.map_or(exit_ns, |(_, ts)| ts);
            let known = self.facts.grid_known(cpu);
            let tick = tick_behind(grid, piece.start_ns, latest, declared_ns);
            if let Some(tick) = tick.filter(|_| known < Confidence::Assumed) {
                wake_at = tick.clamp(piece.start_ns, exit_ns);
                let known = known.clamp(Confidence::Derived, Confidence::Bounded);
                wake_known = Some(self.facts.at_best(known));
                if piece.cause == WakeCause::Timer {
                    piece.cause = WakeCause::Tick;
                }
            }
        }
        piece.wake_ns = wake_at - piece.start_ns;
        piece.exit_lag_ns = clip(exit_ns - wake_at);
        piece.response_ns = clip(inside.unwrap_or(exit_ns).saturating_sub(wake_at));
        piece.handler_ns = clip(seen.handled_ns.saturating_sub(exit_ns));
        let wake_known = wake_known.unwrap_or_else(|| {
            let short = piece.stay_ns() < 2 * u64::from(piece.exit_lag_ns) + 2;
            let halved = short && piece.cause != WakeCause::PollLimit;
            self.facts.at_best(if halved { Confidence::Bounded } else { Confidence::Derived })
        });
        let tick_ran = seen.tick || matches!(piece.cause, WakeCause::Tick);
        piece.flags.set(PieceFlags::TICK_RAN, tick_ran);
        piece.flags.set(PieceFlags::VISIT_END, visit_end);
        piece.flags.set(PieceFlags::MORE_CAME, piece.cause == WakeCause::Tick && seen.more);
        // Where no such interrupt is seen to come, one that was sent long before may have come already: it is still on its
        // way only if the state is left as soon as it can be.
        let at_once = self.facts.ipis_come() || table.is_none() || stay_ns <= declared_ns + IPI_ARRIVES_NS;
        // Nor does anything name it as what ended this stay.
        let unnamed =
            !self.facts.ipis_come() && piece.cause == WakeCause::Unknown && stay.called_ns.is_none();
        let by_ipi = piece.cause == WakeCause::Ipi || unnamed;
        piece.flags.set(PieceFlags::DOOMED, stay.sent_before && by_ipi && at_once);
        let verdict = table
            .map_or(Miss::None, |t| t.verdict(piece.state.into(), stay_ns as i64, t.disabled_by_default()));
        let uncounted = verdict == Miss::Above && !piece.flags.has(PieceFlags::MISS_ABOVE);
        let always = table.is_some_and(|t| piece.state < 16 && t.refused() >> piece.state & 1 == 1);
        let counted = piece.flags.0 & (PieceFlags::MISS_ABOVE | PieceFlags::MISS_BELOW) != 0;
        let refused = self.facts.misses > 0 && uncounted || always && !counted;
        let refused = refused && stay_ns <= LONGEST_REFUSAL_NS;
        piece.flags.set(PieceFlags::REJECTED, refused);
        let late_ns = grid.after(piece.start_ns).saturating_add(declared_ns + TICK_SLACK_NS);
        let spanned = late_ns < wake_at;
        let known = piece.flags.has(PieceFlags::TICK_KNOWN);
        if spanned && !known && self.facts.would_show_stop(cpu) && !self.cpu(cpu).doubts_stops() {
            // Nothing stopped it in sight: it was stopped before the recording, or what was lost of it, began or went on.
            let all = PieceFlags::STOPPED_BEFORE | PieceFlags::STOPPED_AFTER | PieceFlags::TICK_KNOWN;
            piece.flags.set(all, true);
            let c = self.cpu(cpu);
            (c.tick_seen, c.stopped, c.stopped_before) = (true, true, true);
        } else if !known {
            piece.flags.set(PieceFlags::STOPPED_AFTER, spanned);
        } else if spanned && !piece.flags.has(PieceFlags::STOPPED_AFTER) {
            // A late tick looks the same, and comes now and then.
            let by_a_tick = late_ns.saturating_add(grid.period_ns) < wake_at;
            let c = self.cpu(cpu);
            c.spanned += 1;
            if c.doubts_stops() || self.facts.tick_stops == 0 {
                piece.flags.set(PieceFlags::STOPPED_AFTER, self.facts.tick_stops == 0 || by_a_tick);
                piece.flags.set(PieceFlags::TICK_KNOWN, false);
            }
        }
        let together_ns = self.together_ns + reach_ns(&piece, Some(self.cpu(cpu).told_to_ns));
        if together_ns >= LONGEST_TOGETHER_NS {
            self.health.add(HealthKind::Ignored, 1, || {
                format!(
                    "a stay on {}: the idle periods are longer than 73 years together",
                    place(cpu, start_ns)
                )
            });
            self.cpu(cpu).forget();
            return;
        }
        self.together_ns = together_ns;
        if piece.state == Piece::NO_GOVERNOR {
            self.ungoverned.0 += 1;
            self.ungoverned.1 += piece.stay_ns();
        }
        // Polling ends without an interrupt, too.
        let interrupted = seen.first.is_some() || !polling;
        let longest = self.cpu(cpu).longest.ns;
        if piece.stay_ns() > longest {
            let silence_ns = self.standstill.silence_ns(start_ns, exit_ns);
            self.cpu(cpu).longest = Longest { ns: piece.stay_ns(), start_ns, silence_ns };
        }
        let c = self.cpu(cpu);
        if piece.cause == WakeCause::Tick {
            let from = inside.unwrap_or(exit_ns);
            let took = seen.handled_ns.saturating_sub(from);
            if took > 0 {
                c.tick_handlers.push(clip(took));
            }
        }
        c.told_to_ns = exit_ns;
        c.idle_ns += piece.stay_ns();
        c.written += 1;
        c.governed += u64::from(piece.chosen().is_some());
        c.stays.rest.push(piece);
        c.programmed[stay.programmed as usize] += 1;
        c.wakes[wake_known as usize] += 1;
        if !visit_end && c.now_ns.is_none_or(|now| interrupted && now < start_ns) {
            c.now_ns = Some(exit_ns.max(seen.handled_ns));
        }
        self.make_room(cpu);
    }

    /// Moves stays to the spool, of `cpu` or of all where there is too much in memory.
    fn make_room(&mut self, cpu: u32) {
        let these =
            if self.spool.overflows() { self.cpus.range_mut(..) } else { self.cpus.range_mut(cpu..=cpu) };
        for (number, c) in these {
            let grid = self.facts.grid(*number);
            let newest_ns = c.stays.rest.last().map_or(0, |p| p.start_ns);
            while let Some(block) =
                self.spool.due(&mut c.stays, newest_ns.saturating_sub(rcu::horizon_ns(grid)))
            {
                rcu::mark(block, grid, self.facts.softirqs_recorded(), &c.rcu_requests, &c.rcu_runs);
                let marked_ns = block.last().map_or(0, |p| p.start_ns);
                if !self.spool.take(&mut c.stays) {
                    break;
                }
                rcu::forget(&mut c.rcu_requests, &mut c.rcu_runs, marked_ns, grid);
            }
        }
    }
}

impl Stay {
    /// When another CPU ended the stay: it sent an interrupt, or, just before it does so, began to wake a task.
    fn called_by(&self) -> Option<Due> {
        let due = |at_ns: u64, confidence| Due { at_ns, confidence };
        let called = self.called_ns.map(|at_ns| due(at_ns, Confidence::Recorded));
        called.or(self.wakings.first().map(|(_, at_ns)| due(*at_ns, Confidence::Derived)))
    }
}

/// The tick that a wake at `latest_ns` can belong to: the last one in the stay, not further back than the state takes
/// to leave.
fn tick_behind(grid: TickGrid, start_ns: u64, latest_ns: u64, declared_ns: u64) -> Option<u64> {
    let tick = grid.at_or_before(latest_ns);
    let window_ns = declared_ns.saturating_add(TICK_SLACK_NS);
    // Within a large part of the period other timers come by chance.
    let tells = window_ns.saturating_mul(FEW_BY_CHANCE) <= grid.period_ns;
    (tells && tick >= start_ns && latest_ns - tick <= window_ns).then_some(tick)
}
