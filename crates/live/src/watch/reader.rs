// SPDX-License-Identifier: GPL-2.0-only
//! The files that are read at every look.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use idlewise_platform::{StateCounters, SysfsState};

use crate::Host;
use crate::files::{cpu_numbers, line, names, number};

/// A step of `/proc/stat`, us: `USER_HZ` is 100 wherever Linux still runs.
const STAT_STEP_US: u64 = 10_000;

/// The counters of one CPU's states.
#[derive(Debug)]
pub(super) struct CpuFiles(Vec<StateFiles>);

#[derive(Debug)]
struct StateFiles {
    usage: PathBuf,
    time: PathBuf,
    disable: PathBuf,
    /// Those that older kernels lack.
    above: Option<PathBuf>,
    below: Option<PathBuf>,
    rejected: Option<PathBuf>,
}

impl CpuFiles {
    pub(super) fn new(host: &Host, cpu: u32, states: &BTreeMap<usize, SysfsState>) -> Self {
        let base = host.sys.join(format!("devices/system/cpu/cpu{cpu}/cpuidle"));
        let files = |(index, s): (&usize, &SysfsState)| {
            let at = |file: &str| base.join(format!("state{index}")).join(file);
            let there = |value: Option<u64>, file: &str| value.map(|_| at(file));
            StateFiles {
                usage: at("usage"),
                time: at("time"),
                disable: at("disable"),
                above: there(s.above, "above"),
                below: there(s.below, "below"),
                rejected: there(s.rejected, "rejected"),
            }
        };
        Self(states.iter().map(files).collect())
    }

    /// `None` when the CPU is gone.
    pub(super) fn read(&self) -> Option<Vec<StateCounters>> {
        let state = |f: &StateFiles| {
            let some = |path: &Option<PathBuf>| path.as_deref().and_then(number);
            Some(StateCounters {
                usage: Some(number(&f.usage)?),
                time_us: Some(number(&f.time)?),
                disable: number(&f.disable),
                above: some(&f.above),
                below: some(&f.below),
                rejected: some(&f.rejected),
                s2idle_usage: None,
                s2idle_time_us: None,
            })
        };
        self.0.iter().map(state).collect()
    }
}

/// What tells that CPUs came or went: the list of those online, and the folders.
pub(super) fn shape(host: &Host) -> (String, Vec<String>) {
    let base = host.sys.join("devices/system/cpu");
    let mut folders = names(&base);
    folders.retain(|n| n.starts_with("cpu"));
    (line(&base.join("online")).unwrap_or_default(), folders)
}

/// The CPUs that are online; `None` where the machine does not say, and all that can be read are.
pub(super) fn online(list: &str) -> Option<BTreeSet<u32>> {
    (!list.is_empty()).then(|| cpu_numbers(list).into_iter().collect())
}

/// The governor in charge: kernels before 5.8 show it under another name where it cannot be changed.
pub(super) fn governor(host: &Host) -> String {
    let base = host.sys.join("devices/system/cpu/cpuidle");
    ["current_governor", "current_governor_ro"].iter().find_map(|f| line(&base.join(f))).unwrap_or_default()
}

pub(super) fn release(host: &Host) -> String {
    line(&host.proc.join("sys/kernel/osrelease")).unwrap_or_default()
}

/// Time idle or waiting for I/O, by CPU: fields 4 and 5 of the `cpuN` lines (proc_stat(5)).
pub(super) fn idle_us(host: &Host) -> BTreeMap<u32, u64> {
    let text = idlewise_files::read_to_string(&host.proc.join("stat")).unwrap_or_default();
    let cpu = |l: &str| {
        let mut fields = l.strip_prefix("cpu")?.split_whitespace();
        let cpu = fields.next()?.parse().ok()?;
        let steps = fields.skip(3).take(2).map_while(|f| f.parse::<u64>().ok()).fold(0, u64::saturating_add);
        Some((cpu, steps.saturating_mul(STAT_STEP_US)))
    };
    // Other lines of that file are long, and do not begin like that.
    text.lines()
        .take_while(|l| l.starts_with("cpu"))
        .filter(|l| !l.starts_with("cpu "))
        .filter_map(cpu)
        .collect()
}
