// SPDX-License-Identifier: GPL-2.0-only
use std::path::PathBuf;

use idlewise_live::journal::Restoration;
use idlewise_platform::Platform;
use idlewise_recorder::record::{CpuCounters, Recorded};
use idlewise_recording::CommandError;
use idlewise_recording::counter_snapshots::CounterSnapshots;
use idlewise_recording::sidecar::Sidecar;

use super::inputs::TakenInputs;
use super::made::Made;

/// A recording in the making: recorded, not written yet.
#[derive(Debug)]
pub struct Taken {
    pub(super) recorded: Recorded,
    /// Nothing on a kernel without idle states.
    pub(super) machine: Option<Platform>,
    pub(super) inputs: Option<TakenInputs>,
    pub(super) made: Made,
    /// What was restored when it began and when it ended.
    pub restored: [Restoration; 2],
}

impl Taken {
    /// What a side-car would say of it.
    pub(super) fn description(&self) -> Result<String, CommandError> {
        let inputs = self.inputs.as_ref().map(TakenInputs::beside);
        Sidecar::text(self.governor(), inputs, &self.made, self.machine.as_ref(), &self.looks())
    }

    /// The kernel's idle governor, with the parameters by which it ruled.
    pub(super) fn governor(&self) -> Option<String> {
        let facts = &self.recorded.facts;
        // A kernel without a driver names a governor that it never asks.
        let name = facts.governor.clone().filter(|_| facts.driver.is_some())?;
        let parameters: Vec<String> = match name.as_str() {
            "haltpoll" => facts.haltpoll.iter().map(|(name, value)| format!("{name}={value}")).collect(),
            _ => Vec::new(),
        };
        Some(if parameters.is_empty() { name } else { format!("{name}:{}", parameters.join(",")) })
    }

    pub(super) fn looks(&self) -> CounterSnapshots {
        let look = |l: &CpuCounters| (l.at_ns.clone(), l.counters.clone());
        CounterSnapshots {
            name: PathBuf::new(),
            before: look(&self.recorded.before),
            after: look(&self.recorded.after),
        }
    }
}
