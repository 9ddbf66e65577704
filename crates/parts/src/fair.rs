// SPDX-License-Identifier: GPL-2.0-only
//! Fair queues: who runs next, and whether one that wakes up preempts the one that runs.
//!
//! EEVDF (Stoica, Abdel-Wahab: Earliest Eligible Virtual Deadline First, 1995): a task is eligible if it has had no more
//! than its share, and of those the one with the earliest virtual deadline runs. The one that runs keeps the CPU until
//! its slice is over or it has had more than its share. What a task has had too little or too much of is kept while
//! it sleeps. CFS: the one with the least virtual run time runs; one that wakes up gets a bonus of half a latency, and
//! preempts if it is behind by more than the wakeup granularity.

pub use idlewise_signal::pelt::weight;

use crate::machine::FairKind;

/// Weight of nice 0.
pub const NICE_0: u64 = 1024;
/// A fair task, as its queue sees it. Virtual times are ns of a task of nice 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entity {
    /// 1024 for nice 0.
    pub weight: u64,
    /// Uses only what is left.
    pub idle: bool,
    /// A slice of its own, ns; 0 for none.
    pub(crate) own_slice_ns: u64,
    v_ns: i64,
    deadline_ns: i64,
    /// While it is not queued: how far it was behind its share (EEVDF), or its virtual time (CFS).
    kept_ns: i64,
    /// Time run since it was chosen, ns.
    turn_ns: u64,
    /// It has not run yet.
    started: bool,
}

impl Entity {
    /// A task that has not run yet.
    pub fn new(weight: u64, idle: bool, own_slice_ns: u64) -> Self {
        Self { weight, idle, own_slice_ns, ..Self::default() }
    }

    /// The same task, at the same place in virtual time, with another weight.
    pub fn started_as(self, before: &Self) -> Self {
        Self {
            v_ns: before.v_ns,
            deadline_ns: before.deadline_ns,
            kept_ns: before.kept_ns,
            started: before.started,
            ..self
        }
    }

    fn virtually(&self, ns: u64) -> i64 {
        (u128::from(ns) * u128::from(NICE_0) / u128::from(self.weight.max(1))) as i64
    }

    fn slice_ns(&self, kind: FairKind) -> u64 {
        match kind {
            FairKind::Eevdf { slice_ns } if self.own_slice_ns == 0 => slice_ns,
            FairKind::Eevdf { .. } => self.own_slice_ns,
            FairKind::Cfs { latency_ns, .. } => latency_ns,
        }
    }
}

/// The fair tasks that wait for a CPU; the one that runs is not among them, but is an argument of every question.
#[derive(Debug, Default)]
pub struct FairQueue {
    waiting: Vec<u32>,
    weight: u64,
    /// Virtual times of those that wait, times their weights.
    moment: i128,
    /// The least virtual time that there was; it never goes back.
    floor_ns: i64,
}

/// Where the tasks' entities are.
pub trait Entities {
    fn entity(&self, task: u32) -> &Entity;
    /// The same, to be changed.
    fn entity_mut(&mut self, task: u32) -> &mut Entity;
}

impl FairQueue {
    /// Those that wait, in no order that matters.
    #[inline]
    pub fn waiting(&self) -> &[u32] {
        &self.waiting
    }

    /// `task`, which runs, has run for `ns` more; gives whether its turn is over, since others wait.
    #[inline]
    pub fn ran(&mut self, kind: FairKind, all: &mut impl Entities, task: u32, ns: u64) -> bool {
        let others = !self.waiting.is_empty();
        let e = all.entity_mut(task);
        e.v_ns += e.virtually(ns);
        e.turn_ns += ns;
        match kind {
            FairKind::Eevdf { .. } => {
                if e.v_ns < e.deadline_ns {
                    return false;
                }
                e.deadline_ns = e.v_ns + e.virtually(e.slice_ns(kind));
                others
            }
            FairKind::Cfs { latency_ns, granularity_ns, .. } => {
                let total = self.weight + e.weight;
                let period = latency_ns.max(granularity_ns * (self.waiting.len() as u64 + 1));
                let share = (u128::from(period) * u128::from(e.weight) / u128::from(total.max(1))) as u64;
                others && e.turn_ns >= share.max(granularity_ns)
            }
        }
    }

    /// Weight of all, and their virtual times times it.
    #[inline]
    fn sums(&self, curr: Option<&Entity>) -> (u64, i128) {
        curr.map_or((self.weight, self.moment), |e| {
            (self.weight + e.weight, self.moment + i128::from(e.v_ns) * i128::from(e.weight))
        })
    }

    fn mean_ns(&self, curr: Option<&Entity>) -> i64 {
        let (weight, moment) = self.sums(curr);
        if weight == 0 { self.floor_ns } else { moment.div_euclid(i128::from(weight)) as i64 }
    }

    fn raise_floor(&mut self, all: &impl Entities, curr: Option<u32>) {
        let least = self.waiting.iter().chain(&curr).map(|t| all.entity(*t).v_ns).min();
        self.floor_ns = self.floor_ns.max(least.unwrap_or(self.floor_ns));
    }

    /// `task`, which did not wait here, joins those that do; `curr` runs.
    pub fn join(&mut self, kind: FairKind, all: &mut impl Entities, task: u32, curr: Option<u32>) {
        let mut e = *all.entity(task);
        match kind {
            FairKind::Eevdf { .. } => {
                let curr = curr.map(|c| all.entity(c));
                let (total, mean) = (self.sums(curr).0, self.mean_ns(curr));
                // By joining it moves the mean: its lag is made larger, so that what is left of it is what it had.
                let lag = i128::from(e.kept_ns) * i128::from(total + e.weight) / i128::from(total.max(1));
                e.v_ns = if total == 0 { mean } else { mean - lag as i64 };
                let slice = e.virtually(e.slice_ns(kind));
                e.deadline_ns = e.v_ns + if e.started { slice } else { slice / 2 };
            }
            FairKind::Cfs { latency_ns, .. } => {
                self.raise_floor(all, curr);
                let half = (latency_ns / 2) as i64;
                e.v_ns = if e.started {
                    e.kept_ns.max(self.floor_ns - half)
                } else {
                    self.floor_ns + e.virtually(latency_ns / 2)
                };
            }
        }
        e.started = true;
        *all.entity_mut(task) = e;
        self.put(all, task);
    }

    /// `task`, which runs or waits here, leaves for sleep or for another CPU; `curr` runs and may be it.
    pub fn leave(&mut self, kind: FairKind, all: &mut impl Entities, task: u32, curr: Option<u32>) {
        let kept = match kind {
            FairKind::Eevdf { .. } => {
                let mean = self.mean_ns(curr.map(|c| all.entity(c)));
                let e = all.entity(task);
                let limit = e.virtually(2 * e.slice_ns(kind));
                (mean - e.v_ns).clamp(-limit, limit)
            }
            FairKind::Cfs { .. } => {
                self.raise_floor(all, curr);
                all.entity(task).v_ns
            }
        };
        all.entity_mut(task).kept_ns = kept;
        if curr != Some(task) {
            self.take(all, task);
        }
    }

    /// A task that has left goes from this queue to `other`: its place in virtual time is that of the other queue.
    pub fn hand_over(&self, other: &Self, kind: FairKind, e: &mut Entity) {
        if matches!(kind, FairKind::Cfs { .. }) {
            e.kept_ns += other.floor_ns - self.floor_ns;
        }
    }

    /// `task` stops running and waits.
    pub fn put(&mut self, all: &impl Entities, task: u32) {
        let e = all.entity(task);
        self.waiting.push(task);
        self.weight += e.weight;
        self.moment += i128::from(e.v_ns) * i128::from(e.weight);
    }

    /// `task` stops waiting.
    fn take(&mut self, all: &impl Entities, task: u32) {
        let Some(i) = self.waiting.iter().position(|t| *t == task) else { return };
        self.waiting.swap_remove(i);
        let e = all.entity(task);
        self.weight -= e.weight;
        self.moment -= i128::from(e.v_ns) * i128::from(e.weight);
    }

    /// Takes out the one that runs next.
    pub fn next(&mut self, kind: FairKind, all: &mut impl Entities) -> Option<u32> {
        let task = match self.waiting.as_slice() {
            [only] => *only,
            _ => self.best(kind, all, None)?,
        };
        self.take(all, task);
        let e = all.entity_mut(task);
        e.turn_ns = 0;
        if matches!(kind, FairKind::Cfs { .. }) {
            self.floor_ns = self.floor_ns.max(e.v_ns);
        }
        Some(task)
    }

    /// The best of those that wait; nothing where `curr` is no worse.
    fn best(&self, kind: FairKind, all: &impl Entities, curr: Option<u32>) -> Option<u32> {
        let (weight, moment) = self.sums(curr.map(|c| all.entity(c)));
        let key = |task: u32| {
            let e = all.entity(task);
            match kind {
                FairKind::Eevdf { .. } => {
                    let eligible = i128::from(e.v_ns) * i128::from(weight) <= moment;
                    (e.idle, !eligible, e.deadline_ns)
                }
                FairKind::Cfs { .. } => (e.idle, false, e.v_ns),
            }
        };
        let (first, task) = self.waiting.iter().map(|t| (key(*t), *t)).min()?;
        curr.is_none_or(|c| first < key(c)).then_some(task)
    }

    /// Whether `woken`, which has joined, preempts `curr`.
    pub fn preempts(&self, kind: FairKind, all: &impl Entities, woken: u32, curr: u32) -> bool {
        let (e, c) = (all.entity(woken), all.entity(curr));
        if e.idle != c.idle {
            return c.idle;
        }
        match kind {
            FairKind::Eevdf { .. } => {
                let (weight, moment) = self.sums(Some(c));
                let kept =
                    i128::from(c.v_ns) * i128::from(weight) <= moment && e.slice_ns(kind) >= c.slice_ns(kind);
                !kept && self.best(kind, all, Some(curr)) == Some(woken)
            }
            FairKind::Cfs { wakeup_ns, .. } => c.v_ns - e.v_ns > e.virtually(wakeup_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Entities for Vec<Entity> {
        fn entity(&self, task: u32) -> &Entity {
            &self[task as usize]
        }
        fn entity_mut(&mut self, task: u32) -> &mut Entity {
            &mut self[task as usize]
        }
    }

    /// Runs tasks of these weights for a second in steps of a tick; gives their shares, ms.
    fn shares(kind: FairKind, weights: &[u64]) -> Vec<u64> {
        let mut all: Vec<Entity> = weights.iter().map(|w| Entity::new(*w, false, 0)).collect();
        let mut q = FairQueue::default();
        for t in 0..all.len() as u32 {
            q.join(kind, &mut all, t, None);
        }
        let mut had = vec![0; all.len()];
        let mut curr = q.next(kind, &mut all).unwrap();
        for _ in 0..1000 {
            had[curr as usize] += 1;
            if q.ran(kind, &mut all, curr, 1_000_000) {
                q.put(&all, curr);
                curr = q.next(kind, &mut all).unwrap();
            }
        }
        had
    }

    #[test]
    fn tasks_get_time_by_their_weights() {
        for kind in [FairKind::eevdf(2), FairKind::cfs(2)] {
            let had = shares(kind, &[1024, 1024]);
            assert!(had.iter().all(|ms| (490..=510).contains(ms)), "{kind:?}: {had:?}");
            let had = shares(kind, &[weight(Some(-5)), weight(Some(0))]);
            assert!((730..=780).contains(&had[0]), "{kind:?}: {had:?}");
        }
    }

    #[test]
    fn one_that_left_with_less_than_its_share_preempts_when_it_is_back() {
        for kind in [FairKind::eevdf(2), FairKind::cfs(2)] {
            let mut all = vec![Entity::new(1024, false, 0); 2];
            let mut q = FairQueue::default();
            q.join(kind, &mut all, 0, None);
            q.join(kind, &mut all, 1, None);
            assert_eq!(q.next(kind, &mut all), Some(0));
            q.ran(kind, &mut all, 0, 300_000);
            q.leave(kind, &mut all, 1, Some(0));
            q.ran(kind, &mut all, 0, 40_000_000);
            q.join(kind, &mut all, 1, Some(0));
            assert!(q.preempts(kind, &all, 1, 0), "{kind:?}");
            // But not so one that had more than its share.
            q.leave(kind, &mut all, 0, Some(0));
            assert_eq!(q.next(kind, &mut all), Some(1));
            q.join(kind, &mut all, 0, Some(1));
            assert!(!q.preempts(kind, &all, 0, 1), "{kind:?}");
        }
    }

    #[test]
    fn what_only_uses_what_is_left_gives_way() {
        let kind = FairKind::eevdf(1);
        let mut all = vec![Entity::new(weight(None), true, 0), Entity::new(1024, false, 0)];
        let mut q = FairQueue::default();
        q.join(kind, &mut all, 0, None);
        assert_eq!(q.next(kind, &mut all), Some(0));
        q.join(kind, &mut all, 1, Some(0));
        assert!(q.preempts(kind, &all, 1, 0));
    }
}
