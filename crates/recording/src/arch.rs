// SPDX-License-Identifier: GPL-2.0-only
//! Which kind of processor was recorded, and which kind a machine's idle states are of.

use idlewise_model::EventKind;
use idlewise_platform::Platform;
use idlewise_trace::{TraceError, TraceFile};

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

    /// By the recording's kernel, else by events that only one kind has: those that the file names, then those in it.
    pub(crate) fn of_trace(trace: &TraceFile) -> Result<Option<Self>, TraceError> {
        let meta = trace.meta();
        let named = Self::of_kernel(&meta.kernel)
            .or_else(|| Self::of_events(meta.event_names.values().map(String::as_str)));
        if named.is_some() {
            return Ok(named);
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
        let seen = events.counts();
        Ok(Self::of_events(seen.keys().filter_map(|id| events.event_name(*id))))
    }

    /// What a tape says of the recorded processor where its machine is of another kind.
    pub(crate) fn remark(self) -> String {
        format!("; its processor is {}", self.words())
    }

    /// By [`Self::remark`] at the end of `how`.
    pub(crate) fn of_remark(how: &str) -> Option<Self> {
        [Self::X86, Self::Arm, Self::Power].into_iter().find(|arch| how.ends_with(&arch.remark()))
    }

    /// By the release and machine of a kernel.
    pub(crate) fn of_kernel(kernel: &str) -> Option<Self> {
        let kernels = [
            ("x86_64", Self::X86),
            ("i686", Self::X86),
            ("aarch64", Self::Arm),
            ("armv", Self::Arm),
            ("ppc64", Self::Power),
        ];
        kernels.iter().find(|(machine, _)| kernel.contains(machine)).map(|(_, arch)| *arch)
    }

    fn of_events<'n>(mut names: impl Iterator<Item = &'n str>) -> Option<Self> {
        names.any(|name| name.starts_with("irq_vectors:")).then_some(Self::X86)
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
