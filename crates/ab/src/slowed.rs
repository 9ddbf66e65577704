// SPDX-License-Identifier: GPL-2.0-only
//! What keeps CPUs below their highest frequency: heat, or a limit that somebody has set.

use std::path::Path;

use idlewise_live::Host;
use idlewise_live::files::{line, names, number};

/// Cooling devices that slow CPUs, by words of their type: the ACPI processor's, cpufreq's, those that inject idle time
/// (`cpufreq-cpu0`, `thermal-cpufreq-0`, `Processor`, `intel_powerclamp`, `idle-cpu0`). Fans and the like slow nothing.
const SLOWING: [&str; 4] = ["cpufreq", "processor", "powerclamp", "idle"];

/// What slows CPUs down now, in words; nothing where no CPU is kept below its highest frequency, or nothing tells.
pub(super) fn slowed_by(host: &Host) -> Vec<String> {
    let cpus = host.sys.join("devices/system/cpu");
    let policies = cpus.join("cpufreq");
    let policy = |name: &String| {
        let folder = policies.join(name);
        limited(&folder)
            .map(|words| format!("CPU {} {words}", line(&folder.join("affected_cpus")).unwrap_or_default()))
    };
    let devices = host.sys.join("class/thermal");
    let device = |name: &String| {
        let folder = devices.join(name);
        let kind = line(&folder.join("type"))?;
        let small = kind.to_lowercase();
        // Idle injection that is off says -1, which is no number here.
        let state = number(&folder.join("cur_state")).filter(|n| *n > 0)?;
        let most = number(&folder.join("max_state"));
        let of = most.map(|most| format!(" of {most}")).unwrap_or_default();
        let slows = SLOWING.iter().any(|word| small.contains(word));
        slows.then(|| format!("cooling device {kind} at {state}{of} ({name})"))
    };
    let mut out: Vec<String> =
        names(&policies).iter().filter(|n| n.starts_with("policy")).filter_map(policy).collect();
    out.extend(names(&devices).iter().filter(|n| n.starts_with("cooling_device")).filter_map(device));
    out
}

/// A frequency policy whose highest frequency is lowered, kHz in its files.
fn limited(policy: &Path) -> Option<String> {
    let (now, most) = (number(&policy.join("scaling_max_freq"))?, number(&policy.join("cpuinfo_max_freq"))?);
    (now < most).then(|| format!("at {} of {} MHz at most (scaling_max_freq)", now / 1000, most / 1000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join("sys").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        root
    }

    #[test]
    fn limits_and_cooling_of_cpus_are_told_and_nothing_else() {
        let t = tree(&[
            ("devices/system/cpu/cpufreq/policy0/scaling_max_freq", "1800000"),
            ("devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "3600000"),
            ("devices/system/cpu/cpufreq/policy0/affected_cpus", "0 1"),
            ("devices/system/cpu/cpufreq/policy2/scaling_max_freq", "3600000"),
            ("devices/system/cpu/cpufreq/policy2/cpuinfo_max_freq", "3600000"),
            ("devices/system/cpu/cpufreq/boost", "1"),
            ("class/thermal/cooling_device0/type", "Processor"),
            ("class/thermal/cooling_device0/cur_state", "2"),
            ("class/thermal/cooling_device0/max_state", "10"),
            ("class/thermal/cooling_device1/type", "Fan"),
            ("class/thermal/cooling_device1/cur_state", "1"),
            ("class/thermal/cooling_device2/type", "intel_powerclamp"),
            ("class/thermal/cooling_device2/cur_state", "-1"),
            ("class/thermal/cooling_device3/type", "cpufreq-cpu4"),
            ("class/thermal/cooling_device3/cur_state", "0"),
            ("class/thermal/cooling_device4/type", "idle-cpu4"),
            ("class/thermal/cooling_device4/cur_state", "50"),
            ("class/thermal/thermal_zone0/temp", "99000"),
        ]);
        assert_eq!(
            slowed_by(&Host::below(t.path())),
            [
                "CPU 0 1 at 1800 of 3600 MHz at most (scaling_max_freq)",
                "cooling device Processor at 2 of 10 (cooling_device0)",
                "cooling device idle-cpu4 at 50 (cooling_device4)",
            ]
        );
        assert_eq!(slowed_by(&Host::below(Path::new("/no/such/tree"))), [""; 0]);
    }
}
