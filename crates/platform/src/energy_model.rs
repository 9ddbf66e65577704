// SPDX-License-Identifier: GPL-2.0-only
use crate::{Cluster, EnergyGrade};

/// The kernel whose arithmetic is meant; the energy model's changed between the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    /// Linux 6.1.
    V6_1,
    /// Linux 6.12.
    #[default]
    V6_12,
}

/// One performance state of an [`EnergyModel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnergyState {
    /// Clock, kHz.
    pub khz: u64,
    /// Power of one busy CPU, uW (or thousandths of the relative unit).
    pub power_uw: u64,
    /// Capacity here, on the scale of 1024.
    pub performance: u64,
    /// The kernel's `cost`: energy per unit of utilisation.
    pub cost: u64,
    /// A higher state costs no more: never chosen.
    pub inefficient: bool,
}

/// The kernel's energy model of a cluster (`signal-behaviour.md` D1), in its own integers. It knows busy energy only:
/// no idle states, nothing shared, no transitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnergyModel {
    /// By rising clock; at least one.
    pub states: Vec<EnergyState>,
    pub kernel: Kernel,
    /// Capacity of a CPU at the highest state.
    pub capacity: u64,
    /// How far to trust the powers. Models of a machine can be compared when they have the same grade.
    pub grade: EnergyGrade,
    /// The powers are computed from voltage, clock and the device tree's coefficient, as the kernel does; otherwise
    /// they are the published ones of the power curve.
    pub computed: bool,
}

impl EnergyModel {
    /// The model that `kernel` would have of `cluster`: from the coefficient and the voltages where both are known,
    /// else from the power curve. `None` without a clock or where no power is published: the kernel of such a machine
    /// has no model either.
    #[must_use]
    pub fn new(cluster: &Cluster, kernel: Kernel) -> Option<Self> {
        let clock = cluster.clock.as_ref()?;
        let volts = |k| clock.points.iter().map(|p| p.volt_uv.map(|v| computed_uw(k, v, p.khz))).collect();
        let from_volts: Option<Vec<u64>> = clock.coefficient.and_then(volts);
        let published = || clock.points.iter().map(crate::ClockPoint::active_uw).collect();
        let computed = from_volts.is_some();
        // A coefficient is fitted to some load: good for comparing clocks and clusters, no measurement of watts.
        let grade = if computed { EnergyGrade::PublishedRelative } else { cluster.power.as_ref()?.grade };
        let powers = from_volts.unwrap_or_else(published);
        let points = clock.points.iter().map(|p| p.khz).zip(powers).collect::<Vec<_>>();
        Some(Self::of(&points, u64::from(cluster.capacity), kernel, grade, computed))
    }

    fn of(points: &[(u64, u64)], capacity: u64, kernel: Kernel, grade: EnergyGrade, computed: bool) -> Self {
        let top = points.last().map_or(1, |p| p.0).max(1);
        let mut states: Vec<EnergyState> = Vec::with_capacity(points.len());
        for &(khz, power_uw) in points {
            let performance = capacity * khz / top;
            let cost = match kernel {
                Kernel::V6_12 => power_uw.saturating_mul(10) / performance.max(1),
                Kernel::V6_1 => top.saturating_mul(power_uw) / khz.max(1),
            };
            states.push(EnergyState { khz, power_uw, performance, cost, inefficient: false });
        }
        let mut lowest = u64::MAX;
        for s in states.iter_mut().rev() {
            s.inefficient = s.cost >= lowest;
            lowest = lowest.min(s.cost);
        }
        Self { states, kernel, capacity, grade, computed }
    }

    /// The index of the state for `max_util`, the highest utilisation of a CPU of the cluster (0 and up; what is above
    /// the capacity gets the highest). On 6.12 headroom is the caller's affair; on 6.1 a quarter is added here.
    #[must_use]
    pub fn pick(&self, max_util: u64, allowed_capacity: u64) -> usize {
        let (wanted, has): (u64, fn(&EnergyState) -> u64) = match self.kernel {
            Kernel::V6_12 => (max_util.min(allowed_capacity), |s| s.performance),
            Kernel::V6_1 => {
                let util = max_util.saturating_add(max_util >> 2).min(allowed_capacity);
                let top = self.states.last().map_or(0, |s| s.khz);
                (top.saturating_mul(util) / self.capacity.max(1), |s| s.khz)
            }
        };
        let last = self.states.len().saturating_sub(1);
        self.states.iter().position(|s| !s.inefficient && has(s) >= wanted).unwrap_or(last)
    }

    /// What the kernel's `em_cpu_energy` returns: energy per time of a cluster whose CPUs have the utilisations
    /// `sum_util` in sum, at the clock that `max_util` asks for while thermal pressure leaves `allowed_capacity`. Only
    /// for comparison with its like.
    #[must_use]
    pub fn energy(&self, max_util: u64, sum_util: u64, allowed_capacity: u64) -> u64 {
        if sum_util == 0 {
            return 0;
        }
        let cost = self.states.get(self.pick(max_util, allowed_capacity)).map_or(0, |s| s.cost);
        match self.kernel {
            Kernel::V6_12 => cost.saturating_mul(sum_util),
            Kernel::V6_1 => cost.saturating_mul(sum_util) / self.capacity.max(1),
        }
    }
}

/// Power from the device tree's coefficient (uW/MHz/V^2), in the kernel's integers: mV and MHz.
fn computed_uw(coefficient: u64, volt_uv: u64, khz: u64) -> u64 {
    let (mv, mhz) = (volt_uv / 1000, khz / 1000);
    coefficient.saturating_mul(mv * mv).saturating_mul(mhz) / 1_000_000
}
