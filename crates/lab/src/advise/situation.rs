// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_live::power::Meters;
use idlewise_live::record::Facts;
use idlewise_live::{Host, ab};
use serde::Serialize;

/// The machine that advice is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Situation {
    /// Release of its kernel; empty where it is not known.
    pub kernel: String,
    /// Its cpuidle driver.
    pub driver: Option<String>,
    /// The governor in force.
    pub governor: Option<String>,
    /// The governors that the kernel can be switched to; nothing where the machine is not at hand.
    pub available: Option<Vec<String>>,
    /// Parameters of the kernel's haltpoll.
    pub haltpoll: BTreeMap<String, u64>,
    /// What measures power or energy.
    pub meters: Vec<String>,
    /// What is there and may not be read.
    pub notes: Vec<String>,
}

impl Situation {
    /// Of a machine that is at hand, or of its files.
    #[must_use]
    pub fn of(host: &Host) -> Self {
        let facts = Facts::of(host, &[]);
        let meters = Meters::find(host);
        // Of a copied tree, too, which uname does not know.
        let release = idlewise_files::read_to_string(&host.proc.join("sys/kernel/osrelease"));
        Self {
            kernel: release.unwrap_or_default().trim().to_owned(),
            driver: facts.driver,
            governor: facts.governor,
            available: Some(ab::available(host)),
            haltpoll: facts.haltpoll,
            meters: meters.list.iter().map(|m| format!("{} {}", m.source, m.name)).collect(),
            notes: meters.notes,
        }
    }

    /// Of a machine of which there is only a recording, made on `kernel` by `governor`.
    #[must_use]
    pub fn recorded(kernel: &str, governor: &str) -> Self {
        let governor = governor.split(':').next().filter(|g| !g.is_empty());
        Self { kernel: kernel.to_owned(), governor: governor.map(str::to_owned), ..Self::default() }
    }

    /// Whether a recording that names `kernel` was made here.
    #[must_use]
    pub fn made(&self, kernel: &str) -> bool {
        !self.kernel.is_empty() && kernel.split_whitespace().any(|word| word == self.kernel)
    }

    /// Whether the kernel has `governor`.
    #[must_use]
    pub fn has(&self, governor: &str) -> Option<bool> {
        self.available.as_ref().map(|a| a.iter().any(|g| g == governor))
    }
}
