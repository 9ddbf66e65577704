// SPDX-License-Identifier: GPL-2.0-only
//! What came of checks against recorded steps, as lines.

use std::path::Path;

use idlewise_conform::drive::{DriveReport, DrivenDecisions, GoldenResult};
use idlewise_report::share;

use crate::agreement::words as agreement;

/// The lines about one golden file: how many decisions agree, and the first that do not.
#[must_use]
pub fn golden(file: &GoldenResult) -> Vec<String> {
    let head = format!("{} steps={} mismatches={}", file.file, file.steps, file.mismatches);
    std::iter::once(head).chain(file.lines.iter().map(|line| format!("  {line}"))).collect()
}

/// All golden files together.
#[must_use]
pub fn golden_total(all: &DriveReport) -> String {
    format!("total files={} steps={} mismatches={}", all.files.len(), all.steps, all.mismatches)
}

/// The decisions of the file at `path`, with the first `show` that differ.
#[must_use]
pub fn decisions(path: &Path, driven: &DrivenDecisions, show: usize) -> Vec<String> {
    let path = path.display();
    let mut out = Vec::new();
    match driven {
        DrivenDecisions::Table(r) => {
            out.push(format!(
                "{path} steps={} mismatches={} (same {} %; state {}, tick {}, next to an aborted select {}; {} more \
                 depend on what came before the recording, {} were abandoned; sleep length asked \
                 differently {}, \
                 poll limit different {}, reset {})",
                r.decisions,
                r.diverging(),
                share(r.same_pct(), 4),
                r.other_state,
                r.other_tick,
                r.next_to_aborted,
                r.unknown_state,
                r.not_recorded,
                r.other_question,
                r.other_poll_limit,
                r.poll_limit_resets
            ));
            out.extend(r.first.iter().take(show).map(|d| format!("  {d}")));
        }
        DrivenDecisions::Trace(all) => {
            for p in all {
                out.push(format!("{path} {}", agreement(p)));
                let first = p.result.iter().flat_map(|counts| &counts.first);
                out.extend(first.take(show).map(|d| format!("  {d}")));
            }
        }
    }
    out
}
