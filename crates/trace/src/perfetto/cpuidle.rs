// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's time in each idle state, which `linux.sys_stats` samples: `SysStats.cpuidle_state`.

use std::collections::BTreeMap;

use super::wire::Fields;

/// The kernel's time in each idle state of each CPU since it was started, at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuidleSample {
    /// The packet's time, ns.
    pub at_ns: u64,
    /// By CPU: the states in the order of the packet, by name, and the time in each, us.
    pub cpus: BTreeMap<u32, Vec<(String, u64)>>,
}

/// So many samples are kept; of more, the last takes the place of the one before.
const SAMPLES_MAX: usize = 1024;
/// No kernel has so many CPUs or states.
const CPUS_MAX: u64 = 65_536;
const STATES_MAX: usize = 64;
/// All samples of a file together have no more states: 16 CPUs with 10 states in all samples.
const KEPT_MAX: usize = 1 << 18;

/// `SysStats.cpuidle_state`; `CpuidleState.cpu_id` and `.cpuidle_state_entry`; `CpuidleStateEntry.state` and `.duration_us`.
const CPUIDLE_STATE: u32 = 16;
const CPU_ID: u32 = 1;
const ENTRY: u32 = 2;
const STATE: u32 = 1;
const DURATION_US: u32 = 2;

/// The samples of a file, in its order.
#[derive(Default)]
pub(super) struct Samples {
    pub(super) all: Vec<CpuidleSample>,
    states: usize,
}

impl Samples {
    /// Takes a `SysStats` message; one without idle states is none.
    pub(super) fn take(&mut self, message: &[u8], at_ns: u64) {
        let mut sample = CpuidleSample { at_ns, ..CpuidleSample::default() };
        for (_, state) in Fields::new(message).filter(|(n, _)| *n == CPUIDLE_STATE) {
            let (mut cpu, mut states) = (0, Vec::new());
            for (number, value) in Fields::new(state.bytes()) {
                match number {
                    CPU_ID => cpu = value.number(),
                    ENTRY if states.len() < STATES_MAX => {
                        let (mut name, mut us) = (String::new(), 0);
                        for (number, value) in Fields::new(value.bytes()) {
                            match number {
                                STATE => name = value.text(),
                                DURATION_US => us = value.number(),
                                _ => {}
                            }
                        }
                        states.push((name, us));
                    }
                    _ => {}
                }
            }
            if let Some(cpu) = u32::try_from(cpu).ok().filter(|_| cpu < CPUS_MAX && !states.is_empty()) {
                sample.cpus.insert(cpu, states);
            }
        }
        if sample.cpus.is_empty() {
            return;
        }
        if self.all.len() == SAMPLES_MAX || self.states > KEPT_MAX {
            self.all.pop();
        }
        self.states += sample.cpus.values().map(Vec::len).sum::<usize>();
        self.all.push(sample);
    }
}
