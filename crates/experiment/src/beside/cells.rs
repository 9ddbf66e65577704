// SPDX-License-Identifier: GPL-2.0-only
//! Several recordings of one governor on one machine: their means, and how far they are from one another.

use idlewise_model::Counted;
use idlewise_stats::{Summary, length_distance_pct};
use schemars::JsonSchema;
use serde::Serialize;

use super::pair::{Pair, TraceMeasures};

/// One governor on one machine: all its recordings, and their simulations.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Cell {
    pub platform: String,
    pub governor: String,
    /// Number of recordings: runs of the workload that began at other times, or of a load that differed a little.
    pub recordings: usize,
    pub too_deep: Share,
    pub too_shallow: Share,
    /// How far the lengths of idle periods of simulation and recording are apart: mean ratio at the same rank, minus one, %;
    /// the mean over the recordings.
    pub lengths_apart_pct: Option<f64>,
    /// The same for each two recordings; nothing for one.
    pub recordings_apart_pct: Option<f64>,
    /// The difference to menu, real and simulated, % points; nothing for menu, and where menu was not recorded.
    pub against_menu: Option<AgainstMenu>,
}

/// A share of idle periods, over the recordings.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Share {
    /// In the recordings, %.
    pub real: Summary,
    /// In their simulations, %.
    pub simulated: Summary,
    /// Simulated minus real, each simulation against its own recording, % points.
    pub gap: Summary,
}

/// A governor's shares minus those of menu, % points: of too deep and too shallow idle periods.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct AgainstMenu {
    /// Which menu: the kernel's own for a governor of the kernel's, if it was recorded.
    pub menu: String,
    pub real: [f64; 2],
    pub simulated: [f64; 2],
}

impl Share {
    fn of(pairs: &[&Pair], get: impl Fn(&TraceMeasures) -> f64) -> Self {
        let summary =
            |of: &dyn Fn(&Pair) -> f64| Summary::of(&pairs.iter().map(|p| of(p)).collect::<Vec<_>>());
        Self {
            real: summary(&|p| get(&p.real)),
            simulated: summary(&|p| get(&p.simulated)),
            gap: summary(&|p| get(&p.simulated) - get(&p.real)),
        }
    }
}

impl AgainstMenu {
    /// The difference in the simulation minus the real one, % points.
    #[must_use]
    pub fn gap(&self) -> [f64; 2] {
        [self.simulated[0] - self.real[0], self.simulated[1] - self.real[1]]
    }
}

/// The lengths of idle periods in a recording and in its simulation, ns.
pub(super) type Lengths = [Counted; 2];

/// The cells of `pairs`, in the order of their first recordings; `lengths` are those of each pair's idle periods, ns, recorded
/// and simulated.
///
/// # Panics
/// Where there are fewer `lengths` than pairs.
#[must_use]
pub fn cells(pairs: &[Pair], lengths: &[Lengths]) -> Vec<Cell> {
    let mut out: Vec<Cell> = Vec::new();
    for first in pairs {
        let same = |p: &Pair| p.platform == first.platform && p.governor == first.governor;
        if out.iter().any(|c| c.platform == first.platform && c.governor == first.governor) {
            continue;
        }
        let own: Vec<usize> = (0..pairs.len()).filter(|i| pairs.get(*i).is_some_and(same)).collect();
        let all: Vec<&Pair> = own.iter().map(|i| &pairs[*i]).collect();
        let ranks: Vec<[Vec<(u32, u64)>; 2]> = own
            .iter()
            .map(|i| lengths[*i].each_ref().map(|counted| Counted::ranks(std::iter::once(counted))))
            .collect();
        let apart = ranks.iter().filter_map(|[real, simulated]| length_distance_pct(real, simulated));
        let recordings = ranks.iter().enumerate().flat_map(|(i, [a, _])| {
            ranks.iter().skip(i + 1).filter_map(move |[b, _]| length_distance_pct(a, b))
        });
        out.push(Cell {
            platform: first.platform.clone(),
            governor: first.governor.clone(),
            recordings: all.len(),
            too_deep: Share::of(&all, |m| m.too_deep_pct),
            too_shallow: Share::of(&all, |m| m.too_shallow_pct),
            lengths_apart_pct: mean(apart),
            recordings_apart_pct: mean(recordings),
            against_menu: None,
        });
    }
    let against: Vec<Option<AgainstMenu>> = out.iter().map(|cell| against_menu(cell, &out)).collect();
    for (cell, against) in out.iter_mut().zip(against) {
        cell.against_menu = against;
    }
    out
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| Summary::of(&values).mean)
}

/// Its difference to the menu that belongs to it.
fn against_menu(cell: &Cell, all: &[Cell]) -> Option<AgainstMenu> {
    const MENUS: [&str; 2] = ["menu", "menu.c"];
    if MENUS.contains(&cell.governor.as_str()) {
        return None;
    }
    let of = |name: &str| all.iter().find(|c| c.platform == cell.platform && c.governor == name);
    let [ours, kernels] = MENUS.map(of);
    let menu = if cell.governor.ends_with(".c") { kernels.or(ours) } else { ours.or(kernels) }?;
    let minus = |get: &dyn Fn(&Share) -> f64| {
        [get(&cell.too_deep) - get(&menu.too_deep), get(&cell.too_shallow) - get(&menu.too_shallow)]
    };
    Some(AgainstMenu {
        menu: menu.governor.clone(),
        real: minus(&|s| s.real.mean),
        simulated: minus(&|s| s.simulated.mean),
    })
}
