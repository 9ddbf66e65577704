// SPDX-License-Identifier: GPL-2.0-only
//! Two governors' waits side by side: where their choices part, and what that costs.

use std::collections::BTreeMap;

use idlewise_model::{PiecesError, WakeCause};
use idlewise_replay::Events;
use serde::Serialize;

use crate::waits::Wait;

/// So many fJ are one mJ, or one relative unit.
pub const FJ_PER_UNIT: f64 = 1e12;

/// How the choices of A and B for one wait part. Tables show them in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parting {
    /// The first choices are different states.
    State {
        a: u8,
        b: u8,
    },
    /// The first choices are the same state, but only one lets the tick run on.
    Tick {
        state: u8,
        /// A lets the tick run on.
        a_keeps: bool,
    },
    /// The first choices are the same, a later one in the same wait is another, or there are more of them.
    Later,
    /// Only A was asked: the event came while B was on its way out for an earlier one, or polling.
    OnlyA,
    /// Only B was asked.
    OnlyB,
    /// All choices are the same.
    Same,
    Neither,
}

impl Parting {
    /// How the choices for one idle period differ.
    pub fn of(a: &Wait, b: &Wait) -> Self {
        match (a.asks, b.asks) {
            (0, 0) => Self::Neither,
            (_, 0) => Self::OnlyA,
            (0, _) => Self::OnlyB,
            _ if a.state != b.state => Self::State { a: a.state, b: b.state },
            _ if a.tick_kept != b.tick_kept => Self::Tick { state: a.state, a_keeps: a.tick_kept },
            _ if a.choices != b.choices => Self::Later,
            _ => Self::Same,
        }
    }

    /// Both were asked, and their first choices differ.
    pub fn is_first(self) -> bool {
        matches!(self, Self::State { .. } | Self::Tick { .. })
    }

    /// The word that JSON and CSV use.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::State { .. } => "state",
            Self::Tick { .. } => "tick",
            Self::Later => "later",
            Self::OnlyA => "only-a",
            Self::OnlyB => "only-b",
            Self::Same => "same",
            Self::Neither => "neither",
        }
    }
}

/// What one governor did in some waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, schemars::JsonSchema, Serialize)]
pub struct Side {
    pub decisions: u64,
    pub above: u64,
    pub below: u64,
    /// Wakeup latency, sum, ns.
    pub latency_ns: u64,
    /// Energy, fJ or the table's relative equivalent.
    pub energy_fj: u128,
}

/// Some waits, and what they cost with either governor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, schemars::JsonSchema, Serialize)]
pub struct Cost {
    pub waits: u64,
    /// Their length in the recording, from the start of the wait to the event, sum, ns.
    pub wait_ns: u64,
    pub a: Side,
    pub b: Side,
}

impl Side {
    fn add(&mut self, other: &Self) {
        self.decisions += other.decisions;
        self.above += other.above;
        self.below += other.below;
        self.latency_ns += other.latency_ns;
        self.energy_fj += other.energy_fj;
    }
}

impl From<&Wait> for Side {
    fn from(w: &Wait) -> Self {
        Self {
            decisions: w.asks.into(),
            above: w.above.into(),
            below: w.below.into(),
            latency_ns: w.latency_ns.into(),
            energy_fj: w.energy_fj,
        }
    }
}

impl Cost {
    pub(crate) fn add(&mut self, other: &Self) {
        self.waits += other.waits;
        self.wait_ns += other.wait_ns;
        self.a.add(&other.a);
        self.b.add(&other.b);
    }

    /// Mean length of the waits in the recording, ns.
    #[must_use]
    pub fn mean_wait_ns(&self) -> f64 {
        if self.waits == 0 { 0.0 } else { self.wait_ns as f64 / self.waits as f64 }
    }

    /// Wakeup latency of B above A's, sum, ns.
    #[must_use]
    pub fn latency_ns(&self) -> i128 {
        i128::from(self.b.latency_ns) - i128::from(self.a.latency_ns)
    }

    /// Energy of B above A's, fJ or the table's relative equivalent.
    #[must_use]
    pub fn energy_fj(&self) -> i128 {
        self.b.energy_fj.cast_signed() - self.a.energy_fj.cast_signed()
    }
}

/// The waits of one or more CPUs, sorted in two ways; either way adds up to all of them.
#[derive(Clone, Debug, Default)]
pub struct SideBySide {
    pub(crate) by_parting: BTreeMap<Parting, Cost>,
    pub(crate) by_cause: BTreeMap<WakeCause, Cost>,
}

impl SideBySide {
    /// Lays `a` beside `b`, both over `events`.
    ///
    /// # Errors
    /// [`PiecesError`] when the events cannot be read.
    pub fn new(
        events: &Events,
        a: impl Iterator<Item = Result<Wait, PiecesError>>,
        b: impl Iterator<Item = Result<Wait, PiecesError>>,
    ) -> Result<Self, PiecesError> {
        let mut out = Self::default();
        let mut pairs = a.zip(b);
        for block in events.blocks() {
            for (event, (a, b)) in block?.iter().zip(&mut pairs) {
                let (a, b) = (&a?, &b?);
                let wait_ns = event.at_ns.saturating_sub(event.start_ns);
                let cost = Cost { waits: 1, wait_ns, a: a.into(), b: b.into() };
                out.by_parting.entry(Parting::of(a, b)).or_default().add(&cost);
                out.by_cause.entry(event.cause).or_default().add(&cost);
            }
        }
        Ok(out)
    }

    /// Adds those of another CPU.
    pub fn merge(&mut self, other: &Self) {
        for (parting, cost) in &other.by_parting {
            self.by_parting.entry(*parting).or_default().add(cost);
        }
        for (cause, cost) in &other.by_cause {
            self.by_cause.entry(*cause).or_default().add(cost);
        }
    }

    /// How many waits part in a way that `is` holds for.
    pub(crate) fn count(&self, is: impl Fn(&Parting) -> bool) -> u64 {
        self.by_parting.iter().filter(|(p, _)| is(p)).map(|(_, c)| c.waits).sum()
    }

    pub(crate) fn total(&self) -> Cost {
        let mut total = Cost::default();
        self.by_cause.values().for_each(|c| total.add(c));
        total
    }
}
