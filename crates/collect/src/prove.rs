// SPDX-License-Identifier: GPL-2.0-only
//! Do governors decide on a scrubbed tape as on its recording?

use std::fmt;
use std::path::Path;

use idlewise_governor::catalog;
use idlewise_model::Entry;
use idlewise_recording::candidate::{Candidate, Runs};
use idlewise_recording::governors::candidates;
use idlewise_recording::placement::Placement;
use idlewise_recording::{RecordingOptions, ReplaySetup};
use idlewise_replay::{Setting, Workload};
use rayon::prelude::*;

use crate::error::CollectError;

/// What was compared, and was the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Every governor that ships with idlewise.
    pub governors: usize,
    /// Idle periods of each, all CPUs together, of which state, tick, times and verdict are the same.
    pub idle_periods: usize,
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} governors decide the same in {} idle periods", self.governors, self.idle_periods)
    }
}

/// Replays `original`, opened with `options`, and `scrubbed`, which is earlier by `shift_ns`, under every governor that ships with
/// idlewise, and compares each idle period.
///
/// # Errors
/// [`CollectError::Diverged`] at the first difference; else when one cannot be replayed.
pub fn prove(
    original: &Path,
    options: &RecordingOptions,
    scrubbed: &Path,
    shift_ns: u64,
) -> Result<Proof, CollectError> {
    let setup = ReplaySetup { recording: options.clone(), ..ReplaySetup::default() };
    let before = Placement::open_one(original, &setup)?;
    let after = Placement::open_one(scrubbed, &ReplaySetup::default())?;
    let works = [&before, &after].map(|p| p.workloads(p.first()?));
    let [before_works, after_works] = works;
    let (before_works, after_works) = (before_works?, after_works?);
    let names: Vec<String> = catalog().iter().map(|g| g.id.to_owned()).collect();
    let candidates = candidates(&names, &[])?;
    let counts: Vec<usize> = candidates
        .par_iter()
        .map(|candidate| {
            let entries = |placement: &Placement, works: &[Workload]| entries(candidate, placement, works);
            let (one, other) = (entries(&before, &before_works)?, entries(&after, &after_works)?);
            compare(original, candidate, &one, &other, shift_ns)
        })
        .collect::<Result<_, CollectError>>()?;
    Ok(Proof { governors: counts.len(), idle_periods: counts.iter().sum() })
}

fn entries(
    candidate: &Candidate,
    placement: &Placement,
    works: &[Workload],
) -> Result<Runs<Vec<Entry>>, CollectError> {
    let setting = Setting::new(placement.same_machine(placement.first()?), 0);
    let works: Vec<&Workload> = works.iter().collect();
    Ok(candidate.run(&works, placement, setting, |_, _| Vec::new())?)
}

/// How many idle periods are the same: all.
fn compare(
    path: &Path,
    candidate: &Candidate,
    before: &Runs<Vec<Entry>>,
    after: &Runs<Vec<Entry>>,
    shift_ns: u64,
) -> Result<usize, CollectError> {
    let diverged = |cpu, number| CollectError::Diverged {
        path: path.display().to_string(),
        governor: candidate.name().to_owned(),
        cpu,
        number,
    };
    let mut same = 0;
    for (n, one) in before.cpus.iter().enumerate() {
        let Some(other) = after.cpus.get(n).filter(|other| other.cpu == one.cpu) else {
            return Err(diverged(one.cpu, 0));
        };
        let moved = |e: &Entry| Entry { start_ns: e.start_ns.saturating_sub(shift_ns), ..*e };
        let differs = one.pages.iter().zip(&other.pages).position(|(a, b)| moved(a) != *b);
        let uneven = one.pages.len() != other.pages.len();
        if let Some(number) = differs.or(uneven.then(|| one.pages.len().min(other.pages.len()))) {
            return Err(diverged(one.cpu, number));
        }
        same += one.pages.len();
    }
    Ok(same)
}
