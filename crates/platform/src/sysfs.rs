// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use crate::dump_origin::DumpOrigin;
use crate::sysfs_line::{Key, key, number};
use crate::{IdleLog, LoggedState, PlatformError};

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

/// One snapshot of `/sys/devices/system/cpu`: what a mail to a list holds.
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
    /// What stands before the paths, or around them: which machine, and which of its snapshots.
    pub origin: DumpOrigin,
    /// The source names states and does not number them: numbers are places in it.
    pub unnumbered: bool,
    /// Values that are not what their files hold, which are left out.
    pub damaged: Vec<DamagedValue>,
    /// How many states each CPU has, where the text announces it.
    pub announced: BTreeMap<Option<u32>, usize>,
    /// What the text holds in another form, too, which is not read.
    pub left_out: Option<&'static str>,
    /// The text ends within the states of this CPU.
    pub cut: Option<u32>,
    /// The text ends without the end of a line, in a value of this CPU.
    pub open_end: Option<u32>,
    /// Lines that look like `path:value` but are about something else, or like nothing known.
    pub skipped_lines: usize,
}

/// A value of a dump that is not what its file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedValue {
    /// `FILE:LINE`.
    pub place: String,
    /// What it is and what was expected.
    pub what: String,
}

impl SysfsDump {
    /// Reads what a text shows of idle states, be it too little for a platform: a dump, or the log of a tool, which names
    /// states.
    ///
    /// # Errors
    /// As [`SysfsDump::parse`].
    pub fn of_any(text: &str, name: &str) -> Result<Self, PlatformError> {
        let why = match Self::parse(text, name) {
            Ok(dumps) => return Ok(dumps.into_iter().next().unwrap_or_default()),
            Err(why) => why,
        };
        let log = IdleLog::parse(text, name)?.ok_or(why)?;
        let states = |states: &Vec<LoggedState>| {
            let state = |s: &LoggedState| SysfsState { name: Some(s.name.clone()), ..SysfsState::default() };
            states.iter().map(state).enumerate().collect()
        };
        let cpus = log.intervals.first().map(|i| &i.cpus).into_iter().flatten();
        Ok(Self {
            cpus: cpus.map(|(cpu, s)| (*cpu, states(s))).collect(),
            unnumbered: true,
            ..Self::default()
        })
    }

    /// Leaves out the CPU within which the text ends, if there are others, and says so.
    pub fn leave_out_the_end(&mut self) -> Option<String> {
        let cpu = self.cut?;
        if self.cpus.len() == 1 {
            return Some(format!("the text ends within cpu{cpu}"));
        }
        self.cpus.remove(&Some(cpu));
        Some(format!("the text ends within cpu{cpu}, which is left out"))
    }

    /// Takes one file's value. The error says what is wrong with it.
    pub(crate) fn take(&mut self, path: &str, value: &str) -> Result<(), String> {
        let value = value.trim();
        match key(path) {
            Key::State { cpu, state, file } => {
                let s = self.cpus.entry(cpu).or_default().entry(state).or_default();
                s.take(file, value).map_err(|why| {
                    let whose = cpu.map_or(String::new(), |c| format!("cpu{c} "));
                    format!("{whose}state{state}/{file} is {why}")
                })?;
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
            Key::EachState { .. } | Key::Other => self.skipped_lines += 1,
        }
        Ok(())
    }
}

impl SysfsState {
    /// How many of its numbers are known.
    pub(crate) fn numbers(&self) -> usize {
        let numbers = [
            self.latency_us,
            self.residency_us,
            self.disable,
            self.usage,
            self.time_us,
            self.above,
            self.below,
            self.rejected,
            self.s2idle_usage,
            self.s2idle_time_us,
        ];
        numbers.iter().flatten().count()
    }

    /// Takes the value of one of its files. The error says what the value is and what was expected.
    pub(crate) fn take(&mut self, file: &str, value: &str) -> Result<(), String> {
        let count = || number(value).map(Some).ok_or_else(|| format!("{value:?}, expected a whole number"));
        let counter = || match count()? {
            Some(n) if n > COUNTER_MAX => Err(format!("{n}, expected {COUNTER_MAX} at most")),
            n => Ok(n),
        };
        match file {
            "name" => self.name = Some(value.to_string()),
            "desc" => self.desc = Some(value.to_string()),
            "latency" => self.latency_us = count()?,
            "residency" => self.residency_us = count()?,
            "disable" => self.disable = count()?,
            "default_status" => self.disabled_by_default = Some(value == "disabled"),
            "usage" => self.usage = counter()?,
            "time" => self.time_us = counter()?,
            "above" => self.above = counter()?,
            "below" => self.below = counter()?,
            "rejected" => self.rejected = counter()?,
            "s2idle/usage" => self.s2idle_usage = counter()?,
            "s2idle/time" => self.s2idle_time_us = counter()?,
            // `power` is 0 or all ones on every driver of today; others are newer than we are.
            _ => {}
        }
        Ok(())
    }
}
