// SPDX-License-Identifier: GPL-2.0-only
use std::ops::RangeInclusive;

use thiserror::Error;

use crate::ledger::{Breach, Miss};

/// Most states a cpuidle driver can have (`CPUIDLE_STATE_MAX`).
pub const MAX_STATES: usize = 10;

/// Below this target residency, ns, a state does not limit the polling loop (kernels since 5.11,
/// `governor-behaviour.md` 1.6).
const POLL_LIMIT_MIN_RESIDENCY_NS: i64 = 10_000;

/// One idle state as the cpuidle core sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// Name as in sysfs; may hold spaces.
    pub name: String,
    /// Worst case from a wake event to the first instruction, ns, entry included; the kernel's `exit_latency_ns`.
    pub exit_latency_ns: i64,
    /// Shortest idle period that pays, ns, entry included; the kernel's `target_residency_ns`.
    pub target_residency_ns: i64,
    /// The part of `exit_latency_ns` that is spent on the way in, ns; 0 where it is not known.
    pub entry_ns: i64,
    /// The state spins instead of sleeping (`CPUIDLE_FLAG_POLLING`).
    pub polling: bool,
    /// Disabled from the start, as by a driver's default.
    pub disabled: bool,
}

impl IdleState {
    /// From a wake event to the first instruction once the state is fully entered, ns.
    #[inline]
    #[must_use]
    pub fn exit_ns(&self) -> i64 {
        self.exit_latency_ns - self.entry_ns
    }
}

/// Why a table of idle states cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TableError {
    /// A driver without states is not registered by the kernel.
    #[error("no idle state: at least one is needed")]
    Empty,
    #[error("{0} idle states: the kernel allows {MAX_STATES}")]
    TooMany(usize),
    /// Times must not be negative.
    #[error("state {index} ({name}): {what} is negative ({value} ns)")]
    Negative {
        /// Index of the state.
        index: usize,
        name: String,
        what: &'static str,
        /// Its value, ns.
        value: i64,
    },
    /// The way in cannot be longer than the whole.
    #[error(
        "state {index} ({name}): entry time {entry_ns} ns is longer than the exit latency {exit_latency_ns} ns, which includes it"
    )]
    EntryTooLong {
        /// Index of the state.
        index: usize,
        name: String,
        /// Entry time, ns.
        entry_ns: i64,
        /// Exit latency, ns.
        exit_latency_ns: i64,
    },
    /// Governors rely on states being ordered from shallow to deep.
    #[error(
        "state {index} ({name}): target residency {residency_ns} ns is below the previous state's {previous_ns} ns; list states from shallow to deep"
    )]
    Unordered {
        /// Index of the state.
        index: usize,
        name: String,
        /// Its target residency, ns.
        residency_ns: i64,
        /// The target residency of the state before, ns.
        previous_ns: i64,
    },
    /// A time of more than an hour is a mistake of units.
    #[error("state {index} ({name}): {what} of {value} ns is more than an hour; are the units right?")]
    Absurd {
        /// Index of the state.
        index: usize,
        name: String,
        what: &'static str,
        /// Its value, ns.
        value: i64,
    },
}

/// The index of an idle state that some table has: no other number becomes one ([`IdleTable::index`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StateIndex(u8);

impl StateIndex {
    /// As a place in the table.
    #[inline]
    #[must_use]
    pub fn get(self) -> usize {
        self.0.into()
    }
}

/// The idle states of one CPU, shallow to deep; at least one, at most [`MAX_STATES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleTable {
    states: Vec<IdleState>,
    /// Bit i for every state that is always refused.
    refused: u16,
}

impl IdleTable {
    /// Checks and wraps `states`.
    ///
    /// # Errors
    /// [`TableError`] for an empty or too long table, negative or absurd times, or states out of order.
    pub fn new(states: Vec<IdleState>) -> Result<Self, TableError> {
        const HOUR_NS: i64 = 3_600_000_000_000;
        if states.is_empty() {
            return Err(TableError::Empty);
        }
        if states.len() > MAX_STATES {
            return Err(TableError::TooMany(states.len()));
        }
        let mut previous_ns = 0;
        for (index, s) in states.iter().enumerate() {
            let name = s.name.clone();
            let times = [
                ("exit latency", s.exit_latency_ns),
                ("target residency", s.target_residency_ns),
                ("entry time", s.entry_ns),
            ];
            for (what, value) in times {
                if value < 0 {
                    return Err(TableError::Negative { index, name, what, value });
                }
                if value > HOUR_NS {
                    return Err(TableError::Absurd { index, name, what, value });
                }
            }
            if s.entry_ns > s.exit_latency_ns {
                let (entry_ns, exit_latency_ns) = (s.entry_ns, s.exit_latency_ns);
                return Err(TableError::EntryTooLong { index, name, entry_ns, exit_latency_ns });
            }
            if s.target_residency_ns < previous_ns {
                let residency_ns = s.target_residency_ns;
                return Err(TableError::Unordered { index, name, residency_ns, previous_ns });
            }
            previous_ns = s.target_residency_ns;
        }
        Ok(Self { states, refused: 0 })
    }

    /// The same table on a machine that refuses every entry into the states in the bit mask `refused`, of those it has.
    #[must_use]
    pub fn refusing(self, refused: u16) -> Self {
        let there = (1 << self.states.len()) - 1;
        Self { refused: refused & there, ..self }
    }

    /// Bit i set for every state that is always refused: it is on, governors may choose it, and the CPU stays awake.
    #[must_use]
    pub fn refused(&self) -> u16 {
        self.refused
    }

    /// The states, shallow to deep.
    #[inline]
    #[must_use]
    pub fn states(&self) -> &[IdleState] {
        &self.states
    }

    /// How many states there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a table is never empty")]
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// `number` as the index of a state, if there is one of that number.
    #[must_use]
    pub fn index(&self, number: i64) -> Option<StateIndex> {
        let there = usize::try_from(number).is_ok_and(|i| i < self.states.len());
        u8::try_from(number).ok().filter(|_| there).map(StateIndex)
    }

    /// Bit i set for every state that starts disabled.
    #[must_use]
    pub fn disabled_by_default(&self) -> u16 {
        self.states.iter().enumerate().filter(|(_, s)| s.disabled).map(|(i, _)| 1 << i).sum()
    }

    /// The verdict of the cpuidle core on an idle period of `residency_ns` in state `entered` while the states in the
    /// bit mask `disabled` were off (`governor-behaviour.md` 1.5). "Too deep" compares the raw residency; "too
    /// shallow" subtracts the exit latency and looks at the next enabled deeper state only.
    #[inline]
    #[must_use]
    pub fn verdict(&self, entered: usize, residency_ns: i64, disabled: u16) -> Miss {
        let Some(state) = self.states.get(entered) else { return Miss::None };
        let enabled = |i: usize| disabled >> i & 1 == 0;
        if residency_ns < state.target_residency_ns {
            let shallower = (0..entered).any(enabled);
            return if shallower { Miss::Above } else { Miss::None };
        }
        if residency_ns > state.exit_latency_ns {
            let deeper = (entered + 1..self.states.len()).find(|&i| enabled(i));
            let paid = |i: usize| {
                residency_ns - state.exit_latency_ns
                    >= self.states.get(i).map_or(i64::MAX, |s| s.target_residency_ns)
            };
            return if deeper.is_some_and(paid) { Miss::Below } else { Miss::None };
        }
        Miss::None
    }

    /// The residencies in state `entered` for which [`IdleTable::verdict`] is `miss`, from the first to the last, ns.
    #[must_use]
    pub fn residencies(&self, entered: usize, miss: Miss, disabled: u16) -> RangeInclusive<i64> {
        let Some(state) = self.states.get(entered) else { return 0..=i64::MAX };
        let enabled = |i: &usize| disabled >> i & 1 == 0;
        let least_ns = if (0..entered).any(|i| enabled(&i)) { state.target_residency_ns } else { 0 };
        let deeper = (entered + 1..self.states.len()).find(enabled).and_then(|i| self.states.get(i));
        let paid_ns = deeper.map(|s| {
            let from_ns = s.target_residency_ns.saturating_add(state.exit_latency_ns);
            from_ns.max(state.exit_latency_ns.saturating_add(1)).max(least_ns)
        });
        match (miss, paid_ns) {
            (Miss::Above, _) => 0..=least_ns - 1,
            (Miss::None, None) => least_ns..=i64::MAX,
            (Miss::None, Some(ns)) => least_ns..=ns - 1,
            (Miss::Below, Some(ns)) => ns..=i64::MAX,
            (Miss::Below, None) => RangeInclusive::new(1, 0),
        }
    }

    /// What is wrong with choosing state `chosen` while the states in the bit mask `disabled` were off and exits were to
    /// take `latency_limit_ns` at most. Nothing, where no other state would have been better.
    #[must_use]
    pub fn breach(&self, chosen: usize, disabled: u16, latency_limit_ns: i64) -> Breach {
        let Some(state) = self.states.get(chosen) else {
            return Breach { no_state: true, ..Breach::default() };
        };
        let on = || self.states.iter().enumerate().filter(|(i, _)| disabled >> i & 1 == 0).map(|(_, s)| s);
        Breach {
            disabled: disabled >> chosen & 1 == 1 && on().next().is_some(),
            over_limit: state.exit_latency_ns > latency_limit_ns
                && on().any(|s| s.exit_latency_ns <= latency_limit_ns),
            no_state: false,
        }
    }

    /// How long the polling loop spins before it gives up, ns, where no governor set a limit
    /// (`governor-behaviour.md` 1.6, kernels since 5.11).
    #[must_use]
    pub fn poll_limit_ns(&self, disabled: u16, tick_period_ns: u64) -> u64 {
        let cap = tick_period_ns / 16;
        let first =
            self.states.iter().enumerate().skip(1).find(|(i, s)| {
                disabled >> i & 1 == 0 && s.target_residency_ns >= POLL_LIMIT_MIN_RESIDENCY_NS
            });
        first.map_or(cap, |(_, s)| cap.min(s.target_residency_ns.unsigned_abs()))
    }
}
