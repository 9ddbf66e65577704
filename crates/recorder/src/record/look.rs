// SPDX-License-Identifier: GPL-2.0-only
//! A look at every CPU's own counters, taken by a task that runs on that CPU: so the CPU is awake, its state is known to the
//! trace, and every idle stay is on one side of the look.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use idlewise_model::{Note, NoteId};
use idlewise_platform::{SysfsCounters, SysfsDump, cpu_list, cpu_ranges};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use idlewise_live::Host;

/// What the kernel had counted, CPU by CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuCounters {
    /// When each CPU was looked at, ns on CLOCK_MONOTONIC, which is the trace's clock.
    pub at_ns: BTreeMap<u32, u64>,
    /// By CPU and state. Empty where the kernel has no idle states.
    pub counters: SysfsCounters,
    /// CPUs that we may not run on: their counters were read from elsewhere, and they may have slept meanwhile.
    pub not_visited: Vec<u32>,
}

impl CpuCounters {
    /// Visits the CPUs one after the other.
    #[must_use]
    pub fn take(host: &Host, cpus: &[u32]) -> Self {
        let mut look = Self::default();
        let home = sched_getaffinity(None);
        for &cpu in cpus {
            let mut only = CpuSet::new();
            let there = usize::try_from(cpu).ok().filter(|c| *c < CpuSet::MAX_CPU).is_some_and(|c| {
                only.set(c);
                sched_setaffinity(None, &only).is_ok()
            });
            if !there {
                look.not_visited.push(cpu);
            }
            look.at_ns.insert(cpu, now_ns());
            if let Ok(dump) = SysfsDump::read_cpu(&host.sys, cpu) {
                look.counters.cpus.extend(dump.counters().cpus);
            }
        }
        if let Ok(home) = home {
            // Where the CPUs that we came from are gone, the kernel has found others.
            let _ = sched_setaffinity(None, &home);
        }
        look
    }
}

pub(crate) fn monotonic() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// The same in ns.
pub fn now_ns() -> u64 {
    u64::try_from(monotonic().as_nanos()).unwrap_or(u64::MAX)
}

/// The CPUs that are online.
pub fn online(host: &Host) -> Vec<u32> {
    let text = fs::read_to_string(host.sys.join("devices/system/cpu/online")).unwrap_or_default();
    known_cpus(&text)
}

/// What to know of CPUs that the machine has and that were not recorded throughout; `before` were online when it began.
pub(super) fn offline(host: &Host, before: &[u32]) -> Vec<Note> {
    let present = fs::read_to_string(host.sys.join("devices/system/cpu/present")).unwrap_or_default();
    let now = online(host);
    let at_once: Vec<u32> = known_cpus(&present).into_iter().filter(|c| !before.contains(c)).collect();
    let (came, away): (Vec<u32>, Vec<u32>) = at_once.into_iter().partition(|c| now.contains(c));
    let went: Vec<u32> = before.iter().copied().filter(|c| !now.contains(c)).collect();
    let cases = [
        (away, "was offline: nothing of it is recorded", "were offline: nothing of them is recorded"),
        (
            went,
            "went offline meanwhile: it is recorded until then",
            "went offline meanwhile: they are recorded until then",
        ),
        (
            came,
            "came online meanwhile: its idle state at the start is not known",
            "came online meanwhile: their idle states at the start are not known",
        ),
    ];
    let note = |(cpus, one, several): (Vec<u32>, &str, &str)| {
        let words = match cpus.as_slice() {
            [] => return None,
            [cpu] => format!("CPU {cpu} {one}"),
            all => format!("CPUs {} {several}", cpu_list(all)),
        };
        Some(NoteId::CpusChanged.note(words))
    };
    cases.into_iter().filter_map(note).collect()
}

/// A kernel's list of CPUs. Parts that are no CPUs are left out: what is wrong in it must not keep a recording from being made.
fn known_cpus(text: &str) -> Vec<u32> {
    cpu_ranges(text).flatten().flatten().collect()
}
