// SPDX-License-Identifier: GPL-2.0-only
//! Which of the kernel's limits an event changes: `pm_qos_update_target` is one event for the CPU latency limit, for limits of single
//! devices and for those of frequencies. The value before and the one after tell them apart: those of one limit follow each other,
//! and only the CPU latency limit is 2,000,000,000 where nobody asks for one (`governor-behaviour.md` 1.7).

use std::collections::BTreeMap;

use idlewise_model::{Change, Confidence, NO_LATENCY_LIMIT_NS};

/// The CPU latency limit that means none, us.
const NO_LIMIT_US: i32 = 2_000_000_000;
/// Latency limits of programs are shorter than this, and frequencies in kHz are above it.
const LONGEST_US: i32 = 100_000;

/// Follows the changes of each limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatencyLimits {
    chains: Vec<Chain>,
    /// When which limit became what, ns.
    changes: Vec<(u64, usize, i32)>,
    /// By its present value, the limits that have it, the one that changed last at the end.
    present: BTreeMap<i32, Vec<usize>>,
    /// Requests for single devices, whose limits are not read.
    pub(crate) requests: u64,
}

/// A limit, of CPU latency or of something else, as its changes show it.
#[derive(Clone, Copy, Debug)]
struct Chain {
    /// Before its first change.
    first: i32,
    /// It is [`NO_LIMIT_US`] at some time.
    of_cpus: bool,
    /// All of its values could be a latency's.
    short: bool,
}

impl Chain {
    fn sees(&mut self, value: i32) {
        self.of_cpus |= value == NO_LIMIT_US;
        self.short &= (1..LONGEST_US).contains(&value);
    }
}

impl LatencyLimits {
    /// A limit that was `prev` is `now` since `ts_ns`.
    pub(crate) fn changes(&mut self, ts_ns: u64, prev: i32, now: i32) {
        let known = self.present.get_mut(&prev).and_then(Vec::pop);
        let at = known.unwrap_or_else(|| {
            let mut chain = Chain { first: prev, of_cpus: false, short: true };
            chain.sees(prev);
            self.chains.push(chain);
            self.chains.len() - 1
        });
        if let Some(chain) = self.chains.get_mut(at) {
            chain.sees(now);
        }
        self.changes.push((ts_ns, at, now));
        self.present.entry(now).or_default().push(at);
    }

    /// The CPU latency limit since `begin_ns`, how well it is known, and how. `recorded`: the events were on.
    pub(crate) fn finish(&self, begin_ns: u64, recorded: bool) -> (Vec<Change<i64>>, Confidence, String) {
        let surely = self.chains.iter().filter(|c| c.of_cpus).count();
        let is_mine = |c: &Chain| if surely == 0 { c.short } else { c.of_cpus };
        let mine = self.chains.iter().filter(|c| is_mine(c)).count();
        let (known, how) = match (mine, surely) {
            (0, _) if !self.chains.is_empty() => (
                Confidence::Assumed,
                "pm_qos events of other limits only, those of frequencies or devices: none",
            ),
            (0, _) if self.requests > 0 => {
                (Confidence::Assumed, "requests, but no pm_qos_update_target events: none")
            }
            // One at the beginning may have been set long before.
            (0, _) if recorded => (Confidence::Assumed, "pm_qos events were recorded, and none came: none"),
            (0, _) => (Confidence::Assumed, "no pm_qos events: none"),
            (1, 1) => (Confidence::Recorded, "pm_qos events"),
            (1, _) => (Confidence::Bounded, "pm_qos events; the limit may be another one's than CPU latency"),
            // Where one limit is taken for two, events are missing.
            _ => (Confidence::Bounded, "pm_qos events, which do not follow each other"),
        };
        let devices = self.requests > 0 && mine > 0;
        let how = if devices { format!("{how}; those of single CPUs are not read") } else { how.to_owned() };
        let known = if devices { known.max(Confidence::Bounded) } else { known };
        let mut changes: Vec<Change<i64>> = Vec::new();
        for (ts_ns, at, us) in &self.changes {
            let Some(chain) = self.chains.get(*at).filter(|c| is_mine(c)) else { continue };
            if changes.is_empty() && limit_ns(chain.first) != NO_LATENCY_LIMIT_NS {
                changes.push(Change { at_ns: begin_ns.min(*ts_ns), value: limit_ns(chain.first) });
            }
            // In order of time, whatever the recording's clocks do.
            let before_ns = changes.last().map_or(0, |c| c.at_ns);
            changes.push(Change { at_ns: before_ns.max(*ts_ns), value: limit_ns(*us) });
        }
        (changes, known, how)
    }
}

fn limit_ns(us: i32) -> i64 {
    if (0..NO_LIMIT_US).contains(&us) { i64::from(us) * 1000 } else { NO_LATENCY_LIMIT_NS }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(events: &[(u64, i32, i32)]) -> (Vec<(u64, i64)>, Confidence) {
        let mut limits = LatencyLimits::default();
        events.iter().for_each(|(ts, prev, now)| limits.changes(*ts, *prev, *now));
        let (changes, known, _) = limits.finish(1, false);
        (changes.iter().map(|c| (c.at_ns, c.value)).collect(), known)
    }

    #[test]
    fn the_limit_of_cpu_latency_is_known_by_what_it_is_without_requests() {
        let none = NO_LATENCY_LIMIT_NS;
        let (set, gone) = ((5, NO_LIMIT_US, 30), (9, 30, NO_LIMIT_US));
        assert_eq!(of(&[set, gone]), (vec![(5, 30_000), (9, none)], Confidence::Recorded));
        // It was set before the recording.
        assert_eq!(of(&[gone]), (vec![(1, 30_000), (9, none)], Confidence::Recorded));
        // Frequencies in kHz, and a device's limit, at the same time.
        let others = [(6, 800_000, 400_000), (7, 400_000, 0), (8, i32::MAX, 20)];
        let all = [[set].as_slice(), &others, &[gone]].concat();
        assert_eq!(of(&all), (vec![(5, 30_000), (9, none)], Confidence::Recorded));
        assert_eq!(of(&others), (Vec::new(), Confidence::Assumed));
        assert_eq!(of(&[(3, 0, 0)]), (Vec::new(), Confidence::Assumed));
        assert_eq!(of(&[]), (Vec::new(), Confidence::Assumed));
    }

    #[test]
    fn what_may_be_another_limit_is_bounded() {
        assert_eq!(of(&[(5, 50, 20)]), (vec![(1, 50_000), (5, 20_000)], Confidence::Bounded));
        // An event is missing.
        let (changes, known) = of(&[(5, NO_LIMIT_US, 30), (9, 70, NO_LIMIT_US)]);
        assert_eq!((changes.len(), known), (2, Confidence::Bounded));
        let mut limits = LatencyLimits { requests: 1, ..LatencyLimits::default() };
        assert!(limits.finish(1, true).2.starts_with("requests, but"));
        limits.changes(5, NO_LIMIT_US, 30);
        assert_eq!(limits.finish(1, true).1, Confidence::Bounded);
    }
}
