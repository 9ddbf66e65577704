// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel counted, in the forms that people mail, one beside the other: `idlewise diff`.
//!
//! Two files may mean two things. Two *looks* at one machine: what happened is the later minus the earlier. Two *runs*,
//! each of which tells by itself what happened: a recording, a file with the looks before and after, counters since boot.

mod input;
mod log;
mod part;
mod report;
mod request;
mod snapshots;

use std::path::{Path, PathBuf};

use idlewise_model::{Note, NoteId};
use idlewise_recording::CommandError;
use idlewise_recording::input_files::{distinct, file_name};

use input::{Input, Runs};
use snapshots::{between, goes_on, other};

pub use report::{DiffReport, LoggedValue, Part, Run, SCHEMA, StatePart};
pub use request::{DiffRequest, Meaning};

/// Reads and subtracts.
///
/// # Errors
/// [`CommandError`] when a file cannot be read, or files do not belong together.
pub fn diff(request: &DiffRequest) -> Result<DiffReport, CommandError> {
    request.recording.check_governor()?;
    let paths: Vec<&Path> =
        [Some(&request.before), request.after.as_ref()].into_iter().flatten().map(PathBuf::as_path).collect();
    let bare: Vec<String> = paths.iter().map(|path| file_name(path)).collect();
    let named: Vec<(&Path, &str)> = paths.iter().copied().zip(bare.iter().map(String::as_str)).collect();
    let mut names = distinct(&named).into_iter();
    let mut read = |path: &Path| Input::read(path, names.next().unwrap_or_else(|| file_name(path)), request);
    let before = read(&request.before)?;
    if let Some(after) = &request.after {
        differ(&request.before, after)?;
    }
    let mut notes = before.notes.clone();
    let Some(after) = &request.after else {
        heard(request, &[&before])?;
        let name = before.name.clone();
        if request.meaning == Some(Meaning::Looks) {
            before.last_look()?;
        }
        let Runs { meaning, because, runs } = before.runs(request.meaning, &mut notes)?;
        if request.meaning == Some(Meaning::Runs) && meaning != Meaning::Runs {
            let why = format!("{name}: one run; name a second to compare it with");
            return Err(CommandError::not_given("AFTER", why));
        }
        return Ok(report(meaning, because, vec![name], runs, notes));
    };
    let after = read(after)?;
    heard(request, &[&before, &after])?;
    notes.extend(after.notes.iter().filter(|n| !before.notes.contains(n)).cloned());
    let files = vec![before.name.clone(), after.name.clone()];
    let counts = (before.looks(), after.looks());
    let meaning = request.meaning.map(|m| (m, "as asked for".to_owned())).or(match counts {
        (Some(1), Some(1)) => None,
        (Some(1), _) | (_, Some(1)) => {
            let (one, two) = if counts.0 == Some(1) { (0, 1) } else { (1, 0) };
            let name = |i: usize| files.get(i).map_or("", String::as_str);
            let why = format!(
                "{} is one snapshot of a machine, {} holds a whole run: give two files of one kind, or use \
                 --as snapshots or --as runs",
                name(one),
                name(two)
            );
            return Err(CommandError::conflict(&["BEFORE", "AFTER"], why));
        }
        _ => Some((Meaning::Runs, "each file holds a whole run".to_owned())),
    });
    match meaning {
        Some((Meaning::Runs, because)) => {
            // Of a kind: stays last somewhat longer than what the kernel measures.
            let by_stays = match (before.has_counters()?, after.has_counters()?) {
                (Some(true), Some(false)) => Some((&before, &after)),
                (Some(false), Some(true)) => Some((&after, &before)),
                _ => None,
            };
            if let Some((with, without)) = by_stays {
                notes.push(NoteId::CountersUnused.note(format!(
                    "{}: its counters of the kernel are not used, for {} has none",
                    with.name, without.name
                )));
            }
            let stays = by_stays.is_some();
            let runs = vec![before.run(stays, &mut notes)?, after.run(stays, &mut notes)?];
            Ok(report(Meaning::Runs, because, files, runs, notes))
        }
        Some((Meaning::Looks, because)) => {
            let run = between(before.last_look()?, after.last_look()?, &mut notes)?;
            Ok(report(Meaning::Looks, because, files, vec![run], notes))
        }
        None => looks_or_boots(&before, &after, files, notes),
    }
}

/// A file is compared with another one.
fn differ(before: &Path, after: &Path) -> Result<(), CommandError> {
    let place = |path: &Path| path.canonicalize().ok();
    if place(before).is_some_and(|before| place(after) == Some(before)) {
        return Err(CommandError::SameFiles {
            first: before.display().to_string(),
            second: after.display().to_string(),
            why: "the same file; name two files, or one that holds both snapshots",
        });
    }
    Ok(())
}

/// An option that says something about none of the files is a mistake.
fn heard(request: &DiffRequest, inputs: &[&Input]) -> Result<(), CommandError> {
    let names: Vec<&str> = inputs.iter().map(|i| i.name.as_str()).collect();
    let names = names.join(" and ");
    if !request.cpus.is_empty() && !inputs.iter().any(|i| i.took_cpus) {
        let why = format!(
            "--cpus is for bare values, which name no CPU; {names}: the CPUs are named there: leave --cpus out"
        );
        return Err(CommandError::conflict(&["--cpus"], why));
    }
    let option = request.recording.first_given();
    match option.filter(|_| !inputs.iter().any(|i| i.is_recording())) {
        Some(option) => {
            let why =
                format!("{option} is for recordings; {names}: counters of the kernel: leave {option} out");
            Err(CommandError::conflict(&[option], why))
        }
        None => Ok(()),
    }
}

/// Two single looks: at one machine, unless counters ran back, as they do when it was started anew.
fn looks_or_boots(
    before: &Input,
    after: &Input,
    files: Vec<String>,
    mut notes: Vec<Note>,
) -> Result<DiffReport, CommandError> {
    let (a, b) = (before.last_look()?, after.last_look()?);
    let swapped = |why: &str| {
        let why = format!(
            "{why} Every counter is smaller in the second file: are they swapped? To compare two boots: --as runs"
        );
        CommandError::conflict(&["BEFORE", "AFTER"], why)
    };
    if let Some(differ) = a.other_machine(b) {
        if b.other_machine(a).is_none() && goes_on(b, a) {
            return Err(swapped(&format!("{}.", differ.why())));
        }
        let because = format!("counters since boot, because the {} differ", differ.what());
        notes.push(other(&differ, &format!("{} and {}", before.name, after.name)));
        let runs = vec![before.run(false, &mut notes)?, after.run(false, &mut notes)?];
        return Ok(report(Meaning::Runs, because, files, runs, notes));
    }
    let refused = match between(a, b, &mut notes) {
        Ok(run) => {
            let decreases = if goes_on(a, b) { "no counter decreases" } else { "few counters decrease" };
            let because = format!("one snapshot each, and {decreases}");
            return Ok(report(Meaning::Looks, because, files, vec![run], notes));
        }
        Err(refused) => refused,
    };
    if goes_on(b, a) {
        return Err(swapped(&refused.to_string()));
    }
    let because = "counters since boot, because the snapshots are not of one boot".to_owned();
    notes.push(NoteId::OtherBoot.note(refused.to_string()));
    let runs = vec![before.run(false, &mut notes)?, after.run(false, &mut notes)?];
    Ok(report(Meaning::Runs, because, files, runs, notes))
}

fn report(
    meaning: Meaning,
    because: String,
    files: Vec<String>,
    runs: Vec<Run>,
    mut notes: Vec<Note>,
) -> DiffReport {
    if let (Meaning::Runs, [a, b]) = (meaning, runs.as_slice()) {
        notes.extend(unpaired(a, b));
    }
    DiffReport { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), meaning, because, files, runs, notes }
}

/// What to know where states of one run are not in the other.
fn unpaired(a: &Run, b: &Run) -> Option<Note> {
    let pairs = a.all.paired(&b.all);
    let only = |which: &str, states: Vec<&StatePart>| {
        let shown: Vec<String> = states.into_iter().map(StatePart::shown).collect();
        (!shown.is_empty()).then(|| format!("only in {which}: {}", shown.join(", ")))
    };
    let of_a = pairs.iter().filter(|(_, b)| b.is_none()).filter_map(|(a, _)| *a).collect();
    let of_b = pairs.iter().filter(|(a, _)| a.is_none()).filter_map(|(_, b)| *b).collect();
    let both: Vec<String> = [only("A", of_a), only("B", of_b)].into_iter().flatten().collect();
    let words = || format!("states with exit latency/target residency, {}", both.join("; "));
    (!both.is_empty()).then(|| NoteId::OtherMachine.note(words()))
}
