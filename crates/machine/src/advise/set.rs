// SPDX-License-Identifier: GPL-2.0-only
//! How a governor is set, now and at boot; how one is had that the kernel lacks.

use schemars::JsonSchema;
use serde::Serialize;

const CPUIDLE: &str = "/sys/devices/system/cpu/cpuidle/current_governor";

/// How a governor is set.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Setting {
    /// Commands, as root, until the next boot.
    pub now: Vec<String>,
    /// Words for the kernel's command line, and what else is to be done at each boot.
    pub at_boot: Vec<String>,
}

impl Setting {
    /// Of a governor with what is particular to it, as `idlewise ab` writes it.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let (governor, own) = name.split_once(':').unwrap_or((name, ""));
        let mut it = Self {
            now: vec![format!("echo {governor} > {CPUIDLE}")],
            at_boot: vec![format!("cpuidle.governor={governor}")],
        };
        for (key, value) in own.split(',').filter_map(|s| s.split_once('=')) {
            match key {
                "disable" => {
                    it.now.push(format!(
                        "for f in /sys/devices/system/cpu/cpu*/cpuidle/state{value}/disable; do echo 1 > $f; done"
                    ));
                    it.at_boot.push(format!("the same loop for state{value} in a unit that runs at boot"));
                }
                "latency_limit_us" => {
                    it.now.push(format!(
                        "a process that writes {value} (32 bits, us) to /dev/cpu_dma_latency and keeps it open"
                    ));
                    it.at_boot.push("the same process, as a service".to_owned());
                }
                // haltpoll is a module of its own name; no other governor has parameters in Linux.
                _ => {
                    it.now.push(format!("echo {value} > /sys/module/{governor}/parameters/{key}"));
                    it.at_boot.push(format!("{governor}.{key}={value}"));
                }
            }
        }
        it
    }
}

/// How a governor can be had that the kernel does not have.
#[must_use]
pub fn how_to_get(name: &str) -> Vec<String> {
    let governor = name.split(':').next().unwrap_or(name);
    let config = |option: &str| vec![format!("a kernel with CONFIG_CPU_IDLE_GOV_{option}=y")];
    match governor {
        "menu" => config("MENU"),
        "ladder" => config("LADDER"),
        "haltpoll" => config("HALTPOLL"),
        "teo" => config("TEO (since Linux 5.1; this form is the newest)"),
        other => vec![format!(
            "a kernel of yours with {other} put into it: `idlewise boot overlay TREE` (docs/guide/kernel.md)"
        )],
    }
}
