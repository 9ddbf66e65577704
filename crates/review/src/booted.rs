// SPDX-License-Identifier: GPL-2.0-only
//! All versions of a governor in a real kernel, booted on a virtual machine with a board's idle states.

use std::path::Path;
use std::sync::Mutex;

use idlewise_boot::{BootError, DEFAULT_VERSION, Watch, check_version, prepare};
use idlewise_machine::boot::{BootRequest, BuildRequest, Cell, RecordingCheck, run_without_failed};
use idlewise_recording::CommandError;
use idlewise_score::{Measure, Unit};
use idlewise_stats::PairedChange;

use crate::effect::measures;
use crate::report::{Booted, BootedChange, BootedNumber};
use crate::versions::Lineage;

/// The board, what runs on it, and for how long, in seconds of the guest.
const PLATFORM: &str = "rk3399";
const WORKLOAD: &str = "timer";
const SECONDS: u32 = 3;
/// Each is booted so often, each time a little later: another kernel is another machine in small things. The load is the same.
const STARTS: u32 = 5;

/// Passes on what is being done, and how many of the guests are booted.
struct Watcher<'p> {
    progress: &'p (dyn Fn(&str, usize, usize) + Sync),
    /// Done, and of how many.
    guests: Mutex<(usize, usize)>,
}

impl Watch for Watcher<'_> {
    fn doing(&self, what: &str) {
        let (done, of) = self.guests.lock().map_or((0, 1), |guests| *guests);
        (self.progress)(what, done, of);
    }

    fn booted(&self, done: usize, of: usize) {
        let guests = (done, of.max(1));
        if let Ok(mut now) = self.guests.lock() {
            *now = guests;
        }
        (self.progress)(&format!("booting {of} guests of {SECONDS} s"), guests.0, guests.1);
    }

    fn stopped(&self) -> bool {
        false
    }
}

/// The kernel to boot: Debian's of the base's version where there is one.
fn kernel(base: &str) -> String {
    let numbers: Vec<&str> = base.trim_start_matches("linux-").split('.').take(2).collect();
    let version = numbers.join(".");
    if check_version(&version).is_ok() { version } else { DEFAULT_VERSION.to_owned() }
}

/// Booting comes last: what it lacks is said, and what it needs is fetched, before anything is judged. `base` is what the base is
/// called, `folder` that of the recordings.
pub(crate) fn check(
    base: &str,
    folder: &Path,
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<(), CommandError> {
    let watcher = Watcher { progress, guests: Mutex::new((0, 1)) };
    prepare(&kernel(base), &watcher).map_err(|wrong: Vec<BootError>| {
        let all: Vec<String> = wrong.iter().map(|e| in_words(&e.to_string())).collect();
        CommandError::option("--boot", folder.display(), all.join("\n"))
    })
}

/// A message that may name options of `idlewise boot`.
fn in_words(text: &str) -> String {
    text.replace("--to", "--boot")
        .replace("give --folder, or set IDLEWISE_LAB", "set IDLEWISE_LAB")
        .replace("--folder or IDLEWISE_LAB", "IDLEWISE_LAB")
        .replace(", or name a tree with --kernel-tree", "")
}

/// Boots the `usable` versions of a governor, the base first, and that once more; recordings go below `folder`. Gives what was booted,
/// and the changes of each version against the base.
pub(crate) fn all(
    lineage: &Lineage,
    usable: &[usize],
    base: &str,
    folder: &Path,
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<(Booted, Vec<Option<BootedChange>>), String> {
    let file = |version: &usize| {
        let named = &lineage.versions[*version].named;
        named.split_once('@').map_or(named.as_str(), |(_, file)| file).to_owned()
    };
    let request = BootRequest {
        build: BuildRequest { version: Some(kernel(base)), ..BuildRequest::default() },
        platforms: vec![PLATFORM.to_owned()],
        governors: usable.iter().map(file).collect(),
        workloads: vec![WORKLOAD.to_owned()],
        seconds: SECONDS,
        starts: Some(STARTS),
        to: folder.join(&lineage.name),
        ..BootRequest::default()
    };
    let shown = |text: &str| usable.iter().fold(in_words(text), |text, v| lineage.versions[*v].shown(&text));
    let watcher = Watcher { progress, guests: Mutex::new((0, 1)) };
    let (report, failed) = run_without_failed(&request, true, &watcher).map_err(|e| shown(&e.to_string()))?;
    let (cells, further): (Vec<&Cell>, Vec<&Cell>) =
        report.cells.iter().partition(|cell| cell.start.is_none_or(|start| start <= STARTS));
    let first = &request.governors[0];
    let change = |file: &String, after: &[&Cell], again: bool| {
        let failure = failed.iter().find(|f| f.governor == *file && f.again == again);
        let failure = failure.map(|f| shown(&f.why));
        let as_recorded = |cell: &&Cell| {
            cell.checks.iter().find(|c| c.governor == *file).is_some_and(RecordingCheck::holds)
        };
        BootedChange {
            numbers: match failure {
                Some(_) => Vec::new(),
                None => measures()
                    .map(|m| number(m, &values(&cells, m, first), &values(after, m, file)))
                    .collect(),
            },
            as_recorded: after.iter().all(as_recorded),
            failure,
        }
    };
    let mut out = vec![None; lineage.versions.len()];
    for (version, file) in usable.iter().zip(&request.governors) {
        out[*version] = Some(change(file, &cells, false));
    }
    let complaints = report.cells.iter().flat_map(|cell| &cell.complaints);
    let complaints = complaints.map(|note| shown(&note.words)).collect();
    let of_base = report.cells.first().and_then(|cell| cell.governors.first());
    let energy_unit = of_base.ok_or("no guest of the base left a result")?.score.energy_unit.clone();
    let booted = Booted {
        kernel: report.kernel.clone(),
        platform: PLATFORM.to_owned(),
        workload: WORKLOAD.to_owned(),
        energy_unit,
        seconds: SECONDS,
        starts: STARTS,
        again: change(first, &further, true),
        complaints,
    };
    Ok((booted, out))
}

/// A measure under a governor in each of `cells`; nothing where it left no result.
fn values(cells: &[&Cell], measure: &'static Measure, governor: &String) -> Vec<Option<f64>> {
    let value = |cell: &&Cell| {
        let of = cell.governors.iter().find(|g| g.governor == *governor)?;
        Some(measure.value(&of.score))
    };
    cells.iter().map(value).collect()
}

/// A measure `after` against `before`, start by start.
fn number(measure: &'static Measure, before: &[Option<f64>], after: &[Option<f64>]) -> BootedNumber {
    let pairs: Vec<(f64, f64)> =
        before.iter().zip(after).filter_map(|(before, after)| Some(((*before)?, (*after)?))).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| {
        let sum: f64 = pairs.iter().map(of).sum();
        Some(sum / pairs.len() as f64).filter(|mean| mean.is_finite())
    };
    let change = PairedChange::of(&pairs);
    let pct = |share: Option<f64>| share.map(|s| s * 100.0);
    let points = measure.unit == Unit::Share;
    BootedNumber {
        metric: measure.name,
        base: mean(|pair| pair.0),
        value: mean(|pair| pair.1),
        unit: if points { "pp" } else { "%" },
        change: change.and_then(|c| if points { Some(c.difference) } else { pct(c.relative) }),
        half_width: change.and_then(|c| if points { c.half_width } else { pct(c.relative_half_width) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_in_other_starts_is_compared_with_itself() {
        let Some(energy) = measures().find(|m| m.name == "energy") else { unreachable!("energy decides") };
        let first = [1.00, 1.02, 0.98, 1.01, 0.99].map(Some);
        let again = [1.01, 0.99, 1.00, 0.98, 1.02].map(Some);
        let noise = number(energy, &first, &again);
        assert!(noise.change.unwrap().abs() < noise.half_width.unwrap(), "{noise:?}");
        let moved = number(energy, &first, &again.map(|v| v.map(|v| v * 1.5)));
        assert!(moved.change.unwrap() > moved.half_width.unwrap(), "{moved:?}");
        // A start that left nothing is in neither.
        let [mut fewer, nothing] = [again, [None; 5]];
        fewer[0] = None;
        assert_eq!(number(energy, &first, &fewer).base, Some(1.0));
        assert_eq!(number(energy, &first, &nothing).change, None);
    }

    #[test]
    fn messages_name_the_options_of_a_review() {
        let text = "name another folder with --folder or IDLEWISE_LAB";
        assert_eq!(in_words(text), "name another folder with IDLEWISE_LAB");
        assert_eq!(in_words("install one, or name a tree with --kernel-tree; x"), "install one; x");
        let none = in_words(&BootError::NoFolder.to_string());
        assert!(none.ends_with("set IDLEWISE_LAB") && !none.contains("--folder"), "{none}");
    }
}
