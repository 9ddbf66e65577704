// SPDX-License-Identifier: GPL-2.0-only
//! Recordings that a user names: files, and folders of them.

use std::fs;
use std::path::{Path, PathBuf};

use idlewise_corpus::{Basis, Corpus, CorpusError, Entry, INDEX, Presence, Selection};
use idlewise_recording::input_files::is_tape;
use idlewise_recording::placement::Placement;
use idlewise_recording::{CommandError, ReplaySetup};

/// How files in a folder end that are no recordings: what lies next to one.
const NEXT_TO_ONE: [&str; 10] = ["toml", "md", "json", "csv", "sh", "py", "html", "png", "svg", "xz"];

/// The grade of recordings that a corpus does not trust.
const POOR: &str = "poor";

/// A file that may hold a recording.
#[derive(Clone, Debug)]
pub struct RecordingFile {
    pub path: PathBuf,
    /// What it is called.
    pub name: String,
    /// The user named it itself, not a folder that it is in.
    pub by_user: bool,
    /// The machine that was recorded, where a corpus says it.
    pub recorded_on: Option<String>,
    /// How much of it was measured, where a corpus says it.
    pub basis: Option<Basis>,
    /// Why it is not replayed, where that is known before.
    pub refused: Option<String>,
}

/// The recordings of a corpus: what its index has, unchanged.
fn of_corpus(folder: &Path) -> Result<Vec<RecordingFile>, CommandError> {
    let wrong = |e: CorpusError| CommandError::input(folder, e);
    let corpus = Corpus::open(folder).map_err(wrong)?;
    let named = |entry: &Entry| {
        let path = corpus.path(entry);
        let refused = match corpus.check(entry) {
            Presence::Whole if entry.trust == POOR => {
                let why = entry.reasons.join("; ");
                Some(format!("its grade is poor: {why}; name the file itself to use it all the same"))
            }
            Presence::Whole => None,
            Presence::Missing => Some("the index has it, and the file is not there".to_owned()),
            Presence::Changed(why) => Some(format!("not what the index says: {why}")),
        };
        RecordingFile {
            name: file_name(&path),
            // A tape says it itself.
            recorded_on: is_tape(&path).is_ok_and(|tape| !tape).then(|| entry.machine.clone()),
            path,
            by_user: false,
            basis: Some(entry.basis),
            refused,
        }
    };
    Ok(corpus.select(&Selection::default()).map_err(wrong)?.into_iter().map(named).collect())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The files that `given` names: recordings, folders of them, and folders of a corpus; what is in folders in the order of its names.
///
/// # Errors
/// [`CommandError`] when a folder or the index of a corpus cannot be read, or a folder has no file that could be a recording.
pub fn recording_files(given: &[PathBuf]) -> Result<Vec<RecordingFile>, CommandError> {
    let mut out: Vec<RecordingFile> = Vec::new();
    for path in given {
        if path.join(INDEX).is_file() {
            out.extend(of_corpus(path)?);
        } else if path.is_dir() {
            let mut inside = Vec::new();
            below(path, &mut inside)?;
            if inside.is_empty() {
                return Err(CommandError::input(path, "the folder has no file that could be a recording"));
            }
            out.extend(inside.into_iter().map(|path| RecordingFile {
                name: file_name(&path),
                path,
                by_user: false,
                recorded_on: None,
                basis: None,
                refused: None,
            }));
        } else {
            let name = file_name(path);
            let (path, by_user) = (path.clone(), true);
            out.push(RecordingFile { path, name, by_user, recorded_on: None, basis: None, refused: None });
        }
    }
    // Files of one name in several folders are called by their paths.
    let names: Vec<String> = out.iter().map(|n| n.name.clone()).collect();
    for named in &mut out {
        if names.iter().filter(|name| **name == named.name).count() > 1 {
            named.name = named.path.display().to_string();
        }
    }
    Ok(out)
}

fn below(folder: &Path, out: &mut Vec<PathBuf>) -> Result<(), CommandError> {
    let wrong = |e| CommandError::file(folder, e);
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrong)? {
        entries.push(entry.map_err(wrong)?.path());
    }
    entries.sort();
    for path in entries {
        let hidden = path.file_name().is_none_or(|n| n.as_encoded_bytes().starts_with(b"."));
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        if hidden || NEXT_TO_ONE.contains(&ending) {
            continue;
        }
        // A link to a folder may lead around in circles.
        if path.is_dir() && !path.is_symlink() {
            below(&path, out)?;
        } else if path.is_file() {
            out.push(path);
        }
    }
    Ok(())
}

/// Opens the recording at `path`, on the machine of `setup` or its own; the recorded machine of `setup` is that of a recording that
/// does not say it itself. Gives what it is replayed with, too.
///
/// # Errors
/// As [`Placement::open_one`].
pub fn open_recording(path: &Path, setup: &ReplaySetup) -> Result<(Placement, ReplaySetup), CommandError> {
    let mut own = setup.clone();
    own.recording.recorded_on = None;
    match Placement::open_one(path, &own) {
        Err(CommandError::MachineUnknown { .. }) if setup.recording.recorded_on.is_some() => {
            Ok((Placement::open_one(path, setup)?, setup.clone()))
        }
        placement => Ok((placement?, own)),
    }
}
