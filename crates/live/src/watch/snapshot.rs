// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_model::{Note, NoteId};
use idlewise_platform::{StateCounters, cpu_list, diff_cpu, share_pct};
use schemars::JsonSchema;
use serde::Serialize;

use super::{CounterSample, Place, Share};
use crate::limits::Limiting;
use crate::power::Power;

/// Version of the JSON that a snapshot gives.
pub const SCHEMA: &str = "idlewise.top/2";

/// What a machine did between two looks.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Snapshot {
    /// Version of this form.
    pub schema: &'static str,
    pub version: &'static str,
    /// The kernel's version; empty where it is not told.
    pub kernel: String,
    pub driver: String,
    /// The cpuidle governor at the later look.
    pub governor: String,
    /// Time between the looks, s.
    pub seconds: f64,
    /// What the machine's meters say.
    pub power: Vec<Power>,
    /// Whether limits of power or heat held its clocks; null for the first look.
    pub limiting: Option<Limiting>,
    /// What makes the numbers doubtful, or could not be read.
    pub notes: Vec<Note>,
    pub machine: Row,
    pub clusters: Vec<Row>,
    pub cpus: Vec<Row>,
    /// The parts, with the CPUs that belong to each.
    #[serde(skip)]
    pub places: Vec<Place>,
}

/// A machine, a part of it, a CPU.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Row {
    /// `all`, `cluster 0-3`, `cpu 5`.
    pub name: String,
    /// The CPU, where it is one.
    pub cpu: Option<u32>,
    /// The part that a CPU belongs to, by its place in the list of parts.
    pub cluster: Option<usize>,
    /// How many CPUs are in it.
    pub cpus: usize,
    /// Entries into idle states per second, which are wakeups.
    pub wakeups_per_s: f64,
    /// Entries that were too deep (`above`), % of entries; `None` without entries, or where the kernel does not count.
    pub too_deep_pct: Option<f64>,
    /// Entries that were too shallow (`below`), % of entries; likewise.
    pub too_shallow_pct: Option<f64>,
    /// Refused entries per second; `None` where the kernel does not count.
    pub rejected_per_s: Option<f64>,
    /// Time at work, %.
    pub busy_pct: f64,
    /// Time in stays that have not ended, so that the kernel has not told their state, %.
    pub asleep_pct: f64,
    /// By state, shallow to deep.
    pub states: Vec<StateRow>,
}

/// One idle state of a [`Row`].
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct StateRow {
    /// Its name; several, with `/` between, where CPUs name it differently.
    pub name: String,
    /// Time in it, % of all time.
    pub time_pct: f64,
    pub entries_per_s: f64,
    /// Entries that were too deep, % of entries into it.
    pub too_deep_pct: Option<f64>,
    /// Entries that were too shallow, % of entries into it.
    pub too_shallow_pct: Option<f64>,
    /// Refused entries per second.
    pub rejected_per_s: Option<f64>,
    /// It is switched off on one of the CPUs.
    pub disabled: bool,
}

impl Snapshot {
    /// What happened from `before` to `after`. CPUs that are in one of them only, or whose counters ran back, are left out
    /// with a note.
    #[must_use]
    pub fn between(before: &CounterSample, after: &CounterSample) -> Self {
        let elapsed = after.at.saturating_sub(before.at);
        let elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let (meters, readings) = &after.meters;
        let same_meters = before.meters.0 == *meters;
        let earlier = if same_meters { before.meters.1.as_slice() } else { &[] };
        let mut notes = meters.notes.clone();
        let differences = differences(before, after, &mut notes);

        let places = &after.machine.places;
        let mut machine = Sum::default();
        let mut clusters: Vec<Sum> = places.iter().map(|_| Sum::default()).collect();
        let mut cpus = Vec::new();
        for (cpu, counters) in &differences {
            let name = |index: usize| after.machine.state_name(*cpu, index);
            let idle = after.idle_us.get(cpu).zip(before.idle_us.get(cpu));
            // A guest's /proc/stat was seen to step back by itself: then it tells nothing.
            let idle = idle.and_then(|(new, old)| new.checked_sub(*old));
            let share = Share::of_cpu(counters, elapsed_us, idle, name);
            let cluster = places.iter().position(|p| p.cpus.contains(cpu));
            machine.add(&share, counters, name);
            if let Some(sum) = cluster.and_then(|c| clusters.get_mut(c)) {
                sum.add(&share, counters, name);
            }
            let row = Row::new(format!("cpu {cpu}"), &share, elapsed_us);
            cpus.push(Row { cpu: Some(*cpu), cluster, ..row });
        }
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            kernel: after.machine.release.clone(),
            driver: after.machine.driver.clone(),
            governor: after.governor.clone(),
            seconds: elapsed.as_secs_f64(),
            power: meters.between(earlier, readings, elapsed.as_secs_f64()),
            limiting: after.limiting.clone(),
            notes,
            machine: Row::new("all".to_string(), &machine.0, elapsed_us),
            clusters: places
                .iter()
                .zip(&clusters)
                .map(|(p, sum)| Row::new(p.name.clone(), &sum.0, elapsed_us))
                .collect(),
            cpus,
            places: places.clone(),
        }
    }
}

#[derive(Default)]
struct Sum(Share);

impl Sum {
    fn add<'a>(&mut self, share: &Share, counters: &[StateCounters], name: impl Fn(usize) -> &'a str) {
        self.0.add(share, counters, name);
    }
}

/// The counters' growth by CPU.
fn differences(
    before: &CounterSample,
    after: &CounterSample,
    notes: &mut Vec<Note>,
) -> BTreeMap<u32, Vec<StateCounters>> {
    let mut out = BTreeMap::new();
    let (mut came, mut went, mut back) = (Vec::new(), Vec::new(), Vec::new());
    for (cpu, new) in &after.counters.cpus {
        match before.counters.cpus.get(cpu).map(|old| diff_cpu(*cpu, old, new)) {
            Some(Ok(states)) => {
                out.insert(*cpu, states);
            }
            Some(Err(_)) => back.push(*cpu),
            None => came.push(*cpu),
        }
    }
    went.extend(before.counters.cpus.keys().filter(|c| !after.counters.cpus.contains_key(c)));
    for (cpus, id, what) in [
        (came, NoteId::CpusChanged, "came online: counted from now on"),
        (went, NoteId::CpusChanged, "went offline"),
        (back, NoteId::CountersBack, "counters were set back: left out this time"),
    ] {
        if !cpus.is_empty() {
            let noun = if cpus.len() == 1 { "CPU" } else { "CPUs" };
            notes.push(id.note(format!("{noun} {} {what}", few(&cpus))));
        }
    }
    if before.governor != after.governor {
        let words = format!("the governor changed from {} to {}", before.governor, after.governor);
        notes.push(NoteId::GovernorChanged.note(words));
    }
    out
}

/// CPUs as a list that is short enough for a note.
fn few(cpus: &[u32]) -> String {
    const LONGEST: usize = 40;
    let list = cpu_list(cpus);
    if list.len() <= LONGEST {
        return list;
    }
    let start = list.get(..LONGEST).unwrap_or_default();
    let shown = start.rfind(',').and_then(|at| start.get(..at)).unwrap_or_default();
    format!("{shown},... ({} in all)", cpus.len())
}

impl Row {
    fn new(name: String, share: &Share, elapsed_us: u64) -> Self {
        let seconds = elapsed_us as f64 / 1e6;
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let time = |us: u64| share_pct(Some(us), Some(share.cpu_us)).unwrap_or(0.0);
        let sum = &share.counters;
        let usage = sum.usage();
        let state = |((names, c), us): (&(Vec<String>, StateCounters), &u64)| StateRow {
            name: names.join("/"),
            time_pct: time(*us),
            entries_per_s: c.usage.map_or(0.0, rate),
            too_deep_pct: share_pct(c.above, c.usage),
            too_shallow_pct: share_pct(c.below, c.usage),
            rejected_per_s: c.rejected.map(rate),
            disabled: c.disable.is_some_and(|d| d != 0),
        };
        Self {
            name,
            cpu: None,
            cluster: None,
            cpus: sum.cpus,
            wakeups_per_s: usage.map_or(0.0, rate),
            too_deep_pct: share_pct(sum.above(), usage),
            too_shallow_pct: share_pct(sum.below(), usage),
            rejected_per_s: sum.rejected().map(rate),
            busy_pct: time(share.busy_us),
            asleep_pct: time(share.asleep_us),
            states: sum.states.iter().zip(&share.states_us).map(state).collect(),
        }
    }
}
