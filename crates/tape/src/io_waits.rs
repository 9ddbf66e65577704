// SPDX-License-Identifier: GPL-2.0-only
//! Which uninterruptible sleeps waited for I/O. A recording shows it when they end, if at all: by `sched_blocked_reason`, or by
//! `sched_stat_iowait` (without one before the task runs again, it waited for something else). Where block devices' requests were
//! recorded, a sleep during which none was under way was no wait for them; a wait for a network file system is not seen. Else who wakes
//! the task counts: I/O ends with an interrupt; a task that waits for a lock or for another task's work is woken by that task.

use std::collections::BTreeMap;

use idlewise_model::{Event, EventKind};

/// `prev_state` of a task that sleeps uninterruptibly. Before 4.14, and in LTTng's events of any kernel, it stands beside the
/// bits of a sleep that a fatal signal ends, or of one that is no load: that one (`TASK_NOLOAD`) is not spent waiting.
const UNINTERRUPTIBLE: u64 = 2;
const NO_LOAD: u64 = 0x400;
/// Priorities from here on are of ordinary tasks. Kernels before 5.16 count for no others.
const ORDINARY: i32 = 100;

/// Whether a task that is switched out with this state waits for something that does not let itself be interrupted.
pub(crate) fn is_uninterruptible(prev_state: u64) -> bool {
    prev_state & (UNINTERRUPTIBLE | NO_LOAD) == UNINTERRUPTIBLE
}

/// The events that distinguish waits for I/O from other uninterruptible sleeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IoEvidence {
    #[default]
    Nothing,
    BlockedReason,
    SchedStat,
    /// These show only which sleeps had no request of a block device under way.
    Requests,
    /// Who woke the tasks, where interrupts are recorded.
    Wakers,
}

/// The sleeps of each task in the order of time: when each ended, ns, and whether it waited, or may have waited, for I/O.
type Sleeps = BTreeMap<i32, Vec<(u64, bool)>>;

/// The waits for I/O that a recording shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct IoWaits {
    pub(crate) evidence: IoEvidence,
    sleeps: Sleeps,
}

impl IoWaits {
    /// Whether a task that blocks at `ts_ns` waits for I/O; `None` where nothing shows it.
    pub(crate) fn waits_for_io(&self, pid: i32, ts_ns: u64) -> Option<bool> {
        let ended = self.sleeps.get(&pid)?;
        ended.get(ended.partition_point(|(at, _)| *at < ts_ns)).map(|(_, io)| *io)
    }
}

/// A task that sleeps.
#[derive(Clone, Copy, Debug)]
struct Asleep {
    since_ns: u64,
    /// The kernel counts this sleep, and no event has shown yet what it waited for.
    unknown: bool,
    /// A task woke it, no interrupt.
    by_task: bool,
}

/// The interrupts and softirqs that run on each CPU.
#[derive(Debug, Default)]
struct Handlers {
    running: BTreeMap<u32, u32>,
    interrupts: bool,
    softirqs: bool,
    wakings: bool,
}

impl Handlers {
    fn event(&mut self, e: &Event) {
        match e.kind {
            EventKind::IrqEntry { .. } | EventKind::SoftirqEntry { .. } | EventKind::VectorEntry { .. } => {
                self.interrupts |= matches!(e.kind, EventKind::IrqEntry { .. });
                self.softirqs |= matches!(e.kind, EventKind::SoftirqEntry { .. });
                *self.running.entry(e.cpu).or_default() += 1;
            }
            EventKind::IrqExit { .. } | EventKind::SoftirqExit { .. } | EventKind::VectorExit { .. } => {
                if let Some(running) = self.running.get_mut(&e.cpu) {
                    *running = running.saturating_sub(1);
                }
            }
            EventKind::SchedWaking { .. } => self.wakings = true,
            // No handler goes on behind a switch: an event was lost.
            EventKind::SchedSwitch { .. } | EventKind::Lost { .. } => {
                self.running.remove(&e.cpu);
            }
            _ => {}
        }
    }

    /// Whether one runs on `cpu`.
    fn run(&self, cpu: u32) -> bool {
        self.running.get(&cpu).is_some_and(|n| *n > 0)
    }

    /// Whether the recording has both kinds, and who wakes tasks.
    fn all_seen(&self) -> bool {
        self.interrupts && self.softirqs && self.wakings
    }
}

/// Collects sleeps and their evidence from all events.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    by_reason: Sleeps,
    by_stat: Sleeps,
    by_request: Sleeps,
    by_waker: Sleeps,
    /// `sched_stat_iowait` events.
    stats: u64,
    /// The kernel counts: without `kernel.sched_schedstats` it has neither of the two events.
    counts: bool,
    requests: u64,
    asleep: BTreeMap<i32, Asleep>,
    handlers: Handlers,
    /// Sectors that are left of each request that is under way, by device and first sector.
    under_way: BTreeMap<(u32, u64), u32>,
    /// When the last request ended, ns.
    last_ns: Option<u64>,
}

impl Finder {
    pub(crate) fn event(&mut self, e: &Event) {
        self.handlers.event(e);
        match e.kind {
            EventKind::SchedWaking { pid, .. } if !self.asleep.is_empty() => {
                let by_task = e.pid > 0 && !self.handlers.run(e.cpu);
                if let Some(asleep) = self.asleep.get_mut(&pid) {
                    asleep.by_task = by_task;
                }
            }
            EventKind::SchedSwitch { prev_pid, prev_prio, prev_state, next_pid, .. } => {
                if !self.asleep.is_empty()
                    && let Some(asleep) = self.asleep.remove(&next_pid)
                {
                    self.runs_again(next_pid, asleep, e.ts_ns);
                }
                if is_uninterruptible(prev_state) {
                    let unknown = prev_prio >= ORDINARY;
                    let asleep = Asleep { since_ns: e.ts_ns, unknown, by_task: false };
                    self.asleep.insert(prev_pid, asleep);
                }
            }
            EventKind::SchedBlockedReason { pid, io_wait } => {
                self.by_reason.entry(pid).or_default().push((e.ts_ns, io_wait));
            }
            EventKind::SchedStat { pid, io_wait } => {
                self.stats += u64::from(io_wait);
                self.counts = true;
                let unknown = self.asleep.get_mut(&pid).is_some_and(|a| std::mem::take(&mut a.unknown));
                // The second of the two says nothing new.
                if unknown || io_wait {
                    self.by_stat.entry(pid).or_default().push((e.ts_ns, io_wait));
                }
            }
            EventKind::BlockRqIssue { dev, sector, sectors } => {
                self.requests += 1;
                self.under_way.insert((dev, sector), sectors);
            }
            EventKind::BlockRqComplete { dev, sector, sectors } => {
                let left = self.under_way.remove(&(dev, sector)).map_or(0, |all| all.saturating_sub(sectors));
                if left > 0 {
                    self.under_way.insert((dev, sector.wrapping_add(sectors.into())), left);
                }
                self.last_ns = Some(e.ts_ns);
            }
            _ => {}
        }
    }

    fn runs_again(&mut self, pid: i32, asleep: Asleep, ts_ns: u64) {
        if asleep.unknown {
            self.by_stat.entry(pid).or_default().push((ts_ns, false));
        }
        let any = !self.under_way.is_empty() || self.last_ns.is_some_and(|last| last >= asleep.since_ns);
        self.by_request.entry(pid).or_default().push((ts_ns, any));
        self.by_waker.entry(pid).or_default().push((ts_ns, !asleep.by_task));
    }

    /// `stats_recorded`: `sched_stat_iowait` events were on; where none came from a kernel that counts, no task waited for I/O.
    pub(crate) fn finish(self, stats_recorded: bool) -> IoWaits {
        let (evidence, sleeps) = if !self.by_reason.is_empty() {
            (IoEvidence::BlockedReason, self.by_reason)
        } else if self.stats > 0 || stats_recorded && self.counts {
            (IoEvidence::SchedStat, self.by_stat)
        } else if self.requests > 0 {
            (IoEvidence::Requests, self.by_request)
        } else if self.handlers.all_seen() {
            (IoEvidence::Wakers, self.by_waker)
        } else {
            (IoEvidence::Nothing, Sleeps::default())
        };
        IoWaits { evidence, sleeps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(events: &[(u64, EventKind)]) -> IoWaits {
        let mut finder = Finder::default();
        events
            .iter()
            .for_each(|(ts_ns, kind)| finder.event(&Event { ts_ns: *ts_ns, cpu: 0, pid: 0, kind: *kind }));
        finder.finish(false)
    }

    fn blocks(pid: i32, prev_prio: i32, prev_state: u64) -> EventKind {
        EventKind::SchedSwitch { prev_pid: pid, prev_prio, prev_state, next_pid: 0, next_prio: 120 }
    }

    fn runs(pid: i32) -> EventKind {
        EventKind::SchedSwitch { prev_pid: 0, prev_prio: 120, prev_state: 0, next_pid: pid, next_prio: 120 }
    }

    #[test]
    fn what_a_task_waited_for_is_shown_when_it_is_woken() {
        let reason = |io_wait| EventKind::SchedBlockedReason { pid: 7, io_wait };
        let found = found(&[(100, reason(true)), (200, reason(false))]);
        let waits = [50, 100, 150, 201].map(|ts_ns| found.waits_for_io(7, ts_ns));
        assert_eq!(waits, [Some(true), Some(true), Some(false), None]);
        assert_eq!(found.waits_for_io(8, 50), None);
    }

    #[test]
    fn a_sleep_without_sched_stat_iowait_was_no_wait_for_io() {
        let stat = |io_wait| EventKind::SchedStat { pid: 7, io_wait };
        let events = [
            (100, blocks(7, 120, 2)),
            (200, stat(true)),
            (201, stat(false)),
            (210, runs(7)),
            (300, blocks(7, 120, 2)),
            (400, stat(false)),
            (410, runs(7)),
            (500, blocks(7, 120, 2)),
            (600, runs(7)),
            (700, blocks(7, 120, 2)),
        ];
        let seen = found(&events);
        let waits = [100, 300, 500, 700].map(|ts_ns| seen.waits_for_io(7, ts_ns));
        assert_eq!(seen.evidence, IoEvidence::SchedStat);
        assert_eq!(waits, [Some(true), Some(false), Some(false), None]);
        // perf sched record has the first kind alone.
        let seen = found(&events.into_iter().filter(|(_, kind)| *kind != stat(false)).collect::<Vec<_>>());
        assert_eq!([100, 300, 500, 700].map(|ts_ns| seen.waits_for_io(7, ts_ns)), waits);
    }

    #[test]
    fn a_kernel_that_does_not_count_shows_nothing() {
        let seen = found(&[(100, blocks(7, 120, 2)), (200, runs(7))]);
        assert_eq!((seen.evidence, seen.waits_for_io(7, 100)), (IoEvidence::Nothing, None));
    }

    #[test]
    fn blocked_times_alone_do_not_show_which_were_waits_for_io() {
        let blocked = (200, EventKind::SchedStat { pid: 7, io_wait: false });
        assert_eq!(found(&[(100, blocks(7, 120, 2)), blocked]).evidence, IoEvidence::Nothing);
        let mut finder = Finder::default();
        for (ts_ns, kind) in [(100, blocks(7, 120, 2)), blocked] {
            finder.event(&Event { ts_ns, cpu: 0, pid: 0, kind });
        }
        assert_eq!(finder.finish(true).evidence, IoEvidence::SchedStat);
        // Both events were on and none came: the kernel does not count.
        let mut finder = Finder::default();
        for (ts_ns, kind) in [(100, blocks(7, 120, 2)), (200, runs(7))] {
            finder.event(&Event { ts_ns, cpu: 0, pid: 0, kind });
        }
        assert_eq!(finder.finish(true).evidence, IoEvidence::Nothing);
    }

    #[test]
    fn nothing_is_concluded_of_tasks_that_a_kernel_may_not_count() {
        let stat = (50, EventKind::SchedStat { pid: 9, io_wait: true });
        let seen = found(&[stat, (100, blocks(7, 90, 2)), (200, runs(7))]);
        assert_eq!(seen.waits_for_io(7, 100), None);
    }

    #[test]
    fn a_sleep_that_another_task_ends_is_no_wait_for_io() {
        let waking = EventKind::SchedWaking { pid: 7, target_cpu: 0 };
        let events = |handlers: bool| {
            let mut all = Vec::new();
            let irq = |at, kind| (at, 9, kind);
            // By an interrupt of a task, by an interrupt of the idle task, by a task.
            for (at, waker) in [(100, 9), (200, 0), (300, 9)] {
                all.push((at, 7, blocks(7, 120, 2)));
                if handlers && at == 100 {
                    all.push(irq(at + 1, EventKind::IrqEntry { irq: 5 }));
                }
                all.push((at + 2, waker, waking));
                if handlers && at == 100 {
                    all.push(irq(at + 3, EventKind::IrqExit { irq: 5 }));
                    all.push(irq(at + 4, EventKind::SoftirqEntry { vec: 4 }));
                    all.push(irq(at + 5, EventKind::SoftirqExit { vec: 4 }));
                }
                all.push((at + 10, 0, runs(7)));
            }
            all
        };
        let found = |handlers| {
            let mut finder = Finder::default();
            for (ts_ns, pid, kind) in events(handlers) {
                finder.event(&Event { ts_ns, cpu: 0, pid, kind });
            }
            let found = finder.finish(false);
            (found.evidence, [100, 200, 300].map(|ts_ns| found.waits_for_io(7, ts_ns)))
        };
        assert_eq!(found(true), (IoEvidence::Wakers, [Some(true), Some(true), Some(false)]));
        assert_eq!(found(false), (IoEvidence::Nothing, [None; 3]), "an interrupt would not be seen");
    }

    #[test]
    fn a_sleep_without_a_request_is_no_wait_for_io() {
        let issue = |sector, sectors| EventKind::BlockRqIssue { dev: 1, sector, sectors };
        let complete = |sector, sectors| EventKind::BlockRqComplete { dev: 1, sector, sectors };
        let seen = found(&[
            (100, blocks(7, 120, 2)),
            (110, runs(7)),
            (120, issue(10, 8)),
            (200, blocks(7, 90, 2)),
            (205, complete(10, 3)),
            (210, runs(7)),
            (300, blocks(7, 120, 2)),
            (305, complete(13, 5)),
            (310, runs(7)),
            (400, blocks(7, 120, 2)),
            (410, runs(7)),
            (500, blocks(7, 120, 2)),
        ]);
        assert_eq!(seen.evidence, IoEvidence::Requests);
        let waits = [100, 200, 300, 400, 500].map(|ts_ns| seen.waits_for_io(7, ts_ns));
        assert_eq!(waits, [Some(false), Some(true), Some(true), Some(false), None]);
    }
}
