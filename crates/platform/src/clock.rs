// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::IdleTable;

use crate::{EnergyTable, PlatformError, PowerData, StateInfo};

/// Which CPUs share one clock: what cpufreq calls a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockPolicy {
    /// All CPUs of the cluster.
    #[default]
    Cluster,
    /// Each CPU has a clock of its own.
    Cpu,
}

impl ClockPolicy {
    /// Its word in platform files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Cpu => "cpu",
        }
    }
}

/// The clock of a cluster, as a cpufreq driver presents it to the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The frequency table, by rising kHz; at least one.
    pub points: Vec<ClockPoint>,
    /// Which CPUs share one clock.
    pub policy: ClockPolicy,
    /// How long a change takes (`transition_latency`), ns.
    pub transition_latency_ns: u64,
    /// The shortest time between two changes, us, where the driver itself sets one (`transition_delay_us`).
    pub transition_delay_us: Option<u64>,
    /// The scheduler can change the clock by itself, without a thread (`fast_switch_possible`).
    pub fast_switch: bool,
    /// Utilisation is scaled by the clock (frequency invariance).
    pub invariant: bool,
    /// What the machine's makers set schedutil's `up_rate_limit_us` to, where known.
    pub up_rate_limit_us: Option<u64>,
    /// The same for `down_rate_limit_us`.
    pub down_rate_limit_us: Option<u64>,
    /// The highest clock that governors may choose, kHz, where that is not the highest of all (`scaling_max_freq`, as a thermal
    /// limit sets it).
    pub max_khz: Option<u64>,
    /// The device tree's `dynamic-power-coefficient`, uW/MHz/V^2.
    pub coefficient: Option<u64>,
    /// The base clock, kHz, where known: power limits without a clamp lower no clock below it.
    pub base_khz: Option<u64>,
    /// The highest clock by the number of active cores, by rising number; the last holds for more, too. Empty where it does not
    /// depend on them.
    pub turbo: Vec<TurboClock>,
    /// A core in this idle state or in a deeper one is not active, by its name; where nothing is said, one that sleeps.
    pub inactive_from: Option<String>,
    /// Where the numbers come from.
    pub source: String,
}

/// The highest clock while no more cores than that are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurboClock {
    pub cores: u64,
    pub khz: u64,
}

/// One entry of a frequency table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockPoint {
    /// The clock as the kernel calls it, kHz.
    pub khz: u64,
    /// The clock that the CPU then has, kHz: another one for the entry that means turbo. How fast work is done.
    pub real_khz: u64,
    /// Supply, uV, where published.
    pub volt_uv: Option<u64>,
    /// What one CPU can do here, on the kernel's scale: the cluster's capacity times `khz` over the highest, rounded
    /// down (the `performance` of the kernel's energy model).
    pub capacity: u32,
    /// Energy of one CPU here, what the cluster shares left out.
    pub energy: EnergyTable,
    /// Energy of what the cluster shares, counted once for all its CPUs, where published. Its "running" is any CPU
    /// running; its state *i* is every CPU asleep, the shallowest of them in state *i*; its transition energy is paid
    /// when the last one gets there.
    pub shared: Option<EnergyTable>,
}

impl ClockPoint {
    /// Power of one busy CPU, uW (or thousandths of the relative unit).
    #[must_use]
    pub fn active_uw(&self) -> u64 {
        self.energy.active_power_uw
    }
}

impl Clock {
    /// The highest clock, as the kernel calls it, kHz.
    #[must_use]
    pub fn top_khz(&self) -> u64 {
        self.points.last().map_or(0, |p| p.khz)
    }

    /// The highest point at or below `khz`, which is not below the lowest.
    #[must_use]
    pub fn point_at(&self, khz: u64) -> usize {
        let Some(i) = self.points.iter().rposition(|p| p.khz <= khz) else {
            unreachable!("{khz} kHz is below the lowest point")
        };
        i
    }

    /// Whether the points are those of `curve` and nothing more.
    pub(crate) fn repeats(&self, power: &PowerData) -> bool {
        let plain = |p: &ClockPoint| p.real_khz == p.khz && p.volt_uv.is_none();
        self.points.iter().all(plain)
            && self.points.iter().map(|p| p.khz).eq(power.curve.iter().map(|r| r.khz))
    }
}

/// An entry of a frequency table as files give it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) khz: u64,
    pub(crate) real_khz: u64,
    pub(crate) volt_uv: Option<u64>,
}

/// Adds to `entries`, which rise, what a simulation needs at each: capacity and energy.
pub(crate) fn points(
    entries: &[Entry],
    capacity: u32,
    table: &IdleTable,
    info: &[StateInfo],
    power: Option<&PowerData>,
) -> Result<Vec<ClockPoint>, PlatformError> {
    let Some(top) = entries.last() else { return Ok(Vec::new()) };
    let never: Vec<bool> = info.iter().map(|i| i.never).collect();
    let point = |e: &Entry| {
        let (energy, shared) = match power {
            Some(power) => (power.cpu_at(table, e.khz)?, power.shared_at(table, e.khz)?),
            None => (estimate::energy(table, &never, entries, e)?, None),
        };
        let capacity = u64::from(capacity) * e.khz / top.khz.max(1);
        let capacity = u32::try_from(capacity).unwrap_or(u32::MAX);
        let energy = energy.paying(info)?;
        Ok(ClockPoint { khz: e.khz, real_khz: e.real_khz, volt_uv: e.volt_uv, capacity, energy, shared })
    };
    entries.iter().map(point).collect()
}

/// What is assumed where no power is published (`signal-behaviour.md` D6: P ~ f V^2, V linear from 0.6 to 1.05 V over
/// the range; polling draws what running does at the same clock).
mod estimate {
    use idlewise_model::IdleTable;

    use super::Entry;
    use crate::{EnergyTable, Fall, PlatformError};

    const LOWEST_UV: u64 = 600_000;
    const HIGHEST_UV: u64 = 1_050_000;

    /// The weights of [`EnergyTable::derived`] hold at the highest clock. Running falls with f V^2; sleeping, where
    /// the clock stands still and the supply leaks, with V^2.
    pub(super) fn energy(
        table: &IdleTable,
        never: &[bool],
        entries: &[Entry],
        at: &Entry,
    ) -> Result<EnergyTable, PlatformError> {
        let top = EnergyTable::derived(table, never, Fall::Geometric)?;
        let fastest = entries.last().unwrap_or(at);
        let known = entries.iter().all(|e| e.volt_uv.is_some());
        let squared = |e: &Entry| {
            let volt = if known { e.volt_uv.unwrap_or(HIGHEST_UV) } else { volt_uv(entries, e) };
            u128::from(volt).pow(2)
        };
        let sleeping = |power: u64| nearest(power, squared(at), squared(fastest));
        let clocked = |e: &Entry| squared(e) * u128::from(e.real_khz);
        let active = nearest(top.active_power_uw, clocked(at), clocked(fastest));
        let power = |(s, e): (&idlewise_model::IdleState, &crate::StateEnergy)| {
            if s.polling { active } else { sleeping(e.power_uw) }
        };
        let states: Vec<u64> = table.states().iter().zip(&top.states).map(power).collect();
        let volts = if known { "V as published" } else { "V linear from 0.6 to 1.05 V over the range" };
        let basis = format!(
            "{}; at the highest clock; below it running is estimated as f V^2, sleeping as V^2, {volts}",
            top.basis
        );
        EnergyTable::chained(table, &states, active, top.grade, basis)
    }

    fn volt_uv(entries: &[Entry], at: &Entry) -> u64 {
        let khz = |e: Option<&Entry>| e.map_or(at.real_khz, |e| e.real_khz);
        let (low, high) = (khz(entries.first()), khz(entries.last()));
        if high <= low {
            return HIGHEST_UV;
        }
        let above = at.real_khz.clamp(low, high) - low;
        LOWEST_UV + (HIGHEST_UV - LOWEST_UV) * above / (high - low)
    }

    /// `power * part / whole` to the nearest integer.
    fn nearest(power: u64, part: u128, whole: u128) -> u64 {
        let whole = whole.max(1);
        u64::try_from((u128::from(power) * part + whole / 2) / whole).unwrap_or(u64::MAX)
    }
}
