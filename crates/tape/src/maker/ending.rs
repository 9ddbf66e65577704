// SPDX-License-Identifier: GPL-2.0-only
//! The end of the recording: what is still open, what only the whole tells, the tape.

use idlewise_model::{
    Confidence, CpuTape, Health, HealthKind, NEVER_NS, PieceFlags, Source, Tape, TapeCpu, WakeCause,
};

use super::{Maker, place};

/// RCU's request for its softirq follows the tick this soon, ns.
const RCU_AFTER_TICK_NS: u64 = 1_000_000;
/// The tick's handlers take this long where the recording does not show it, ns.
const TICK_HANDLER_NS: u32 = 5_000;

impl Maker<'_> {
    pub(crate) fn finish(mut self, source: Source, mut health: Health) -> Tape {
        let numbers: Vec<u32> = self.cpus.keys().copied().collect();
        for cpu in &numbers {
            self.close(*cpu);
        }
        let mut cpus = Vec::new();
        let mut programmed = [0; 4];
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
            if tape.usable == TapeCpu::Usable {
                programmed.iter_mut().zip(c.programmed).for_each(|(sum, n)| *sum += n);
            }
            cpus.push(tape);
        }
        health.merge(&self.health);
        let inputs = self.inputs(&cpus, programmed);
        Tape { source, inputs, notes: self.notes(), health, cpus }
    }

    /// What is open at the end of the recording.
    pub(super) fn close(&mut self, cpu: u32) {
        let Some(stay) = &self.cpu(cpu).stay else { return };
        let (start_ns, ended) = (stay.piece.start_ns, stay.exit_ns.is_some());
        if ended {
            self.write_down(cpu, true);
        } else if !self.facts.by_switches {
            self.health.add(HealthKind::EntryWithoutExit, 1, || place(cpu, start_ns));
        }
    }

    pub(super) fn usable(&self, cpu: u32) -> TapeCpu {
        let seen = self.facts.cpus.get(&cpu).cloned().unwrap_or_default();
        let idle_task = self.facts.by_switches && seen.switches_to_idle > 0;
        let why = if idle_task || seen.idle_entries > 0 && seen.idle_exits > 0 {
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

fn median(mut values: Vec<u32>) -> u32 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(TICK_HANDLER_NS)
}
