// SPDX-License-Identifier: GPL-2.0-only
use std::thread::sleep;
use std::time::Duration;

use super::kit::{Chance, LoadRequest, percentile_us};
use crate::{LiveError, clock};

/// Shortest sleep, µs; the longest is 400 times that, and each power of two between is as frequent.
const SHORTEST_US: f64 = 50.0;
const LONGEST_US: f64 = 20_000.0;

pub(super) fn run(request: &LoadRequest) -> Result<Vec<f64>, LiveError> {
    let mut chance = Chance(request.seed);
    let mut late = Vec::new();
    let start = clock::now();
    while start.elapsed() < request.duration {
        let part = chance.below(1 << 20) as f64 / f64::from(1 << 20);
        let time = Duration::from_nanos((SHORTEST_US * (LONGEST_US / SHORTEST_US).powf(part) * 1e3) as u64);
        let before = clock::now();
        sleep(time);
        late.push(before.elapsed().saturating_sub(time));
    }
    Ok(vec![percentile_us(&mut late, 0.5), percentile_us(&mut late, 0.99)])
}
