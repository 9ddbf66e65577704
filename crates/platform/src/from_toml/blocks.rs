// SPDX-License-Identifier: GPL-2.0-only
//! The blocks `[costs]`, `[battery]`, `[package]`, `[limits]` and `[thermal]`.

use idlewise_power::{Heat, Leakage, Limit, Limits};
use serde::Deserialize;
use toml::Spanned;

use super::reader::Reader;
use crate::{Battery, Cluster, Costs, Package, PackageLevel, PlatformError, PowerLimits, Thermal};

/// A kernel that takes longer for one thing is no kernel.
const COST_MAX_NS: i64 = 10_000_000;
/// Cells of a wrist watch to the packs of a vehicle.
const VOLTAGE_MV: (i64, i64) = (500, 1_000_000);
/// A kilowatt beside the CPUs.
const BASE_MAX_MW: i64 = 1_000_000;
const SAMPLE_MS: (i64, i64) = (10, 60_000);
/// As that of a CPU.
const POWER_MAX: i64 = 1_000_000_000;
const STEP_MAX_UA: i64 = 1_000_000;
/// Colder and hotter than any machine runs.
const TEMPERATURE_MC: (i64, i64) = (-100_000, 300_000);
/// A megakelvin a watt, a megajoule a kelvin.
const THERMAL_MAX: i64 = 1_000_000_000;
/// A day: no window is longer.
const WINDOW_MAX_US: i64 = 86_400_000_000;
/// A second: no step takes longer.
const STEP_MAX_US: i64 = 1_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCosts {
    irq_ns: Spanned<i64>,
    irq_exit_ns: Option<Spanned<i64>>,
    tick_ns: Spanned<i64>,
    wake_ns: Spanned<i64>,
    switch_ns: Spanned<i64>,
    user_ns: Option<Spanned<i64>>,
    loop_ns: Option<Spanned<i64>>,
    syscall_ns: Spanned<i64>,
    block_ns: Option<Spanned<i64>>,
    idle_ns: Spanned<i64>,
    again_ns: Spanned<i64>,
    stop_tick_ns: Spanned<i64>,
    start_tick_ns: Spanned<i64>,
    leave_ns: Spanned<i64>,
    ipi_ns: Spanned<i64>,
    ipi_wake_ns: Option<Spanned<i64>>,
    mem_bytes_per_us: Option<Spanned<i64>>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBattery {
    voltage_mv: Spanned<i64>,
    base_mw: Option<Spanned<i64>>,
    sample_ms: Option<Spanned<i64>>,
    step_ua: Option<Spanned<i64>>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPackage {
    awake: Spanned<i64>,
    always: Option<Spanned<i64>>,
    each_awake: Option<Spanned<i64>>,
    from: Option<Spanned<String>>,
    #[serde(default)]
    level: Vec<RawLevel>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLevel {
    from: Spanned<String>,
    power: Spanned<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimits {
    pl1: Option<RawLimit>,
    pl2: Option<RawLimit>,
    step_us: Option<Spanned<i64>>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLimit {
    power: Spanned<i64>,
    window_us: Spanned<i64>,
    clamp: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawThermal {
    ambient_mc: Spanned<i64>,
    resistance_mk_per_w: Spanned<i64>,
    capacity_mj_per_k: Spanned<i64>,
    trip_mc: Option<Spanned<i64>>,
    pub(super) leakage: Option<RawLeakage>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLeakage {
    power: Spanned<i64>,
    pub(super) at_mc: Spanned<i64>,
    doubles_mk: Spanned<i64>,
}

impl Reader<'_> {
    pub(super) fn thermal(&self, raw: &RawThermal) -> Result<Thermal, PlatformError> {
        let number = |v: &Spanned<i64>, key: &str, unit: &str, (low, high): (i64, i64)| {
            self.number(v, &format!("thermal: {key}"), unit, low, high)
        };
        let ambient_mc = number(&raw.ambient_mc, "ambient_mc", "thousandths of a degree C", TEMPERATURE_MC)?;
        let trip = raw.trip_mc.as_ref();
        let above = (ambient_mc + 1, TEMPERATURE_MC.1);
        let trip_mc = trip.map(|v| number(v, "trip_mc", "thousandths of a degree C", above)).transpose()?;
        let leakage = |l: &RawLeakage| {
            Ok(Leakage {
                uw: number(&l.power, "leakage: power", "a power", (0, POWER_MAX))?.unsigned_abs(),
                at_mc: number(&l.at_mc, "leakage: at_mc", "thousandths of a degree C", TEMPERATURE_MC)?,
                doubles_mk: number(&l.doubles_mk, "leakage: doubles_mk", "mK", (1000, 1_000_000))?
                    .unsigned_abs(),
            })
        };
        let thermal = |v: &Spanned<i64>, key: &str, unit: &str| {
            number(v, key, unit, (1, THERMAL_MAX)).map(i64::unsigned_abs)
        };
        let mk_per_w = thermal(&raw.resistance_mk_per_w, "resistance_mk_per_w", "mK/W")?;
        let capacity_mj_per_k = thermal(&raw.capacity_mj_per_k, "capacity_mj_per_k", "mJ/K")?;
        let leakage = raw.leakage.as_ref().map(leakage).transpose()?;
        // mK/W times mJ/K are us.
        let window_ns = mk_per_w.saturating_mul(capacity_mj_per_k).saturating_mul(1000);
        let heat = Heat { ambient_mc, mk_per_w, window_ns, trip_mc, leakage };
        Ok(Thermal { heat, capacity_mj_per_k, source: raw.source.clone() })
    }

    pub(super) fn package(&self, raw: &RawPackage, clusters: &[Cluster]) -> Result<Package, PlatformError> {
        let power = |v: &Spanned<i64>, key: &str| {
            self.number(v, &format!("package: {key}"), "a power", 0, POWER_MAX).map(i64::unsigned_abs)
        };
        let known = |from: &Spanned<String>| {
            let has = |c: &&Cluster| c.table.states().iter().any(|s| s.name == *from.get_ref());
            clusters.iter().find(|c| !has(c)).map_or(Ok(()), |c| {
                Err(self.err(
                    &from.span(),
                    format!("package: from: cluster `{}` has no idle state `{}`", c.name, from.get_ref()),
                    "name a state that all clusters have",
                ))
            })
        };
        if let Some(from) = &raw.from {
            known(from)?;
            if !raw.level.is_empty() {
                let what = "package: `from` together with levels".to_string();
                return Err(self.err(&from.span(), what, "each level has its own: remove one of them"));
            }
        }
        let awake_uw = power(&raw.awake, "awake")?;
        let (mut levels, mut above_uw) = (Vec::<PackageLevel>::new(), awake_uw);
        for level in &raw.level {
            known(&level.from)?;
            let own = PackageLevel {
                from: level.from.get_ref().clone(),
                power_uw: power(&level.power, "level: power")?,
            };
            let place = |c: &Cluster, name: &str| c.table.states().iter().position(|s| s.name == *name);
            let deeper =
                |last: &PackageLevel| clusters.iter().all(|c| place(c, &last.from) < place(c, &own.from));
            if levels.last().is_some_and(|last| !deeper(last)) {
                let what = format!("package: level from `{}` after one as deep", own.from);
                return Err(self.err(&level.from.span(), what, "list the levels from shallow to deep"));
            }
            if own.power_uw > above_uw {
                let what = format!(
                    "package: level: power {} above {above_uw}, which it draws awake or in the level above",
                    own.power_uw
                );
                return Err(self.err(&level.power.span(), what, "a deeper level draws no more"));
            }
            above_uw = own.power_uw;
            levels.push(own);
        }
        Ok(Package {
            awake_uw,
            always_uw: raw.always.as_ref().map_or(Ok(0), |v| power(v, "always"))?,
            each_awake_uw: raw.each_awake.as_ref().map_or(Ok(0), |v| power(v, "each_awake"))?,
            from: raw.from.as_ref().map(|f| f.get_ref().clone()),
            levels,
            source: raw.source.clone(),
        })
    }

    pub(super) fn limits(&self, raw: &RawLimits) -> Result<PowerLimits, PlatformError> {
        let limit = |l: &RawLimit, name: &str| {
            let number = |v: &Spanned<i64>, key: &str, unit: &str, most: i64| {
                self.number(v, &format!("limits: {name}: {key}"), unit, 1, most).map(i64::unsigned_abs)
            };
            Ok(Limit {
                power_uw: number(&l.power, "power", "uW", POWER_MAX)?,
                window_ns: number(&l.window_us, "window_us", "us", WINDOW_MAX_US)? * 1000,
                clamp: l.clamp,
                start_uw: None,
            })
        };
        let some = |l: &Option<RawLimit>, name: &str| l.as_ref().map(|l| limit(l, name)).transpose();
        let step = raw.step_us.as_ref();
        let step = step.map(|v| self.number(v, "limits: step_us", "us", 1, STEP_MAX_US)).transpose()?;
        Ok(PowerLimits {
            limits: Limits { pl1: some(&raw.pl1, "pl1")?, pl2: some(&raw.pl2, "pl2")? },
            step_ns: step.map_or(PowerLimits::STEP_NS, |us| us.unsigned_abs() * 1000),
            source: raw.source.clone(),
        })
    }

    pub(super) fn costs(&self, raw: &RawCosts) -> Result<(Costs, String), PlatformError> {
        let ns = |v: &Spanned<i64>, key: &str| {
            self.number(v, &format!("costs: {key}"), "ns", 0, COST_MAX_NS).map(|v| v as u64)
        };
        let or_none = |v: &Option<Spanned<i64>>, key: &str| v.as_ref().map_or(Ok(0), |v| ns(v, key));
        let mem = raw.mem_bytes_per_us.as_ref();
        let mem = mem.map(|v| self.number(v, "costs: mem_bytes_per_us", "bytes", 1, 1 << 40)).transpose()?;
        let costs = Costs {
            irq_ns: ns(&raw.irq_ns, "irq_ns")?,
            irq_exit_ns: or_none(&raw.irq_exit_ns, "irq_exit_ns")?,
            tick_ns: ns(&raw.tick_ns, "tick_ns")?,
            wake_ns: ns(&raw.wake_ns, "wake_ns")?,
            switch_ns: ns(&raw.switch_ns, "switch_ns")?,
            user_ns: or_none(&raw.user_ns, "user_ns")?,
            loop_ns: or_none(&raw.loop_ns, "loop_ns")?,
            syscall_ns: ns(&raw.syscall_ns, "syscall_ns")?,
            block_ns: or_none(&raw.block_ns, "block_ns")?,
            idle_ns: ns(&raw.idle_ns, "idle_ns")?,
            again_ns: ns(&raw.again_ns, "again_ns")?,
            stop_tick_ns: ns(&raw.stop_tick_ns, "stop_tick_ns")?,
            start_tick_ns: ns(&raw.start_tick_ns, "start_tick_ns")?,
            leave_ns: ns(&raw.leave_ns, "leave_ns")?,
            ipi_ns: ns(&raw.ipi_ns, "ipi_ns")?,
            ipi_wake_ns: or_none(&raw.ipi_wake_ns, "ipi_wake_ns")?,
            mem_bytes_per_us: mem.map_or(Costs::default().mem_bytes_per_us, |v| v as u64),
        };
        Ok((costs, raw.source.clone()))
    }

    pub(super) fn battery(&self, raw: &RawBattery) -> Result<Battery, PlatformError> {
        let number = |v: &Spanned<i64>, key: &str, unit: &str, (low, high): (i64, i64)| {
            self.number(v, &format!("battery: {key}"), unit, low, high).map(i64::unsigned_abs)
        };
        let base = raw.base_mw.as_ref().map(|v| number(v, "base_mw", "mW", (0, BASE_MAX_MW)));
        let sample = raw.sample_ms.as_ref().map(|v| number(v, "sample_ms", "ms", SAMPLE_MS));
        let step = raw.step_ua.as_ref().map(|v| number(v, "step_ua", "uA", (1, STEP_MAX_UA)));
        Ok(Battery {
            voltage_mv: number(&raw.voltage_mv, "voltage_mv", "mV", VOLTAGE_MV)?,
            base_mw: base.transpose()?,
            sample_ms: sample.transpose()?.unwrap_or(Battery::SAMPLE_MS),
            step_ua: step.transpose()?.unwrap_or(Battery::STEP_UA),
            source: raw.source.clone(),
        })
    }
}
