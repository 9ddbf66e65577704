// SPDX-License-Identifier: GPL-2.0-only
use idlewise_governor::Spec;
use idlewise_lab::drive::drive;
use idlewise_lab::truth::truth;

use crate::args::DriveArgs;
use crate::output::{Done, Failure, say};

pub(crate) fn run(a: &DriveArgs) -> Done {
    let spec: Spec = a.governor.parse().map_err(|e: idlewise_governor::GovernorError| e.to_string())?;
    if a.decisions.is_empty() { golden(a, &spec) } else { decisions(a, &spec) }
}

fn golden(a: &DriveArgs, spec: &Spec) -> Done {
    let (mut steps, mut mismatches, mut failed) = (0, 0, Vec::new());
    for path in &a.golden {
        // One unreadable file does not take the others' results away.
        let result = match drive(spec, path) {
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

fn decisions(a: &DriveArgs, spec: &Spec) -> Done {
    let machine = idlewise_platform::find(&a.platform).map_err(|e| e.to_string())?;
    let mut same = true;
    for path in &a.decisions {
        let r = truth(spec, path, &machine, a.cpu)?;
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
