// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::IdleTable;

/// What the machine draws beside its CPUs and clusters unless all CPUs sleep deep enough, as a package with idle states of its
/// own does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// While it is awake, uW (or thousandths of the relative unit of the clusters' powers).
    pub awake_uw: u64,
    /// The idle state from which on a CPU lets it sleep, by its name; the first that does not poll where nothing is said.
    pub from: Option<String>,
    /// Where the numbers come from.
    pub source: String,
}

impl Package {
    /// The number of that state in a cluster's table; past its end where the table has none.
    #[must_use]
    pub fn from(&self, table: &IdleTable) -> usize {
        let lets = |s: &idlewise_model::IdleState| match &self.from {
            Some(name) => s.name == *name,
            None => !s.polling,
        };
        table.states().iter().position(lets).unwrap_or(table.len())
    }
}
