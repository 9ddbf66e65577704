// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use idlewise_model::{IdleState, IdleTable};

use crate::from_toml::refusing;
use crate::platform::{CAPACITY_MAX, CPU_MAX, NEVER_NS, NEVER_US};
use crate::state::too_long;
use crate::sysfs::RECORD;
use crate::{
    Cluster, DamagedValue, EnergyTable, EntryKind, Fall, Origin, OtherMachine, Platform, PlatformError,
    StateInfo, SysfsDump, SysfsState, cpu_list,
};

/// Of so many damaged values a platform's notes have the words.
const DAMAGED_SHOWN: usize = 3;

/// What makes two CPUs alike.
#[derive(PartialEq)]
pub(crate) struct Kind {
    pub(crate) table: IdleTable,
    pub(crate) info: Vec<StateInfo>,
    pub(crate) capacity: Option<u32>,
}

impl Platform {
    /// The machine whose `/sys/devices/system/cpu` was dumped to `text` (see [`SysfsDump::parse`]). CPUs with equal
    /// states and equal `cpu_capacity` make a cluster. A state that was switched off is off. A dump says nothing
    /// about HZ. Of a file that holds several snapshots with the same states, the first counts.
    ///
    /// # Errors
    /// [`PlatformError::Dump`] when it does not give complete tables, or several that differ.
    pub fn from_sysfs_dump(text: &str, name: &str) -> Result<Self, PlatformError> {
        let looks = SysfsDump::parse(text, name)?;
        let count = looks.len();
        let origins: Vec<String> = looks.iter().map(|l| l.origin.name()).collect();
        let Some((first, others)) = looks.split_first() else {
            let (what, hint) = ("no idle states".to_string(), RECORD.to_string());
            return Err(PlatformError::Dump { file: name.to_string(), what, hint });
        };
        // What of several machines is meant is not known.
        let table = |other: &SysfsDump| match first.other_machine(other) {
            Some(OtherMachine::Table(why)) => Some(why),
            _ => None,
        };
        if let Some(why) = others.iter().find_map(table) {
            return Err(PlatformError::Dump {
                file: name.to_string(),
                what: format!("{count} snapshots{} with other idle states: {why}", named(&origins)),
                hint: "give the one that is meant a file of its own".to_string(),
            });
        }
        // Of a damaged line comes what is missing.
        let damaged = first.damaged.first().map(|d| PlatformError::Dump {
            file: d.place.clone(),
            what: d.what.clone(),
            hint: format!("the line is damaged; {RECORD}"),
        });
        let mut platform = first
            .platform(name, Origin::SysfsDump(PathBuf::from(name)))
            .map_err(|why| damaged.unwrap_or(why))?;
        let left_out = |d: &DamagedValue| format!("{}: {}: left out", d.place, d.what);
        platform.notes.extend(first.damaged.iter().take(DAMAGED_SHOWN).map(left_out));
        platform.notes.extend(first.cut.map(|cpu| format!("the text ends within cpu{cpu}")));
        platform
            .notes
            .extend(first.left_out.map(|form| format!("what the file holds of {form}, too, is not read")));
        if count > 1 {
            platform
                .notes
                .push(format!("the file holds {count} snapshots{}; the first is used", named(&origins)));
        }
        Ok(platform)
    }
}

impl SysfsDump {
    /// The machine that this dump describes; `name` is how errors call it.
    ///
    /// # Errors
    /// [`PlatformError::Dump`] when a table is incomplete or makes no sense.
    pub fn platform(&self, name: &str, origin: Origin) -> Result<Platform, PlatformError> {
        let mut notes = Vec::new();
        let mut kinds: Vec<(Kind, Vec<u32>)> = Vec::new();
        let unnamed = self.cpus.keys().all(Option::is_none);
        for (cpu, states) in self.cpus.iter().filter(|(cpu, _)| unnamed || cpu.is_some()) {
            let number = cpu.unwrap_or(0);
            if number > CPU_MAX {
                let (what, hint) = (format!("cpu{number}: no machine has it"), RECORD.to_string());
                return Err(PlatformError::Dump { file: name.to_string(), what, hint });
            }
            let bad = |what: String| PlatformError::Dump {
                file: name.to_string(),
                what: format!("cpu{number}: {what}"),
                hint: format!("is the dump complete? {RECORD}"),
            };
            let (table, info) = table(states).map_err(bad)?;
            for (index, s) in states {
                if s.disabled_by_default.is_some_and(|d| d != (s.disable.unwrap_or(0) != 0)) {
                    let now = if s.disable.unwrap_or(0) != 0 { "off" } else { "on" };
                    notes.push(format!("cpu{number} state{index} was switched {now} by hand"));
                }
            }
            let capacity = self.capacity.get(&number).and_then(|&c| u32::try_from(c).ok());
            let capacity = capacity.filter(|c| (1..=CAPACITY_MAX).contains(c));
            let kind = Kind { table, info, capacity };
            match kinds.iter_mut().find(|(k, _)| *k == kind) {
                Some((_, cpus)) => cpus.push(number),
                None => kinds.push((kind, vec![number])),
            }
        }
        if unnamed {
            notes.push("the paths name no CPU: one table for a machine of any size".to_string());
        }
        if kinds.len() > 1 && kinds.iter().any(|(k, _)| k.capacity.is_none()) {
            notes.push("the capacities of the clusters are not known: all taken as 1024".to_string());
        }
        notes.extend(self.driver.iter().map(|d| format!("cpuidle driver: {d}")));
        notes.extend(self.governor.iter().map(|g| format!("cpuidle governor: {g}")));
        let all: Vec<u32> = kinds.iter().flat_map(|(_, cpus)| cpus.iter().copied()).collect();
        let last = all.iter().max().copied().unwrap_or(0);
        if all.len() as u64 <= u64::from(last) {
            let missing: Vec<u32> = (0..=last).filter(|c| !self.cpus.contains_key(&Some(*c))).collect();
            notes.push(format!("no idle states for CPUs {} (offline, or left out)", cpu_list(&missing)));
        }
        for (kind, cpus) in &mut kinds {
            let looks: Vec<&BTreeMap<usize, SysfsState>> = self
                .cpus
                .iter()
                .filter(|(cpu, _)| cpus.contains(&cpu.unwrap_or(0)))
                .map(|(_, states)| states)
                .collect();
            notes.extend(
                find_refused(kind, &looks).into_iter().map(|n| format!("CPUs {}: {n}", cpu_list(cpus))),
            );
        }
        described(name, "sysfs", origin, "sysfs does not say".to_string(), kinds, unnamed, notes)
    }
}

/// The machine with these clusters, of which nothing else is known; `source` says what describes it.
pub(crate) fn described(
    name: &str,
    source: &str,
    origin: Origin,
    hz_note: String,
    kinds: Vec<(Kind, Vec<u32>)>,
    any_cpu: bool,
    notes: Vec<String>,
) -> Result<Platform, PlatformError> {
    let clusters: Result<Vec<_>, _> =
        kinds.into_iter().map(|(kind, cpus)| cluster(kind, cpus, any_cpu, source)).collect();
    Ok(Platform {
        id: id_of(name),
        name: name.to_string(),
        sources: vec![format!("{source}: {name}")],
        origin,
        hz: None,
        hz_note,
        one_cache: false,
        one_thread: false,
        costs: None,
        battery: None,
        package: None,
        limits: None,
        thermal: None,
        clusters: clusters?,
        notes,
    })
}

/// Of what several snapshots are, in words that follow theirs: some of their names, where the text shows them.
fn named(origins: &[String]) -> String {
    let several = origins.iter().any(|o| Some(o) != origins.first());
    let shown: Vec<&str> = origins.iter().take(3).map(|o| if o.is_empty() { "?" } else { o }).collect();
    match (several, origins.len() > shown.len()) {
        (false, _) => " of the machine".to_owned(),
        (true, false) => format!(" ({})", shown.join(", ")),
        (true, true) => format!(" ({}, ...)", shown.join(", ")),
    }
}

/// States that no CPU of the kind ever entered although some governor chose them, by the kernel's own counts since it was
/// started: only an entry that a governor asked for can be refused, so that they are on. `looks` are those of each CPU.
/// Says what was found.
fn find_refused(kind: &mut Kind, looks: &[&BTreeMap<usize, SysfsState>]) -> Vec<String> {
    let mut notes = Vec::new();
    for (i, info) in kind.info.iter_mut().enumerate() {
        let states = || looks.iter().filter_map(|l| l.get(&i));
        let entered = states().any(|s| s.usage.is_none_or(|n| n > 0));
        // Of as many CPUs as there may be, each at the most that a counter may be, 64 bits are too few.
        let rejected: u128 = states().filter_map(|s| s.rejected).map(u128::from).sum();
        if entered || rejected == 0 {
            continue;
        }
        info.entry = EntryKind::Refused;
        let name = kind.table.states().get(i).map_or("", |s| s.name.as_str());
        notes.push(format!(
            "state{i} {name} was never entered, and refused {rejected} times: it is on, and each entry is taken as refused"
        ));
    }
    kind.table = refusing(kind.table.clone(), &kind.info);
    notes
}

fn cluster(kind: Kind, cpus: Vec<u32>, any_cpu: bool, source: &str) -> Result<Cluster, PlatformError> {
    let never: Vec<bool> = kind.info.iter().map(|i| i.never).collect();
    Ok(Cluster {
        name: format!("cpu{}", cpu_list(&cpus)),
        energy: EnergyTable::derived(&kind.table, &never, Fall::Geometric)?,
        cpus,
        any_cpu,
        table: kind.table,
        info: kind.info,
        capacity: kind.capacity.unwrap_or(CAPACITY_MAX),
        speed: None,
        thread_speed: vec![1000],
        cache_cpus: None,
        power: None,
        clock: None,
        source: source.to_string(),
    })
}

fn table(states: &BTreeMap<usize, SysfsState>) -> Result<(IdleTable, Vec<StateInfo>), String> {
    let (mut table, mut info) = (Vec::new(), Vec::new());
    for (expected, (&index, s)) in states.iter().enumerate() {
        if index != expected {
            return Err(format!("state{expected} is missing, state{index} is there"));
        }
        let need = |value: Option<u64>, file: &str| {
            let value = value.ok_or_else(|| format!("state{index} has no `{file}`"))?;
            let us = i64::try_from(value).ok().filter(|&us| us <= NEVER_US);
            us.ok_or_else(|| format!("state{index}/{file} is {value}, more than the kernel's 32 bits of us"))
        };
        let name = s.name.clone().filter(|n| !n.is_empty());
        let name = name.ok_or_else(|| format!("state{index} has no `name`"))?;
        let desc = s.desc.clone().unwrap_or_default();
        if let Some(why) = too_long(&name, &desc) {
            return Err(format!("state{index}: {why}"));
        }
        let exit_latency_ns = need(s.latency_us, "latency")? * 1000;
        let residency_us = need(s.residency_us, "residency")?;
        let never = residency_us == NEVER_US;
        let polling = index == 0
            && exit_latency_ns == 0
            && residency_us == 0
            && (["poll", "snooze"].contains(&name.to_lowercase().as_str()) || desc.contains("POLL"));
        let by_default = s.disabled_by_default.unwrap_or(false);
        table.push(IdleState {
            name,
            exit_latency_ns,
            target_residency_ns: if never { NEVER_NS } else { residency_us * 1000 },
            entry_ns: 0,
            polling,
            disabled: s.disable.map_or(by_default, |d| d != 0),
        });
        info.push(StateInfo { desc, never, ..StateInfo::default() });
    }
    let table = IdleTable::new(table).map_err(|e| e.to_string())?;
    Ok((table, info))
}

/// The file's stem with what an id may not hold replaced.
fn id_of(name: &str) -> String {
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let good =
        |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c) { c } else { '-' };
    let id: String = stem.chars().map(good).collect();
    if id.is_empty() { "dump".to_string() } else { id }
}
