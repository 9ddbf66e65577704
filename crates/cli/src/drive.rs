// SPDX-License-Identifier: GPL-2.0-only
use idlewise_conform::drive::{DriveReport, Driven, DrivenDecisions};
use idlewise_conform::pelt::find_pelt;
use idlewise_governor::Governor;
use idlewise_recording::governors::find_one;
use idlewise_recording::input_files::each_once;
use idlewise_view::drive as view;

use crate::args::{DriveArgs, DriveForm};
use crate::output::{Done, Failure, say, say_line, warn};

pub(crate) fn run(a: &DriveArgs) -> Done {
    each_once(&a.golden)?;
    each_once(&a.decisions)?;
    if let Some(signal) = &a.signal {
        return golden(a, &Driven::Pelt(find_pelt(signal)?));
    }
    let governor = find_one(a.governor.as_deref().unwrap_or_default(), &a.kernels.trees)?;
    if !a.decisions.is_empty() {
        return decisions(a, &governor);
    }
    golden(a, &Driven::Governor(governor))
}

fn golden(a: &DriveArgs, driven: &Driven) -> Done {
    let mut files = Vec::new();
    for path in &a.golden {
        // One unreadable file does not take the others' results away.
        match driven.golden(path, a.show) {
            Ok(file) => {
                if a.format == DriveForm::Table {
                    view::golden(&file).iter().try_for_each(|line| say_line(line))?;
                }
                files.push(file);
            }
            Err(e) => warn(&e.to_string()),
        }
    }
    let failed = a.golden.len() - files.len();
    let all = DriveReport::of(files);
    match a.format {
        DriveForm::Table => say_line(&view::golden_total(&all))?,
        DriveForm::Json => {
            let text = serde_json::to_string_pretty(&all).map_err(|e| e.to_string())?;
            say(&(text + "\n"))?;
        }
    }
    if failed > 0 {
        return Err(Failure::Error(format!("{failed} of {} files could not be checked", a.golden.len())));
    }
    Ok(all.mismatches == 0)
}

fn decisions(a: &DriveArgs, governor: &Governor) -> Done {
    let machine = idlewise_platform::find(&a.platform).map_err(|e| e.to_string())?;
    let mut same = true;
    for path in &a.decisions {
        let driven = DrivenDecisions::of(governor, path, &machine, a.cpu, &a.kernels.trees)?;
        view::decisions(path, &driven, a.show).iter().try_for_each(|line| say_line(line))?;
        same &= driven.is_same();
    }
    Ok(same)
}
