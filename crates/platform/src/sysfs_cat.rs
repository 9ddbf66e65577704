// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use crate::{PlatformError, SysfsDump, SysfsState};

/// What `cat state*/*` prints of one state, by kernel: the files in the order in which a shell sorts them. `s2idle` is a
/// folder, which `cat` passes over. Newest first. From the kernel's ABI description (sysfs-devices-system-cpu):
/// `rejected` came with 5.10, `default_status` with 5.6, `above` and `below` with 5.0, `residency` with 3.15.
const LAYOUTS: [&[&str]; 5] = [
    &[
        "above",
        "below",
        "default_status",
        "desc",
        "disable",
        "latency",
        "name",
        "power",
        "rejected",
        "residency",
        "time",
        "usage",
    ],
    &[
        "above",
        "below",
        "default_status",
        "desc",
        "disable",
        "latency",
        "name",
        "power",
        "residency",
        "time",
        "usage",
    ],
    &["above", "below", "desc", "disable", "latency", "name", "power", "residency", "time", "usage"],
    &["desc", "disable", "latency", "name", "power", "residency", "time", "usage"],
    &["desc", "disable", "latency", "name", "power", "time", "usage"],
];

/// More CPUs than any kernel has; a file that holds more is not about a machine.
const CPUS_MAX: usize = 65_536;

/// The bare values of `cat`, put back to CPUs and states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatDump {
    /// Each part of the text that stands by itself, by CPU in the order of the text, which names none.
    pub parts: Vec<Vec<BTreeMap<usize, SysfsState>>>,
    /// Lines that belong to no state.
    pub foreign_lines: usize,
}

impl CatDump {
    /// Reads `cat state*/*`, of one CPU or of several one after the other, quoted in a mail or not. A CPU begins where a
    /// state's name is there again, a part where something else stands between. `name` is how errors call the file.
    ///
    /// # Errors
    /// [`PlatformError::Dump`] when no lines make a state.
    pub fn parse(text: &str, name: &str) -> Result<Self, PlatformError> {
        let lines: Vec<&str> = text.lines().map(bare).collect();
        let mut best = (0, Self { parts: Vec::new(), foreign_lines: 0 });
        for layout in LAYOUTS {
            let (taken, dump) = with_layout(&lines, layout);
            if taken > best.0 {
                best = (taken, dump);
            }
        }
        let (taken, dump) = best;
        let cpus: usize = dump.parts.iter().map(Vec::len).sum();
        if taken == 0 || cpus > CPUS_MAX {
            return Err(PlatformError::Dump {
                file: name.to_string(),
                what: "neither path:value lines nor the values of `cat state*/*` (12 a state since Linux 5.10, 11, 10, 8 or \
                       7 before)"
                    .to_string(),
                hint: crate::sysfs::RECORD.to_string(),
            });
        }
        Ok(dump)
    }

    /// The parts together as one look: the CPUs are `numbers`, in the order of the text.
    #[must_use]
    pub fn look(parts: &[Vec<BTreeMap<usize, SysfsState>>], numbers: &[Option<u32>]) -> SysfsDump {
        let states = parts.iter().flatten().cloned();
        SysfsDump { cpus: numbers.iter().copied().zip(states).collect(), ..SysfsDump::default() }
    }

    /// The numbers of `count` CPUs in the order of `cat cpu*/...`: a shell sorts cpu0, cpu1, cpu10, cpu11, cpu2. A single
    /// one may be any and has no number.
    #[must_use]
    pub fn shell_order(count: usize) -> Vec<Option<u32>> {
        if count == 1 {
            return vec![None];
        }
        let mut numbers: Vec<u32> = (0..u32::try_from(count).unwrap_or(u32::MAX)).collect();
        numbers.sort_by_key(u32::to_string);
        numbers.into_iter().map(Some).collect()
    }
}

/// A line without a mail's quotation marks. An empty one stays one: it may separate.
fn bare(line: &str) -> &str {
    line.trim_start_matches(['>', ' ', '\t']).trim_end()
}

/// How many lines make states of this layout, and these.
fn with_layout(lines: &[&str], layout: &[&str]) -> (usize, CatDump) {
    let mut dump = CatDump { parts: Vec::new(), foreign_lines: 0 };
    let (mut taken, mut at, mut apart) = (0, 0, true);
    while at < lines.len() {
        let record = lines.get(at..at + layout.len()).and_then(|values| state(values, layout));
        let Some(state) = record else {
            let line = lines.get(at).copied().unwrap_or_default();
            // The shell's complaint about the folder s2idle stands in the middle of states.
            let complaint = line.starts_with("cat: ");
            dump.foreign_lines += usize::from(!line.is_empty() && !complaint);
            apart |= !complaint;
            at += 1;
            continue;
        };
        if std::mem::take(&mut apart) {
            dump.parts.push(Vec::new());
        }
        if let Some(cpus) = dump.parts.last_mut() {
            let again = |states: &BTreeMap<usize, SysfsState>| states.values().any(|s| s.name == state.name);
            match cpus.last_mut() {
                Some(states) if !again(states) => {
                    states.insert(states.len(), state);
                }
                _ => cpus.push(BTreeMap::from([(0, state)])),
            }
        }
        at += layout.len();
        taken += layout.len();
    }
    (taken, dump)
}

/// One state, where every value is of its file's kind.
fn state(values: &[&str], layout: &[&str]) -> Option<SysfsState> {
    let mut s = SysfsState::default();
    for (value, file) in values.iter().zip(layout) {
        let count = || value.parse::<u64>().ok();
        // A text that is a number is a line too early or too late.
        let text = || (!value.is_empty() && count().is_none()).then(|| (*value).to_string());
        match *file {
            "name" => s.name = Some(text()?),
            "desc" => s.desc = Some(text()?),
            "default_status" if *value == "enabled" => s.disabled_by_default = Some(false),
            "default_status" if *value == "disabled" => s.disabled_by_default = Some(true),
            "default_status" => return None,
            "latency" => s.latency_us = Some(count()?),
            "residency" => s.residency_us = Some(count()?),
            "disable" => s.disable = Some(count()?),
            "usage" => s.usage = Some(count()?),
            "time" => s.time_us = Some(count()?),
            "above" => s.above = Some(count()?),
            "below" => s.below = Some(count()?),
            "rejected" => s.rejected = Some(count()?),
            _ => {
                count()?;
            }
        }
    }
    Some(s)
}
