// SPDX-License-Identifier: GPL-2.0-only
//! Idle states of a device tree's source: which CPU has which, by the kernel's rules (`Documentation/devicetree/bindings/cpu/
//! idle-states.yaml`, `cpuidle-psci`, `cpuidle-riscv-sbi`).

use std::path::PathBuf;

use idlewise_model::{IdleState, IdleTable};

use crate::device_tree_source::{Node, Tree};
use crate::platform::{NEVER_NS, NEVER_US};
use crate::sysfs_platform::{Kind, described};
use crate::{Flag, Origin, Platform, PlatformError, StateInfo, cpu_list};

/// Properties that only idle states have.
const TIMES: [&str; 4] = ["entry-latency-us", "exit-latency-us", "min-residency-us", "wakeup-latency-us"];
/// No kernel has more states (`CPUIDLE_STATE_MAX`).
const STATES_MAX: usize = 10;
/// No machine's tree has more CPUs.
const CPUS_MAX: usize = 4096;
/// The longest name and description of a state, bytes (`CPUIDLE_NAME_LEN`, `CPUIDLE_DESC_LEN` without the end).
const NAME_MAX: usize = 15;
const DESC_MAX: usize = 31;

impl Platform {
    /// Whether a text is the source of a device tree that may have idle states.
    #[must_use]
    pub fn is_device_tree(text: &str) -> bool {
        text.contains("/dts-v1/")
            || TIMES.iter().any(|t| text.contains(t)) && text.contains('{') && text.contains(';')
    }

    /// The machine that the source of a device tree describes (`.dts`, `.dtsi`): the idle states of its CPUs, with `WFI`
    /// before them, which the kernel's driver adds. A text without CPUs gives one table for a machine of any size.
    ///
    /// # Errors
    /// [`PlatformError::Dump`] when it is no such source, has no idle states, or they make no table.
    pub fn from_device_tree(text: &str, name: &str) -> Result<Self, PlatformError> {
        let bad = |what: String| PlatformError::Dump {
            file: name.to_owned(),
            what,
            hint: "docs/reference/platform-format.md says what is read of a device tree".to_owned(),
        };
        let tree = Tree::parse(text).map_err(bad)?;
        let cpus = tree.nodes().filter(|n| is_cpu(n)).take(CPUS_MAX).collect::<Vec<&Node>>();
        let mut kinds: Vec<(Kind, Vec<u32>)> = Vec::new();
        let mut without = Vec::new();
        let mut notes = Vec::new();
        if cpus.is_empty() {
            let mut states: Vec<&Node> = tree.nodes().filter(|n| is_cpu_state(n)).collect();
            states.sort_by_key(|n| n.number("min-residency-us"));
            kinds.push((kind(&states).map_err(bad)?, vec![0]));
            notes.push(
                "the text has no CPUs: all of its idle states in one table, by their residency".to_owned(),
            );
        }
        for (number, cpu) in cpus.iter().enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let states =
                states_of(&tree, cpu).map_err(|what| bad(format!("CPU {number} ({}): {what}", cpu.name)))?;
            if states.is_empty() {
                without.push(number);
                continue;
            }
            let kind = kind(&states).map_err(|what| bad(format!("CPU {number} ({}): {what}", cpu.name)))?;
            match kinds.iter_mut().find(|(k, _)| *k == kind) {
                Some((_, cpus)) => cpus.push(number),
                None => kinds.push((kind, vec![number])),
            }
        }
        if kinds.iter().all(|(k, _)| k.table.len() < 2) {
            return Err(bad("no idle states (nodes with min-residency-us that CPUs refer to)".to_owned()));
        }
        notes.push("state 0 WFI is not in the tree: the kernel's driver adds it".to_owned());
        if !without.is_empty() {
            let cpus = if without.len() == 1 { "CPU" } else { "CPUs" };
            notes.push(format!("no idle states that are enabled: {cpus} {}", cpu_list(&without)));
        }
        if !cpus.is_empty() {
            notes.push("CPUs are numbered in the order of the tree, as the kernel does from the one that it boots on".to_owned());
        }
        let domains: Vec<&str> = tree
            .nodes()
            .filter(|n| n.is_compatible("domain-idle-state"))
            .map(|n| n.name.as_str())
            .take(8)
            .collect();
        if !domains.is_empty() {
            let words = "states of power domains, which no cpuidle governor chooses";
            notes.push(format!("{words}: {}", domains.join(", ")));
        }
        if kinds.len() > 1 {
            let per_clock = cpus.iter().any(|cpu| cpu.properties.contains_key("capacity-dmips-mhz"));
            let why = if per_clock {
                " (capacity-dmips-mhz is for a clock, whose rate the tree does not have)"
            } else {
                ""
            };
            notes.push(format!("the capacities of the clusters are not known: all taken as 1024{why}"));
        }
        let origin = Origin::File(PathBuf::from(name));
        let hz_note = "a device tree does not say".to_owned();
        described(name, "device tree", origin, hz_note, kinds, cpus.is_empty(), notes)
    }
}

fn is_cpu(node: &Node) -> bool {
    node.text("device_type") == Some("cpu") || node.name == "cpu" && node.properties.contains_key("reg")
}

/// An idle state of a CPU: states of power domains have times, too.
fn is_cpu_state(node: &Node) -> bool {
    TIMES.iter().any(|t| node.properties.contains_key(*t)) && !node.is_compatible("domain-idle-state")
}

/// The idle states of a CPU: those of its first power domain where that has any, else its own.
fn states_of<'a>(tree: &'a Tree, cpu: &'a Node) -> Result<Vec<&'a Node>, String> {
    let domain = cpu.references("power-domains").next().and_then(|label| tree.labelled(label));
    let of_domain =
        domain.map(|d| d.references("domain-idle-states").collect::<Vec<_>>()).unwrap_or_default();
    let labels = if of_domain.is_empty() { cpu.references("cpu-idle-states").collect() } else { of_domain };
    let mut states = Vec::new();
    for label in labels {
        let state =
            tree.labelled(label).ok_or_else(|| format!("&{label} is not in the text (an included file?)"))?;
        if state.text("status").is_none_or(|s| ["okay", "ok"].contains(&s)) {
            states.push(state);
        }
    }
    Ok(states)
}

/// The table of a CPU with these states behind WFI.
fn kind(states: &[&Node]) -> Result<Kind, String> {
    if states.len() >= STATES_MAX {
        return Err(format!("{} idle states, and the kernel has {STATES_MAX} at most", states.len()));
    }
    let wfi = IdleState {
        name: "WFI".to_owned(),
        exit_latency_ns: 1000,
        target_residency_ns: 1000,
        entry_ns: 0,
        polling: false,
        disabled: false,
    };
    let (mut table, mut info) =
        (vec![wfi], vec![StateInfo { desc: "WFI".to_owned(), ..StateInfo::default() }]);
    for node in states {
        let (state, about) = state(node).map_err(|what| format!("{}: {what}", node.name))?;
        table.push(state);
        info.push(about);
    }
    let table = IdleTable::new(table).map_err(|e| e.to_string())?;
    Ok(Kind { table, info, capacity: None })
}

/// The kernel's rule: the exit latency that governors see is `wakeup-latency-us`, or entry and exit together.
fn state(node: &Node) -> Result<(IdleState, StateInfo), String> {
    let us = |property: &str| match node.properties.get(property) {
        None => Ok(None),
        Some(_) => match node.number(property).and_then(|n| i64::try_from(n).ok()).filter(|n| *n <= NEVER_US)
        {
            Some(us) => Ok(Some(us)),
            None => Err(format!("{property} is no number of 32 bits; write an expression as its value")),
        },
    };
    let need = |value: Option<i64>, property: &str| value.ok_or_else(|| format!("no {property}"));
    let (entry, exit, wakeup) = (us("entry-latency-us")?, us("exit-latency-us")?, us("wakeup-latency-us")?);
    let latency = match wakeup {
        Some(us) => us,
        None => need(entry, "entry-latency-us")? + need(exit, "exit-latency-us")?,
    };
    let residency = need(us("min-residency-us")?, "min-residency-us")?;
    let never = residency == NEVER_US;
    let cut = |text: &str, most: usize| {
        text.chars()
            .scan(0, |len, c| {
                *len += c.len_utf8();
                (*len <= most).then_some(c)
            })
            .collect::<String>()
    };
    let mut flags = Vec::new();
    if node.properties.contains_key("local-timer-stop") {
        flags.push(Flag::TimerStop);
    }
    let state = IdleState {
        name: cut(&node.name, NAME_MAX),
        exit_latency_ns: latency * 1000,
        target_residency_ns: if never { NEVER_NS } else { residency * 1000 },
        entry_ns: entry.unwrap_or(0).min(latency) * 1000,
        polling: false,
        disabled: false,
    };
    let desc = cut(node.text("idle-state-name").unwrap_or(&node.name), DESC_MAX);
    Ok((state, StateInfo { desc, flags, never, ..StateInfo::default() }))
}
