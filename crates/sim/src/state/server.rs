// SPDX-License-Identifier: GPL-2.0-only

/// A CPU's deadline server for fair tasks: its reservation, from which fair tasks draw in the background.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FairServer {
    /// Its timer is set.
    pub(crate) active: bool,
    /// End of its period, ns.
    pub(crate) deadline_ns: u64,
    /// What is left of its time in this period, ns.
    pub(crate) left_ns: u64,
}
