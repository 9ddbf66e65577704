// SPDX-License-Identifier: GPL-2.0-only
use std::path::PathBuf;

use idlewise_model::IdleTable;

use crate::{
    Battery, Clock, Costs, EnergyGrade, EnergyTable, Fall, Package, PlatformError, PowerData, PowerLimits,
    StateInfo, Thermal,
};

/// The largest capacity: the fastest CPU of a machine at its highest clock has it (`SCHED_CAPACITY_SCALE`).
pub const CAPACITY_MAX: u32 = 1024;

/// CPU numbers end here: larger than any kernel's `NR_CPUS`.
pub(crate) const CPU_MAX: u32 = idlewise_model::HIGHEST_CPU;

/// A residency of all ones, us: the device tree's way to say "only when nothing at all is due".
pub(crate) const NEVER_US: i64 = u32::MAX as i64;

/// Most threads that a core may have: POWER8 and POWER9 have eight.
pub(crate) const THREADS_MAX: i64 = 8;

/// What such a residency becomes in a table, ns: an hour, the longest an [`IdleTable`] takes. A CPU that has any
/// timer armed sleeps less, one that has none sleeps forever, so no choice depends on the difference.
pub(crate) const NEVER_NS: i64 = 3_600_000_000_000;

/// Where a platform comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Shipped,
    File(PathBuf),
    /// A dump of `/sys/devices/system/cpu`.
    SysfsDump(PathBuf),
    Running,
}

/// A machine: clusters of CPUs, each with idle states, capacity and energy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// Short name: lower-case letters, digits, `-`, `_`, `.`.
    pub id: String,
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Scheduler ticks per second (`CONFIG_HZ`), where known or chosen.
    pub hz: Option<u32>,
    /// Where `hz` is from, or why it is missing; may be empty.
    pub hz_note: String,
    /// All CPUs share a last-level cache, so that the scheduler takes them for one domain; else each cluster has its own.
    pub one_cache: bool,
    /// All CPUs take turns on one thread of a host, as those of an emulator do that counts instructions.
    pub one_thread: bool,
    /// Time that the kernel itself takes here, where somebody measured it, and who.
    pub costs: Option<(Costs, String)>,
    /// Its battery, where it has one and somebody says which.
    pub battery: Option<Battery>,
    /// What it draws while any CPU is awake, where somebody says it.
    pub package: Option<Package>,
    /// The limits of its power that its firmware sets, where somebody says which.
    pub limits: Option<PowerLimits>,
    /// How it warms up, where somebody says it.
    pub thermal: Option<Thermal>,
    /// At least one; no CPU is in two.
    pub clusters: Vec<Cluster>,
    /// What a reader of results should know.
    pub notes: Vec<String>,
    /// Where the numbers come from.
    pub sources: Vec<String>,
}

/// CPUs that have the same idle states and capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Name, unique in the platform.
    pub name: String,
    pub cpus: Vec<u32>,
    /// Any CPU number belongs here, whatever `cpus` says: a homogeneous machine of any size (`cpus = "all"`).
    /// `cpus` is then the number to use where nothing else says how many there are.
    pub any_cpu: bool,
    pub table: IdleTable,
    /// What the idle table has no place for; one entry per state.
    pub info: Vec<StateInfo>,
    /// Capacity, 1..=1024.
    pub capacity: u32,
    /// What a CPU really does at its highest clock, 1..=1024, where its capacity only pretends: virtual CPUs.
    pub speed: Option<u32>,
    /// Speed of one CPU, thousandths of that alone, by how many threads of its core are busy, from one on: as many as a core
    /// has threads. `[1000]` where each CPU is a core. So many CPUs one after the other are the threads of a core.
    pub thread_speed: Vec<u32>,
    /// So many CPUs one after the other share a last-level cache; nothing where all of the cluster do.
    pub cache_cpus: Option<usize>,
    /// Published power, where there is any.
    pub power: Option<PowerData>,
    /// Its clock, where the frequency table is known. Without one it runs at one speed.
    pub clock: Option<Clock>,
    /// Energy of the idle states of one CPU.
    pub energy: EnergyTable,
    /// Where the states and the capacity come from.
    pub source: String,
}

impl Platform {
    /// Whether this describes the same machine, wherever either was read.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        Self { origin: other.origin.clone(), ..self.clone() } == *other
    }
}

impl Cluster {
    /// The energy table if the powers that are assumed fell in equal steps; none where none are assumed.
    #[must_use]
    pub fn energy_in_equal_steps(&self) -> Option<EnergyTable> {
        let never: Vec<bool> = self.info.iter().map(|i| i.never).collect();
        let assumed = self.energy.grade == EnergyGrade::DerivedFromBreakEven;
        let table = || EnergyTable::derived(&self.table, &never, Fall::EqualSteps)?.paying(&self.info);
        assumed.then(|| table().ok())?
    }
}

impl Cluster {
    /// How many CPUs are threads of one core; 1 where each is a core.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.thread_speed.len().max(1)
    }

    /// Whether `cpu` belongs here.
    #[must_use]
    pub fn has(&self, cpu: u32) -> bool {
        self.any_cpu || self.cpus.binary_search(&cpu).is_ok()
    }

    /// The energy table at another clock of the power curve, kHz; `None` where no power is published.
    ///
    /// # Errors
    /// [`PlatformError::Energy`] when the curve has no such row.
    pub fn energy_at(&self, khz: u64) -> Option<Result<EnergyTable, PlatformError>> {
        self.power.as_ref().map(|p| p.energy_at(&self.table, khz, self.cpus.len())?.paying(&self.info))
    }

    /// Energy of one CPU at the point `i` of the clock, what the cluster shares left out; without a clock, or past its
    /// end, the one table there is.
    #[inline]
    #[must_use]
    pub fn energy_at_point(&self, i: usize) -> &EnergyTable {
        self.clock.as_ref().and_then(|c| c.points.get(i)).map_or(&self.energy, |p| &p.energy)
    }

    /// Energy of what the cluster shares at the point `i` of the clock ([`ClockPoint::shared`](crate::ClockPoint)), to
    /// be counted once for the cluster; none where nothing is published.
    #[inline]
    #[must_use]
    pub fn shared_energy_at_point(&self, i: usize) -> Option<&EnergyTable> {
        self.clock.as_ref()?.points.get(i)?.shared.as_ref()
    }
}

impl Platform {
    /// The cluster of `cpu`; `None` when the machine has no such CPU.
    #[must_use]
    pub fn cluster_of(&self, cpu: u32) -> Option<&Cluster> {
        self.clusters.iter().find(|c| c.has(cpu))
    }

    /// The index of the cluster of `cpu`.
    #[must_use]
    pub fn cluster_index_of(&self, cpu: u32) -> Option<usize> {
        self.clusters.iter().position(|c| c.has(cpu))
    }

    /// The last-level cache of `cpu`: CPUs with the same share one. Nothing for a CPU that no cluster has.
    #[must_use]
    pub fn cache_of(&self, cpu: u32) -> Option<(usize, usize)> {
        let index = self.cluster_index_of(cpu)?;
        let cluster = self.clusters.get(index)?;
        let place = cluster.cpus.iter().position(|c| *c == cpu).unwrap_or(cpu as usize);
        let part = cluster.cache_cpus.map_or(0, |own| place / own.max(1));
        Some(if self.one_cache { (0, 0) } else { (index, part) })
    }

    /// How many CPUs there are; for a machine of any size, how many to use where nothing else says.
    #[must_use]
    pub fn cpu_count(&self) -> usize {
        self.clusters.iter().map(|c| c.cpus.len()).sum()
    }

    /// Whether any CPU number is as good as another (`cpus = "all"`).
    #[must_use]
    pub fn any_cpu(&self) -> bool {
        self.clusters.iter().any(|c| c.any_cpu)
    }

    /// Nanoseconds between two scheduler ticks; `None` where HZ is not known.
    #[must_use]
    pub fn tick_ns(&self) -> Option<u64> {
        self.hz.filter(|&hz| hz > 0).map(|hz| 1_000_000_000 / u64::from(hz))
    }
}
