// SPDX-License-Identifier: GPL-2.0-only
//! `NAME.toml` beside a recording `NAME.dat`, or the same text inside it: what to know about it. docs/guide/recording.md
//! describes it.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use idlewise_platform::{COUNTER_MAX, Platform, StateCounters, SysfsCounters};
use serde::{Deserialize, Serialize};

use crate::counter_snapshots::CounterSnapshots;
use crate::error::CommandError;

/// The file. `M` is how the recording was made: for people, so that its reader takes anything.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sidecar<M = toml::Value> {
    /// A platform's id, or a path from the side-car's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) platform: Option<String>,
    /// As in `/sys/devices/system/cpu/cpuidle/current_governor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) governor: Option<String>,
    /// The governor's true inputs, where they were recorded, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) inputs: Option<InputsBeside>,
    /// How the recording was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) made: Option<M>,
    /// The machine itself, as a platform file has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) machine: Option<toml::Table>,
    /// The kernel's counters before and after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    counters: Vec<CpuCounters>,
}

/// A table of decisions with the governor's true inputs (`docs/reference/decisions-format.md`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct InputsBeside {
    /// Its path, in the file from the side-car's folder.
    pub file: PathBuf,
    /// Why no governor can be compared with it; nothing where one can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproven: Option<String>,
}

/// One CPU's counters, before and after; of each look all states.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct CpuCounters {
    cpu: u32,
    /// When they were read, ns on the trace's clock.
    at_ns: [u64; 2],
    usage: [Vec<u64>; 2],
    time_us: [Vec<u64>; 2],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    above: Option<[Vec<u64>; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    below: Option<[Vec<u64>; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rejected: Option<[Vec<u64>; 2]>,
    /// States that were off: by the user (bit 0) or the driver (bit 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disable: Option<[Vec<u64>; 2]>,
}

impl Sidecar {
    /// The one beside a recording, if there is one.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, CommandError> {
        if !path.exists() {
            return Ok(None);
        }
        let text = idlewise_files::read_to_string(path).map_err(|e| CommandError::file(path, e))?;
        Self::parse(&text, &path.display().to_string()).map(Some)
    }

    /// Reads its text, which is `name`'s.
    pub fn parse(text: &str, name: &str) -> Result<Self, CommandError> {
        let wrong = |why: String| CommandError::File { path: name.to_owned(), why };
        let it: Self =
            toml::from_str(text).map_err(|e| wrong(format!("not a description of a recording: {e}")))?;
        let mut seen = BTreeSet::new();
        for (n, counters) in it.counters.iter().enumerate() {
            let again = (!seen.insert(counters.cpu)).then(|| "has counters already".to_owned());
            if let Some(why) = again.or_else(|| counters.uneven()).or_else(|| counters.impossible()) {
                return Err(wrong(format!("[[counters]] number {}: CPU {} {why}", n + 1, counters.cpu)));
            }
        }
        Ok(it)
    }

    /// Whether it may stand inside the trace at `path`: it leads to no other file but one next to it.
    pub(crate) fn check_inside(&self, path: &Path) -> Result<(), CommandError> {
        let wrong = |why: String| Err(CommandError::file(path, format!("the description inside it: {why}")));
        if let Some(platform) = &self.platform {
            return wrong(format!("platform = {platform:?}: expected the machine itself, as [machine]"));
        }
        let Some(inputs) = &self.inputs else { return Ok(()) };
        let mut parts = inputs.file.components();
        if matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            return Ok(());
        }
        wrong(format!(
            "inputs.file = {:?}: expected the name of a file in the recording's folder",
            inputs.file
        ))
    }

    /// The machine that it describes itself; `name` is its own.
    pub(crate) fn machine(&self, name: &str) -> Result<Option<Platform>, CommandError> {
        let Some(machine) = &self.machine else { return Ok(None) };
        let text = toml::to_string(machine)
            .map_err(|e| CommandError::File { path: name.to_owned(), why: format!("[machine]: {e}") })?;
        Ok(Some(Platform::from_toml(&text, &format!("{name}: [machine]"))?))
    }

    /// The governor's true inputs that it names; `path` is its own.
    pub(crate) fn inputs(&self, path: &Path) -> Option<InputsBeside> {
        let inputs = self.inputs.clone()?;
        Some(InputsBeside { file: path.with_file_name(&inputs.file), ..inputs })
    }

    /// It over `under`, key by key.
    pub(crate) fn over(self, under: Self) -> Self {
        // One key says what the other does: the machine.
        let says_machine = self.platform.is_some() || self.machine.is_some();
        let below = if says_machine { (None, None) } else { (under.platform, under.machine) };
        Self {
            platform: self.platform.or(below.0),
            governor: self.governor.or(under.governor),
            inputs: self.inputs.or(under.inputs),
            made: self.made.or(under.made),
            machine: self.machine.or(below.1),
            counters: if self.counters.is_empty() { under.counters } else { self.counters },
        }
    }

    /// What it says, in words; nothing where it says nothing.
    pub(crate) fn what(&self) -> Option<String> {
        let all = [
            ("machine", self.platform.is_some() || self.machine.is_some()),
            ("governor", self.governor.is_some()),
            ("counters", !self.counters.is_empty()),
            ("how it was made", self.made.is_some()),
        ];
        let there: Vec<&str> = all.iter().filter(|(_, there)| *there).map(|(what, _)| *what).collect();
        (!there.is_empty()).then(|| there.join(", "))
    }

    pub(crate) fn to_text(&self) -> Result<String, CommandError> {
        // It was read of such a text.
        let text = toml::to_string(self);
        let Ok(text) = text else { unreachable!("a side-car that was read cannot be written: {text:?}") };
        Ok(format!("# SPDX-License-Identifier: GPL-2.0-only\n{text}"))
    }

    /// The kernel's counters that it holds.
    pub(crate) fn looks(&self, path: &Path) -> Option<CounterSnapshots> {
        if self.counters.is_empty() {
            return None;
        }
        let look = |i: usize| {
            let at_ns = self.counters.iter().filter_map(|c| Some((c.cpu, *c.at_ns.get(i)?))).collect();
            let cpus = self.counters.iter().map(|c| (c.cpu, c.states(i))).collect();
            (at_ns, SysfsCounters { cpus })
        };
        Some(CounterSnapshots { name: path.to_owned(), before: look(0), after: look(1) })
    }
}

impl<M: Serialize> Sidecar<M> {
    /// The text of one that describes its machine itself; `looks` are the kernel's counters before and after.
    pub fn text(
        governor: Option<String>,
        inputs: Option<InputsBeside>,
        made: M,
        machine: Option<&Platform>,
        looks: &CounterSnapshots,
    ) -> Result<String, CommandError> {
        let wrong = |e: &dyn std::fmt::Display| CommandError::Description(e.to_string());
        let machine =
            machine.map(|m| m.to_toml().parse::<toml::Table>()).transpose().map_err(|e| wrong(&e))?;
        let (before, after) = (&looks.before, &looks.after);
        let counters = before.1.cpus.iter().filter_map(|(cpu, old)| {
            let new = after.1.cpus.get(cpu)?;
            CpuCounters::new(*cpu, [*before.0.get(cpu)?, *after.0.get(cpu)?], [old, new])
        });
        let (platform, made, counters) = (None, Some(made), counters.collect());
        let it = Self { platform, governor, inputs, made, machine, counters };
        let text = toml::to_string(&it).map_err(|e| wrong(&e))?;
        Ok(format!("# SPDX-License-Identifier: GPL-2.0-only\n{text}"))
    }
}

impl CpuCounters {
    /// Nothing for a CPU without idle states, or without their usage and times.
    fn new(cpu: u32, at_ns: [u64; 2], looks: [&Vec<StateCounters>; 2]) -> Option<Self> {
        let some = |get: &dyn Fn(&StateCounters) -> Option<u64>| {
            let [before, after] = looks.map(|look| look.iter().map(get).collect::<Option<Vec<u64>>>());
            Some([before?, after?])
        };
        let it = Self {
            cpu,
            at_ns,
            usage: some(&|s| s.usage)?,
            time_us: some(&|s| s.time_us)?,
            above: some(&|s| s.above),
            below: some(&|s| s.below),
            rejected: some(&|s| s.rejected),
            disable: some(&|s| s.disable),
        };
        (!looks[0].is_empty()).then_some(it)
    }

    /// Which list does not tell of as many states as the first.
    fn uneven(&self) -> Option<String> {
        let states = self.usage[0].len();
        let other = |(name, list): (&str, Option<&[Vec<u64>; 2]>)| {
            let n = list?.iter().map(Vec::len).find(|n| *n != states)?;
            Some(format!("has {states} idle states by the first list of usage, {n} by {name}"))
        };
        let disable = ("disable", self.disable.as_ref());
        self.counts().into_iter().chain([disable]).find_map(other)
    }

    /// What no kernel counts: a number that is too large. A smaller one after than before is counted since the CPU came online.
    fn impossible(&self) -> Option<String> {
        let [from_ns, to_ns] = self.at_ns;
        if to_ns < from_ns {
            return Some(format!("has at_ns that goes back from {from_ns} to {to_ns}"));
        }
        let wrong = |(name, list): (&str, Option<&[Vec<u64>; 2]>)| {
            let [before, after] = list?;
            let mut both = before.iter().zip(after).enumerate();
            both.find_map(|(state, (old, new))| {
                let n = *old.max(new);
                let words = format!("has {n} in {name} of state {state}; expected {COUNTER_MAX} at most");
                (n > COUNTER_MAX).then_some(words)
            })
        };
        self.counts().into_iter().find_map(wrong)
    }

    /// All that only grows, by its name.
    fn counts(&self) -> [(&str, Option<&[Vec<u64>; 2]>); 5] {
        [
            ("usage", Some(&self.usage)),
            ("time_us", Some(&self.time_us)),
            ("above", self.above.as_ref()),
            ("below", self.below.as_ref()),
            ("rejected", self.rejected.as_ref()),
        ]
    }

    /// The states of the look number `i`.
    fn states(&self, i: usize) -> Vec<StateCounters> {
        let at = |list: &[Vec<u64>; 2], state: usize| list.get(i)?.get(state).copied();
        let of = |list: &Option<[Vec<u64>; 2]>, state: usize| list.as_ref().and_then(|l| at(l, state));
        let states = self.usage.get(i).map_or(0, Vec::len);
        let state = |s: usize| StateCounters {
            usage: at(&self.usage, s),
            time_us: at(&self.time_us, s),
            above: of(&self.above, s),
            below: of(&self.below, s),
            rejected: of(&self.rejected, s),
            disable: of(&self.disable, s),
            ..StateCounters::default()
        };
        (0..states).map(state).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;

    #[test]
    fn what_is_written_is_read_again() {
        let machine = idlewise_platform::find("kvm-guest").unwrap();
        let state = |usage, above| StateCounters {
            usage: Some(usage),
            time_us: Some(usage * 7),
            above,
            ..StateCounters::default()
        };
        let look = |n: u64, above| {
            let states = vec![state(n, above), state(2 * n, above)];
            (BTreeMap::from([(3, 1000 * n)]), SysfsCounters { cpus: BTreeMap::from([(3, states)]) })
        };
        for above in [None, Some(4)] {
            let looks =
                CounterSnapshots { name: "x.toml".into(), before: look(5, above), after: look(9, above) };
            let made = BTreeMap::from([("kernel", "6.18")]);
            let inputs = above.map(|_| InputsBeside { file: "x.inputs.csv".into(), unproven: None });
            let text =
                Sidecar::text(Some("menu".into()), inputs.clone(), made, Some(&machine), &looks).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.toml");
            fs::write(&path, &text).unwrap();
            let read = Sidecar::read(&path).unwrap().unwrap();
            assert_eq!(read.governor.as_deref(), Some("menu"));
            let there = inputs.map(|i| InputsBeside { file: folder.path().join("x.inputs.csv"), ..i });
            assert_eq!(read.inputs(&path), there);
            let again = read.machine("x.toml").unwrap().unwrap();
            assert!(again.clusters.iter().zip(&machine.clusters).all(|(a, b)| a.table == b.table), "{text}");
            assert_eq!(again.hz, machine.hz);
            assert_eq!(read.looks(Path::new("x.toml")), Some(looks), "{text}");
        }
    }
    #[test]
    fn counters_that_do_not_fit_each_other_are_refused_with_their_place() {
        let counters = |cpu: u32, usage: &str, more: &str| {
            format!(
                "[[counters]]\ncpu = {cpu}\nat_ns = [1, 2]\nusage = {usage}\ntime_us = [[7, 8], [9, 10]]\n{more}"
            )
        };
        let fine = counters(3, "[[1, 2], [3, 4]]", "below = [[1, 2], [3, 4]]\n");
        assert!(Sidecar::<toml::Value>::parse(&fine, "x").is_ok());
        // CPU 3 went offline and came online.
        assert!(Sidecar::<toml::Value>::parse(&counters(3, "[[1, 2], [3, 1]]", ""), "x").is_ok());
        for (text, why) in [
            (
                counters(3, "[[1, 2], [3]]", ""),
                "CPU 3 has 2 idle states by the first list of usage, 1 by usage",
            ),
            (counters(4, "[[1], [3]]", ""), "2 by time_us"),
            (counters(5, "[[1, 2], [3, 4]]", "rejected = [[1, 2], [3, 4, 5]]\n"), "3 by rejected"),
            (
                counters(6, "[[1, 2], [3, 1125899906842625]]", ""),
                "has 1125899906842625 in usage of state 1; expected",
            ),
            (fine.replace("[1, 2]\n", "[2, 1]\n"), "has at_ns that goes back from 2 to 1"),
            (fine.clone() + &fine, "number 2: CPU 3 has counters already"),
        ] {
            let said = Sidecar::<toml::Value>::parse(&text, "x.dat").unwrap_err().to_string();
            assert!(said.starts_with("x.dat: [[counters]]") && said.contains(why), "{said}");
        }
    }
}
