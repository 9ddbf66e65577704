// SPDX-License-Identifier: GPL-2.0-only
//! What idle power is worth in clock while a limit binds, in closed form.

/// Power of what the clock drives grows with the clock to a power in this range (docs/concepts/power-limits.md has the sources).
pub const EXPONENT: [f64; 2] = [2.5, 3.5];

/// How a package that draws as much as its limit allows divides it, W.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    pub limit_w: f64,
    /// What idle states draw.
    pub idle_w: f64,
    /// What else is drawn that may not follow the clock: the package itself.
    pub package_w: f64,
}

impl Budget {
    /// What follows the clock, W: at least without the package, at most with it. Nothing where idle states and package leave
    /// nothing of the limit.
    #[must_use]
    pub fn clocked_w(&self) -> Option<[f64; 2]> {
        let most = self.limit_w - self.idle_w;
        let least = most - self.package_w;
        (least > 0.0).then_some([least, most])
    }

    /// By how much the clock rises where idle states leave `freed_w` more, %: at least and at most. With *C* that follows the
    /// clock, *C f^k* becomes *C + freed*.
    #[must_use]
    pub fn clock_pct(&self, freed_w: f64) -> Option<[f64; 2]> {
        let clocked = self.clocked_w()?;
        let change = |clocked_w: f64, exponent: f64| {
            let grown = (1.0 + freed_w / clocked_w).max(0.0);
            100.0 * (libm::pow(grown, 1.0 / exponent) - 1.0)
        };
        let ends = clocked.map(|c| EXPONENT.map(|k| change(c, k)));
        let all = ends.as_flattened();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some([least, most])
    }

    /// How long a CPU has to work after a wakeup, us, until a shallower idle state has cost it what it saved: at least and at most.
    /// The state is left `saved_us` sooner, and draws `extra_w` more of the power that the limit leaves to the clock, for a `share`
    /// of the time, 0 to 1, in which the limit binds. The clock falls by *extra / (k C)*, so that work of *b* lasts
    /// *b extra / (k C)* longer. Nothing where nothing is left to the clock, or where the state costs nothing.
    #[must_use]
    pub fn break_even_work_us(&self, saved_us: f64, extra_w: f64, share: f64) -> Option<[f64; 2]> {
        let [least, most] = self.clocked_w()?;
        let cost = extra_w * share;
        let [low, high] = EXPONENT;
        (cost > 0.0).then(|| [saved_us * low * least / cost, saved_us * high * most / cost])
    }
}
