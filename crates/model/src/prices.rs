// SPDX-License-Identifier: GPL-2.0-only
use crate::{LoopCosts, MAX_STATES};

/// What one state costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatePrice {
    /// The way in and out beyond the power of the states around it, fJ (or the relative equivalent).
    pub transition_fj: u64,
    /// Power in the state, uW (or thousandths of the relative unit).
    pub power_uw: u64,
    /// The way in, ns: the least time for which the power is paid.
    pub entry_ns: u64,
}

impl StatePrice {
    /// What an idle period of `t_ns` in the state costs, fJ (or the relative equivalent).
    #[inline]
    #[must_use]
    pub fn of(&self, t_ns: u64) -> u128 {
        u128::from(self.transition_fj) + u128::from(self.power_uw) * u128::from(t_ns.max(self.entry_ns))
    }
}

/// What idle periods cost one who knows how long they last: the states, and the tick kept or stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// By state; no more than the idle table has.
    pub states: [StatePrice; MAX_STATES],
    /// Power of a running CPU, uW (or thousandths of the relative unit).
    pub active_uw: u64,
    pub costs: LoopCosts,
}

impl Prices {
    /// The cheapest state of `among` (bit i for state i) for an idle period of `t_ns`, the deepest of several, and what it costs,
    /// fJ (or the relative equivalent); nothing where no state is among them.
    #[inline]
    #[must_use]
    pub fn cheapest(&self, among: u16, t_ns: u64) -> Option<(usize, u128)> {
        let all = self.states.iter().enumerate().filter(|(i, _)| among >> i & 1 == 1);
        let priced = all.map(|(i, price)| (i, price.of(t_ns)));
        priced.reduce(|best, other| if other.1 <= best.1 { other } else { best })
    }

    /// What running for `ns` costs, fJ (or the relative equivalent).
    #[inline]
    #[must_use]
    pub fn active_fj(&self, ns: u64) -> u128 {
        u128::from(self.active_uw) * u128::from(ns)
    }

    /// How much more a wait from `start_ns` to `wake_ns` costs where the tick is kept, which is due at `due_ns` and every
    /// `period_ns` after it and whose handlers run for `handler_ns`, than where it is stopped; stopping it not counted. fJ (or the
    /// relative equivalent).
    #[must_use]
    pub fn of_ticks(
        &self,
        among: u16,
        start_ns: u64,
        wake_ns: u64,
        due_ns: u64,
        period_ns: u64,
        handler_ns: u64,
    ) -> u128 {
        if due_ns >= wake_ns {
            return 0;
        }
        let cheapest = |ns: u64| self.cheapest(among, ns).map_or(0, |(_, fj)| fj);
        let ticks = (wake_ns - due_ns).div_ceil(period_ns.max(1));
        let last_ns = wake_ns - (due_ns + (ticks - 1) * period_ns);
        let awake_ns = handler_ns + u64::from(self.costs.again_ns) + u64::from(self.costs.decision_ns);
        let kept = cheapest(due_ns.saturating_sub(start_ns))
            + u128::from(ticks - 1) * cheapest(period_ns.saturating_sub(handler_ns))
            + cheapest(last_ns.saturating_sub(handler_ns))
            + u128::from(ticks) * self.active_fj(awake_ns);
        kept.saturating_sub(cheapest(wake_ns.saturating_sub(start_ns)))
    }
}
