// SPDX-License-Identifier: GPL-2.0-only
use idlewise_governor::Governor;
use idlewise_lab::drive::drive_governor;
use idlewise_lab::governors::find_one;
use idlewise_lab::truth::truth_of_governor;

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
