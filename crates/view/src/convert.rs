// SPDX-License-Identifier: GPL-2.0-only
//! What a conversion wrote, as text.

use std::path::Path;

use idlewise_explain::convert::{Carried, ConvertReport, Kept};
use idlewise_model::number_of;

/// So many kinds of events that lost their fields are named.
const NAMED: usize = 3;

/// What was written to `output`, which has so many `bytes`, in lines.
#[must_use]
pub fn convert(output: &Path, bytes: Option<u64>, report: &ConvertReport) -> Vec<String> {
    let bytes = bytes.map_or_else(String::new, |bytes| format!(", {bytes} bytes"));
    let mut out = vec![format!("{}: {}{bytes}", output.display(), number_of(report.events, "event"))];
    out.extend(report.assumption.iter().map(|a| format!("the governors' tracks are right if {a}")));
    out.extend(report.warnings.iter().map(|w| format!("WARNING: {w}")));
    out.extend(report.lacks.iter().map(|what| format!("not carried over: {what}")));
    if report.events == 0 {
        out.push("there are no events in this trace: `idlewise info` says what is wrong with it".to_owned());
    }
    let bare: u64 = report.bare.iter().map(|(_, n)| n).sum();
    if bare > 0 {
        let names: Vec<String> =
            report.bare.iter().take(NAMED).map(|(name, n)| format!("{name} {n}")).collect();
        let more = if report.bare.len() > NAMED { ", ..." } else { "" };
        out.push(format!("without their fields: {} ({}{more})", number_of(bare, "event"), names.join(", ")));
    }
    for tracks in report.tracks.iter().filter(|t| t.failure.is_none()) {
        let cpus: Vec<String> = tracks.cpus.iter().map(u32::to_string).collect();
        let of = if cpus.len() == 1 { "CPU" } else { "CPUs" };
        let cpus = cpus.join(" ");
        out.push(format!(
            "tracks of {}: {}, {of} {cpus}",
            tracks.governor,
            number_of(tracks.stays, "idle period")
        ));
    }
    out
}

/// What became of the description of a recording that was converted.
#[must_use]
pub fn carried(carried: &Carried, kept: &Kept) -> String {
    let what = &carried.what;
    match kept {
        Kept::Nowhere => format!(
            "not carried over: what is known of the recording ({what}); a file gets it as a side-car (--output FILE)"
        ),
        Kept::Written(sidecar) => format!("{}: what is known of the recording ({what})", sidecar.display()),
        Kept::Already(sidecar) => format!("{}: describes the new file, too ({what})", sidecar.display()),
        Kept::InTheWay(sidecar) => format!(
            "not carried over: what is known of the recording ({what}); {} exists, is not overwritten, and \
             describes the new file",
            sidecar.display()
        ),
    }
}
