// SPDX-License-Identifier: GPL-2.0-only
//! All versions of a governor in a real kernel, booted on a virtual machine with a board's idle states.

use std::path::Path;
use std::sync::Mutex;

use idlewise_boot::{BootError, DEFAULT_VERSION, Watch, check_version, prepare};
use idlewise_machine::boot::{
    BootReport, BootRequest, BuildRequest, Cell, RecordingCheck, run_without_failed,
};
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

/// Boots the `usable` versions of a governor, the base first; recordings go below `folder`. Gives what was booted, and the changes of
/// each version against the base.
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
    let (report, failed) = run_without_failed(&request, &watcher).map_err(|e| shown(&e.to_string()))?;
    let mut out = vec![None; lineage.versions.len()];
    for (version, file) in usable.iter().zip(&request.governors) {
        let failure = failed.iter().find(|f| f.governor == *file).map(|f| shown(&f.why));
        let as_recorded =
            |cell: &Cell| cell.checks.iter().find(|c| c.governor == *file).is_some_and(RecordingCheck::holds);
        out[*version] = Some(BootedChange {
            numbers: match failure {
                Some(_) => Vec::new(),
                None => measures().map(|m| number(&report, m, [&request.governors[0], file])).collect(),
            },
            as_recorded: report.cells.iter().all(as_recorded),
            failure,
        });
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
        complaints,
    };
    Ok((booted, out))
}

/// A measure under the second of two governors against the first, start by start.
fn number(report: &BootReport, measure: &'static Measure, governors: [&String; 2]) -> BootedNumber {
    let pair = |cell: &Cell| {
        let value = |name: &String| {
            let of = cell.governors.iter().find(|g| g.governor == *name)?;
            Some(measure.value(&of.score))
        };
        let [first, second] = governors.map(value);
        Some((first?, second?))
    };
    let pairs: Vec<(f64, f64)> = report.cells.iter().filter_map(pair).collect();
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
    fn messages_name_the_options_of_a_review() {
        let text = "name another folder with --folder or IDLEWISE_LAB";
        assert_eq!(in_words(text), "name another folder with IDLEWISE_LAB");
        assert_eq!(in_words("install one, or name a tree with --kernel-tree; x"), "install one; x");
        let none = in_words(&BootError::NoFolder.to_string());
        assert!(none.ends_with("set IDLEWISE_LAB") && !none.contains("--folder"), "{none}");
    }
}
