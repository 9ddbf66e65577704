// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use crate::pasted::{FORMS, plain, unread};
use crate::{COUNTER_MAX, PlatformError, SysfsDump, SysfsState};

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

/// The bare values of `cat`, assigned to CPUs and states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatDump {
    /// Each part of the text that stands by itself, by CPU in the order of the text, which names none.
    pub parts: Vec<Vec<BTreeMap<usize, SysfsState>>>,
    /// Lines that belong to no state.
    pub foreign_lines: usize,
}

impl CatDump {
    /// Reads `cat state*/*`, of one CPU or of several one after the other, quoted in a mail or not. A CPU begins where a
    /// state's name is there again, a part where something else stands between. `name` is how errors call the file.
    /// Only places tell values apart, so numbers that belong to no state are not passed over.
    ///
    /// # Errors
    /// [`PlatformError::Dump`] when no lines make a state, or numbers are left.
    pub fn parse(text: &str, name: &str) -> Result<Self, PlatformError> {
        let text = &*plain(text);
        // The shell's complaint about the folder s2idle stands in the middle of a state.
        let lines = text.lines().map(bare).filter(|l| !l.starts_with("cat: "));
        let lines: Vec<&str> = lines.collect();
        let mut best = Fit::default();
        for layout in LAYOUTS {
            let fit = Fit::new(&lines, layout);
            if fit.taken > best.taken {
                best = fit;
            }
        }
        let Fit { taken, strays, dump } = best;
        let cpus: usize = dump.parts.iter().map(Vec::len).sum();
        if taken > 0 && strays > 0 {
            return Err(PlatformError::Dump {
                file: name.to_string(),
                what: format!(
                    "{strays} numbers belong to no state: a line is missing, or the kernel has other files"
                ),
                hint: format!("bare values are ambiguous then; {}", crate::sysfs::RECORD),
            });
        }
        if let Some((what, hint)) = unread(text).filter(|_| taken == 0) {
            return Err(PlatformError::Dump {
                file: name.to_string(),
                what: what.to_owned(),
                hint: hint.to_owned(),
            });
        }
        if taken == 0 || cpus > CPUS_MAX {
            return Err(PlatformError::Dump {
                file: name.to_string(),
                what: format!("in none of the forms that are read: {FORMS}"),
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

/// What lines are by one of the layouts.
#[derive(Default)]
struct Fit {
    /// Lines that make states.
    taken: usize,
    /// Numbers that do not.
    strays: usize,
    dump: CatDump,
}

impl Fit {
    fn new(lines: &[&str], layout: &[&str]) -> Self {
        let mut fit = Self::default();
        let (mut at, mut apart) = (0, true);
        while let Some(line) = lines.get(at) {
            let record = lines.get(at..at + layout.len()).and_then(|values| state(values, layout));
            let Some(state) = record else {
                fit.dump.foreign_lines += usize::from(!line.is_empty());
                fit.strays += usize::from(line.parse::<u64>().is_ok());
                apart = true;
                at += 1;
                continue;
            };
            fit.dump.take(state, std::mem::take(&mut apart));
            at += layout.len();
            fit.taken += layout.len();
        }
        fit
    }
}

impl CatDump {
    fn take(&mut self, state: SysfsState, apart: bool) {
        if apart {
            self.parts.push(Vec::new());
        }
        let Some(cpus) = self.parts.last_mut() else { return };
        let again = |states: &BTreeMap<usize, SysfsState>| states.values().any(|s| s.name == state.name);
        match cpus.last_mut() {
            Some(states) if !again(states) => {
                states.insert(states.len(), state);
            }
            _ => cpus.push(BTreeMap::from([(0, state)])),
        }
    }
}

/// One state, where every value is of its file's kind.
fn state(values: &[&str], layout: &[&str]) -> Option<SysfsState> {
    let mut s = SysfsState::default();
    for (value, file) in values.iter().zip(layout) {
        let count = || value.parse::<u64>().ok();
        let counter = || count().filter(|n| *n <= COUNTER_MAX);
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
            "usage" => s.usage = Some(counter()?),
            "time" => s.time_us = Some(counter()?),
            "above" => s.above = Some(counter()?),
            "below" => s.below = Some(counter()?),
            "rejected" => s.rejected = Some(counter()?),
            _ => {
                count()?;
            }
        }
    }
    Some(s)
}
