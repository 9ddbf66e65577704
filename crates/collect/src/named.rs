// SPDX-License-Identifier: GPL-2.0-only
//! Recordings that a user names: files, and folders of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use idlewise_corpus::{Basis, Corpus, CorpusError, Entry, INDEX, Presence, Selection, presence};
use idlewise_recording::input_files::is_tape;
use idlewise_recording::placement::Placement;
use idlewise_recording::{CommandError, ReplaySetup};
use serde::{Deserialize, Serialize};

/// How files in a folder end that are no recordings: what lies next to one.
const NEXT_TO_ONE: [&str; 10] = ["toml", "md", "json", "csv", "sh", "py", "html", "png", "svg", "xz"];

/// The grade of recordings that a corpus does not trust.
const POOR: &str = "poor";

/// A file that may hold a recording.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// What the index of a corpus has of it.
    pub entry: Option<Entry>,
}

/// Recordings that a user names, before any of them is read.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NamedRecordings {
    /// A file or a folder at hand.
    Here(PathBuf),
    /// A folder elsewhere with the files below it, by their paths in it.
    Folder { folder: PathBuf, files: Vec<PathBuf> },
    /// A corpus elsewhere, and a folder at hand that has its index.
    Corpus { corpus: PathBuf, index: PathBuf },
}

/// What the index at `index` has of the corpus in `folder`.
fn of_corpus(folder: &Path, index: &Path) -> Result<Vec<RecordingFile>, CommandError> {
    let wrong = |e: CorpusError| CommandError::input(folder, e);
    let corpus = Corpus::open(index).map_err(wrong)?;
    let named = |entry: &Entry| {
        let path = folder.join(&entry.file);
        let (basis, entry) = (Some(entry.basis), Some(entry.clone()));
        RecordingFile { basis, entry, ..RecordingFile::inside(path) }
    };
    Ok(corpus.select(&Selection::default()).map_err(wrong)?.into_iter().map(named).collect())
}

impl RecordingFile {
    /// One that a folder has.
    fn inside(path: PathBuf) -> Self {
        let name = file_name(&path);
        Self { path, name, by_user: false, recorded_on: None, basis: None, refused: None, entry: None }
    }

    /// Why a recording of a folder or a corpus is not used that is graded poor, and what to do.
    #[must_use]
    pub fn poor(reasons: &str) -> String {
        format!("its grade is poor: {reasons}; name the file itself to use it all the same")
    }

    /// It with what reading it tells, at `here`: whether it is what the index of its corpus says, and which machine that names.
    #[must_use]
    pub fn compared(mut self, here: &Path) -> Self {
        let Some(entry) = &self.entry else { return self };
        self.refused = match presence(here, entry) {
            Presence::Whole if entry.trust == POOR => Some(Self::poor(&entry.reasons.join("; "))),
            Presence::Whole => None,
            Presence::Missing => Some("the index has it, and the file is not there".to_owned()),
            Presence::Changed(why) => Some(format!("not what the index says: {why}")),
        };
        // A tape says it itself.
        self.recorded_on = is_tape(here).is_ok_and(|tape| !tape).then(|| entry.machine.clone());
        self
    }
}

/// How much of a recording was measured, which lies in a corpus and is what its index says.
fn basis_beside(path: &Path) -> Option<Basis> {
    let (folder, name) = (path.parent()?, file_name(path));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let corpus = Corpus::open(folder).ok()?;
    let entry = corpus.select(&Selection::default()).ok()?.into_iter().find(|entry| entry.file == name)?;
    matches!(presence(path, entry), Presence::Whole).then_some(entry.basis)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The files that `given` names: recordings, folders of them, and folders of a corpus; what is in folders in the order of its names.
///
/// # Errors
/// [`CommandError`] when a folder or the index of a corpus cannot be read, or a folder has no file that could be a recording.
pub fn recording_files(given: &[PathBuf]) -> Result<Vec<RecordingFile>, CommandError> {
    let named: Vec<NamedRecordings> = given.iter().cloned().map(NamedRecordings::Here).collect();
    let compared = |file: RecordingFile| {
        let path = file.path.clone();
        let basis = if file.by_user { basis_beside(&path) } else { file.basis };
        RecordingFile { basis, ..file }.compared(&path)
    };
    Ok(listed(&named)?.into_iter().map(compared).collect())
}

/// As [`recording_files`], and reads none of them.
///
/// # Errors
/// As [`recording_files`].
pub fn listed(given: &[NamedRecordings]) -> Result<Vec<RecordingFile>, CommandError> {
    let mut out: Vec<RecordingFile> = Vec::new();
    let all_inside = |folder: &Path, inside: Vec<PathBuf>| {
        if inside.is_empty() {
            return Err(CommandError::input(folder, "the folder has no file that could be a recording"));
        }
        Ok(inside.into_iter().map(RecordingFile::inside))
    };
    for named in given {
        match named {
            NamedRecordings::Here(path) if path.join(INDEX).is_file() => out.extend(of_corpus(path, path)?),
            NamedRecordings::Here(path) if path.is_dir() => {
                let mut inside = Vec::new();
                below(path, path, &mut inside)?;
                out.extend(all_inside(path, inside)?);
            }
            NamedRecordings::Here(path) => {
                out.push(RecordingFile { by_user: true, ..RecordingFile::inside(path.clone()) });
            }
            NamedRecordings::Folder { folder, files } => {
                let mut files: Vec<&PathBuf> = files.iter().collect();
                files.sort();
                let could = |file: &&&PathBuf| {
                    let hidden = file.iter().any(|part| part.as_encoded_bytes().starts_with(b"."));
                    !hidden && !lies_next_to_one(file)
                };
                let inside = files.iter().filter(could).map(|file| folder.join(file)).collect();
                out.extend(all_inside(folder, inside)?);
            }
            NamedRecordings::Corpus { corpus, index } => out.extend(of_corpus(corpus, index)?),
        }
    }
    // Files of one name in several folders are called by their paths.
    let names: Vec<String> = out.iter().map(|n| n.name.clone()).collect();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    names.iter().for_each(|name| *times.entry(name).or_default() += 1);
    for (named, name) in out.iter_mut().zip(&names) {
        if times[name.as_str()] > 1 {
            named.name = named.path.display().to_string();
        }
    }
    Ok(out)
}

fn lies_next_to_one(path: &Path) -> bool {
    NEXT_TO_ONE.contains(&path.extension().and_then(|e| e.to_str()).unwrap_or(""))
}

/// The files in `folder` and below it; `named` is the folder that the user named.
fn below(named: &Path, folder: &Path, out: &mut Vec<PathBuf>) -> Result<(), CommandError> {
    let wrong = |e| {
        let whose =
            if folder == named { "this folder".to_owned() } else { format!("{} in it", folder.display()) };
        let what = "name a folder that holds recordings alone, or the recordings themselves";
        CommandError::input(named, format!("{whose} cannot be read ({e}); {what}"))
    };
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrong)? {
        entries.push(entry.map_err(wrong)?.path());
    }
    entries.sort();
    for path in entries {
        let hidden = path.file_name().is_none_or(|n| n.as_encoded_bytes().starts_with(b"."));
        if hidden || lies_next_to_one(&path) {
            continue;
        }
        // A link to a folder may lead around in circles.
        if path.is_dir() && !path.is_symlink() {
            below(named, &path, out)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_read_is_named_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let (named, gone) = (folder.path(), folder.path().join("gone"));
        let why = |folder: &Path| below(named, folder, &mut Vec::new()).unwrap_err().to_string();
        let of_one_inside = why(&gone);
        let begin = format!("{}: {} in it cannot be read (", named.display(), gone.display());
        assert!(of_one_inside.starts_with(&begin), "{of_one_inside}");
        let itself = below(&gone, &gone, &mut Vec::new()).unwrap_err().to_string();
        assert!(itself.starts_with(&format!("{}: this folder cannot be read (", gone.display())), "{itself}");
        for text in [of_one_inside, itself] {
            assert!(
                text.ends_with("name a folder that holds recordings alone, or the recordings themselves"),
                "{text}"
            );
        }
    }
}
