// SPDX-License-Identifier: GPL-2.0-only
use crate::FreqError;

/// The clocks that a driver can set, ascending; some may be marked inefficient (signal-behaviour.md C1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    all: Vec<u32>,
    efficient: Vec<u32>,
}

/// What a policy may use: user space's and the thermal framework's limits together, kHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// No less than this, kHz.
    pub min_khz: u32,
    /// No more than this, kHz.
    pub max_khz: u32,
}

impl Limits {
    /// No limits: the whole table.
    pub const NONE: Self = Self { min_khz: 0, max_khz: u32::MAX };
}

/// Which entry a target means (signal-behaviour.md C1). The `Efficient` forms pass over entries that are marked
/// inefficient, unless the limits leave nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Lowest entry at or above the target: the kernel's L.
    Low,
    /// Highest entry at or below the target: H.
    High,
    /// Nearest entry, the lower of two: C.
    Close,
    LowEfficient,
    HighEfficient,
    CloseEfficient,
}

impl Relation {
    fn plain(self) -> (Self, bool) {
        match self {
            Self::LowEfficient => (Self::Low, true),
            Self::HighEfficient => (Self::High, true),
            Self::CloseEfficient => (Self::Close, true),
            plain => (plain, false),
        }
    }
}

impl Table {
    /// The clocks in kHz, ascending and above 0.
    ///
    /// # Errors
    /// [`FreqError::Table`] if there is none, or one is 0 or not above the one before.
    pub fn new(khz: Vec<u32>) -> Result<Self, FreqError> {
        if khz.is_empty() {
            return Err(FreqError::Table("no operating point; at least one is needed".to_owned()));
        }
        let mut before = 0;
        for &f in &khz {
            if f <= before {
                return Err(FreqError::Table(if f == 0 {
                    "an operating point of 0 kHz".to_owned()
                } else {
                    format!("{f} kHz after {before} kHz; operating points ascend")
                }));
            }
            before = f;
        }
        Ok(Self { efficient: khz.clone(), all: khz })
    }

    /// Marks these entries as inefficient. The highest entry never is one, as the energy model has it.
    ///
    /// # Errors
    /// [`FreqError::Table`] if one is not in the table.
    pub fn with_inefficient(mut self, khz: &[u32]) -> Result<Self, FreqError> {
        if let Some(f) = khz.iter().find(|f| self.all.binary_search(f).is_err()) {
            return Err(FreqError::Table(format!("{f} kHz is marked inefficient and is no operating point")));
        }
        let highest = self.highest();
        self.efficient.retain(|f| *f == highest || !khz.contains(f));
        Ok(self)
    }

    /// All entries, ascending, kHz.
    #[must_use]
    pub fn khz(&self) -> &[u32] {
        &self.all
    }

    /// The lowest entry, kHz.
    #[must_use]
    pub fn lowest(&self) -> u32 {
        // There is one, by `new`.
        self.all[0]
    }

    /// The highest entry, kHz.
    #[must_use]
    pub fn highest(&self) -> u32 {
        self.all[self.all.len() - 1]
    }

    /// The limits as the core applies them: the minimum gives way to the maximum, and where no entry lies between the two the
    /// maximum goes up to the next entry.
    #[must_use]
    pub fn fit(&self, limits: Limits) -> Limits {
        let max_khz = limits.max_khz.min(self.highest());
        let min_khz = limits.min_khz.clamp(self.lowest(), max_khz.max(self.lowest()));
        let limits = Limits { min_khz, max_khz: max_khz.max(min_khz) };
        if !within(&self.all, limits).is_empty() {
            return limits;
        }
        let above = at_or_above(&self.all, min_khz).unwrap_or(self.highest());
        Limits { min_khz, max_khz: above }
    }

    /// The entry that `target` means within `limits`, which [`Table::fit`] gave. What is not within them is never chosen:
    /// where no allowed entry is at or above the target, L is the highest allowed one; H likewise.
    #[must_use]
    pub fn resolve(&self, target_khz: u32, relation: Relation, limits: Limits) -> u32 {
        let target = target_khz.clamp(limits.min_khz, limits.max_khz.max(limits.min_khz));
        let (relation, skip) = relation.plain();
        let efficient = if skip { pick(within(&self.efficient, limits), target, relation) } else { None };
        let allowed = within(&self.all, limits);
        efficient
            .or_else(|| pick(allowed, target, relation))
            .or(match relation {
                Relation::High | Relation::HighEfficient => allowed.first().copied(),
                _ => allowed.last().copied(),
            })
            .unwrap_or(self.highest())
    }
}

/// The part of `entries` that the limits allow.
fn within(entries: &[u32], limits: Limits) -> &[u32] {
    let from = entries.partition_point(|f| *f < limits.min_khz);
    let to = entries.partition_point(|f| *f <= limits.max_khz);
    entries.get(from..to).unwrap_or(&[])
}

fn at_or_above(entries: &[u32], target: u32) -> Option<u32> {
    entries.get(entries.partition_point(|f| *f < target)).copied()
}

fn at_or_below(entries: &[u32], target: u32) -> Option<u32> {
    entries.partition_point(|f| *f <= target).checked_sub(1).and_then(|i| entries.get(i)).copied()
}

fn pick(entries: &[u32], target: u32, relation: Relation) -> Option<u32> {
    match (at_or_below(entries, target), at_or_above(entries, target), relation) {
        (_, above, Relation::Low | Relation::LowEfficient) => above,
        (below, _, Relation::High | Relation::HighEfficient) => below,
        (Some(below), Some(above), _) => Some(if above - target < target - below { above } else { below }),
        (below, above, _) => below.or(above),
    }
}
