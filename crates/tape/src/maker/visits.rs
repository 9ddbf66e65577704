// SPDX-License-Identifier: GPL-2.0-only
//! When the idle task runs, and its entries into idle states.

use idlewise_model::{Confidence, Event, HealthKind, IdleTable, MAX_STATES, Piece, PieceFlags, WakeCause};

use super::cpu::Stay;
use super::{Maker, clip, place};
use crate::causes::Evidence;
use crate::check::{LONGEST_STAY_NS, timer_ns};
use crate::io_waits::is_uninterruptible;

/// Without sched events: idle again this soon after the last handler means that no task ran in between.
pub(super) const SAME_VISIT_NS: u64 = 20_000;

/// The switch to the idle task, or the end of the last handler, is no longer before an entry, ns, unless something happens meanwhile.
const CLEAR_NS: u64 = 50_000;

impl Maker<'_> {
    pub(super) fn switch(&mut self, e: &Event, prev_pid: i32, prev_state: u64, next_pid: i32) {
        self.waits_no_more(next_pid);
        if prev_pid == 0 {
            self.visit_over(e.cpu, e.ts_ns);
        } else if is_uninterruptible(prev_state)
            && self.facts.io_waits.waits_for_io(prev_pid, e.ts_ns) != Some(false)
            && self.uninterruptible.insert(prev_pid, e.cpu).is_none()
        {
            let waiting = &mut self.cpu(e.cpu).iowait;
            *waiting = waiting.saturating_add(1);
        }
        if next_pid != 0 {
            // A task that was woken for this CPU while it ran another needs no interrupt.
            self.cpu(e.cpu).sent_ns = None;
        }
        if next_pid == 0 && prev_pid != 0 {
            let off = self.tick_is_off(e.cpu);
            let c = self.cpu(e.cpu);
            c.in_visit = true;
            c.choice_due = true;
            c.first_of_visit = true;
            c.tick_seen = true;
            c.stopped = off;
            c.stopped_before = off;
            c.now_ns = Some(e.ts_ns);
            if self.facts.by_switches {
                self.entry(e.cpu, e.ts_ns, None);
            }
        }
    }

    /// Whether the tick of a CPU that runs a task is stopped (`NO_HZ_FULL`): the idle loop keeps it so.
    fn tick_is_off(&mut self, cpu: u32) -> bool {
        self.armed.tick_off(cpu).unwrap_or(self.cpu(cpu).off_since_task)
    }

    /// Without sched events, any event of a task shows that the idle task was switched out.
    pub(super) fn task_seen(&mut self, cpu: u32, ts_ns: u64) {
        if self.cpu(cpu).stay.as_ref().is_some_and(|s| s.exit_ns.is_some()) {
            self.visit_over(cpu, ts_ns);
        }
    }

    pub(super) fn visit_over(&mut self, cpu: u32, ts_ns: u64) {
        self.told_before_late(cpu, ts_ns);
        self.write_down(cpu, true);
        if self.facts.switches == 0 {
            self.util.spent(cpu, self.standstill.running_ns(ts_ns), false);
        }
        let c = self.cpu(cpu);
        if c.stopped {
            c.no_callbacks_ns = c.no_callbacks_ns.max(ts_ns);
        }
        c.in_visit = false;
        c.tick_seen = true;
        c.stopped = false;
        c.now_ns = None;
        self.armed.awake(cpu);
    }

    /// Without sched events a visit is over when the CPU stayed awake longer than its interrupt handlers did.
    pub(super) fn guess_visit(&mut self, cpu: u32, ts_ns: u64) {
        let Some(stay) = &self.cpu(cpu).stay else { return };
        let Some(exit_ns) = stay.exit_ns else { return };
        let busy_from = exit_ns.max(stay.seen.handled_ns);
        let same = ts_ns.saturating_sub(busy_from) <= SAME_VISIT_NS;
        if !same {
            self.visit_over(cpu, exit_ns);
            self.util.spent(cpu, self.standstill.running_ns(ts_ns), true);
            let c = self.cpu(cpu);
            // A stop since the exit belongs to the visit that begins now.
            c.stopped = c.stopped_at_ns > exit_ns;
            c.stopped_before = false;
        }
    }

    /// A state is entered; `None` where the recording does not tell which.
    pub(super) fn entry(&mut self, cpu: u32, ts_ns: u64, state: Option<u32>) {
        if self.cpu(cpu).stay.as_ref().is_some_and(|s| s.exit_ns.is_none()) {
            self.health.add(HealthKind::EntryWithoutExit, 1, || place(cpu, ts_ns));
            self.cpu(cpu).stay = None;
        }
        if self.facts.switches == 0 {
            self.guess_visit(cpu, ts_ns);
        }
        self.write_down(cpu, false);
        if self
            .cpu(cpu)
            .stays
            .rest
            .last()
            .is_some_and(|p| ts_ns.saturating_sub(p.exit_at_ns()) > LONGEST_STAY_NS)
        {
            self.cpu(cpu).forget();
        }
        let n = self.table(cpu).map_or(MAX_STATES, IdleTable::len);
        if let Some(state) = state.filter(|s| *s as usize >= n) {
            self.health
                .add(HealthKind::StateOutOfTable, 1, || format!("state {state}, {}", place(cpu, ts_ns)));
        }
        // Where its timer is armed beyond the next tick, the tick is stopped, whatever else is recorded.
        let off = self.armed.tick_off(cpu);
        let c = self.cpu(cpu);
        c.stopped |= off == Some(true);
        c.tick_seen |= off.is_some();
        let stopped_after = self.cpu(cpu).stopped;
        let others_idle = self.quiet.others_idle(cpu, &mut self.cpus, self.facts);
        let timers = self.armed.next(cpu, ts_ns, stopped_after, others_idle);
        let came_nearer = self.armed.came_nearer(cpu);
        let stops_known = self.facts.would_show_stop(cpu);
        self.util.asleep(cpu, self.standstill.running_ns(ts_ns));
        let util = self.util.of(cpu);
        let choices_recorded = self.facts.choices_recorded(cpu);
        let suspending = self.standstill.in_suspend();
        let c = self.cpu(cpu);
        let governed = !choices_recorded || !c.choice_due || c.chosen;
        c.chosen = false;
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
        flags.set(PieceFlags::TICK_KNOWN, stops_known && c.tick_seen && !c.doubts_stops());
        flags.set(PieceFlags::AFTER_GAP, c.gap);
        // What happened is not recorded, and the governor may have been asked as of a later time.
        let unclear = c.now_ns.is_some_and(|now| ts_ns.saturating_sub(now.max(c.told_to_ns)) > CLEAR_NS);
        let at_best = |unsure: bool| if unsure { Confidence::Bounded } else { Confidence::Recorded };
        let was_later = came_nearer && c.stopped_before && stopped_after;
        flags.set_timer_confidence(timers.confidence.max(at_best(unclear || was_later)));
        flags.set(PieceFlags::TIMER_AT_MOST, timers.at_most || unclear);
        c.first_of_visit = false;
        c.gap = false;
        let piece = Piece {
            start_ns: ts_ns,
            wake_ns: 0,
            hrtimer_ns: timer_ns(timers.hrtimer_at, ts_ns),
            wheel_ns: timer_ns(timers.wheel_at, ts_ns),
            stale_event_ns: timer_ns(timers.stale_event_at, ts_ns),
            exit_lag_ns: 0,
            response_ns: 0,
            handler_ns: 0,
            entry_lag_ns: c.now_ns.map_or(0, |now| clip(ts_ns.saturating_sub(now))),
            util,
            iowait: c.iowait,
            // A number that no kernel has was counted above.
            state: state
                .filter(|s| (*s as usize) < MAX_STATES)
                .and_then(|s| u8::try_from(s).ok())
                .map(|s| if governed { s } else { Piece::NO_GOVERNOR })
                .unwrap_or(Piece::NO_STATE),
            cause: WakeCause::Unknown,
            flags,
        };
        c.stay = Some(Stay {
            piece,
            sent_before: c.sent_ns.is_some(),
            in_suspend: suspending,
            switched: false,
            called_ns: None,
            wakings: Vec::new(),
            programmed: timers.programmed.max(at_best(was_later)),
            exit_ns: None,
            seen: Evidence::default(),
            told: None,
            before_late: None,
        });
    }

    pub(super) fn exit(&mut self, cpu: u32, ts_ns: u64) {
        if self.facts.expiries == 0 && !self.facts.timer_irqs() {
            self.timers_due(cpu, ts_ns);
        }
        let open = self.cpu(cpu).stay.as_mut().filter(|s| s.exit_ns.is_none());
        let mut came_ns = ts_ns;
        match open {
            Some(stay) => {
                stay.exit_ns = Some(ts_ns);
                stay.seen.remote_wake |= !stay.wakings.is_empty();
                came_ns = stay.seen.first.map_or(ts_ns, |(_, first_ns)| first_ns);
            }
            None => self.health.add(HealthKind::ExitWithoutEntry, 1, || place(cpu, ts_ns)),
        }
        let c = self.cpu(cpu);
        c.choice_due = true;
        c.stopped_before = c.stopped;
        // What was on its way has come, or comes now; what was sent after the interrupt that ended the stay is still on its way.
        c.sent_ns = c.sent_ns.filter(|sent_ns| *sent_ns > came_ns);
    }

    pub(super) fn miss(&mut self, cpu: u32, ts_ns: u64, below: bool) {
        let bit = if below { PieceFlags::MISS_BELOW } else { PieceFlags::MISS_ABOVE };
        match self.cpu(cpu).stay.as_mut().filter(|s| s.exit_ns.is_some()) {
            Some(stay) => stay.piece.flags.set(bit, true),
            None => self.health.add(HealthKind::MissWithoutStay, 1, || place(cpu, ts_ns)),
        }
    }
}
