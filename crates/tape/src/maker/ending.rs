// SPDX-License-Identifier: GPL-2.0-only
//! The end of the recording: what is still open, what only the whole tells, the tape.

use idlewise_model::{
    Confidence, Counted, CpuTape, Health, HealthKind, NEVER_NS, Piece, PiecesError, Source, Tape, TapeCpu,
    WakeCause, nth, number_of,
};

use super::{Maker, place, rcu};

/// The tick's handlers take this long where the recording does not show it, ns.
const TICK_HANDLER_NS: u32 = 5_000;

impl Maker<'_> {
    pub(crate) fn finish(mut self, source: Source, mut health: Health) -> Result<Tape, PiecesError> {
        let numbers: Vec<u32> = self.cpus.keys().copied().collect();
        for cpu in &numbers {
            self.close(*cpu);
        }
        let mut cpus = Vec::new();
        let long = self.long_idle_periods();
        let begin_ns = self.facts.span.ends_ns().map_or(source.first_ns, |(first, _)| first);
        let recorded = self.facts.described.contains("power:pm_qos_update_target");
        let (latency, latency_known, latency_how) = self.facts.latency_limits.finish(begin_ns, recorded);
        let (mut programmed, mut wakes) = ([0; 4], [0; 4]);
        for (cpu, mut c) in std::mem::take(&mut self.cpus) {
            let tick = self.facts.grid(cpu);
            rcu::mark(&mut c.stays.rest, tick, self.facts.softirqs_recorded(), &c.rcu_requests, &c.rcu_runs);
            if !self.facts.hrtimers() {
                let mut next_at = NEVER_NS;
                let grid = self.facts.grid_known(cpu);
                self.spool.backwards(&mut c.stays, |pieces| bound_timers(pieces, &mut next_at, grid))?;
            }
            let tape = CpuTape {
                cpu,
                usable: self.usable(cpu),
                tick,
                tick_handler_ns: median(&c.tick_handlers),
                pieces: self.spool.finished(c.stays),
                latency: latency.clone(),
                disabled: Vec::new(),
                sends: self.facts.sends_to(cpu),
                event_ns: self.facts.event_ns,
            };
            if tape.usable == TapeCpu::Usable {
                programmed.iter_mut().zip(c.programmed).for_each(|(sum, n)| *sum += n);
                wakes.iter_mut().zip(c.wakes).for_each(|(sum, n)| *sum += n);
            }
            cpus.push(tape);
        }
        health.merge(&self.health);
        let inputs = self.inputs(&cpus, programmed, wakes, (latency_known, latency_how))?;
        let stood_still_ns =
            self.standstill.together_ns().min(source.last_ns.saturating_sub(source.first_ns));
        Ok(Tape { source, inputs, notes: self.notes(long), health, cpus, stood_still_ns })
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
        } else if seen.idle_entries > 0 {
            format!(
                "no exit from idle ({}): how long it was idle is not known",
                number_of(seen.idle_entries, "entry")
            )
        } else if seen.idle_exits > 0 {
            format!(
                "no idle entry ({}): since when it was idle is not known",
                number_of(seen.idle_exits, "exit")
            )
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
/// `next_at` is that timer's expiry as seen from behind `pieces`; `grid` is how well the ticks are known, which may be taken for it.
fn bound_timers(pieces: &mut [Piece], next_at: &mut i64, grid: Confidence) {
    for piece in pieces.iter_mut().rev() {
        let wake_at = piece.start_ns.saturating_add(piece.wake_ns) as i64;
        let timer = piece.cause.is_timer() && piece.cause != WakeCause::Tick;
        if timer {
            *next_at = wake_at;
        }
        let rel = if *next_at == NEVER_NS { NEVER_NS } else { next_at.saturating_sub(piece.start_ns as i64) };
        if piece.cause == WakeCause::Wheel || *next_at == NEVER_NS {
            piece.wheel_ns = rel;
        } else {
            piece.hrtimer_ns = rel;
        }
        piece.flags.set_timer_confidence(match (timer, *next_at) {
            (true, _) => grid.clamp(Confidence::Derived, Confidence::Bounded),
            (false, NEVER_NS) => Confidence::Assumed,
            (false, _) => Confidence::Bounded,
        });
    }
}

fn median(values: &Counted) -> u32 {
    let ranks = Counted::ranks(std::iter::once(values));
    let all: u64 = ranks.iter().map(|(_, times)| times).sum();
    nth(&ranks, all / 2).unwrap_or(TICK_HANDLER_NS)
}
