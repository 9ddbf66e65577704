// SPDX-License-Identifier: GPL-2.0-only
use serde::{Deserialize, Serialize};

/// Values sorted at a time, at the least.
const RECENT: usize = 4_096;

/// Numbers of which only the ranks are wanted: each value is kept once, with how often it came. So the memory goes with
/// the number of different values, not with how many there are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Counted {
    /// Not sorted in yet.
    recent: Vec<u32>,
    /// Different values in order, and how often each came.
    sorted: Vec<(u32, u64)>,
}

impl Counted {
    /// Adds a value at the end.
    #[inline]
    pub fn push(&mut self, value: u32) {
        if self.recent.len() >= RECENT && self.recent.len() >= self.sorted.len() {
            self.fold();
        }
        self.recent.push(value);
    }

    /// Adds all values of `other`.
    pub fn append(&mut self, other: &Self) {
        self.recent.extend_from_slice(&other.recent);
        self.fold();
        self.sorted.extend_from_slice(&other.sorted);
        order(&mut self.sorted);
    }

    /// No value is added for now: takes no more room than it must.
    pub fn settle(&mut self) {
        self.fold();
        self.recent = Vec::new();
        self.sorted.shrink_to_fit();
    }

    /// Removes all values and keeps the memory for the next ones.
    pub fn clear(&mut self) {
        self.recent.clear();
        self.sorted.clear();
    }

    /// The different values of all of `parts` in order, each with how often it came.
    #[must_use]
    pub fn ranks<'c>(parts: impl Iterator<Item = &'c Self>) -> Vec<(u32, u64)> {
        let all = |part: &'c Self| part.sorted.iter().copied().chain(part.recent.iter().map(|v| (*v, 1)));
        let mut ranks: Vec<(u32, u64)> = parts.flat_map(all).collect();
        order(&mut ranks);
        ranks
    }

    #[cold]
    fn fold(&mut self) {
        self.recent.sort_unstable();
        self.sorted.extend(self.recent.drain(..).map(|value| (value, 1)));
        order(&mut self.sorted);
    }
}

/// Sorts values with how often they came, in time that goes with their number where they are a few sorted pieces; each is kept once.
fn order(ranks: &mut Vec<(u32, u64)>) {
    ranks.sort_by_key(|rank| rank.0);
    ranks.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0 };
        same
    });
}

/// The same values the same number of times, in whatever order they came.
impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        Self::ranks(std::iter::once(self)) == Self::ranks(std::iter::once(other))
    }
}

impl Eq for Counted {}

/// Value number `n`, counted from 0 in order, of [`Counted::ranks`].
#[must_use]
pub fn nth(ranks: &[(u32, u64)], n: u64) -> Option<u32> {
    let mut before = 0;
    ranks.iter().find_map(|(value, times)| {
        before += times;
        (n < before).then_some(*value)
    })
}
