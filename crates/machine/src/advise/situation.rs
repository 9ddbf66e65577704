// SPDX-License-Identifier: GPL-2.0-only
use std::collections::{BTreeMap, BTreeSet};

use idlewise_ab as ab;
use idlewise_live::Host;
use idlewise_live::limits::Limiting;
use idlewise_live::power::Meters;
use idlewise_model::Note;
use idlewise_platform::{Cluster, Platform, Roots};
use idlewise_recorder::record::Facts;
use schemars::JsonSchema;
use serde::Serialize;

/// The machine that advice is for.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Situation {
    /// Release of its kernel; empty where it is not known.
    pub kernel: String,
    pub driver: Option<String>,
    /// The governor in force.
    pub governor: Option<String>,
    /// The governors that the kernel can be switched to; nothing where the machine is not at hand.
    pub available: Option<Vec<String>>,
    /// Parameters of the kernel's haltpoll.
    pub haltpoll: BTreeMap<String, u64>,
    /// What measures power or energy.
    pub meters: Vec<String>,
    /// Whether limits of power or heat held its clocks while the load was recorded, or now; null where it is not at hand.
    pub limiting: Option<Limiting>,
    /// What is there and may not be read.
    pub notes: Vec<Note>,
    /// Why a recording is not of the machine at hand, where it is not.
    pub elsewhere: Option<String>,
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
            limiting: None,
            meters: meters.list.iter().map(|m| format!("{} {}", m.source, m.name)).collect(),
            notes: meters.notes,
            elsewhere: None,
        }
    }

    /// Of a machine of which there is only a recording, made on `kernel` by `governor`; `elsewhere` is how that is known.
    #[must_use]
    pub fn recorded(kernel: &str, governor: &str, elsewhere: String) -> Self {
        let governor = governor.split(':').next().filter(|g| !g.is_empty()).map(str::to_owned);
        Self { kernel: kernel.to_owned(), governor, elsewhere: Some(elsewhere), ..Self::default() }
    }

    /// How the idle states of the machine at hand differ from those of the `recorded` one; nothing where they are the same, or
    /// not there to be read.
    #[must_use]
    pub fn other_states(host: &Host, recorded: &Platform) -> Option<String> {
        let boot = host.sys.with_file_name("boot");
        let here = Platform::scan(&Roots { sys: host.sys.clone(), proc: host.proc.clone(), boot }).ok()?;
        let states = |machine: &Platform| -> BTreeSet<String> {
            let names =
                |c: &Cluster| c.table.states().iter().map(|s| s.name.clone()).collect::<Vec<_>>().join(", ");
            machine.clusters.iter().map(names).collect()
        };
        let (there, here) = (states(recorded), states(&here));
        let words = |all: BTreeSet<String>| all.into_iter().collect::<Vec<_>>().join("; ");
        (there != here).then(|| format!("its idle states are {}, those here {}", words(there), words(here)))
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
