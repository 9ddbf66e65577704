// SPDX-License-Identifier: GPL-2.0-only
//! Two governors on one CPU of a machine, given the same idle periods.

use idlewise_governor::{Governor, GovernorError, Instance, Loader, Slot};
use idlewise_idle::{Hosted, Limits, Oracle};
use idlewise_model::{Entry, Ledger, TickGrid};
use idlewise_platform::Cluster;
use idlewise_recording::candidate::Candidate;
use idlewise_replay::{Setting, Workload, run};
use idlewise_score::{Better, Measure, Score, Tally, Unit};

use crate::period::Period;

/// How long the tick's handlers take, ns: what tapes assume where nothing was recorded.
pub(crate) const TICK_HANDLER_NS: u64 = 5_000;

/// A machine's CPU with its ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'p> {
    pub(crate) cluster: &'p Cluster,
    pub(crate) cpu: u32,
    pub(crate) hz: u32,
}

/// By how much the one has to be worse, and in what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    pub(crate) measure: &'static Measure,
    /// % of the other's value; of shares percentage points.
    pub(crate) by: f64,
}

/// Values of both governors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Values {
    pub(crate) a: f64,
    pub(crate) b: f64,
}

/// Values of all rounds, and of the last alone: what stays when governors have learned what they can.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rounds {
    pub(crate) all: Values,
    pub(crate) last: Values,
}

/// Counts what happens from an idle period on.
struct Since<'t> {
    from: usize,
    counts: bool,
    tally: Tally<'t>,
}

impl Ledger for Since<'_> {
    fn entry(&mut self, entry: &Entry) {
        if self.counts {
            self.tally.entry(entry);
        }
    }

    fn waits_for(&mut self, event: usize) {
        self.counts = event >= self.from;
    }

    fn overtaken(&mut self, latency_ns: u64) {
        if self.counts {
            self.tally.overtaken(latency_ns);
        }
    }
}

impl Bar {
    /// How much worse the first is; not a number where that is not known.
    pub(crate) fn worse(&self, v: Values) -> f64 {
        let change = match self.measure.unit {
            Unit::Share => v.a - v.b,
            _ if v.b == 0.0 => f64::NAN,
            _ => (v.a - v.b) * 100.0 / v.b,
        };
        if self.measure.better == Better::More { -change } else { change }
    }

    /// Whether the first is worse by so much, in all rounds together and in the last.
    pub(crate) fn is_met(&self, rounds: &Rounds) -> bool {
        self.worse(rounds.all) >= self.by && self.worse(rounds.last) >= self.by
    }
}

enum Side {
    Hosted { instance: Box<Instance>, slot: Slot, limits: Limits },
    Oracle,
}

/// Both governors on one place.
pub(crate) struct Arena<'p> {
    place: Place<'p>,
    /// Idle periods are played so many times over.
    times: usize,
    sides: [Side; 2],
}

impl<'p> Arena<'p> {
    /// Fresh copies of `candidates`; `loader` is that of the first of them that is hosted.
    pub(crate) fn new(
        loader: &Loader<'_>,
        candidates: [&Candidate; 2],
        place: Place<'p>,
        times: usize,
    ) -> Result<Self, GovernorError> {
        let side = |candidate: &Candidate| -> Result<Side, GovernorError> {
            match candidate {
                Candidate::Oracle => Ok(Side::Oracle),
                Candidate::Hosted { governor, limits, .. } => {
                    let mut instance = loader.of(governor).load(TickGrid::period_of(place.hz))?;
                    let slot = instance.add_cpu(place.cpu, &place.cluster.table, place.cluster.capacity)?;
                    Ok(Side::Hosted { instance: Box::new(instance), slot, limits: *limits })
                }
            }
        };
        Ok(Self { place, times, sides: [side(candidates[0])?, side(candidates[1])?] })
    }

    /// Plays all rounds of `periods` from a fresh start under the governor number `side`; every entry goes to `ledger`.
    pub(crate) fn play<L: Ledger>(
        &mut self,
        side: usize,
        periods: &[Period],
        ledger: &mut L,
    ) -> Result<(), GovernorError> {
        let workload = self.place.workload(&periods.repeat(self.times));
        let Cluster { table, capacity, .. } = self.place.cluster;
        let setting = Setting::new(true, 0);
        match &mut self.sides[side] {
            Side::Oracle => {
                run(&workload, table, *capacity, setting, &mut Oracle::new(table), ledger)?;
            }
            Side::Hosted { instance, slot, limits } => {
                instance.reset();
                let setting = Setting { limits: *limits, ..setting };
                let mut hosted = Hosted::new(instance, *slot);
                run(&workload, table, *capacity, setting, &mut hosted, ledger)?;
            }
        }
        Ok(())
    }

    /// What both come to in `measure`.
    pub(crate) fn values(&mut self, measure: &Measure, periods: &[Period]) -> Result<Rounds, GovernorError> {
        let mut value = |side| {
            let cluster = self.place.cluster;
            let tally = || Tally::new(&cluster.table, &cluster.energy);
            let since = Since { from: periods.len() * (self.times - 1), counts: false, tally: tally() };
            let mut ledgers = (tally(), since);
            self.play(side, periods, &mut ledgers)?;
            let of = |mut tally: Tally<'_>| {
                tally.counts.latencies_ns.settle();
                measure.value(&Score::of(&[&tally]))
            };
            Ok::<[f64; 2], GovernorError>([of(ledgers.0), of(ledgers.1.tally)])
        };
        let (a, b) = (value(0)?, value(1)?);
        let values = |n: usize| Values { a: a[n], b: b[n] };
        Ok(Rounds { all: values(0), last: values(1) })
    }
}

impl Place<'_> {
    /// `periods` as what happens to the CPU.
    fn workload(&self, periods: &[Period]) -> Workload {
        Workload {
            cpu: self.cpu,
            grid: TickGrid::from_hz(self.hz),
            tick_handler_ns: TICK_HANDLER_NS,
            events: Period::events(periods).into(),
            latency: Vec::new(),
            disabled: Vec::new(),
            refusals: Vec::new(),
        }
    }
}

/// The governor in whose process a job runs: one that is foreign, if any is.
pub(crate) fn host(candidates: [&Candidate; 2]) -> Option<&Governor> {
    let hosted = candidates.into_iter().filter_map(|c| match c {
        Candidate::Hosted { governor, .. } => Some(governor),
        Candidate::Oracle => None,
    });
    let all: Vec<&Governor> = hosted.collect();
    all.iter().find(|g| g.is_foreign()).or(all.first()).copied()
}
