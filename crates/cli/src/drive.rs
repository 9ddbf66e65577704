// SPDX-License-Identifier: GPL-2.0-only
use std::path::Path;

use idlewise_governor::Governor;
use idlewise_lab::drive::drive_governor;
use idlewise_lab::governors::find_one;
use idlewise_lab::parity::parity;
use idlewise_lab::truth::truth_of_governor;
use idlewise_lab::{RecordingOptions, view};
use idlewise_platform::Platform;

use crate::args::DriveArgs;
use crate::output::{Done, Failure, say};

pub(crate) fn run(a: &DriveArgs) -> Done {
    let governor = find_one(&a.governor, &a.kernels.trees)?;
    if a.decisions.is_empty() { golden(a, &governor) } else { decisions(a, &governor) }
}

fn golden(a: &DriveArgs, governor: &Governor) -> Done {
    let (mut steps, mut mismatches, mut failed) = (0, 0, Vec::new());
    for path in &a.golden {
        // One unreadable file does not take the others' results away.
        let result = match drive_governor(governor, path) {
            Ok(result) => result,
            Err(e) => {
                eprintln!("idlewise: {e}");
                failed.push(path.display().to_string());
                continue;
            }
        };
        say(&format!("{} steps={} mismatches={}\n", path.display(), result.steps, result.mismatches))?;
        for m in result.first.iter().take(a.show) {
            say(&format!("  {m}\n"))?;
        }
        steps += result.steps;
        mismatches += result.mismatches;
    }
    say(&format!("total files={} steps={steps} mismatches={mismatches}\n", a.golden.len() - failed.len()))?;
    if !failed.is_empty() {
        return Err(Failure::Error(format!(
            "{} of {} files could not be driven",
            failed.len(),
            a.golden.len()
        )));
    }
    Ok(mismatches == 0)
}

fn decisions(a: &DriveArgs, governor: &Governor) -> Done {
    let machine = idlewise_platform::find(&a.platform).map_err(|e| e.to_string())?;
    let mut same = true;
    for path in &a.decisions {
        if !is_csv(path) {
            same &= trace(a, governor, path, &machine)?;
            continue;
        }
        let r = truth_of_governor(governor, path, &machine, a.cpu)?;
        say(&format!(
            "{} steps={} mismatches={} (same {:.4} %; state {}, tick {}, next to an aborted select {}; {} more hang on memory from before)\n",
            path.display(),
            r.rows,
            r.other,
            r.same_pct(),
            r.other_state,
            r.other_tick,
            r.aborted,
            r.unknown_memory
        ))?;
        for parting in r.first.iter().take(a.show) {
            say(&format!("  {parting}\n"))?;
        }
        same &= r.other == 0;
    }
    Ok(same)
}

/// A file of rows; anything else is a trace.
fn is_csv(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let bare = name.strip_suffix(".xz").or_else(|| name.strip_suffix(".gz")).unwrap_or(&name);
    bare.ends_with(".csv")
}

fn trace(a: &DriveArgs, governor: &Governor, path: &Path, machine: &Platform) -> Done {
    let all = parity(path, &RecordingOptions::default(), machine, Some(governor), &a.kernels.trees)?;
    let mut same = true;
    for p in &all {
        say(&format!("{} {}\n", path.display(), view::parity(p)))?;
        let Ok(counts) = &p.result else { continue };
        for m in counts.first.iter().take(a.show) {
            say(&format!("  {m}\n"))?;
        }
        same &= p.mismatches() == 0;
    }
    Ok(same && all.iter().any(|p| p.result.is_ok()))
}
