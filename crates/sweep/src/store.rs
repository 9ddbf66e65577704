// SPDX-License-Identifier: GPL-2.0-only
//! A folder in which results are kept, each by what it is the result of: the recording, the governor's compiled code, its parameters,
//! the machine, the version of idlewise. Whatever is there is not computed again.
//!
//! A file is lines of JSON, each a whole result. Every process that computes adds a file of its own, so that any number of them
//! write at the same time. A line without an end is of a process that was killed, and counts as none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use idlewise_recording::CommandError;
use serde::{Deserialize, Serialize};

use crate::facts::CaseFacts;
use crate::key::Key;
use crate::numbers::{Numbers, Outcome};

/// The form of the lines; it changes when what they hold does.
const FORM: u32 = 1;
/// How the names of files of results end.
const ENDING: &str = ".results.jsonl";

/// What a line of a file holds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    form: u32,
    /// Of recording, machine and version.
    case: String,
    /// Of the governor and its parameters; none where the line is about the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variant: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    facts: Option<CaseFacts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    numbers: Option<Numbers>,
    /// Why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

/// Results that are kept.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) facts: BTreeMap<Key, CaseFacts>,
    /// By case and variant.
    pub(crate) outcomes: BTreeMap<(Key, Key), Outcome>,
}

/// The folder, to be written to.
pub(crate) struct Store {
    folder: PathBuf,
    /// The file of this process, once there is something to write.
    file: Mutex<Option<(PathBuf, File)>>,
}

impl Store {
    /// Opens `folder`, which is made where it is not there, and reads what it keeps of `cases`.
    ///
    /// # Errors
    /// [`CommandError::File`] when it cannot be made or read, or holds a line that is no result.
    pub(crate) fn open(folder: &Path, cases: &BTreeSet<Key>) -> Result<(Self, Kept), CommandError> {
        fs::create_dir_all(folder).map_err(|e| CommandError::file(folder, e))?;
        let mut files: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(folder).map_err(|e| CommandError::file(folder, e))? {
            let path = entry.map_err(|e| CommandError::file(folder, e))?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ENDING)) {
                files.push(path);
            }
        }
        files.sort();
        let mut kept = Kept::default();
        for path in &files {
            read(path, cases, &mut kept)?;
        }
        Ok((Self { folder: folder.to_owned(), file: Mutex::default() }, kept))
    }

    /// Keeps what is known of a case.
    pub(crate) fn keep_facts(&self, case: Key, facts: &CaseFacts) -> Result<(), CommandError> {
        let facts = Some(facts.clone());
        self.keep(&Line {
            form: FORM,
            case: case.to_string(),
            variant: None,
            facts,
            numbers: None,
            failure: None,
        })
    }

    /// Keeps what came of a variant.
    pub(crate) fn keep_outcome(
        &self,
        case: Key,
        variant: Key,
        outcome: &Outcome,
    ) -> Result<(), CommandError> {
        let (numbers, failure) = match outcome {
            Ok(numbers) => (Some(*numbers), None),
            Err(why) => (None, Some(why.clone())),
        };
        let variant = Some(variant.to_string());
        self.keep(&Line { form: FORM, case: case.to_string(), variant, facts: None, numbers, failure })
    }

    fn keep(&self, line: &Line) -> Result<(), CommandError> {
        let mut text = serde_json::to_string(line).map_err(|e| CommandError::file(&self.folder, e))?;
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            *file = Some(new_file(&self.folder).map_err(|e| CommandError::file(&self.folder, e))?);
        }
        let Some((path, file)) = file.as_mut() else { unreachable!("the file was just made") };
        file.write_all(text.as_bytes()).map_err(|e| CommandError::file(path, e))
    }
}

/// A file with a name that no other has.
fn new_file(folder: &Path) -> io::Result<(PathBuf, File)> {
    for n in 1_u64.. {
        let path = folder.join(format!("{n:06}{ENDING}"));
        match File::create_new(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            file => return Ok((path, file?)),
        }
    }
    unreachable!("there is a number without a file")
}

/// Adds what the file at `path` keeps of `cases`.
fn read(path: &Path, cases: &BTreeSet<Key>, kept: &mut Kept) -> Result<(), CommandError> {
    let file = idlewise_files::open(path).map_err(|e| CommandError::file(path, e))?;
    let mut lines = BufReader::new(file);
    let mut text = String::new();
    for n in 1_usize.. {
        text.clear();
        lines.read_line(&mut text).map_err(|e| CommandError::file(path, e))?;
        let Some(whole) = text.strip_suffix('\n') else { break };
        let wrong = |why: &dyn std::fmt::Display| {
            CommandError::file(
                path,
                format!(
                    "line {n} is no result of a sweep ({why}); remove the file, and what was in it is computed again"
                ),
            )
        };
        let line: Line = serde_json::from_str(whole).map_err(|e| wrong(&e))?;
        let case: Key = line.case.parse().map_err(|e: String| wrong(&e))?;
        if line.form != FORM || !cases.contains(&case) {
            continue;
        }
        match (line.variant, line.facts, line.numbers, line.failure) {
            (None, Some(facts), None, None) => drop(kept.facts.insert(case, facts)),
            (Some(variant), None, Some(numbers), None) => {
                let variant = variant.parse().map_err(|e: String| wrong(&e))?;
                kept.outcomes.insert((case, variant), Ok(numbers));
            }
            (Some(variant), None, None, Some(why)) => {
                let variant = variant.parse().map_err(|e: String| wrong(&e))?;
                kept.outcomes.insert((case, variant), Err(why));
            }
            _ => return Err(wrong(&"it has neither numbers nor a failure")),
        }
    }
    Ok(())
}
