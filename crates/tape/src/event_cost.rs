// SPDX-License-Identifier: GPL-2.0-only
//! What the recording of one event takes. `cpu_idle` events lie around what the kernel measures of an idle period: the rest of the
//! first, after its time was read, and the beginning of the second count in the recording only
//! (`governor-behaviour.md` 1.4).

use std::collections::BTreeMap;

use idlewise_model::Event;

/// Samples kept, and the least to judge by.
const SAMPLES: usize = 20_000;
const ENOUGH: usize = 100;
/// One gap in so many may be shorter: an event that interrupts the recording of another has no later time than that one on some
/// kernels.
const SHORTER: usize = 100;
/// Where all gaps are multiples of this, the recording has no finer times, ns.
const COARSE_NS: u64 = 1_000;

/// Collects the gaps between events of a CPU that follow each other.
#[derive(Debug, Default)]
pub(crate) struct EventCost {
    last_ns: BTreeMap<u32, u64>,
    gaps: Vec<u64>,
}

impl EventCost {
    pub(crate) fn event(&mut self, e: &Event) {
        if self.gaps.len() >= SAMPLES {
            return;
        }
        if let Some(last_ns) = self.last_ns.insert(e.cpu, e.ts_ns) {
            self.gaps.push(e.ts_ns.saturating_sub(last_ns));
        }
    }

    /// What an event takes, ns: the gap where nothing else happens between two; 0 where that is not known.
    pub(crate) fn ns(mut self) -> u32 {
        let rank = self.gaps.len() / SHORTER;
        if self.gaps.len() < ENOUGH || self.gaps.iter().all(|gap| gap % COARSE_NS == 0) {
            return 0;
        }
        u32::try_from(*self.gaps.select_nth_unstable(rank).1).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use idlewise_model::EventKind;

    use super::*;

    fn cost(gaps_ns: impl IntoIterator<Item = u64>) -> u32 {
        let mut cost = EventCost::default();
        let mut ts_ns = 0;
        for gap_ns in gaps_ns {
            ts_ns += gap_ns;
            let kind = EventKind::CpuIdle { cpu: 0, state: None };
            cost.event(&Event { ts_ns, cpu: 0, pid: 0, kind });
            // Another CPU's events are recorded at the same time.
            cost.event(&Event { ts_ns: ts_ns + 1, cpu: 1, pid: 0, kind });
        }
        cost.ns()
    }

    #[test]
    fn an_event_takes_as_long_as_the_gap_in_which_nothing_else_happens() {
        let usual = [90, 400, 3_000, 91, 77_000];
        assert_eq!(cost(usual.into_iter().cycle().take(500)), 90);
        // One that interrupts another.
        let nested = std::iter::once(0).chain(usual.into_iter().cycle().take(500));
        assert_eq!(cost(nested), 90);
    }

    #[test]
    fn it_is_not_known_from_few_or_coarse_times() {
        assert_eq!(cost([90; 40]), 0);
        assert_eq!(cost([0, 1_000, 3_000].into_iter().cycle().take(500)), 0);
    }
}
