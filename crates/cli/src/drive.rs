// SPDX-License-Identifier: GPL-2.0-only
use std::path::Path;

use idlewise_conform::golden_file::GoldenError;
use idlewise_conform::pelt::{drive_pelt, find_pelt};
use idlewise_conform::{decision_table, golden as golden_rows, published, recorded_governors};
use idlewise_governor::Governor;
use idlewise_platform::Platform;
use idlewise_recording::RecordingOptions;
use idlewise_recording::governors::find_one;
use idlewise_report::share;
use idlewise_view as view;
use serde::Serialize;
use serde_json::Value;

use crate::args::{DriveArgs, DriveForm};
use crate::output::{Done, Failure, say, say_line, warn};

pub(crate) fn run(a: &DriveArgs) -> Done {
    if let Some(signal) = &a.signal {
        let pelt = find_pelt(signal)?;
        return golden(a, |path| {
            let done = drive_pelt(&pelt, path)?;
            Ok(Driven::new(path, done.steps, done.mismatches, &done.first, &done.first))
        });
    }
    let governor = find_one(a.governor.as_deref().unwrap_or_default(), &a.kernels.trees)?;
    if !a.decisions.is_empty() {
        return decisions(a, &governor);
    }
    golden(a, |path| {
        let done = golden_rows::drive_governor(&governor, path)?;
        let json = done.first.iter().map(published::row);
        Ok(Driven::new(path, done.decisions, done.diverging(), json, &done.first))
    })
}

/// What came of one golden file.
#[derive(Serialize)]
struct Driven {
    file: String,
    steps: u64,
    mismatches: u64,
    /// All that is known of the first mismatches.
    first: Vec<Value>,
    /// The same as lines.
    #[serde(skip)]
    lines: Vec<String>,
}

impl Driven {
    fn new<J: Serialize, M: ToString>(
        path: &Path,
        steps: u64,
        mismatches: u64,
        json: impl IntoIterator<Item = J>,
        first: &[M],
    ) -> Self {
        Self {
            file: path.display().to_string(),
            steps,
            mismatches,
            first: json.into_iter().filter_map(|m| serde_json::to_value(m).ok()).collect(),
            lines: first.iter().map(ToString::to_string).collect(),
        }
    }
}

/// What came of all of them.
#[derive(Serialize)]
struct All {
    schema: &'static str,
    version: &'static str,
    files: Vec<Driven>,
    steps: u64,
    mismatches: u64,
}

fn golden(a: &DriveArgs, drive: impl Fn(&Path) -> Result<Driven, GoldenError>) -> Done {
    let mut failed = 0;
    let mut all = All {
        schema: "idlewise.drive/1",
        version: env!("CARGO_PKG_VERSION"),
        files: Vec::new(),
        steps: 0,
        mismatches: 0,
    };
    for path in &a.golden {
        // One unreadable file does not take the others' results away.
        let mut driven = match drive(path) {
            Ok(driven) => driven,
            Err(e) => {
                warn(&e.to_string());
                failed += 1;
                continue;
            }
        };
        driven.first.truncate(a.show);
        if a.format == DriveForm::Table {
            say_line(&format!("{} steps={} mismatches={}", driven.file, driven.steps, driven.mismatches))?;
            for line in driven.lines.iter().take(a.show) {
                say_line(&format!("  {line}"))?;
            }
        }
        all.steps += driven.steps;
        all.mismatches += driven.mismatches;
        all.files.push(driven);
    }
    match a.format {
        DriveForm::Table => say_line(&format!(
            "total files={} steps={} mismatches={}",
            all.files.len(),
            all.steps,
            all.mismatches
        ))?,
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
        if !is_csv(path) {
            same &= trace(a, governor, path, &machine)?;
            continue;
        }
        let cpu = a.cpu.unwrap_or(0);
        let r = decision_table::drive_governor(governor, path, &machine, cpu)?;
        say_line(&format!(
            "{} steps={} mismatches={} (same {} %; state {}, tick {}, next to an aborted select {}; {} more \
             depend on the governor's state before the recording, {} were abandoned; sleep length asked \
             differently {}, \
             poll limit different {}, reset {})",
            path.display(),
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
        ))?;
        for divergence in r.first.iter().take(a.show) {
            say_line(&format!("  {divergence}"))?;
        }
        same &= r.diverging() == 0;
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
    if let Some(cpu) = a.cpu {
        let path = path.display();
        return Err(format!(
            "{path}: a trace names its CPUs; --cpu {cpu} is for tables (.csv): leave it out"
        )
        .into());
    }
    let options = RecordingOptions::default();
    let all = recorded_governors::of_trace(path, &options, machine, Some(governor), &a.kernels.trees)?;
    let mut same = true;
    for p in &all {
        say_line(&format!("{} {}", path.display(), view::agreement(p)))?;
        let Ok(counts) = &p.result else { continue };
        for m in counts.first.iter().take(a.show) {
            say_line(&format!("  {m}"))?;
        }
        same &= p.mismatches() == 0;
    }
    Ok(same && all.iter().any(|p| p.result.is_ok()))
}
