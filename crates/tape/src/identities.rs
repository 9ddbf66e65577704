// SPDX-License-Identifier: GPL-2.0-only
//! Timers whose pointers the recording lacks: `(ptrval)` of a kernel that cannot hash them yet, or a text out of which somebody took
//! them. Function, expiry, CPU and task still say, mostly, which arming an expiry or a cancel belongs to.

use std::collections::{BTreeMap, VecDeque};

use idlewise_model::{Event, EventKind};

/// Numbers of such timers begin here, where no kernel has memory.
const FIRST: u64 = 1 << 60;
/// Of a CPU's armings so many are kept for a cancel.
const KEPT: usize = 64;
/// Of the timers that are due so many may be the one that fires.
const DUE: usize = 8;

/// Gives timers without a pointer a number of their own at each arming.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    /// How many timers without a pointer got a number.
    pub(crate) given: u64,
    /// By expiry and number: the CPU that armed it.
    pending: BTreeMap<Kind, BTreeMap<(i64, u64), u32>>,
    /// The latest armings of each CPU, with the task.
    latest: BTreeMap<(u32, bool), VecDeque<Armed>>,
    /// The timer whose handler runs, by CPU.
    handled: BTreeMap<(u32, bool), u64>,
}

/// Wheel timers or hrtimers, and the handler's function.
type Kind = (bool, u64);

/// Kind, expiry with number, and the task that armed it.
type Armed = (Kind, (i64, u64), i32);

impl Identities {
    /// `e` with a number instead of a pointer that is 0; nothing where it is not known which timer it is about.
    pub(crate) fn complete(&mut self, e: &Event) -> Option<Event> {
        let mut event = *e;
        match &mut event.kind {
            EventKind::HrtimerStart { hrtimer: id @ 0, function, expires, .. } => {
                *id = self.armed((false, *function), *expires, e);
            }
            EventKind::TimerStart { timer: id @ 0, function, expires, .. } => {
                *id = self.armed((true, *function), expires.cast_signed(), e);
            }
            EventKind::HrtimerExpireEntry { hrtimer: id @ 0, function, now } => {
                *id = self.fired((false, *function), *now, e);
            }
            EventKind::TimerExpireEntry { timer: id @ 0, function, now } => {
                *id = self.fired((true, *function), now.cast_signed(), e);
            }
            EventKind::HrtimerExpireExit { hrtimer: id @ 0 } => *id = self.handled.remove(&(e.cpu, false))?,
            EventKind::TimerExpireExit { timer: id @ 0 } => *id = self.handled.remove(&(e.cpu, true))?,
            EventKind::HrtimerCancel { hrtimer: id @ 0 } => *id = self.cancelled(false, e)?,
            EventKind::TimerCancel { timer: id @ 0 } => *id = self.cancelled(true, e)?,
            _ => {}
        }
        Some(event)
    }

    fn armed(&mut self, kind: Kind, expires: i64, e: &Event) -> u64 {
        let id = self.new_id();
        self.pending.entry(kind).or_default().insert((expires, id), e.cpu);
        let latest = self.latest.entry((e.cpu, kind.0)).or_default();
        if latest.len() == KEPT {
            latest.pop_front();
        }
        latest.push_back((kind, (expires, id), e.pid));
        id
    }

    fn new_id(&mut self) -> u64 {
        self.given += 1;
        FIRST + self.given
    }

    /// The one that was due last, of this CPU if one is; a new one where none was seen to be armed.
    fn fired(&mut self, kind: Kind, now: i64, e: &Event) -> u64 {
        let pending = self.pending.entry(kind).or_default();
        let due = || pending.range(..=(now, u64::MAX)).rev().take(DUE);
        let mine = due().find(|(_, cpu)| **cpu == e.cpu).or_else(|| due().next()).map(|(at, _)| *at);
        let id = mine.filter(|at| pending.remove(at).is_some()).map(|(_, id)| id);
        // What was due long before was cancelled unseen.
        if let Some(oldest) = pending.range(..=(now, u64::MAX)).rev().nth(DUE).map(|(at, _)| *at) {
            *pending = pending.split_off(&oldest);
            pending.remove(&oldest);
        }
        let id = id.unwrap_or_else(|| self.new_id());
        self.handled.insert((e.cpu, kind.0), id);
        id
    }

    /// The one that the same task armed last, else the last of the CPU.
    fn cancelled(&mut self, wheel: bool, e: &Event) -> Option<u64> {
        let latest = self.latest.get_mut(&(e.cpu, wheel))?;
        latest.retain(|(kind, at, _)| self.pending.get(kind).is_some_and(|timers| timers.contains_key(at)));
        let place = latest.iter().rposition(|(_, _, pid)| *pid == e.pid).or(latest.len().checked_sub(1))?;
        let (kind, at, _) = latest.remove(place)?;
        self.pending.get_mut(&kind)?.remove(&at);
        Some(at.1)
    }
}

#[cfg(test)]
mod tests {
    use idlewise_model::HrtimerMode;

    use super::*;

    #[test]
    fn timers_that_were_cancelled_unseen_do_not_pile_up() {
        let mut ids = Identities::default();
        for n in 0..1_000_i64 {
            for expires in [n, n + 1] {
                ids.armed(
                    (false, 5),
                    expires,
                    &Event { ts_ns: 0, cpu: 0, pid: 7, kind: EventKind::Other { id: 0 } },
                );
            }
            ids.fired((false, 5), n, &Event { ts_ns: 0, cpu: 0, pid: 7, kind: EventKind::Other { id: 0 } });
        }
        assert!(ids.pending.values().all(|timers| timers.len() <= DUE + 2));
    }

    #[test]
    fn an_expiry_and_a_cancel_find_their_arming() {
        let mut ids = Identities::default();
        let mut seen = |ts_ns, cpu, pid, kind| {
            ids.complete(&Event { ts_ns, cpu, pid, kind }).map(|e| match e.kind {
                EventKind::HrtimerStart { hrtimer, .. }
                | EventKind::HrtimerExpireEntry { hrtimer, .. }
                | EventKind::HrtimerExpireExit { hrtimer }
                | EventKind::HrtimerCancel { hrtimer } => hrtimer,
                _ => 0,
            })
        };
        let start = |expires| EventKind::HrtimerStart {
            hrtimer: 0,
            function: 5,
            expires,
            softexpires: expires,
            mode: HrtimerMode::default(),
            was_armed: None,
        };
        let fires = |now| EventKind::HrtimerExpireEntry { hrtimer: 0, function: 5, now };
        let (first, second) = (seen(1, 0, 7, start(100)), seen(2, 0, 8, start(200)));
        let elsewhere = seen(3, 1, 7, start(150));
        assert!(first < second && second < elsewhere);
        assert_eq!(seen(4, 0, 8, EventKind::HrtimerCancel { hrtimer: 0 }), second);
        assert_eq!(seen(5, 0, 0, fires(160)), first, "of its own CPU");
        assert_eq!(seen(6, 0, 0, EventKind::HrtimerExpireExit { hrtimer: 0 }), first);
        assert_eq!(seen(7, 0, 0, EventKind::HrtimerExpireExit { hrtimer: 0 }), None);
        assert_eq!(seen(8, 0, 0, fires(170)), elsewhere, "which moved");
        assert!(seen(9, 0, 0, fires(180)) > elsewhere, "nobody was seen to arm it");
        assert_eq!(seen(10, 0, 0, EventKind::HrtimerCancel { hrtimer: 0 }), None);
        assert_eq!(seen(11, 0, 0, EventKind::HrtimerCancel { hrtimer: 9 }), Some(9));
    }
}
