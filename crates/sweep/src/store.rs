// SPDX-License-Identifier: GPL-2.0-only
//! A folder in which results are kept, each by what it is the result of: the recording, the governor's compiled code, its parameters,
//! the machine, the version of idlewise. Whatever is there is not computed again.
//!
//! A file is lines of JSON, each a whole result, with a checksum of what follows it as the first member. Every process that computes
//! adds a file of its own, so that any number of them write at the same time. A line without an end is of a process that was killed,
//! and counts as none; so does a damaged one, with a warning. What another version wrote is passed over.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use idlewise_recording::CommandError;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::facts::CaseFacts;
use crate::key::Key;
use crate::numbers::{Numbers, Outcome};

/// The form of the lines; it changes when what they hold does.
const FORM: u32 = 2;
/// How a line begins: its checksum, XXH3-64 of what follows the next comma, as 16 hex digits.
const SUM: &str = "{\"sum\":\"";
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

/// What a line says.
pub(crate) enum Entry {
    Facts(CaseFacts),
    /// What came of a variant.
    Outcome(Key, Outcome),
}

/// The folder, to be written to.
pub(crate) struct Store {
    folder: PathBuf,
    /// The file of this process, once there is something to write.
    file: Mutex<Option<(PathBuf, File)>>,
    /// Warnings about damaged lines, one for each file that has some.
    pub(crate) damaged: Vec<String>,
}

impl Store {
    /// Opens `folder`, which is made where it is not there, and reads what it keeps of `cases`.
    ///
    /// # Errors
    /// [`CommandError::File`] when it cannot be made or read, or holds two lines that contradict each other.
    pub(crate) fn open(folder: &Path, cases: &BTreeSet<Key>) -> Result<(Self, Kept), CommandError> {
        let mut kept = Kept::default();
        let mut contradicted = None;
        let store = Self::open_with(folder, |case, entry| {
            if !cases.contains(&case) {
                return;
            }
            match entry {
                Entry::Facts(facts) => drop(kept.facts.insert(case, facts)),
                Entry::Outcome(variant, outcome) => {
                    let now = outcome.as_ref().ok().copied();
                    let before = kept.outcomes.insert((case, variant), outcome).and_then(Result::ok);
                    if before.zip(now).is_some_and(|(before, now)| before != now) {
                        contradicted.get_or_insert((case, variant));
                    }
                }
            }
        })?;
        match contradicted {
            Some((case, variant)) => Err(contradiction(folder, case, variant)?),
            None => Ok((store, kept)),
        }
    }

    /// As [`Store::open`]; `take` gets all that it keeps.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub(crate) fn open_with(folder: &Path, mut take: impl FnMut(Key, Entry)) -> Result<Self, CommandError> {
        fs::create_dir_all(folder).map_err(|e| CommandError::file(folder, e))?;
        let mut damaged = Vec::new();
        for path in &files_in(folder)? {
            damaged.extend(read(path, &mut take)?);
        }
        Ok(Self { folder: folder.to_owned(), file: Mutex::default(), damaged })
    }

    /// Keeps what is known of a case.
    pub(crate) fn keep_facts(&self, case: Key, facts: &CaseFacts) -> Result<(), CommandError> {
        self.keep(&facts_line(case, facts))
    }

    /// Keeps what came of a variant.
    pub(crate) fn keep_outcome(
        &self,
        case: Key,
        variant: Key,
        outcome: &Outcome,
    ) -> Result<(), CommandError> {
        self.keep(&outcome_line(case, variant, outcome))
    }

    /// Writes whole lines to the file of this process.
    ///
    /// # Errors
    /// [`CommandError::File`] of the folder where it takes no more.
    pub(crate) fn keep(&self, text: &str) -> Result<(), CommandError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            *file = Some(new_file(&self.folder, "").map_err(|e| takes_no_more(&self.folder, &e))?);
        }
        let Some((_, file)) = file.as_mut() else { unreachable!("the file was just made") };
        append(file, text).map_err(|e| takes_no_more(&self.folder, &e))
    }

    /// Makes a file for what `whose` computes, whose name begins so.
    ///
    /// # Errors
    /// [`CommandError::File`] when it cannot be made.
    pub(crate) fn file_of(&self, whose: &str) -> Result<PathBuf, CommandError> {
        let (path, _) =
            new_file(&self.folder, &format!("{whose}-")).map_err(|e| takes_no_more(&self.folder, &e))?;
        Ok(path)
    }
}

/// The line that keeps what is known of a case.
pub(crate) fn facts_line(case: Key, facts: &CaseFacts) -> String {
    let facts = Some(facts.clone());
    text(&Line { form: FORM, case: case.to_string(), variant: None, facts, numbers: None, failure: None })
}

/// The line that keeps what came of a variant.
pub(crate) fn outcome_line(case: Key, variant: Key, outcome: &Outcome) -> String {
    let (numbers, failure) = match outcome {
        Ok(numbers) => (Some(*numbers), None),
        Err(why) => (None, Some(why.clone())),
    };
    let variant = Some(variant.to_string());
    text(&Line { form: FORM, case: case.to_string(), variant, facts: None, numbers, failure })
}

fn text(line: &Line) -> String {
    let text = serde_json::to_string(line);
    let Some(rest) = text.as_ref().ok().and_then(|text| text.strip_prefix('{')) else {
        unreachable!("a result is made of texts and numbers")
    };
    format!("{SUM}{:016x}\",{rest}\n", xxh3_64(rest.as_bytes()))
}

/// The error of a folder that takes no more results.
fn takes_no_more(folder: &Path, e: &io::Error) -> CommandError {
    let why = format!(
        "results cannot be kept here: {e}; what was kept before stays: make room, or name a folder that can be written to (--to), \
         and sweep once more"
    );
    CommandError::file(folder, why)
}

/// Writes whole lines to the end of a file that nobody else writes to, or nothing.
pub(crate) fn append(file: &mut File, text: &str) -> io::Result<()> {
    let before = file.metadata()?.len();
    file.write_all(text.as_bytes()).inspect_err(|_| {
        // What a full disk took of a line would spoil the next one.
        let _ = file.set_len(before);
    })
}

/// A file with a name that no other has, to be written at its end.
fn new_file(folder: &Path, begin: &str) -> io::Result<(PathBuf, File)> {
    for n in 1_u64.. {
        let path = folder.join(format!("{begin}{n:06}{ENDING}"));
        match OpenOptions::new().append(true).create_new(true).open(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            file => return Ok((path, file?)),
        }
    }
    unreachable!("there is a number without a file")
}

/// The files of results in `folder`, by name.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| CommandError::file(folder, e))? {
        let path = entry.map_err(|e| CommandError::file(folder, e))?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ENDING)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The error of lines in `folder` that have different numbers for one setting.
fn contradiction(folder: &Path, case: Key, variant: Key) -> Result<CommandError, CommandError> {
    let mut all = Vec::new();
    for path in files_in(folder)? {
        let mut is_there = false;
        read(&path, &mut |of, entry| {
            is_there |= of == case && matches!(entry, Entry::Outcome(v, Ok(_)) if v == variant);
        })?;
        if is_there {
            let Some(name) = path.file_name() else { unreachable!("what lies in a folder has a name") };
            all.push(name.to_string_lossy().into_owned());
        }
    }
    let why = format!(
        "{} gave different numbers for one setting on one recording: a machine did not compute right; \
         remove the files that you do not trust, and what was in them is computed again",
        all.join(" and ")
    );
    Ok(CommandError::file(folder, why))
}

/// Gives what the file at `path` keeps to `take`; of lines that are damaged, a warning.
fn read(path: &Path, take: &mut impl FnMut(Key, Entry)) -> Result<Option<String>, CommandError> {
    let file = idlewise_files::open(path).map_err(|e| CommandError::file(path, e))?;
    let mut lines = BufReader::new(file);
    let mut text = Vec::new();
    let (mut first, mut damaged) = (None, 0_usize);
    for n in 1_usize.. {
        text.clear();
        lines.read_until(b'\n', &mut text).map_err(|e| CommandError::file(path, e))?;
        let Some(whole) = text.strip_suffix(b"\n") else { break };
        match parsed(whole) {
            Ok(Some((case, entry))) => take(case, entry),
            Ok(None) => {}
            Err(why) => {
                damaged += 1;
                first.get_or_insert((n, why));
            }
        }
    }
    let more = match damaged {
        0 | 1 => String::new(),
        2 => ", and so is another".to_owned(),
        n => format!(", and so are {} others", n - 1),
    };
    Ok(first.map(|(n, why)| {
        format!(
            "{}: line {n} is damaged ({why}){more}; a damaged line counts as none, and its result is computed where no other line has it",
            path.display()
        )
    }))
}

/// What a line says, and of which case; nothing where another version wrote it.
///
/// # Errors
/// How it is damaged.
pub(crate) fn parsed(line: &[u8]) -> Result<Option<(Key, Entry)>, String> {
    let Some((sum, rest)) = line.strip_prefix(SUM.as_bytes()).and_then(|after| after.split_at_checked(16))
    else {
        // Lines had no checksum before they had this form.
        return match serde_json::from_slice(line) {
            Ok(OtherLine { form }) if form < FORM => Ok(None),
            _ => Err("it has no checksum".to_owned()),
        };
    };
    let rest = rest.strip_prefix(b"\",").ok_or("it has no checksum")?;
    if *sum != *format!("{:016x}", xxh3_64(rest)).as_bytes() {
        return Err("its checksum is wrong".to_owned());
    }
    let json = [b"{", rest].concat();
    let form: OtherLine = serde_json::from_slice(&json).map_err(|e| e.to_string())?;
    if form.form != FORM {
        return Ok(None);
    }
    let line: Line = serde_json::from_slice(&json).map_err(|e| e.to_string())?;
    let case: Key = line.case.parse()?;
    let variant = line.variant.map(|variant| variant.parse::<Key>()).transpose()?;
    let entry = match (variant, line.facts, line.numbers, line.failure) {
        (None, Some(facts), None, None) => Entry::Facts(facts),
        (Some(_), None, Some(numbers), None) if !numbers.are_possible() => {
            return Err("its numbers are none that a run can have".to_owned());
        }
        (Some(variant), None, Some(numbers), None) => Entry::Outcome(variant, Ok(numbers)),
        (Some(variant), None, None, Some(why)) => Entry::Outcome(variant, Err(why)),
        _ => return Err("it has neither numbers nor a failure".to_owned()),
    };
    Ok(Some((case, entry)))
}

/// The form of a line, whatever else it holds.
#[derive(Deserialize)]
struct OtherLine {
    form: u32,
}
