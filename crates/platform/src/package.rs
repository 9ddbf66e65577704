// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::IdleTable;

/// What the machine draws in addition to its CPUs and clusters: less the deeper all CPUs sleep, as a package with idle states of its own
/// does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// While a CPU keeps it awake, uW (or thousandths of the relative unit of the clusters' powers).
    pub awake_uw: u64,
    /// Drawn besides all the time, in the same unit: graphics, what has no idle state.
    pub always_uw: u64,
    /// Drawn besides for each CPU that is awake, in the same unit: what its memory accesses cost outside of it.
    pub each_awake_uw: u64,
    /// The idle state from which on a CPU lets it sleep, by its name; the first that does not poll where nothing is said. Not
    /// used where there are levels.
    pub from: Option<String>,
    /// Its own idle states, shallow to deep; one that draws nothing where there are none.
    pub levels: Vec<PackageLevel>,
    /// Where the numbers come from.
    pub source: String,
}

/// An idle state of the package: all CPUs are in an idle state or in a deeper one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageLevel {
    /// That idle state of the CPUs, by its name.
    pub from: String,
    /// What the package draws then, in the unit of [`Package::awake_uw`].
    pub power_uw: u64,
}

impl Package {
    /// The number of the first state that lets it sleep in a cluster's table; past its end where the table has none.
    #[must_use]
    pub fn from(&self, table: &IdleTable) -> usize {
        self.level_states(table).first().copied().unwrap_or(table.len())
    }

    /// By level: the number of its idle state in a cluster's table; past its end where the table has none.
    #[must_use]
    pub fn level_states(&self, table: &IdleTable) -> Vec<usize> {
        let named = |name: &str| table.states().iter().position(|s| s.name == name).unwrap_or(table.len());
        match (&self.from, self.levels.as_slice()) {
            (Some(name), []) => vec![named(name)],
            (None, []) => vec![table.states().iter().position(|s| !s.polling).unwrap_or(table.len())],
            (_, levels) => levels.iter().map(|l| named(&l.from)).collect(),
        }
    }

    /// What it draws while awake, and in each level, with what it draws always, uW.
    #[must_use]
    pub fn powers_uw(&self) -> Vec<u64> {
        let asleep = self.levels.iter().map(|l| l.power_uw).chain(self.levels.is_empty().then_some(0));
        std::iter::once(self.awake_uw).chain(asleep).map(|uw| uw + self.always_uw).collect()
    }

    /// What it draws in its deepest level, uW.
    #[must_use]
    pub fn deepest_uw(&self) -> u64 {
        self.levels.last().map_or(0, |l| l.power_uw) + self.always_uw
    }
}
