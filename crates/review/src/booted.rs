// SPDX-License-Identifier: GPL-2.0-only
//! All versions of a governor in a real kernel, booted on a virtual machine with a board's idle states.

use std::path::Path;

use idlewise_boot::{DEFAULT_VERSION, Watch, check_version};
use idlewise_machine::boot::{BootReport, BootRequest, BuildRequest, RecordingCheck, run};
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

/// Passes on what is being done.
struct Watcher<'p>(&'p (dyn Fn(&str, usize, usize) + Sync));

impl Watch for Watcher<'_> {
    fn doing(&self, what: &str) {
        (self.0)(what, 0, 1);
    }

    fn booted(&self, done: usize, of: usize) {
        (self.0)("booting", done, of.max(1));
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

/// Boots the `usable` versions of a governor; recordings go below `folder`. Gives what was booted, and the changes of each version
/// against the first of them.
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
    let shown = |text: String| usable.iter().fold(text, |text, v| lineage.versions[*v].shown(&text));
    let report = run(&request, &Watcher(progress)).map_err(|e| shown(e.to_string()))?;
    let mut out = vec![None; lineage.versions.len()];
    for (at, version) in usable.iter().enumerate() {
        out[*version] = Some(BootedChange {
            numbers: measures().map(|m| number(&report, m, at)).collect(),
            as_recorded: report.cells.iter().all(|c| c.checks.get(at).is_some_and(RecordingCheck::holds)),
        });
    }
    let complaints = report.cells.iter().flat_map(|cell| &cell.complaints);
    let complaints = complaints.map(|note| shown(note.words.clone())).collect();
    let booted = Booted {
        kernel: report.kernel.clone(),
        platform: PLATFORM.to_owned(),
        workload: WORKLOAD.to_owned(),
        seconds: SECONDS,
        starts: STARTS,
        complaints,
    };
    Ok((booted, out))
}

/// A measure under version number `at` against the first, start by start.
fn number(report: &BootReport, measure: &'static Measure, at: usize) -> BootedNumber {
    let pair = |cell: &idlewise_machine::boot::Cell| {
        let value = |at: usize| Some(measure.value(&cell.governors.get(at)?.score));
        Some((value(0)?, value(at)?))
    };
    let pairs: Vec<(f64, f64)> = report.cells.iter().filter_map(pair).collect();
    let change = PairedChange::of(&pairs);
    let pct = |share: Option<f64>| share.map(|s| s * 100.0);
    let points = measure.unit == Unit::Share;
    BootedNumber {
        metric: measure.name,
        unit: if points { "pp" } else { "%" },
        change: change.and_then(|c| if points { Some(c.difference) } else { pct(c.relative) }),
        half_width: change.and_then(|c| if points { c.half_width } else { pct(c.relative_half_width) }),
    }
}
