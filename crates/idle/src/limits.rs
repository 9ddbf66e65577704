// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::NO_LATENCY_LIMIT_NS;

/// What an administrator takes from every CPU's governor: states switched off (`state*/disable` in sysfs), and a limit of the
/// exit latency (`cpu_dma_latency`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// States switched off, bit i for state i; beside those that start so.
    pub disabled: u16,
    /// Largest exit latency allowed, ns; [`NO_LATENCY_LIMIT_NS`] without a limit.
    pub latency_ns: i64,
}

impl Limits {
    /// No state disabled and no latency limit.
    pub const NONE: Self = Self { disabled: 0, latency_ns: NO_LATENCY_LIMIT_NS };
}
