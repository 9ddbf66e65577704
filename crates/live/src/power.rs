// SPDX-License-Identifier: GPL-2.0-only
//! What a machine says of its power: powercap (RAPL), hwmon, a battery that is being drained.

use std::path::{Path, PathBuf};

use idlewise_model::{Note, NoteId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Host;
use crate::files::{line, names, number};

/// Something that measures power or energy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meter {
    /// `powercap`, `hwmon` or `battery`.
    pub source: &'static str,
    /// What it measures, as the kernel calls it: `package-0`, `package-0/core`, `ina3221 vdd_cpu`.
    pub name: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// A counter of uJ, and the value after which it begins anew.
    Energy {
        path: PathBuf,
        range_uj: Option<u64>,
    },
    Power {
        path: PathBuf,
    },
    /// A battery that tells no power: uA and uV. Counts only while `status` says that it is drained.
    Battery {
        folder: PathBuf,
    },
}

/// What a meter showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    Energy(u64),
    /// Power at that time, uW.
    Power(u64),
}

/// A meter between two readings.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Power {
    /// [`Meter::source`].
    pub source: &'static str,
    /// [`Meter::name`].
    pub name: String,
    /// Mean power, W; of meters that show no energy, the mean of both readings. `None` where it cannot be said: a counter
    /// was set back, a file went away, the battery is not drained.
    pub watts: Option<f64>,
}

/// The meters of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meters {
    /// By source, then as the kernel numbers them.
    pub list: Vec<Meter>,
    /// What is there but may not be read.
    pub notes: Vec<Note>,
}

impl Meters {
    /// Looks for meters. None at all is usual in a virtual machine.
    #[must_use]
    pub fn find(host: &Host) -> Self {
        let mut meters = Self::default();
        meters.powercap(&host.sys.join("class/powercap"));
        meters.hwmon(&host.sys.join("class/hwmon"));
        meters.batteries(&host.sys.join("class/power_supply"));
        meters
    }

    /// All meters, read now, in the order of the list.
    #[must_use]
    pub fn read(&self) -> Vec<Option<Reading>> {
        self.list.iter().map(Meter::read).collect()
    }

    /// What they say of the time between two readings, `seconds` apart.
    #[must_use]
    pub fn between(&self, before: &[Option<Reading>], after: &[Option<Reading>], seconds: f64) -> Vec<Power> {
        let power = |((meter, before), after): ((&Meter, &Option<Reading>), &Option<Reading>)| {
            let watts = match (before, after) {
                (Some(Reading::Energy(_)), Some(Reading::Energy(_))) if seconds <= 0.0 => None,
                (Some(Reading::Energy(a)), Some(Reading::Energy(b))) => {
                    energy_uj(*a, *b, meter.range_uj()).map(|uj| uj as f64 / 1e6 / seconds)
                }
                (Some(Reading::Power(a)), Some(Reading::Power(b))) => Some((*a as f64 + *b as f64) / 2e6),
                _ => None,
            };
            Power { source: meter.source, name: meter.name.clone(), watts }
        };
        self.list.iter().zip(before).zip(after).map(power).collect()
    }

    fn powercap(&mut self, folder: &Path) {
        let mut zones = names(folder);
        zones.sort_by_key(|z| z.contains("-mmio"));
        let name = |zone: &str| line(&folder.join(zone).join("name"));
        let mut closed = 0;
        for zone in zones.iter().filter(|z| folder.join(z).join("energy_uj").exists()) {
            let Some(own) = name(zone) else { continue };
            // Zone intel-rapl:0:1 is a part of intel-rapl:0.
            let above =
                zone.rsplit_once(':').map(|(above, _)| above).filter(|a| zones.iter().any(|z| z == a));
            let shown = match above.filter(|a| a.contains(':')).and_then(name) {
                Some(above) => format!("{above}/{own}"),
                None => own,
            };
            // Some machines show the package a second time, by another way to the same counter.
            if zone.contains("-mmio") && self.list.iter().any(|m| m.name == shown) {
                continue;
            }
            let path = folder.join(zone).join("energy_uj");
            if idlewise_files::open(&path).is_err() {
                closed += 1;
                continue;
            }
            let range_uj = number(&folder.join(zone).join("max_energy_range_uj"));
            self.list.push(Meter { source: "powercap", name: shown, kind: Kind::Energy { path, range_uj } });
        }
        if closed > 0 {
            self.notes.push(NoteId::MetersClosed.note(format!(
                "powercap: {closed} energy counters may be read by root only (since Linux 5.10)"
            )));
        }
    }

    fn hwmon(&mut self, folder: &Path) {
        for device in names(folder) {
            let device = folder.join(device);
            let chip = line(&device.join("name")).unwrap_or_else(|| "unnamed".to_string());
            let files = names(&device);
            for file in &files {
                let Some(sensor) = file.strip_suffix("_input").or_else(|| file.strip_suffix("_average"))
                else {
                    continue;
                };
                let path = device.join(file);
                let kind = if sensor.starts_with("energy") {
                    Kind::Energy { path, range_uj: None }
                } else if sensor.starts_with("power") {
                    // The average is for sensors that show nothing else.
                    if file.ends_with("_average") && files.contains(&format!("{sensor}_input")) {
                        continue;
                    }
                    Kind::Power { path }
                } else {
                    continue;
                };
                let label = line(&device.join(format!("{sensor}_label"))).filter(|l| !l.is_empty());
                let name = format!("{chip} {}", label.as_deref().unwrap_or(sensor));
                self.list.push(Meter { source: "hwmon", name, kind });
            }
        }
    }

    fn batteries(&mut self, folder: &Path) {
        for name in names(folder) {
            let supply = folder.join(&name);
            let battery = line(&supply.join("type")).is_some_and(|t| t == "Battery");
            // The battery of a mouse is none of the machine.
            let own = line(&supply.join("scope")).is_none_or(|s| s != "Device");
            if battery && own {
                self.list.push(Meter { source: "battery", name, kind: Kind::Battery { folder: supply } });
            }
        }
    }
}

impl Meter {
    fn range_uj(&self) -> Option<u64> {
        if let Kind::Energy { range_uj, .. } = &self.kind { *range_uj } else { None }
    }

    fn read(&self) -> Option<Reading> {
        match &self.kind {
            Kind::Energy { path, .. } => number(path).map(Reading::Energy),
            Kind::Power { path } => number(path).map(Reading::Power),
            Kind::Battery { folder } => {
                line(&folder.join("status")).filter(|s| s == "Discharging")?;
                // Some drivers count what flows out as negative.
                let value = |file: &str| line(&folder.join(file))?.parse::<i64>().ok().map(i64::unsigned_abs);
                let product = || {
                    let uw =
                        u128::from(value("current_now")?) * u128::from(value("voltage_now")?) / 1_000_000;
                    u64::try_from(uw).ok()
                };
                value("power_now").or_else(product).map(Reading::Power)
            }
        }
    }
}

/// What a counter grew by, uJ. One that is smaller than before began anew at `range_uj`; `None` where no range is known:
/// it was set back.
#[must_use]
pub fn energy_uj(before: u64, after: u64, range_uj: Option<u64>) -> Option<u64> {
    match after.checked_sub(before) {
        Some(grown) => Some(grown),
        None => range_uj?.checked_sub(before)?.checked_add(after),
    }
}
