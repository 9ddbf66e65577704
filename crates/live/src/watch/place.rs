// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs belong together.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_platform::{SysfsDump, cpu_list};
use serde::Serialize;

use crate::Host;
use crate::files::{cpu_numbers, line, number};

/// CPUs that belong together: a cluster of a phone, the fast cores of a laptop, a socket, those that share a last-level
/// cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// What it is and its CPUs: `cluster 0-3`, `core 0-7`, `package 0-31`, `L3 0-7`.
    pub name: String,
    pub cpus: Vec<u32>,
    /// Their capacity, 1 to 1024, where the machine tells and they agree.
    pub capacity: Option<u64>,
}

/// The names under which the kernel lists the kinds of cores of a hybrid x86 machine.
const KINDS: [&str; 3] = ["core", "atom", "lowpower"];

/// The parts of a machine. CPUs of different kinds are distinguished first: by the kinds that the kernel names, by capacity;
/// then by clock, where several CPUs share one; machines with neither by package and last-level cache.
pub(super) fn places(host: &Host, dump: &SysfsDump) -> Vec<Place> {
    let base = host.sys.join("devices/system/cpu");
    let cpus: Vec<u32> = dump.cpus.keys().filter_map(|c| *c).collect();
    let of = |cpu: u32, file: &str| base.join(format!("cpu{cpu}")).join(file);
    let kinds: Vec<(&str, Vec<u32>)> = KINDS
        .iter()
        .filter_map(|k| Some((*k, cpu_numbers(&line(&host.sys.join(format!("devices/cpu_{k}/cpus")))?))))
        .collect();
    let kind = |cpu: u32| kinds.iter().find(|(_, cpus)| cpus.contains(&cpu)).map_or("", |(k, _)| k);
    let capacities: BTreeSet<u64> = dump.capacity.values().copied().collect();
    // CPUs of one clock go by the first of them. A clock each, as on most x86, says nothing.
    let clock = |cpu: u32| {
        let shared =
            cpu_numbers(&line(&of(cpu, "cpufreq/related_cpus")).unwrap_or_default().replace(' ', ","));
        shared.iter().min().copied().filter(|_| shared.len() > 1)
    };
    let clocks: BTreeMap<u32, Option<u32>> = cpus.iter().map(|c| (*c, clock(*c))).collect();
    let by_clock = clocks.values().flatten().collect::<BTreeSet<_>>().len() > 1;
    let package = |cpu: u32| number(&of(cpu, "topology/physical_package_id")).unwrap_or(0);
    let cache = |cpu: u32| {
        let shared = line(&of(cpu, "cache/index3/shared_cpu_list")).unwrap_or_default();
        cpu_numbers(&shared).into_iter().min()
    };

    let mut groups: BTreeMap<(u64, &str, u64, Option<u32>), Vec<u32>> = BTreeMap::new();
    let word = if kinds.len() > 1 {
        ""
    } else if capacities.len() > 1 || by_clock {
        "cluster"
    } else {
        "L3"
    };
    for cpu in cpus {
        let key = match word {
            "" => (0, kind(cpu), 0, None),
            "cluster" => {
                let clock = clocks.get(&cpu).copied().flatten();
                (package(cpu), "", dump.capacity.get(&cpu).copied().unwrap_or(0), clock)
            }
            _ => (package(cpu), "", 0, cache(cpu)),
        };
        groups.entry(key).or_default().push(cpu);
    }
    let packages: BTreeSet<u64> = groups.keys().map(|k| k.0).collect();
    let several_in_one = groups.len() > packages.len();
    let mut places: Vec<Place> = groups
        .into_iter()
        .map(|((_, kind, _, _), cpus)| {
            let word = match word {
                "" => kind,
                "L3" if !several_in_one => "package",
                word => word,
            };
            let alike: BTreeSet<Option<u64>> = cpus.iter().map(|c| dump.capacity.get(c).copied()).collect();
            let capacity = alike.first().copied().flatten().filter(|_| alike.len() == 1);
            Place { name: format!("{word} {}", cpu_list(&cpus)).trim_start().to_string(), cpus, capacity }
        })
        .collect();
    places.sort_by_key(|p| p.cpus.first().copied());
    places
}
