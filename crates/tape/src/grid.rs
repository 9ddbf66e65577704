// SPDX-License-Identifier: GPL-2.0-only
//! Where the scheduler's ticks lie: period and phase.

use idlewise_model::{Confidence, TickGrid};

use crate::survey::Facts;

/// Values of HZ that kernels are built with.
const USUAL_HZ: [u32; 7] = [1000, 500, 300, 250, 200, 100, 24];
/// Ticks that a grid must explain among the tick's own expiries.
const EXACT_SHARE: (usize, usize) = (9, 10);

/// Finds period and phase of the ticks, from the tick timer's own expiries or from the times of timer interrupts.
pub(crate) fn find_grids(f: &mut Facts, machine_hz: Option<u32>) {
    let offset = f.offsets.first_ns();
    let all: Vec<i64> =
        f.cpus.values().flat_map(|c| c.tick_expiries.iter().map(|e| e.saturating_add(offset))).collect();
    if let Some(grid) = exact_grid(&all, machine_hz) {
        for (cpu, seen) in &f.cpus {
            let own: Vec<i64> = seen.tick_expiries.iter().map(|e| e.saturating_add(offset)).collect();
            let hz = Some((1_000_000_000 / grid.period_ns) as u32);
            f.grids.insert(*cpu, exact_grid(&own, hz).unwrap_or(grid));
        }
        f.grid_confidence = Some(Confidence::Recorded);
        f.grid_how = format!("{}, from the tick timer's expiries", hz_words(grid.period_ns));
        return;
    }
    let irqs: Vec<u64> = f.cpus.values().flat_map(|c| c.timer_irqs.iter().copied()).collect();
    if let Some(grid) = folded_grid(&irqs, machine_hz) {
        f.grids = f.cpus.keys().map(|cpu| (*cpu, grid)).collect();
        f.grid_confidence = Some(Confidence::Derived);
        f.grid_how = format!("{}, from the times of timer interrupts", hz_words(grid.period_ns));
        return;
    }
    let hz = machine_hz.unwrap_or(250);
    f.grids = f.cpus.keys().map(|cpu| (*cpu, TickGrid::from_hz(hz))).collect();
    f.grid_confidence = Some(Confidence::Assumed);
    let why = if machine_hz.is_some() { "the platform's" } else { "assumed" };
    f.grid_how = format!("HZ {hz} ({why}), phase 0 assumed: the trace shows no ticks");
}

fn hz_words(period_ns: u64) -> String {
    format!("HZ {}", (1_000_000_000 + period_ns / 2) / period_ns)
}

/// The longest usual period on which the expiries lie, within 2 us.
fn exact_grid(expiries: &[i64], hz: Option<u32>) -> Option<TickGrid> {
    const NEAR_NS: i64 = 2_000;
    if expiries.len() < 3 {
        return None;
    }
    let mut found = None;
    let candidates: &[u32] = match &hz {
        Some(hz) => std::slice::from_ref(hz),
        None => &USUAL_HZ,
    };
    for &hz in candidates {
        let period = TickGrid::period_of(hz) as i64;
        let mut phases: Vec<i64> = expiries.iter().map(|e| e.rem_euclid(period)).collect();
        phases.sort_unstable();
        let phase = *phases.get(phases.len() / 2)?;
        let on_grid = expiries.iter().filter(|e| {
            let off = e.saturating_sub(phase).rem_euclid(period);
            off.min(period - off) <= NEAR_NS
        });
        if on_grid.count() * EXACT_SHARE.1 >= expiries.len() * EXACT_SHARE.0 {
            found = Some(TickGrid { period_ns: period as u64, phase_ns: phase as u64 });
        }
    }
    found
}

/// The longest usual period at which timer interrupts gather, and where.
fn folded_grid(irqs: &[u64], hz: Option<u32>) -> Option<TickGrid> {
    const BIN_NS: u64 = 20_000;
    const WINDOW: usize = 5;
    if irqs.len() < 50 {
        return None;
    }
    let candidates: &[u32] = match &hz {
        Some(hz) => std::slice::from_ref(hz),
        None => &USUAL_HZ,
    };
    let folded: Vec<(usize, TickGrid)> = candidates
        .iter()
        .map(|&hz| {
            let period_ns = TickGrid::period_of(hz);
            let bins = (period_ns / BIN_NS) as usize;
            let mut histogram = vec![0usize; bins + 1];
            for t in irqs {
                if let Some(bin) = histogram.get_mut((t % period_ns / BIN_NS) as usize) {
                    *bin += 1;
                }
            }
            let held =
                |at: usize| (0..WINDOW).map(|i| histogram.get((at + i) % bins).unwrap_or(&0)).sum::<usize>();
            let (at, n) =
                (0..bins).map(|b| (b, held(b))).max_by_key(|(b, n)| (*n, usize::MAX - b)).unwrap_or((0, 0));
            // The tick itself lies before the first interrupts that it causes.
            let first = (at..at + WINDOW)
                .find(|b| histogram.get(b % bins).is_some_and(|h| h * 20 >= n))
                .unwrap_or(at);
            (n, TickGrid { period_ns, phase_ns: first as u64 * BIN_NS % period_ns })
        })
        .collect();
    let most = folded.iter().map(|f| f.0).max()?;
    // A third of all timer interrupts in a tenth of a millisecond of the period is no chance; a longer period that
    // holds nearly as many is the true one.
    if most * 3 < irqs.len() {
        return None;
    }
    folded.iter().rfind(|f| f.0 * 5 >= most * 4).map(|f| f.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_is_the_longest_on_which_all_expiries_lie() {
        let expiries: Vec<i64> = [1, 2, 3, 7, 8, 30].map(|k| 1_234 + k * 4_000_000).to_vec();
        assert_eq!(exact_grid(&expiries, None), Some(TickGrid { period_ns: 4_000_000, phase_ns: 1_234 }));
        assert_eq!(exact_grid(&[5, 9], None), None);
    }

    #[test]
    fn interrupts_near_a_grid_give_it_away() {
        let mut irqs: Vec<u64> = (0..400).map(|k| k * 1_000_000 + 440_000 + k * 7919 % 60_000).collect();
        irqs.extend((0..200).map(|k| k * 1_777_777));
        let grid = folded_grid(&irqs, None).unwrap();
        assert_eq!(grid.period_ns, 1_000_000);
        assert!((420_000..=460_000).contains(&grid.phase_ns), "{grid:?}");
    }
}
