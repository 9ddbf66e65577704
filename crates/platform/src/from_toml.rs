// SPDX-License-Identifier: GPL-2.0-only
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use idlewise_model::{HZ, IdleState, IdleTable, TableError};
use serde::Deserialize;
use toml::Spanned;

use crate::platform::{CAPACITY_MAX, CPU_MAX, NEVER_NS, NEVER_US};
use crate::state::too_long;
use crate::{
    Cluster, EnergyGrade, EnergyTable, EntryKind, Fall, Flag, OperatingPoint, Origin, Platform,
    PlatformError, PowerData, Shared, StateInfo,
};

mod blocks;
mod clock;
mod reader;
mod threads;

use reader::{Reader, SEE};

/// The one version of the format there is.
pub(crate) const FORMAT: i64 = 1;
/// Nothing about a wake-up takes longer, us.
const HOUR_US: i64 = 3_600_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlatform {
    format: Spanned<i64>,
    id: Spanned<String>,
    name: Spanned<String>,
    hz: Option<Spanned<i64>>,
    #[serde(default)]
    hz_note: String,
    #[serde(default)]
    one_cache: bool,
    #[serde(default)]
    one_thread: bool,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    sources: Vec<String>,
    costs: Option<blocks::RawCosts>,
    battery: Option<blocks::RawBattery>,
    package: Option<blocks::RawPackage>,
    limits: Option<blocks::RawLimits>,
    thermal: Option<blocks::RawThermal>,
    #[serde(default)]
    cluster: Vec<Spanned<RawCluster>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCluster {
    name: Spanned<String>,
    cpus: Spanned<RawCpus>,
    count: Option<Spanned<i64>>,
    capacity: Option<Spanned<i64>>,
    speed: Option<Spanned<i64>>,
    threads: Option<Spanned<i64>>,
    thread_speed: Option<Spanned<BTreeMap<String, Spanned<i64>>>>,
    cache_cpus: Option<Spanned<i64>>,
    #[serde(default)]
    source: String,
    #[serde(default)]
    state: Vec<Spanned<RawState>>,
    power: Option<Spanned<RawPower>>,
    clock: Option<Spanned<clock::RawClock>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected CPUs: \"0-3,8\", [0, 1, 2] or \"all\"")]
enum RawCpus {
    Text(String),
    List(Vec<i64>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawState {
    name: String,
    exit_latency_us: Spanned<i64>,
    residency_us: Spanned<i64>,
    entry_us: Option<Spanned<i64>>,
    #[serde(default)]
    polling: bool,
    #[serde(default)]
    disabled: bool,
    entry: Option<Spanned<String>>,
    #[serde(default)]
    desc: String,
    #[serde(default)]
    flags: Vec<Spanned<String>>,
    measured_wake_ns: Option<Spanned<i64>>,
    refill_us: Option<Spanned<i64>>,
    transition_us: Option<Spanned<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPower {
    unit: Spanned<String>,
    what: String,
    source: String,
    at_khz: Spanned<i64>,
    states: Option<Spanned<Vec<i64>>>,
    shared_states: Option<Spanned<Vec<i64>>>,
    polling: Option<Spanned<i64>>,
    shared: Option<Spanned<String>>,
    curve: Vec<Spanned<RawPoint>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPoint {
    khz: i64,
    active: i64,
    states: Option<Vec<i64>>,
    shared: Option<i64>,
}

impl Platform {
    /// Reads a platform file (`docs/reference/platform-format.md`). `name` is how errors call it.
    ///
    /// # Errors
    /// [`PlatformError::Toml`] with the line, what was expected and what to do.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, PlatformError> {
        let at = Reader { text, file: name };
        let raw: RawPlatform = toml::from_str(text).map_err(|e| at.syntax(&e))?;
        let format = *raw.format.get_ref();
        if format != FORMAT {
            return Err(at.err(
                &raw.format.span(),
                format!("format is {format}, expected {FORMAT}"),
                "this version of idlewise reads no other",
            ));
        }
        let id = raw.id.get_ref();
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        if id.is_empty() || !id.chars().all(good) {
            return Err(at.err(
                &raw.id.span(),
                format!("id is {id:?}, expected lower-case letters, digits, `-`, `_`, `.`"),
                "rename it",
            ));
        }
        if raw.name.get_ref().is_empty() {
            return Err(at.err(&raw.name.span(), "name is empty".to_string(), "say which machine this is"));
        }
        let hz = match &raw.hz {
            Some(hz) => {
                Some(at.number(hz, "hz", "ticks per second", i64::from(*HZ.start()), i64::from(*HZ.end()))?
                    as u32)
            }
            None => None,
        };
        if raw.cluster.is_empty() {
            return Err(at.err(
                &(0..0),
                "no [[cluster]]: a platform needs at least one".to_string(),
                "add one with its CPUs and [[cluster.state]] blocks",
            ));
        }
        let clusters = at.clusters(&raw.cluster)?;
        if let Some(c) = raw.cluster.iter().find(|c| c.get_ref().threads.is_some()).filter(|_| raw.one_thread)
        {
            return Err(at.err(
                &c.span(),
                "`threads` of a core together with `one_thread`".to_string(),
                "CPUs that take turns on one thread share no core: remove one of them",
            ));
        }
        if let Some(leakage) =
            raw.thermal.as_ref().and_then(|t| t.leakage.as_ref()).filter(|_| raw.package.is_none())
        {
            return Err(at.err(
                &leakage.at_mc.span(),
                "thermal: leakage without a [package]".to_string(),
                "it adds to what the package draws while awake: add [package], with awake = 0 where nothing is known",
            ));
        }
        Ok(Self {
            id: id.clone(),
            name: raw.name.get_ref().clone(),
            origin: Origin::File(PathBuf::from(name)),
            hz,
            hz_note: raw.hz_note,
            one_cache: raw.one_cache,
            one_thread: raw.one_thread,
            costs: raw.costs.as_ref().map(|c| at.costs(c)).transpose()?,
            battery: raw.battery.as_ref().map(|b| at.battery(b)).transpose()?,
            package: raw.package.as_ref().map(|p| at.package(p, &clusters)).transpose()?,
            limits: raw.limits.as_ref().map(|l| at.limits(l)).transpose()?,
            thermal: raw.thermal.as_ref().map(|t| at.thermal(t)).transpose()?,
            clusters,
            notes: raw.notes,
            sources: raw.sources,
        })
    }
}

/// `table`, with the states that are always refused.
pub(crate) fn refusing(table: IdleTable, info: &[StateInfo]) -> IdleTable {
    let refused = info.iter().enumerate().filter(|(_, i)| i.entry == EntryKind::Refused);
    table.refusing(refused.map(|(i, _)| 1 << i).sum())
}

impl Reader<'_> {
    fn clusters(&self, raw: &[Spanned<RawCluster>]) -> Result<Vec<Cluster>, PlatformError> {
        let mut owner: BTreeMap<u32, &str> = BTreeMap::new();
        let mut names: BTreeSet<&str> = BTreeSet::new();
        let mut clusters = Vec::new();
        for c in raw {
            let c = c.get_ref();
            let name = c.name.get_ref().as_str();
            if name.is_empty() || !names.insert(name) {
                return Err(self.err(
                    &c.name.span(),
                    format!("cluster name {name:?} is empty or used twice"),
                    "give each cluster a name of its own",
                ));
            }
            let (cpus, any_cpu) = self.cpus(c, raw.len())?;
            for &cpu in &cpus {
                if let Some(other) = owner.insert(cpu, name) {
                    let whose = if other == name {
                        "twice".to_string()
                    } else {
                        format!("in cluster `{other}` already")
                    };
                    return Err(self.err(
                        &c.cpus.span(),
                        format!("cluster `{name}`: CPU {cpu} is {whose}"),
                        "each CPU belongs to one cluster",
                    ));
                }
            }
            clusters.push(self.cluster(c, cpus, any_cpu)?);
        }
        Ok(clusters)
    }

    fn cluster(&self, c: &RawCluster, mut cpus: Vec<u32>, any_cpu: bool) -> Result<Cluster, PlatformError> {
        cpus.sort_unstable();
        let capacity = match &c.capacity {
            Some(v) => self.number(v, "capacity", "a capacity", 1, i64::from(CAPACITY_MAX))? as u32,
            None => CAPACITY_MAX,
        };
        let speed = c.speed.as_ref();
        let speed =
            speed.map(|v| self.number(v, "speed", "a speed", 1, i64::from(CAPACITY_MAX))).transpose()?;
        let speed = speed.map(|v| v as u32);
        let (table, info) = self.states(c)?;
        let never: Vec<bool> = info.iter().map(|i| i.never).collect();
        let (power, energy) = match &c.power {
            Some(raw) => {
                let power = self.power(raw, table.len())?;
                let energy = power.energy_at(&table, power.at_khz, cpus.len()).and_then(|e| e.paying(&info));
                let at = |e: PlatformError| {
                    let what = format!("cluster `{}`: {e}", c.name.get_ref());
                    self.err(&raw.get_ref().at_khz.span(), what, SEE)
                };
                (Some(power), energy.map_err(at)?)
            }
            None => {
                let at = |e: PlatformError| self.err(&c.name.span(), e.to_string(), SEE);
                (
                    None,
                    EnergyTable::derived(&table, &never, Fall::Geometric)
                        .and_then(|e| e.paying(&info))
                        .map_err(at)?,
                )
            }
        };
        let (name, source) = (c.name.get_ref().clone(), c.source.clone());
        let clock = c.clock.as_ref();
        let clock =
            clock.map(|raw| self.clock(raw, &name, capacity, (&table, &info), power.as_ref())).transpose()?;
        let (thread_speed, cache_cpus) = (self.threads(c, cpus.len())?, self.cache_cpus(c, cpus.len())?);
        Ok(Cluster {
            name,
            cpus,
            any_cpu,
            table,
            info,
            capacity,
            speed,
            thread_speed,
            cache_cpus,
            power,
            clock,
            energy,
            source,
        })
    }

    fn cpus(&self, c: &RawCluster, clusters: usize) -> Result<(Vec<u32>, bool), PlatformError> {
        let span = c.cpus.span();
        let name = c.name.get_ref();
        let all = matches!(c.cpus.get_ref(), RawCpus::Text(t) if t == "all");
        if all {
            if clusters != 1 {
                return Err(self.err(
                    &span,
                    format!("cluster `{name}`: \"all\" CPUs, but there are {clusters} clusters"),
                    "name the CPUs of each cluster",
                ));
            }
            let Some(count) = &c.count else {
                return Err(self.err(
                    &span,
                    format!("cluster `{name}`: \"all\" CPUs without `count`"),
                    "add `count`: how many to use where nothing else says",
                ));
            };
            let count = self.number(count, "count", "CPUs", 1, i64::from(CPU_MAX) + 1)?;
            return Ok(((0..count as u32).collect(), true));
        }
        if let Some(count) = &c.count {
            return Err(self.err(
                &count.span(),
                format!("cluster `{name}`: `count` together with a list of CPUs"),
                "it belongs to cpus = \"all\" only: remove it",
            ));
        }
        let cpus = match c.cpus.get_ref() {
            RawCpus::Text(text) => idlewise_model::parse_cpu_list(text).map_err(|e| e.to_string()),
            RawCpus::List(list) => list
                .iter()
                .map(|&n| u32::try_from(n).ok().filter(|&n| n <= CPU_MAX))
                .map(|n| n.ok_or_else(|| format!("CPU numbers run from 0 to {CPU_MAX}")))
                .collect(),
        };
        let cpus = cpus.map_err(|e| self.err(&span, format!("cluster `{name}`: {e}"), "correct the list"))?;
        if cpus.is_empty() {
            return Err(self.err(&span, format!("cluster `{name}` has no CPU"), "list its CPUs"));
        }
        Ok((cpus, false))
    }

    fn states(&self, c: &RawCluster) -> Result<(IdleTable, Vec<StateInfo>), PlatformError> {
        let name = c.name.get_ref();
        let (mut states, mut info) = (Vec::new(), Vec::new());
        for raw in &c.state {
            let s = raw.get_ref();
            let key = |key: &str| format!("cluster `{name}`, state `{}`: {key}", s.name);
            let us = |v: &Spanned<i64>, k: &str| self.number(v, &key(k), "us", 0, NEVER_US).map(|v| v * 1000);
            if let Some(why) = too_long(&s.name, &s.desc) {
                let start: String = s.name.chars().take(16).collect();
                let what = format!("cluster `{name}`, state `{start}`: {why}");
                return Err(self.err(&raw.span(), what, "shorten it"));
            }
            let never = *s.residency_us.get_ref() == NEVER_US;
            let residency_ns = us(&s.residency_us, "residency_us")?;
            let mut flags = Vec::new();
            for f in &s.flags {
                let words = Flag::ALL.map(Flag::word).join(", ");
                let Some(flag) = Flag::from_word(f.get_ref()) else {
                    return Err(self.err(
                        &f.span(),
                        format!("{} `{}` is not known", key("flag"), f.get_ref()),
                        &format!("known flags: {words}"),
                    ));
                };
                flags.push(flag);
            }
            let entry = match &s.entry {
                None => EntryKind::Normal,
                Some(word) => EntryKind::from_word(word.get_ref()).ok_or_else(|| {
                    let words = EntryKind::ALL.map(EntryKind::word).join(", ");
                    let what = format!("{} is `{}`, expected one of {words}", key("entry"), word.get_ref());
                    self.err(&word.span(), what, SEE)
                })?,
            };
            let measured = s.measured_wake_ns.as_ref();
            let measured =
                measured.map(|v| self.number(v, &key("measured_wake_ns"), "ns", 0, NEVER_NS)).transpose()?;
            states.push(IdleState {
                name: s.name.clone(),
                exit_latency_ns: us(&s.exit_latency_us, "exit_latency_us")?,
                target_residency_ns: if never { NEVER_NS } else { residency_ns },
                entry_ns: s.entry_us.as_ref().map_or(Ok(0), |v| us(v, "entry_us"))?,
                polling: s.polling,
                disabled: s.disabled || entry == EntryKind::S2idle,
            });
            let measured_wake_ns = measured.map(i64::unsigned_abs);
            let hour =
                |v: &Spanned<i64>, k: &str| self.number(v, &key(k), "us", 0, HOUR_US).map(|v| v * 1000);
            let refill_ns = s.refill_us.as_ref().map_or(Ok(0), |v| hour(v, "refill_us"))?;
            let transition = s.transition_us.as_ref().map(|v| hour(v, "transition_us")).transpose()?;
            info.push(StateInfo {
                desc: s.desc.clone(),
                flags,
                never,
                entry,
                measured_wake_ns,
                refill_ns: refill_ns.unsigned_abs(),
                transition_ns: transition.map(i64::unsigned_abs),
            });
        }
        let first = info.first().and_then(|i: &StateInfo| i.measured_wake_ns);
        if let (None, Some(v)) = (first, c.state.iter().find_map(|s| s.get_ref().measured_wake_ns.as_ref())) {
            let what = format!("cluster `{name}`: measured_wake_ns without the first state's");
            return Err(self.err(&v.span(), what, "add it there: a simulation takes the difference to it"));
        }
        let table = IdleTable::new(states).map_err(|e| {
            let hint = match &e {
                TableError::Empty => "add [[cluster.state]] blocks, shallow to deep",
                _ => "correct the numbers or their units",
            };
            self.err(&self.table_error_span(c, &e), format!("cluster `{name}`: {e}"), hint)
        })?;
        Ok((refusing(table, &info), info))
    }

    fn table_error_span(&self, c: &RawCluster, e: &TableError) -> Range<usize> {
        let index = match e {
            TableError::Empty => None,
            TableError::TooMany(_) => Some(idlewise_model::MAX_STATES),
            TableError::Negative { index, .. }
            | TableError::EntryTooLong { index, .. }
            | TableError::Unordered { index, .. }
            | TableError::Absurd { index, .. } => Some(*index),
        };
        let state = index.and_then(|i| c.state.get(i)).map(|s| s.get_ref());
        state.map_or_else(|| c.name.span(), |s| s.residency_us.span())
    }

    fn power(&self, raw: &Spanned<RawPower>, states: usize) -> Result<PowerData, PlatformError> {
        let p = raw.get_ref();
        let grade = match p.unit.get_ref().as_str() {
            "uw" => EnergyGrade::Measured,
            "uw-fitted" => EnergyGrade::Fitted,
            "uw-assumed" => EnergyGrade::Assumed,
            "rel/1000" => EnergyGrade::PublishedRelative,
            other => {
                return Err(self.err(
                    &p.unit.span(),
                    format!(
                        "power unit is `{other}`, expected `uw`, `uw-fitted`, `uw-assumed` or `rel/1000`"
                    ),
                    "use microwatts, or thousandths of the published unit where that is not watts",
                ));
            }
        };
        let shared = match p.shared.as_ref().map(|s| s.get_ref().as_str()) {
            None | Some("not-counted") => Shared::NotCounted,
            Some("split") => Shared::Split,
            Some(other) => {
                return Err(self.err(
                    &p.shared.as_ref().map_or(raw.span(), Spanned::span),
                    format!("shared is `{other}`, expected `split` or `not-counted`"),
                    SEE,
                ));
            }
        };
        let list = |values: &[i64], span: &Range<usize>, key: &str| -> Result<Vec<u64>, PlatformError> {
            if values.len() != states {
                let what = format!("{key} has {} powers for {states} idle states", values.len());
                return Err(self.err(span, what, "give one per state, shallow to deep"));
            }
            values.iter().map(|&v| self.watts(v, span, key)).collect()
        };
        let block = |v: &Option<Spanned<Vec<i64>>>, key: &str| {
            v.as_ref().map(|v| list(v.get_ref(), &v.span(), key)).transpose()
        };
        let mut curve: Vec<OperatingPoint> = Vec::new();
        for row in &p.curve {
            let (r, span) = (row.get_ref(), row.span());
            let khz = self.watts(r.khz, &span, "khz")?;
            if curve.last().is_some_and(|last| last.khz >= khz) {
                let what = format!("curve: {khz} kHz after {} kHz", curve.last().map_or(0, |l| l.khz));
                return Err(self.err(&span, what, "list the points by rising clock, each once"));
            }
            curve.push(OperatingPoint {
                khz,
                active: self.watts(r.active, &span, "active")?,
                states: r.states.as_ref().map(|v| list(v, &span, "states")).transpose()?,
                shared: r.shared.map(|v| self.watts(v, &span, "shared")).transpose()?,
            });
        }
        Ok(PowerData {
            grade,
            what: p.what.clone(),
            source: p.source.clone(),
            at_khz: self.watts(*p.at_khz.get_ref(), &p.at_khz.span(), "at_khz")?,
            states: block(&p.states, "states")?,
            shared_states: block(&p.shared_states, "shared_states")?,
            polling: p
                .polling
                .as_ref()
                .map_or(Ok(1000), |v| self.number(v, "polling", "thousandths", 0, 1000))?
                .unsigned_abs(),
            shared,
            curve,
        })
    }

    fn watts(&self, value: i64, span: &Range<usize>, key: &str) -> Result<u64, PlatformError> {
        /// A CPU of a kilowatt, in uW; a clock of a terahertz, in kHz.
        const MOST: i64 = 1_000_000_000;
        if (0..=MOST).contains(&value) {
            return Ok(value.unsigned_abs());
        }
        let what = format!("{key} is {value}, expected 0 to {MOST}");
        Err(self.err(span, what, "correct the number or its unit"))
    }
}
