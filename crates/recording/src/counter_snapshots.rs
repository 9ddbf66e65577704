// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's counters of idle states before and after a recording.

use std::collections::BTreeMap;
use std::path::PathBuf;

use idlewise_platform::SysfsCounters;

/// The kernel's counters at two times: when each CPU's were read, ns on the trace's clock, and what was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterSnapshots {
    /// The file that they come from.
    pub name: PathBuf,
    /// The first time, by CPU, and the counters then.
    pub before: (BTreeMap<u32, u64>, SysfsCounters),
    pub after: (BTreeMap<u32, u64>, SysfsCounters),
}
