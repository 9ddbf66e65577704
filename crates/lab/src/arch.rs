// SPDX-License-Identifier: GPL-2.0-only
//! Which kind of processor was recorded, and which kind a machine's idle states are of.

use idlewise_model::EventKind;
use idlewise_platform::Platform;
use idlewise_trace::{TraceError, TraceFile, TraceMeta};

/// A kind of processor, as far as events and idle states tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arch {
    X86,
    Arm,
    Power,
}

/// The first events are enough: interrupts come many times a second.
const EVENTS: usize = 20_000;

impl Arch {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::X86 => "x86",
            Self::Arm => "Arm",
            Self::Power => "POWER",
        }
    }

    /// By the recording's kernel, else by events that only one kind has.
    pub(crate) fn of_trace(trace: &TraceFile) -> Result<Option<Self>, TraceError> {
        if let Some(arch) = Self::of_head(trace.meta()) {
            return Ok(Some(arch));
        }
        let mut events = trace.events()?;
        for _ in 0..EVENTS {
            let Some(event) = events.next() else { break };
            let arm = match event.kind {
                EventKind::IpiEntry { .. } => true,
                EventKind::IrqEntry { irq } => {
                    events.irq_name(irq).is_some_and(|name| ["arch_timer", "arch_sys_timer"].contains(&name))
                }
                _ => false,
            };
            if arm {
                return Ok(Some(Self::Arm));
            }
        }
        Ok(None)
    }

    fn of_head(meta: &TraceMeta) -> Option<Self> {
        let kernels = [
            ("x86_64", Self::X86),
            ("i686", Self::X86),
            ("aarch64", Self::Arm),
            ("armv", Self::Arm),
            ("ppc64", Self::Power),
        ];
        let named = kernels.iter().find(|(machine, _)| meta.kernel.contains(machine)).map(|(_, arch)| *arch);
        let vectors = || meta.event_names.values().any(|name| name.starts_with("irq_vectors:"));
        named.or_else(|| vectors().then_some(Self::X86))
    }

    /// By the names that each kind's drivers give their states: WFI, snooze, and C-states next to a polling one.
    pub(crate) fn of_platform(machine: &Platform) -> Option<Self> {
        let states = machine.clusters.first()?.table.states();
        let shallowest = states.first()?;
        match shallowest.name.as_str() {
            "WFI" => Some(Self::Arm),
            "snooze" => Some(Self::Power),
            _ => {
                let c_state = |name: &str| {
                    name.strip_prefix('C').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
                };
                let c_states = states.len() > 1 && states.iter().skip(1).all(|s| c_state(&s.name));
                (shallowest.polling && c_states).then_some(Self::X86)
            }
        }
    }
}
