// SPDX-License-Identifier: GPL-2.0-only
//! A platform as a machine that QEMU can be: its CPUs, and how the kernel learns of their idle states.

use std::fmt::Write as _;

use idlewise_platform::{ClockPolicy, Cluster, EnergyModel, Flag, Kernel, Platform};

use crate::BootError;

/// The interrupt controller with which PSCI's idle states work has room for so many CPUs (boot-behaviour.md, 3).
pub const MAX_CPUS: u32 = 8;
/// CPUs of a platform that leaves their number open.
const USUAL_CPUS: u32 = 4;
/// The kernel takes no longer parameter.
const MAX_PARAMETER: usize = 1024;
/// What the synthetic driver takes (cpuidle-synth.c): states of a table, characters of a name, and times, ns.
const SYNTH_STATES: usize = 10;
const SYNTH_NAME: usize = 15;
const SYNTH_TIME_NS: i64 = 1_000_000_000;

/// Who puts the guest's CPUs to sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleDriver {
    #[default]
    /// Our synthetic driver: latencies are spent for real.
    Synth,
    /// The kernel's own driver for PSCI firmware, with states from the device tree. QEMU wakes at once, so latencies are
    /// declared but not spent.
    Psci,
}

impl IdleDriver {
    /// Its word on the command line and in results.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Synth => "synth",
            Self::Psci => "psci",
        }
    }
}

/// A machine to boot.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Id of the platform.
    pub platform: String,
    /// Its CPUs, numbered from 0.
    pub cpus: u32,
    /// Who puts them to sleep.
    pub driver: IdleDriver,
    /// How many idle states each CPU has.
    pub(crate) states: Vec<usize>,
    /// Additions to the device tree, in source form.
    pub(crate) overlay: String,
    /// Additions to the kernel's command line.
    pub(crate) parameters: String,
    /// The parameter `kinds` of cpufreq_lab.c; empty where no operating points are known.
    pub(crate) frequencies: String,
}

impl Machine {
    /// `platform` with `cpus` CPUs (as many as it has, where not said) and `driver`. `reject`: the synthetic driver refuses
    /// every Nth entry into a deeper state; 0 for none. `window` is the memory that the kernel must leave alone:
    /// address and length.
    ///
    /// # Errors
    /// [`BootError::Platform`] when this cannot be had as a guest.
    pub fn new(
        platform: &Platform,
        cpus: Option<u32>,
        driver: IdleDriver,
        reject: u32,
        window: (u64, u64),
    ) -> Result<Self, BootError> {
        let refuse = |why: String| Err(BootError::Platform { platform: platform.id.clone(), why });
        let has = u32::try_from(platform.cpu_count()).unwrap_or(u32::MAX);
        let usual = if platform.any_cpu() { USUAL_CPUS } else { has };
        let cpus = cpus.unwrap_or(usual);
        if cpus == 0 || (!platform.any_cpu() && cpus > has) {
            return refuse(format!("it has {has} CPUs, so no machine of {cpus} can be made of it"));
        }
        if cpus > MAX_CPUS {
            return refuse(format!("{cpus} CPUs; a guest has at most {MAX_CPUS} (use --cpus {MAX_CPUS})"));
        }
        if reject > 0 && driver == IdleDriver::Psci {
            return refuse("only the synthetic driver refuses entries".to_owned());
        }
        let mut parameters = String::new();
        let of_cpu =
            |cpu| platform.clusters.iter().find(|c| c.has(cpu)).map_or(0, |c| c.table.states().len());
        let states: Vec<usize> = (0..cpus).map(of_cpu).collect();
        if driver == IdleDriver::Synth {
            if let Some(why) = refused_by_synth(platform) {
                return refuse(why);
            }
            let tables = synth_tables(platform, cpus);
            if tables.len() > MAX_PARAMETER {
                return refuse(format!(
                    "its idle states do not fit a kernel parameter of {MAX_PARAMETER} bytes"
                ));
            }
            parameters = format!("cpuidle_synth.tables={tables}");
            if reject > 0 {
                let _ = write!(parameters, " cpuidle_synth.reject={reject}");
            }
        }
        let overlay = match device_tree(platform, cpus, driver, window) {
            Ok(overlay) => overlay,
            Err(why) => return refuse(why),
        };
        let frequencies = frequencies(platform, cpus);
        Ok(Self { platform: platform.id.clone(), cpus, driver, states, overlay, parameters, frequencies })
    }

    /// The additions to the kernel's command line.
    #[must_use]
    pub fn parameters(&self) -> &str {
        &self.parameters
    }

    /// Operating points as `cpufreq_lab.c` takes them (its parameter `kinds`); empty where none are known.
    #[must_use]
    pub fn frequencies(&self) -> &str {
        &self.frequencies
    }

    /// Whether operating points are known, so that frequency governors have something to choose from.
    #[must_use]
    pub fn has_frequencies(&self) -> bool {
        !self.frequencies.is_empty()
    }

    /// The additions to the device tree, in the source form of `dtc`.
    #[must_use]
    pub fn device_tree(&self) -> &str {
        &self.overlay
    }
}

/// Why the synthetic driver does not take the states of `platform`, and what to do: with a table that it refuses the guest would run
/// without idle states.
fn refused_by_synth(platform: &Platform) -> Option<String> {
    let states = |c: &Cluster| -> Vec<(String, i64)> {
        let all = c.table.states().iter();
        all.map(|s| (s.name.clone(), s.target_residency_ns.max(s.exit_latency_ns))).collect()
    };
    let why = platform.clusters.iter().find_map(|c| {
        let all = states(c);
        if all.len() > SYNTH_STATES {
            return Some(format!(
                "{} has {} idle states, and the driver takes {SYNTH_STATES}",
                c.name,
                all.len()
            ));
        }
        let long = |(name, _): &&(String, i64)| name.len() > SYNTH_NAME;
        if let Some((name, _)) = all.iter().find(long) {
            return Some(format!(
                "the name {name} of {} is longer than the {SYNTH_NAME} characters of a kernel's",
                c.name
            ));
        }
        let (name, ns) = all.iter().find(|(_, ns)| *ns > SYNTH_TIME_NS)?;
        Some(format!(
            "{name} of {} has a latency or residency of {:.0} s, and the driver takes 1 s at most",
            c.name,
            *ns as f64 / 1e9
        ))
    })?;
    let id = &platform.id;
    Some(format!(
        "the synthetic driver cannot have its idle states: {why}; use --driver psci, which declares latencies and does not spend \
         them, or a copy without that state (idlewise platform show {id} --toml >mine.toml, then --platform ./mine.toml)"
    ))
}

/// The parameter of cpuidle-synth.c.
fn synth_tables(platform: &Platform, cpus: u32) -> String {
    let mut tables = Vec::new();
    for cluster in &platform.clusters {
        let of: Vec<u32> = (0..cpus).filter(|cpu| cluster.has(*cpu)).collect();
        if of.is_empty() {
            continue;
        }
        let states: Vec<String> = cluster
            .table
            .states()
            .iter()
            .map(|s| {
                let name = if s.polling { "POLL" } else { &s.name };
                let exit_ns = s.exit_ns();
                format!("{name}:{}:{exit_ns}:{}", s.exit_latency_ns - exit_ns, s.target_residency_ns)
            })
            .collect();
        tables.push(format!("{}={}", idlewise_platform::cpu_list(&of), states.join(",")));
    }
    tables.join("/")
}

/// The parameter of cpufreq_lab.c: operating points, with the powers that the kernel's energy model has of the machine.
/// Capacities come from the device tree. Empty where no points are known or there are more than a parameter holds.
fn frequencies(platform: &Platform, cpus: u32) -> String {
    let mut kinds = Vec::new();
    for cluster in &platform.clusters {
        let of: Vec<u32> = (0..cpus).filter(|cpu| cluster.has(*cpu)).collect();
        let points = operating_points(cluster);
        if of.is_empty() || points.is_empty() {
            continue;
        }
        let points: Vec<String> = points
            .iter()
            .map(|(khz, power)| power.map_or(khz.to_string(), |uw| format!("{khz}/{}", uw.max(1))))
            .collect();
        let own = cluster.clock.as_ref().is_some_and(|c| c.policy == ClockPolicy::Cpu);
        let clocks: Vec<&[u32]> = if own { of.chunks(1).collect() } else { vec![&of] };
        let kind = |cpus: &[u32]| format!("{}:0:{}", idlewise_platform::cpu_list(cpus), points.join(","));
        kinds.extend(clocks.into_iter().map(kind));
    }
    let text = kinds.join(";");
    if text.len() > MAX_PARAMETER { String::new() } else { text }
}

/// Clock in kHz and power of each point; those of the power curve where the file has no clock.
fn operating_points(cluster: &Cluster) -> Vec<(u64, Option<u64>)> {
    let Some(clock) = &cluster.clock else {
        let curve = cluster.power.iter().flat_map(|p| &p.curve);
        return curve.map(|r| (r.khz, Some(r.active))).collect();
    };
    match EnergyModel::new(cluster, Kernel::V6_12) {
        Some(model) => model.states.iter().map(|s| (s.khz, Some(s.power_uw))).collect(),
        None => clock.points.iter().map(|p| (p.khz, None)).collect(),
    }
}

/// Device-tree source that is laid over QEMU's own.
fn device_tree(
    platform: &Platform,
    cpus: u32,
    driver: IdleDriver,
    window: (u64, u64),
) -> Result<String, String> {
    let mut out = "/dts-v1/;\n/plugin/;\n\n/ {\n".to_owned();
    let (address, length) = window;
    let _ = write!(
        out,
        "\tfragment@0 {{\n\t\ttarget-path = \"/\";\n\t\t__overlay__ {{\n\
         \t\t\t#address-cells = <2>;\n\t\t\t#size-cells = <2>;\n\t\t\treserved-memory {{\n\
         \t\t\t\t#address-cells = <2>;\n\t\t\t\t#size-cells = <2>;\n\t\t\t\tranges;\n\
         \t\t\t\tlab@{address:x} {{\n\t\t\t\t\treg = <{:#x} {:#x} {:#x} {:#x}>;\n\t\t\t\t}};\n\
         \t\t\t}};\n\t\t}};\n\t}};\n",
        address >> 32,
        address & 0xffff_ffff,
        length >> 32,
        length & 0xffff_ffff
    );
    let mut states = String::new();
    let mut users = String::new();
    for (at, cluster) in platform.clusters.iter().enumerate() {
        let labels =
            if driver == IdleDriver::Psci { psci_states(platform, at, &mut states)? } else { String::new() };
        for cpu in (0..cpus).filter(|cpu| cluster.has(*cpu)) {
            let _ = write!(users, "\t\t\tcpu@{cpu:x} {{\n\t\t\t\treg = <{cpu:#x}>;\n");
            let _ = writeln!(users, "\t\t\t\tcapacity-dmips-mhz = <{}>;", cluster.capacity);
            if !labels.is_empty() {
                let _ = writeln!(users, "\t\t\t\tcpu-idle-states = <{labels}>;");
            }
            users.push_str("\t\t\t};\n");
        }
    }
    out.push_str("\tfragment@1 {\n\t\ttarget-path = \"/cpus\";\n\t\t__overlay__ {\n");
    // As QEMU has them; they let dtc check ours.
    out.push_str("\t\t\t#address-cells = <1>;\n\t\t\t#size-cells = <0>;\n");
    if !states.is_empty() {
        let _ = write!(out, "\t\t\tidle-states {{\n\t\t\t\tentry-method = \"psci\";\n{states}\t\t\t}};\n");
    }
    let _ = write!(out, "{users}\t\t}};\n\t}};\n}};\n");
    Ok(out)
}

/// The nodes of a cluster's states but the first, which the driver brings; returns the references to them.
fn psci_states(platform: &Platform, at: usize, nodes: &mut String) -> Result<String, String> {
    let cluster = &platform.clusters[at];
    let all = cluster.table.states();
    let first = all.first().ok_or("a cluster without states")?;
    if first.polling || first.exit_latency_ns != 1000 || first.target_residency_ns != 1000 {
        return Err(format!(
            "PSCI's first state is WFI with 1 us and 1 us, but {} of {} is not; use the synthetic driver",
            first.name, cluster.name
        ));
    }
    let mut labels = String::new();
    for (i, (state, info)) in all.iter().zip(&cluster.info).enumerate().skip(1) {
        let (entry, exit, residency) =
            (state.exit_latency_ns - state.exit_ns(), state.exit_ns(), state.target_residency_ns);
        if [entry, exit, residency].iter().any(|ns| ns % 1000 != 0) {
            return Err(format!(
                "device trees have whole microseconds, {} of {} has not",
                state.name, cluster.name
            ));
        }
        let label = format!("idle_{at}_{i}");
        let _ = write!(
            nodes,
            "\t\t\t\t{label}: {}-{at}-{i} {{\n\t\t\t\t\tcompatible = \"arm,idle-state\";\n\
             \t\t\t\t\tidle-state-name = \"{}\";\n\
             \t\t\t\t\tarm,psci-suspend-param = <{:#x}>;\n\t\t\t\t\tentry-latency-us = <{}>;\n\
             \t\t\t\t\texit-latency-us = <{}>;\n\t\t\t\t\tmin-residency-us = <{}>;\n",
            node_name(&state.name),
            state.name,
            // A standby state: QEMU returns to the caller, as from WFI (boot-behaviour.md, 3).
            (at + 1) * 16 + i,
            entry / 1000,
            exit / 1000,
            residency / 1000
        );
        if info.flags.contains(&Flag::TimerStop) {
            nodes.push_str("\t\t\t\t\tlocal-timer-stop;\n");
        }
        nodes.push_str("\t\t\t\t};\n");
        if !labels.is_empty() {
            labels.push(' ');
        }
        let _ = write!(labels, "&{label}");
    }
    Ok(labels)
}

/// A state's name as device trees allow it.
fn node_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}
