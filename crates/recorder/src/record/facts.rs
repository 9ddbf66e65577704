// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

use idlewise_live::Host;

/// What the kernel calls it where it has no cpuidle driver.
const NO_DRIVER: &str = "none";

/// What is to be known of a machine to understand its recording, beside its idle states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Release of the kernel.
    pub kernel: String,
    /// As `uname -m` has it.
    pub machine: String,
    pub governor: Option<String>,
    pub driver: Option<String>,
    /// The CPUs that are online.
    pub cpus: Vec<u32>,
    pub topology: Topology,
    /// The hypervisor whose guest it is, "" where its name is not known.
    pub hypervisor: Option<&'static str>,
    /// The parameters of the governor `haltpoll`, where the kernel has it; yes is 1.
    pub haltpoll: BTreeMap<String, u64>,
    /// The limit on wakeup latencies that somebody holds for all CPUs, us.
    pub latency_limit_us: Option<i32>,
    /// CPUs with a limit of their own on wakeup latencies, us; 0 lets them poll only.
    pub cpu_latency_limits_us: Vec<(u32, u64)>,
    /// The frequency governor, where all CPUs have one and the same.
    pub cpufreq: Option<String>,
}

/// Where each CPU of [`Facts::cpus`] is. Empty where the kernel does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    pub package: Vec<i64>,
    /// Its core within the package.
    pub core: Vec<i64>,
}

impl Facts {
    /// Those of `host`, of which these `cpus` are online. What cannot be read is left out.
    #[must_use]
    pub fn of(host: &Host, cpus: &[u32]) -> Self {
        let uname = rustix::system::uname();
        let word = |path: &Path| {
            let text = idlewise_files::read_to_string(path).ok()?;
            Some(text.trim().to_owned()).filter(|t| !t.is_empty())
        };
        let base = host.sys.join("devices/system/cpu");
        let of_cpu = |cpu: &u32, file: &str| word(&base.join(format!("cpu{cpu}")).join(file));
        let place = |file: &str| {
            let all: Option<Vec<i64>> = cpus.iter().map(|c| of_cpu(c, file)?.parse().ok()).collect();
            all.unwrap_or_default()
        };
        // "n/a" polls only, 0 is no limit (Documentation/ABI/testing/sysfs-devices-power).
        let limit = |cpu: &u32| match of_cpu(cpu, "power/pm_qos_resume_latency_us")?.as_str() {
            "n/a" => Some((*cpu, 0)),
            us => us.parse().ok().filter(|us| *us > 0).map(|us| (*cpu, us)),
        };
        let mut cpufreq: Vec<Option<String>> =
            cpus.iter().map(|c| of_cpu(c, "cpufreq/scaling_governor")).collect();
        cpufreq.dedup();
        let idle = base.join("cpuidle");
        Self {
            kernel: uname.release().to_string_lossy().into_owned(),
            machine: uname.machine().to_string_lossy().into_owned(),
            governor: word(&idle.join("current_governor"))
                .or_else(|| word(&idle.join("current_governor_ro"))),
            driver: word(&idle.join("current_driver")).filter(|name| name != NO_DRIVER),
            hypervisor: host.hypervisor(),
            cpus: cpus.to_vec(),
            topology: Topology {
                package: place("topology/physical_package_id"),
                core: place("topology/core_id"),
            },
            haltpoll: parameters(&host.sys.join("module/haltpoll/parameters")),
            latency_limit_us: latency_limit(&host.dev.join("cpu_dma_latency")),
            cpu_latency_limits_us: cpus.iter().filter_map(limit).collect(),
            cpufreq: if cpufreq.len() == 1 { cpufreq.pop().flatten() } else { None },
        }
    }
}

/// A module's parameters that are numbers.
fn parameters(folder: &Path) -> BTreeMap<String, u64> {
    let value = |path: &Path| match idlewise_files::read_to_string(path).ok()?.trim() {
        "Y" => Some(1),
        "N" => Some(0),
        number => number.parse().ok(),
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|e| Some((e.file_name().to_string_lossy().into_owned(), value(&e.path())?))).collect()
}

/// Reading does not ask for a limit; only writing does.
fn latency_limit(path: &Path) -> Option<i32> {
    let mut bytes = [0; 4];
    // A device on a machine; a pipe in its place, in a copied tree, is not waited for.
    let at_once = OFlags::NONBLOCK.bits().cast_signed();
    let mut file = fs::OpenOptions::new().read(true).custom_flags(at_once).open(path).ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some(i32::from_ne_bytes(bytes))
}
