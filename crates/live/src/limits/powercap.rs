// SPDX-License-Identifier: GPL-2.0-only
//! Limits of powercap's zones, and the running average of what a zone draws.

use std::path::{Path, PathBuf};
use std::time::Duration;

use idlewise_power::RunningAverage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Host;
use crate::files::{line, names, number};
use crate::power::energy_uj;

/// A limit that acts holds its average at it: from this share of the limit on. In logs of a limited machine it was 98 to 102 %,
/// in bursts of the same machine that nothing held 95 % at most (docs/concepts/running-limits.md).
const AVERAGE_AT: f64 = 0.98;
/// And the machine draws about the limit: at least this share of it. In the same logs 92 %.
const POWER_AT: f64 = 0.9;
/// Constraints of a zone, at most; RAPL has three.
const MOST: usize = 8;

/// A limit of a powercap zone in a span of time.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PowerLimitUse {
    /// The zone, as the kernel calls it: `package-0`; with its folder where several have that name.
    pub zone: String,
    /// `PL1` (the kernel's `long_term`), `PL2` (`short_term`), or another name that the kernel gives.
    pub limit: String,
    pub limit_w: f64,
    /// The time constant of its average, s.
    pub window_s: f64,
    /// Mean power of the zone, W; null where its energy cannot be read.
    pub mean_w: Option<f64>,
    /// The running average at the end lies between this,
    pub average_low_w: Option<f64>,
    /// and this: what was drawn before the first sample is not known, and taken as 0 or as the limit.
    pub average_high_w: Option<f64>,
    /// Time in which it held the zone's power, % of the span.
    pub acting_pct: f64,
    /// Time of which that is not known, %.
    pub unknown_pct: f64,
    /// When it first acted, s after the beginning of the span; null where it did not.
    pub acting_from_s: Option<f64>,
    /// When it last acted, s after the beginning.
    pub acting_until_s: Option<f64>,
}

impl PowerLimitUse {
    /// Zone and limit, as reports name it.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.zone, self.limit)
    }

    /// What was drawn against it, in a line.
    #[must_use]
    pub fn words(&self) -> String {
        let mut out = format!("{} {:.2} W over {}: ", self.name(), self.limit_w, window(self.window_s));
        let Some((mean, (low, high))) = self.mean_w.zip(self.average_low_w.zip(self.average_high_w)) else {
            return out + "power not known";
        };
        let pct = |w: f64| 100.0 * w / self.limit_w;
        out += &format!("mean {mean:.2} W ({:.1} % of it), running average ", pct(mean));
        out += &match (format!("{low:.2}"), format!("{high:.2}")) {
            (low, high) if low == high => format!("{low} W"),
            (low, high) => format!("between {low} and {high} W"),
        };
        out += &format!(" ({:.1} % at most)", pct(high));
        out
    }
}

/// A window as people say it: 28.0 s, 976 us.
#[must_use]
pub fn window(s: f64) -> String {
    match s {
        s if s >= 1.0 => format!("{s:.1} s"),
        s if s >= 1e-3 => format!("{:.1} ms", 1e3 * s),
        s => format!("{:.0} us", 1e6 * s),
    }
}

/// A zone with limits.
#[derive(Debug)]
pub(super) struct Zone {
    name: String,
    folder: PathBuf,
    range_uj: Option<u64>,
    /// At the last sample.
    energy_uj: Option<u64>,
    bounds: Vec<Bound>,
    /// What it drew since the span began, uJ, and in which time that is known, ns.
    drawn_uj: u64,
    known_ns: u64,
}

/// A constraint of a zone.
#[derive(Debug)]
struct Bound {
    limit: String,
    power: PathBuf,
    window: PathBuf,
    /// As last read; nothing while it is off.
    set: Option<Set>,
    acting_ns: u64,
    unknown_ns: u64,
    acting: Option<(Duration, Duration)>,
}

#[derive(Clone, Copy, Debug)]
struct Set {
    limit_uw: u64,
    window_us: u64,
    /// The least and the greatest that the average may be: from 0, and from the limit.
    averages: [RunningAverage; 2],
    /// Power was known once, so that they say something.
    sampled: bool,
}

/// The zones that have a limit with a window.
pub(super) fn zones(host: &Host) -> Vec<Zone> {
    let folder = host.sys.join("class/powercap");
    let all: Vec<String> = names(&folder)
        .into_iter()
        .filter(|z| folder.join(z).join("constraint_0_power_limit_uw").exists())
        .collect();
    let name = |zone: &String| line(&folder.join(zone).join("name")).unwrap_or_else(|| zone.clone());
    let shown = |zone: &String| {
        let own = name(zone);
        let shared = all.iter().filter(|other| name(other) == own).count() > 1;
        if shared { format!("{own} ({zone})") } else { own }
    };
    let zone = |zone: &String| Zone::new(shown(zone), folder.join(zone));
    all.iter().map(zone).filter(|z| !z.bounds.is_empty()).collect()
}

/// How many zones count energy, whether they have limits or not.
pub(super) fn counted(host: &Host) -> usize {
    let folder = host.sys.join("class/powercap");
    names(&folder).iter().filter(|z| folder.join(z).join("energy_uj").exists()).count()
}

impl Zone {
    fn new(name: String, folder: PathBuf) -> Self {
        let file = |n: usize, what: &str| folder.join(format!("constraint_{n}_{what}"));
        let bound = |n: usize| {
            let limit = line(&file(n, "name")).unwrap_or_else(|| format!("limit {n}"));
            let limit = match limit.as_str() {
                "long_term" => "PL1".to_owned(),
                "short_term" => "PL2".to_owned(),
                _ => limit,
            };
            let (power, window) = (file(n, "power_limit_uw"), file(n, "time_window_us"));
            // A limit of peaks (PL4) has no window: energy shows nothing of it.
            number(&window).map(|_| Bound {
                limit,
                power,
                window,
                set: None,
                acting_ns: 0,
                unknown_ns: 0,
                acting: None,
            })
        };
        let bounds = (0..MOST).filter_map(bound).collect();
        let range_uj = number(&folder.join("max_energy_range_uj"));
        Self { name, folder, range_uj, energy_uj: None, bounds, drawn_uj: 0, known_ns: 0 }
    }

    /// `time` has passed since the sample before, which was taken `from` after the span's beginning.
    pub(super) fn sample(&mut self, from: Duration, time: Duration) {
        let now = number(&self.folder.join("energy_uj"));
        let grown = self.energy_uj.zip(now).and_then(|(before, now)| energy_uj(before, now, self.range_uj));
        self.energy_uj = now;
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let power_uw = grown.filter(|_| ns > 0).map(|uj| {
            self.drawn_uj = self.drawn_uj.saturating_add(uj);
            self.known_ns += ns;
            uj as f64 * 1e9 / ns as f64
        });
        let off = number(&self.folder.join("enabled")) == Some(0);
        for bound in &mut self.bounds {
            bound.read(off);
            bound.sample(from, ns, power_uw);
        }
    }

    /// Its limits in the span of `time` that ends; the next begins.
    pub(super) fn end(&mut self, time: Duration) -> Vec<PowerLimitUse> {
        let ns = time.as_nanos().max(1) as f64;
        let (drawn_uj, known_ns) = (std::mem::take(&mut self.drawn_uj), std::mem::take(&mut self.known_ns));
        let mean_w = (known_ns > 0).then(|| drawn_uj as f64 * 1e3 / known_ns as f64);
        let mut out = Vec::new();
        for bound in &mut self.bounds {
            let (acting_ns, unknown_ns) =
                (std::mem::take(&mut bound.acting_ns), std::mem::take(&mut bound.unknown_ns));
            let acting = bound.acting.take();
            let Some(set) = &bound.set else { continue };
            let watts = |i: usize| set.sampled.then(|| set.averages[i].uw() / 1e6);
            out.push(PowerLimitUse {
                zone: self.name.clone(),
                limit: bound.limit.clone(),
                limit_w: set.limit_uw as f64 / 1e6,
                window_s: set.window_us as f64 / 1e6,
                mean_w,
                average_low_w: watts(0),
                average_high_w: watts(1),
                acting_pct: 100.0 * acting_ns as f64 / ns,
                unknown_pct: 100.0 * unknown_ns as f64 / ns,
                acting_from_s: acting.map(|(from, _)| from.as_secs_f64()),
                acting_until_s: acting.map(|(_, until)| until.as_secs_f64()),
            });
        }
        out
    }
}

impl Bound {
    /// Reads what is set: it may be changed at any time. Another window begins another average.
    fn read(&mut self, off: bool) {
        let read = |path: &Path| number(path).filter(|n| *n > 0);
        let now = if off { None } else { read(&self.power).zip(read(&self.window)) };
        self.set = now.map(|(limit_uw, window_us)| match self.set {
            Some(set) if set.window_us == window_us => Set { limit_uw, ..set },
            _ => {
                let from = |uw| RunningAverage::new(window_us.saturating_mul(1_000), uw);
                Set { limit_uw, window_us, averages: [from(0), from(limit_uw)], sampled: false }
            }
        });
    }

    fn sample(&mut self, from: Duration, ns: u64, power_uw: Option<f64>) {
        let Some(set) = &mut self.set else { return };
        let Some(power_uw) = power_uw else {
            self.unknown_ns += ns;
            return;
        };
        set.averages.iter_mut().for_each(|a| a.advance(power_uw, ns));
        set.sampled = true;
        let limit_uw = set.limit_uw as f64;
        let [low, high] = set.averages.map(|a| a.uw() >= AVERAGE_AT * limit_uw);
        if power_uw < POWER_AT * limit_uw || !high {
            return;
        }
        if low {
            self.acting_ns += ns;
            let until = from + Duration::from_nanos(ns);
            self.acting = Some((self.acting.map_or(from, |(first, _)| first), until));
        } else {
            self.unknown_ns += ns;
        }
    }
}
