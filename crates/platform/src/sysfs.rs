// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use crate::PlatformError;

/// The command whose output this module reads, for hints.
pub(crate) const RECORD: &str = "record it with: grep -r . /sys/devices/system/cpu/cpu*/cpuidle";

/// No counter of the kernel is larger: in us, the time since a start that is 35 years ago. The sum of 16383 such counters stays
/// within 64 bits.
pub const COUNTER_MAX: u64 = 1 << 50;

/// What sysfs says about one idle state of one CPU; each file may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SysfsState {
    /// `name`; may hold spaces.
    pub name: Option<String>,
    /// `desc`.
    pub desc: Option<String>,
    /// `latency`, us.
    pub latency_us: Option<u64>,
    /// `residency`, us; 4294967295 where the device tree says "never".
    pub residency_us: Option<u64>,
    /// `disable`: bit 0 by the user, bit 1 by the driver; older kernels write 0 or 1.
    pub disable: Option<u64>,
    /// `default_status` is `disabled`.
    pub disabled_by_default: Option<bool>,
    /// `usage`: entries.
    pub usage: Option<u64>,
    /// `time`: total residency, us.
    pub time_us: Option<u64>,
    /// `above`: entries that were too deep.
    pub above: Option<u64>,
    /// `below`: entries that were too shallow.
    pub below: Option<u64>,
    /// `rejected`: entries that the hardware refused.
    pub rejected: Option<u64>,
    /// `s2idle/usage`.
    pub s2idle_usage: Option<u64>,
    /// `s2idle/time`, us.
    pub s2idle_time_us: Option<u64>,
}

/// One look at `/sys/devices/system/cpu`: what a mail to a list holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SysfsDump {
    /// By CPU, then by state index. `None` stands for paths that name no CPU (`grep` run inside one CPU's folder).
    pub cpus: BTreeMap<Option<u32>, BTreeMap<usize, SysfsState>>,
    /// `cpu_capacity` of each CPU that shows one.
    pub capacity: BTreeMap<u32, u64>,
    /// When each CPU was looked at, ns: `cpuN/at_ns`, which is no file of sysfs but what a careful recorder adds.
    pub at_ns: BTreeMap<u32, u64>,
    pub driver: Option<String>,
    pub governor: Option<String>,
    /// Lines that look like `path:value` but are about something else, or like nothing known.
    pub skipped_lines: usize,
}

impl SysfsDump {
    /// Reads the output of `grep -r . /sys/devices/system/cpu/cpu*/cpuidle` (`path:value`, any leading folders, quoted
    /// in a mail or not), of `head`/`tail` on several files (`==> path <==`, then the value), or `ro|path|value`
    /// lines. Where a path repeats, a new look begins: a file may hold the state before and after a run.
    /// `name` is how errors call the file.
    ///
    /// # Errors
    /// [`PlatformError::Dump`] when no line is about an idle state, or a number is not one.
    pub fn parse(text: &str, name: &str) -> Result<Vec<Self>, PlatformError> {
        let mut looks = vec![Self::default()];
        let mut seen = std::collections::BTreeSet::new();
        let mut header: Option<&str> = None;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start_matches(['>', ' ', '\t']).trim_end();
            if let Some(path) = line.strip_prefix("==> ").and_then(|l| l.strip_suffix(" <==")) {
                header = Some(path);
                continue;
            }
            let Some((path, value)) = header.take().map_or_else(|| split(line), |path| Some((path, line)))
            else {
                if !line.is_empty()
                    && !line.starts_with('#')
                    && let Some(look) = looks.last_mut()
                {
                    look.skipped_lines += 1;
                }
                continue;
            };
            if matches!(key(path), Key::State { .. }) && !seen.insert(path) {
                seen.clear();
                seen.insert(path);
                looks.push(Self::default());
            }
            if let Some(look) = looks.last_mut() {
                look.take(path, value).map_err(|what| PlatformError::Dump {
                    file: format!("{name}:{}", number + 1),
                    what,
                    hint: format!("the line is damaged; {RECORD}"),
                })?;
            }
        }
        looks.retain(|l| !l.cpus.is_empty());
        if looks.is_empty() {
            let what = if text.trim().is_empty() {
                "the file is empty"
            } else {
                "no line is about an idle state (expected lines such as .../cpu0/cpuidle/state1/latency:10)"
            };
            let (what, hint) = (what.to_string(), RECORD.to_string());
            return Err(PlatformError::Dump { file: name.to_string(), what, hint });
        }
        Ok(looks)
    }

    /// Takes one file's value. The error says what is wrong with it.
    pub(crate) fn take(&mut self, path: &str, value: &str) -> Result<(), String> {
        let value = value.trim();
        match key(path) {
            Key::State { cpu, state, file } => {
                let s = self.cpus.entry(cpu).or_default().entry(state).or_default();
                let count = || {
                    value.parse::<u64>().map(Some).map_err(|_| {
                        let whose = cpu.map_or(String::new(), |c| format!("cpu{c} "));
                        format!("{whose}state{state}/{file} is {value:?}, expected a whole number")
                    })
                };
                let counter = || match count()? {
                    Some(n) if n > COUNTER_MAX => {
                        let whose = cpu.map_or(String::new(), |c| format!("cpu{c} "));
                        Err(format!("{whose}state{state}/{file} is {n}, expected {COUNTER_MAX} at most"))
                    }
                    n => Ok(n),
                };
                match file {
                    "name" => s.name = Some(value.to_string()),
                    "desc" => s.desc = Some(value.to_string()),
                    "latency" => s.latency_us = count()?,
                    "residency" => s.residency_us = count()?,
                    "disable" => s.disable = count()?,
                    "default_status" => s.disabled_by_default = Some(value == "disabled"),
                    "usage" => s.usage = counter()?,
                    "time" => s.time_us = counter()?,
                    "above" => s.above = counter()?,
                    "below" => s.below = counter()?,
                    "rejected" => s.rejected = counter()?,
                    "s2idle/usage" => s.s2idle_usage = counter()?,
                    "s2idle/time" => s.s2idle_time_us = counter()?,
                    // `power` is 0 or all ones on every driver of today; others are newer than we are.
                    _ => {}
                }
            }
            Key::Capacity(cpu) => {
                if let Ok(capacity) = value.parse() {
                    self.capacity.insert(cpu, capacity);
                }
            }
            Key::At(cpu) => {
                let at_ns = value.parse().map_err(|_| format!("cpu{cpu}/at_ns is {value:?}, expected ns"))?;
                self.at_ns.insert(cpu, at_ns);
            }
            Key::Driver => self.driver = Some(value.to_string()),
            Key::Governor => self.governor = Some(value.to_string()),
            Key::Other => self.skipped_lines += 1,
        }
        Ok(())
    }
}

/// What a path is about.
enum Key<'a> {
    State { cpu: Option<u32>, state: usize, file: &'a str },
    Capacity(u32),
    At(u32),
    Driver,
    Governor,
    Other,
}

fn key(path: &str) -> Key<'_> {
    let mut cpu = None;
    let mut offset = 0;
    for part in path.split('/') {
        let rest = path.get(offset + part.len() + 1..).unwrap_or_default();
        if let Some(n) = numbered(part, "cpu") {
            cpu = u32::try_from(n).ok();
        } else if let Some(state) = numbered(part, "state") {
            let file_ok = !rest.is_empty() && rest.split('/').count() <= 2;
            return if file_ok && path_is_cpuidle(path, offset) {
                Key::State { cpu, state, file: rest }
            } else {
                Key::Other
            };
        } else if part == "cpu_capacity"
            && rest.is_empty()
            && let Some(cpu) = cpu
        {
            return Key::Capacity(cpu);
        } else if part == "at_ns"
            && rest.is_empty()
            && let Some(cpu) = cpu
        {
            return Key::At(cpu);
        }
        offset += part.len() + 1;
    }
    match path.rsplit_once('/').map_or(path, |(_, last)| last) {
        "current_driver" => Key::Driver,
        "name" if path.ends_with("cpuidle/driver/name") => Key::Driver,
        "current_governor" | "current_governor_ro" => Key::Governor,
        _ => Key::Other,
    }
}

/// `stateN` counts below `cpuidle/`, or at the start of a relative path; other parts of sysfs have states too.
fn path_is_cpuidle(path: &str, offset: usize) -> bool {
    let before = path.get(..offset).unwrap_or_default();
    before.is_empty() || before == "./" || before.ends_with("cpuidle/")
}

fn numbered(part: &str, word: &str) -> Option<usize> {
    let digits = part.strip_prefix(word)?;
    if digits.starts_with(|c: char| c.is_ascii_digit()) { digits.parse().ok() } else { None }
}

fn split(line: &str) -> Option<(&str, &str)> {
    if let Some(rest) = line.strip_prefix("ro|").or_else(|| line.strip_prefix("rw|")) {
        return rest.split_once('|');
    }
    let (first, rest) = line.split_once(':')?;
    // `grep` over saved files puts their name first.
    if !first.contains('/')
        && let Some((path, value)) = rest.split_once(':')
        && path.starts_with('/')
    {
        return Some((path, value));
    }
    first.contains('/').then_some((first, rest))
}
