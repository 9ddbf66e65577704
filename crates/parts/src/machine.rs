// SPDX-License-Identifier: GPL-2.0-only
//! What is simulated: a platform's CPUs and clocks, and a kernel's own costs and habits.

use std::ops::Range;

use idlewise_idle::Limits;
use idlewise_model::{IdleTable, TickGrid};
use idlewise_platform::{ClockPolicy, Cluster, Costs, EnergyTable, Package, Platform, PowerLimits};
use idlewise_workload::{Calibration, Workload};

/// How long a simulated machine has been up when a run begins, ns: 300 s. So much before its wrap does Linux's count of ticks begin
/// (`INITIAL_JIFFIES`); near 0 of the clock menu's product of a factor with `KTIME_MAX - now` wraps to 0, where no machine that is
/// measured ever is. Times of a run count from its begin; only governors and written traces have this clock.
pub const UPTIME_NS: u64 = 300_000_000_000;

/// A machine with a kernel on it.
#[derive(Clone, Debug)]
pub struct Machine<'p> {
    /// By place; a CPU's number may be another.
    pub cpus: Vec<CpuSpec<'p>>,
    /// What [`CpuSpec::clock`] points to.
    pub clocks: Vec<ClockSpec<'p>>,
    /// The platform's clusters, that [`CpuSpec::cluster`] points to.
    pub clusters: &'p [Cluster],
    /// The scheduler's ticks, the same for all CPUs.
    pub grid: TickGrid,
    /// Time that the kernel itself takes.
    pub costs: Costs,
    /// Its CPUs take turns on one thread of a host.
    pub one_thread: bool,
    /// Which fair scheduler it has.
    pub fair: FairKind,
    /// Fair tasks have a deadline server, whose timer is pending while a CPU that ran some is idle.
    pub fair_server: bool,
    /// How much later than asked a timer of a task may expire, ns (`timer_slack_ns`); those of real-time tasks may not.
    pub slack_ns: u64,
    /// How tasks are given CPUs.
    pub placing: Placing,
    /// What is taken from the idle governors.
    pub limits: Limits,
    /// How long each of [`Energy::samples_fj`](crate::Energy::samples_fj) is, ns, a multiple of
    /// [`UPDATE_NS`](crate::UPDATE_NS); nothing where none is wanted.
    pub sample_ns: Option<u64>,
    /// What is drawn while any CPU is awake.
    pub package: Option<&'p Package>,
    /// What bounds the running averages of all that it draws, as one package.
    pub power_limits: idlewise_power::Limits,
    /// The time from one step of a ceiling to the next, ns.
    pub power_step_ns: u64,
    /// How it warms up.
    pub heat: Option<idlewise_power::Heat>,
}

/// One CPU of a simulated machine.
#[derive(Clone, Debug)]
pub struct CpuSpec<'p> {
    pub number: u32,
    pub table: &'p IdleTable,
    /// What the scheduler takes it for: 1..=1024.
    pub capacity: u32,
    /// What it does at the highest clock: 1..=1024. The same as `capacity` but on machines that only pretend.
    pub speed: u32,
    /// CPUs with the same number share idle states and capacity.
    pub cluster: usize,
    /// CPUs with the same number share their last cache: a domain of the scheduler. The cluster, a part of it, or one for all.
    pub cache: usize,
    /// CPUs with the same number are in one package of meters: the cluster, or one for all that share a cache.
    pub package: usize,
    /// The threads of its core, by place, itself included; one where each CPU is a core.
    pub core: Range<usize>,
    /// Its clock, as a place in [`Machine::clocks`].
    pub clock: usize,
}

/// A clock that some CPUs share.
#[derive(Clone, Debug)]
pub struct ClockSpec<'p> {
    /// Its CPUs, by place.
    pub cpus: Vec<usize>,
    pub cluster: usize,
    /// By rising clock; one where the platform says nothing of clocks.
    pub points: Vec<Point<'p>>,
}

/// A clock's operating point.
#[derive(Clone, Debug)]
pub struct Point<'p> {
    /// As the kernel calls it, kHz; 0 where the platform says nothing.
    pub khz: u32,
    /// How fast work is done, of 2^10 at the highest.
    pub speed: u64,
    /// Energy of one CPU here.
    pub energy: &'p EnergyTable,
    /// Energy of what the cluster shares.
    pub shared: Option<&'p EnergyTable>,
}

impl<'p> Machine<'p> {
    /// `platform` with a tick of `hz`; `cpus` of them where any number is as good as another, else all.
    #[must_use]
    pub fn new(platform: &'p Platform, hz: u32, cpus: Option<usize>) -> Self {
        let mut machine = Self {
            cpus: Vec::new(),
            clocks: Vec::new(),
            clusters: &platform.clusters,
            grid: TickGrid::from_hz(hz),
            costs: platform.costs.as_ref().map_or_else(Costs::default, |(costs, _)| *costs),
            one_thread: platform.one_thread,
            fair: FairKind::eevdf(1),
            fair_server: true,
            slack_ns: 50_000,
            placing: Placing::default(),
            limits: Limits::NONE,
            package: platform.package.as_ref(),
            power_limits: platform.limits.as_ref().map_or_else(Default::default, |l| l.limits),
            power_step_ns: platform.limits.as_ref().map_or(PowerLimits::STEP_NS, |l| l.step_ns),
            heat: platform.thermal.as_ref().map(|t| t.heat),
            sample_ns: platform.battery.as_ref().map(|b| b.sample_ms * 1_000_000),
        };
        for (i, cluster) in platform.clusters.iter().enumerate() {
            let own = match cpus {
                Some(n) if cluster.any_cpu => (0..n as u32).collect(),
                _ => cluster.cpus.clone(),
            };
            machine.add(i, cluster, &own, platform.one_cache);
        }
        machine.fair = FairKind::eevdf(machine.cpus.len());
        machine
    }

    fn add(&mut self, i: usize, cluster: &'p Cluster, cpus: &[u32], one_cache: bool) {
        let each = cluster.clock.as_ref().is_some_and(|c| c.policy == ClockPolicy::Cpu);
        let first = self.cpus.len();
        let cache = if one_cache { 0 } else { self.cpus.iter().map(|c| c.cache + 1).max().unwrap_or(0) };
        for (n, number) in cpus.iter().enumerate() {
            if each || n == 0 {
                self.clocks.push(ClockSpec { cpus: Vec::new(), cluster: i, points: points(cluster) });
            }
            let clock = self.clocks.len() - 1;
            self.clocks[clock].cpus.push(self.cpus.len());
            self.cpus.push(CpuSpec {
                number: *number,
                table: &cluster.table,
                capacity: cluster.capacity,
                speed: cluster.speed.unwrap_or(cluster.capacity),
                cluster: i,
                cache: if one_cache { 0 } else { cache + cluster.cache_cpus.map_or(0, |own| n / own) },
                package: if one_cache { 0 } else { i },
                core: core_of(n, cluster.threads(), cpus.len(), first),
                clock,
            });
        }
    }

    /// How fast work is done on a thread of the core of CPU `c` while `busy` of its threads are, thousandths of one alone.
    #[must_use]
    pub fn thread_speed(&self, c: usize, busy: usize) -> u64 {
        let all = &self.clusters[self.cpus[c].cluster].thread_speed;
        busy.checked_sub(1).and_then(|i| all.get(i)).copied().map_or(1000, u64::from)
    }

    /// Whether ceilings can hold its clocks: it has power limits or a temperature, or turbo depends on active cores.
    #[must_use]
    pub fn has_ceilings(&self) -> bool {
        let turbo = |c: &Cluster| c.clock.as_ref().is_some_and(|clock| !clock.turbo.is_empty());
        self.heat.is_some() || self.power_limits.named().next().is_some() || self.clusters.iter().any(turbo)
    }

    /// What it draws while all CPUs are in the idle state that draws least of those that are on, at the lowest clocks, uW or
    /// the tables' relative equivalent.
    #[must_use]
    pub fn idle_uw(&self) -> u64 {
        let mut uw = self.package.map_or(0, Package::deepest_uw);
        for clock in &self.clocks {
            let table = &self.clusters[clock.cluster].table;
            let off = table.disabled_by_default() | table.refused();
            let least = |t: &EnergyTable| {
                let on = t.states.iter().enumerate().filter(|(i, _)| off & (1 << i) == 0);
                on.map(|(_, s)| s.power_uw).min().unwrap_or(t.active_power_uw)
            };
            let point = &clock.points[0];
            uw += least(point.energy) * clock.cpus.len() as u64 + point.shared.map_or(0, least);
        }
        uw
    }

    /// What leaving an idle state took where somebody measured it, ns: the time from an interrupt to running, less that
    /// from the shallowest state, which any wake-up takes. A governor goes by the declared time all the same.
    pub fn measured_exit_ns(&self, c: usize, state: usize) -> Option<u64> {
        let info = &self.clusters[self.cpus[c].cluster].info;
        let shallowest_ns = info.first()?.measured_wake_ns?;
        Some(info.get(state)?.measured_wake_ns?.saturating_sub(shallowest_ns))
    }

    /// How much longer a task's first work takes after an idle state, ns at any clock.
    pub fn refill_ns(&self, c: usize, state: usize) -> u64 {
        self.clusters[self.cpus[c].cluster].info.get(state).map_or(0, |info| info.refill_ns)
    }

    /// Speed of the CPU whose microseconds the work of `workload` is in.
    pub(crate) fn work_speed(&self, workload: &Workload) -> u64 {
        let fastest = self.cpus.iter().map(|c| c.speed).max().unwrap_or(1024);
        let speed = match workload.global.calibration {
            Calibration::Cpu(number) => self.cpus.iter().find(|c| c.number == number).map(|c| c.speed),
            Calibration::NsPerLoop(_) => None,
        };
        u64::from(speed.unwrap_or(fastest))
    }
}

/// The threads of the core of the `n`th of so many CPUs, the first of which has the place `first`. The last core may have
/// fewer than the others where the number of CPUs was chosen.
fn core_of(n: usize, threads: usize, cpus: usize, first: usize) -> Range<usize> {
    let start = n - n % threads;
    first + start..first + (start + threads).min(cpus)
}

fn points(cluster: &Cluster) -> Vec<Point<'_>> {
    let Some(clock) = &cluster.clock else {
        return vec![Point { khz: 0, speed: 1024, energy: &cluster.energy, shared: None }];
    };
    let top = clock.points.last().map_or(1, |p| p.real_khz).max(1);
    let point = |p: &'_ idlewise_platform::ClockPoint| (p.khz as u32, (p.real_khz << 10) / top);
    clock
        .points
        .iter()
        .map(|p| {
            let (khz, speed) = point(p);
            Point { khz, speed, energy: &p.energy, shared: p.shared.as_ref() }
        })
        .collect()
}

/// How fair tasks share a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FairKind {
    /// Earliest eligible virtual deadline first, as from 6.6 on.
    Eevdf {
        /// Time that a task runs before another's turn, ns.
        slice_ns: u64,
    },
    /// Least virtual run time first, as until 6.5.
    Cfs {
        /// In which every task runs once, ns.
        latency_ns: u64,
        /// But no shorter than this, ns.
        granularity_ns: u64,
        /// How much longer than one that wakes up the running task must have run to be preempted, ns.
        wakeup_ns: u64,
    },
}

impl FairKind {
    /// The defaults grow with the number of CPUs, up to eight: 1 + log2 (`sched_tunable_scaling`).
    fn scale(cpus: usize) -> u64 {
        1 + u64::from(cpus.clamp(1, 8).ilog2())
    }

    /// As Linux 6.6 and later have it by default.
    #[must_use]
    pub fn eevdf(cpus: usize) -> Self {
        Self::Eevdf { slice_ns: 700_000 * Self::scale(cpus) }
    }

    /// As Linux 2.6.23 to 6.5 have it by default.
    #[must_use]
    pub fn cfs(cpus: usize) -> Self {
        let scale = Self::scale(cpus);
        Self::Cfs {
            latency_ns: 6_000_000 * scale,
            granularity_ns: 750_000 * scale,
            wakeup_ns: 1_000_000 * scale,
        }
    }
}

/// Whether waking tasks are placed by energy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// As the kernel decides: if capacities differ, every clock has an energy model, counts in the signal (frequency
    /// invariance) and is set by schedutil.
    #[default]
    Auto,
    /// They are, whatever the governor; every clock needs an energy model.
    EnergyAware,
    /// As `Auto`, by the rules of Android 3.18 and 4.4.
    Android,
    Plain,
}

/// How tasks are given CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placing {
    pub placement: Placement,
    /// By cluster: what the powers of its energy model are multiplied by for placement, thousandths; 1000 where the list
    /// ends. The energy that a run is charged is not touched.
    pub model_scale: Vec<u32>,
    /// Utilisations for energy-aware placement are WALT's, if the run has WALT. Else they are PELT's.
    pub by_walt: bool,
    /// What looking for work in one domain costs a CPU that runs dry, ns: one whose idle times are shorter on average does
    /// not look. The kernel measures it; this one is assumed.
    pub newidle_cost_ns: u64,
    /// A CPU that stopped its tick makes the next busy tick wake an idle CPU, to work out when idle CPUs look for work
    /// next; as from Linux 5.15 on.
    pub kick_for_next: bool,
}

impl Default for Placing {
    fn default() -> Self {
        Self {
            placement: Placement::default(),
            model_scale: Vec::new(),
            by_walt: false,
            newidle_cost_ns: 20_000,
            kick_for_next: true,
        }
    }
}
