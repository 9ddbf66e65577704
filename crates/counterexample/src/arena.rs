// SPDX-License-Identifier: GPL-2.0-only
//! Two governors on one CPU of a machine, given the same idle periods.

use idlewise_governor::{GovernorError, Instance, Loader, Slot};
use idlewise_idle::{Hosted, Limits, Oracle};
use idlewise_model::{Entry, Ledger, TickChoice, TickGrid};
use idlewise_platform::Cluster;
use idlewise_recording::candidate::{Bound, Candidate, at_place};
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
    /// Whether they choose differently in the last round. Where they do not, they differ in what the idle loop itself takes.
    pub(crate) differ: bool,
}

/// States and ticks as they were chosen.
type Choices = Vec<(u8, TickChoice)>;
/// Values of all rounds and of the last, and the choices of the last.
type Played = ([f64; 2], Choices);

/// Counts what happens from an idle period on.
struct Since<'t> {
    from: usize,
    counts: bool,
    tally: Tally<'t>,
    choices: Choices,
}

impl Ledger for Since<'_> {
    fn entry(&mut self, entry: &Entry) {
        if self.counts {
            self.tally.entry(entry);
            self.choices.push((entry.selected, entry.tick));
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

impl Side {
    /// A copy of a candidate that has decided nothing yet.
    fn of(
        candidate: &Candidate,
        loader: Option<&Loader<'_>>,
        place: Place<'_>,
    ) -> Result<Self, GovernorError> {
        let (governor, limits) = match candidate {
            Candidate::Bound(bound) => {
                assert_eq!(*bound, Bound::Oracle, "only the oracle plays short sequences");
                return Ok(Self::Oracle);
            }
            Candidate::Hosted { governor, limits, .. } => (governor, *limits),
        };
        let Some(loader) = loader else { unreachable!("a governor has a loader") };
        let mut instance = loader.of(governor).load(TickGrid::period_of(place.hz))?;
        let slot = instance.add_cpu(place.cpu, &place.cluster.table, place.cluster.capacity)?;
        Ok(Self::Hosted { instance: Box::new(instance), slot, limits })
    }
}

/// One of the two, at its place.
pub(crate) struct Player<'a, 'p> {
    side: &'a mut Side,
    place: Place<'p>,
    times: usize,
}

/// Both governors on one place.
pub(crate) struct Arena<'p> {
    place: Place<'p>,
    /// Idle periods are played so many times over.
    times: usize,
    sides: [Side; 2],
}

impl<'p> Arena<'p> {
    /// Does `job` with fresh copies of `candidates`, of which a foreign one may crash.
    pub(crate) fn run<T>(
        candidates: [&Candidate; 2],
        place: Place<'p>,
        times: usize,
        job: impl FnOnce(&mut Self) -> Result<T, GovernorError>,
    ) -> Result<T, GovernorError> {
        let [a, b] = candidates;
        let with = |loader: Option<&Loader<'_>>| {
            let sides = [Side::of(a, loader, place)?, Side::of(b, loader, place)?];
            job(&mut Self { place, times, sides })
        };
        let hosted = candidates.into_iter().filter_map(|c| match c {
            Candidate::Hosted { governor, .. } => Some(governor),
            Candidate::Bound(_) => None,
        });
        // The calling program's own needs it to be ready, the others run anywhere.
        match hosted.max_by_key(|governor| governor.is_of_caller()) {
            Some(governor) => governor.run(|loader| with(Some(loader))),
            None => with(None),
        }
    }

    /// The governor number `side`.
    pub(crate) fn player(&mut self, side: usize) -> Player<'_, 'p> {
        Player { side: &mut self.sides[side], place: self.place, times: self.times }
    }

    /// What both come to in `measure`, on each of `sequences`.
    pub(crate) fn values(
        &mut self,
        measure: &Measure,
        sequences: &[Vec<Period>],
    ) -> Result<Vec<Rounds>, GovernorError> {
        let mut of = |side| {
            let mut player = self.player(side);
            sequences.iter().map(|periods| player.values(measure, periods)).collect::<Result<Vec<_>, _>>()
        };
        let (a, b) = (of(0)?, of(1)?);
        let rounds = |((a, of_a), (b, of_b)): (&Played, &Played)| {
            let values = |n: usize| Values { a: a[n], b: b[n] };
            Rounds { all: values(0), last: values(1), differ: of_a != of_b }
        };
        Ok(a.iter().zip(&b).map(rounds).collect())
    }

    /// The same, on one sequence.
    pub(crate) fn value(&mut self, measure: &Measure, periods: &[Period]) -> Result<Rounds, GovernorError> {
        Ok(self.values(measure, &[periods.to_vec()])?[0])
    }
}

impl Player<'_, '_> {
    /// Plays all rounds of `periods` from a fresh start; every entry goes to `ledger`.
    pub(crate) fn play<L: Ledger>(
        &mut self,
        periods: &[Period],
        ledger: &mut L,
    ) -> Result<(), GovernorError> {
        let workload = self.place.workload(&periods.repeat(self.times));
        let Cluster { table, capacity, .. } = self.place.cluster;
        let setting = at_place(Setting::new(true, 0), self.place.cluster);
        match self.side {
            Side::Oracle => {
                run(&workload, table, *capacity, setting, &mut Oracle::new(table, setting.prices), ledger)?;
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

    /// Plays `periods`, for the values in `measure`.
    fn values(&mut self, measure: &Measure, periods: &[Period]) -> Result<Played, GovernorError> {
        let cluster = self.place.cluster;
        let tally = || Tally::new(&cluster.table, &cluster.energy);
        let since = Since {
            from: periods.len() * (self.times - 1),
            counts: false,
            tally: tally(),
            choices: Vec::new(),
        };
        let mut ledgers = (tally(), since);
        self.play(periods, &mut ledgers)?;
        let of = |mut tally: Tally<'_>| {
            tally.counts.latencies_ns.settle();
            measure.value(&Score::of(&[&tally]))
        };
        let (all, since) = ledgers;
        Ok(([of(all), of(since.tally)], since.choices))
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
