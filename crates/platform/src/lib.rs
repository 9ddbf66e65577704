// SPDX-License-Identifier: GPL-2.0-only
//! Machines as data: idle states, tick, capacities, clocks, power.
//!
//! A [`Platform`] comes from a TOML file (`docs/reference/platform-format.md`), from a sysfs dump as people
//! mail it, or from the running machine. Whatever it comes from, each cluster has a checked
//! [`IdleTable`](idlewise_model::IdleTable) and an [`EnergyTable`] that says how far its numbers can be trusted. Where its
//! frequency table is published, it has a [`Clock`], with energy at each point, and an [`EnergyModel`] as the kernel
//! would build it.
//!
//! Nothing here is printed, and no path is built in: the roots of `/sys`, `/proc` and `/boot` are arguments.

mod battery;
mod changed;
mod check;
mod clock;
mod costs;
mod counter_sum;
mod counters;
mod cpupower;
mod device_tree;
mod device_tree_source;
mod dump_origin;
mod energy;
mod energy_model;
mod error;
mod from_toml;
mod identity;
mod idle_log;
mod idle_log_text;
mod limits;
mod loop_costs;
mod package;
mod pasted;
mod platform;
mod power;
mod powertop;
mod scan;
mod shipped;
mod state;
mod sysfs;
mod sysfs_cat;
mod sysfs_line;
mod sysfs_platform;
mod sysfs_text;
mod thermal;
mod to_toml;
mod turbostat;

pub use battery::Battery;
pub use changed::Changes;
pub use check::{Finding, Severity};
pub use clock::{Clock, ClockPoint, ClockPolicy, TurboClock};
pub use costs::Costs;
pub use counter_sum::{CounterSum, share_pct};
pub use counters::{CounterDiff, StateCounters, SysfsCounters, diff, diff_cpu, diff_pasted};
pub use dump_origin::DumpOrigin;
pub use energy::{EnergyGrade, EnergyTable, Fall, StateEnergy};
pub use energy_model::{EnergyModel, EnergyState, Kernel};
pub use error::PlatformError;
pub use identity::OtherMachine;
pub use idle_log::{IdleLog, LoggedInterval, LoggedState};
/// Lists of CPUs, for the crates that know no other words of `idlewise_model`.
pub use idlewise_model::{CpuListError, cpu_list, cpu_ranges, parse_cpu_list};
/// A limit of package power, for the crates that only show it.
pub use idlewise_power::Limit;
pub use limits::PowerLimits;
pub use loop_costs::{LOOP_COSTS, LOOP_COSTS_RANGE};
pub use package::{Package, PackageLevel};
pub use platform::{CAPACITY_MAX, Cluster, Origin, Platform};
pub use power::{OperatingPoint, PowerData, Shared};
pub use scan::Roots;
pub use shipped::{find, find_states, shipped};
pub use state::{EntryKind, Flag, StateInfo};
pub use sysfs::{COUNTER_MAX, DamagedValue, SysfsDump, SysfsState};
pub use sysfs_cat::CatDump;
pub use thermal::Thermal;
