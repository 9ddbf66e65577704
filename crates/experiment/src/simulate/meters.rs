// SPDX-License-Identifier: GPL-2.0-only
//! What meters of real machines would have shown of a run: RAPL's counters, a battery's fuel gauge.

use idlewise_parts::{Machine, UPDATE_NS};
use idlewise_platform::{Battery, EnergyGrade, EnergyTable, Platform, cpu_list};
use idlewise_sim::Outcome;
use schemars::JsonSchema;
use serde::Serialize;

use super::fact::{FactUnit, Facts};

/// A count of a RAPL counter, fJ: 2^-14 J, 61 uJ, as most Intel processors have it by default (SDM vol. 4,
/// MSR_RAPL_POWER_UNIT, bits 12:8 are 0EH; the register says what it is, and on a few it is 2^-16 J).
const COUNT_FJ: u128 = 1_000_000_000_000_000 / COUNTS_IN_J;
const COUNTS_IN_J: u128 = 1 << 14;

/// Why a meter shows nothing.
const RELATIVE: &str = "relative: no joules";

/// Which meters a machine has.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Meters {
    /// A count of the counters of energy, uJ.
    pub count_uj: f64,
    /// They are brought up to date so often, ns.
    pub update_ns: u64,
    /// The counters: one for each cluster, or one where all CPUs share a cache.
    pub packages: Vec<PackageMeter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub battery: Option<BatteryMeter>,
}

/// A RAPL-like counter of energy.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PackageMeter {
    pub name: String,
    /// Its CPUs, as `0-3`.
    pub cpus: String,
    /// How far the weakest number can be trusted that it depends on.
    pub grade: String,
    /// What its CPUs share is published: the cores have a counter of their own.
    pub shared: bool,
    /// Why it shows nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub none: Option<String>,
    #[serde(skip)]
    members: Vec<usize>,
    /// By place in the machine's clocks.
    #[serde(skip)]
    clocks: Vec<usize>,
}

/// A battery's fuel gauge.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BatteryMeter {
    pub voltage_mv: u64,
    /// Drawn beside the CPUs all the time, mW; 0 where nothing is known of it.
    pub base_mw: u64,
    /// Where that is from: `platform`, `request`, or `not known`.
    pub base_from: String,
    /// It tells the mean current of so long, ms.
    pub sample_ms: u64,
    /// In steps of this, uA.
    pub step_ua: u64,
    /// Where voltage and base are from.
    pub source: String,
    /// How far the weakest number can be trusted that it depends on, those of the CPUs.
    pub grade: String,
    /// Why it shows nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub none: Option<String>,
}

impl Meters {
    pub(super) fn new(platform: &Platform, machine: &Machine<'_>, base_mw: Option<u64>) -> Self {
        let mut packages: Vec<PackageMeter> = Vec::new();
        let domains = machine.cpus.iter().map(|c| c.package).max().map_or(0, |last| last + 1);
        for domain in 0..domains {
            packages.extend(PackageMeter::new(machine, domain));
        }
        let all: Vec<usize> = (0..machine.clocks.len()).collect();
        let battery = platform.battery.as_ref().map(|b| BatteryMeter::new(b, base_mw, grade(machine, &all)));
        let count_uj = COUNT_FJ as f64 / 1e9;
        Self { count_uj, update_ns: UPDATE_NS, packages, battery }
    }

    /// What they show of a run.
    pub(super) fn facts(&self, f: &mut Facts, out: &Outcome) {
        // Power is what who reads a counter before and after makes of it: he knows when he looked.
        let add = |f: &mut Facts, name: &str, counts: u128| {
            let uj = counts * 1_000_000 / COUNTS_IN_J;
            f.add("rapl", &format!("{name} energy_uj"), FactUnit::Microjoule, uj as f64);
            uj as f64 * 1e6 / out.end_ns as f64
        };
        let counters = &out.energy.counters;
        // With several, nobody says which of them it is.
        let one = self.packages.len() == 1;
        let mut all = if one { 0 } else { counters.package_fj / COUNT_FJ };
        for p in self.packages.iter().filter(|p| p.none.is_none()) {
            let sum = |fj: &[u128], of: &[usize]| of.iter().filter_map(|i| fj.get(*i)).sum::<u128>();
            let cores = sum(&counters.cpu_fj, &p.members);
            let package = if one { counters.package_fj } else { 0 };
            let counts = (cores + sum(&counters.shared_fj, &p.clocks) + package) / COUNT_FJ;
            all += counts;
            let mw = add(f, &p.name, counts);
            if p.shared {
                add(f, &format!("{} core", p.name), cores / COUNT_FJ);
            }
            f.add("rapl", &format!("{} power", p.name), FactUnit::Milliwatt, mw);
        }
        if self.packages.len() > 1 && self.packages.iter().all(|p| p.none.is_none()) {
            let mw = add(f, "all", all);
            f.add("rapl", "all power", FactUnit::Milliwatt, mw);
        }
        if let Some(battery) = self.battery.as_ref().filter(|b| b.none.is_none()) {
            battery.facts(f, &out.energy.samples_fj);
        }
    }
}

impl PackageMeter {
    fn new(machine: &Machine<'_>, domain: usize) -> Option<Self> {
        let cpus = || machine.cpus.iter().filter(|c| c.package == domain);
        let mut clocks: Vec<usize> = cpus().map(|c| c.clock).collect();
        clocks.dedup();
        let mut names: Vec<&str> =
            cpus().filter_map(|c| machine.clusters.get(c.cluster)).map(|c| c.name.as_str()).collect();
        names.dedup();
        let grade = grade(machine, &clocks)?;
        let points = || clocks.iter().filter_map(|c| machine.clocks.get(*c)).flat_map(|c| &c.points);
        let mut numbers: Vec<u32> = cpus().map(|c| c.number).collect();
        numbers.sort_unstable();
        let place =
            |(place, c): (usize, &idlewise_parts::CpuSpec<'_>)| (c.package == domain).then_some(place);
        Some(Self {
            name: names.join("+"),
            cpus: cpu_list(&numbers),
            grade: grade.label().to_owned(),
            shared: machine.package.is_some() || points().any(|p| p.shared.is_some()),
            none: none(grade),
            members: machine.cpus.iter().enumerate().filter_map(place).collect(),
            clocks,
        })
    }
}

impl BatteryMeter {
    fn new(battery: &Battery, asked_mw: Option<u64>, grade: Option<EnergyGrade>) -> Self {
        let grade = grade.unwrap_or(EnergyGrade::DerivedFromBreakEven);
        let base = asked_mw.map(|mw| (mw, "request"));
        let base = base.or_else(|| battery.base_mw.map(|mw| (mw, "platform"))).unwrap_or((0, "not known"));
        Self {
            voltage_mv: battery.voltage_mv,
            base_mw: base.0,
            base_from: base.1.to_owned(),
            sample_ms: battery.sample_ms,
            step_ua: battery.step_ua,
            source: battery.source.clone(),
            grade: grade.label().to_owned(),
            none: none(grade),
        }
    }

    /// Mean current and charge of `samples_fj`, each to the nearest step.
    fn facts(&self, f: &mut Facts, samples_fj: &[u128]) {
        let sample_ns = u128::from(self.sample_ms) * 1_000_000;
        // uW times ns are fJ, and fJ / ns / mV are mA.
        let base_fj = u128::from(self.base_mw) * 1_000 * sample_ns;
        let step = u128::from(self.step_ua) * u128::from(self.voltage_mv) * sample_ns;
        let steps = |fj: &u128| ((fj + base_fj) * 1_000 + step / 2) / step.max(1);
        let ua = samples_fj.iter().map(steps).sum::<u128>() * u128::from(self.step_ua);
        let hours = self.sample_ms as f64 / 3_600_000.0;
        // A run that is shorter than a sample has none.
        let mean = ua as f64 / 1e3 / samples_fj.len() as f64;
        f.add("battery", "current", FactUnit::Milliampere, mean);
        let charge = if samples_fj.is_empty() { f64::NAN } else { ua as f64 / 1e3 * hours };
        f.add("battery", "charge", FactUnit::MilliampereHour, charge);
    }
}

/// The weakest number that the energy of these clocks' CPUs depends on; nothing without any.
fn grade(machine: &Machine<'_>, clocks: &[usize]) -> Option<EnergyGrade> {
    let points = clocks.iter().filter_map(|c| machine.clocks.get(*c)).flat_map(|c| &c.points);
    let tables = points.flat_map(|p| std::iter::once(p.energy).chain(p.shared));
    tables.map(|t: &EnergyTable| t.grade).min()
}

fn none(grade: EnergyGrade) -> Option<String> {
    (!grade.in_watts()).then(|| RELATIVE.to_owned())
}
