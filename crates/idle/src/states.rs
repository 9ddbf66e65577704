// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{Breach, IdleTable, MAX_STATES, Miss};

/// What the loop needs of each state while the same states are disabled, side by side in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct States {
    states: [State; MAX_STATES],
    last: usize,
    /// The shortest exit latency of a state that is on, ns; the largest number where none is.
    fastest_ns: i64,
}

/// One state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    /// Way in, ns.
    pub(crate) entry_ns: u64,
    /// Way out, ns.
    pub(crate) exit_ns: u64,
    target_residency_ns: i64,
    /// A shallower state is enabled.
    shallower: bool,
    /// A stay this long is too shallow, ns; the largest number where no deeper state is enabled.
    below_from_ns: i64,
    /// The state spins.
    pub(crate) polling: bool,
    exit_latency_ns: i64,
    /// The state is off, and another is on.
    off: bool,
}

impl States {
    pub(crate) fn new(table: &IdleTable, disabled: u16) -> Self {
        let mut states = [State::default(); MAX_STATES];
        let on = table.states().iter().enumerate().filter(|(i, _)| disabled >> i & 1 == 0);
        let fastest_ns = on.clone().map(|(_, s)| s.exit_latency_ns).min().unwrap_or(i64::MAX);
        for (i, (to, from)) in states.iter_mut().zip(table.states()).enumerate() {
            let enabled = |i: &usize| disabled >> i & 1 == 0;
            let deeper = (i + 1..table.len()).find(enabled).and_then(|i| table.states().get(i));
            // Both of `governor-behaviour.md` 1.5: more than the exit latency, and enough for the next state beyond
            // it.
            let pays = |next: i64| from.exit_latency_ns.saturating_add(next.max(1));
            *to = State {
                entry_ns: from.entry_ns.unsigned_abs(),
                exit_ns: from.exit_ns().unsigned_abs(),
                target_residency_ns: from.target_residency_ns,
                shallower: (0..i).any(|i| enabled(&i)),
                below_from_ns: deeper.map_or(i64::MAX, |s| pays(s.target_residency_ns)),
                polling: from.polling,
                exit_latency_ns: from.exit_latency_ns,
                off: !enabled(&i) && on.clone().next().is_some(),
            };
        }
        Self { states, last: table.len() - 1, fastest_ns }
    }

    /// The state at `index`; the deepest for an index that is none.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &State {
        &self.states[index.min(self.last)]
    }

    /// What is wrong with the answer `index`; the same as [`IdleTable::breach`].
    #[inline]
    pub(crate) fn breach(&self, index: i32, latency_limit_ns: i64) -> Breach {
        let no_state = self.nearest(index) as i32 != index;
        let state = self.get(self.nearest(index));
        Breach {
            disabled: !no_state && state.off,
            over_limit: !no_state
                && state.exit_latency_ns > latency_limit_ns
                && self.fastest_ns <= latency_limit_ns,
            no_state,
        }
    }

    /// `index` where it is a state, else the nearest that is one.
    #[inline]
    pub(crate) fn nearest(&self, index: i32) -> usize {
        (index.max(0) as usize).min(self.last)
    }
}

impl State {
    /// The core's verdict on a stay of `residency_ns`; the same as [`IdleTable::verdict`].
    #[inline]
    pub(crate) fn verdict(&self, residency_ns: i64) -> Miss {
        if residency_ns < self.target_residency_ns {
            return if self.shallower { Miss::Above } else { Miss::None };
        }
        let deeper = self.below_from_ns != i64::MAX && residency_ns >= self.below_from_ns;
        if deeper { Miss::Below } else { Miss::None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use idlewise_model::IdleState;

    #[test]
    fn the_verdict_is_the_tables() {
        let state = |exit_us: i64, residency_us: i64| IdleState {
            name: String::new(),
            exit_latency_ns: exit_us * 1000,
            target_residency_ns: residency_us * 1000,
            entry_ns: 0,
            polling: false,
            disabled: false,
        };
        let rows = [(0, 0), (0, 0), (2, 2), (10, 20), (600, 500), (600, 500)];
        let table = IdleTable::new(rows.map(|(e, r)| state(e, r)).to_vec()).unwrap();
        let times: Vec<i64> = rows
            .iter()
            .flat_map(|(e, r)| [*e * 1000, *r * 1000, (e + r) * 1000, e * 1000 + 20_000, e * 1000 + 500_000])
            .flat_map(|t| [t - 1, t, t + 1])
            .chain([i64::MIN, -1, 0, 1, i64::MAX])
            .collect();
        for disabled in 0..1 << table.len() {
            let states = States::new(&table, disabled);
            for entered in 0..table.len() {
                for &t in &times {
                    let expected = table.verdict(entered, t, disabled);
                    assert_eq!(states.get(entered).verdict(t), expected, "{entered} {t} {disabled:b}");
                }
                for &limit in &times {
                    let expected = table.breach(entered, disabled, limit);
                    assert_eq!(
                        states.breach(entered as i32, limit),
                        expected,
                        "{entered} {limit} {disabled:b}"
                    );
                }
            }
        }
    }
}
