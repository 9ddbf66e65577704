// SPDX-License-Identifier: GPL-2.0-only
//! What RCU's softirq did. It runs after a tick for one of two reasons: this CPU has callbacks, or a grace period that another CPU
//! asked for began or ended. No event shows which; but with callbacks it has their list to go through, and takes longer.

use std::collections::BTreeMap;

use idlewise_model::{Event, EventKind};

/// The softirq of RCU.
pub(crate) const RCU_SOFTIRQ: u32 = 9;
/// Samples kept, and the least to judge by.
const SAMPLES: usize = 20_000;
const ENOUGH: usize = 20;
/// One run in so many may be shorter than what counts as the shortest.
const SHORTER: usize = 50;
/// A run that finds callbacks takes longer than the shortest by at least this part of it, and one that wakes a task by this. In
/// guests of Linux 7.3 and 6.1 the tick was needed at 98 % of the entries next to such a run, and at a fifth of the others
/// (docs/validation/debian-kernels.md).
const LONGER_PART: u64 = 10;
const LONGER_PART_WAKING: u64 = 4;

/// So many of so many runs are clearly more than half of them: in a guest of Linux 7.3 that read at random 51 of 100 were long, and the
/// short ones meant what they mean elsewhere.
const MOSTLY: (usize, usize) = (3, 5);

/// One run of the softirq.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) begin_ns: u64,
    ns: u64,
    /// Events that were recorded meanwhile, which take time, too.
    events: u32,
    /// It woke a task: a grace period begins or ends.
    wakes: bool,
}

impl Run {
    /// How long it took without the recording of events, ns.
    fn own_ns(&self, event_ns: u32) -> u64 {
        self.ns.saturating_sub(u64::from(self.events) * u64::from(event_ns))
    }
}

/// What a run of the softirq shows of this CPU's callbacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunKind {
    /// It went through a list of callbacks.
    Long,
    /// There was nothing to do.
    Short,
    /// A task was woken, which a grace period of others needs, too.
    Wakes,
}

/// The softirqs that run, by CPU.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    running: BTreeMap<u32, Run>,
}

impl Runs {
    /// A run that ends with `e`.
    pub(crate) fn event(&mut self, e: &Event) -> Option<Run> {
        match e.kind {
            EventKind::SoftirqEntry { vec: RCU_SOFTIRQ } => {
                let run = Run { begin_ns: e.ts_ns, ns: 0, events: 0, wakes: false };
                self.running.insert(e.cpu, run);
                None
            }
            EventKind::SoftirqExit { vec: RCU_SOFTIRQ } => {
                let run = self.running.remove(&e.cpu)?;
                Some(Run { ns: e.ts_ns.saturating_sub(run.begin_ns), ..run })
            }
            EventKind::Lost { .. } => {
                self.running.remove(&e.cpu);
                None
            }
            _ if self.running.is_empty() => None,
            _ => {
                if let Some(run) = self.running.get_mut(&e.cpu) {
                    run.events += 1;
                    run.wakes |= matches!(e.kind, EventKind::SchedWaking { .. });
                }
                None
            }
        }
    }
}

/// Collects the runs of a whole trace.
#[derive(Debug, Default)]
pub(crate) struct Lengths {
    runs: Runs,
    samples: Vec<Run>,
}

impl Lengths {
    pub(crate) fn event(&mut self, e: &Event) {
        if self.samples.len() < SAMPLES {
            self.samples.extend(self.runs.event(e));
        }
    }

    /// Where the recording of an event takes `event_ns`.
    pub(crate) fn finish(&self, event_ns: u32) -> Shortest {
        let of = |wakes: bool| {
            let these = self.samples.iter().filter(|run| run.wakes == wakes);
            let mut all: Vec<u64> = these.map(|run| run.own_ns(event_ns)).collect();
            let rank = all.len() / SHORTER;
            (all.len() >= ENOUGH).then(|| *all.select_nth_unstable(rank).1)
        };
        let all = Shortest { event_ns, quiet_ns: of(false), waking_ns: of(true) };
        let long = self.samples.iter().filter(|run| all.kind(run) == RunKind::Long).count();
        // A CPU that mostly has callbacks has some in between, too, while they wait.
        if long * MOSTLY.1 > self.samples.len() * MOSTLY.0 { Shortest::default() } else { all }
    }
}

/// The shortest runs of a recording.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shortest {
    event_ns: u32,
    quiet_ns: Option<u64>,
    waking_ns: Option<u64>,
}

impl Shortest {
    /// What `run` shows. Where too few are recorded to know the shortest, or most are long, each may be for callbacks.
    pub(crate) fn kind(&self, run: &Run) -> RunKind {
        let (shortest, part, other) = match run.wakes {
            false => (self.quiet_ns, LONGER_PART, RunKind::Short),
            true => (self.waking_ns, LONGER_PART_WAKING, RunKind::Wakes),
        };
        let is_long = shortest.is_none_or(|ns| run.own_ns(self.event_ns) > ns + ns / part);
        if is_long { RunKind::Long } else { other }
    }
}
