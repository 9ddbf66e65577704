// SPDX-License-Identifier: GPL-2.0-only
//! Times of which lines are missing without a mark, as where somebody has cut a text: no CPU has an event, a timer was due in it,
//! and the machine goes on without it. A machine that stood still makes up for its timers first.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::{Event, EventKind};

/// Without an event of any CPU for so long, lines may be missing, ns.
const SILENCE_NS: u64 = 50_000_000;
/// A timer this long overdue is not only late, ns.
const OVERDUE_NS: i64 = 20_000_000;
/// A CPU that has work does not leave an overdue timer alone for so long, ns.
const AT_ONCE_NS: u64 = 1_000_000;
/// Nor do all CPUs together, some of which a host may let run later, ns.
const PATIENCE_NS: u64 = 5_000_000;

/// Finds such times while a recording goes by.
#[derive(Debug, Default)]
pub(crate) struct Holes {
    /// Last event of any CPU, ns.
    last_ns: u64,
    /// The timers' clock less the trace's, ns, once it was seen.
    offset_ns: Option<i64>,
    open: Option<Silence>,
    found: Vec<(u64, u64)>,
}

/// A time without events that may be a hole.
#[derive(Debug)]
struct Silence {
    from_ns: u64,
    to_ns: u64,
    /// Hrtimers that were due in it and were not handled since.
    due: BTreeSet<u64>,
    /// The first event of each CPU behind it, ns.
    first_ns: BTreeMap<u32, u64>,
    /// CPUs that have gone idle since: none does while a timer of its own is overdue.
    went_idle: BTreeSet<u32>,
}

impl Holes {
    /// Takes any event. `armed` gives what is armed then: hrtimers, and for when on their clock, ns.
    pub(crate) fn event<I: Iterator<Item = (u64, i64)>>(&mut self, e: &Event, armed: impl Fn() -> I) {
        let (from_ns, to_ns) = (self.last_ns, e.ts_ns);
        self.last_ns = self.last_ns.max(e.ts_ns);
        if from_ns > 0
            && to_ns.saturating_sub(from_ns) >= SILENCE_NS
            && let Some(offset_ns) = self.offset_ns
        {
            let due = |at: i64| {
                let at = at.saturating_sub(offset_ns);
                at > from_ns.cast_signed() && at.saturating_add(OVERDUE_NS) < to_ns.cast_signed()
            };
            let due = armed().filter(|(_, at)| due(*at)).map(|(id, _)| id).collect();
            self.open =
                Some(Silence { from_ns, to_ns, due, first_ns: BTreeMap::new(), went_idle: BTreeSet::new() });
        }
        let Some(silence) = &mut self.open else { return };
        match silence.ends(e) {
            Some(true) => self.found.push((silence.from_ns, silence.to_ns)),
            Some(false) => {}
            None => return,
        }
        self.open = None;
    }

    /// An hrtimer's handler was given this time, ns on the timers' clock.
    pub(crate) fn clock(&mut self, e: &Event, now: i64) {
        self.offset_ns = Some(now.saturating_sub(e.ts_ns.cast_signed()));
    }

    /// All that were found, from and to, ns, in their order.
    pub(crate) fn finish(self) -> Vec<(u64, u64)> {
        self.found
    }
}

impl Silence {
    /// Whether it is a hole, as far as `e` tells, which comes behind it.
    fn ends(&mut self, e: &Event) -> Option<bool> {
        let first_ns = *self.first_ns.entry(e.cpu).or_insert(e.ts_ns);
        match e.kind {
            // It is said why.
            EventKind::Lost { .. } | EventKind::SuspendResume { .. } | EventKind::CpuHotplug { .. } => {
                return Some(false);
            }
            // It was armed already.
            EventKind::HrtimerStart { hrtimer, .. } if self.due.contains(&hrtimer) => return Some(true),
            EventKind::HrtimerCancel { hrtimer } | EventKind::HrtimerExpireEntry { hrtimer, .. }
                if self.due.contains(&hrtimer) =>
            {
                if e.ts_ns.saturating_sub(first_ns) > AT_ONCE_NS || self.went_idle.contains(&e.cpu) {
                    return Some(true);
                }
                self.due.remove(&hrtimer);
            }
            EventKind::CpuIdle { cpu, state: Some(_) } => drop(self.went_idle.insert(cpu)),
            _ => {}
        }
        if self.due.is_empty() {
            return Some(false);
        }
        (e.ts_ns.saturating_sub(self.to_ns) > PATIENCE_NS).then_some(true)
    }
}

#[cfg(test)]
mod tests {
    use idlewise_model::HrtimerMode;

    use super::*;

    const MS: u64 = 1_000_000;

    /// What is found where a timer was due 3 ms into a silence from 10 ms to `to_ms`, and this came behind.
    fn found(to_ms: u64, behind: &[(u64, EventKind)]) -> Vec<(u64, u64)> {
        let mut holes = Holes::default();
        let event = |ts_ns: u64, kind| Event { ts_ns, cpu: 0, pid: 0, kind };
        let entry = event(10 * MS, EventKind::CpuIdle { cpu: 0, state: Some(1) });
        holes.clock(&entry, 10_000_000);
        let armed = || [(1, 13_000_000), (2, 900_000_000)].into_iter();
        holes.event(&entry, armed);
        behind.iter().for_each(|(us, kind)| holes.event(&event(to_ms * MS + us * 1000, *kind), armed));
        holes.finish()
    }

    #[test]
    fn a_machine_that_goes_on_without_its_timer_shows_that_lines_are_missing() {
        let fires = EventKind::HrtimerExpireEntry { hrtimer: 1, function: 2, now: 0 };
        let start = |hrtimer| EventKind::HrtimerStart {
            hrtimer,
            function: 2,
            expires: 0,
            softexpires: 0,
            mode: HrtimerMode::default(),
            was_armed: None,
        };
        let exit = EventKind::CpuIdle { cpu: 0, state: None };
        let entry = EventKind::CpuIdle { cpu: 0, state: Some(1) };
        let cut = [(10 * MS, 500 * MS)];
        assert_eq!(found(500, &[(0, exit), (30, entry), (5_001, exit)]), cut);
        assert_eq!(found(500, &[(0, exit), (2_500, fires)]), cut);
        assert_eq!(found(500, &[(0, exit), (5, start(1))]), cut);
        assert_eq!(found(500, &[(0, exit), (30, entry), (300, fires)]), cut);
        // It stood still: the timer comes first.
        assert_eq!(found(500, &[(0, exit), (5, fires), (30, entry), (9_000, exit)]), []);
        // It was not so late; the events were lost, which is said; it is suspended.
        assert_eq!(found(20, &[(0, exit), (30, entry), (9_000, exit)]), []);
        for known in [EventKind::Lost { count: 5 }, EventKind::SuspendResume { begins: false }] {
            assert_eq!(found(500, &[(0, known), (30, entry), (9_000, exit)]), []);
        }
    }
}
