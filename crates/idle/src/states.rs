// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{Breach, IdleTable, MAX_STATES, Miss};

/// At least [`MAX_STATES`], and a power of two: no index that was masked is out of bounds.
const ROOM: usize = 16;
const _: () = assert!(MAX_STATES <= ROOM && ROOM.is_power_of_two());

/// What the loop needs of each state while the same states are disabled and the same latency limit is in force, side by side
/// in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct States {
    states: [State; ROOM],
    last: usize,
    /// The shortest exit latency of a state that is on, ns; the largest number where none is.
    fastest_ns: i64,
    /// The latency limit that `breach` of each state is about, ns.
    limit_ns: i64,
}

/// One state, in a cache line of its own.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct State {
    /// Way in, ns.
    pub(crate) entry_ns: u64,
    /// Way out, ns.
    pub(crate) exit_ns: u64,
    /// A shorter stay is too deep, ns; the smallest number where no shallower state is enabled.
    above_until_ns: i64,
    /// A longer stay is too shallow, ns; the largest number where no deeper state is enabled.
    below_after_ns: i64,
    exit_latency_ns: i64,
    /// What is wrong with choosing it.
    breach: Breach,
    pub(crate) polling: bool,
    /// Something is wrong with choosing it.
    pub(crate) wrong: bool,
    /// The state is off, and another is on.
    off: bool,
}

impl States {
    pub(crate) fn new(table: &IdleTable, disabled: u16, limit_ns: i64) -> Self {
        let mut states = [State::default(); ROOM];
        let on = table.states().iter().enumerate().filter(|(i, _)| disabled >> i & 1 == 0);
        let fastest_ns = on.clone().map(|(_, s)| s.exit_latency_ns).min().unwrap_or(i64::MAX);
        for (i, (to, from)) in states.iter_mut().zip(table.states()).enumerate() {
            let enabled = |i: &usize| disabled >> i & 1 == 0;
            let deeper = (i + 1..table.len()).find(enabled).and_then(|i| table.states().get(i));
            let shallower = (0..i).any(|i| enabled(&i));
            // Both of `governor-behaviour.md` 1.5: more than the exit latency, and enough for the next state beyond it.
            let pays = |next: i64| from.exit_latency_ns.saturating_add(next.max(1));
            *to = State {
                entry_ns: from.entry_ns.unsigned_abs(),
                exit_ns: from.exit_ns().unsigned_abs(),
                above_until_ns: if shallower { from.target_residency_ns } else { i64::MIN },
                below_after_ns: deeper.map_or(i64::MAX, |s| pays(s.target_residency_ns) - 1),
                exit_latency_ns: from.exit_latency_ns,
                breach: Breach::default(),
                polling: from.polling,
                wrong: false,
                off: !enabled(&i) && on.clone().next().is_some(),
            };
        }
        let mut states = Self { states, last: table.len() - 1, fastest_ns, limit_ns };
        states.judge(limit_ns);
        states
    }

    /// The limit of the exit latency is `limit_ns` from now on.
    #[inline]
    pub(crate) fn set_limit(&mut self, limit_ns: i64) {
        if limit_ns != self.limit_ns {
            self.judge(limit_ns);
        }
    }

    #[cold]
    fn judge(&mut self, limit_ns: i64) {
        self.limit_ns = limit_ns;
        let one_keeps_it = self.fastest_ns <= limit_ns;
        for s in &mut self.states {
            let over_limit = s.exit_latency_ns > limit_ns && one_keeps_it;
            s.breach = Breach { disabled: s.off, over_limit, no_state: false };
            s.wrong = s.breach != Breach::default();
        }
    }

    /// The latency limit in force, ns.
    pub(crate) fn limit_ns(&self) -> i64 {
        self.limit_ns
    }

    /// Index of the deepest state.
    #[inline]
    pub(crate) fn last(&self) -> usize {
        self.last
    }

    /// `index` where it is a state, else the deepest.
    #[inline]
    pub(crate) fn there(&self, index: usize) -> usize {
        if index > self.last { self.deepest() } else { index }
    }

    #[cold]
    fn deepest(&self) -> usize {
        self.last
    }

    /// The state at `index`; of no use for an index that is none.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &State {
        &self.states[index & (ROOM - 1)]
    }

    /// What is wrong with the answer `index`; the same as [`IdleTable::breach`].
    #[inline]
    pub(crate) fn breach(&self, index: i32) -> Breach {
        let nearest = self.nearest(index);
        if nearest as i32 != index {
            return Breach { no_state: true, ..Breach::default() };
        }
        self.get(nearest).breach
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
        // Both are looked at whatever comes out: how stays end is not to be foreseen, by branch predictors either.
        let below = if residency_ns > self.below_after_ns { Miss::Below } else { Miss::None };
        if residency_ns < self.above_until_ns { Miss::Above } else { below }
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
            let mut states = States::new(&table, disabled, 0);
            for entered in 0..table.len() {
                for &t in &times {
                    let expected = table.verdict(entered, t, disabled);
                    assert_eq!(states.get(entered).verdict(t), expected, "{entered} {t} {disabled:b}");
                }
                for &limit in &times {
                    let expected = table.breach(entered, disabled, limit);
                    states.set_limit(limit);
                    assert_eq!(states.breach(entered as i32), expected, "{entered} {limit} {disabled:b}");
                }
            }
        }
    }
}
